import * as z from 'zod';
import { escapedNameIn, readJsonWithPlace } from '../../message/json.ts';
import type { Integration } from '../handle/integration.ts';
import { type Column, type Columns, columnOf, columnsOf, typed } from './columns.ts';

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
type Scalar = z.output<typeof scalar>;

/** A column's name or, in a notice, the path of a value, as in `content.course.id`. */
const column = z.string().min(1);

const given = z.union(
  [
    column,
    z.strictObject({ value: scalar }),
    z.strictObject({
      from: column,
      /** By the SIS' value, the value in the message. */
      values: z.record(z.string(), scalar).optional(),
      /** Used if there is no value, or one that `values` does not name. */
      default: scalar.optional(),
    }),
  ],
  { error: 'must be a column, {"from": a column, "values": {…}, "default": …}, or {"value": …}' },
);

const event = { function: z.string(), data: z.record(z.string(), given) };

const message = z.strictObject({
  ...event,
  /** Resource of a change notice. */
  resource: z.string().optional(),
  operations: z
    .array(z.string())
    .min(1, 'names no operation. Name one, or leave the field out for all')
    .optional(),
  /** The message applies only to rows that have one of these values in each of these columns. */
  when: z
    .record(column, z.array(scalar).min(1, 'names no values. Name the values of rows that become a message'))
    .optional(),
  time: column.optional(),
  /** Columns that identify the row, even if others change. */
  key: z.array(column).min(1, 'names no columns. Name one, or leave the field out').optional(),
  /** Sent if the row is missing in a later snapshot. */
  removed: z.strictObject(event).optional(),
});

const schema = z.strictObject({ messages: z.array(message).min(1, 'must have at least one message') });

/** A field of the data, and how a row gives it. */
export type Field = {
  path: string;
  types: Set<string>;
  from?: string;
  values?: ReadonlyMap<string, Scalar>;
  otherwise?: Scalar;
};

export type MappedEvent = { function: string; fields: readonly Field[] };

export type MappedMessage = MappedEvent & {
  resource?: string;
  operations?: readonly string[];
  when: readonly (readonly [column: string, values: ReadonlySet<string>])[];
  time?: string;
  key?: readonly string[];
  removed?: MappedEvent;
};

/** How rows or notices of an SIS become messages. */
export type Mapping = { messages: readonly MappedMessage[]; text: string };

type Kinds = ReadonlyMap<string, Pick<Integration<unknown>, 'data'>>;

/** Reads a mapping file by the schemas of the functions; or returns its problems, each with its place in the file. */
export const readMapping = (
  text: string,
  functions: Kinds,
): { mapping: Mapping } | { problems: string[] } => {
  // Programs on Windows put a byte order mark before UTF-8.
  const read = readJsonWithPlace(text.replace(/^\uFEFF/, ''));
  if ('problem' in read) return { problems: [`it ${read.problem}`] };
  const escaped = escapedNameIn(text);
  if (escaped !== undefined)
    return { problems: [`it has the name ${escaped}. Write it without a backslash`] };
  const parsed = schema.safeParse(read.json);
  if (!parsed.success) return { problems: parsed.error.issues.flatMap(problemsOf) };
  const problems: string[] = [];
  const columns = new Map<string, Columns>();
  const columnsFor = (name: string): Columns | undefined => {
    const kind = functions.get(name);
    if (kind && !columns.has(name)) columns.set(name, columnsOf(kind));
    return columns.get(name);
  };
  const eventIn = ({ function: name, data }: RawEvent, place: string): MappedEvent => {
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
      const field = fieldIn(path, from, types?.types);
      for (const value of fixedIn(field)) {
        const problem = types && problemOfFixed(value, types);
        if (problem) problems.push(`${place}.data.${path}: gives ${JSON.stringify(value)}, but ${problem}`);
      }
      return field;
    });
    return { function: name, fields };
  };
  const messages = parsed.data.messages.map((raw, at): MappedMessage => {
    const { resource, operations, when = {}, time, key, removed } = raw;
    const place = `messages[${at}]`;
    if (operations && resource === undefined)
      problems.push(`${place}.operations: is only for notices. Give their resource, too`);
    return {
      ...eventIn(raw, place),
      when: Object.entries(when).map(([name, values]) => [name, new Set(values.map(String))]),
      ...{ ...(resource !== undefined && { resource }), ...(operations && { operations }) },
      ...{ ...(time !== undefined && { time }), ...(key && { key }) },
      ...(removed && { removed: eventIn(removed, `${place}.removed`) }),
    };
  });
  return problems.length > 0 ? { problems } : { mapping: { messages, text } };
};

type RawEvent = { function: string; data: Record<string, z.output<typeof given>> };

const fieldIn = (path: string, from: z.output<typeof given>, types = new Set<string>()): Field => {
  const inType = (value: Scalar): Scalar =>
    typeof value === 'string' ? (typed(value, types) as Scalar) : value;
  if (typeof from === 'string') return { path, types, from };
  if ('value' in from) return { path, types, otherwise: inType(from.value) };
  const { values, default: otherwise } = from;
  return {
    ...{ path, types, from: from.from },
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
  const add = (name: string, reader: string): void => {
    if (!found.has(name)) found.set(name, reader);
  };
  for (const [at, { resource, fields, when, time, key = [], removed }] of messages.entries()) {
    if (resource !== undefined) continue;
    const place = `messages[${at}]`;
    for (const [name] of when) add(name, `${place}.when`);
    for (const { from, path } of fields) if (from !== undefined) add(from, `${place}.data.${path}`);
    if (time !== undefined) add(time, `${place}.time`);
    for (const name of key) add(name, `${place}.key`);
    for (const { from, path } of removed?.fields ?? [])
      if (from !== undefined) add(from, `${place}.removed.data.${path}`);
  }
  return found;
};
