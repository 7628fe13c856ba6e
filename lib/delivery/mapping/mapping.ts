import * as z from 'zod';
import { escapedNameIn, readJsonWithPlace } from '../../message/json.ts';
import type { Integration } from '../handle/integration.ts';
import { type FileRules, fileRules, type ValueRules, valueRules } from './cell-rules.ts';
import { type Column, type Columns, columnOf, columnsOf, typed } from './columns.ts';
import { type TemplatePart, templateParts } from './template.ts';

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
type Scalar = z.output<typeof scalar>;

/** A column's name or, in a notice, the path of a value, as in `content.course.id`; or a template over them, as in `{TERM}.{CRN}`. */
const column = z
  .string()
  .min(1)
  .refine((text) => templateParts(text) !== undefined, {
    error: 'must be a column, or a template such as {TERM}.{CRN}',
  });

const given = z.union(
  [
    column,
    z.strictObject({ value: scalar }),
    z.strictObject({
      from: column,
      ...valueRules,
      /** By the SIS' value, the value in the message. */
      values: z.record(z.string(), scalar).optional(),
      /** Used if there is no value, or one that `values` does not name. */
      default: scalar.optional(),
    }),
  ],
  { error: 'must be a column, {"from": a column, "values": {…}, "default": …}, or {"value": …}' },
);

const event = { function: z.string(), data: z.record(z.string(), given) };

/** A number, or a day or time. */
const bound = z.union([z.number(), z.string().min(1)]).optional();

const bounds = ['above', 'atLeast', 'below', 'atMost'] as const;
export type Bound = (typeof bounds)[number];

const values = z.array(scalar).min(1, 'names no values. Name the values of rows that become a message');

const condition = z.union(
  [
    values,
    z
      .strictObject({
        ...valueRules,
        is: values.optional(),
        /** `others`: all values that `is` does not name. */
        not: z.union([values, z.literal('others')]).optional(),
        empty: z.boolean().optional(),
        above: bound,
        atLeast: bound,
        below: bound,
        atMost: bound,
      })
      .refine((each) => ['is', 'not', 'empty', ...bounds].some((name) => name in each))
      .refine(({ is, not }) => is !== undefined || not !== 'others', 'has "not": "others" without "is"'),
  ],
  {
    error:
      'must be a list of values, or {"is": […], "not": […] or "others", "empty": true or false, "above", "atLeast", "below", "atMost": a number or a day}, with at least one of them',
  },
);

const message = z.strictObject({
  ...event,
  /** Resource of a change notice. */
  resource: z.string().optional(),
  operations: z
    .array(z.string())
    .min(1, 'names no operation. Name one, or leave the field out for all')
    .optional(),
  /** The message applies only to rows that meet each of these conditions. */
  when: z.record(column, condition).optional(),
  time: column.optional(),
  /** Columns that identify the row, even if others change. */
  key: z.array(z.string().min(1)).min(1, 'names no columns. Name one, or leave the field out').optional(),
  /** Sent if the row is missing in a later snapshot, or what a notice was about is deleted. */
  removed: z
    .strictObject({
      ...event,
      operations: z.array(z.string()).min(1).optional(),
      /** Of a table of changes: the rows that remove what their key had. */
      when: z.record(column, condition).optional(),
    })
    .optional(),
});

const schema = z.strictObject({
  /** Of a table: it has all rows each time, or only those that changed. */
  mode: z.enum(['bulk', 'delta']).default('bulk'),
  /** How all cells or values are read. */
  cells: fileRules.optional(),
  /** For notices: by a name, what is asked of the source for each, as in `/sections/{content.section.id}`. */
  lookUp: z
    .record(
      z.string().regex(/^\w+$/, 'must be one word'),
      z
        .string()
        .regex(/^\/(?!\/)/, 'must begin with /: it is asked at the address of the source')
        .refine((text) => templateParts(text) !== undefined && /[{}]/.test(text), {
          error: 'must name a value of the notice, as in /sections/{content.section.id}',
        }),
    )
    .optional(),
  messages: z.array(message).min(1, 'must have at least one message'),
});

/** Where a value comes from, and how it is read. */
export type Origin = { name: string; parts: readonly TemplatePart[]; rules: ValueRules };

/** Which rows a message is for, by one value. */
export type Condition = {
  origin: Origin;
  is?: ReadonlySet<string>;
  not?: ReadonlySet<string>;
  /** `not` names all values that `is` does not. */
  isClosed?: true;
  empty?: boolean;
  bounds: readonly (readonly [Bound, number | string])[];
};

/** A field of the data, and how a row gives it. */
export type Field = {
  path: string;
  types: Set<string>;
  from?: Origin;
  values?: ReadonlyMap<string, Scalar>;
  otherwise?: Scalar;
};

export type DataRule = { function: string; fields: readonly Field[] };

