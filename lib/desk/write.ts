import { attribute, unlessRefused } from '../aws/dynamodb.ts';
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
  const list = lists.find((each) => each === state);
  const all: Facts = {
    ...{ handle: undefined, nextMs: undefined },
    ...facts,
    ...{ state, list: list && listKey(list, message), place: placeOf(message, facts), atMs: facts.atMs ?? now },
    expires: Math.ceil(now / 1000) + keptSeconds(state),
  };
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
  const write = () => dynamodb.call('UpdateItem', update, signal === undefined ? {} : { signal });
  return (await unlessRefused(write)) !== undefined;
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
