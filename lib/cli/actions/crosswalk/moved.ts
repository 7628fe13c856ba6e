import { listMoved } from '../../../crosswalk/names/names.ts';
import type { CommandContext } from '../../command-context.ts';
import { movedLines } from '../../print/crosswalk.ts';

export const act = async ({ target, terminal, print, finish }: CommandContext): Promise<void> => {
  const listed = await listMoved(target);
  print(listed, () => movedLines(listed, terminal));
  finish(listed.moved.length > 0);
};
