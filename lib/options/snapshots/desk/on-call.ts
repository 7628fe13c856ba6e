import { reviewBucketOf } from '../../../desk/reviews/bucket.ts';
import type { ReadOnCall } from '../../../option.ts';
import { feedOf } from '../feed.ts';
import { listUnaccepted } from '../state/unaccepted.ts';
import { readFeeds } from './feeds.ts';
import { listPassed } from './passed.ts';
import { openSnapshots } from './read.ts';

export const readOnCall: ReadOnCall = async (target, signal) => {
  const bucket = await reviewBucketOf(target);
  const [{ snapshots, waiting }, passed = [], feeds, put] = await Promise.all([
    // This runs in a function, which may not list those of another.
    openSnapshots(target, signal, async () => undefined),
    listPassed(target, signal),
    readFeeds(bucket, signal),
    listUnaccepted({
      keysUnder: (prefix) => bucket.namesUnder(prefix, signal),
      readJsonIfAny: bucket.jsonIfAny,
    }),
  ]);
  const undecided = snapshots.filter(({ state }) => state === 'waiting-for-approval').length;
  const arrivalsMs: Record<string, number> = {};
  const arrived = (feed: string, at: string): void => {
    arrivalsMs[feed] = Math.max(arrivalsMs[feed] ?? 0, Date.parse(at) || 0);
  };
  for (const { name, droppedAt } of feeds) arrived(name, droppedAt);
  for (const each of put) if (!each.isEnd && each.is !== 'ignored') arrived(feedOf(each), each.putAt);
  return {
    decisions: {
      // While one waits, what was put later of its feed waits behind it.
      exports: undecided === 0 ? 0 : undecided + waiting.length,
      'user-names': passed.length,
    },
    arrivalsMs,
  };
};
