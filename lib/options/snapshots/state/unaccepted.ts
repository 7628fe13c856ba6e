import * as z from 'zod';
import type { JobStore } from '../../../runtime/jobs/store.ts';
import { feedOf, stemOf } from '../feed.ts';
import type { AcceptedRefusals } from '../package/rows.ts';
import {
  acceptedKey,
  acceptedSnapshot,
  contentMarkIn,
  droppedMsOf,
  recordKey,
  recordsPrefix,
  snapshotRecord,
} from './record.ts';

/**
 * Files that were put and are not accepted: an object for each, named for the execution that imports it. An import writes it before it waits
 * for its turn, and it is deleted once it is settled. So the objects list the files that wait, those whose changes a later delta lacks, and
 * those that a person must deal with.
 */
export const unacceptedPrefix = `${recordsPrefix}unaccepted/`;

export const unaccepted = z.object({
  /** The ARN; undefined: a version before 1.1 imported it. */
  execution: z.string().optional(),
  key: z.string(),
  /** Undefined: a version before 1.1 wrote it. */
  feed: z.string().optional(),
  versionId: z.string().optional(),
  etag: z.string(),
  sizeBytes: z.number(),
  putAt: z.string(),
  sequencer: z.string().optional(),
  seenAt: z.string(),
  /** No file was put: a person ends the feed. */
  isEnd: z.literal(true).optional(),
  is: z.enum([
    'waiting',
    'at work',
    /** It waits for a person's decision: only files of its own feed wait behind it. */
    'held',
    'failed',
    'undecided',
    'rejected',
    'superseded',
    /** The bucket no longer had it. */
    'replaced',
    /** It is accepted, but most rows of a file were refused. */
    'refused',
    /** It is accepted, but some rows were refused. */
    'partly refused',
    /** It is neither a zip nor a table. */
    'ignored',
  ]),
  /** Its snapshot's id, once its content is known. */
  id: z.string().optional(),
  why: z.string().optional(),
  /** A later file of its feed was accepted with most of its rows used: nobody must deal with it, though a delta may lack its changes. */
  isFollowed: z.literal(true).optional(),
});
export type UnacceptedFile = z.output<typeof unaccepted>;

type Reader = Pick<JobStore, 'keysUnder' | 'readJsonIfAny'>;
type Store = Reader & Pick<JobStore, 'writeJson' | 'remove'>;

const keyFor = (execution: string): string => `${unacceptedPrefix}${execution.split('/').at(-1)}.json`;

/** In the order in which they were put. S3 gives whole seconds; of two in one second, its notices say which was first. */
export const byPut = (one: UnacceptedFile, other: UnacceptedFile): number => {
  const [first, second] = [one, other].map(({ putAt, sequencer = '', seenAt }) => [putAt, sequencer, seenAt]);
  return `${first}` < `${second}` ? -1 : `${first}` > `${second}` ? 1 : 0;
};

/** Files of one feed take each other's place. */
export const isOfFeed = (one: InFeed, other: InFeed): boolean => feedOf(one) === feedOf(other);
type InFeed = Pick<UnacceptedFile, 'key' | 'feed'>;

/** In the order in which they were put. */
export const listUnaccepted = async ({ keysUnder, readJsonIfAny }: Reader): Promise<UnacceptedFile[]> => {
  const read = await Promise.all((await keysUnder(unacceptedPrefix)).map(readJsonIfAny));
  // Undefined: deleted since.
  return read.flatMap((json) => unaccepted.safeParse(json).data ?? []).sort(byPut);
};

/** Undefined: it is settled, or it began with an earlier version. */
export const readUnaccepted = async (store: Reader, execution: string): Promise<UnacceptedFile | undefined> =>
  unaccepted.safeParse(await store.readJsonIfAny(keyFor(execution))).data;

export const writeUnaccepted = (store: Store, execution: string, entry: UnacceptedFile): Promise<void> =>
  store.writeJson(keyFor(execution), entry);

/** Notes what became of an import. */
export const noteUnaccepted = async (
  store: Store,
  execution: string,
  changes: Partial<UnacceptedFile>,
): Promise<void> => {
  const entry = await readUnaccepted(store, execution);
  if (entry !== undefined) await writeUnaccepted(store, execution, { ...entry, ...changes });
};

export const forgetUnaccepted = (store: Store, execution: string): Promise<void> =>
  store.remove(keyFor(execution));

