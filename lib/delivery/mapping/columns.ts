import * as z from 'zod';
import { maxWidth } from '../../message/json.ts';
import { withBothForms } from '../../message/sis-ids.ts';
import type { Integration } from '../handle/integration.ts';

type JsonSchema = {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  maxItems?: number;
  additionalProperties?: JsonSchema | boolean;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
};

export type Column = {
  /** By their JSON Schema names. */
  types: Set<string>;
  /** The allowed values beside null; empty: any of its types. */
  choices: string[];
  /** How many elements each list on its way may have: an index beyond that makes a list of as many. */
  lengths: number[];
};

/** The columns that a function's table may have, such as `grade.points`, `files.0.uri`, or `send.*` for any name. */
export type Columns = Map<string, Column>;

/** From the function's own schema; a list is represented by its first element. */
export const columnsOf = ({ data }: Pick<Integration<unknown>, 'data'>): Columns => {
  const columns: Columns = new Map();
  const open = new Set<string>();
  const collect = (schema: JsonSchema, path: string, lengths: number[]): void => {
    for (const each of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) collect(each, path, lengths);
    for (const [name, each, length] of innerOf(schema))
      collect(
        each,
        path === '' ? name : `${path}.${name}`,
        length === undefined ? lengths : [...lengths, length],
      );
    for (const type of [schema.type ?? []].flat()) {
      if (type === 'object' || type === 'array') continue;
      const { types, choices } = columns.get(path) ?? { types: new Set(), choices: [] };
      const own = choicesOf(schema, type);
      if (own === undefined) open.add(path);
      columns.set(path, {
        types: types.add(type),
        choices: [...new Set([...choices, ...(own ?? [])])],
        lengths,
      });
    }
  };
  const schema = z.toJSONSchema(data, { io: 'input', unrepresentable: 'any' });
  collect(withBothForms(schema) as JsonSchema, '', []);
  // In one case of a union a field may have any value, and in another only some.
  return new Map(
    [...columns].map(([path, column]) => [path, open.has(path) ? { ...column, choices: [] } : column]),
  );
};

/** The members of an object or a list; `*`: fields whose names the platform defines. */
const innerOf = ({
  properties = {},
  items,
  maxItems = maxWidth,
  additionalProperties: others,
}: JsonSchema): (readonly [name: string, schema: JsonSchema, length?: number])[] => [
  ...Object.entries(properties),
  ...(items ? [['0', items, maxItems] as const] : []),
  ...(typeof others === 'object' ? [['*', others] as const] : []),
];

/** Undefined if any value of its type is allowed; the type of a boolean says enough. */
const choicesOf = (schema: JsonSchema, type: string): string[] | undefined => {
  if (type === 'null') return [];
  if (type === 'boolean') return undefined;
  const values = 'const' in schema ? [schema.const] : schema.enum;
  return values?.filter((value) => value !== null).map(String);
};

/** Fields of the envelope that a table may give for each row. */
const envelopeColumns = ['id', 'time', 'source', 'sequence'];

export const unknownColumns = (header: string[], columns: Columns): string[] =>
  header.filter((name) => columnOf(name, columns) === undefined && !envelopeColumns.includes(name));

export const columnOf = (name: string, columns: Columns): Column | undefined => {
  const column = columns.get(inFirst(name)) ?? columns.get(inFirst(name).replace(/(?<![^.])[^.]+$/, '*'));
  const indexes = name.match(/(?<=\.)\d+(?=\.|$)/g) ?? [];
  return indexes.every((index, at) => Number(index) < (column?.lengths[at] ?? 0)) ? column : undefined;
};

/** `files.3.uri` is of the same kind as `files.0.uri`. */
const inFirst = (name: string): string => name.replace(/\.\d+(?=\.|$)/g, '.0');

export type Cell = { text: string; quoted: boolean };

/** What a row of a table says of an event. A missing cell, or an empty cell without quotes, is left out. */
export const eventOf = (row: Map<string, Cell>, columns: Columns, decimal?: 'either') => {
  const event: Record<string, unknown> = {};
  const data: Record<string, unknown> = {};
  for (const [name, { text, quoted }] of row) {
    if (text === '' && !quoted) continue;
    // If the envelope and the data have a column of the same name, it is the data's.
    const column = columnOf(name, columns);
    if (column) put(data, name.split('.'), typed(text, column.types, decimal));
    else event[name] = text;
  }
  return { ...event, data };
};

/** `1.2E+05` does not count as a number: a spreadsheet that writes it has lost digits. */
const forms = {
  '.': /^\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*$/,
  ',': /^\s*[+-]?(\d+(,\d*)?|,\d+)\s*$/,
};

export const isNumberText = (text: string, decimal: keyof typeof forms): boolean => forms[decimal].test(text);

/** Three digits after a comma may be thousands. */
const isClear = (text: string): boolean => !/^\s*[+-]?\d{1,3},\d{3}\s*$/.test(text);

const numberIn = (text: string, decimal: keyof typeof forms | 'either'): number | undefined => {
  if (decimal !== ',' && forms['.'].test(text)) return Number(text);
  const isComma = decimal !== '.' && forms[','].test(text) && (decimal === ',' || isClear(text));
  return isComma ? Number(text.replace(',', '.')) : undefined;
};

/** A cell that cannot be read as the wanted type stays text; the schema then reports the problem. */
export const typed = (
  text: string,
  types: Set<string> = new Set(),
  decimal: keyof typeof forms | 'either' = '.',
): unknown => {
  const number = types.has('number') || types.has('integer') ? numberIn(text, decimal) : undefined;
  if (number !== undefined) return number;
  if (types.has('boolean') && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  if (types.has('null') && text === 'null') return null;
  return text;
};

export const put = (object: Record<string, unknown>, path: string[], value: unknown): void => {
  const [first = '', ...rest] = path;
  if (rest.length === 0) {
    object[first] = value;
    return;
  }
  object[first] ??= /^\d+$/.test(rest[0] ?? '') ? [] : {};
  put(object[first] as Record<string, unknown>, rest, value);
};
