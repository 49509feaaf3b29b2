import { Tags } from 'aws-cdk-lib';
import type { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import type { CfnSecurityGroup } from 'aws-cdk-lib/aws-ec2';
import type { CfnRole } from 'aws-cdk-lib/aws-iam';
import { type CfnFunction, Function, type IFunction } from 'aws-cdk-lib/aws-lambda';
import { type CfnQueue, type IQueue, Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { type Architecture, asset, FUNCTIONS, type FunctionName } from './code';
import { destinations } from './destinations';
import { include } from './include';
import type { OutboxRelayProps } from './props';
import { validate } from './validate';
import { values } from './values';

/**
 * The relay, the purge and the admin function, with their timers, roles, log groups, alarms and dashboard: what
 * `infra/template.yaml` makes, because it is that template (`template.json`), with the props for its parameters.
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
  /** The security group that was made in `vpcId`, which the database's must let in; undefined if groups were given. */
  readonly securityGroupId?: string;

  /** @throws Error if a prop is not allowed; it names the prop, its value, what is allowed and an example. */
  constructor(scope: Construct, id: string, props: OutboxRelayProps) {
    super(scope, id);
    validate(props);
    const template = include(this, values(props, destinations(this, props)));
    for (const name of FUNCTIONS) this.addCode(template, name, props);
    for (const [key, value] of Object.entries(props.tags ?? {})) Tags.of(this).add(key, value);

    this.relayFunction = this.known(template, 'Relay');
    this.purgeFunction = this.known(template, 'Purge');
    this.adminFunction = this.known(template, 'Admin');
    const failures = template.getResource('FailureQueue') as CfnQueue;
    this.failureQueue = Queue.fromQueueArn(this, 'Failures', failures.attrArn);
    this.relayRoleArn = (template.getResource('RelayRole') as CfnRole).attrArn;
    if (!props.securityGroupIds?.length) {
      this.securityGroupId = (template.getResource('SecurityGroup') as CfnSecurityGroup).attrGroupId;
    }
  }

  private addCode(template: CfnInclude, name: FunctionName, props: OutboxRelayProps): void {
    const title = name.charAt(0).toUpperCase() + name.slice(1);
    const fn = template.getResource(`${title}Function`) as CfnFunction;
    const architecture: Architecture = props.architecture ?? 'arm64';
    const code = asset(new Construct(this, `${title}Code`), name, props.code, architecture);
    fn.code = { s3Bucket: code.s3BucketName, s3Key: code.s3ObjectKey };
    // For sam local and cdk watch, which look for the code there.
    code.addResourceMetadata(fn, 'Code');
  }

  /** The function as the rest of an app knows functions. */
  private known(template: CfnInclude, title: string): IFunction {
    const { attrArn } = template.getResource(`${title}Function`) as CfnFunction;
    return Function.fromFunctionAttributes(this, title, { functionArn: attrArn, sameEnvironment: true });
  }
}
