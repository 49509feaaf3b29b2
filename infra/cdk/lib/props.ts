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

  /** Subnets of the functions, with a way to the database, to SQS and to SNS (and to Secrets Manager with databaseAuth secret). */
  readonly subnetIds: string[];
  /** Security groups of the functions; the database's must let them in. */
  readonly securityGroupIds: string[];

  /** Host of the database or of its proxy. */
  readonly databaseHost: string;
  /**
   * Port of the database.
   * @default 5432
   */
  readonly databasePort?: number;
  /** Name of the database. */
  readonly databaseName: string;
  /**
   * Schema of the outbox tables and functions.
   * @default outbox
   */
  readonly schema?: string;
  /**
   * How the functions sign in: with a token of IAM, or with a secret of Secrets Manager.
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

  /** Where each destination goes, by its name: a queue or topic, its ARN, or an object with `target` and settings. */
  readonly destinations: Record<string, Target | DestinationSettings>;
  /** Queues that the relay may send to, beside those that `destinations` shows; needed for a queue given by its URL. */
  readonly queueArns?: string[];
  /** Topics that the relay may publish to, beside those that `destinations` shows. */
  readonly topicArns?: string[];
  /** Customer managed keys that these queues and topics are encrypted with. */
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
   * When dispatched messages past their retention are deleted.
   * @default rate(1 hour)
   */
  readonly purgeSchedule?: string;
  /**
   * Hours for which a dispatched message is kept.
   * @default 168
   */
  readonly retentionHours?: number;
  /** Where the purge archives what it deletes, as s3://BUCKET or s3://BUCKET/PREFIX without a slash at the end; without it, it only deletes. */
  readonly archiveLocation?: string;
  /** The customer managed key that the archive's bucket encrypts with, if it has one. */
  readonly archiveKmsKeyArn?: string;

  /**
   * Architecture of the functions, and of their zips.
   * @default arm64
   */
  readonly architecture?: 'arm64' | 'x86_64';
  /**
   * Megabytes of the relay; 500 messages of the largest size must fit.
   * @default 256
   */
  readonly memorySize?: number;
  /** Most relays at once, each with two connections; without it nothing is reserved. In an account with a small quota reserving fails. */
  readonly reservedConcurrency?: number;
  /**
   * Least severity that is logged.
   * @default info
   */
  readonly logLevel?: 'error' | 'warn' | 'info' | 'debug' | 'trace';
  /**
   * Days for which logs are kept.
   * @default 30
   */
  readonly logRetentionDays?: number;
  /** Permissions boundary of all roles, where the account asks for one. */
  readonly permissionsBoundaryArn?: string;

  /**
   * CloudWatch namespace of the metrics, which the alarms read.
   * @default Outbox
   */
  readonly metricsNamespace?: string;
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

  /** Tags of all that can be tagged; the template gets them by `sam deploy --tags`. */
  readonly tags?: Record<string, string>;
}
