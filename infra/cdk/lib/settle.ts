import * as template from '../template.json';

type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
type Resource = { Condition?: string; [attribute: string]: Json | undefined };

/** Left out, as `AWS::NoValue` says. */
const NOTHING = Symbol('AWS::NoValue');

/**
 * The template's resources with conditions and mappings settled, since every parameter has its value at synthesis: what is
 * deployed has no branch that nobody takes. A value that only CloudFormation knows is taken for a text that is not empty.
 *
 * References to parameters stay; whoever includes it puts the values in.
 */
export function settled(values: Record<string, string | string[]>): { Parameters: Json; Resources: Json } {
  const settle = new Settle(values);
  const resources = Object.entries(template.Resources as unknown as Record<string, Resource>)
    .filter(([, { Condition }]) => Condition === undefined || settle.holds(Condition))
    .map(([id, { Condition: _, ...rest }]) => [id, settle.value(rest as Json)] as const);
  return { Parameters: template.Parameters as unknown as Json, Resources: Object.fromEntries(resources) as Json };
}

class Settle {
  constructor(private readonly values: Record<string, string | string[]>) {}

  holds(name: string): boolean {
    return this.test((template.Conditions as unknown as Record<string, Json>)[name] as Json);
  }

  value(value: Json): Json {
    const found = this.maybe(value);
    return found === NOTHING ? null : (found as Json);
  }

  private maybe(value: Json): Json | typeof NOTHING {
    if (Array.isArray(value)) return value.map((item) => this.maybe(item)).filter((item) => item !== NOTHING) as Json[];
    if (value === null || typeof value !== 'object') return value;
    if (value.Ref === 'AWS::NoValue') return NOTHING;
    const [name, argument] = Object.entries(value)[0] ?? [];
    const list = argument as Json[];
    if (name === 'Fn::If') return this.maybe((this.holds(list[0] as string) ? list[1] : list[2]) as Json);
    if (name === 'Fn::FindInMap') return this.find(list.map((key) => this.text(key)));
    const entries = Object.entries(value).map(([key, item]) => [key, this.maybe(item)] as const);
    return Object.fromEntries(entries.filter(([, item]) => item !== NOTHING)) as Json;
  }

  private find([map, first, second]: string[]): Json {
    const mappings = template.Mappings as unknown as Record<string, Record<string, Record<string, Json>>>;
    return mappings[map as string]?.[first as string]?.[second as string] as Json;
  }

  private test(condition: Json): boolean {
    const [name, argument] = Object.entries(condition as Record<string, Json>)[0] as [string, Json];
    const list = argument as Json[];
    switch (name) {
      case 'Condition':
        return this.holds(argument as string);
      case 'Fn::Equals':
        return this.text(list[0] as Json) === this.text(list[1] as Json);
      case 'Fn::Not':
        return !this.test(list[0] as Json);
      case 'Fn::And':
        return list.every((item) => this.test(item));
      case 'Fn::Or':
        return list.some((item) => this.test(item));
      default:
        throw new Error(`OutboxRelay: the condition ${name} of template.json is not known`);
    }
  }

  /** What a condition compares: a text, a parameter, or a list of them joined. */
  private text(value: Json): string {
    if (typeof value !== 'object' || value === null) return String(value);
    const { Ref: parameter, 'Fn::Join': join } = value as Record<string, Json>;
    if (typeof parameter === 'string' && parameter in this.values) return [this.values[parameter]].flat().join('');
    if (Array.isArray(join)) return this.text(join[1] as Json);
    throw new Error(`OutboxRelay: ${JSON.stringify(value)} in a condition of template.json is not known`);
  }
}
