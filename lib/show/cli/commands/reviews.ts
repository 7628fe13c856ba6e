import { type Command, Option } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { reasonText, wholeNumber } from '../options.ts';

export const addSnapshots = (program: Command, cli: Cli): void => {
  const snapshots = program
    .command('snapshots')
    .description('shows the SIS’ exports that were put into the bucket, and what each changes')
    .addHelpText('after', examples.snapshots);
  snapshots
    .command('list')
    .description('lists snapshots, the newest first, with their state and what they change')
    .option('--limit <n>', 'show at most n', wholeNumber(1, 1_000), 20)
    .action(action(cli, () => import('../../../options/snapshots/desk/actions.ts'), 'list'));
  snapshots
    .command('show')
    .description(
      'shows why a snapshot waits, what it changes, which rows were not used, and the next command',
    )
    .argument('<id>', 'id of the snapshot, or its beginning')
    .action(action(cli, () => import('../../../options/snapshots/desk/actions.ts'), 'show'));
  snapshots
    .command('diff')
    .description(
      'shows what a file on this machine would change. Without settings, reports what a zip holds and proposes settings',
    )
    .argument(
      '<file>',
      'a zip of OneRoster, or a table, which is compared with the last table of the same name',
    )
    .option('--map <file>', 'the mapping of a table, instead of the one in the bucket')
    .option('--settings <file>', 'snapshot-settings.json on this machine, instead of the one in the bucket')
    .addOption(
      new Option(
        '--write-settings <file>',
        'look at the zip even if there are settings, and write settings to start from',
      ).conflicts(['map', 'settings']),
    )
    .action(action(cli, () => import('../../../options/snapshots/desk/diff-action.ts'), 'diff'));
  snapshots
    .command('approve')
    .description('approves a snapshot that waits: all of its changes are sent')
    .argument('<id>', 'id of the snapshot, or its beginning')
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--yes', 'do not ask')
    .action(action(cli, () => import('../../../options/snapshots/desk/actions.ts'), 'approve'));
  snapshots
    .command('reject')
    .description('rejects a snapshot that waits: none of its changes are sent')
    .argument('<id>', 'id of the snapshot, or its beginning')
    .requiredOption('--reason <text>', 'why, for the audit log and for later readers', reasonText)
    .option('--yes', 'do not ask')
    .action(action(cli, () => import('../../../options/snapshots/desk/actions.ts'), 'reject'));
  snapshots
    .command('end')
    .description('ends files that come no more: what only they want is shown, and removed from the platform')
    .argument(
      '<name...>',
      'names of tables, or oneroster for the zips; * stands for any text, as in "backfill-*.csv"',
    )
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--wait <minutes>', 'wait at most n minutes for the imports', wholeNumber(1, 900), 15)
    .option('--yes', 'do not ask')
    .action(action(cli, () => import('../../../options/snapshots/desk/actions.ts'), 'end'));
};

export const addReconcile = (program: Command, cli: Cli): void => {
  const reconcile = program
    .command('reconcile')
    .description('shows whether the platform holds what was sent to it, and what to do if it does not')
    .addHelpText('after', examples.reconcile);
  reconcile
    .command('show')
    .description('shows the last comparison: what differs, by class and cause, and the next command')
    .argument('[run]', 'id of the run, or its beginning; default: the last run that has ended')
    .option('--findings [group]', 'list what differs: all of it, or only this group or resource')
    .option('--limit <n>', 'list at most n', wholeNumber(1, 100_000), 100)
    .addHelpText('after', examples.reconcile)
    .action(action(cli, () => import('../../../options/reconcile/desk/actions.ts'), 'show'));
  reconcile
    .command('run')
    .description('compares all that the ledger knows now, and shows the result')
    .option(
      '--nightly',
      'compare what the schedule compares: recent writes, a part of the rest, and a sample',
    )
    .option('--wait <minutes>', 'wait at most n minutes for its end', wholeNumber(1, 2_880), 720)
    .option('--no-wait', 'start it, and do not wait')
    .addHelpText('after', examples.reconcile)
    .action(action(cli, () => import('../../../options/reconcile/desk/actions.ts'), 'run'));
  reconcile
    .command('accept')
    .description('accepts that the platform is right: accepted findings are no longer reported')
    .argument('<group-or-resource...>', 'groups by their ids, or resources, as in grade/2001/5001/301')
    .requiredOption('--reason <text>', 'why, for the audit log and for later readers', reasonText)
    .option('--run <id>', 'the run that reports them; default: the last run that has ended')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples.reconcile)
    .action(action(cli, () => import('../../../options/reconcile/desk/actions.ts'), 'accept'));
  reconcile
    .command('resend')
    .description('sends again what the platform lacks, as the SIS sent it last')
    .argument('<group-or-resource...>', 'groups by their ids, or resources, as in grade/2001/5001/301')
    .requiredOption('--reason <text>', 'why, for the audit log and for later readers', reasonText)
    .option('--run <id>', 'the run that reports them; default: the last run that has ended')
    .option('--wait <minutes>', 'wait at most n minutes for the result', wholeNumber(1, 1_440), 15)
    .option('--yes', 'do not ask')
    .addHelpText('after', examples.reconcile)
    .action(action(cli, () => import('../../../options/reconcile/desk/actions.ts'), 'resend'));
  reconcile
    .command('report')
    .description('writes a run as one HTML file without scripts, to keep for an audit, to send or to print')
    .argument('[run]', 'id of the run, or its beginning; default: the last run that has ended')
    .requiredOption(
      '--html [file]',
      'a new file that only you can read; default: reconcile-<run>.html; -: standard output',
    )
    .addHelpText('after', examples.reconcile)
    .action(action(cli, () => import('../../../options/reconcile/desk/report-action.ts'), 'report'));
};

