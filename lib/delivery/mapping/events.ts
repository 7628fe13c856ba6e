import type { MessageProblem } from '../../message/failure.ts';
import { ownText, type SafeText, safe, safeList } from '../../message/safe-text.ts';
import { sisFields } from '../../message/sis-ids.ts';
import { ruled, usualBlanks, type ValueRules } from './cell-rules.ts';
import { type Cell, isNumberText, put, typed } from './columns.ts';
import type { Bound, Cells, Condition, DataRule, Field, Mapping, MessageRule, Origin } from './mapping.ts';
import { columnsOfOrigin } from './mapping.ts';
import { timeIn } from './times.ts';

/** A row of a table, or the JSON of a change notice. */
export type MappingSource = ReadonlyMap<string, Cell> | object;

/** The data of a message that a row or notice makes. They are checked by the function's schema only if that is asked for. */
export type ProducedMessage = {
  function: string;
  /** Index of the message in the mapping, from 0. */
  at: number;
  data: Record<string, unknown>;
  time?: string;
  /** By path, as in `data.grade.points` or `time`: the column that gives it. */
  columns: ReadonlyMap<string, string>;
};

/** `value`: the one that a mapping's `values` lack. It comes from the SIS' file: no log or report may contain it. */
export type Problem = { column: SafeText; problem: SafeText; value?: string };

const maxValue = 40;

/** The problem with its value, for a person who has the file at hand. */
export const problemWithValue = ({ problem, value }: Problem): string =>
  value === undefined
    ? problem
    : problem.replace('a value that', () => `the value ${JSON.stringify(value.slice(0, maxValue))}, which`);

/** As in `grade: must be a number; student: is no id`. */
export const mappingProblemsText = (problems: readonly Problem[]): SafeText =>
  safeList(
    problems.map(({ column, problem }) => safe`${column}: ${problem}`),
    '; ',
  );

/** Problems if one of its columns cannot be used: then it makes no message at all. */
export type MadeOrProblems =
  | { events: ProducedMessage[]; problems?: undefined }
  | { problems: Problem[]; events?: undefined };

/** Applies a mapping to a row or notice: empty if no message applies. `only`: index of the one message to apply. */
export const eventsOf = (source: MappingSource, mapping: Mapping, only?: number): MadeOrProblems =>
  all(
    mapping.messages.map((message, at) => ({ message, event: message, at })),
    { given: source, cells: mapping.cells, only },
  );

/** The messages to send if the row, in its earlier form, is missing, or what the notice is about was deleted. */
export const removalsOf = (source: MappingSource, mapping: Mapping, only?: number): MadeOrProblems =>
  all(
    mapping.messages.flatMap((message, at) =>
      message.removed ? [{ message, event: message.removed, at }] : [],
    ),
    { given: source, cells: mapping.cells, only },
  );

/** Whether a row of a table of changes removes what its key had. */
export const isDrop = (given: MappingSource, { messages, cells }: Mapping): boolean =>
  messages.some(
    ({ removed }) =>
      removed !== undefined &&
      removed.when.length > 0 &&
      removed.when.every((condition) => isMet(condition, { given, cells }) === true),
  );

/** By column, all that a mapping says of its values. */
export type Conditions = ReadonlyMap<string, readonly Condition[]>;

export const conditionsOf = ({ messages }: Pick<Mapping, 'messages'>): Conditions =>
  Map.groupBy(
    messages.flatMap(({ when, removed }) => [...when, ...(removed?.when ?? [])]),
    ({ origin }) => origin.name,
  );

/**
 * The columns that alone keep the mapping from making the message of a row, and their value, if no condition of the mapping names it. It may
 * be a new code, or a code that is written in another way: it does not say that the row wants nothing.
 */
