import type { CommandContext } from '../../../desk/cli/command-context.ts';
import { text } from '../../../desk/views/view.ts';
import type { Finding } from '../record.ts';
import * as verbs from './operator-actions.ts';
import { type ReviewedRun, readComparison } from './read.ts';
import { awaitRun, startRun } from './run.ts';
import { comparisonView, findingsView } from './views/comparison.ts';
import { coverageNotes } from './views/reconcile.ts';

const oneMinuteMs = 60_000;
/** Maximum number of findings in a document. */
const maxFindings = 100_000;

/** A script must not take an unrepaired difference for success. */
const isFine = ({ faults, report: { state } }: ReviewedRun): boolean => faults === 0 && state !== 'failed';

const documentOf = (comparison: ReviewedRun): object => {
  const { report, findings, groups, counts, ...facts } = comparison;
  return {
    id: report.id,
    state: report.state,
    counts,
    ...facts,
    claims: coverageNotes(report).map(({ text }) => text),
    groups,
    findings: findings.map(findingJson),
    report,
  };
};

const findingJson = ({ writtenMs, ...finding }: Finding): object => ({
  ...finding,
  ...(writtenMs !== undefined && { writtenAt: new Date(writtenMs).toISOString() }),
});

export const show = async (
  { target, signal, isJson, print, finish }: CommandContext,
  run: string | undefined,
  { findings: listed, limit }: { findings?: string | true; limit: number },
): Promise<void> => {
  const of = typeof listed === 'string' ? [listed] : undefined;
  const options = { run, of, limit: isJson ? maxFindings : limit, signal };
  const comparison = await readComparison(target, options);
  print(documentOf(comparison), () =>
    listed === undefined ? comparisonView(comparison) : findingsView(comparison),
  );
  finish(isFine(comparison));
};

export const run = async (
  { target, terminal, audit, signal, print, finish, progress, checkAudit }: CommandContext,
  { nightly = false, wait }: { nightly?: boolean; wait: number | false },
): Promise<void> => {
  await checkAudit();
  const id = await startRun(target, { nightly, audit });
  const shown = { lead: 'To see it', command: `reconcile show ${id}` };
  if (wait === false) return print({ id }, () => [text(`Run ${id} has started.`), shown]);
  terminal.err(`Run ${id} has started.\n`);
  const patience = { signal, patienceMs: wait * oneMinuteMs, onProgress: progress('Comparing') };
  const report = await awaitRun(target, id, patience);
  if (report === undefined) {
    print({ id, state: 'running' }, () => [text(`Run ${id} is still running.`), shown]);
    return finish(false);
  }
  const comparison = await readComparison(target, { run: id, limit: maxFindings, signal });
  print(documentOf(comparison), () => comparisonView(comparison));
  finish(isFine(comparison) && report.state === 'whole');
};

type AcceptOptions = { reason: string; run?: string };

export const accept = async (
  context: CommandContext,
  of: string[],
  options: AcceptOptions,
): Promise<void> => {
  const { reason, run } = options;
  await context.checkAudit();
  context.finish((await verbs.accept(context, { of, reason, run })) !== undefined);
};

export const resend = async (
  context: CommandContext,
  of: string[],
  { reason, run, wait }: AcceptOptions & { wait: number },
): Promise<void> => {
  const options = { of, reason, run, patienceMs: wait * oneMinuteMs };
  await context.checkAudit();
  const { plan, outcome, counts } = await verbs.resend(context, options);
  const isAllSent = counts?.sent === plan.findings.length && plan.withLetter.length === 0;
  context.finish(outcome === 'done' && isAllSent);
};
