import { type DiscardResult, discardLetters } from '../messages/archive/discard.ts';
import { discardedView, discardPlanView } from '../views/changes.ts';
import { countOf } from '../views/format.ts';
import { endedLettersOfFilter } from './ended-letters.ts';
import type { OperatorContext } from './operator-context.ts';

type DiscardRequest = Pick<Parameters<typeof discardLetters>[1], 'filter' | 'limit' | 'reason' | 'dryRun'> & {
  /** The operator has seen so many letters, and agreed to discard them. Others are asked about. */
  agreed?: number | undefined;
};

export const discard = async (
  operator: OperatorContext,
  { agreed, ...given }: DiscardRequest,
): Promise<DiscardResult> => {
  const { target, audit, signal } = operator;
  const { filter, reason, dryRun } = given;
  const result = await discardLetters(target, {
    ...given,
    audit,
    signal,
    onProgress: operator.progress('Taking letters'),
    onDiscarded: operator.progress('Discarded'),
    confirm: async (plan, letters) => {
      const became = plan.letters === 0 ? await endedLettersOfFilter(operator, filter) : [];
      const view = [...discardPlanView(plan), ...became];
      operator.show('Plan', view, { plan });
      if (dryRun || plan.letters === 0 || signal.aborted) return false;
      if (plan.letters === agreed) return true;
      const answer = await operator.ask({
        hint: `They are archived, then deleted from the queue. Reason: ${reason}`,
        act: `Discard ${countOf(plan.letters, 'letter')}`,
        isDestructive: true,
        letters,
      });
      return answer !== undefined;
    },
  });
  const { plan: _, ...shown } = result;
  operator.show('Result', discardedView(result), { result: shown });
  return result;
};
