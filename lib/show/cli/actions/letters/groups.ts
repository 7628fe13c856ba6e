import { groupLetters } from '../../../../operate/messages/letters/list.ts';
import { groupsView } from '../../../views/letters.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async ({ target, filter, signal, print, finish }: CommandContext): Promise<void> => {
  const found = await groupLetters(target, filter, { signal });
  print(found, () => groupsView(found, target.prefix.slice(0, -1)));
  finish(found.matching > 0);
};
