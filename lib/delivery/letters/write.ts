import { attribute, unlessRefused } from '../../runtime/aws/dynamodb.ts';
import { writeItems } from '../../runtime/aws/dynamodb-batches.ts';
import { recordsOf } from './read.ts';
import {
  type DeskTable,
  keptSeconds,
  type List,
  listKey,
  lists,
  placeOf,
  type State,
  waitNames,
} from './record.ts';

export type Facts = Record<string, string | number | undefined>;

export type Change = {
  state: State;
  /** What is undefined here is taken out of the record. */
  facts: Facts & { function: string; kind: string };
  /** That it waits now, for its kind, is counted. */
  waits?: boolean;
  /** Where it does not hold, nothing is changed; by the names `#…` of the attributes, and the values `:…` of the facts. */
  condition?: { text: string; names?: Record<string, string>; values?: Record<string, string | number> };
};

/**
 * Writes what has become of a message; false: the condition did not hold. Written twice it counts a wait twice, and does no other harm.
 * @throws where the table cannot be written.
 */
export const writeRecord = async (
  { dynamodb, table, nowMs }: DeskTable,
  message: string,
  { state, facts, waits = false, condition, signal }: Change & { signal?: AbortSignal },
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
  return (await unlessRefused(write)) !== undefined;
};

const attributesOf = (message: string, { state, facts }: Change, now: number): Facts => {
  const list = lists.find((each) => each === state);
  return {
    ...Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, cut(name, value)])),
    ...{ state, list: list && listKey(list, message), place: placeOf(message, facts) },
    atMs: facts.atMs ?? now,
    expires: Math.ceil(now / 1000) + keptSeconds(state),
  };
};

/** So much of a text tells one cause from another, and what to do: a record has little room, and a letter may say anything. */
const maxText = 500;
const maxWhole = 10_000;

/** A handle and a history are of use as a whole only. */
const cut = (name: string, value: Facts[string]): Facts[string] => {
  if (typeof value !== 'string') return value;
  if (name === 'handle' || name === 'history') return value.length <= maxWhole ? value : undefined;
  return value.length <= maxText ? value : `${value.slice(0, maxText - 1).toWellFormed()}…`;
};

/**
 * Writes whole records, in the place of those that there are: of them only the waits stay.
 * @throws where the table cannot be read or written.
 */
export const putRecords = async (table: DeskTable, changes: ReadonlyMap<string, Change>): Promise<void> => {
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

/** What an operator did to a letter: who, why, and under which id its message went on. */
export type Ending = {
  state: Exclude<State, List>;
  by: string;
  why?: string | undefined;
  as?: string | undefined;
};

/** Ends the record of a letter that is in the queue no longer. */
export const endRecord = (
  table: DeskTable,
  { message, function: name, kind }: { message: string; function: string; kind: string },
  { state, ...facts }: Ending,
): Promise<boolean> => writeRecord(table, message, { state, facts: { function: name, kind, ...facts } });
