import { acceptFindings } from '../../../operate/reviews/reconcile/accept.ts';
import { listReports, readComparison } from '../../../operate/reviews/reconcile/read.ts';
import { resendFindings } from '../../../operate/reviews/reconcile/resend.ts';
import { UsageError } from '../../../operate/stage/command-errors.ts';
import { countOf } from '../../views/amounts.ts';
import {
  chosenView,
  comparisonView,
  findingsView,
  resendPlanView,
  runsView,
} from '../../views/comparison.ts';
import { resentNotes } from '../../views/reconcile.ts';
import { text, type View } from '../../views/view.ts';
import { addScreen, addVerb, type Desk, reasonIn } from '../desk.ts';

const maxRuns = 30;
/** Maximum number of a group's findings on a screen. */
const maxFindings = 200;
const patienceMs = 15 * 60_000;

export const addReconcile = (desk: Desk): void => {
  const { target, audit, runs } = desk;
  addScreen(desk, ['/reconcile', 'Reconcile'], async (query, context) => {
    const { signal } = context.req.raw;
    const reports = await listReports(target, { limit: maxRuns, signal });
    if (reports.length === 0) return [text('The platform was not compared with what was sent yet.')];
    const run = query.get('run') ?? undefined;
    return [...comparisonView(await readComparison(target, { run, limit: 0, signal })), ...runsView(reports)];
  });

  addScreen(desk, ['/reconcile/:group', 'Findings'], async (query, context) => {
    const of = [context.req.param('group') ?? ''];
    const run = query.get('run') ?? undefined;
    const { signal } = context.req.raw;
    return findingsView(await readComparison(target, { run, of, limit: maxFindings, signal }));
  });

  addVerb(desk, '/reconcile-decision', (form) => {
    const [run, of] = [form.get('run') ?? undefined, [form.get('group') ?? '']];
    const decision = form.get('decision');
    if (decision !== 'accept' && decision !== 'resend') throw new UsageError('Accept it, or send it again?');
    const reason = reasonIn(form);
    return runs.begin(decision === 'accept' ? 'Accept findings' : 'Send findings again', async (at) => {
      const given = { run, of, reason, audit, signal: at.signal };
      const asked = async (count: number, act: string, plan: View): Promise<boolean> => {
        at.show('Plan', plan);
        const question = `${countOf(count, 'finding')}. Reason: ${reason}`;
        return count > 0 && (await at.ask({ text: question, act })) !== undefined;
      };
      if (decision === 'accept') {
        const accepted = await acceptFindings(target, {
          ...given,
          confirm: (chosen) => asked(chosen.findings.length, 'Accept', chosenView(chosen)),
        });
        if (accepted) at.show('Result', [text(`${countOf(accepted.findings.length, 'finding')} accepted.`)]);
        return;
      }
      const resent = await resendFindings(target, {
        ...{ ...given, patienceMs },
        confirm: (plan) => asked(plan.findings.length, 'Send again', resendPlanView(plan)),
      });
      at.show('Result', resentNotes(resent));
    });
  });
};
