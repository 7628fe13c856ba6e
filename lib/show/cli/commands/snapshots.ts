import { type Command, Option } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { reasonText, wholeNumber } from '../options.ts';

export const addSnapshots = (program: Command, cli: Cli): void => {
  const snapshots = program
    .command('snapshots')
    .description('shows the SIS’ exports that were put into the bucket, and what each changes')
    .addHelpText('after', examples);
  addList(snapshots, cli);
  addShow(snapshots, cli);
  addDiff(snapshots, cli);
  addApprove(snapshots, cli);
  addReject(snapshots, cli);
};

const addList = (snapshots: Command, cli: Cli): void => {
  snapshots
    .command('list')
    .description('lists snapshots, the newest first, with their state and what they change')
    .option('--limit <n>', 'show at most n', wholeNumber(1, 1_000), 20)
    .action(action(cli, () => import('../actions/snapshots/list.ts')));
};

const addShow = (snapshots: Command, cli: Cli): void => {
  snapshots
    .command('show')
    .description(
      'shows why a snapshot waits, what it changes, which rows were not used, and the next command',
    )
    .argument('<id>', 'id of the snapshot, or its beginning')
    .action(action(cli, () => import('../actions/snapshots/show.ts')));
};

const addDiff = (snapshots: Command, cli: Cli): void => {
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
    .action(action(cli, () => import('../actions/snapshots/diff.ts')));
};

const addApprove = (snapshots: Command, cli: Cli): void => {
  snapshots
    .command('approve')
    .description('approves a snapshot that waits: all of its changes are sent')
    .argument('<id>', 'id of the snapshot, or its beginning')
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--yes', 'do not ask')
    .action(action(cli, async () => ({ act: (await import('../actions/snapshots/decide.ts')).approve })));
};

const addReject = (snapshots: Command, cli: Cli): void => {
  snapshots
    .command('reject')
    .description('rejects a snapshot that waits: none of its changes are sent')
    .argument('<id>', 'id of the snapshot, or its beginning')
    .requiredOption('--reason <text>', 'why, for the audit log and for later readers', reasonText)
    .option('--yes', 'do not ask')
    .action(action(cli, async () => ({ act: (await import('../actions/snapshots/decide.ts')).reject })));
};

const examples = `
Examples:
  sis-relay snapshots list
  sis-relay snapshots show 20261123T020000Z
  sis-relay snapshots diff first.zip --write-settings snapshot-settings.json
  sis-relay snapshots diff first.zip --settings snapshot-settings.json
  sis-relay snapshots diff tonight.zip
  sis-relay snapshots diff enrollments.csv --map mapping.json
  sis-relay snapshots approve 20261123T020000Z-0a1b2c3d --reason "the summer courses end"
  sis-relay snapshots reject 20261123T020000Z-0a1b2c3d --reason "half of the export is missing"

Begin with diff. While nothing says which roles are which, it looks at the zip and sends nothing: files, columns, roles,
dates, codes, and which of them the platform knows, if a stage is given. It proposes snapshot-settings.json.

A file that is put into the bucket under snapshots/ is compared with the last accepted one, and its changes are
sent. If it would remove more than usual, or lacks a column, nothing is sent until a person approves it.`;
