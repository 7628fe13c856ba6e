import { type ResendPlan, resendFindings } from '../../../reconcile/desk/resend.ts';
import { countOf } from '../../../views/amounts.ts';
import type { CommandContext } from '../../command-context.ts';
import { resendPlanLines, resentLines } from '../../print/reconcile.ts';

const oneMinuteMs = 60_000;

export const act = async (
  context: CommandContext,
  of: string[],
  { reason, run, wait }: { reason: string; run?: string; wait: number },
): Promise<void> => {
  const { target, terminal, audit, signal, isJson, print, agreed, finish, withProgress } = context;
  const resent = await withProgress('Sending', () =>
    resendFindings(target, {
      ...{ run, of, reason, audit, signal, patienceMs: wait * oneMinuteMs },
      confirm: async (plan: ResendPlan) => {
        if (!isJson) print(undefined, () => resendPlanLines(plan, terminal));
        if (plan.findings.length === 0) return false;
        return agreed(`Send ${countOf(plan.findings.length, 'write')} again?`);
      },
    }),
  );
  const { plan, ...told } = resent;
  const { groups, withLetter, findings } = plan;
  print({ run: plan.run, asked: findings.length, groups, withLetter, ...told }, () =>
    resentLines(resent, terminal),
  );
  finish(resent.outcome === 'done' && resent.counts?.sent === findings.length && withLetter.length === 0);
};
