import type { Command } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { reasonText, wholeNumber } from '../options.ts';

export const addReconcile = (program: Command, cli: Cli): void => {
  const reconcile = program
    .command('reconcile')
    .description('whether the platform holds what was sent to it, and what to do where it does not')
    .addHelpText('after', examples);
  for (const add of [addShow, addRun, addAccept, addResend, addReport]) add(reconcile, cli);
};

const addShow = (reconcile: Command, cli: Cli): void => {
  reconcile
    .command('show')
    .description('what the last comparison says, what differs by class and cause, and the next command')
    .argument('[run]', 'its id, or the beginning of it; default: the one that ended last')
    .option('--findings [group]', 'list what differs, of this group or resource alone where it is given')
    .option('--limit <n>', 'list at most n', wholeNumber(1, 100_000), 100)
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/reconcile/show.ts')));
};

const addRun = (reconcile: Command, cli: Cli): void => {
  reconcile
    .command('run')
    .description('compares at once, all that the ledger knows, and shows what came of it')
    .option('--nightly', 'as the schedule does: what is recent, a part of the rest, and a sample')
    .option('--wait <minutes>', 'wait for its end so long at most', wholeNumber(1, 2_880), 720)
    .option('--no-wait', 'begin it, and end there')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/reconcile/run.ts')));
};

const addAccept = (reconcile: Command, cli: Cli): void => {
  reconcile
    .command('accept')
    .description('accepts that the platform is right: accepted findings are no longer reported')
    .argument('<group-or-resource...>', 'groups by their ids, or resources, as in grade/2001/5001/301')
    .requiredOption('--reason <text>', 'why, for the audit log and whoever looks at it later', reasonText)
    .option('--run <id>', 'by this run; default: the one that ended last')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/reconcile/accept.ts')));
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
    .action(action(cli, () => import('../actions/reconcile/resend.ts')));
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
    .action(action(cli, () => import('../actions/reconcile/report.ts')));
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
