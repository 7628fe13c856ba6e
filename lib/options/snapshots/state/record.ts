import * as z from 'zod';
import { zipFeed } from '../feed.ts';

/** The prefix of snapshots' records: outside of the prefix whose files start the import. */
export const recordsPrefix = 'snapshot-records/';
export const recordKey = (id: string): string => `${recordsPrefix}${id}/record.json`;
/** `{ id }` of the last accepted zip that no folder and no pattern distinguishes. */
export const acceptedKey = `${recordsPrefix}accepted.json`;
export const acceptedFeedsPrefix = `${recordsPrefix}accepted/`;
/** The same for what a file is compared with, by its feed. */
export const acceptedKeyOf = (feed: string): string =>
  feed === zipFeed ? acceptedKey : `${acceptedFeedsPrefix}${inOneName(feed)}.json`;
/** A folder of the feed is no folder of the record. */
export const inOneName = (feed: string): string => feed.replaceAll('/', '%2F');
/** Of an object that says what was accepted last. */
export const feedOfAccepted = (key: string): string =>
  key === acceptedKey
    ? zipFeed
    : key.slice(acceptedFeedsPrefix.length, -'.json'.length).replaceAll('%2F', '/');
/** When a feed was ended last: what was sent then is older than what is sent later. */
export const lastEndKey = `${recordsPrefix}last-end.json`;
export const lastEnd = z.object({ id: z.string(), sentMs: z.number().optional() });
/** Rows that were refused: file, line, column, problem. */
export const reportKey = (id: string): string => `${recordsPrefix}${id}/report.csv`;

/** The events to send, in order, as lines of JSON; and its parts, which can be unpacked separately. */
export const changesKey = (id: string): string => `${recordsPrefix}${id}/changes.jsonl.gz`;
export const partsKey = (id: string): string => `${recordsPrefix}${id}/parts.json`;
/** The state after they are sent, as a table of Parquet. */
export const stateKey = (id: string): string => `${recordsPrefix}${id}/state.parquet`;

/** The kind of a table's rows in its state, for a message by its index in the mapping. */
export const kindOf = (at: number): string => at.toString(36);

/** `accepted.json`, or that of a table. */
export const acceptedSnapshot = z.object({
  id: z.string(),
  /** Number of accepted snapshots, including this one. */
  number: z.number().int().positive(),
  /** By file, in lower case. */
  columns: z.record(z.string(), z.array(z.string())),
  by: z.string(),
  /** The form of its state. */
  holds: z.literal('tables'),
  /** It is still being sent: its rest is sent before anything else. */
  sending: z.literal(true).optional(),
  /** The time of its messages, if that is later than when it was put, as other files were accepted meanwhile. */
  sentMs: z.number().optional(),
  /** The latest time of a change that a row of any accepted file gave. */
  saidMs: z.number().optional(),
  /** The accepted snapshots, of whatever content, the last one at the end: the same content again would take back what others changed. */
  contents: z.array(z.string()).optional(),
  /** Each file that was ever accepted is bulk in it, so it states everything. */
  isWhole: z.literal(true).optional(),
  /** The ids of roles, by the setting `roleOrder`. */
  roleOrder: z.array(z.number()).optional(),
  /** By the id of another accepted snapshot: enrollments that files of this name have no more, and that stay because it has them. */
  heldBack: z.record(z.string(), z.number()).optional(),
  /** It ends the feed: once it is sent, nothing of this name is accepted any more. */
  isEnd: z.literal(true).optional(),
});
export type AcceptedSnapshot = z.output<typeof acceptedSnapshot>;

/** When the file was put, by an id as in `20261123T020000Z-0a1b2c3d`. */
export const droppedMsOf = (id: string): number =>
  Date.parse(id.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z.*$/, '$1-$2-$3T$4:$5:$6Z'));

/** The mark of its content, by such an id. */
export const contentMarkIn = (id: string): string => id.slice(17);

const counted = z.number().int().nonnegative();

/** Fields in the order in which they are shown. */
const counts = z.object({
  created: counted,
  updated: counted,
  removed: counted,
  unchanged: counted,
  refused: counted,
  /** Rows that want another value than was accepted, which stays, because a refused row may be about the same thing. */
  held: counted.optional(),
  /** Results that are not fully graded, if there are any. They are not sent, and what was sent before stays. */
  pending: counted.optional(),
});
export type Counts = z.output<typeof counts>;

