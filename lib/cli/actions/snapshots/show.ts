import { showSnapshot } from '../../../snapshots/desk/read.ts';
import type { CommandContext } from '../../command-context.ts';
import { snapshotLines } from '../../print/snapshots.ts';
import { told } from './told.ts';

export const act = async ({ target, terminal, signal, print }: CommandContext, id: string): Promise<void> => {
  const snapshot = await showSnapshot(target, id, signal);
  print(told(snapshot), () => snapshotLines(snapshot, { terminal }));
};
