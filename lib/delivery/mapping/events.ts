import type { MessageProblem } from '../../message/failure.ts';
import { ownText, type SafeText, safe, safeList } from '../../message/safe-text.ts';
import { type Cell, put, typed } from './columns.ts';
import type { Field, MappedEvent, MappedMessage, Mapping } from './mapping.ts';

/** A row of a table, or the JSON of a change notice. */
export type Given = ReadonlyMap<string, Cell> | object;

/** The data of a message that a row or notice makes. They are checked by the function's schema only if that is asked for. */
export type Made = {
  function: string;
  /** Index of the message in the mapping, from 0. */
  at: number;
  data: Record<string, unknown>;
  time?: string;
  key?: string[];
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
export const problemsText = (problems: readonly Problem[]): SafeText =>
  safeList(
    problems.map(({ column, problem }) => safe`${column}: ${problem}`),
    '; ',
  );

/** Problems if one of its columns cannot be used: then it makes no message at all. */
export type MadeOrProblems =
  | { events: Made[]; problems?: undefined }
  | { problems: Problem[]; events?: undefined };

/** Applies a mapping to a row or notice: empty if no message applies. `only`: index of the one message to apply. */
export const eventsOf = (given: Given, { messages }: Mapping, only?: number): MadeOrProblems =>
  all(
    messages.map((message, at) => ({ message, event: message, at })),
    { given, only },
  );

/** The messages to send if the row, in its earlier form, is missing. */
export const removalsOf = (given: Given, { messages }: Mapping, only?: number): MadeOrProblems =>
  all(
    messages.flatMap((message, at) => (message.removed ? [{ message, event: message.removed, at }] : [])),
    { given, only },
  );

type Wanted = { message: MappedMessage; event: MappedEvent; at: number };

const all = (
  wanted: Wanted[],
  { given, only }: { given: Given; only: number | undefined },
): MadeOrProblems => {
  const problems = new Map<string, Problem>();
  const events = wanted
    .filter(({ message, at }) => (only === undefined || at === only) && isFor(message, given))
    .map((each) => make(each, given, problems));
  if (problems.size === 0) return { events };
  return { problems: [...problems.values()] };
};

const isFor = ({ resource, operations, when }: MappedMessage, given: Given): boolean => {
  if (resource !== undefined) {
    if (given instanceof Map) return false;
    const operation = valueIn(given, 'operation');
    if ((valueIn(given, 'resource.name') ?? valueIn(given, 'resource')) !== resource) return false;
    if (operations && !operations.includes(textOf(operation))) return false;
  }
  return when.every(([column, values]) => values.has(textOf(valueIn(given, column))));
};

const make = ({ message, event, at }: Wanted, given: Given, problems: Map<string, Problem>): Made => {
  const data: Record<string, unknown> = {};
  for (const field of event.fields) {
    const { path, from } = field;
    const { value, problem, unlisted } = fieldIn(field, given);
    const column = from ?? path;
    if (problem !== undefined)
      problems.set(column, {
        ...{
          column: ownText(column),
          problem: ownText(problem.replace('values', `messages[${at}].data.${path}.values`)),
        },
        ...(unlisted !== undefined && { value: unlisted }),
      });
    else if (value !== undefined) put(data, path.split('.'), value);
  }
  const time = message.time === undefined ? undefined : valueIn(given, message.time);
  return {
    ...{ function: event.function, at, data, columns: columnsBehind(event, message.time) },
    ...(time !== undefined && { time: textOf(time) }),
    ...(message.key && { key: message.key.map((column) => textOf(valueIn(given, column))) }),
  };
};

/** By path, the column that gives it. */
export const columnsBehind = (
  { fields }: Pick<MappedEvent, 'fields'>,
  time?: string,
): ReadonlyMap<string, string> =>
  new Map([
    ...fields.flatMap(({ path, from }) => (from === undefined ? [] : [[`data.${path}`, from] as const])),
    ...(time === undefined ? [] : [['time', time] as const]),
  ]);

const fieldIn = (
  { types, from, values, otherwise }: Field,
  given: Given,
): { value?: unknown; problem?: SafeText; unlisted?: string } => {
  const told = from === undefined ? undefined : valueIn(given, from);
  if (told === undefined) return { value: otherwise };
  if (typeof told === 'object') return { problem: safe`is an object or a list. Name the field within it` };
  const value = values ? values.get(textOf(told)) : inType(told, types);
  // null is a value: it removes a setting.
  if (value !== undefined) return { value };
  if (otherwise !== undefined) return { value: otherwise };
  return {
    problem: safe`has a value that the mapping does not name. Add it to values, or give a default there`,
    unlisted: textOf(told),
  };
};

/** Undefined if it is not given: an empty cell without quotes, or null. */
const valueIn = (given: Given, name: string): unknown => {
  if (given instanceof Map) {
    const cell: Cell | undefined = given.get(name);
    return cell === undefined || (cell.text === '' && !cell.quoted) ? undefined : cell.text;
  }
  let value: unknown = given;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value ?? undefined;
};

/** A notice may hold any object, also one whose own `toString` is no function. */
const textOf = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);

/** A notice may give a code as a number where the message wants text. */
const inType = (value: unknown, types: Set<string>): unknown => {
  if (typeof value === 'string') return typed(value, types);
  const isTextOnly = types.has('string') && !types.has('number') && !types.has('integer');
  return typeof value === 'number' && isTextOnly ? String(value) : value;
};

/** The problems of a message by column. A value that no column gives is named by its path, and the message itself by `row`. */
export const problemsByColumn = (
  problems: readonly MessageProblem[],
  { columns }: Pick<Made, 'columns'>,
  row: SafeText,
): Problem[] =>
  problems.map(({ field = row, problem }) => {
    const column = columns.get(field.replace(/\[(\d+)\]/g, '.$1'));
    return column === undefined
      ? { column: field, problem }
      : { column: ownText(column), problem: safe`${problem} (${field})` };
  });
