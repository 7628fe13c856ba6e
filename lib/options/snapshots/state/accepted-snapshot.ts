import { hash } from 'node:crypto';
import type * as z from 'zod';
import { type FeedPatterns, feedFor } from '../feed.ts';
import {
  type AcceptedSnapshot,
  acceptedFeedsPrefix,
  acceptedKey,
  acceptedKeyOf,
  acceptedSnapshot,
  droppedMsOf,
  lastEnd,
  lastEndKey,
  recordKey,
  snapshotRecord,
} from './record.ts';
import type { SnapshotStore } from './store.ts';

type Reader = Pick<SnapshotStore, 'readJsonIfAny' | 'keysUnder'>;

/** The last accepted snapshot of this feed; undefined: there is none, or it has ended. */
export const lastAccepted = async (
  store: Pick<SnapshotStore, 'readJsonIfAny'>,
  feed: string,
): Promise<AcceptedSnapshot | undefined> => {
  const json = await store.readJsonIfAny(acceptedKeyOf(feed));
  return json === undefined ? undefined : acceptedSnapshot.parse(json);
};

/** Everything of it is sent. The end of a feed leaves nothing with which a file of its name would be compared. */
export const acceptSnapshot = async (
  store: Pick<SnapshotStore, 'writeJson' | 'remove'>,
  feed: string,
  accepted: AcceptedSnapshot,
): Promise<void> => {
  if (!accepted.isEnd) return store.writeJson(acceptedKeyOf(feed), accepted);
  // What is sent later must be newer than the removals.
  const { id, sentMs } = accepted;
  await store.writeJson(lastEndKey, { id, ...(sentMs !== undefined && { sentMs }) } satisfies z.output<
    typeof lastEnd
  >);
  await store.remove(acceptedKeyOf(feed));
};

/** The keys of the objects that say what was accepted last of each feed. */
export const acceptedKeys = async ({ keysUnder }: Pick<Reader, 'keysUnder'>): Promise<string[]> => [
  acceptedKey,
  ...(await keysUnder(acceptedFeedsPrefix)),
];

/** The latest time of a message that was sent for anything that is accepted, or ended, but for milliseconds. */
export const lastSentMs = async (store: Reader): Promise<number> => {
  const all = await acceptedOfAll(store);
  const { data: end } = lastEnd.safeParse(await store.readJsonIfAny(lastEndKey));
  return Math.max(
    0,
    ...all.map(({ id, sentMs = droppedMsOf(id) }) => sentMs),
    ...(end ? [end.sentMs ?? droppedMsOf(end.id)] : []),
  );
};

/** Changes when something of another feed is accepted or ended: then what is wanted of the platform may be another. */
export const othersNow = async (store: Reader, feed: string): Promise<string> => {
  const { data: end } = lastEnd.safeParse(await store.readJsonIfAny(lastEndKey));
  const ids = (await acceptedOfAll(store, acceptedKeyOf(feed))).map(({ id }) => id);
  return hash('sha256', [...ids.sort(), end?.id].join(' ')).slice(0, 16);
};

const acceptedOfAll = async (store: Reader, without?: string): Promise<AcceptedSnapshot[]> => {
  const keys = (await acceptedKeys(store)).filter((key) => key !== without);
  const read = await Promise.all(keys.map((key) => store.readJsonIfAny(key)));
  return read.flatMap((json) => acceptedSnapshot.safeParse(json).data ?? []);
};

/**
 * What was accepted of a feed before the settings gave it this name: the latest whose file they give to it now. `from`: the object that
 * says so.
 */
export const adoptable = async (
  store: Reader,
  feed: string,
  declared: FeedPatterns,
): Promise<{ from: string; json: unknown } | undefined> => {
  if ((await store.readJsonIfAny(acceptedKeyOf(feed))) !== undefined) return undefined;
  const found = await Promise.all(
    (await acceptedKeys(store)).map(async (from) => {
      const json = await store.readJsonIfAny(from);
      const { data } = acceptedSnapshot.safeParse(json);
      if (data === undefined) return [];
      const record = snapshotRecord.safeParse(await store.readJsonIfAny(recordKey(data.id))).data;
      const isOfFeed = record !== undefined && feedFor(record.key, declared) === feed;
      return isOfFeed ? [{ from, json, id: data.id }] : [];
    }),
  );
  return found.flat().sort((one, other) => (one.id < other.id ? 1 : -1))[0];
};
