import type { ReadOnCall } from '../../../option.ts';
import { feedOf } from '../feed.ts';
import { readOpen } from './open.ts';
import { listReassigned } from './reassigned-names.ts';

export const readOnCall: ReadOnCall = async (target, signal) => {
  const [{ open, feeds, put }, passed = []] = await Promise.all([
    // This runs in a function, which may not list the executions of another.
    readOpen(target, signal, async () => undefined),
    listReassigned(target, signal),
  ]);
  const { snapshots, waiting } = open;
  const undecided = snapshots.filter(({ state }) => state === 'waiting-for-approval');
  const held = new Set(undecided.map(feedOf));
  const arrivalsMs: Record<string, number> = {};
  const arrived = (feed: string, at: string): void => {
    arrivalsMs[feed] = Math.max(arrivalsMs[feed] ?? 0, Date.parse(at) || 0);
  };
  for (const { name, droppedAt } of feeds) arrived(name, droppedAt);
  for (const each of put) if (!each.isEnd && each.is !== 'ignored') arrived(feedOf(each), each.putAt);
  return {
    decisions: {
      // While one waits, what was put later of its feed waits behind it.
      exports: undecided.length + waiting.filter((each) => held.has(feedOf(each))).length,
      'user-names': passed.length,
    },
    arrivalsMs,
  };
};
