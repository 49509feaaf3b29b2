import * as template from '../template.json';

/** A parameter of the template, as it stands there. */
export interface Parameter {
  readonly Type: string;
  readonly Description: string;
  readonly Default?: string | number;
  readonly MinValue?: number;
  readonly MaxValue?: number;
  readonly MinLength?: number;
  readonly MaxLength?: number;
  readonly AllowedValues?: (string | number)[];
  readonly AllowedPattern?: string;
}

/** All of them, by name. */
export const PARAMETERS: Record<string, Parameter> = template.Parameters;

/** The parameter that says the same as a prop: `databaseHost` is `DatabaseHost`. */
export function parameterOf(prop: string): string {
  return prop.charAt(0).toUpperCase() + prop.slice(1);
}

/** The words of a parameter that is a boolean prop: the one for false, and the one for true. */
export function wordsOfBoolean(parameter: Parameter): [string, string] | undefined {
  const pairs: [string, string][] = [['off', 'on'], ['false', 'true']];
  return pairs.find((pair) => pair.every((word) => parameter.AllowedValues?.length === 2 && parameter.AllowedValues.includes(word)));
}

/** The default of a prop; undefined where leaving it out means that there is none. */
export function defaultOf(prop: string): string | undefined {
  const parameter = PARAMETERS[parameterOf(prop)];
  if (parameter?.Default === undefined || parameter.Default === '') return undefined;
  const words = wordsOfBoolean(parameter);
  return words ? String(parameter.Default === words[1]) : String(parameter.Default);
}

/** What is allowed, in words. */
export function allowed(parameter: Parameter): string {
  const { AllowedValues, MinValue, MaxValue, MinLength, MaxLength, AllowedPattern } = parameter;
  if (wordsOfBoolean(parameter)) return 'true, false';
  if (AllowedValues) return AllowedValues.join(', ');
  if (MinValue !== undefined) {
    return MaxValue === undefined ? `whole numbers from ${MinValue}` : `whole numbers from ${MinValue} to ${MaxValue}`;
  }
  if (AllowedPattern) return AllowedPattern;
  if (MaxLength !== undefined) return `${MinLength ?? 0} to ${MaxLength} characters`;
  return MinLength === undefined ? 'any text' : 'any text but an empty one';
}

const ACCOUNT = 'eu-west-1:123456789012';

/** Values that are allowed, where the default is none. */
const EXAMPLES: Record<string, string> = {
  databaseHost: 'shop.cluster-abc.eu-west-1.rds.amazonaws.com',
  databaseName: 'shop',
  databaseResourceId: 'cluster-ABCDEFGHIJ',
  relaySecretArn: `arn:aws:secretsmanager:${ACCOUNT}:secret:relay-AbCdEf`,
  adminSecretArn: `arn:aws:secretsmanager:${ACCOUNT}:secret:admin-AbCdEf`,
  vpcId: 'vpc-0123456789abcdef0',
  archiveLocation: 's3://my-archive/outbox',
  reservedConcurrency: '2',
  namePrefix: 'shop-outbox',
};

/** A value that is allowed, for errors. */
export function exampleOf(prop: string): string {
  return EXAMPLES[prop] ?? defaultOf(prop) ?? `arn:aws:SERVICE:${ACCOUNT}:NAME`;
}
