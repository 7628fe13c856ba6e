import { listWaiting } from '../../../waiting/waiting.ts';
import type { CommandContext } from '../../command-context.ts';
import { waitingLines } from '../../print/waiting.ts';

export const act = async (
  { target, filter, terminal, signal, isJson, print, finish }: CommandContext,
  { limit }: { limit?: number },
): Promise<void> => {
  const most = limit ?? (isJson ? Number.POSITIVE_INFINITY : 50);
  const found = await listWaiting(target, { filter, limit: most }, { signal });
  print(found, () => waitingLines(found, { target, terminal }));
  finish(found.matching > 0);
};
