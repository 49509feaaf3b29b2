import { Token } from 'aws-cdk-lib';
import type { Destinations } from './destinations';
import { PARAMETERS, type Parameter, parameterOf, wordsOfBoolean } from './parameters';
import type { OutboxRelayProps } from './props';

type Text = string | string[];

/** The value of each parameter of the template: the prop's, or the default. */
export function values(props: OutboxRelayProps, destinations: Destinations): Record<string, Text> {
  const given: Record<string, unknown> = {
    ...Object.fromEntries(Object.entries(props).map(([prop, value]) => [parameterOf(prop), value])),
    Destinations: destinations.json,
    QueueArns: destinations.queueArns,
    TopicArns: destinations.topicArns,
    DestinationKmsKeyArns: destinations.kmsKeyArns,
  };
  const entries = Object.entries(PARAMETERS).map(([name, parameter]) => [name, text(given[name], parameter)]);
  return Object.fromEntries(entries) as Record<string, Text>;
}

/** As a person would type it into CloudFormation, which knows texts and lists alone; an empty list has one empty text. */
function text(value: unknown, parameter: Parameter): Text {
  const isList = parameter.Type.startsWith('List<') || parameter.Type === 'CommaDelimitedList';
  if (isList) return Array.isArray(value) && value.length > 0 ? (value as string[]) : [''];
  if (value === undefined) return String(parameter.Default);
  if (typeof value === 'boolean') return wordsOfBoolean(parameter)?.[Number(value)] ?? String(value);
  return Token.isUnresolved(value) ? Token.asString(value) : String(value);
}
