import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { OutboxRelay, type OutboxRelayProps } from '../../lib';
import type { Template } from './resolve';

const ACCOUNT = 'eu-west-1:123456789012';
const QUEUE = `arn:aws:sqs:${ACCOUNT}:orders`;
const TOPIC = `arn:aws:sns:${ACCOUNT}:events`;
const KEYS = ['secrets', 'orders', 'events', 'archive', 'logs'];
const key = (name: string) => `arn:aws:kms:${ACCOUNT}:key/00000000-0000-0000-0000-00000000000${KEYS.indexOf(name)}`;
const secret = (name: string) => `arn:aws:secretsmanager:${ACCOUNT}:secret:${name}-AbCdEf`;

/** Zips that no one reads: the synthesis takes their hash alone. */
export const ZIPS = fakeZips();

function fakeZips(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'outbox-zips-'));
  process.on('exit', () => fs.rmSync(folder, { recursive: true }));
  for (const name of ['relay', 'purge', 'admin']) fs.writeFileSync(path.join(folder, `${name}.zip`), name);
  return folder;
}

/** The least that has to be given, with IAM. */
export const LEAST: OutboxRelayProps = {
  code: { zips: ZIPS },
  subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
  securityGroupIds: ['sg-0123456789abcdef0'],
  databaseHost: 'shop.cluster-abc.eu-west-1.rds.amazonaws.com',
  databaseName: 'shop',
  databaseResourceId: 'cluster-ABCDEFGHIJ',
  destinations: { orders: QUEUE },
  queueArns: [QUEUE],
};

const { databaseResourceId: _id, ...WITHOUT_IAM } = LEAST;

/** Sets of props that together meet each condition of the template both ways. */
export const CASES: Record<string, OutboxRelayProps> = {
  'iam, the least': LEAST,
  'secret': { ...WITHOUT_IAM, databaseAuth: 'secret', relaySecretArn: secret('relay'), adminSecretArn: secret('admin') },
  'secret with a key of its own': {
    ...WITHOUT_IAM,
    databaseAuth: 'secret',
    relaySecretArn: secret('relay'),
    adminSecretArn: secret('admin'),
    secretKmsKeyArn: key('secrets'),
  },
  'iam, with secrets that are not used': {
    ...LEAST,
    relaySecretArn: secret('relay'),
    adminSecretArn: secret('admin'),
    secretKmsKeyArn: key('secrets'),
  },
  'linger': { ...LEAST, linger: true, memorySize: 512, reservedConcurrency: 2 },
  'topics alone': { ...LEAST, destinations: { events: TOPIC }, queueArns: undefined, topicArns: [TOPIC] },
  'queues, topics and their keys': {
    ...LEAST,
    destinations: { orders: QUEUE, events: TOPIC },
    topicArns: [TOPIC],
    destinationKmsKeyArns: [key('orders'), key('events')],
  },
  'archive': { ...LEAST, archiveLocation: 's3://my-archive/outbox' },
  'archive with a key, in the root of its bucket': {
    ...LEAST,
    archiveLocation: 's3://my-archive',
    archiveKmsKeyArn: key('archive'),
  },
  'a key without an archive': { ...LEAST, archiveKmsKeyArn: key('archive') },
  'boundary and alarm topic': {
    ...LEAST,
    permissionsBoundaryArn: 'arn:aws:iam::123456789012:policy/boundary',
    alarmTopicArn: `arn:aws:sns:${ACCOUNT}:alarms`,
  },
  'no default left': {
    ...LEAST,
    databasePort: 6432,
    schema: 'Messages',
    relayDatabaseUser: 'relay',
    adminDatabaseUser: 'operator',
    schedule: 'rate(5 minutes)',
    scheduleState: 'DISABLED',
    purgeSchedule: 'cron(0 3 * * ? *)',
    retentionHours: 0,
    architecture: 'x86_64',
    logLevel: 'debug',
    logRetentionDays: 365,
    metricsNamespace: 'Shop/Outbox',
    oldestDueLimitSeconds: 900,
    alarmPeriodSeconds: 900,
    databaseConnectTimeoutSeconds: 20,
    pollMs: 50,
    relayEnabled: false,
    batchSize: 100,
    concurrency: 4,
    maxAttempts: 5,
    backoffBaseMs: 500,
    backoffMaxMs: 60_000,
    purgeBatchSize: 500,
    purgeMemorySize: 256,
    tracingMode: 'Active',
    logKmsKeyArn: key('logs'),
    dashboard: false,
    deadMessagesLimit: 3,
    heldGroupsLimit: 2,
    purgeAlarmHours: 48,
    namePrefix: 'shop-outbox',
    rolePath: '/apps/',
    codeSigningConfigArn: `arn:aws:lambda:${ACCOUNT}:code-signing-config:csc-0123456789abcdef0`,
  },
  'a security group of its own, and IPv6': {
    ...LEAST,
    securityGroupIds: undefined,
    vpcId: 'vpc-0123456789abcdef0',
    ipv6DualStack: true,
  },
  'layers with authorities and destinations': {
    ...LEAST,
    destinations: undefined,
    destinationsFile: '/opt/destinations.json',
    databaseCaFile: '/opt/ca.pem',
    databaseSslMode: 'disable',
    layers: [`arn:aws:lambda:${ACCOUNT}:layer:files:1`],
  },
};

/** A stack of the name that the resolver knows, with the construct. */
export function stackOf(props: OutboxRelayProps, app = new App()): { stack: Stack; outbox: OutboxRelay } {
  const stack = new Stack(app, 'outbox');
  return { stack, outbox: new OutboxRelay(stack, 'Outbox', props) };
}

export function synthesized(props: OutboxRelayProps): Template {
  const { stack } = stackOf(props);
  const app = stack.node.root as App;
  return app.synth().getStackByName('outbox').template as Template;
}
