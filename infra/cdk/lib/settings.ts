import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { type Destinations, destinations } from './destinations';
import { PARAMETERS } from './parameters';
import type { OutboxRelayProps } from './props';
import { validate } from './validate';

/** How long a run may last. A lease that ended before its run would let messages go out twice. */
export const RUN = {
  off: { timeoutSeconds: 60, leaseSeconds: 120, lingerSeconds: 0 },
  on: { timeoutSeconds: 90, leaseSeconds: 120, lingerSeconds: 55 },
};

/** The props, valid and with their defaults, and what follows from them. */
export type Settings = Omit<Required<OutboxRelayProps>, 'destinations' | 'reservedConcurrency' | 'queueArns' | 'topicArns'> & {
  readonly destinations: Destinations;
  readonly reservedConcurrency?: number;
  /** What the names of all resources begin with. */
  readonly prefix: string;
  readonly run: (typeof RUN)['on' | 'off'];
  readonly usesIam: boolean;
};

/** @throws Error if a prop is not allowed; it names the prop, its value, what is allowed and an example. */
export function settings(scope: Construct, props: OutboxRelayProps): Settings {
  validate(props);
  const defaults = Object.fromEntries(
    Object.entries(PARAMETERS).map(([prop, parameter]) => [prop, 'default' in parameter ? parameter.default : undefined]),
  );
  const given = Object.fromEntries(Object.entries(props).filter(([, value]) => value !== undefined));
  const filled = { ...defaults, ...given } as Required<OutboxRelayProps>;
  return {
    ...filled,
    reservedConcurrency: props.reservedConcurrency,
    destinations: destinations(scope, props),
    prefix: Stack.of(scope).stackName,
    run: RUN[filled.linger ? 'on' : 'off'],
    usesIam: filled.databaseAuth === 'iam',
  };
}
