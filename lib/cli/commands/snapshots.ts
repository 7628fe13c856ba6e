import { type Command, Option } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { reasonText, wholeNumber } from '../options.ts';

export const addSnapshots = (program: Command, cli: Cli): void => {
  const snapshots = program
    .command('snapshots')
    .description('the SIS’ exports that were put into the bucket, and what each changes')
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
    .description('the newest first, with their state and what they change')
    .option('--limit <n>', 'show at most n', wholeNumber(1, 1_000), 20)
    .action(action(cli, () => import('../actions/snapshots/list.ts')));
};

const addShow = (snapshots: Command, cli: Cli): void => {
  snapshots
    .command('show')
    .description('why it waits, what it changes, which rows were not used, and the next command')
    .argument('<id>', 'its id, or the beginning of it')
    .action(action(cli, () => import('../actions/snapshots/show.ts')));
};

const addDiff = (snapshots: Command, cli: Cli): void => {
  snapshots
    .command('diff')
    .description(
      'what a file on this machine would change; of a zip without settings, what it holds and settings to start from',
    )
    .argument('<file>', 'a zip of OneRoster, or a table, which is compared with the last one of its name')
    .option('--map <file>', 'the mapping of a table, in place of the one in the bucket')
    .option('--settings <file>', 'snapshot-settings.json on this machine, in place of the one in the bucket')
    .addOption(
      new Option(
        '--write-settings <file>',
        'look at the zip although there are settings, and write some to start from',
      ).conflicts(['map', 'settings']),
    )
    .action(action(cli, () => import('../actions/snapshots/diff.ts')));
};

const addApprove = (snapshots: Command, cli: Cli): void => {
  snapshots
    .command('approve')
    .description('has a snapshot that waits send its changes')
    .argument('<id>', 'its id, or the beginning of it')
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--yes', 'do not ask')
    .action(action(cli, async () => ({ act: (await import('../actions/snapshots/decide.ts')).approve })));
};

const addReject = (snapshots: Command, cli: Cli): void => {
  snapshots
    .command('reject')
    .description('has a snapshot that waits change nothing')
    .argument('<id>', 'its id, or the beginning of it')
    .requiredOption('--reason <text>', 'why, for the audit log and whoever looks at it later', reasonText)
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
sent. Where more would be removed than is usual, or a file lost a column, nothing is sent before a person agrees.`;
