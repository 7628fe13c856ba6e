import { createHash } from 'node:crypto';
import type { Attributes, DynamoDb } from '../../runtime/aws/dynamodb.ts';

/**
 * The desk's table: what operators see of messages that are not simply done. One record a message, by SQS' id of it, which names
 * its letter, too. The queues stay the truth; a record that is lost or stale loses no message.
 */
export type DeskTable = { dynamodb: DynamoDb; table: string; nowMs(): number };

/** The lists by which records are read: each record is in one of them, or, once its message has ended, in none. */
export const lists = ['letter', 'waiting'] as const;
export type List = (typeof lists)[number];

/** Its secondary index: by `list`, and within it by `place`. */
export const listIndex = 'by-list';

/** A list is spread over so many partitions, each of which DynamoDB lets 1,000 writes a second. */
export const shards = 8;

export const listKey = (list: List, message: string): string =>
  `${list}.${createHash('md5').update(message).digest().readUInt8(0) % shards}`;

/**
 * Within a list, records of one kind and function lie side by side. No two have the same place, as a page of a query may end between
 * any two.
 */
export const placeOf = (message: string, { function: name, kind }: { function: string; kind: string }) =>
  `${kind} ${name} ${message}`;

/** What has become of a message. `replayed`, `edited` and `discarded` are what an operator did to its letter. */
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

/** What is known of a message. */
export type DeskRecord = {
  message: string;
  state: State;
  /** When it came to be so: of a letter, when it was written. */
  atMs: number;
  /** Empty where the letter names none. */
  function: string;
  /** Of the failure or the letter; of a message that waits without one, why it waits. */
  kind: string;
  /** What failed, in a few words, and the platform's own words, both without ids and what is personal. */
  error: string;
  words: string | undefined;
  remedy: string | undefined;
  status: number | undefined;
  /** The scope or permission that is missing. */
  required: string | undefined;
  /** `METHOD /path` of the call that failed. */
  operation: string | undefined;
  /** When SQS first handed it out, and how often so far. */
  firstMs: number | undefined;
  attempts: number;
  replays: number;
  /** Of the event. */
  eventId: string | undefined;
  /** Whom and what it is about, by the platform's ids. */
  user: string | undefined;
  orgUnit: string | undefined;
  /** As in `grade object 5001`. */
  thing: string | undefined;
  /** By the SIS' ids, where the message gives them. */
  named: string | undefined;
  /** When its letter was written, also where that has been dealt with. */
  writtenMs: number | undefined;
  /** Its key in the ledger. */
  resource: string | undefined;
  /** Of a message that waits: when it is tried next, and SQS' handle to show it earlier. */
  nextMs: number | undefined;
  handle: string | undefined;
  /** What operators did to it before, as JSON; the letter carries the same. */
  history: string | undefined;
  /** Who ended it, why, and under which id its message went on. */
  by: string | undefined;
  why: string | undefined;
  as: string | undefined;
  waits: Wait[];
};

/** A wait of a message for one cause. */
export type Wait = { kind: string; firstMs: number; lastMs: number; count: number };

export type LetterRecord = DeskRecord & { state: 'letter' };

const firstOf = (kind: string): string => `first:${kind}`;

/** Of each kind for which it has waited: since when, until when and how often. */
export const waitNames = (kind: string) => ({
  first: firstOf(kind),
  last: `last:${kind}`,
  count: `count:${kind}`,
});

/**
 * Undefined where an item is none of ours, or has expired: DynamoDB removes those late. Lists are long, and only functions and
 * operators of the same stage write there, so no more is checked.
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

/** For how long a record stays: a letter's and a waiting message's as long as SQS keeps them, and a day more. */
export const keptSeconds = (state: State): number =>
  state === 'letter' || state === 'waiting' ? 15 * daySeconds : 7 * daySeconds;
