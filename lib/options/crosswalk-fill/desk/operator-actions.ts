import type { OperatorContext } from '../../../desk/operator-actions/operator-context.ts';
import type { ReassignedNamesReview } from '../../../option.ts';
import { acceptMove, type ShownName } from './names.ts';
import { acceptedView, acceptQuestion } from './view.ts';

type AcceptRequest = {
  code: string;
  reason?: string | undefined;
  reassignedNames: ReassignedNamesReview | undefined;
};

export const acceptCode = async (
  { target, audit, show, ask }: OperatorContext,
  { code, reason, reassignedNames }: AcceptRequest,
): Promise<ShownName | undefined> => {
  const accepted = await acceptMove(target, {
    code,
    reason,
    audit,
    confirm: async (moved) => {
      if (reassignedNames) show('Plan', await reassignedNames.movesWith(target, moved.name));
      return (await ask({ text: acceptQuestion(moved), act: 'Accept this move' })) !== undefined;
    },
  });
  if (accepted) show('Result', acceptedView(accepted), { accepted });
  return accepted;
};