type AcceptedFile = {
  id: string;
  feed: string;
  /** All its files are bulk: no change from before is missing any more. */
  isWhole: boolean;
  /** Why a person must look, although it is accepted. */
  refused: AcceptedRefusals | undefined;
};

/** Settles what an accepted snapshot makes good: itself, what has the same content, and what it replaces. */
export const settleUnaccepted = async (store: Store, accepted: AcceptedFile): Promise<void> => {
  const { id, feed, isWhole, refused } = accepted;
  const all = await listUnaccepted(store);
  const its = all.filter((entry) => entry.is !== 'ignored' && feedOf(entry) === feed);
  const own = its.find((entry) => entry.id === id);
  const order = own ?? { putAt: new Date(droppedMsOf(id)).toISOString() };
  for (const entry of its) {
    const { execution = entry.id ?? '' } = entry;
    const isBefore = isPutBefore(entry, order);
    const isReplaced = isBefore && (isWhole || isAccepted(entry));
    if (entry.id === id && refused !== undefined)
      await writeUnaccepted(store, execution, { ...entry, ...refused });
    else if (isReplaced || isOfContent(entry, id)) await forgetUnaccepted(store, execution);
    else if (isBefore && refused?.is !== 'refused')
      await writeUnaccepted(store, execution, { ...entry, isFollowed: true });
  }
  // The same came with another ending.
  for (const { is, key, execution = '' } of all)
    if (is === 'ignored' && stemOf(key) === stemOf(feed)) await forgetUnaccepted(store, execution);
};

/** It is listed only for its refused rows. */
export const isAccepted = ({ is }: Pick<UnacceptedFile, 'is'>): boolean =>
  is === 'refused' || is === 'partly refused';

/** The same file may be put again. */
const isOfContent = (entry: UnacceptedFile, id: string): boolean =>
  entry.id !== undefined && contentMarkIn(entry.id) === contentMarkIn(id);

type Order = Pick<UnacceptedFile, 'putAt' | 'sequencer'>;

/** One that waits, if both were put in the same second and it is unknown which was first, comes later. */
const isPutBefore = (entry: UnacceptedFile, { putAt, sequencer = '' }: Order): boolean => {
  const [one, other] = [`${entry.putAt} ${entry.sequencer ?? ''}`, `${putAt} ${sequencer}`];
  return one < other || (one === other && entry.is !== 'waiting');
};

/** The names of the files of its feed that were put before this one, and whose changes a delta does not have. */
export const missingBefore = async (
  store: Reader,
  { id, feed, isTrial, ...order }: Order & { id: string; feed: string; isTrial: boolean },
): Promise<string[]> => {
  const missing = (await listUnaccepted(store)).filter((entry) => {
    // What is still to be imported comes before what a person only tries.
    const isLost =
      !entry.isEnd &&
      !isAccepted(entry) &&
      entry.is !== 'ignored' &&
      !(isTrial && ['waiting', 'at work', 'held'].includes(entry.is));
    return isLost && isPutBefore(entry, order) && feedOf(entry) === feed && !isOfContent(entry, id);
  });
  return [...new Set(missing.map(nameOf))];
};

export const nameOf = ({ id, key, putAt }: Pick<UnacceptedFile, 'id' | 'key' | 'putAt'>): string =>
  id ?? `${key}, put at ${putAt}`;

const comparedKey = `${recordsPrefix}compared.json`;
const comparedDelta = z.object({ id: z.string(), against: z.string(), lost: z.string().optional() });
const lostByAccepted = acceptedSnapshot.extend({ lost: z.string().optional() });

/**
 * Versions before 1.1 kept the last delta that was compared, and one that was not accepted. They are listed with the others; once
 * another snapshot is accepted, nothing is found there.
 */
export const carryLost = async (store: Store): Promise<void> => {
  const last = lostByAccepted.safeParse(await store.readJsonIfAny(acceptedKey)).data;
  if (last === undefined) return;
  const { data: compared } = comparedDelta.safeParse(await store.readJsonIfAny(comparedKey));
  const lost = compared?.against === last.id ? [compared.lost, compared.id] : [last.lost];
  const seenAt = new Date().toISOString();
  for (const id of lost) {
    if (id === undefined) continue;
    const record = snapshotRecord.safeParse(await store.readJsonIfAny(recordKey(id))).data;
    const { key = `${id}.zip` } = record ?? {};
    const putAt = record?.droppedAt ?? new Date(droppedMsOf(id)).toISOString();
    await writeUnaccepted(store, id, { key, putAt, seenAt, id, etag: '', sizeBytes: 0, is: 'rejected' });
  }
};
