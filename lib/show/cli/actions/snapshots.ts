import { listSnapshots, showSnapshot, withFiveCounts } from '../../../operate/reviews/snapshots/read.ts';
import { decide } from '../../verbs/reviews.ts';
import { snapshotListView, snapshotView } from '../../views/snapshots.ts';
import type { CommandContext } from '../command-context.ts';

export const list = async (context: CommandContext, { limit }: { limit: number }): Promise<void> => {
  const { target, name, signal, print, finish } = context;
  const found = await listSnapshots(target, { limit, signal });
  const snapshots = found.snapshots.map(withFiveCounts);
  print({ ...found, snapshots }, () => snapshotListView(found, name));
  finish(snapshots.length + found.waiting.length > 0);
};

export const show = async ({ target, signal, print }: CommandContext, id: string): Promise<void> => {
  const snapshot = await showSnapshot(target, id, signal);
  print(withFiveCounts(snapshot), () => snapshotView(snapshot));
};

const deciding =
  (decision: 'approved' | 'rejected') =>
  async (context: CommandContext, id: string, { reason }: { reason?: string }): Promise<void> => {
    await context.checkAudit();
    const { outcome } = await decide(context, id, { decision, reason });
    context.finish(outcome !== 'not agreed');
  };

export const approve = deciding('approved');
export const reject = deciding('rejected');
