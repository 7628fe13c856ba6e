import type * as z from 'zod';

/** How JSON is written: names and types, never a value. */
export const shapeOf = (value: unknown, depth = 0): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) {
    if (value.length === 0) return 'an empty array';
    return depth < maxDepth ? `an array of ${shapeOf(value[0], depth + 1)}` : 'an array';
  }
  if (typeof value !== 'object') return typeof value;
  const fields = Object.keys(value);
  if (depth === maxDepth || fields.length === 0) return fields.length === 0 ? '{}' : 'an object';
  const told = fields.slice(0, maxFields).map((name) => {
    const each = (value as Record<string, unknown>)[name];
    return `${/^[A-Za-z_]\w{0,39}$/.test(name) ? name : '…'}: ${shapeOf(each, depth + 1)}`;
  });
  return `{ ${told.join(', ')}${fields.length > maxFields ? ', …' : ''} }`;
};

const maxDepth = 3;
const maxFields = 20;

type Schema = { def: Definition };
type Definition = {
  type: string;
  shape?: Record<string, Schema>;
  element?: Schema;
  innerType?: Schema;
  options?: Schema[];
  in?: Schema;
  out?: Schema;
};

/** Of a wrapper it is what it wraps that says how JSON is written; of what is read in two steps, the step that checks. */
const within = ({ def }: Schema): Schema | undefined =>
  def.innerType ?? (def.type === 'pipe' ? (def.in?.def.type === 'transform' ? def.out : def.in) : undefined);

const descriptions = new WeakMap<object, () => string>();

/** Has a schema described in other words than by its fields, once anybody asks. */
export const describedAs = <Described extends z.ZodType>(
  schema: Described,
  describe: () => string,
): Described => {
  descriptions.set(schema, describe);
  return schema;
};

/** The same of the JSON that a schema takes. */
export const expectedBy = (schema: z.ZodType): string => expected(schema as unknown as Schema);

const expected = (schema: Schema): string => {
  const { def } = schema;
  const description = descriptions.get(schema)?.();
  if (description !== undefined) return description;
  const inner = within(schema);
  if (inner) return `${expected(inner)}${def.type === 'nullable' ? ' or null' : ''}`;
  if (def.type === 'array' && def.element) return `an array of ${expected(def.element)}`;
  if (def.type === 'union') return (def.options ?? []).map(expected).join(' or ');
  if (def.type !== 'object') return def.type === 'unknown' ? 'anything' : def.type;
  const fields = Object.entries(def.shape ?? {}).map(([name, field]) => {
    const isOptional = ['optional', 'default'].includes(field.def.type);
    return `${name}${isOptional ? '?' : ''}: ${expected(field)}`;
  });
  return `{ ${[...fields, '…'].join(', ')} }`;
};

/**
 * JSON as a schema wants it written, where its meaning is the same: names in another case, numbers as text and text as
 * whole numbers. What is certain in no other way stays as it is, for the schema to refuse. Unknown fields stay.
 */
export const respelled = (schema: z.ZodType, value: unknown): unknown =>
  respell(schema as unknown as Schema, value);

const respell = (schema: Schema, value: unknown): unknown => {
  const { def } = schema;
  // What is transformed first spells for itself.
  if (def.type === 'pipe') return value;
  if (def.innerType) return value === null ? null : respell(def.innerType, value);
  if (def.type === 'number') return typeof value === 'string' ? numberIn(value) : value;
  if (def.type === 'string') return Number.isSafeInteger(value) ? String(value) : value;
  if (def.type === 'boolean') return typeof value === 'string' ? flagIn(value) : value;
  if (def.type === 'array' && def.element && Array.isArray(value)) return respellEach(def.element, value);
  if (def.type === 'union') return respellAsOne(def.options ?? [], value);
  if (def.type === 'object' && typeof value === 'object' && value !== null && !Array.isArray(value))
    return respellFields(def.shape ?? {}, value as Record<string, unknown>);
  return value;
};

/** One with more digits than a number holds would become another's id. */
const numberIn = (text: string): unknown => {
  const number = Number(text);
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) && (Number.isSafeInteger(number) || text.length < 16)
    ? number
    : text;
};

const flagIn = (text: string): unknown =>
  /^true$/i.test(text) ? true : /^false$/i.test(text) ? false : text;

const respellEach = (element: Schema, values: unknown[]): unknown[] => {
  let own = values;
  for (const [at, value] of values.entries()) {
    const spelled = respell(element, value);
    if (spelled === value) continue;
    if (own === values) own = [...values];
    own[at] = spelled;
  }
  return own;
};

const respellFields = (
  shape: Record<string, Schema>,
  given: Record<string, unknown>,
): Record<string, unknown> => {
  let own = given;
  for (const name in shape) {
    const field = shape[name];
    const [written, ...others] = Object.hasOwn(given, name) ? [name] : namesLike(name, given);
    // Of two that differ in their case alone, neither is sure to be the one that is meant.
    if (field === undefined || written === undefined || others.length > 0) continue;
    const value = respell(field, given[written]);
    if (written === name && value === given[name]) continue;
    if (own === given) own = { ...given };
    delete own[written];
    own[name] = value;
  }
  return own;
};

const namesLike = (name: string, given: Record<string, unknown>): string[] => {
  const lower = name.toLowerCase();
  return Object.keys(given).filter((each) => each.length === name.length && each.toLowerCase() === lower);
};

const respellAsOne = (options: Schema[], value: unknown): unknown => {
  for (const option of options) {
    const spelled = respell(option, value);
    if ((option as unknown as z.ZodType).safeParse(spelled).success) return spelled;
  }
  return value;
};