/** The results of a row of a file, in the order in which they are reported. */
export const rowResults = [
  /** It wants something new, or another value than was accepted. */
  'sent',
  'unchanged',
  /** It wants another value than was accepted, which stays, because a refused row may be about the same thing. */
  'held',
  /** For a table: a message of the mapping applies to it, or none does. */
  'used',
  /** A cell no longer gives a value: what was sent of its field stays. */
  'emptied',
  /** Of a table of changes: a row that ends something, but nothing was accepted for its key. */
  'endedNothing',
  /** It ends something, or no message of the mapping applies to it, and another row with its key is used. */
  'keyUsed',
  'withoutMessage',
  /** Of a table: no condition of the mapping names its value. */
  'unknownValue',
  /** It gives a name, or the role of a user. */
  'read',
  'outsideDates',
  'notActive',
  'deleted',
  'notGraded',
  'roleNotSent',
  'unknownRole',
  'withoutRole',
  'notInPackage',
  /** The row of its class, user or line item was refused. */
  'refusedWith',
  'withoutName',
  /** The crosswalk gives for its user name the account of another record. */
  'namePassed',
  'withoutMaximum',
  'twoReadings',
  'refused',
] as const;
export type RowResult = (typeof rowResults)[number];
/** By result; the sum is the number of all rows of the file. */
const rowCounts = z.partialRecord(z.enum(rowResults), counted);
export type RowCounts = z.output<typeof rowCounts>;

/** Columns of a table and their codes for which no message of the mapping is, and the number of rows with each. */
const excluded = z.array(z.tuple([z.string(), z.string(), counted]));
export type Excluded = z.output<typeof excluded>;

/** Rows of a file that are refused for the same reason. */
const refusal = z.object({
  file: z.string(),
  column: z.string(),
  problem: z.string(),
  rows: counted,
  /** The first one; empty: unknown. */
  line: z.string(),
});
export type Refusal = z.output<typeof refusal>;

/** What the end of a feed does, by all accepted files. */
const ending = z.object({
  /** Enrollments that end, as no other file wants them. */
  enrollments: counted,
  people: counted,
  orgUnits: counted,
  /** Enrollments that stay, because other files want them. */
  wantedByOthers: counted,
  /** Enrollments that begin or get another role, by what other files say. */
  changed: counted,
  /** Grades that stay, as the platform cannot remove them, and those that are set as other files say. */
  grades: counted,
  changedGrades: counted,
  /** What else stays, as the mapping gave no message that removes it. */
  notRemoved: counted,
});
export type FeedEnding = z.output<typeof ending>;

/** A person's decision on a waiting snapshot; as JSON it is the result of its callback. */
export const decision = z.object({
  by: z.string(),
  at: z.string(),
  /** `superseded`: a later whole file of its feed takes its place. */
  decision: z.enum(['approved', 'rejected', 'superseded']),
  reason: z.string().optional(),
});
export type Decision = z.output<typeof decision>;

/** `record.json`: the import writes it, and operators read it. Times are ISO 8601. */
export const snapshotRecord = z.object({
  /** `20261123T020000Z-0a1b2c3d`: when the file was put, and the first 8 hex digits of its SHA-256 (of a table, of that and its name). */
  id: z.string().regex(/^\d{8}T\d{6}Z-[0-9a-f]{8}$/),
  key: z.string(),
  /** Undefined: a version before 1.1 wrote it. */
  feed: z.string().optional(),
  /** Undefined: the bucket keeps no versions. */
  versionId: z.string().optional(),
  state: z.enum([
    'comparing',
    'waiting-for-approval',
    'sending',
    'accepted',
    'rejected',
    'failed',
    'superseded',
  ]),
  droppedAt: z.string(),
  startedAt: z.string(),
  endedAt: z.string().optional(),
  counts,
  /** By kind: `lineItems`, `enrollments`, `results`, or a function's name if a mapping made them. */
  byKind: z.record(z.string(), counts),
  rows: z.record(z.string(), rowCounts).optional(),
  excluded: excluded.optional(),
  /** Why rows were refused: the most frequent reasons. */
  refusals: z.array(refusal).optional(),
  /** Why it waits or failed, in plain English. */
  why: z.string().optional(),
  /** Both in per cent of what was accepted before. */
  removals: z
    .object({
      share: z.number(),
      limit: z.number(),
      /** Of a table of changes, in which fewer than `atLeast` count as none: those of the kind that loses the largest share. */
      ofChanges: z.object({ kind: z.string(), count: counted, of: counted, atLeast: counted }).optional(),
    })
    .optional(),
  lostColumns: z.array(z.object({ file: z.string(), columns: z.array(z.string()) })).optional(),
  /** Roles without an id on the platform, and the number of rows with each. */
  unknownRoles: z.array(z.tuple([z.string(), counted])).optional(),
  callbackId: z.string().optional(),
  /** Number of events that are on their queues. */
  sent: counted,
  of: counted,
  /** Since then, events may be on their queues: what is sent no longer changes. */
  sendingAt: z.string().optional(),
  decided: decision.optional(),
  /** Undefined: it is a file, not the end of a feed. */
  ending: ending.optional(),
});
export type SnapshotRecord = z.output<typeof snapshotRecord>;
