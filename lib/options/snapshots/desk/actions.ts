import type { CommandContext } from '../../../desk/cli/command-context.ts';
import { loadIntegrations } from '../../../stage/integrations.ts';
import { decide, end as endFeeds } from './operator-actions.ts';
import { listSnapshots, showSnapshot, withFiveCounts } from './read.ts';
import { snapshotListView, snapshotView } from './views/snapshots.ts';

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

const oneMinuteMs = 60_000;

export const end = async (
  context: CommandContext,
  names: string[],
  { reason, wait }: { reason?: string; wait: number },
): Promise<void> => {
  await context.checkAudit();
  const integrations = await loadIntegrations();
  const ended = await endFeeds(context, { names, integrations, reason, patienceMs: wait * oneMinuteMs });
  context.finish(ended.length > 0 && ended.every(({ outcome }) => outcome !== 'not reached'));
};

export const approve = deciding('approved');
export const reject = deciding('rejected');