export type MessageRule = DataRule & {
  resource?: string;
  operations?: readonly string[];
  when: readonly Condition[];
  time?: Origin;
  /** Columns, each read as the field that has it. */
  key?: readonly Origin[];
  /** `operations`: those of notices that say so. */
  removed?: DataRule & { operations?: readonly string[] | undefined; when: readonly Condition[] };
};

/** `decimal`: in `either`, a comma is one if it can be no other. */
export type Cells = Omit<FileRules, 'decimal'> & { decimal?: '.' | ',' | 'either' | undefined };

/** What is asked of the source of notices. */
export type LookUp = { name: string; path: readonly TemplatePart[] };

/** How rows or notices of an SIS become messages. */
export type Mapping = {
  messages: readonly MessageRule[];
  cells: Cells;
  lookUps: readonly LookUp[];
  text: string;
  /** A table has only the rows that changed. */
  isDelta?: boolean;
};

/** The mapping for a table whose cells are separated like this: where that is a semicolon, programs write a decimal comma. */
export const mappingAs = <Each extends Mapping>(mapping: Each, separator: string): Each =>
  separator === ';' && mapping.cells.decimal === undefined
    ? { ...mapping, cells: { ...mapping.cells, decimal: 'either' } }
    : mapping;

type IntegrationSchemas = ReadonlyMap<string, Pick<Integration<unknown>, 'data'>>;

/** Reads a mapping file by the schemas of the functions; or returns its problems, each with its place in the file. */
export const readMapping = (
  text: string,
  functions: IntegrationSchemas,
): { mapping: Mapping } | { problems: string[] } => {
  // Programs on Windows put a byte order mark before UTF-8.
  const json = readJsonWithPlace(text.replace(/^\uFEFF/, ''));
  if ('problem' in json) return { problems: [`it ${json.problem}`] };
  const escaped = escapedNameIn(text);
  if (escaped !== undefined)
    return { problems: [`it has the name ${escaped}. Write it without a backslash`] };
  const parsed = schema.safeParse(json.json);
  if (!parsed.success) return { problems: parsed.error.issues.flatMap(problemsOf) };
  const problems: string[] = [];
  const columns = new Map<string, Columns>();
  const columnsFor = (name: string): Columns | undefined => {
    const kind = functions.get(name);
    if (kind && !columns.has(name)) columns.set(name, columnsOf(kind));
    return columns.get(name);
  };
  const { cells = {} } = parsed.data;
  const isDelta = parsed.data.mode === 'delta';
  const eventIn = ({ function: name, data }: RawEvent, place: string): DataRule => {
    const known = columnsFor(name);
    if (!known)
      problems.push(
        `${place}.function: there is no function ${name}. There are ${[...functions.keys()].join(', ')}`,
      );
    const fields = Object.entries(data).map(([path, from]) => {
      const types = known && columnOf(path, known);
      if (known && !types)
        problems.push(
          `${place}.data.${path}: is not a field of ${name}. It has ${[...known.keys()].join(', ')}`,
        );
      const field = fieldIn(path, from, { types: types?.types ?? new Set(), cells });
      for (const value of fixedIn(field)) {
        const problem = types && problemOfFixed(value, types);
        if (problem)
          problems.push(
            `${place}.data.${path}: ${value === null ? 'is still null' : `gives ${JSON.stringify(value)}`}, but ${problem}`,
          );
      }
      return field;
    });
    return { function: name, fields };
  };
  const read = parsed.data.messages.map((raw, at): MessageRule => {
    const { resource, operations, time, removed } = raw;
    const conditionsIn = (when: typeof raw.when = {}): Condition[] =>
      Object.entries(when).map(([name, each]) => conditionOf(name, each, cells));
    const place = `messages[${at}]`;
    if (operations && resource === undefined)
      problems.push(`${place}.operations: is only for notices. Give their resource, too`);
    if (removed?.when && !isDelta)
      problems.push(`${place}.removed.when: is only for a table of changes. Give "mode": "delta", too`);
    return {
      ...eventIn(raw, place),
      when: conditionsIn(raw.when),
      ...(resource !== undefined && { resource }),
      ...(operations && { operations }),
      ...(time !== undefined && { time: originOf(time, {}, cells) }),
      ...(removed && {
        removed: {
          ...eventIn(removed, `${place}.removed`),
          operations: removed.operations,
          when: conditionsIn(removed.when),
        },
      }),
    };
  });
  const messages = withKeys(read, parsed.data);
  const lookUps = Object.entries(parsed.data.lookUp ?? {}).map(([name, path]) => ({
    name,
    path: templateParts(path) ?? [],
  }));
  return problems.length > 0 ? { problems } : { mapping: { messages, cells, lookUps, text, isDelta } };
};

const originOf = (name: string, { strip, case: letters, digits }: ValueRules, cells: FileRules): Origin => ({
  name,
  parts: templateParts(name) ?? [],
  rules: { strip: strip ?? cells.strip, case: letters, digits },
});

