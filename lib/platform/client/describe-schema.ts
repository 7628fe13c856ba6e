import type * as z from 'zod';

/** The part of a zod schema that is read here. */
export type Schema = { def: Definition };
type Definition = {
  type: string;
  shape?: Record<string, Schema>;
  element?: Schema;
  innerType?: Schema;
  options?: Schema[];
  in?: Schema;
  out?: Schema;
};

/** The schema that defines the JSON form: the one in a wrapper, or the checking step of a pipe. */
const within = ({ def }: Schema): Schema | undefined =>
  def.innerType ?? (def.type === 'pipe' ? (def.in?.def.type === 'transform' ? def.out : def.in) : undefined);

const descriptions = new WeakMap<object, () => string>();

/** Describes a schema by this text instead of by its fields. */
export const describedAs = <Described extends z.ZodType>(
  schema: Described,
  describe: () => string,
): Described => {
  descriptions.set(schema, describe);
  return schema;
};

/** The JSON that a schema accepts, by names and types: for errors. */
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
