import { type ResendPlan, resendFindings } from '../../../../operate/reviews/reconcile/resend.ts';
import { countOf } from '../../../views/amounts.ts';
import { resendPlanView } from '../../../views/comparison.ts';
import { resentNotes } from '../../../views/reconcile.ts';
import type { CommandContext } from '../../command-context.ts';

const oneMinuteMs = 60_000;

export const act = async (
  context: CommandContext,
  of: string[],
  { reason, run, wait }: { reason: string; run?: string; wait: number },
): Promise<void> => {
  const { target, audit, signal, isJson, print, agreed, finish, withProgress } = context;
  const resent = await withProgress('Sending', () =>
    resendFindings(target, {
      ...{ run, of, reason, audit, signal, patienceMs: wait * oneMinuteMs },
      confirm: async (plan: ResendPlan) => {
        if (!isJson) print(undefined, () => resendPlanView(plan));
        if (plan.findings.length === 0) return false;
        return agreed(`Send ${countOf(plan.findings.length, 'write')} again?`);
      },
    }),
  );
  const { plan, ...told } = resent;
  const { groups, withLetter, findings } = plan;
  print({ run: plan.run, asked: findings.length, groups, withLetter, ...told }, () => resentNotes(resent));
  finish(resent.outcome === 'done' && resent.counts?.sent === findings.length && withLetter.length === 0);
};
