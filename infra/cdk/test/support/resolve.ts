/** JSON. */
export type Value = string | number | boolean | null | Value[] | { [name: string]: Value };

export interface Resource {
  Type: string;
  Condition?: string;
  Properties: Record<string, Value>;
  [attribute: string]: Value | undefined;
}

/** What is read of a CloudFormation template. */
export interface Template {
  Parameters?: Record<string, Record<string, Value>>;
  Conditions?: Record<string, Value>;
  Mappings?: Record<string, Record<string, Record<string, Value>>>;
  Resources: Record<string, Resource>;
  Outputs?: Record<string, Value>;
}

/** What CloudFormation would put in for its own names. */
const PSEUDO: Record<string, string> = {
  'AWS::AccountId': '123456789012',
  'AWS::Partition': 'aws',
  'AWS::Region': 'eu-west-1',
  'AWS::StackName': 'outbox',
  'AWS::URLSuffix': 'amazonaws.com',
};

const NO_VALUE = Symbol('AWS::NoValue');
type Resolved = Value | typeof NO_VALUE;

/**
 * A template's values as CloudFormation resolves them: parameters, mappings, conditions and functions become plain
 * values; a reference to a resource becomes `<ID.Attribute>` with the name that `rename` gives the resource. Every
 * scalar is a string, as CloudFormation compares them. An intrinsic function that is not known is an error.
 */
export class Resolver {
  constructor(
    private readonly template: Template,
    private readonly given: Record<string, string> = {},
    private readonly rename: (id: string) => string = (id) => id,
  ) {}

  /** The value, or undefined if it is `AWS::NoValue`. */
  resolve(value: Value): Value | undefined {
    const resolved = this.value(value);
    return resolved === NO_VALUE ? undefined : (resolved as Value);
  }

  holds(condition: string): boolean {
    const found = this.template.Conditions?.[condition];
    if (found === undefined) throw new Error(`no condition ${condition}`);
    return this.test(found);
  }

  private value(value: Value): Resolved {
    if (Array.isArray(value)) return value.map((item) => this.value(item)).filter((item) => item !== NO_VALUE) as Value[];
    if (value === null || typeof value !== 'object') return String(value);
    const [name, argument] = Object.entries(value)[0] ?? [];
    const isFunction = name === 'Ref' || name?.startsWith('Fn::');
    if (isFunction && Object.keys(value).length === 1) return this.call(name, argument as Value);
    const entries = Object.entries(value).map(([key, item]) => [key, this.value(item)] as const);
    return Object.fromEntries(entries.filter(([, item]) => item !== NO_VALUE)) as Value;
  }

  private call(name: string, argument: Value): Resolved {
    const list = argument as Value[];
    switch (name) {
      case 'Ref':
        return this.ref(argument as string);
      case 'Fn::GetAtt': {
        const [id, ...attribute] = typeof argument === 'string' ? argument.split('.') : (argument as string[]);
        return `<${this.rename(id as string)}.${attribute.join('.')}>`;
      }
      case 'Fn::Sub':
        return typeof argument === 'string'
          ? this.substitute(argument, {})
          : this.substitute(list[0] as string, list[1] as Record<string, Value>);
      case 'Fn::Join':
        return (this.value(list[1] as Value) as string[]).join(list[0] as string);
      case 'Fn::Split':
        return (this.value(list[1] as Value) as string).split(list[0] as string);
      case 'Fn::Select':
        return (this.value(list[1] as Value) as Value[])[Number(this.value(list[0] as Value))] as Value;
      case 'Fn::FindInMap': {
        const [map, first, second] = list.map((item) => this.value(item) as string) as [string, string, string];
        return this.value(this.template.Mappings?.[map]?.[first]?.[second] as Value);
      }
      case 'Fn::If':
        return this.value((this.holds(list[0] as string) ? list[1] : list[2]) as Value);
      default:
        throw new Error(`${name} is not known here`);
    }
  }

  private ref(name: string): Resolved {
    if (name === 'AWS::NoValue') return NO_VALUE;
    if (name in PSEUDO) return PSEUDO[name] as string;
    const parameter = this.template.Parameters?.[name];
    if (!parameter) {
      if (!(name in this.template.Resources)) throw new Error(`no parameter or resource ${name}`);
      return `<${this.rename(name)}.Ref>`;
    }
    const value = this.given[name] ?? parameter.Default;
    if (value === undefined) throw new Error(`the parameter ${name} has no value`);
    const isList = /^(CommaDelimitedList|List<)/.test(parameter.Type as string);
    return isList ? String(value).split(',') : String(value);
  }

  private substitute(text: string, names: Record<string, Value>): string {
    return text.replace(/\$\{([^!}][^}]*)\}/g, (_all, name: string) => {
      if (name in names) return String(this.value(names[name] as Value));
      return String(name.includes('.') && !name.includes('::') ? this.call('Fn::GetAtt', name) : this.ref(name));
    });
  }

  private test(condition: Value): boolean {
    const [name, argument] = Object.entries(condition as Record<string, Value>)[0] as [string, Value];
    const list = argument as Value[];
    switch (name) {
      case 'Condition':
        return this.holds(argument as string);
      case 'Fn::Equals':
        return this.value(list[0] as Value) === this.value(list[1] as Value);
      case 'Fn::Not':
        return !this.test(list[0] as Value);
      case 'Fn::And':
        return list.every((item) => this.test(item));
      case 'Fn::Or':
        return list.some((item) => this.test(item));
      default:
        throw new Error(`${name} is no condition that is known here`);
    }
  }
}
