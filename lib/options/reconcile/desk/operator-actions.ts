import type { OperatorContext } from '../../../desk/operator-actions/operator-context.ts';
import { countOf } from '../../../desk/views/format.ts';
import { text } from '../../../desk/views/view.ts';
import { acceptFindings } from './accept.ts';
import type { SelectedFindings } from './choose-findings.ts';
import { type Resent, resendFindings } from './resend.ts';
import { chosenView, resendPlanView } from './views/comparison.ts';
import { resentNotes } from './views/reconcile.ts';

type Findings = { run?: string | undefined; of: readonly string[]; reason: string };

export const accept = async (
  { target, audit, signal, show, ask }: OperatorContext,
  given: Findings,
): Promise<SelectedFindings | undefined> => {
  const accepted = await acceptFindings(target, {
    ...given,
    audit,
    signal,
    confirm: async (chosen) => {
      show('Plan', chosenView(chosen));
      const act = `Accept ${countOf(chosen.findings.length, 'difference')}`;
      return (await ask({ hint: `Reason: ${given.reason}`, act })) !== undefined;
    },
  });
  if (accepted === undefined) return undefined;
  const { run, findings, groups } = accepted;
  const note = text(`${countOf(findings.length, 'difference')} accepted.`);
  show('Result', [note], { run, accepted: findings.length, groups });
  return accepted;
};

export const resend = async (
  { target, audit, signal, show, ask }: OperatorContext,
  given: Findings & { patienceMs: number },
): Promise<Resent> => {
  const resent = await resendFindings(target, {
    ...given,
    audit,
    signal,
    confirm: async (plan) => {
      show('Plan', resendPlanView(plan));
      const count = plan.findings.length;
      const question = { hint: `Reason: ${given.reason}`, act: `Send ${countOf(count, 'write')} again` };
      return count > 0 && (await ask(question)) !== undefined;
    },
  });
  const { plan, ...result } = resent;
  const { run, findings, groups, withLetter } = plan;
  show('Result', resentNotes(resent), { run, asked: findings.length, groups, withLetter, ...result });
  return resent;
};