export const unnamedValue = (
  given: MappingSource,
  { when }: Pick<MessageRule, 'when'>,
  { conditions, cells }: { conditions: Conditions; cells: Cells },
): { columns: SafeText; value: string } | undefined => {
  const input = { given, cells };
  const unmet = when.filter((condition) => isMet(condition, input) !== true);
  const isNamed = ({ is, origin }: Condition): boolean =>
    is === undefined || (conditions.get(origin.name) ?? []).some((each) => isListed(each, input));
  if (unmet.length === 0 || unmet.some(isNamed)) return undefined;
  const values = new Map(unmet.map(({ origin }) => [labelOf(origin), textOf(valueIn(origin, input))]));
  return { columns: ownText([...values.keys()].join(', ')), value: [...values.values()].join(', ') };
};

/** A column and its value by which a condition leaves the row out; undefined: none does, or not by a value that it lists. */
export const excludingValue = (
  given: MappingSource,
  { messages, cells }: Mapping,
): { column: string; value: string } | undefined => {
  const input = { given, cells };
  const unmet = messages
    .flatMap(({ when }) => when)
    .find((each) => (each.is ?? each.not) !== undefined && isMet(each, input) !== true);
  return unmet && { column: labelOf(unmet.origin), value: textOf(valueIn(unmet.origin, input)) };
};

const isListed = ({ origin, is, not, isClosed }: Condition, input: MappingInput): boolean => {
  const text = textOf(valueIn(origin, input));
  return isClosed === true || is?.has(text) === true || not?.has(text) === true;
};

type EventToMap = { message: MessageRule; event: DataRule; at: number };
type MappingInput = { given: MappingSource; cells: Cells };
type Problems = Map<string, Problem>;

const all = (
  wanted: EventToMap[],
  { only, ...reading }: MappingInput & { only: number | undefined },
): MadeOrProblems => {
  const problems: Problems = new Map();
  const events = wanted
    .filter((each) => (only === undefined || each.at === only) && isFor(each, reading, problems))
    .map((each) => make(each, reading, problems));
  if (problems.size === 0) return { events };
  return { problems: [...problems.values()] };
};

/** Whether a message is for notices of this resource and operation. */
export const isOfNotice = (
  { resource, operations }: Pick<MessageRule, 'resource' | 'operations'>,
  notice: object,
): boolean =>
  (valueAt(notice, 'resource.name') ?? valueAt(notice, 'resource')) === resource &&
  (operations === undefined || operations.includes(textOf(valueAt(notice, 'operation'))));

const isFor = ({ message, event }: EventToMap, input: MappingInput, problems: Problems): boolean => {
  const isRemoval = event === message.removed;
  const { given } = input;
  if (message.resource !== undefined && given instanceof Map) return false;
  // A removal is of any notice about the thing.
  const { resource } = message;
  if (resource !== undefined && !isOfNotice(isRemoval ? { resource } : message, given)) return false;
  return message.when.every((condition) => {
    const met = isMet(condition, input);
    if (typeof met === 'boolean') return met;
    problems.set(condition.origin.name, { column: ownText(condition.origin.name), problem: met.problem });
    // The row makes no message, and is reported for this.
    return false;
  });
};

const isMet = (
  { origin, is, not, empty, bounds }: Condition,
  input: MappingInput,
): boolean | { problem: SafeText } => {
  const text = textOf(valueIn(origin, input));
  if (is !== undefined && !is.has(text)) return false;
  if (not?.has(text)) return false;
  if (empty !== undefined && (text === '') !== empty) return false;
  if (bounds.length === 0) return true;
  if (text === '') return false;
  for (const [name, bound] of bounds) {
    const isNumber = typeof bound === 'number';
    const [value, limit] = isNumber
      ? [numberIn(text, input.cells), bound]
      : [atMs(text, input.cells), atMs(bound, input.cells)];
    if (value === undefined || limit === undefined)
      return {
        problem: isNumber
          ? safe`must be a number, as "when" compares it with one`
          : safe`must be a day or a time, as "when" compares it with one`,
      };
    if (!comparisons[name](value, limit)) return false;
  }
  return true;
};