export const addCrosswalk = (program: Command, cli: Cli): void => {
  const crosswalk = program
    .command('crosswalk')
    .description('shows and fills what the SIS’ names stand for: org units and users of the platform')
    .addHelpText('after', examples.crosswalk);
  crosswalk
    .command('show')
    .description('shows what a name stands for, where that comes from, and since when')
    .addOption(new Option('--code <code>', 'code of an org unit').conflicts(['userName', 'orgDefinedId']))
    .addOption(new Option('--user-name <name>', 'user name of a user').conflicts('orgDefinedId'))
    .option('--org-defined-id <id>', 'org-defined id of a user')
    .addHelpText('after', examples.crosswalk)
    .action(action(cli, () => import('../../../options/crosswalk-fill/desk/actions.ts'), 'show'));
  crosswalk
    .command('moved')
    .description(
      'lists codes that have moved to another org unit, and user names that passed to another record: what uses them waits',
    )
    .addHelpText('after', examples.crosswalk)
    .action(action(cli, () => import('../../../options/crosswalk-fill/desk/actions.ts'), 'moved'));
  crosswalk
    .command('accept')
    .description(
      'accepts that a code has moved to another org unit, or that a user name and its account have stayed one person’s',
    )
    .argument('[name]', 'code of the org unit, or a user name')
    .argument('[more...]', 'further user names')
    .option('--all', 'all user names that passed to another record: you know that each is one person')
    .addOption(
      new Option('--kind <kind>', 'what is given, if it is both').choices(['code', 'user']).conflicts('all'),
    )
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--yes', 'do not ask')
    .addHelpText('after', examples.crosswalk)
    .action(action(cli, () => import('../../../options/crosswalk-fill/desk/actions.ts'), 'accept'));
  crosswalk
    .command('fill')
    .description('fills the crosswalk now, and waits for the result')
    .option(
      '--classlists',
      'also read users from the classlists of all courses, if there is no file of users',
    )
    .option('--accept-removals', 'remove what the sources lack, however much it is: you have checked them')
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--wait <minutes>', 'wait at most n minutes for the result', wholeNumber(0, 900), 15)
    .option('--yes', 'do not ask')
    .addHelpText('after', examples.crosswalk)
    .action(action(cli, () => import('../../../options/crosswalk-fill/desk/actions.ts'), 'fill'));
};

const examples = {
  snapshots: `
Examples:
  sis-relay snapshots list
  sis-relay snapshots show 20261123T020000Z
  sis-relay snapshots diff first.zip --write-settings snapshot-settings.json
  sis-relay snapshots diff first.zip --settings snapshot-settings.json
  sis-relay snapshots diff tonight.zip
  sis-relay snapshots diff enrollments.csv --map mapping.json
  sis-relay snapshots approve 20261123T020000Z-0a1b2c3d --reason "the summer courses end"
  sis-relay snapshots reject 20261123T020000Z-0a1b2c3d --reason "half of the export is missing"
  sis-relay snapshots end last-term.csv --reason "the term is over"

Begin with diff. While nothing says which roles are which, it looks at the zip and sends nothing: files, columns, roles,
dates, codes, and which of them the platform knows, if a stage is given. It proposes snapshot-settings.json.

A file that is put into the bucket under snapshots/ is compared with the last accepted one, and its changes are
sent. If it would remove more than usual, or lacks a column, nothing is sent until a person approves it.`,
  reconcile: `
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
accepted, or the run did not finish.`,
  crosswalk: `
Examples:
  sis-relay crosswalk show --code MATH-101
  sis-relay crosswalk show --user-name lena.learner
  sis-relay crosswalk moved
  sis-relay crosswalk accept MATH-101 --reason "copied for the new term"
  sis-relay crosswalk accept lena.learner --reason "she has a new record, as she studies again"
  sis-relay crosswalk accept --all --reason "the SIS gave everybody a new record"
  sis-relay crosswalk fill
  sis-relay crosswalk fill --accept-removals --reason "the old courses are gone"

Messages may use these names instead of the platform's ids. The function crosswalk-fill reads them by schedule from
the platform's lists, and from crosswalk/users.csv and crosswalk/org-units.csv in the bucket. Messages with a code
that has moved are parked until a person accepts the move. Rows of an export whose user name was another record's are
not used until the crosswalk gives another account, or a person accepts that both records are one person.`,
};
