import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Attributes, DynamoDb } from '../aws/dynamodb.ts';

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
 * Within a list, records of one function and kind lie side by side. No two have the same place, as a page of a query may end between
 * any two.
 */
export const placeOf = (message: string, { function: name, kind }: { function: string; kind: string }) =>
  `${name} ${kind} ${message}`;

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

const recordSchema = z.object({
  message: z.string(),
  state: z.enum(states),
  /** When it came to be so: of a letter, when it was written. */
  atMs: z.number(),
  /** Empty where the letter names none. */
  function: z.string(),
  /** Of the failure or the letter; of a message that waits without one, why it waits. */
  kind: z.string(),
  /** What failed, in a few words, and the platform's own words, both without ids and what is personal. */
  error: z.string().default(''),
  words: z.string().optional(),
  remedy: z.string().optional(),
  status: z.number().optional(),
  /** The scope or permission that is missing. */
  required: z.string().optional(),
  /** `METHOD /path` of the call that failed. */
  operation: z.string().optional(),
  /** When SQS first handed it out, and how often so far. */
  firstMs: z.number().optional(),
  attempts: z.number().default(0),
  replays: z.number().default(0),
  /** Of the event. */
  eventId: z.string().optional(),
  /** Whom and what it is about, by the platform's ids. */
  user: z.string().optional(),
  orgUnit: z.string().optional(),
  /** As in `grade object 5001`. */
  thing: z.string().optional(),
  /** Its key in the ledger. */
  resource: z.string().optional(),
  /** Of a message that waits: when it is tried next, and SQS' handle to show it earlier. */
  nextMs: z.number().optional(),
  handle: z.string().optional(),
  /** What operators did to it before, as JSON; the letter carries the same. */
  history: z.string().optional(),
  /** Who ended it, why, and under which id its message went on. */
  by: z.string().optional(),
  why: z.string().optional(),
  as: z.string().optional(),
  /** When a rebuilding of the lists last found its letter in the queue, or it was written. */
  seenMs: z.number().default(0),
});

/** A wait of a message for one cause. */
export type Wait = { kind: string; firstMs: number; lastMs: number; count: number };

export type DeskRecord = z.infer<typeof recordSchema> & { waits: Wait[] };

export type LetterRecord = DeskRecord & { state: 'letter' };

/** Of each kind for which it has waited: since when, until when and how often. */
export const waitNames = (kind: string) => ({
  first: `first:${kind}`,
  last: `last:${kind}`,
  count: `count:${kind}`,
});

/** Undefined where an item is none of ours, or has expired: DynamoDB removes those late. */
export const recordIn = (item: Attributes, nowMs: number): DeskRecord | undefined => {
  if (Number(item.expires?.N) * 1000 <= nowMs) return undefined;
  const values = Object.fromEntries(
    Object.entries(item).map(([name, { N, S }]) => [name, N === undefined ? S : Number(N)]),
  );
  const parsed = recordSchema.safeParse(values);
  if (!parsed.success) return undefined;
  const waits = Object.keys(values).flatMap((name): Wait[] => {
    const kind = /^first:(.+)$/.exec(name)?.[1];
    if (kind === undefined) return [];
    const { first, last, count } = waitNames(kind);
    return [
      { kind, firstMs: Number(values[first]), lastMs: Number(values[last]), count: Number(values[count]) },
    ];
  });
  return { ...parsed.data, waits: waits.sort((one, other) => one.firstMs - other.firstMs) };
};

const daySeconds = 24 * 3600;

/** For how long a record stays: a letter's and a waiting message's as long as SQS keeps them, and a day more. */
export const keptSeconds = (state: State): number =>
  state === 'letter' || state === 'waiting' ? 15 * daySeconds : 7 * daySeconds;
