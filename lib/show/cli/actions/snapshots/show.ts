import { showSnapshot } from '../../../../operate/reviews/snapshots/read.ts';
import { snapshotView } from '../../../views/snapshots.ts';
import type { CommandContext } from '../../command-context.ts';
import { printedRecord } from './printed-record.ts';

export const act = async ({ target, signal, print }: CommandContext, id: string): Promise<void> => {
  const snapshot = await showSnapshot(target, id, signal);
  print(printedRecord(snapshot), () => snapshotView(snapshot));
};
