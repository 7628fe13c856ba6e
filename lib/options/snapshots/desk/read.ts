import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { subjectIn } from '../../../delivery/letters/subject.ts';
import { idGiven, type ReviewBucket, reviewBucketOf } from '../../../desk/stage-state/bucket.ts';
import { jsonIn } from '../../../message/json.ts';
import { unlessError } from '../../../runtime/aws/error.ts';
import { tableRows } from '../../../runtime/files/tables/table.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import { linesIn } from '../../../stage/lines.ts';
import type { Target } from '../../../stage/target.ts';
import { feedOf, zipFeed } from '../feed.ts';
import {
  acceptedKeyOf,
  type Counts,
  changesKey,
  recordsPrefix,
  reportKey,
  type SnapshotRecord,
} from '../state/record.ts';
import { readFeeds } from './feeds.ts';
import { type ListOptions, recordIn, recordsIn } from './open.ts';
import { listUnacceptedIn, type TroubledImport, unacceptedFilesOf, type WaitingFile } from './unaccepted.ts';

export type SnapshotList = {
  /** Newest first. */
  snapshots: SnapshotRecord[];
  /** The snapshot with which the next zip is compared. */
  accepted: string | undefined;
  /** By the name of a table: the snapshot with which the next one of that name is compared. */
  acceptedTables: Record<string, string>;
  /** How many there are in all. */
  all: number;
  /** Files whose imports have not begun, as another is imported, in the order of their imports. */
  waiting: WaitingFile[];
  /** Imports that a person must see to, the latest first. */
  troubled: TroubledImport[];
};

/** A row that was not used, or that is reported for another reason. */
export type RefusedRow = { file: string; line: string; column: string; problem: string };

/** What a person decides on. */
export type ProposedSnapshot = SnapshotRecord & {
  /** Whom it would remove from where, by the SIS' names, as in `s1234567 · MATH-101`: the first ones, if it waits for approval. */
  removed: string[];
  /** They cannot be shown, as the caller may not read the changes: they have the content of messages. */
  isHidden?: true;
};

export type ShownSnapshot = ProposedSnapshot & {
  isAccepted: boolean;
  /** The first rows of its report. */
  refusedRows: RefusedRow[];
  /** Where all of them are; undefined: there is none. */
  report: string | undefined;
};

/** The snapshot with which a file of this key is compared. */
const acceptedIn = async ({ textIfAny }: ReviewBucket, feed: string): Promise<string | undefined> => {
  const { id } = Object(jsonIn((await textIfAny(acceptedKeyOf(feed))) ?? '') ?? {}) as { id?: unknown };
  return typeof id === 'string' ? id : undefined;
};

/** @throws if the bucket cannot be read. */
export const listSnapshots = async (target: Target, options: ListOptions): Promise<SnapshotList> => {
  const bucket = await reviewBucketOf(target);
  const [{ snapshots, all }, feeds, files] = await Promise.all([
    recordsIn(bucket, options),
    readFeeds(bucket, options.signal),
    listUnacceptedIn(bucket, options.signal).then((put) => unacceptedFilesOf(put, target)),
  ]);
  const tables = feeds.flatMap(({ name, id }) => (name === zipFeed ? [] : [[name, id]]));
  const accepted = feeds.find(({ name }) => name === zipFeed)?.id;
  return { snapshots, accepted, acceptedTables: Object.fromEntries(tables), all, ...files };
};

/** @param given an id, or its beginning. @throws RefusedError if none or more than one matches. */
export const readSnapshot = async (
  target: Target,
  given: string,
  signal: AbortSignal,
): Promise<SnapshotRecord> => {
  const bucket = await reviewBucketOf(target);
  const none = `There is no snapshot ${given}. \`snapshots list\` shows the snapshots.`;
  const id = await idGiven(given, bucket, { prefix: recordsPrefix, signal, things: 'snapshots', none });
  const record = await recordIn(bucket, id);
  if (record) return record;
  throw new RefusedError(
    `The record of snapshot ${id} does not exist yet, or was written by another version of sis-relay.`,
  );
};

const maxRows = 10;

/** A snapshot with the first rows that were refused. */
export const showSnapshot = async (
  target: Target,
  given: string,
  signal: AbortSignal,
): Promise<ShownSnapshot> => {
  const record = await readSnapshot(target, given, signal);
  const bucket = await reviewBucketOf(target);
  const [accepted, body, proposed] = await Promise.all([
    acceptedIn(bucket, feedOf(record)),
    bucket.openIfAny(reportKey(record.id)),
    withRemoved(target, record),
  ]);
  return {
    ...proposed,
    isAccepted: accepted === record.id,
    refusedRows: body ? await firstRows(body) : [],
    report: body && bucket.addressOf(reportKey(record.id)),
  };
};

/** Only this many of its changes are searched for removals: a large file has millions. */
const maxSearched = 500_000;

/** Adds a sample of the removals that wait for approval. */
export const withRemoved = async (target: Target, record: SnapshotRecord): Promise<ProposedSnapshot> => {
  const isOpen = record.state === 'waiting-for-approval' && record.counts.removed > 0;
  if (!isOpen) return { ...record, removed: [] };
  const { openIfAny } = await reviewBucketOf(target);
  const open = async () => ({ body: await openIfAny(changesKey(record.id)) });
  const opened = await unlessError(/^AccessDenied$/, open);
  if (opened === undefined) return { ...record, removed: [], isHidden: true };
  return { ...record, removed: opened.body ? await removedIn(opened.body) : [] };
};

const removedIn = async (body: Readable): Promise<string[]> => {
  const unpacked = body.pipe(createGunzip());
  const removed: string[] = [];
  let searched = 0;
  for await (const line of linesIn(unpacked)) {
    const { sequence } = Object(jsonIn(line)) as { sequence?: unknown };
    // Removals are older than creations of the same snapshot: their sequence is odd.
    if (Number(sequence) % 2 === 1) removed.push(nameOf(line));
    searched += 1;
    if (removed.length >= maxRows || searched >= maxSearched) break;
  }
  body.destroy();
  return removed;
};

const nameOf = (event: string): string => {
  const { named, user, orgUnit } = subjectIn(event);
  return named ?? [user, orgUnit].filter((each) => each !== undefined).join(' · ');
};

/** The first rows of a report. */
export const firstRows = async (body: Readable): Promise<RefusedRow[]> => {
  const rows: RefusedRow[] = [];
  let columns: string[] = [];
  const onHeader = (header: string[]): void => {
    columns = header;
  };
  for await (const row of tableRows(body, { file: 'report.csv', onHeader })) {
    if (row.problem !== undefined) continue;
    const cells = Object.fromEntries(columns.map((name, at) => [name, row.cells[at]?.text]));
    rows.push({ file: '', line: '', column: '', problem: '', ...cells });
    if (rows.length === maxRows) break;
  }
  // The rest may be long.
  body.destroy();
  return rows;
};

/** With the five counts that `--json` prints. */
export const withFiveCounts = <Counted extends { counts: Counts }>(counted: Counted): Counted => {
  const { created, updated, removed, unchanged, refused } = counted.counts;
  return { ...counted, counts: { created, updated, removed, unchanged, refused } };
};
