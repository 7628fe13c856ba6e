import { createHash } from 'node:crypto';
import type { Attributes, DynamoDb } from '../../runtime/aws/dynamodb.ts';

/**
 * The desk's table: what operators see of messages that are not simply done. It has one record for each message, by SQS' id, which
 * also names its letter. The queues are the source of truth: a lost or stale record loses no message.
 */
export type DeskTable = { dynamodb: DynamoDb; table: string; nowMs(): number };

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

export type DeskRecord = {
  message: string;
  state: State;
  /** When it entered this state: for a letter, when it was written. */
  atMs: number;
  /** Empty if the letter names none. */
  function: string;
  /** Kind of the failure or the letter; for a message that waits without a failure, why it waits. */
  kind: string;
  /** What failed, in a few words, and the platform's words, both without ids and personal data. */
  error: string;
  words: string | undefined;
  remedy: string | undefined;
  status: number | undefined;
  /** The missing scope or permission. */
  required: string | undefined;
  /** `METHOD /path` of the call that failed. */
  operation: string | undefined;
  /** When SQS first delivered it, and the number of receipts so far. */
  firstMs: number | undefined;
  attempts: number;
  replays: number;
  eventId: string | undefined;
  /** The user and the org unit it is about, by the platform's ids. */
  user: string | undefined;
  orgUnit: string | undefined;
  /** As in `grade object 5001`. */
  thing: string | undefined;
  /** The SIS' ids, if the message gives them. */
  named: string | undefined;
  /** When its letter was written, even if that has been dealt with. */
  writtenMs: number | undefined;
  /** Its key in the ledger. */
  resource: string | undefined;
  /** Only for a message that waits: when it is tried next, and SQS' handle to deliver it earlier. */
  nextMs: number | undefined;
  handle: string | undefined;
  /** What operators did to it before, as JSON; the letter carries the same. */
  history: string | undefined;
  /** Who ended it, why, and the id under which its message continued. */
  by: string | undefined;
  why: string | undefined;
  as: string | undefined;
  waits: Wait[];
};

export type Wait = { kind: string; firstMs: number; lastMs: number; count: number };

export type LetterRecord = DeskRecord & { state: 'letter' };

const firstOf = (kind: string): string => `first:${kind}`;

/** Attributes for the waits of one kind: since when, until when and how often. */
export const waitNames = (kind: string) => ({
  first: firstOf(kind),
  last: `last:${kind}`,
  count: `count:${kind}`,
});

/**
 * Undefined for an item that is not a record, or has expired: DynamoDB removes those late. Lists are long, and only functions and
 * operators of the same stage write there, so nothing else is checked.
 */
export const recordIn = (item: Attributes, nowMs: number): DeskRecord | undefined => {
  if (Number(item.expires?.N) * 1000 <= nowMs) return undefined;
  const text = (name: string): string | undefined => item[name]?.S;
  const number = (name: string): number | undefined => {
    const told = item[name]?.N;
    return told === undefined ? undefined : Number(told);
  };
  const [message, state] = [text('message'), text('state')];
  if (message === undefined || !states.includes(state as State)) return undefined;
  const waits = Object.keys(item).flatMap((name): Wait[] => {
    if (!name.startsWith(firstOf(''))) return [];
    const kind = name.slice(firstOf('').length);
    const { first, last, count } = waitNames(kind);
    return [{ kind, firstMs: number(first) ?? 0, lastMs: number(last) ?? 0, count: number(count) ?? 0 }];
  });
  return {
    ...{ message, state: state as State, atMs: number('atMs') ?? 0 },
    function: text('function') ?? '',
    kind: text('kind') ?? '',
    error: text('error') ?? '',
    words: text('words'),
    remedy: text('remedy'),
    status: number('status'),
    required: text('required'),
    operation: text('operation'),
    firstMs: number('firstMs'),
    attempts: number('attempts') ?? 0,
    replays: number('replays') ?? 0,
    eventId: text('eventId'),
    user: text('user'),
    orgUnit: text('orgUnit'),
    thing: text('thing'),
    named: text('named'),
    writtenMs: number('writtenMs'),
    resource: text('resource'),
    nextMs: number('nextMs'),
    handle: text('handle'),
    history: text('history'),
    by: text('by'),
    why: text('why'),
    as: text('as'),
    waits: waits.sort((one, other) => one.firstMs - other.firstMs),
  };
};

const daySeconds = 24 * 3600;

/** Retention of a record: for a letter or a waiting message as long as SQS keeps it, and a day more. */
export const keptSeconds = (state: State): number =>
  state === 'letter' || state === 'waiting' ? 15 * daySeconds : 7 * daySeconds;
