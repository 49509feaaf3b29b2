import { Token } from 'aws-cdk-lib';
import { allowed, PARAMETERS, type Parameter } from './parameters';
import type { OutboxRelayProps } from './props';

/** A prop that is not allowed: names it, its value, what is allowed and an example. */
export function refusal(prop: string, value: unknown, allowed: string, example: string): Error {
  return new Error(`OutboxRelay: ${prop} is ${JSON.stringify(value)}; allowed: ${allowed}; for example: ${example}`);
}

/** What CloudFormation refuses of the template's parameters, refused at synthesis. Tokens are left to CloudFormation. */
export function validate(props: OutboxRelayProps): void {
  for (const [prop, parameter] of Object.entries<Parameter>(PARAMETERS)) {
    check(prop, props[prop as keyof OutboxRelayProps], parameter);
  }
  checkList('subnetIds', props.subnetIds, 'subnet-0123456789abcdef0');
  checkList('securityGroupIds', props.securityGroupIds, 'sg-0123456789abcdef0');
  if (Object.keys(props.destinations).length === 0) {
    throw refusal('destinations', props.destinations, 'at least one destination', '{ orders: queue }');
  }
  checkAuth(props);
}

function check(prop: string, value: unknown, parameter: Parameter): void {
  const refused = () => refusal(prop, value, allowed(parameter), parameter.example);
  if (value === undefined) {
    if (parameter.default === undefined) throw refused();
    return;
  }
  if (Token.isUnresolved(value)) return;
  if (typeof parameter.default === 'boolean' && typeof value !== 'boolean') throw refused();
  if (parameter.values && !parameter.values.includes(value as string | number)) throw refused();
  if (parameter.pattern && !new RegExp(parameter.pattern).test(String(value))) throw refused();
  const { min, max = Number.MAX_SAFE_INTEGER, minLength, maxLength = Number.MAX_SAFE_INTEGER } = parameter;
  if (min !== undefined && !(Number.isInteger(value) && Number(value) >= min && Number(value) <= max)) throw refused();
  if (minLength !== undefined && !(String(value).length >= minLength && String(value).length <= maxLength)) throw refused();
}

function checkList(prop: string, value: string[], example: string): void {
  if (!Token.isUnresolved(value) && !(Array.isArray(value) && value.length > 0)) {
    throw refusal(prop, value, 'a list of at least one id', `['${example}']`);
  }
}

/** The template's rules. */
function checkAuth(props: OutboxRelayProps): void {
  const iam = (props.databaseAuth ?? PARAMETERS.databaseAuth.default) === 'iam';
  const needed = iam ? (['databaseResourceId'] as const) : (['relaySecretArn', 'adminSecretArn'] as const);
  for (const prop of needed) {
    if (!props[prop]) {
      const needs = `what databaseAuth ${iam ? 'iam' : 'secret'} needs`;
      throw refusal(prop, props[prop] ?? '', needs, PARAMETERS[prop].example);
    }
  }
}
