import { listLetters } from '../../../../operate/messages/letters/list.ts';
import { listView } from '../../../views/letters.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async (
  { target, filter, signal, isJson, print, finish }: CommandContext,
  { limit }: { limit?: number },
): Promise<void> => {
  const most = limit ?? (isJson ? Number.POSITIVE_INFINITY : 50);
  const found = await listLetters(target, { filter, limit: most }, { signal });
  print(found, () => listView(found, target.prefix.slice(0, -1)));
  finish(found.matching > 0);
};
