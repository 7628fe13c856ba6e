import { listLetters } from '../../../dead-letters/reading/list.ts';
import type { CommandContext } from '../../command-context.ts';
import { listLines } from '../../print/letters.ts';

export const act = async (
  { target, filter, terminal, signal, isJson, print, finish }: CommandContext,
  { limit }: { limit?: number },
): Promise<void> => {
  const most = limit ?? (isJson ? Number.POSITIVE_INFINITY : 50);
  const found = await listLetters(target, { filter, limit: most }, { signal });
  print(found, () => listLines(found, { target, terminal }));
  finish(found.matching > 0);
};
