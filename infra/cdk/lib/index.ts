/** The outbox relay as a construct: `new OutboxRelay(stack, 'Outbox', { ... })`. */
export { OutboxRelay } from './outbox-relay';
export type { DestinationSettings, OutboxCode, OutboxRelayProps, Target, Zips } from './props';
