import { RemovalPolicy } from 'aws-cdk-lib';
import { CfnEventInvokeConfig, CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnLogGroup } from 'aws-cdk-lib/aws-logs';
import { CfnSchedule } from 'aws-cdk-lib/aws-scheduler';
import type { CfnManagedPolicy, CfnRole } from 'aws-cdk-lib/aws-iam';
import type { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { asset, type FunctionName } from './code';
import { functionRole, login, title } from './roles';
import type { Settings } from './settings';

/** What is a function's own. */
export interface Own {
  readonly description: string;
  readonly memorySize: number;
  readonly timeoutSeconds: number;
  readonly reservedConcurrency?: number;
  /** Its settings, beside those that all have. */
  readonly variables: Record<string, string>;
}

/** What the functions share. */
export interface Shared {
  readonly policy: CfnManagedPolicy;
  readonly failures: CfnQueue;
}

/** What a function comes with. */
export interface Parts {
  readonly fn: CfnFunction;
  readonly role: CfnRole;
}

/** A function with its role, its log group and what becomes of an invocation that fails. */
export function makeFunction(scope: Construct, name: FunctionName, settings: Settings, shared: Shared, own: Own): Parts {
  const functionName = `${settings.prefix}-${name}`;
  const logs = new CfnLogGroup(scope, `${title(name)}LogGroup`, {
    logGroupName: `/aws/lambda/${functionName}`,
    retentionInDays: settings.logRetentionDays,
  });
  logs.applyRemovalPolicy(RemovalPolicy.DESTROY);
  const role = functionRole(scope, name, settings, { logs, shared: shared.policy });
  const code = asset(new Construct(scope, `${title(name)}Code`), name, settings.code, settings.architecture);

  const fn = new CfnFunction(scope, `${title(name)}Function`, {
    functionName,
    description: own.description,
    code: { s3Bucket: code.s3BucketName, s3Key: code.s3ObjectKey },
    role: role.attrArn,
    runtime: 'provided.al2023',
    handler: 'bootstrap',
    architectures: [settings.architecture],
    memorySize: own.memorySize,
    timeout: own.timeoutSeconds,
    reservedConcurrentExecutions: own.reservedConcurrency,
    vpcConfig: { subnetIds: settings.subnetIds, securityGroupIds: settings.securityGroupIds },
    // At WARN Lambda would drop the metric lines, which have no level. OUTBOX_LOG_LEVEL is the one to turn.
    loggingConfig: { logFormat: 'JSON', applicationLogLevel: 'INFO', logGroup: logs.ref },
    environment: { variables: { ...common(name, settings), ...own.variables } },
  });
  // For sam local and cdk watch, which look for the code there.
  code.addResourceMetadata(fn, 'Code');

  // The next run does what a failed one did not: to repeat a late one only makes them overlap.
  new CfnEventInvokeConfig(scope, `${title(name)}FunctionEventInvokeConfig`, {
    functionName: fn.ref,
    qualifier: '$LATEST',
    maximumRetryAttempts: 0,
    maximumEventAgeInSeconds: 60,
    destinationConfig: { onFailure: { destination: shared.failures.attrArn } },
  });
  return { fn, role };
}

/** The settings that all functions have. */
function common(name: FunctionName, settings: Settings): Record<string, string> {
  const { user, secretArn } = login(name, settings);
  return {
    OUTBOX_DATABASE_HOST: settings.databaseHost,
    OUTBOX_DATABASE_PORT: String(settings.databasePort),
    OUTBOX_DATABASE_NAME: settings.databaseName,
    OUTBOX_DATABASE_AUTH: settings.databaseAuth,
    OUTBOX_DATABASE_SSLMODE: 'verify-full',
    OUTBOX_DATABASE_USER: settings.usesIam ? user : '',
    OUTBOX_DATABASE_SECRET_ARN: settings.usesIam ? '' : secretArn,
    OUTBOX_SCHEMA: settings.schema,
    OUTBOX_LOG_LEVEL: settings.logLevel,
    OUTBOX_METRICS_NAMESPACE: settings.metricsNamespace,
  };
}

/** When a function is started, and what becomes of a start that fails. */
export interface Timer {
  readonly description: string;
  readonly expression: string;
  /** Minutes by which a start may be late; 0 for none. */
  readonly windowMinutes: number;
  readonly retries: number;
  readonly maxAgeSeconds: number;
}

export function makeTimer(
  scope: Construct,
  name: FunctionName,
  settings: Settings,
  parts: { fn: CfnFunction; scheduler: CfnRole; failures: CfnQueue },
  timer: Timer,
): void {
  new CfnSchedule(scope, `${title(name)}FunctionTimer`, {
    name: `${settings.prefix}-${name}`,
    description: timer.description,
    scheduleExpression: timer.expression,
    state: settings.scheduleState,
    flexibleTimeWindow:
      timer.windowMinutes === 0
        ? { mode: 'OFF' }
        : { mode: 'FLEXIBLE', maximumWindowInMinutes: timer.windowMinutes },
    target: {
      arn: parts.fn.attrArn,
      roleArn: parts.scheduler.attrArn,
      retryPolicy: { maximumRetryAttempts: timer.retries, maximumEventAgeInSeconds: timer.maxAgeSeconds },
      deadLetterConfig: { arn: parts.failures.attrArn },
    },
  });
}
