/**
 * What a prop may be, and what it is if it is not given: the same as the parameter of `infra/template.yaml` of that name,
 * which `test/parameters.test.ts` compares. `validate.ts` holds each prop to it.
 */
export interface Parameter {
  readonly default?: string | number | boolean;
  /** Least and greatest whole number. */
  readonly min?: number;
  readonly max?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly values?: readonly (string | number)[];
  readonly pattern?: string;
  /** A value that is allowed, for errors. */
  readonly example: string;
}

const ARN = 'arn:aws:SERVICE:eu-west-1:123456789012:NAME';

export const PARAMETERS = {
  databaseHost: { minLength: 1, example: 'shop.cluster-abc.eu-west-1.rds.amazonaws.com' },
  databasePort: { default: 5432, min: 1, max: 65_535, example: '5432' },
  databaseName: { minLength: 1, example: 'shop' },
  schema: { default: 'outbox', minLength: 1, maxLength: 63, example: 'outbox' },
  databaseAuth: { default: 'iam', values: ['iam', 'secret'], example: 'iam' },
  databaseResourceId: { default: '', pattern: '^((db|cluster|prx)-[A-Za-z0-9]+)?$', example: 'cluster-ABCDEFGHIJ' },
  relayDatabaseUser: { default: 'outbox_relay_login', example: 'outbox_relay_login' },
  adminDatabaseUser: { default: 'outbox_admin_login', example: 'outbox_admin_login' },
  relaySecretArn: { default: '', example: ARN.replace('SERVICE', 'secretsmanager').replace('NAME', 'secret:relay-AbCdEf') },
  adminSecretArn: { default: '', example: ARN.replace('SERVICE', 'secretsmanager').replace('NAME', 'secret:admin-AbCdEf') },
  secretKmsKeyArn: { default: '', example: ARN.replace('SERVICE', 'kms').replace('NAME', 'key/ID') },
  schedule: { default: 'rate(1 minute)', example: 'rate(1 minute)' },
  scheduleState: { default: 'ENABLED', values: ['ENABLED', 'DISABLED'], example: 'ENABLED' },
  linger: { default: false, example: 'true' },
  purgeSchedule: { default: 'rate(1 hour)', example: 'rate(1 hour)' },
  retentionHours: { default: 168, min: 0, max: 87_600, example: '168' },
  archiveLocation: {
    default: '',
    pattern: '^(s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.=-]+)*)?$',
    example: 's3://my-archive/outbox',
  },
  archiveKmsKeyArn: { default: '', example: ARN.replace('SERVICE', 'kms').replace('NAME', 'key/ID') },
  architecture: { default: 'arm64', values: ['arm64', 'x86_64'], example: 'arm64' },
  memorySize: { default: 256, min: 128, max: 10_240, example: '256' },
  reservedConcurrency: { default: '', pattern: '^([1-9][0-9]*)?$', example: '2' },
  logLevel: { default: 'info', values: ['error', 'warn', 'info', 'debug', 'trace'], example: 'info' },
  logRetentionDays: {
    default: 30,
    values: [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653],
    example: '30',
  },
  permissionsBoundaryArn: { default: '', example: 'arn:aws:iam::123456789012:policy/NAME' },
  metricsNamespace: {
    default: 'Outbox',
    pattern: '^(?!off$)(?!AWS/)[A-Za-z0-9._/#-][A-Za-z0-9._/#:-]{0,254}$',
    example: 'Outbox',
  },
  alarmTopicArn: { default: '', example: ARN.replace('SERVICE', 'sns') },
  oldestDueLimitSeconds: { default: 300, min: 1, example: '300' },
  alarmPeriodSeconds: {
    default: 300,
    values: [60, 120, 180, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400],
    example: '300',
  },
} as const satisfies Record<string, Parameter>;

/** What is allowed, in words. */
export function allowed(parameter: Parameter): string {
  const { min, max, minLength, maxLength, values, pattern } = parameter;
  if (values) return values.join(', ');
  if (min !== undefined) return max === undefined ? `whole numbers from ${min}` : `whole numbers from ${min} to ${max}`;
  if (pattern) return pattern;
  if (typeof parameter.default === 'boolean') return 'true, false';
  if (maxLength !== undefined) return `${minLength ?? 0} to ${maxLength} characters`;
  return minLength === undefined ? 'any text' : 'any text but an empty one';
}
