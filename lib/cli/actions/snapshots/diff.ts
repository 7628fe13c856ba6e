import { loadIntegrations } from '../../../deployment/integrations.ts';
import { diffSnapshot } from '../../../snapshots/desk/diff.ts';
import { fiveCounts } from '../../../snapshots/desk/read.ts';
import type { CommandContext } from '../../command-context.ts';
import { diffLines } from '../../print/snapshots.ts';

export const act = async (
  { target, terminal, print, withProgress }: CommandContext,
  file: string,
  { map }: { map?: string },
): Promise<void> => {
  const integrations = await loadIntegrations();
  const diff = await withProgress('Comparing', () => diffSnapshot(target, { file, map }, integrations));
  print({ ...diff, counts: fiveCounts(diff.counts) }, () => diffLines(diff, terminal));
};
