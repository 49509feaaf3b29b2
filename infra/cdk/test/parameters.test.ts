import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { defaultOf } from '../lib/parameters';
import { documented, table } from './support/documentation';
import { PACKAGE, parameterOf, translate } from './support/sam';

const { template, included } = translate([]);
const parameters = template.Parameters ?? {};

/** Props that are no parameter of the template, and why. */
const OWN: Record<string, string> = {
  code: 'sam build knows where the code is',
  tags: 'sam deploy --tags',
};

test('the props are the parameters of the template', () => {
  const props = documented().map(({ prop }) => prop);
  const shared = props.filter((prop) => !(prop in OWN)).map(parameterOf);
  assert.deepEqual(shared.sort(), Object.keys(parameters).sort());
  assert.ok(Object.keys(OWN).every((prop) => props.includes(prop)));
});

test('template.json is what template.py makes of the template', () => {
  const written = fs.readFileSync(path.join(PACKAGE, 'template.json'), 'utf8');
  assert.equal(written, included, 'infra/cdk/template.json is not of this infra/template.yaml: make check-cdk UPDATE=1');
});

test('each doc comment tells the default of its prop', () => {
  for (const { prop, standard } of documented()) {
    assert.equal(standard, defaultOf(prop), prop);
  }
});

test("README.md's table is what props.ts and the template say", () => {
  const readme = fs.readFileSync(path.join(PACKAGE, 'README.md'), 'utf8');
  assert.ok(readme.includes(`\n${table()}\n`), `README.md's table of props should be:\n\n${table()}\n`);
});
