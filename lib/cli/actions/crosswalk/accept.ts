import { acceptMove } from '../../../crosswalk/names/names.ts';
import type { CommandContext } from '../../command-context.ts';
import { acceptedLines, acceptQuestion } from '../../print/crosswalk.ts';

export const act = async (
  { target, audit, terminal, print, agreed, finish }: CommandContext,
  code: string,
  { reason }: { reason?: string },
): Promise<void> => {
  const accepted = await acceptMove(target, {
    ...{ code, reason, audit },
    confirm: (moved) => agreed(acceptQuestion(moved)),
  });
  if (accepted) print({ accepted }, () => acceptedLines(accepted, terminal));
  finish(accepted !== undefined);
};
