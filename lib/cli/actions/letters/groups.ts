import { groupLetters } from '../../../dead-letters/reading/list.ts';
import type { CommandContext } from '../../command-context.ts';
import { groupsLines } from '../../print/letters.ts';

export const act = async ({
  target,
  filter,
  terminal,
  signal,
  print,
  finish,
}: CommandContext): Promise<void> => {
  const found = await groupLetters(target, filter, { signal });
  print(found, () => groupsLines(found, { target, terminal }));
  finish(found.matching > 0);
};
