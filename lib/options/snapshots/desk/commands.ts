import { type Command, Option } from 'commander';
import { action } from '../../../desk/cli/action.ts';
import type { Cli } from '../../../desk/cli/command-context.ts';
import { reasonText, wholeNumber } from '../../../desk/cli/options.ts';

type AddCommand = (parent: Command, cli: Cli) => void;

export const addCommands: AddCommand = (program, cli) => {
  const snapshots = program
    .command('snapshots')
    .description('shows the SIS’ exports that were put into the bucket, and what each changes')
    .addHelpText('after', examples);
  for (const add of [addList, addShow, addDiff, addPut, addApprove, addReject, addEnd]) add(snapshots, cli);
};

const addList: AddCommand = (snapshots, cli) => {
  snapshots
    .command('list')
    .description('lists snapshots, the newest first, with their state and what they change')
    .option('--limit <n>', 'show at most n', wholeNumber(1, 1_000), 20)
    .action(action(cli, () => import('./actions.ts'), 'list'));
};

const addShow: AddCommand = (snapshots, cli) => {
  snapshots
    .command('show')
    .description(
      'shows why a snapshot waits, what it changes, which rows were not used, and the next command',
    )
    .argument('<id>', 'id of the snapshot, or its beginning')
    .action(action(cli, () => import('./actions.ts'), 'show'));
};

const addDiff: AddCommand = (snapshots, cli) => {
  snapshots
    .command('diff')
    .description(
      'shows what a file on this machine would change. Without settings, reports what a zip holds and proposes settings',
    )
    .argument(
      '<file>',
      'a zip of OneRoster, or a table, which is compared with the last table of the same name',
    )
    .option('--name <name>', 'what it is to be called in the bucket, as in north/roster.zip')
    .option('--map <file>', 'the mapping of a table, instead of the one in the bucket')
    .option('--settings <file>', 'snapshot-settings.json on this machine, instead of the one in the bucket')
    .addOption(
      new Option(
        '--write-settings <file>',
        'look at the zip even if there are settings, and write settings to start from',
      ).conflicts(['map', 'settings']),
    )
    .addOption(
      new Option('--write-mapping <file>', 'look at the table, and write a mapping to start from').conflicts([
        'map',
        'writeSettings',
      ]),
    )
    .action(action(cli, () => import('./diff-action.ts'), 'diff'));
};

const addPut: AddCommand = (snapshots, cli) => {
  snapshots
    .command('put')
    .description(
      'puts a file into the bucket, and says what will happen to it: an export, settings or a mapping',
    )
    .argument(
      '<file>',
      'a zip of OneRoster or a table; snapshot-settings.json, or a mapping with --mapping-of',
    )
    .option('--name <name>', 'what an export is called in the bucket, as in north/roster.zip')
    .option(
      '--mapping-of <name>',
      'the file is the mapping of the tables of this name, or of all tables: all',
    )
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--yes', 'do not ask')
    .action(action(cli, () => import('./put-action.ts'), 'put'));
};

const addApprove: AddCommand = (snapshots, cli) => {
  snapshots
    .command('approve')
    .description('approves a snapshot that waits: all of its changes are sent')
    .argument('<id>', 'id of the snapshot, or its beginning')
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--yes', 'do not ask')
    .action(action(cli, () => import('./actions.ts'), 'approve'));
};

const addReject: AddCommand = (snapshots, cli) => {
  snapshots
    .command('reject')
    .description('rejects a snapshot that waits: none of its changes are sent')
    .argument('<id>', 'id of the snapshot, or its beginning')
    .requiredOption('--reason <text>', 'why, for the audit log and for later readers', reasonText)
    .option('--yes', 'do not ask')
    .action(action(cli, () => import('./actions.ts'), 'reject'));
};

const addEnd: AddCommand = (snapshots, cli) => {
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
    .action(action(cli, () => import('./actions.ts'), 'end'));
};

const examples = `
Examples:
  sis-relay snapshots list
  sis-relay snapshots show 20261123T020000Z
  sis-relay snapshots diff first.zip --write-settings snapshot-settings.json
  sis-relay snapshots diff first.zip --settings snapshot-settings.json
  sis-relay snapshots diff tonight.zip
  sis-relay snapshots diff enrollments.csv --map mapping.json
  sis-relay snapshots put snapshot-settings.json
  sis-relay snapshots put tonight.zip
  sis-relay snapshots approve 20261123T020000Z-0a1b2c3d --reason "the summer courses end"
  sis-relay snapshots reject 20261123T020000Z-0a1b2c3d --reason "half of the export is missing"
  sis-relay snapshots end last-term.csv --reason "the term is over"

Begin with diff. While nothing says which roles are which, it looks at the zip and sends nothing: files, columns, roles,
dates, codes, and which of them the platform knows, if a stage is given. It proposes snapshot-settings.json.

A file that is put into the bucket under snapshots/ is compared with the last accepted one of its feed, and its
changes are sent. If it would remove more than usual, or lacks a column, nothing is sent until a person approves it.`;
