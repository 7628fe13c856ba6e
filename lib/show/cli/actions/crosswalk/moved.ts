import { listMoved } from '../../../../operate/reviews/crosswalk/names.ts';
import { movedView } from '../../../views/crosswalk.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async ({ target, print, finish }: CommandContext): Promise<void> => {
  const listed = await listMoved(target);
  print(listed, () => movedView(listed));
  finish(listed.moved.length > 0);
};
