import { App, Stack } from 'aws-cdk-lib';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { OutboxRelay } from '../lib';

/** An outbox with a queue and a topic: `npx cdk synth --context zips=../../target/package`. */
const app = new App();
const stack = new Stack(app, 'shop-outbox');
const orders = new Queue(stack, 'Orders', { fifo: true, enforceSSL: true });
const events = new Topic(stack, 'Events', { enforceSSL: true });

new OutboxRelay(stack, 'Outbox', {
  code: { zips: app.node.getContext('zips') as string },
  subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
  securityGroupIds: ['sg-0123456789abcdef0'],
  databaseHost: 'shop.cluster-abc.eu-west-1.rds.amazonaws.com',
  databaseName: 'shop',
  databaseResourceId: 'cluster-ABCDEFGHIJ',
  destinations: { orders, events: { target: events, maxBytes: 200_000 } },
  alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:alarms',
  tags: { team: 'shop' },
});