const comparisons: Record<Bound, (value: number, limit: number) => boolean> = {
  above: (value, limit) => value > limit,
  atLeast: (value, limit) => value >= limit,
  below: (value, limit) => value < limit,
  atMost: (value, limit) => value <= limit,
};

const numberIn = (text: string, { decimal }: Cells): number | undefined => {
  const value = typed(text, new Set(['number']), decimal);
  return typeof value === 'number' ? value : undefined;
};

const atMs = (text: string, cells: Cells): number | undefined => {
  const { time } = timeIn(text, { ...cells, timeZone: cells.timeZone ?? 'UTC' });
  return time === undefined ? undefined : Date.parse(time);
};

const make = (
  { message, event, at }: EventToMap,
  input: MappingInput,
  problems: Problems,
): ProducedMessage => {
  const data: Record<string, unknown> = {};
  for (const field of event.fields) {
    const { path, from } = field;
    const { value, problem, unlisted } = fieldIn(field, input);
    const column = from === undefined ? path : labelOf(from);
    if (problem !== undefined)
      problems.set(column, {
        column: ownText(column),
        problem: ownText(problem.replace('values', `messages[${at}].data.${path}.values`)),
        ...(unlisted !== undefined && { value: unlisted }),
      });
    else if (value !== undefined) put(data, path.split('.'), value);
  }
  const said = message.time === undefined ? '' : textOf(valueIn(message.time, input)).trim();
  const read = said === '' ? undefined : timeIn(said, input.cells);
  if (read?.isUnclear && message.time)
    problems.set(message.time.name, { column: ownText(labelOf(message.time)), problem: read.problem });
  return {
    function: event.function,
    at,
    data,
    columns: columnsBehind(event, message.time),
    // The event's schema reports what is no time at all.
    ...(read && { time: read.time ?? said }),
  };
};

/**
 * The values that identify a row. They are read until nothing more is taken away: so a value that is a key already stays as it is.
 */
export const keyOf = (
  given: MappingSource,
  { key = [] }: Pick<MessageRule, 'key'>,
  { empty = [] }: Cells,
): string[] =>
  key.map((origin) => {
    const text = keyText(textOf(rawIn(given, origin.name)), origin);
    return empty.includes(text) ? '' : text;
  });

export const keyText = (text: string, origin: Origin): string => {
  const read = ruled(text, origin.rules);
  return read === text ? text : keyText(read, origin);
};

/** As in `TERM, CRN`. */
export const labelOf = (origin: Origin): string => columnsOfOrigin(origin).join(', ');

/** By path, the column that gives it. */
export const columnsBehind = (
  { fields }: Pick<DataRule, 'fields'>,
  time?: Origin,
): ReadonlyMap<string, string> =>
  new Map([
    ...fields.flatMap(({ path, from }) => (from ? [[`data.${path}`, labelOf(from)] as const] : [])),
    ...(time ? [['time', labelOf(time)] as const] : []),
  ]);

const fieldIn = (
  { path, types, from, values, otherwise }: Field,
  input: MappingInput,
): { value?: unknown; problem?: SafeText; unlisted?: string } => {
  const blank = from !== undefined && values === undefined && idFields.has(path) && blankIn(from, input);
  if (blank)
    return {
      problem: safe`is ${ownText(blank)}, which stands for nothing where programs write it. If it is an id, set "empty": [] under "cells"`,
    };
  const said = from === undefined ? undefined : valueIn(from, input);
  if (said === undefined) return { value: otherwise };
  if (typeof said === 'object') return { problem: safe`is an object or a list. Name the field within it` };
  const { decimal } = input.cells;
  const value = values ? values.get(textOf(said)) : inType(said, types, decimal);
  if (!values && isLostComma(value, types))
    return { problem: safe`has a comma. If that is a decimal comma, set "decimal": "," under "cells"` };
  // null is a value: it removes a setting.
  if (value !== undefined) return { value };
  if (otherwise !== undefined) return { value: otherwise };
  return {
    problem: safe`has a value that the mapping does not name. Add it to values, or give a default there`,
    unlisted: textOf(said),
  };
};

