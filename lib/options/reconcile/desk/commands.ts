import type { Command } from 'commander';
import { action } from '../../../desk/cli/action.ts';
import type { Cli } from '../../../desk/cli/command-context.ts';
import { reasonText, wholeNumber } from '../../../desk/cli/options.ts';

export const addCommands = (program: Command, cli: Cli): void => {
  const reconcile = program
    .command('reconcile')
    .description('shows whether the platform holds what was sent to it, and what to do if it does not')
    .addHelpText('after', examples);
  reconcile
    .command('show')
    .description('shows the last comparison: what differs, by class and cause, and the next command')
    .argument('[run]', 'id of the run, or its beginning; default: the last run that has ended')
    .option('--findings [group]', 'list what differs: all of it, or only this group or resource')
    .option('--limit <n>', 'list at most n', wholeNumber(1, 100_000), 100)
    .addHelpText('after', examples)
    .action(action(cli, () => import('./actions.ts'), 'show'));
  reconcile
    .command('run')
    .description('compares all that the ledger knows now, and shows the result')
    .option(
      '--nightly',
      'compare what the schedule compares: recent writes, a part of the rest, and a sample',
    )
    .option('--wait <minutes>', 'wait at most n minutes for its end', wholeNumber(1, 2_880), 720)
    .option('--no-wait', 'start it, and do not wait')
    .addHelpText('after', examples)
    .action(action(cli, () => import('./actions.ts'), 'run'));
  reconcile
    .command('accept')
    .description('accepts that the platform is right: accepted findings are no longer reported')
    .argument('<group-or-resource...>', 'groups by their ids, or resources, as in grade/2001/5001/301')
    .requiredOption('--reason <text>', 'why, for the audit log and for later readers', reasonText)
    .option('--run <id>', 'the run that reports them; default: the last run that has ended')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(action(cli, () => import('./actions.ts'), 'accept'));
  reconcile
    .command('resend')
    .description('sends again what the platform lacks, as the SIS sent it last')
    .argument('<group-or-resource...>', 'groups by their ids, or resources, as in grade/2001/5001/301')
    .requiredOption('--reason <text>', 'why, for the audit log and for later readers', reasonText)
    .option('--run <id>', 'the run that reports them; default: the last run that has ended')
    .option('--wait <minutes>', 'wait at most n minutes for the result', wholeNumber(1, 1_440), 15)
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(action(cli, () => import('./actions.ts'), 'resend'));
  reconcile
    .command('report')
    .description('writes a run as one HTML file without scripts, to keep for an audit, to send or to print')
    .argument('[run]', 'id of the run, or its beginning; default: the last run that has ended')
    .requiredOption(
      '--html [file]',
      'a new file that only you can read; default: reconcile-<run>.html; -: standard output',
    )
    .addHelpText('after', examples)
    .action(action(cli, () => import('./report-action.ts'), 'report'));
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
part of what is older, and a sample. It repairs nothing by itself. Exit status 1: there are faults that are not
accepted, or the run did not finish.`;
