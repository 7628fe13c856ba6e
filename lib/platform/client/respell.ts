import type * as z from 'zod';
import { elementOf } from './list-of.ts';

/** The part of a zod schema that is read here. */
type Schema = {
  def: {
    type: string;
    shape?: Record<string, Schema>;
    innerType?: Schema;
    options?: Schema[];
  };
};

/**
 * Rewrites JSON to fit a schema if that keeps its meaning: names in another case, numbers as text, and text as whole numbers. An
 * uncertain value stays as it is, and the schema refuses it. Unknown fields stay.
 */
export const respelled = (schema: z.ZodType, value: unknown): unknown =>
  respell(schema as unknown as Schema, value);

const respell = (schema: Schema, value: unknown): unknown => {
  const { def } = schema;
  const element = elementOf(schema);
  if (element && Array.isArray(value)) return respellEach(element as unknown as Schema, value);
  // A schema that transforms its input handles other spellings itself.
  if (def.type === 'pipe') return value;
  if (def.innerType) return value === null ? null : respell(def.innerType, value);
  if (def.type === 'number') return typeof value === 'string' ? numberIn(value) : value;
  if (def.type === 'string') return Number.isSafeInteger(value) ? String(value) : value;
  if (def.type === 'boolean') return typeof value === 'string' ? flagIn(value) : value;
  if (def.type === 'union') return respellAsOne(def.options ?? [], value);
  if (def.type === 'object' && typeof value === 'object' && value !== null && !Array.isArray(value))
    return respellFields(def.shape ?? {}, value as Record<string, unknown>);
  return value;
};

/** A number with more digits than JavaScript can hold would become another id. */
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
    // If two names differ only in their case, it is not certain which one is meant.
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
