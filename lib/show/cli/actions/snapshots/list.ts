import { listSnapshots } from '../../../../operate/reviews/snapshots/read.ts';
import { snapshotListView } from '../../../views/snapshots.ts';
import type { CommandContext } from '../../command-context.ts';
import { printedRecord } from './printed-record.ts';

export const act = async (
  { target, signal, print }: CommandContext,
  { limit }: { limit: number },
): Promise<void> => {
  const list = await listSnapshots(target, { limit, signal });
  print({ ...list, snapshots: list.snapshots.map(printedRecord) }, () =>
    snapshotListView(list, target.prefix.slice(0, -1)),
  );
};