export const columnAsKey = (name: string, rules: ValueRules = {}): Origin => ({
  name,
  parts: [{ column: name }],
  rules,
});

/** What identifies a row is read as what is sent of it, in every message alike. */
const withKeys = (
  messages: readonly MessageRule[],
  { messages: raw, cells = {} }: z.output<typeof schema>,
): MessageRule[] => {
  const origins = messages.flatMap(({ fields, removed }) =>
    [...fields, ...(removed?.fields ?? [])].flatMap(({ from }) => from ?? []),
  );
  const originOfKey = (name: string): Origin => {
    const reader = origins.find((origin) => columnsOfOrigin(origin).includes(name));
    return columnAsKey(name, reader?.rules ?? { strip: cells.strip });
  };
  return messages.map((message, at) => {
    const key = raw[at]?.key;
    return key === undefined ? message : { ...message, key: key.map(originOfKey) };
  });
};

const conditionOf = (name: string, raw: z.output<typeof condition>, cells: FileRules): Condition => {
  if (Array.isArray(raw))
    return { origin: originOf(name, {}, cells), is: new Set(raw.map(String)), bounds: [] };
  const { is, not, empty } = raw;
  return {
    origin: originOf(name, raw, cells),
    ...(is && { is: new Set(is.map(String)) }),
    ...(not === 'others' ? { isClosed: true } : not && { not: new Set(not.map(String)) }),
    ...(empty !== undefined && { empty }),
    bounds: bounds.flatMap((each) => (raw[each] === undefined ? [] : [[each, raw[each]] as const])),
  };
};

/** The columns, or paths, of an origin. */
export const columnsOfOrigin = ({ parts }: Pick<Origin, 'parts'>): string[] =>
  parts.flatMap((part) => ('column' in part ? part.column : []));

type RawEvent = { function: string; data: Record<string, z.output<typeof given>> };

const fieldIn = (
  path: string,
  from: z.output<typeof given>,
  { types, cells }: { types: Set<string>; cells: FileRules },
): Field => {
  const inType = (value: Scalar): Scalar =>
    typeof value === 'string' ? (typed(value, types) as Scalar) : value;
  if (typeof from === 'string') return { path, types, from: originOf(from, {}, cells) };
  if ('value' in from) return { path, types, otherwise: inType(from.value) };
  const { values, default: otherwise } = from;
  return {
    path,
    types,
    from: originOf(from.from, from, cells),
    ...(values && { values: new Map(Object.entries(values).map(([key, value]) => [key, inType(value)])) }),
    ...(otherwise !== undefined && { otherwise: inType(otherwise) }),
  };
};

const fixedIn = ({ values, otherwise }: Field): Scalar[] => [
  ...(values?.values() ?? []),
  ...(otherwise === undefined ? [] : [otherwise]),
];

/** A fixed value in the file would be wrong in every row. */
const problemOfFixed = (value: Scalar, { types, choices }: Column): string | undefined => {
  const type = value === null ? 'null' : typeof value;
  const isRight = types.has(type) || (type === 'number' && types.has('integer') && Number.isInteger(value));
  if (!isRight) return `must be ${[...types].join(' or ')}`;
  return choices.length > 0 && typeof value === 'string' && !choices.includes(value)
    ? `must be one of ${choices.join(', ')}`
    : undefined;
};

const problemsOf = (issue: z.core.$ZodIssue): string[] => {
  const place = issue.path
    .map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at > 0 ? '.' : ''}${String(part)}`))
    .join('');
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${[place, key].filter(Boolean).join('.')}: is not a known field`);
  return [
    `${place || 'it'}: ${issue.message.replace(/^Invalid input: /, '').replace(/, received undefined$/, ', and is missing')}`,
  ];
};

/** Every column that a table must have, with what reads it first. */
export const columnsIn = ({ messages }: Mapping): Map<string, string> => {
  const found = new Map<string, string>();
  const add = (names: readonly string[], reader: string): void => {
    for (const name of names) if (!found.has(name)) found.set(name, reader);
  };
  for (const [at, { resource, fields, when, time, key = [], removed }] of messages.entries()) {
    if (resource !== undefined) continue;
    const place = `messages[${at}]`;
    for (const { origin } of when) add(columnsOfOrigin(origin), `${place}.when`);
    for (const { from, path } of fields) if (from) add(columnsOfOrigin(from), `${place}.data.${path}`);
    if (time) add(columnsOfOrigin(time), `${place}.time`);
    for (const origin of key) add(columnsOfOrigin(origin), `${place}.key`);
    for (const { origin } of removed?.when ?? []) add(columnsOfOrigin(origin), `${place}.removed.when`);
    for (const { from, path } of removed?.fields ?? [])
      if (from) add(columnsOfOrigin(from), `${place}.removed.data.${path}`);
  }
  return found;
};
