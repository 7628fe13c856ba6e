import * as z from 'zod';
import type { ReviewBucket } from '../../../desk/stage-state/bucket.ts';
import { jsonIn } from '../../../message/json.ts';
import { RefusedError, UsageError } from '../../../stage/command-errors.ts';
import { feedOf, zipFeed } from '../feed.ts';
import { isOfPattern, settingsKey, snapshotSettings } from '../package/settings-file.ts';
import { acceptedFeedsPrefix, acceptedKey, droppedMsOf, feedOfAccepted } from '../state/record.ts';
import { isAccepted, type UnacceptedFile } from '../state/unaccepted.ts';

/** A feed, by its last accepted file. */
export type Feed = {
  /** Of a table, its name; of zips, that of their folder, or one for all. */
  name: string;
  /** The last accepted snapshot. */
  id: string;
  droppedAt: string;
  /** Enrollments that other files no longer want, and that stay because this file wants them. */
  heldBack: number;
  /** The usual time between its files, in hours; undefined: it has too few files. */
  usualHours?: number;
};

const accepted = z.object({
  id: z.string(),
  heldBack: z.record(z.string(), z.number()).optional(),
  contents: z.array(z.string()).default([]),
});

/** In the order of their names. */
export const readFeeds = async (
  { textIfAny, namesUnder }: ReviewBucket,
  signal: AbortSignal,
): Promise<Feed[]> => {
  const keys = [acceptedKey, ...(await namesUnder(acceptedFeedsPrefix, signal))];
  const read = await Promise.all(
    keys.map(async (key) => {
      const { data } = accepted.safeParse(jsonIn((await textIfAny(key)) ?? ''));
      const name = feedOfAccepted(key);
      return data === undefined ? [] : [{ name, ...data }];
    }),
  );
  const all = read.flat();
  return all.map(({ name, id, contents }) => {
    const droppedMs = droppedMsOf(id);
    const usualHours = usualHoursOf(contents);
    return {
      name,
      id,
      droppedAt: Number.isNaN(droppedMs) ? '' : new Date(droppedMs).toISOString(),
      heldBack: all.reduce((sum, other) => sum + (other.heldBack?.[id] ?? 0), 0),
      ...(usualHours !== undefined && { usualHours }),
    };
  });
};

/** The feeds of these names or patterns. @throws UsageError, RefusedError if there are none of one. */
export const feedsNamed = (feeds: readonly Feed[], given: readonly string[]): Feed[] => {
  const chosen = given.flatMap((name) => {
    const its = feeds.filter((feed) => isOfPattern(feed.name, name));
    if (its.length > 0) return its;
    if (/\.zip$/i.test(name))
      throw new UsageError(
        `There is no feed ${name}. All zips are one feed, ${zipFeed}, unless they are in a folder or match a pattern of the settings. The feeds are ${feeds.map((feed) => feed.name).join(', ')}.`,
      );
    const names = feeds.map((feed) => feed.name).join(', ');
    throw new RefusedError(
      `No accepted file has the name ${name}.${names === '' ? '' : ` The feeds are ${names}.`}`,
    );
  });
  return [...new Set(chosen)];
};

const hourMs = 3_600_000;
/** With fewer intervals, nothing is usual. */
const minIntervals = 4;

/** The median of the last intervals between accepted files. */
const usualHoursOf = (ids: readonly string[]): number | undefined => {
  const times = ids
    .slice(-11)
    .map(droppedMsOf)
    .sort((one, other) => one - other);
  const intervals = times.slice(1).map((time, at) => time - (times[at] ?? time));
  if (intervals.length < minIntervals) return undefined;
  const [median = 0] = intervals.sort((one, other) => one - other).slice(Math.floor(intervals.length / 2));
  return Math.ceil(median / hourMs);
};

/** A feed without a new file: for long, while files of others came; for longer than usual; or its files come once, by the settings. */
export type FeedToEnd = Feed & {
  /** The one of the settings, if it comes once. */
  pattern?: string;
  /** No file has come for more than a day, and for more than twice as long as usual. */
  isOverdue?: true;
};

/** After so long, a feed that others have overtaken is named. */
export const quietAfterDays = 14;
const dayMs = 24 * 3_600_000;

export const feedsToEnd = async (
  feeds: readonly Feed[],
  put: readonly UnacceptedFile[],
  bucket: ReviewBucket,
): Promise<FeedToEnd[]> => {
  if (feeds.length === 0) return [];
  const patterns = await oncePatterns(bucket);
  // It comes, although it is not accepted.
  const coming = new Set(
    put.flatMap((each) => (each.isEnd || each.is === 'ignored' || isAccepted(each) ? [] : [feedOf(each)])),
  );
  const newestMs = Math.max(...feeds.map(({ droppedAt }) => Date.parse(droppedAt) || 0));
  return feeds.flatMap((feed) => {
    const pattern = patterns.find((each) => isOfPattern(feed.name, each));
    const isLate = newestMs - Date.parse(feed.droppedAt) > quietAfterDays * dayMs;
    const overMs = Date.now() - Date.parse(feed.droppedAt);
    const { usualHours } = feed;
    const isOverdue =
      pattern === undefined && usualHours !== undefined && overMs > Math.max(26, 2 * usualHours) * hourMs;
    if (coming.has(feed.name) || (pattern === undefined && !isLate && !isOverdue)) return [];
    return [
      { ...feed, ...(pattern !== undefined && { pattern }), ...(isOverdue && { isOverdue: true as const }) },
    ];
  });
};

/** None if the settings cannot be read: imports report that. */
const oncePatterns = async ({ textIfAny }: ReviewBucket): Promise<string[]> => {
  const text = await textIfAny(settingsKey).catch(() => undefined);
  return snapshotSettings.safeParse(jsonIn(text ?? '') ?? {}).data?.ended ?? [];
};
