import { RemovalPolicy, Tags } from 'aws-cdk-lib';
import { type CfnFunction, Function, type IFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnQueue, type IQueue, Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { makeAlarms } from './alarms';
import { makeFunction, makeTimer } from './functions';
import type { OutboxRelayProps } from './props';
import { functionPolicy, schedulerRole } from './roles';
import { type Settings, settings } from './settings';

/**
 * The relay, the purge and the admin function, with their timers, roles, log groups and alarms: what
 * `infra/template.yaml` makes, resource for resource, which `test/sameness.test.ts` compares.
 *
 * Two runs of the relay at once are harmless: a claim is a lease with a fence. That is why no concurrency is reserved
 * unless you ask for it.
 */
export class OutboxRelay extends Construct {
  /** Publishes due messages; its timer invokes it. */
  readonly relayFunction: IFunction;
  /** Deletes dispatched messages past their retention; its timer invokes it. */
  readonly purgeFunction: IFunction;
  /** Answers an operator's questions; `grantInvoke` it to those who may do all that an operator does. */
  readonly adminFunction: IFunction;
  /** Runs that failed or could not be started. */
  readonly failureQueue: IQueue;
  /** Who sends: the principal for a queue's, a topic's or a key's policy in another account. */
  readonly relayRoleArn: string;

  constructor(scope: Construct, id: string, props: OutboxRelayProps) {
    super(scope, id);
    const given = settings(this, props);

    const failures = this.makeFailureQueue(given);
    const shared = { failures, policy: functionPolicy(this, given, failures) };

    const relay = makeFunction(this, 'relay', given, shared, {
      description: 'Publishes due messages of the outbox.',
      memorySize: given.memorySize,
      timeoutSeconds: given.run.timeoutSeconds,
      reservedConcurrency: given.reservedConcurrency,
      variables: relayVariables(given),
    });
    const purge = makeFunction(this, 'purge', given, shared, {
      description: 'Deletes dispatched messages past their retention.',
      memorySize: 128,
      timeoutSeconds: 300,
      variables: {
        OUTBOX_RETENTION_HOURS: String(given.retentionHours),
        OUTBOX_ARCHIVE: given.archiveLocation,
      },
    });
    // Whoever may invoke it may do all that an operator does. Nothing else invokes it.
    const admin = makeFunction(this, 'admin', given, shared, {
      description: "Answers an operator's questions and carries out his decisions.",
      memorySize: 128,
      timeoutSeconds: 60,
      variables: {},
    });

    const scheduler = schedulerRole(this, given, [relay.fn.attrArn, purge.fn.attrArn], failures);
    makeTimer(this, 'relay', given, { fn: relay.fn, scheduler, failures }, {
      description: 'Starts a run of the relay.',
      expression: given.schedule,
      windowMinutes: 0,
      retries: 1,
      maxAgeSeconds: 60,
    });
    makeTimer(this, 'purge', given, { fn: purge.fn, scheduler, failures }, {
      description: 'Starts a purge.',
      expression: given.purgeSchedule,
      windowMinutes: 15,
      retries: 2,
      maxAgeSeconds: 900,
    });
    makeAlarms(this, given, { relay: relay.fn, purge: purge.fn, failures });
    for (const [key, value] of Object.entries(props.tags ?? {})) Tags.of(this).add(key, value);

    this.relayFunction = this.known('Relay', relay.fn);
    this.purgeFunction = this.known('Purge', purge.fn);
    this.adminFunction = this.known('Admin', admin.fn);
    this.failureQueue = Queue.fromQueueArn(this, 'Failures', failures.attrArn);
    this.relayRoleArn = relay.role.attrArn;
  }

  /** Runs that failed or never started. None has to be repeated, so a day is enough to look at them. */
  private makeFailureQueue(given: Settings): CfnQueue {
    const queue = new CfnQueue(this, 'FailureQueue', {
      queueName: `${given.prefix}-failures`,
      messageRetentionPeriod: 86_400,
      sqsManagedSseEnabled: true,
    });
    queue.applyRemovalPolicy(RemovalPolicy.DESTROY);
    return queue;
  }

  /** The function as the rest of an app knows functions. */
  private known(id: string, fn: CfnFunction): IFunction {
    return Function.fromFunctionAttributes(this, id, { functionArn: fn.attrArn, sameEnvironment: true });
  }
}

function relayVariables(given: Settings): Record<string, string> {
  return {
    OUTBOX_DESTINATIONS: given.destinations.json,
    OUTBOX_LINGER_SECONDS: String(given.run.lingerSeconds),
    OUTBOX_LEASE_SECONDS: String(given.run.leaseSeconds),
    OUTBOX_FUNCTION_TIMEOUT_SECONDS: String(given.run.timeoutSeconds),
  };
}
