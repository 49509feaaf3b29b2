import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { CASES, synthesized } from './support/cases';
import { Resolver, type Template, type Value } from './support/resolve';
import { PACKAGE, parameters, translate } from './support/sam';

/*
 * That the functions' variables are those of .env.example is tested of the template (tests/it/template/environment.rs): what
 * the construct makes is compared with it here, variable for variable.
 */

/** All that differs between the two routes, and why it must. Each is seen at least once, or it does not belong here. */
const DIFFERENCES: { type: string; property: string; reason: string }[] = [
  { type: 'AWS::Lambda::Function', property: 'Code', reason: 'SAM and the CDK have buckets of their own' },
  { type: 'AWS::Lambda::Function', property: 'Tags', reason: 'SAM tags what it made with lambda:createdBy' },
];

type Plain = Record<string, Record<string, Value | undefined>>;

const cases = Object.entries(CASES);
const sam = translate(cases.map(([, props]) => parameters(props as never)));
const seen = new Set<string>();

for (const [index, [name, props]] of cases.entries()) {
  test(`the construct makes what the template makes: ${name}`, () => {
    const translated = sam.translated[index] as Template;
    const expected = plain(translated, new Resolver(translated, parameters(props as never)), (id) => id);
    const template = synthesized(props);
    const found = plain(template, new Resolver(template, {}, constructId), constructId);
    keep(name, template);

    assert.deepEqual(Object.keys(found).sort(), Object.keys(expected).sort());
    for (const id of Object.keys(expected)) {
      const [left, right] = [found[id], expected[id]].map((resource) => ({ ...resource })) as [Plain[''], Plain['']];
      takeDifferences(left, right);
      assert.deepEqual(left, right, id);
    }
  });
}

test('every difference is one that was seen', () => {
  assert.deepEqual([...seen].sort(), DIFFERENCES.map(({ type, property }) => `${type} ${property}`).sort());
});

test('every condition of the template was met and not met', () => {
  for (const condition of Object.keys(sam.template.Conditions ?? {})) {
    const held = cases.map(([, props]) => new Resolver(sam.template, parameters(props as never)).holds(condition));
    assert.deepEqual(new Set(held), new Set([true, false]), condition);
  }
});

test('every parameter of the template was given a value that is not its default', () => {
  const given = cases.map(([, props]) => parameters(props as never));
  for (const [name, parameter] of Object.entries(sam.template.Parameters ?? {})) {
    const standard = String(parameter.Default ?? '');
    assert.ok(given.some((set) => (set[name] ?? standard) !== standard), name);
  }
});

/** Name -> type, properties and policies, of the resources whose condition holds. */
function plain(template: Template, resolver: Resolver, rename: (id: string) => string): Plain {
  const made = Object.entries(template.Resources).filter(([, { Condition }]) => !Condition || resolver.holds(Condition));
  const entries = made.map(([id, resource]) => {
    const { Type, Properties = {}, DeletionPolicy, UpdateReplacePolicy, DependsOn } = resource;
    const properties = (resolver.resolve(Properties) ?? {}) as Record<string, Value>;
    const whole = { Type, DeletionPolicy, UpdateReplacePolicy, DependsOn, ...readable(properties) };
    return [rename(id), whole] as const;
  });
  return Object.fromEntries(entries);
}

/** The body of a dashboard is JSON in a string, whose spaces and order say nothing. */
function readable(properties: Record<string, Value>): Record<string, Value> {
  const { DashboardBody: body } = properties;
  return typeof body === 'string' ? { ...properties, DashboardBody: JSON.parse(body) as Value } : properties;
}

/** The id in the construct, which is the template's logical id: CDK's has the construct before it and a hash behind. */
function constructId(id: string): string {
  const [, own] = /^Outbox(\w+)[0-9A-F]{8}$/.exec(id) ?? [];
  assert.ok(own, id);
  return own;
}

/** Remove from both what may differ, and note that it did. */
function takeDifferences(left: Plain[''], right: Plain['']): void {
  for (const { type, property } of DIFFERENCES) {
    if (left.Type !== type || JSON.stringify(left[property]) === JSON.stringify(right[property])) continue;
    const isSamTag = JSON.stringify(right[property]) === '[{"Key":"lambda:createdBy","Value":"SAM"}]';
    if (property === 'Code' || (left[property] === undefined && isSamTag)) {
      seen.add(`${type} ${property}`);
      delete left[property];
      delete right[property];
    }
  }
}

/** For cfn-lint, which make check-cdk runs on them. */
function keep(name: string, template: Template): void {
  const folder = path.join(PACKAGE, 'dist/synthesized');
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, `${name.replace(/[^a-z]+/g, '-')}.json`), JSON.stringify(template, null, 1));
}
