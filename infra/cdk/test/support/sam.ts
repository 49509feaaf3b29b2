import { execFileSync } from 'node:child_process';
import * as path from 'node:path';
import type { Template, Value } from './resolve';

/** The folder of the package, from the folder of the compiled tests. */
export const PACKAGE = path.resolve(__dirname, '../../..');
export const TEMPLATE = path.join(PACKAGE, '../template.yaml');

/** The template as it is written, as SAM's translator makes it for each set of parameters, and as the construct includes it. */
export interface Sam {
  readonly template: Template;
  readonly translated: Template[];
  readonly included: string;
}

export function translate(sets: Record<string, string>[]): Sam {
  const python = process.env.SAM_PYTHON;
  if (!python) throw new Error('SAM_PYTHON is not set: run make check-cdk, which installs a Python with aws-sam-translator');
  const script = path.join(PACKAGE, 'test/support/translate.py');
  const output = execFileSync(python, [script, TEMPLATE], { input: JSON.stringify(sets), maxBuffer: 1 << 26 });
  return JSON.parse(output.toString()) as Sam;
}

/** The parameters that say the same as props: `databaseHost` is `DatabaseHost`. */
export function parameters(props: Record<string, Value | undefined>): Record<string, string> {
  const { code: _code, tags: _tags, ...shared } = props;
  const entries = Object.entries(shared).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([prop, value]) => [parameterOf(prop), text(prop, value as Value)]));
}

export function parameterOf(prop: string): string {
  return prop.charAt(0).toUpperCase() + prop.slice(1);
}

function text(prop: string, value: Value): string {
  if (prop === 'relayEnabled') return String(value);
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
