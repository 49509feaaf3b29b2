import { Stack, Token } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { DestinationSettings, OutboxRelayProps, Target } from './props';
import { refusal } from './validate';

/** The destinations as the relay reads them, and what its role may send to. */
export interface Destinations {
  /** The value of `OUTBOX_DESTINATIONS`; empty if there is none. */
  readonly json: string;
  readonly queueArns: string[];
  readonly topicArns: string[];
  readonly kmsKeyArns: string[];
}

export function destinations(scope: Construct, props: OutboxRelayProps): Destinations {
  const queueArns = new Set(props.queueArns);
  const topicArns = new Set(props.topicArns);
  const kmsKeyArns = new Set(props.destinationKmsKeyArns);
  const entries = Object.entries(props.destinations ?? {}).map(([name, entry]) => {
    const settings = hasSettings(entry) ? entry : undefined;
    const target = settings ? settings.target : (entry as Target);
    const arn = arnOf(target);
    permit(name, arn, target, { queueArns, topicArns });
    const key = keyOf(target);
    if (key) kmsKeyArns.add(key.keyArn);
    return [name, settings ? { target: arn, ...inJson(settings) } : arn] as const;
  });
  return {
    json: entries.length === 0 ? '' : Stack.of(scope).toJsonString(Object.fromEntries(entries)),
    queueArns: [...queueArns],
    topicArns: [...topicArns],
    kmsKeyArns: [...kmsKeyArns],
  };
}

function hasSettings(entry: Target | DestinationSettings): entry is DestinationSettings {
  return typeof entry === 'object' && 'target' in entry;
}

function arnOf(target: Target): string {
  if (typeof target === 'string') return target;
  return isQueue(target) ? target.queueArn : target.topicArn;
}

function isQueue(target: IQueue | ITopic): target is IQueue {
  return 'queueArn' in target;
}

function keyOf(target: Target): IKey | undefined {
  if (typeof target === 'string') return undefined;
  return isQueue(target) ? target.encryptionMasterKey : target.masterKey;
}

/** A queue or topic tells what it is, as does an ARN; a URL's queue and a token have to be among the ARNs given. */
function permit(name: string, arn: string, target: Target, sets: { queueArns: Set<string>; topicArns: Set<string> }): void {
  const { queueArns, topicArns } = sets;
  if (typeof target !== 'string') (isQueue(target) ? queueArns : topicArns).add(arn);
  else if (queueArns.has(arn) || topicArns.has(arn)) return;
  else if (/^arn:[^:]+:sqs:/.test(arn)) queueArns.add(arn);
  else if (/^arn:[^:]+:sns:/.test(arn)) topicArns.add(arn);
  else if (Token.isUnresolved(arn) || !isUrlOfOneOf(arn, queueArns)) {
    const known = Token.isUnresolved(arn) ? 'a token that queueArns or topicArns lists too' : 'an ARN, or a URL whose ARN queueArns lists';
    throw refusal(`destinations.${name}`, arn, `a queue, a topic, ${known}`, '{ orders: queue }');
  }
}

/** Whether one of the ARNs is of the queue of that URL; one that only CloudFormation knows may be. */
function isUrlOfOneOf(url: string, queueArns: Set<string>): boolean {
  const [, account, name] = /^https?:\/\/[^/]+\/([^/]+)\/([^/]+)\/?$/.exec(url) ?? [];
  if (!account || !name) return false;
  return [...queueArns].some((arn) => Token.isUnresolved(arn) || arn.endsWith(`:${account}:${name}`));
}

/** The settings under the names that the relay knows. */
function inJson(settings: DestinationSettings): Record<string, unknown> {
  const { maxBytes, fair, onDead } = settings;
  const named = { max_bytes: maxBytes, fair, on_dead: onDead };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}
