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

/** Facts that a record may lack. */
const texts = [
  // The platform's words, without ids and personal data; the missing scope or permission; `METHOD /path` of the call that failed.
  ...(['words', 'remedy', 'required', 'operation'] as const),
  // What it is about, by the platform's ids, as in `grade object 5001`; `named`: by those of the SIS; `resource`: in the ledger.
  ...(['eventId', 'user', 'orgUnit', 'thing', 'named', 'resource'] as const),
  // What operators did to it before, as JSON; who ended it, why, and the id under which its message continued.
  ...(['history', 'by', 'why', 'as'] as const),
  // Only for a message that waits: SQS' handle to deliver it earlier.
  'handle',
] as const;
// When SQS first delivered it, when its letter was written, and when it is tried next.
const numbers = ['status', 'firstMs', 'writtenMs', 'nextMs'] as const;

export type DeskRecord = {
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
  waits: Wait[];
} & Optional;

type Optional = Record<(typeof texts)[number], string | undefined> &
  Record<(typeof numbers)[number], number | undefined>;

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
  const optional = [
    ...texts.map((name) => [name, text(name)]),
    ...numbers.map((name) => [name, number(name)]),
  ];
  return {
    ...(Object.fromEntries(optional) as Optional),
    ...{ message, state: state as State, atMs: number('atMs') ?? 0 },
    ...{ function: text('function') ?? '', kind: text('kind') ?? '', error: text('error') ?? '' },
    ...{ attempts: number('attempts') ?? 0, replays: number('replays') ?? 0 },
    waits: waits.sort((one, other) => one.firstMs - other.firstMs),
  };
};

const daySeconds = 24 * 3600;

/** Retention of a record: for a letter or a waiting message as long as SQS keeps it, and a day more. */
export const keptSeconds = (state: State): number =>
  state === 'letter' || state === 'waiting' ? 15 * daySeconds : 7 * daySeconds;
