import { Stack } from 'aws-cdk-lib';
import { CfnManagedPolicy, CfnRole } from 'aws-cdk-lib/aws-iam';
import type { CfnLogGroup } from 'aws-cdk-lib/aws-logs';
import type { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { FunctionName } from './code';
import type { Settings } from './settings';

/** A statement of a policy, or nothing where the settings ask for none. */
type Statement = Record<string, unknown> | undefined;

function allow(sid: string, action: string | string[], resource: unknown, condition?: Record<string, unknown>): Statement {
  return { Sid: sid, Effect: 'Allow', Action: action, Resource: resource, ...(condition && { Condition: condition }) };
}

function document(...statements: Statement[]): unknown {
  return { Version: '2012-10-17', Statement: statements.filter((statement) => statement) };
}

function trust(service: string, condition?: Record<string, unknown>): unknown {
  const statement = { Effect: 'Allow', Principal: { Service: service }, Action: 'sts:AssumeRole' };
  return document({ ...statement, ...(condition && { Condition: condition }) });
}

/** What every function needs, whatever it does. */
export function functionPolicy(scope: Construct, settings: Settings, failures: CfnQueue): CfnManagedPolicy {
  const { region, urlSuffix } = Stack.of(scope);
  const { usesIam, secretKmsKeyArn: key } = settings;
  const viaService = { StringEquals: { 'kms:ViaService': `secretsmanager.${region}.${urlSuffix}` } };
  // These know no narrower resource.
  const attach = [
    'ec2:AssignPrivateIpAddresses',
    'ec2:CreateNetworkInterface',
    'ec2:DeleteNetworkInterface',
    'ec2:DescribeNetworkInterfaces',
    'ec2:DescribeSubnets',
    'ec2:UnassignPrivateIpAddresses',
  ];
  return new CfnManagedPolicy(scope, 'FunctionPolicy', {
    description: 'Lets a function of the outbox relay run in its subnets, read its secret and report failed runs.',
    policyDocument: document(
      allow('AttachToSubnets', attach, '*'),
      allow('ReportFailedRuns', 'sqs:SendMessage', failures.attrArn),
      !usesIam && key ? allow('DecryptSecret', 'kms:Decrypt', key, viaService) : undefined,
    ),
  });
}

/** The role of one function: what all need, to log, to sign in, and what is its own. */
export function functionRole(
  scope: Construct,
  name: FunctionName,
  settings: Settings,
  parts: { logs: CfnLogGroup; shared: CfnManagedPolicy },
): CfnRole {
  const own = { relay, purge, admin: () => [] }[name](scope, settings);
  const statements = [
    allow('WriteOwnLogs', ['logs:CreateLogStream', 'logs:PutLogEvents'], parts.logs.attrArn),
    signIn(scope, name, settings),
    ...own,
  ];
  return new CfnRole(scope, `${title(name)}Role`, {
    assumeRolePolicyDocument: trust('lambda.amazonaws.com'),
    permissionsBoundary: settings.permissionsBoundaryArn || undefined,
    managedPolicyArns: [parts.shared.ref],
    policies: [{ policyName: name, policyDocument: document(...statements) }],
  });
}

function signIn(scope: Construct, name: FunctionName, settings: Settings): Statement {
  const { partition, region, account } = Stack.of(scope);
  if (!settings.usesIam) return allow('ReadSecret', 'secretsmanager:GetSecretValue', login(name, settings).secretArn);
  const user = `dbuser:${settings.databaseResourceId}/${login(name, settings).user}`;
  return allow('SignIn', 'rds-db:connect', `arn:${partition}:rds-db:${region}:${account}:${user}`);
}

/** The relay's own login, and the one that purge and admin share. */
export function login(name: FunctionName, settings: Settings): { user: string; secretArn: string } {
  return name === 'relay'
    ? { user: settings.relayDatabaseUser, secretArn: settings.relaySecretArn }
    : { user: settings.adminDatabaseUser, secretArn: settings.adminSecretArn };
}

function relay(scope: Construct, settings: Settings): Statement[] {
  const { queueArns, topicArns, kmsKeyArns } = settings.destinations;
  const { urlSuffix } = Stack.of(scope);
  const viaService = { StringLike: { 'kms:ViaService': [`sqs.*.${urlSuffix}`, `sns.*.${urlSuffix}`] } };
  return [
    // Batches need no permission of their own.
    queueArns.length > 0 ? allow('SendToQueues', 'sqs:SendMessage', queueArns) : undefined,
    topicArns.length > 0 ? allow('PublishToTopics', 'sns:Publish', topicArns) : undefined,
    kmsKeyArns.length > 0
      ? allow('EncryptForDestinations', ['kms:GenerateDataKey', 'kms:Decrypt'], kmsKeyArns, viaService)
      : undefined,
  ];
}

function purge(scope: Construct, settings: Settings): Statement[] {
  const { partition, region, urlSuffix } = Stack.of(scope);
  const { archiveLocation, archiveKmsKeyArn: key } = settings;
  if (!archiveLocation) return [];
  const viaService = { StringEquals: { 'kms:ViaService': `s3.${region}.${urlSuffix}` } };
  return [
    // Without its scheme the location is bucket and prefix.
    allow('WriteArchive', 's3:PutObject', `arn:${partition}:s3:::${archiveLocation.replace('s3://', '')}/*`),
    key ? allow('EncryptForArchive', 'kms:GenerateDataKey', key, viaService) : undefined,
  ];
}

/** The role of the timers, which may start relay and purge and nothing else. */
export function schedulerRole(scope: Construct, settings: Settings, functionArns: string[], failures: CfnQueue): CfnRole {
  const ownAccount = { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } };
  return new CfnRole(scope, 'SchedulerRole', {
    assumeRolePolicyDocument: trust('scheduler.amazonaws.com', ownAccount),
    permissionsBoundary: settings.permissionsBoundaryArn || undefined,
    policies: [
      {
        policyName: 'scheduler',
        policyDocument: document(
          allow('StartRuns', 'lambda:InvokeFunction', functionArns),
          allow('ReportRunsNotStarted', 'sqs:SendMessage', failures.attrArn),
        ),
      },
    ],
  });
}

/** As the resources are named: `Relay` for `relay`. */
export function title(name: FunctionName): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
