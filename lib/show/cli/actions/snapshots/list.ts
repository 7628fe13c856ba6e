import { listSnapshots } from '../../../snapshots/desk/read.ts';
import { snapshotListView } from '../../../views/snapshots.ts';
import type { CommandContext } from '../../command-context.ts';
import { told } from './told.ts';

export const act = async (
  { target, signal, print }: CommandContext,
  { limit }: { limit: number },
): Promise<void> => {
  const list = await listSnapshots(target, { limit, signal });
  print({ ...list, snapshots: list.snapshots.map(told) }, () =>
    snapshotListView(list, target.prefix.slice(0, -1)),
  );
};
