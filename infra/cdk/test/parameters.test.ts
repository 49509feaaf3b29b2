import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { PARAMETERS, type Parameter } from '../lib/parameters';
import { RUN } from '../lib/settings';
import { documented, table } from './support/documentation';
import type { Value } from './support/resolve';
import { PACKAGE, parameterOf, translate } from './support/sam';

const { template } = translate([]);
const parameters = template.Parameters ?? {};

/** Props that are no parameter of the template, and why. */
const OWN: Record<string, string> = {
  code: 'sam build knows where the code is',
  tags: 'sam deploy --tags',
};

/** Parameters whose rule is not one of the table, since their prop has another type. */
const OF_ANOTHER_TYPE = ['SubnetIds', 'SecurityGroupIds', 'Destinations', 'QueueArns', 'TopicArns', 'DestinationKmsKeyArns'];

test('the props are the parameters of the template', () => {
  const props = documented().map(({ prop }) => prop);
  const shared = props.filter((prop) => !(prop in OWN)).map(parameterOf);
  assert.deepEqual(shared.sort(), Object.keys(parameters).sort());
  assert.ok(Object.keys(OWN).every((prop) => props.includes(prop)));
});

test('each prop has the default and the limits of its parameter', () => {
  const names = Object.keys(PARAMETERS).map(parameterOf);
  assert.deepEqual(names.concat(OF_ANOTHER_TYPE).sort(), Object.keys(parameters).sort());
  for (const [prop, parameter] of Object.entries<Parameter>(PARAMETERS)) {
    const { Type: _, Description: __, ...expected } = parameters[parameterOf(prop)] as Record<string, Value>;
    assert.deepEqual(inTemplate(parameter), expected, prop);
  }
});

test('how long a run may last is the mapping of the template', () => {
  const upper = (run: object) =>
    Object.fromEntries(Object.entries(run).map(([name, value]) => [parameterOf(name), value]));
  assert.deepEqual({ off: upper(RUN.off), on: upper(RUN.on) }, template.Mappings?.Run);
});

test('each doc comment tells the default of its prop', () => {
  for (const { prop, standard } of documented()) {
    const parameter = (PARAMETERS as Record<string, Parameter>)[prop];
    const known = parameter?.default === '' ? undefined : parameter?.default;
    assert.equal(standard, known === undefined ? undefined : String(known), prop);
  }
});

test("README.md's table is what props.ts and parameters.ts say", () => {
  const readme = fs.readFileSync(path.join(PACKAGE, 'README.md'), 'utf8');
  assert.ok(readme.includes(`\n${table()}\n`), `README.md's table of props should be:\n\n${table()}\n`);
});

/** As the template would write it. */
function inTemplate(parameter: Parameter): Record<string, unknown> {
  const { default: standard, min, max, minLength, maxLength, values, pattern } = parameter;
  const onOrOff = typeof standard === 'boolean';
  const written = {
    Default: onOrOff ? (standard ? 'on' : 'off') : standard,
    MinValue: min,
    MaxValue: max,
    MinLength: minLength,
    MaxLength: maxLength,
    AllowedValues: onOrOff ? ['off', 'on'] : values,
    AllowedPattern: pattern,
  };
  return Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined));
}
