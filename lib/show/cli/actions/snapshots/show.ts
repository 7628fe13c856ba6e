import { showSnapshot } from '../../../snapshots/desk/read.ts';
import { snapshotView } from '../../../views/snapshots.ts';
import type { CommandContext } from '../../command-context.ts';
import { told } from './told.ts';

export const act = async ({ target, signal, print }: CommandContext, id: string): Promise<void> => {
  const snapshot = await showSnapshot(target, id, signal);
  print(told(snapshot), () => snapshotView(snapshot));
};
