import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { App, CfnParameter, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { OutboxRelay, type OutboxRelayProps } from '../lib';
import { exampleOf, PARAMETERS, wordsOfBoolean } from '../lib/parameters';
import { LEAST, stackOf, synthesized, ZIPS } from './support/cases';
import type { Template, Value } from './support/resolve';

/** What is wrong with each, in place of the same prop of `LEAST`, and the prop that is named if another one is. */
const REFUSED: [prop: string, value: unknown, named?: string][] = [
  ['databaseHost', ''],
  ['databaseHost', undefined],
  ['databasePort', 0],
  ['databasePort', 65_536],
  ['databasePort', 54.32],
  ['schema', 'x'.repeat(64)],
  ['databaseAuth', 'password'],
  ['databaseResourceId', 'shop'],
  ['databaseResourceId', undefined],
  ['subnetIds', []],
  ['securityGroupIds', []],
  ['destinations', {}],
  ['destinationsFile', '/opt/destinations.json', 'destinations'],
  ['vpcId', 'my-vpc'],
  ['dashboard', 'off'],
  ['relayEnabled', 'false'],
  ['namePrefix', '-x'],
  ['purgeAlarmHours', 1],
  ['scheduleState', 'OFF'],
  ['linger', 'on'],
  ['retentionHours', -1],
  ['archiveLocation', 's3://my-archive/'],
  ['architecture', 'x86-64'],
  ['memorySize', 64],
  ['reservedConcurrency', 0],
  ['logLevel', 'warning'],
  ['logRetentionDays', 31],
  ['metricsNamespace', 'off'],
  ['oldestDueLimitSeconds', 0],
  ['alarmPeriodSeconds', 90],
];

for (const [prop, value, named = prop] of REFUSED) {
  test(`${prop} ${JSON.stringify(value)} is refused with the prop, the value, what is allowed and an example`, () => {
    assert.throws(() => stackOf({ ...LEAST, [prop]: value } as OutboxRelayProps), (error: Error) => {
      const isNamed = error.message.startsWith(`OutboxRelay: ${named} is `);
      return isNamed && /; allowed: .+; for example: .+/.test(error.message);
    });
  });
}

test('an example of an error is one that is allowed', () => {
  const ofAnotherType = ['destinations', 'subnetIds', 'securityGroupIds', 'queueArns', 'topicArns', 'destinationKmsKeyArns', 'layers'];
  for (const [name, parameter] of Object.entries(PARAMETERS)) {
    const prop = name.charAt(0).toLowerCase() + name.slice(1);
    if (ofAnotherType.includes(prop) || prop === 'destinationsFile') continue;
    const isNumber = typeof parameter.Default === 'number' || prop === 'reservedConcurrency';
    const example = exampleOf(prop);
    const value = isNumber ? Number(example) : wordsOfBoolean(parameter) ? example === 'true' : example;
    assert.doesNotThrow(() => stackOf({ ...LEAST, [prop]: value, relaySecretArn: 'a', adminSecretArn: 'b' }), prop);
  }
});

test('secret needs both secrets', () => {
  const secret = { ...LEAST, databaseAuth: 'secret', relaySecretArn: 'arn:relay' } as const;
  assert.throws(() => stackOf(secret), /OutboxRelay: adminSecretArn is "".*what databaseAuth secret needs/);
});

test('a value that only CloudFormation knows is left to it', () => {
  const stack = new Stack(new App(), 'outbox');
  const host = new CfnParameter(stack, 'Host').valueAsString;
  const subnetIds = new CfnParameter(stack, 'Subnets', { type: 'List<AWS::EC2::Subnet::Id>' }).valueAsList;
  assert.doesNotThrow(() => new OutboxRelay(stack, 'Outbox', { ...LEAST, databaseHost: host, subnetIds }));
});

test('queues and topics of the app are destinations, with their keys, and their settings go along', () => {
  const app = new App();
  const stack = new Stack(app, 'outbox');
  const key = new Key(stack, 'Key');
  const orders = new Queue(stack, 'Orders', { encryption: QueueEncryption.KMS, encryptionMasterKey: key });
  const events = new Topic(stack, 'Events');
  const destinations = { orders: { target: orders, maxBytes: 262_144, fair: true, onDead: 'hold' as const }, events };
  new OutboxRelay(stack, 'Outbox', { ...LEAST, destinations, queueArns: undefined });
  const template = app.synth().getStackByName('outbox').template as Template;

  const arn = (construct: Queue | Key, attribute = 'Arn') => {
    return { 'Fn::GetAtt': [stack.getLogicalId(construct.node.defaultChild as never), attribute] };
  };
  const topic = { Ref: stack.getLogicalId(events.node.defaultChild as never) };
  const statements = statementsOf(template, 'Relay');
  assert.deepEqual(statements.SendToQueues?.Resource, [arn(orders)]);
  assert.deepEqual(statements.PublishToTopics?.Resource, [topic]);
  assert.deepEqual(statements.EncryptForDestinations?.Resource, [arn(key)]);
  const written = variablesOf(template, 'Relay').OUTBOX_DESTINATIONS as { 'Fn::Join': [string, Value[]] };
  const json = written['Fn::Join'][1].map((part) => (typeof part === 'string' ? part : 'ARN')).join('');
  const settings = { target: 'ARN', max_bytes: 262_144, fair: true, on_dead: 'hold' };
  assert.deepEqual(JSON.parse(json), { orders: settings, events: 'ARN' });
});

test('a destination given by its ARN may be sent to', () => {
  const queue = 'arn:aws:sqs:eu-west-1:123456789012:orders.fifo';
  const topic = 'arn:aws:sns:eu-west-1:123456789012:events';
  const template = synthesized({ ...LEAST, destinations: { orders: queue, events: topic }, queueArns: undefined });
  const statements = statementsOf(template, 'Relay');
  assert.deepEqual([statements.SendToQueues?.Resource, statements.PublishToTopics?.Resource], [[queue], [topic]]);
});

test('a URL without the ARN of its queue is refused', () => {
  const destinations = { orders: 'https://sqs.eu-west-1.amazonaws.com/123456789012/orders' };
  const props = { ...LEAST, destinations };
  assert.throws(() => stackOf({ ...props, queueArns: undefined }), /OutboxRelay: destinations.orders is "https:/);
  assert.doesNotThrow(() => stackOf(props));
  const other = { orders: LEAST.destinations?.orders as string, other: 'https://sqs.eu-west-1.amazonaws.com/123456789012/other' };
  for (const both of [other, { other: other.other, orders: other.orders }]) {
    assert.throws(() => stackOf({ ...LEAST, destinations: both }), /OutboxRelay: destinations.other is "https:/);
  }
});

test('zips are found by architecture, by name, in the folders of cargo-lambda, and where they are said to be', () => {
  const folder = fs.mkdtempSync(path.join(ZIPS, 'layout-'));
  const write = (file: string) => {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    fs.writeFileSync(path.join(folder, file), file);
  };
  write('relay-arm64.zip');
  write('relay-x86-64.zip');
  write('purge.zip');
  write('admin/bootstrap.zip');
  const key = (props: Partial<OutboxRelayProps>, name: string) => {
    const template = synthesized({ ...LEAST, ...props });
    return JSON.stringify(functionOf(template, name).Code);
  };
  const found = { code: { zips: folder } };
  const named = (relay: string) => {
    const zips = { relay, purge: path.join(folder, 'purge.zip'), admin: path.join(folder, 'admin/bootstrap.zip') };
    return { code: { zips } };
  };
  for (const [architecture, file] of [['arm64', 'relay-arm64.zip'], ['x86_64', 'relay-x86-64.zip']] as const) {
    assert.equal(key({ ...found, architecture }, 'Relay'), key(named(path.join(folder, file)), 'Relay'), file);
  }
  assert.throws(() => key(named('missing.zip'), 'Relay'), /OutboxRelay: code.zips \(relay, arm64\) is "missing.zip"/);
  fs.rmSync(path.join(folder, 'admin'), { recursive: true });
  assert.throws(() => key(found, 'Admin'), /OutboxRelay: code.zips \(admin, arm64\) is .*admin-arm64.zip.*make package/);
});

test('two outboxes in one app do not share a name', () => {
  const app = new App();
  const names = ['one', 'two'].map((id) => {
    const stack = new Stack(app, id);
    new OutboxRelay(stack, 'Outbox', LEAST);
    return id;
  });
  const assembly = app.synth();
  for (const id of names) {
    const template = assembly.getStackByName(id).template as Template;
    assert.deepEqual(functionOf(template, 'Relay').FunctionName, { 'Fn::Join': ['', [{ Ref: 'AWS::StackName' }, '-relay']] });
  }
});

test('tags reach whatever can be tagged', () => {
  const template = synthesized({ ...LEAST, tags: { team: 'shop' } });
  const tagged = Object.values(template.Resources).filter(({ Properties }) => Properties.Tags);
  const kinds = new Set(tagged.map(({ Type, Properties }) => {
    assert.deepEqual(Properties.Tags, [{ Key: 'team', Value: 'shop' }], Type);
    return Type;
  }));
  for (const kind of ['Lambda::Function', 'Logs::LogGroup', 'IAM::Role', 'SQS::Queue', 'CloudWatch::Alarm']) {
    assert.ok(kinds.has(`AWS::${kind}`), kind);
  }
});

test('who may invoke the admin function is granted as for any function', () => {
  const { stack, outbox } = stackOf(LEAST);
  const operator = new Role(stack, 'Operator', { assumedBy: new ServicePrincipal('ec2.amazonaws.com') });
  outbox.adminFunction.grantInvoke(operator);
  const template = (stack.node.root as App).synth().getStackByName('outbox').template as Template;
  const policy = Object.entries(template.Resources).find(([id]) => id.startsWith('OperatorDefaultPolicy'));
  assert.match(JSON.stringify(policy), /"lambda:InvokeFunction".*OutboxAdminFunction/);
});

function functionOf(template: Template, name: string): Record<string, Value> {
  const found = Object.entries(template.Resources).find(([id, { Type }]) => {
    return Type === 'AWS::Lambda::Function' && id.startsWith(`Outbox${name}Function`);
  });
  return found?.[1].Properties as Record<string, Value>;
}

function variablesOf(template: Template, name: string): Record<string, Value> {
  return (functionOf(template, name).Environment as { Variables: Record<string, Value> }).Variables;
}

/** The statements of a function's own policy, by their Sid. */
function statementsOf(template: Template, name: string): Record<string, Record<string, Value>> {
  const [, role] = Object.entries(template.Resources).find(([id]) => id.startsWith(`Outbox${name}Role`)) ?? [];
  const [policy] = role?.Properties.Policies as { PolicyDocument: { Statement: Record<string, Value>[] } }[];
  return Object.fromEntries(policy?.PolicyDocument.Statement.map((statement) => [statement.Sid, statement]) ?? []);
}
