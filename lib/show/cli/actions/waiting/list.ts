import { listWaiting } from '../../../../operate/messages/waiting/waiting.ts';
import { waitingView } from '../../../views/waiting.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async (
  { target, filter, signal, isJson, print, finish }: CommandContext,
  { limit }: { limit?: number },
): Promise<void> => {
  const most = limit ?? (isJson ? Number.POSITIVE_INFINITY : 50);
  const found = await listWaiting(target, { filter, limit: most }, { signal });
  print(found, () => waitingView(found, target.prefix.slice(0, -1)));
  finish(found.matching > 0);
};
