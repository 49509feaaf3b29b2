import { CfnAlarm, type CfnAlarmProps } from 'aws-cdk-lib/aws-cloudwatch';
import type { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import type { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { Settings } from './settings';

/** What the alarms watch. */
export interface Watched {
  readonly relay: CfnFunction;
  readonly purge: CfnFunction;
  readonly failures: CfnQueue;
}

export function makeAlarms(scope: Construct, settings: Settings, watched: Watched): void {
  const service = [{ name: 'service', value: watched.relay.ref }];
  const alarm = (id: string, name: string, props: Omit<CfnAlarmProps, 'alarmName'>) => {
    const actions = settings.alarmTopicArn ? [settings.alarmTopicArn] : undefined;
    const alarmName = `${settings.prefix}-${name}`;
    new CfnAlarm(scope, id, { alarmName, alarmActions: actions, okActions: actions, ...props });
  };

  // Missing data is an alarm too: a relay that does not run looks idle otherwise.
  alarm('BacklogAgeAlarm', 'backlog-age', {
    alarmDescription: 'Messages wait too long, or no run of the relay has told how long.',
    namespace: settings.metricsNamespace,
    metricName: 'outbox.backlog.age',
    dimensions: service,
    statistic: 'Maximum',
    period: settings.alarmPeriodSeconds,
    evaluationPeriods: 1,
    threshold: settings.oldestDueLimitSeconds,
    comparisonOperator: 'GreaterThanThreshold',
    treatMissingData: 'breaching',
  });

  alarm('DeadMessagesAlarm', 'dead-messages', {
    alarmDescription: 'Messages have died. Ask the admin function for the status, and redrive or discard them.',
    namespace: settings.metricsNamespace,
    metricName: 'outbox.dead.messages',
    dimensions: service,
    statistic: 'Sum',
    period: 300,
    evaluationPeriods: 1,
    threshold: 0,
    comparisonOperator: 'GreaterThanThreshold',
    treatMissingData: 'notBreaching',
  });

  // Lambda's own count of errors: a run that ran out of time or memory writes no metric. A fail-over of the database
  // costs no run, and after a single failure the next run goes on: three within five minutes last.
  alarm('RelayFailuresAlarm', 'relay-failures', {
    alarmDescription: 'Runs of the relay fail.',
    namespace: 'AWS/Lambda',
    metricName: 'Errors',
    dimensions: [{ name: 'FunctionName', value: watched.relay.ref }],
    statistic: 'Sum',
    period: 60,
    evaluationPeriods: 5,
    datapointsToAlarm: 3,
    threshold: 1,
    comparisonOperator: 'GreaterThanOrEqualToThreshold',
    treatMissingData: 'notBreaching',
  });

  alarm('PurgeFailuresAlarm', 'purge-failures', {
    alarmDescription: 'A purge failed; the table grows while none succeeds.',
    namespace: 'AWS/Lambda',
    metricName: 'Errors',
    dimensions: [{ name: 'FunctionName', value: watched.purge.ref }],
    statistic: 'Sum',
    period: 3600,
    evaluationPeriods: 1,
    threshold: 1,
    comparisonOperator: 'GreaterThanOrEqualToThreshold',
    treatMissingData: 'notBreaching',
  });

  // By what arrived, not by what is there: nobody empties the queue, and each message stays for a day. Half an hour,
  // because CloudWatch hears of a queue that was silent for hours only after a quarter of one.
  alarm('FailureQueueAlarm', 'failure-queue', {
    alarmDescription:
      'Runs failed or could not be started within the last half hour; the messages of the queue tell which and why.',
    namespace: 'AWS/SQS',
    metricName: 'NumberOfMessagesSent',
    dimensions: [{ name: 'QueueName', value: watched.failures.attrQueueName }],
    statistic: 'Sum',
    period: 300,
    evaluationPeriods: 6,
    datapointsToAlarm: 1,
    threshold: 0,
    comparisonOperator: 'GreaterThanThreshold',
    treatMissingData: 'notBreaching',
  });
}
