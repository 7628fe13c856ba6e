import { createHash } from 'node:crypto';
import type { Attributes, AttributeValue, DynamoDb } from '../../runtime/aws/dynamodb.ts';
import { type IndexedAttributes, indexedNames } from './letter-attributes.ts';

/**
 * The letter index: what operators see of messages that are not simply done. It has one record for each message, by SQS' id, which
 * also names its letter. The queues are the source of truth: a lost or stale record loses no message.
 */
export type LetterIndexTable = { dynamodb: DynamoDb; table: string; nowMs(): number };

/** Each record is in one of these lists or, once its message has ended, in none. */
export const lists = ['letter', 'waiting'] as const;
export type List = (typeof lists)[number];

/** The secondary index: by `list`, and within it by `place`. */
export const listIndex = 'by-list';

/** Number of partitions of a list; DynamoDB allows 1,000 writes a second to each. */
export const shards = 8;

export const listKey = (list: List, message: string): string =>
  `${list}.${createHash('md5').update(message).digest().readUInt8(0) % shards}`;

/**
 * Within a list, records of one kind and function are adjacent. Places are unique, as a page of a query may end between any two
 * records.
 */
export const placeOf = (message: string, { function: name, kind }: { function: string; kind: string }) =>
  `${kind} ${name} ${message}`;

/** `replayed`, `edited` and `discarded` are what an operator did to its letter. */
export const states = [
  'letter',
  'waiting',
  'done',
  'duplicate',
  'superseded',
  'replayed',
  'edited',
  'discarded',
] as const;
export type State = (typeof states)[number];

export type IndexRecord = IndexedAttributes & {
  message: string;
  state: State;
  /** When it entered this state: for a letter, when it was written. */
  atMs: number;
  /** Empty if the letter names none. */
  function: string;
  /** Kind of the failure or the letter; for a message that waits without a failure, why it waits. */
  kind: string;
  /** What failed, in a few words, without ids and personal data. */
  error: string;
  /** Number of receipts so far. */
  attempts: number;
  replays: number;
  waits: readonly Wait[];
  /** The platform's words, without ids and personal data. */
  words: string | undefined;
  remedy: string | undefined;
  /** The missing scope or permission. */
  required: string | undefined;
  /** `METHOD /path` of the call that failed. */
  operation: string | undefined;
  eventId: string | undefined;
  /** What it is about, by the platform's ids, as in `grade object 5001`. */
  user: string | undefined;
  orgUnit: string | undefined;
  thing: string | undefined;
  /** What it is about, by the SIS' ids. */
  named: string | undefined;
  /** When the SIS sent it, by its own clock. */
  eventMs: number | undefined;
  /** Its key in the ledger. */
  resource: string | undefined;
  /** Who ended it, why, and the id under which its message continued. */
  by: string | undefined;
  why: string | undefined;
  as: string | undefined;
  /** Only for a message that waits: SQS' handle to deliver it earlier. */
  handle: string | undefined;
  status: number | undefined;
  /** When SQS first delivered it, when its letter was written, and when it is tried next. */
  firstMs: number | undefined;
  writtenMs: number | undefined;
  nextMs: number | undefined;
};

export type Wait = { kind: string; firstMs: number; lastMs: number; count: number };

export type LetterRecord = IndexRecord & { state: 'letter' };

const noWaits: readonly Wait[] = [];

const firstOf = (kind: string): string => `first:${kind}`;

/** Attributes for the waits of one kind: since when, until when and how often. */
export const waitNames = (kind: string) => ({
  first: firstOf(kind),
  last: `last:${kind}`,
  count: `count:${kind}`,
});

/**
 * Undefined for an item that is not a record, or has expired: DynamoDB removes those late. Lists are long, and only functions and
 * operators of the same stage write there, so nothing else is checked. `shared`: returns the same string for equal texts.
 */
export const recordIn = (
  item: Attributes,
  nowMs: number,
  shared: (text: string) => string = (text) => text,
): IndexRecord | undefined => {
  if (Number(item.expires?.N) * 1000 <= nowMs) return undefined;
  const often = (value: AttributeValue | undefined): string | undefined =>
    value?.S === undefined ? undefined : shared(value.S);
  const number = (value: AttributeValue | undefined): number | undefined =>
    value?.N === undefined ? undefined : Number(value.N);
  const [message, state] = [item.message?.S, item.state?.S];
  if (message === undefined || !states.includes(state as State)) return undefined;
  const waits: Wait[] = [];
  for (const name in item) {
    if (!name.startsWith(firstOf(''))) continue;
    const kind = name.slice(firstOf('').length);
    const { first, last, count } = waitNames(kind);
    const [firstMs, lastMs] = [number(item[first]) ?? 0, number(item[last]) ?? 0];
    waits.push({ kind, firstMs, lastMs, count: number(item[count]) ?? 0 });
  }
  const indexed = {} as IndexedAttributes;
  for (const name of indexedNames) indexed[name] = item[name]?.S;
  // Each by its name: a loop over the names takes three times as long.
  return {
    message,
    state: state as State,
    atMs: number(item.atMs) ?? 0,
    function: often(item.function) ?? '',
    kind: often(item.kind) ?? '',
    error: often(item.error) ?? '',
    attempts: number(item.attempts) ?? 0,
    replays: number(item.replays) ?? 0,
    waits: waits.length === 0 ? noWaits : waits.sort((one, other) => one.firstMs - other.firstMs),
    words: often(item.words),
    remedy: often(item.remedy),
    required: often(item.required),
    operation: often(item.operation),
    eventId: item.eventId?.S,
    user: item.user?.S,
    orgUnit: often(item.orgUnit),
    thing: often(item.thing),
    named: item.named?.S,
    eventMs: number(item.eventMs),
    resource: item.resource?.S,
    ...indexed,
    by: item.by?.S,
    why: item.why?.S,
    as: item.as?.S,
    handle: item.handle?.S,
    status: number(item.status),
    firstMs: number(item.firstMs),
    writtenMs: number(item.writtenMs),
    nextMs: number(item.nextMs),
  };
};

const daySeconds = 24 * 3600;

/** Retention of a record: for a letter or a waiting message as long as SQS keeps it, and a day more. */
export const keptSeconds = (state: State): number =>
  state === 'letter' || state === 'waiting' ? 15 * daySeconds : 7 * daySeconds;
