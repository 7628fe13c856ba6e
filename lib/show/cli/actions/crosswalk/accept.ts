import { acceptMove } from '../../../../operate/reviews/crosswalk/names.ts';
import { acceptedView, acceptQuestion } from '../../../views/crosswalk.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async (
  { target, audit, print, agreed, finish }: CommandContext,
  code: string,
  { reason }: { reason?: string },
): Promise<void> => {
  const accepted = await acceptMove(target, {
    ...{ code, reason, audit },
    confirm: (moved) => agreed(acceptQuestion(moved)),
  });
  if (accepted) print({ accepted }, () => acceptedView(accepted));
  finish(accepted !== undefined);
};
