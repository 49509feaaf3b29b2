import { Token } from 'aws-cdk-lib';
import { allowed, exampleOf, PARAMETERS, type Parameter, parameterOf, wordsOfBoolean } from './parameters';
import type { OutboxRelayProps } from './props';

/** A prop that is not allowed: names it, its value, what is allowed and an example. */
export function refusal(prop: string, value: unknown, allowed: string, example: string): Error {
  return new Error(`OutboxRelay: ${prop} is ${JSON.stringify(value)}; allowed: ${allowed}; for example: ${example}`);
}

/** Parameters whose prop is no text, number or boolean. */
const OF_ANOTHER_TYPE = ['Destinations', 'SubnetIds', 'SecurityGroupIds', 'QueueArns', 'TopicArns', 'DestinationKmsKeyArns', 'Layers'];

/**
 * What CloudFormation refuses of the template's parameters and by its rules, refused at synthesis. Tokens are left to
 * CloudFormation.
 *
 * @throws Error if a prop is not allowed.
 */
export function validate(props: OutboxRelayProps): void {
  const given = Object.fromEntries(Object.entries(props).map(([prop, value]) => [parameterOf(prop), { prop, value }]));
  for (const [name, parameter] of Object.entries(PARAMETERS)) {
    if (OF_ANOTHER_TYPE.includes(name)) continue;
    const { prop, value } = given[name] ?? { prop: name.charAt(0).toLowerCase() + name.slice(1), value: undefined };
    check(prop, value, parameter);
  }
  if (!Token.isUnresolved(props.subnetIds) && !(props.subnetIds?.length > 0)) {
    throw refusal('subnetIds', props.subnetIds, 'a list of at least one id', "['subnet-0123456789abcdef0']");
  }
  checkNetwork(props);
  checkDestinations(props);
  checkAuth(props);
}

function check(prop: string, value: unknown, parameter: Parameter): void {
  const refused = () => refusal(prop, value, allowed(parameter), exampleOf(prop));
  if (value === undefined) {
    if (parameter.Default === undefined) throw refused();
    return;
  }
  if (Token.isUnresolved(value)) {
    // What is deployed depends on it.
    if (parameter.AllowedValues) throw refusal(prop, value, `${allowed(parameter)}, known at synthesis`, exampleOf(prop));
    return;
  }
  if (wordsOfBoolean(parameter)) {
    if (typeof value !== 'boolean') throw refused();
    return;
  }
  const { AllowedValues, AllowedPattern, MinValue, MaxValue, MinLength = 0, MaxLength = Infinity } = parameter;
  if (AllowedValues && !AllowedValues.includes(value as string | number)) throw refused();
  if (AllowedPattern && !new RegExp(AllowedPattern).test(String(value))) throw refused();
  if (MinValue !== undefined && !isWhole(value, MinValue, MaxValue)) throw refused();
  if (String(value).length < MinLength || String(value).length > MaxLength) throw refused();
}

function isWhole(value: unknown, least: number, greatest = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isInteger(value) && Number(value) >= least && Number(value) <= greatest;
}

function checkNetwork({ securityGroupIds = [], vpcId }: OutboxRelayProps): void {
  if (!Token.isUnresolved(securityGroupIds) && securityGroupIds.length === 0 && !vpcId) {
    const allowed = 'a list of at least one id, or none and vpcId, where one is made';
    throw refusal('securityGroupIds', securityGroupIds, allowed, "['sg-0123456789abcdef0']");
  }
}

function checkDestinations({ destinations = {}, destinationsFile }: OutboxRelayProps): void {
  if ((Object.keys(destinations).length === 0) === !destinationsFile) {
    const allowed = 'at least one destination, or none and destinationsFile';
    throw refusal('destinations', Object.keys(destinations), allowed, '{ orders: queue }');
  }
}

function checkAuth(props: OutboxRelayProps): void {
  const iam = (props.databaseAuth ?? PARAMETERS.DatabaseAuth?.Default) === 'iam';
  const needed = iam ? (['databaseResourceId'] as const) : (['relaySecretArn', 'adminSecretArn'] as const);
  for (const prop of needed) {
    if (!props[prop]) {
      const needs = `what databaseAuth ${iam ? 'iam' : 'secret'} needs`;
      throw refusal(prop, props[prop] ?? '', needs, exampleOf(prop));
    }
  }
}
