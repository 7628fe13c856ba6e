import { attribute, undefinedIfConditionFails } from '../../runtime/aws/dynamodb.ts';
import { writeItems } from '../../runtime/aws/dynamodb-batches.ts';
import { indexedNames, maxIndexed } from './letter-attributes.ts';
import { recordsOf } from './read-records.ts';
import {
  keptSeconds,
  type LetterIndexTable,
  type List,
  listKey,
  lists,
  placeOf,
  type State,
  waitNames,
} from './record.ts';

export type Facts = Record<string, string | number | undefined>;

export type RecordUpdate = {
  state: State;
  /** An undefined value removes the attribute from the record. */
  facts: Facts & { function: string; kind: string };
  /** Counts a wait, for the record's kind. */
  waits?: boolean;
  /** If it does not hold, nothing is changed. It names attributes as `#…`, and values of the facts as `:…`. */
  condition?: { text: string; names?: Record<string, string>; values?: Record<string, string | number> };
};

/**
 * Writes the state of a message; false: the condition did not hold. Writing it twice counts a wait twice, and does no other harm.
 * @throws if the table cannot be written.
 */
export const writeRecord = async (
  { dynamodb, table, nowMs }: LetterIndexTable,
  message: string,
  { state, facts, waits = false, condition, signal }: RecordUpdate & { signal?: AbortSignal },
): Promise<boolean> => {
  const now = nowMs();
  const all = { handle: undefined, nextMs: undefined, ...attributesOf(message, { state, facts }, now) };
  const names: Record<string, string> = { ...condition?.names };
  const values = Object.fromEntries(
    Object.entries(condition?.values ?? {}).map(([name, value]) => [name, attribute(value)]),
  );
  const sets: string[] = [];
  const removes: string[] = [];
  // By number: some of the names are reserved words of DynamoDB.
  for (const [name, value] of Object.entries(all)) {
    const at = Object.keys(names).length;
    names[`#${at}`] = name;
    if (value === undefined) removes.push(`#${at}`);
    else {
      values[`:${at}`] = attribute(value);
      sets.push(`#${at} = :${at}`);
    }
  }
  const adds: string[] = [];
  if (waits) {
    const { first, last, count } = waitNames(facts.kind);
    Object.assign(names, { '#first': first, '#last': last, '#count': count });
    Object.assign(values, { ':now': attribute(now), ':one': attribute(1) });
    sets.push('#first = if_not_exists(#first, :now)', '#last = :now');
    adds.push('#count :one');
  }
  const update = {
    TableName: table,
    Key: { message: { S: message } },
    UpdateExpression: [
      `SET ${sets.join(', ')}`,
      ...(removes.length > 0 ? [`REMOVE ${removes.join(', ')}`] : []),
      ...(adds.length > 0 ? [`ADD ${adds.join(', ')}`] : []),
    ].join(' '),
    ...(condition && { ConditionExpression: condition.text }),
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values,
  };
  const write = () => dynamodb.call('UpdateItem', update, { signal });
  return (await undefinedIfConditionFails(write)) !== undefined;
};

const attributesOf = (message: string, { state, facts }: RecordUpdate, now: number): Facts => {
  const list = lists.find((each) => each === state);
  return {
    ...Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, cut(name, value)])),
    state,
    list: list && listKey(list, message),
    place: placeOf(message, facts),
    atMs: facts.atMs ?? now,
    expires: Math.ceil(now / 1000) + keptSeconds(state),
  };
};

/** This much of a text distinguishes causes and states what to do: a record has little room, and a letter may say anything. */
const maxText = 500;

/** A handle, or a part of a letter, is useful only as a whole. */
const cut = (name: string, value: Facts[string]): Facts[string] => {
  if (typeof value !== 'string') return value;
  if (name === 'handle' || indexedNames.some((each) => each === name))
    return value.length <= maxIndexed ? value : undefined;
  return value.length <= maxText ? value : `${value.slice(0, maxText - 1).toWellFormed()}…`;
};

/**
 * Replaces whole records, and keeps only their waits.
 * @throws if the table cannot be read or written.
 */
export const putRecords = async (
  table: LetterIndexTable,
  changes: ReadonlyMap<string, RecordUpdate>,
): Promise<void> => {
  const before = await recordsOf(table, [...changes.keys()]);
  const puts = [...changes].map(([message, change]) => {
    const waits = (before.get(message)?.waits ?? []).flatMap(({ kind, firstMs, lastMs, count }) => {
      const names = waitNames(kind);
      return [[names.first, firstMs] as const, [names.last, lastMs] as const, [names.count, count] as const];
    });
    const values = { ...attributesOf(message, change, table.nowMs()), ...Object.fromEntries(waits), message };
    const given = Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, attribute(value)] as const],
    );
    return { PutRequest: { Item: Object.fromEntries(given) } };
  });
  await writeItems(table, puts);
};

/** Who did it to a letter, why, and the id under which its message continued. */
export type EndOfRecord = {
  state: Exclude<State, List>;
  by: string;
  why?: string | undefined;
  as?: string | undefined;
};

/** Ends the record of a letter that is no longer in the queue. */
export const endRecord = (
  table: LetterIndexTable,
  { message, function: name, kind }: { message: string; function: string; kind: string },
  { state, ...facts }: EndOfRecord,
): Promise<boolean> => writeRecord(table, message, { state, facts: { function: name, kind, ...facts } });
