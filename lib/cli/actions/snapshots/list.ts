import { listSnapshots } from '../../../snapshots/desk/read.ts';
import type { CommandContext } from '../../command-context.ts';
import { snapshotListLines } from '../../print/snapshots.ts';
import { told } from './told.ts';

export const act = async (
  { target, terminal, signal, print }: CommandContext,
  { limit }: { limit: number },
): Promise<void> => {
  const list = await listSnapshots(target, { limit, signal });
  print({ ...list, snapshots: list.snapshots.map(told) }, () =>
    snapshotListLines(list, { target, terminal }),
  );
};
