import * as z from 'zod';
import type { ReviewBucket } from '../../../desk/reviews/bucket.ts';
import { jsonIn } from '../../../message/json.ts';
import { RefusedError, UsageError } from '../../../stage/command-errors.ts';
import { isOfPattern, settingsKey, snapshotSettings } from '../package/settings-file.ts';
import { feedOf, zipFeed } from '../request.ts';
import { acceptedKey, acceptedTablesPrefix, droppedMsOf } from '../state/record.ts';
import { listUnaccepted } from '../state/unaccepted.ts';

/** What files of one name are, by the last accepted one. */
export type Feed = {
  /** The name of a table, or that of all zips. */
  name: string;
  /** The last accepted snapshot. */
  id: string;
  droppedAt: string;
  /** Enrollments that other files have no more, and that stay because this one has them. */
  heldBack: number;
};

const accepted = z.object({ id: z.string(), heldBack: z.record(z.string(), z.number()).optional() });

/** In the order of their names. */
export const readFeeds = async (
  { textIfAny, namesUnder }: ReviewBucket,
  signal: AbortSignal,
): Promise<Feed[]> => {
  const keys = [acceptedKey, ...(await namesUnder(acceptedTablesPrefix, signal))];
  const read = await Promise.all(
    keys.map(async (key) => {
      const { data } = accepted.safeParse(jsonIn((await textIfAny(key)) ?? ''));
      const name = key === acceptedKey ? zipFeed : key.slice(acceptedTablesPrefix.length, -'.json'.length);
      return data === undefined ? [] : [{ name, ...data }];
    }),
  );
  const all = read.flat();
  return all.map(({ name, id }) => {
    const droppedMs = droppedMsOf(id);
    return {
      ...{ name, id, droppedAt: Number.isNaN(droppedMs) ? '' : new Date(droppedMs).toISOString() },
      heldBack: all.reduce((sum, other) => sum + (other.heldBack?.[id] ?? 0), 0),
    };
  });
};

/** The feeds of these names or patterns. @throws UsageError, RefusedError if there are none of one. */
export const feedsNamed = (feeds: readonly Feed[], given: readonly string[]): Feed[] => {
  const chosen = given.flatMap((name) => {
    const its = feeds.filter((feed) => isOfPattern(feed.name, name));
    if (its.length > 0) return its;
    if (/\.zip$/i.test(name))
      throw new UsageError(`All zips are compared with each other: they are one feed. Name it ${zipFeed}.`);
    const names = feeds.map((feed) => feed.name).join(', ');
    throw new RefusedError(
      `No accepted file has the name ${name}.${names === '' ? '' : ` There are ${names}.`}`,
    );
  });
  return [...new Set(chosen)];
};

/** A feed that has not come for long, while others came; or one that comes once, by the settings. */
export type QuietFeed = Feed & {
  /** The one of the settings, if it comes once. */
  pattern?: string;
};

/** After so long, a feed that others have overtaken is named. */
export const quietAfterDays = 14;
const dayMs = 24 * 3_600_000;

export const readQuietFeeds = async (bucket: ReviewBucket, signal: AbortSignal): Promise<QuietFeed[]> => {
  const feeds = await readFeeds(bucket, signal);
  if (feeds.length === 0) return [];
  const [patterns, put] = await Promise.all([
    oncePatterns(bucket),
    listUnaccepted({
      keysUnder: (prefix) => bucket.namesUnder(prefix, signal),
      readJsonIfAny: bucket.jsonIfAny,
    }),
  ]);
  // It comes, although it is not accepted.
  const coming = new Set(put.flatMap(({ key, isEnd }) => (isEnd ? [] : [feedOf(key)])));
  const newestMs = Math.max(...feeds.map(({ droppedAt }) => Date.parse(droppedAt) || 0));
  return feeds.flatMap((feed) => {
    const pattern = patterns.find((each) => isOfPattern(feed.name, each));
    const isLate = newestMs - Date.parse(feed.droppedAt) > quietAfterDays * dayMs;
    if (coming.has(feed.name) || (pattern === undefined && !isLate)) return [];
    return [{ ...feed, ...(pattern !== undefined && { pattern }) }];
  });
};

/** None if the settings cannot be read: imports report that. */
const oncePatterns = async ({ textIfAny }: ReviewBucket): Promise<string[]> => {
  const text = await textIfAny(settingsKey).catch(() => undefined);
  return snapshotSettings.safeParse(jsonIn(text ?? '') ?? {}).data?.ended ?? [];
};
