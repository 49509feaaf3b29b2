import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';

/** A queue's ARN or URL, a topic's ARN, or a queue or topic of this app. */
export type Target = string | IQueue | ITopic;

/** A destination with settings of its own, as in `OUTBOX_DESTINATIONS`. */
export interface DestinationSettings {
  /** Where its messages go. */
  readonly target: Target;
  /** Most bytes of a message that it takes. */
  readonly maxBytes?: number;
  /** Whether a standard queue gets the message group, for fair queues. */
  readonly fair?: boolean;
  /** Whether a dead message holds back its group. */
  readonly onDead?: 'continue' | 'hold';
}

/** The zip of each function. */
export interface Zips {
  /** Path of the relay's zip. */
  readonly relay: string;
  /** Path of the purge's zip. */
  readonly purge: string;
  /** Path of the admin function's zip. */
  readonly admin: string;
}

/** Where the functions' code comes from. */
export type OutboxCode =
  /** Zips that `make package` or a release made: a path for each, or the folder that holds them. */
  | { readonly zips: string | Zips }
  /** The checkout to build them from, with cargo-lambda on this machine. */
  | { readonly source: string };

/** The parameters of `infra/template.yaml`, under the same names, and the code. */
export interface OutboxRelayProps {
  /** The functions' code: `{ zips: FOLDER }`, `{ zips: { relay, purge, admin } }` or `{ source: CHECKOUT }`. */
  readonly code: OutboxCode;

  /** Subnets of the functions, with a way to the database, to SQS and to SNS (and to Secrets Manager with DatabaseAuth secret). */
  readonly subnetIds: string[];
  /** Security groups of the functions; the database's must let them in. Without them one is made in vpcId. */
  readonly securityGroupIds?: string[];
  /** The VPC of the subnets, where a security group is to be made; it lets nothing in, and out only to HTTPS and to the database's port. */
  readonly vpcId?: string;
  /**
   * Whether the functions use IPv6 too, in subnets that have both, and the dual-stack endpoints of AWS; an egress-only internet gateway is then the way there, without NAT.
   * @default false
   */
  readonly ipv6DualStack?: boolean;

  /** Host of the database or of its proxy. */
  readonly databaseHost: string;
  /**
   * Port of the database or of its proxy.
   * @default 5432
   */
  readonly databasePort?: number;
  /** Name of the database that has the outbox. */
  readonly databaseName: string;
  /**
   * Schema of the outbox tables and functions.
   * @default outbox
   */
  readonly schema?: string;
  /**
   * How the functions sign in - with a token of IAM, or with a secret of Secrets Manager.
   * @default iam
   */
  readonly databaseAuth?: 'iam' | 'secret';
  /** For iam, the resource id of the instance (db-...), the cluster (cluster-...) or the proxy (prx-...); not its name. */
  readonly databaseResourceId?: string;
  /**
   * For iam, a login in the role outbox_relay and in rds_iam.
   * @default outbox_relay_login
   */
  readonly relayDatabaseUser?: string;
  /**
   * For iam, a login in the role outbox_admin and in rds_iam, for purge and admin.
   * @default outbox_admin_login
   */
  readonly adminDatabaseUser?: string;
  /** For secret, the secret of a login in the role outbox_relay. */
  readonly relaySecretArn?: string;
  /** For secret, the secret of a login in the role outbox_admin, for purge and admin. */
  readonly adminSecretArn?: string;
  /** The customer managed key of these secrets, if they have one. */
  readonly secretKmsKeyArn?: string;
  /**
   * verify-full encrypts, and verifies certificate and host name. disable does neither - for an emulator on one machine, and for nothing else.
   * @default verify-full
   */
  readonly databaseSslMode?: 'verify-full' | 'disable';
  /** PEM file of the only authorities to trust, as /opt/ca.pem from one of the layers; without it those that are built in are trusted. */
  readonly databaseCaFile?: string;
  /**
   * Longest time to open one connection, in seconds; 20 for a database that pauses when idle.
   * @default 5
   */
  readonly databaseConnectTimeoutSeconds?: number;

  /** Where each destination goes, by its name: a queue or topic, its ARN, or an object with `target` and settings. The environment of a function holds 4 KB in all; for more there is destinationsFile. */
  readonly destinations?: Record<string, Target | DestinationSettings>;
  /** The same as JSON in a file, as /opt/destinations.json from one of the layers; then leave destinations out. */
  readonly destinationsFile?: string;
  /** Queues that the relay may send to, beside those that `destinations` shows; needed for a queue given by its URL. */
  readonly queueArns?: string[];
  /** Topics that the relay may publish to, beside those that `destinations` shows. */
  readonly topicArns?: string[];
  /** Customer managed keys that these queues and topics are encrypted with, beside those of queues and topics of this app. */
  readonly destinationKmsKeyArns?: string[];

