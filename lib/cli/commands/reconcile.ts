import type { Command } from 'commander';
import { acceptFindings } from '../../reconcile/desk/accept.ts';
import { type Comparison, listReports, readComparison } from '../../reconcile/desk/read.ts';
import { type ResendPlan, resendFindings } from '../../reconcile/desk/resend.ts';
import { awaitRun, startRun } from '../../reconcile/desk/run.ts';
import type { Finding } from '../../reconcile/record.ts';
import { countOf } from '../../wording/amounts.ts';
import { claims } from '../../wording/reconcile.ts';
import { besideData, type Cli, contextOf, reasonText, wholeNumber } from '../command-context.ts';
import {
  chosenLines,
  comparisonLines,
  findingLines,
  resendPlanLines,
  resentLines,
} from '../print/reconcile.ts';
import { maxRunsDrawn, reconcilePage, writeNewFile } from '../print/reconcile-page.ts';

export const addReconcile = (program: Command, cli: Cli): void => {
  const reconcile = program
    .command('reconcile')
    .description('whether the platform holds what was sent to it, and what to do where it does not')
    .addHelpText('after', examples);
  for (const add of [addShow, addRun, addAccept, addResend, addReport]) add(reconcile, cli);
};

/** A document has so many findings at most. */
const maxFindings = 100_000;

const oneMinuteMs = 60_000;

const addShow = (reconcile: Command, cli: Cli): void => {
  reconcile
    .command('show')
    .description('what the last comparison says, what differs by class and cause, and the next command')
    .argument('[run]', 'its id, or the beginning of it; default: the one that ended last')
    .option('--findings [group]', 'list what differs, of this group or resource alone where it is given')
    .option('--limit <n>', 'list at most n', wholeNumber(1, maxFindings), 100)
    .addHelpText('after', examples)
    .action(async (run: string | undefined, options: Shown, command: Command) => {
      const { target, terminal, signal, isJson, print, finish, withProgress } = contextOf(cli, command);
      const { findings: listed, limit } = options;
      const of = typeof listed === 'string' ? [listed] : undefined;
      const comparison = await withProgress('Reading findings', () =>
        readComparison(target, { run, of, limit: isJson ? maxFindings : limit, signal }),
      );
      print(documentOf(comparison), () =>
        listed === undefined ? comparisonLines(comparison, terminal) : findingLines(comparison, terminal),
      );
      finish(isFine(comparison));
    });
};

type Shown = { findings?: string | true; limit: number };

/** What differs must not be taken for done. */
const isFine = ({ faults, report: { state } }: Comparison): boolean => faults === 0 && state !== 'failed';

/** As `--json` prints it. */
const documentOf = (comparison: Comparison): object => {
  const { report, findings, groups, counts, ...told } = comparison;
  return {
    ...{ id: report.id, state: report.state, counts, ...told },
    claims: claims(report).map(({ text }) => text),
    ...{ groups, findings: findings.map(toldFinding), report },
  };
};

const toldFinding = ({ writtenMs, ...finding }: Finding): object => ({
  ...finding,
  ...(writtenMs !== undefined && { writtenAt: new Date(writtenMs).toISOString() }),
});

const addRun = (reconcile: Command, cli: Cli): void => {
  reconcile
    .command('run')
    .description('compares at once, all that the ledger knows, and shows what came of it')
    .option('--nightly', 'as the schedule does: what is recent, a part of the rest, and a sample')
    .option('--wait <minutes>', 'wait for its end so long at most', wholeNumber(1, 2_880), 720)
    .option('--no-wait', 'begin it, and end there')
    .addHelpText('after', examples)
    .action(async (options: { nightly?: boolean; wait: number | false }, command: Command) => {
      const { target, terminal, audit, signal, print, finish, withProgress } = contextOf(cli, command);
      const { nightly = false, wait } = options;
      const id = await startRun(target, { nightly, audit });
      const shown = terminal.command(`reconcile show ${id}`);
      if (wait === false) return print({ id }, () => [`Run ${id} has begun: ${shown}`]);
      terminal.err(`Run ${id} has begun.\n`);
      const report = await withProgress('Comparing', (onProgress) =>
        awaitRun(target, id, { signal, patienceMs: wait * oneMinuteMs, onProgress }),
      );
      if (report === undefined) {
        print({ id, state: 'running' }, () => [`Run ${id} goes on: ${shown}`]);
        return finish(false);
      }
      const comparison = await readComparison(target, { run: id, limit: maxFindings, signal });
      print(documentOf(comparison), () => comparisonLines(comparison, terminal));
      finish(isFine(comparison) && report.state === 'whole');
    });
};

