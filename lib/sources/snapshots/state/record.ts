import * as z from 'zod';
import { fileNameOf, isTable } from '../request.ts';

/** Where a snapshot's records lie in the bucket: outside of the prefix whose files start the import. */
export const recordsPrefix = 'snapshot-records/';
export const recordKey = (id: string): string => `${recordsPrefix}${id}/record.json`;
/** `{ id }` of the zip that was accepted last. */
export const acceptedKey = `${recordsPrefix}accepted.json`;
/** Where the same lies of each table. */
export const acceptedTablesPrefix = `${recordsPrefix}accepted/`;
/** The same of what a file is compared with: a table with the last one of its own name, and a zip with the last zip. */
export const acceptedKeyOf = (key: string): string =>
  isTable(key) ? `${acceptedTablesPrefix}${fileNameOf(key)}.json` : acceptedKey;
/** The delta that was compared last, and with what: if another is compared with the same, the first was not accepted. */
export const comparedKey = `${recordsPrefix}compared.json`;
/** Rows that were refused: file, line, column, problem. */
export const reportKey = (id: string): string => `${recordsPrefix}${id}/report.csv`;

/** The events to send, in order, as lines of JSON; and its pieces, which can be unpacked one by one. */
export const changesKey = (id: string): string => `${recordsPrefix}${id}/changes.jsonl.gz`;
export const partsKey = (id: string): string => `${recordsPrefix}${id}/parts.json`;
/** What holds once they are sent, as a table of Parquet. */
export const stateKey = (id: string): string => `${recordsPrefix}${id}/state.parquet`;
/** The same of versions before 1.2: lines of a kind, a key and a value as JSON, packed by gzip. */
export const linesKey = (id: string): string => `${recordsPrefix}${id}/state.gz`;
/** Where that of an accepted snapshot lies. */
export const stateKeyOf = ({ id, holds }: Pick<AcceptedSnapshot, 'id' | 'holds'>): string =>
  holds === 'tables' ? stateKey(id) : linesKey(id);

/** `accepted.json`, or that of a table. */
export const acceptedSnapshot = z.object({
  id: z.string(),
  /** So many were accepted, it included. */
  number: z.number().int().positive(),
  /** By file, in lower case. */
  columns: z.record(z.string(), z.array(z.string())),
  by: z.string(),
  /** How its state lies there: without it as a version before 1.1 compared, rows by their keys; `resources` as one before 1.2, as lines. */
  holds: z.enum(['resources', 'tables']).optional(),
  /** It is still being sent: what is left of it is sent before anything else. */
  sending: z.literal(true).optional(),
  /** The changes of this delta, which was not accepted, are missing since the last bulk export. */
  lost: z.string().optional(),
});
export type AcceptedSnapshot = z.output<typeof acceptedSnapshot>;

/** `compared.json`. */
export const comparedDelta = z.object({ id: z.string(), against: z.string(), lost: z.string().optional() });

const counted = z.number().int().nonnegative();

/** Fields in the order in which they are shown. */
const counts = z.object({
  created: counted,
  updated: counted,
  removed: counted,
  unchanged: counted,
  refused: counted,
  /** What a row wants otherwise than it was accepted, which stays, because another row that cannot be used may be about it. */
  held: counted.optional(),
  /** Results that are not fully graded, if there are any. They are not sent, and what was sent before stays. */
  pending: counted.optional(),
});
export type Counts = z.output<typeof counts>;

/** The fates of a row of a file, in the order in which they are reported. */
export const rowFates = [
  /** What it wants is new, or other than what was accepted. */
  'sent',
  'unchanged',
  /** It wants something else than what was accepted, which stays, because a row that cannot be used may be about the same. */
  'held',
  /** Of a table: a message of the mapping is for it, or none is. */
  'used',
  /** A cell gives no value any more: what was sent of its field stays. */
  'emptied',
  'withoutMessage',
  /** It gives the name of something, or the role of a user. */
  'read',
  'outsideDates',
  'notActive',
  'deleted',
  'notGraded',
  'unknownRole',
  'withoutRole',
  'notInPackage',
  'withoutName',
  'withoutMaximum',
  'twoReadings',
  'refused',
] as const;
export type RowFate = (typeof rowFates)[number];
/** The number of rows of a file by fate; together they are all of its rows. */
const rowCounts = z.partialRecord(z.enum(rowFates), counted);
export type RowCounts = z.output<typeof rowCounts>;

/** What a person answers to a snapshot that waits; as JSON it is the result of its callback. */
export const decision = z.object({
  by: z.string(),
  at: z.string(),
  decision: z.enum(['approved', 'rejected']),
  reason: z.string().optional(),
});
export type Decision = z.output<typeof decision>;

/** `record.json`: the import writes it, and operators read it. Times are ISO 8601. */
export const snapshotRecord = z.object({
  /** `20261123T020000Z-0a1b2c3d`: when the file was dropped, and the first 8 hex digits of its SHA-256 (of a table, of that and its name). */
  id: z.string().regex(/^\d{8}T\d{6}Z-[0-9a-f]{8}$/),
  /** The key of the file in the bucket. */
  key: z.string(),
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
  /** By file. */
  rows: z.record(z.string(), rowCounts).optional(),
  /** Why it waits or failed, in plain English. */
  why: z.string().optional(),
  /** Both in per cent of what was accepted before. */
  removals: z.object({ share: z.number(), limit: z.number() }).optional(),
  lostColumns: z.array(z.object({ file: z.string(), columns: z.array(z.string()) })).optional(),
  /** Roles without an id on the platform, and how many rows have them. */
  unknownRoles: z
    .union([
      z.array(z.tuple([z.string(), counted])),
      // As versions before 1.0 wrote them.
      z.record(z.string(), counted).transform((roles) => Object.entries(roles)),
    ])
    .optional(),
  /** While it waits for approval. */
  callbackId: z.string().optional(),
  /** So many of the events are on their queues. */
  sent: counted,
  of: counted,
  /** Since then, events may be on their queues: what is sent is no longer changed. */
  sendingAt: z.string().optional(),
  decided: decision.optional(),
});
export type SnapshotRecord = z.output<typeof snapshotRecord>;
