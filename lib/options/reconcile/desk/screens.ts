import {
  addAction,
  addScreen,
  type ConsoleServices,
  reasonIn,
} from '../../../desk/console/console-services.ts';
import { text } from '../../../desk/views/view.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import { accept, resend } from './operator-actions.ts';
import { listReports, readComparison } from './read.ts';
import { comparisonView, findingsView, runsView } from './views/comparison.ts';

const maxRuns = 30;
/** Maximum number of a group's findings on a screen. */
const maxFindings = 200;
const patienceMs = 15 * 60_000;

export const addScreens = (services: ConsoleServices): void => {
  const { target, runs } = services;
  addScreen(services, ['/reconcile', 'Reconcile'], async (query, context) => {
    const { signal } = context.req.raw;
    const reports = await listReports(target, { limit: maxRuns, signal });
    if (reports.length === 0) return [text('The platform was not compared with what was sent yet.')];
    const run = query.get('run') ?? undefined;
    return [...comparisonView(await readComparison(target, { run, limit: 0, signal })), ...runsView(reports)];
  });

  addScreen(services, ['/reconcile/:group', 'Findings'], async (query, context) => {
    const of = [context.req.param('group') ?? ''];
    const run = query.get('run') ?? undefined;
    const { signal } = context.req.raw;
    return findingsView(await readComparison(target, { run, of, limit: maxFindings, signal }));
  });

  addAction(services, '/reconcile-decision', (form) => {
    const [run, of] = [form.get('run') ?? undefined, [form.get('group') ?? '']];
    const decision = form.get('decision');
    if (decision !== 'accept' && decision !== 'resend') throw new UsageError('Accept it, or send it again?');
    const reason = reasonIn(form);
    const given = { run, of, reason };
    const about = of.join();
    return decision === 'accept'
      ? runs.begin('Accept findings', (at) => accept(at, given), { about })
      : runs.begin('Send findings again', (at) => resend(at, { ...given, patienceMs }), { about });
  });
};