const idFields: ReadonlySet<string> = new Set(sisFields.flat());

/** The word that stands for nothing in a column of an id, unless the mapping says which words do. */
const blankIn = ({ parts, rules }: Origin, { given, cells }: MappingInput): string | undefined => {
  if (cells.empty !== undefined) return undefined;
  const texts = parts.map((part) =>
    'column' in part ? textOf(meantBy(rawIn(given, part.column), { rules, cells })) : '',
  );
  return texts.find((text) => usualBlanks.includes(text));
};

const isLostComma = (value: unknown, types: Set<string>): boolean =>
  typeof value === 'string' &&
  !types.has('string') &&
  (types.has('number') || types.has('integer')) &&
  isNumberText(value, ',');

/** Undefined if it is not given: an empty cell without quotes, or null. A template is given if each of its values is. */
const valueIn = ({ parts, rules }: Origin, { given, cells }: MappingInput): unknown => {
  const [first] = parts;
  if (parts.length === 1 && first && 'column' in first)
    return meantBy(rawIn(given, first.column), { rules, cells });
  let whole = '';
  for (const part of parts) {
    if ('text' in part) {
      whole += part.text;
      continue;
    }
    const value = meantBy(rawIn(given, part.column), { rules, cells });
    if (value === undefined || value === '') return undefined;
    if (typeof value === 'object') return value;
    whole += String(value);
  }
  return whole;
};

/** The value without what protects it: nothing may be left, or a word that stands for nothing. */
const meantBy = (value: unknown, { rules, cells }: { rules: ValueRules; cells: Cells }): unknown => {
  if (typeof value === 'number' && rules.digits !== undefined) return ruled(String(value), rules);
  if (typeof value !== 'string') return value;
  const text = ruled(value, rules);
  return (text === '' && value !== '') || cells.empty?.includes(text) ? undefined : text;
};

const rawIn = (source: MappingSource, name: string): unknown => {
  if (!(source instanceof Map)) return valueAt(source, name);
  const cell: Cell | undefined = source.get(name);
  return cell === undefined || (cell.text === '' && !cell.quoted) ? undefined : cell.text;
};

/** By a path such as `content.course.id` or, of one of a list, `persons.credentials[type=login].value`. */
export const valueAt = (notice: object, path: string): unknown => {
  let value: unknown = notice;
  for (const part of path.split('.')) {
    const [, list, key = '', wanted] = /^([^[]+)\[([^=]+)=(.*)\]$/.exec(part) ?? [];
    const found = own(value, list ?? part);
    value =
      list !== undefined && Array.isArray(found)
        ? found.find((each: unknown) => textOf(own(each, key)) === wanted)
        : found;
  }
  return value ?? undefined;
};

const own = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;

/** A notice may hold any object, also one whose own `toString` is no function. */
const textOf = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);

/** A notice may give a code as a number where the message wants text. */
const inType = (value: unknown, types: Set<string>, decimal: Cells['decimal']): unknown => {
  if (typeof value === 'string') return typed(value, types, decimal);
  const isTextOnly = types.has('string') && !types.has('number') && !types.has('integer');
  return typeof value === 'number' && isTextOnly ? String(value) : value;
};

/** The problems of a message by column. A value that no column gives is named by its path, and the message itself by `row`. */
export const problemsByColumn = (
  problems: readonly MessageProblem[],
  { columns }: Pick<ProducedMessage, 'columns'>,
  row: SafeText,
): Problem[] =>
  problems.map(({ field = row, problem }) => {
    const column = columns.get(field.replace(/\[(\d+)\]/g, '.$1'));
    return column === undefined
      ? { column: field, problem }
      : { column: ownText(column), problem: safe`${problem} (${field})` };
  });