type Deciding = { reason: string; run?: string };

const addAccept = (reconcile: Command, cli: Cli): void => {
  reconcile
    .command('accept')
    .description('accepts that the platform is right: what is accepted is no fault, and is told no more')
    .argument('<group-or-resource...>', 'groups by their ids, or resources, as in grade/2001/5001/301')
    .requiredOption('--reason <text>', 'why, for the audit log and whoever looks at it later', reasonText)
    .option('--run <id>', 'by this run; default: the one that ended last')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(async (of: string[], { reason, run }: Deciding, command: Command) => {
      const { target, terminal, audit, signal, isJson, print, agreed, finish } = contextOf(cli, command);
      const accepted = await acceptFindings(target, {
        ...{ run, of, reason, audit, signal },
        confirm: async (chosen) => {
          if (!isJson) print(undefined, () => chosenLines(chosen, 'To be accepted', terminal));
          return agreed(`Accept ${countOf(chosen.findings.length, 'difference')}?`);
        },
      });
      if (accepted) {
        const count = accepted.findings.length;
        const document = { run: accepted.run, accepted: count, groups: accepted.groups };
        print(document, () => [`${countOf(count, 'difference')} accepted.`]);
      }
      finish(accepted !== undefined);
    });
};

const addResend = (reconcile: Command, cli: Cli): void => {
  reconcile
    .command('resend')
    .description('has what the platform lacks sent again, as the SIS said it last')
    .argument('<group-or-resource...>', 'groups by their ids, or resources, as in grade/2001/5001/301')
    .requiredOption('--reason <text>', 'why, for the audit log and whoever looks at it later', reasonText)
    .option('--run <id>', 'by this run; default: the one that ended last')
    .option('--wait <minutes>', 'wait for what became of it so long at most', wholeNumber(1, 1_440), 15)
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(async (of: string[], options: Deciding & { wait: number }, command: Command) => {
      const context = contextOf(cli, command);
      const { target, terminal, audit, signal, isJson, print, agreed, finish, withProgress } = context;
      const { reason, run, wait } = options;
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
    });
};

const addReport = (reconcile: Command, cli: Cli): void => {
  reconcile
    .command('report')
    .description('a run as one HTML file without scripts, to keep for an audit, to send or to print')
    .argument('[run]', 'its id, or the beginning of it; default: the one that ended last')
    .requiredOption(
      '--html [file]',
      'a new file, which nobody else may read; default: reconcile-<run>.html; -: standard output',
    )
    .addHelpText('after', examples)
    .action(async (run: string | undefined, { html: to }: { html: string | true }, command: Command) => {
      const isPiped = to === '-';
      const { target, terminal, signal, print } = contextOf(isPiped ? besideData(cli) : cli, command);
      const [comparison, reports] = await Promise.all([
        readComparison(target, { run, limit: 0, signal }),
        listReports(target, { limit: maxRunsDrawn, signal }),
      ]);
      const page = await reconcilePage(comparison, { reports, name: target.prefix.slice(0, -1) });
      if (isPiped) return terminal.write(page);
      const file = to === true ? `reconcile-${comparison.report.id}.html` : to;
      await writeNewFile(file, page);
      print({ id: comparison.report.id, file }, () => [`Written to ${file}.`]);
    });
};

const examples = `
Examples:
  sis-relay reconcile show
  sis-relay reconcile show 20261123T020000Z --findings
  sis-relay reconcile show --findings 3f0c91aa
  sis-relay reconcile run --nightly
  sis-relay reconcile run --local --json
  sis-relay reconcile accept 3f0c91aa --reason "the exam office changed them by hand"
  sis-relay reconcile resend grade/2001/5001/301 --reason "lost by the restore of Monday"
  sis-relay reconcile report --html november.html

The function reconcile reads the platform every night and compares it with what was sent: all of the last day, a
part of what is older, and a sample. It repairs nothing by itself. Exit status 1: there are faults that nobody has
accepted, or the run did not come to its end.`;