  /**
   * When the relay runs.
   * @default rate(1 minute)
   */
  readonly schedule?: string;
  /**
   * DISABLED starts no further run, of relay or purge.
   * @default ENABLED
   */
  readonly scheduleState?: 'ENABLED' | 'DISABLED';
  /**
   * Whether a drained relay polls on until the next minute for a latency below a second; each minute of it is paid for. Needs the schedule rate(1 minute).
   * @default false
   */
  readonly linger?: boolean;
  /**
   * Milliseconds between polls while lingering.
   * @default 200
   */
  readonly pollMs?: number;
  /**
   * false ends every run of the relay at once, while producers go on writing; purge and admin stay.
   * @default true
   */
  readonly relayEnabled?: boolean;
  /**
   * Most messages of one claim. Two batches are in memory, and up to eight while destinations do not answer.
   * @default 500
   */
  readonly batchSize?: number;
  /**
   * Requests to SQS and SNS in flight at once.
   * @default 16
   */
  readonly concurrency?: number;
  /**
   * Attempts after which a message that keeps failing is dead.
   * @default 10
   */
  readonly maxAttempts?: number;
  /**
   * Longest wait in milliseconds after a message's first failure; each further failure doubles it.
   * @default 1000
   */
  readonly backoffBaseMs?: number;
  /**
   * Longest wait in milliseconds after any failure; no less than backoffBaseMs.
   * @default 300000
   */
  readonly backoffMaxMs?: number;
  /**
   * When dispatched messages past their retention are deleted.
   * @default rate(1 hour)
   */
  readonly purgeSchedule?: string;
  /**
   * Hours for which a dispatched message is kept.
   * @default 168
   */
  readonly retentionHours?: number;
  /**
   * Most messages of one purge statement.
   * @default 2000
   */
  readonly purgeBatchSize?: number;
  /** Where the purge archives what it deletes, as s3://BUCKET or s3://BUCKET/PREFIX without a slash at the end; without it, it only deletes. */
  readonly archiveLocation?: string;
  /** The customer managed key that the archive's bucket encrypts with, if it has one. */
  readonly archiveKmsKeyArn?: string;

  /**
   * Processor of the functions. arm64 costs a fifth less; the code must be built for the same one.
   * @default arm64
   */
  readonly architecture?: 'arm64' | 'x86_64';
  /**
   * Megabytes of the relay; 500 messages of the largest size must fit.
   * @default 256
   */
  readonly memorySize?: number;
  /**
   * Megabytes of the purge; an archive of large messages wants more.
   * @default 128
   */
  readonly purgeMemorySize?: number;
  /** Most relays at once, each with two connections; without it nothing is reserved. In an account with a small quota reserving fails. */
  readonly reservedConcurrency?: number;
  /** ARNs of layer versions, at most five, for all functions; for databaseCaFile, destinationsFile or an agent. */
  readonly layers?: string[];
  /**
   * Active has Lambda send a trace of sampled runs to X-Ray.
   * @default PassThrough
   */
  readonly tracingMode?: 'PassThrough' | 'Active';
  /**
   * Least severity that is logged. Metrics are written in any case.
   * @default info
   */
  readonly logLevel?: 'error' | 'warn' | 'info' | 'debug' | 'trace';
  /**
   * Days for which log lines are kept.
   * @default 30
   */
  readonly logRetentionDays?: number;
  /** Customer managed key of the log groups, whose policy lets logs.REGION.amazonaws.com use it; without it CloudWatch Logs' own. */
  readonly logKmsKeyArn?: string;

  /**
   * CloudWatch namespace of the metrics, which the alarms read.
   * @default Outbox
   */
  readonly metricsNamespace?: string;
  /**
   * Whether there is a dashboard in CloudWatch; an account's first three are free.
   * @default true
   */
  readonly dashboard?: boolean;
  /** SNS topic that alarms are sent to; without one they only show in the console. */
  readonly alarmTopicArn?: string;
  /**
   * Seconds for which a message may be due before that is an alarm.
   * @default 300
   */
  readonly oldestDueLimitSeconds?: number;
  /**
   * Seconds in which at least one run of the relay must have told the age of the backlog; no less than two intervals of schedule.
   * @default 300
   */
  readonly alarmPeriodSeconds?: number;
  /**
   * So many messages may die within five minutes without an alarm.
   * @default 0
   */
  readonly deadMessagesLimit?: number;
  /**
   * So many message groups may be held by a dead message without an alarm.
   * @default 0
   */
  readonly heldGroupsLimit?: number;
  /**
   * Hours without a run of the purge that are an alarm; no less than two intervals of purgeSchedule.
   * @default 6
   */
  readonly purgeAlarmHours?: number;

  /** What the names of functions, schedules, log groups, queue, alarms and dashboard begin with; without it the name of the stack. To change it later makes them anew. Two in one stack need one each. */
  readonly namePrefix?: string;
  /**
   * Path of all roles and of their policy.
   * @default /
   */
  readonly rolePath?: string;
  /** Permissions boundary of all roles, where the account asks for one. */
  readonly permissionsBoundaryArn?: string;
  /** Code signing configuration of the functions, whose zips are then signed. */
  readonly codeSigningConfigArn?: string;

  /** Tags of all that can be tagged; the template gets them by `sam deploy --tags`. */
  readonly tags?: Record<string, string>;
}
