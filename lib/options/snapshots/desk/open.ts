import { type ReviewBucket, reviewBucketOf } from '../../../desk/stage-state/bucket.ts';
import { jsonIn } from '../../../message/json.ts';
import type { Target } from '../../../stage/target.ts';
import { recordKey, recordsPrefix, type SnapshotRecord, snapshotRecord } from '../state/record.ts';
import type { UnacceptedFile } from '../state/unaccepted.ts';
import { type Feed, type FeedToEnd, feedsToEnd, readFeeds } from './feeds.ts';
import { listUnacceptedIn, type ReadRunning, type UnacceptedFiles, unacceptedFilesOf } from './unaccepted.ts';

/** Undefined if it has no record, or one of an unknown version. */
export const recordIn = async (
  { textIfAny }: ReviewBucket,
  id: string,
): Promise<SnapshotRecord | undefined> =>
  snapshotRecord.safeParse(jsonIn((await textIfAny(recordKey(id))) ?? '')).data;

export type ListOptions = { limit: number; signal: AbortSignal };

/** The newest records, and the number of all. */
export const recordsIn = async (bucket: ReviewBucket, { limit, signal }: ListOptions) => {
  const ids = await bucket.idsIn('', { prefix: recordsPrefix, signal });
  const read = await Promise.all(ids.slice(0, limit).map((id) => recordIn(bucket, id)));
  return { snapshots: read.flatMap((record) => record ?? []), all: ids.length };
};

/** What operators may have to do about imports. */
export type OpenSnapshots = UnacceptedFiles & {
  /** Those that wait for a person or are being imported, oldest first. */
  snapshots: SnapshotRecord[];
  quietFeeds: FeedToEnd[];
};

export const openSnapshots = async (target: Target, signal: AbortSignal): Promise<OpenSnapshots> =>
  (await readOpen(target, signal)).open;

/** The same, with what it was read from. */
export const readOpen = async (
  target: Target,
  signal: AbortSignal,
  readRunning?: ReadRunning,
): Promise<{ open: OpenSnapshots; feeds: Feed[]; put: UnacceptedFile[] }> => {
  const bucket = await reviewBucketOf(target);
  const [recent, put, feeds] = await Promise.all([
    recordsIn(bucket, { limit: 10, signal }),
    listUnacceptedIn(bucket, signal),
    readFeeds(bucket, signal),
  ]);
  const [files, quietFeeds, snapshots] = await Promise.all([
    unacceptedFilesOf(put, target, readRunning),
    feedsToEnd(feeds, put, bucket),
    withHeld(recent.snapshots, put, bucket),
  ]);
  const open = snapshots.filter(
    ({ id, state, decided }) =>
      (state === 'comparing' ||
        state === 'sending' ||
        (state === 'waiting-for-approval' && decided === undefined)) &&
      !files.troubled.some((each) => each.id === id),
  );
  return { open: { ...files, quietFeeds, snapshots: open.reverse() }, feeds, put };
};

/** With those that wait or are at work, however many others came since; newest first. */
const withHeld = async (
  recent: readonly SnapshotRecord[],
  put: readonly UnacceptedFile[],
  bucket: ReviewBucket,
): Promise<SnapshotRecord[]> => {
  const known = new Set(recent.map(({ id }) => id));
  const held = put.flatMap(({ is, id }) => ((is === 'held' || is === 'at work') && id ? id : []));
  const missing = [...new Set(held)].filter((id) => !known.has(id));
  const read = await Promise.all(missing.map((id) => recordIn(bucket, id)));
  return [...recent, ...read.flatMap((record) => record ?? [])].sort((one, other) =>
    one.id < other.id ? 1 : -1,
  );
};
