import * as fs from 'node:fs';
import * as path from 'node:path';
import { allowed, PARAMETERS, parameterOf } from '../../lib/parameters';
import { PACKAGE } from './sam';

/** A prop as its declaration and its doc comment tell it. */
export interface Documented {
  readonly prop: string;
  readonly isRequired: boolean;
  readonly sentence: string;
  /** What follows `@default`. */
  readonly standard?: string;
}

/** The members of `OutboxRelayProps`. */
export function documented(): Documented[] {
  const source = fs.readFileSync(path.join(PACKAGE, 'lib/props.ts'), 'utf8');
  const members = source.slice(source.indexOf('export interface OutboxRelayProps {'));
  const matches = members.matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/\n {2}readonly (\w+)(\??):/g);
  return Array.from(matches, ([, comment = '', prop = '', optional]) => {
    const text = comment.replace(/\n\s*\* ?/g, '\n').trim();
    const [sentence = '', standard] = text.split(/\s*@default /);
    return { prop, isRequired: optional !== '?', sentence: sentence.replace(/\s*\n\s*/g, ' '), standard };
  });
}

/** README.md's table of props. */
export function table(): string {
  const rows = documented().map(({ prop, isRequired, sentence, standard }) => {
    const parameter = PARAMETERS[parameterOf(prop)];
    const { AllowedValues, MinValue, AllowedPattern, MaxLength } = parameter ?? {};
    const hasRange = AllowedValues ?? MinValue ?? AllowedPattern ?? MaxLength;
    const words = parameter && hasRange !== undefined ? cell(allowed(parameter), Boolean(AllowedPattern)) : '';
    const or = isRequired ? '**required**' : standard === undefined ? 'none' : `\`${standard}\``;
    return `| \`${prop}\` | ${sentence} | ${or} | ${words} |`;
  });
  return ['| prop | what it is | default | allowed |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function cell(text: string, isPattern: boolean): string {
  const escaped = text.replaceAll('|', '\\|');
  return isPattern ? `\`${escaped}\`` : escaped;
}
