import type { Command } from 'commander';
import { loadIntegrations } from '../../deployment/integrations.ts';
import { type DecisionOptions, decideSnapshot } from '../../snapshots/desk/decide.ts';
import { diffSnapshot } from '../../snapshots/desk/diff.ts';
import { fiveCounts, listSnapshots, showSnapshot } from '../../snapshots/desk/read.ts';
import type { SnapshotRecord } from '../../snapshots/record.ts';
import { countOf } from '../../wording/amounts.ts';
import { decidedText } from '../../wording/snapshots.ts';
import { type Cli, contextOf, reasonText, wholeNumber } from '../command-context.ts';
import { diffLines, planLines, snapshotLines, snapshotListLines } from '../print/snapshots.ts';

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

/** Its counts are those five alone. */
const told = <Record extends SnapshotRecord>(record: Record): Record => ({
  ...record,
  counts: fiveCounts(record.counts),
});

const addList = (snapshots: Command, cli: Cli): void => {
  snapshots
    .command('list')
    .description('the newest first, with their state and what they change')
    .option('--limit <n>', 'show at most n', wholeNumber(1, 1_000), 20)
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const { target, terminal, signal, print } = contextOf(cli, command);
      const list = await listSnapshots(target, { limit, signal });
      print({ ...list, snapshots: list.snapshots.map(told) }, () =>
        snapshotListLines(list, { target, terminal }),
      );
    });
};

const addShow = (snapshots: Command, cli: Cli): void => {
  snapshots
    .command('show')
    .description('why it waits, what it changes, which rows were not used, and the next command')
    .argument('<id>', 'its id, or the beginning of it')
    .action(async (id: string, _options: object, command: Command) => {
      const { target, terminal, signal, print } = contextOf(cli, command);
      const snapshot = await showSnapshot(target, id, signal);
      print(told(snapshot), () => snapshotLines(snapshot, { terminal }));
    });
};

const addDiff = (snapshots: Command, cli: Cli): void => {
  snapshots
    .command('diff')
    .description('what a file on this machine would change, were it put into the bucket now')
    .argument('<file>', 'a zip of OneRoster, or a table, which is compared with the last one of its name')
    .option('--map <file>', 'the mapping of a table, in place of the one in the bucket')
    .action(async (file: string, { map }: { map?: string }, command: Command) => {
      const { target, terminal, print, withProgress } = contextOf(cli, command);
      const integrations = await loadIntegrations();
      const diff = await withProgress('Comparing', () => diffSnapshot(target, { file, map }, integrations));
      print({ ...diff, counts: fiveCounts(diff.counts) }, () => diffLines(diff, terminal));
    });
};

const addApprove = (snapshots: Command, cli: Cli): void => {
  snapshots
    .command('approve')
    .description('has a snapshot that waits send its changes')
    .argument('<id>', 'its id, or the beginning of it')
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--yes', 'do not ask')
    .action(decide(cli, 'approved'));
};

const addReject = (snapshots: Command, cli: Cli): void => {
  snapshots
    .command('reject')
    .description('has a snapshot that waits change nothing')
    .argument('<id>', 'its id, or the beginning of it')
    .requiredOption('--reason <text>', 'why, for the audit log and whoever looks at it later', reasonText)
    .option('--yes', 'do not ask')
    .action(decide(cli, 'rejected'));
};

const decide =
  (cli: Cli, decision: DecisionOptions['decision']) =>
  async (id: string, { reason }: { reason?: string }, command: Command): Promise<void> => {
    const { target, audit, terminal, signal, isJson, print, agreed, withProgress, finish } = contextOf(
      cli,
      command,
    );
    const confirm = async (snapshot: SnapshotRecord): Promise<boolean> => {
      if (!isJson) print(undefined, () => planLines(snapshot, terminal));
      return agreed(questionOf(snapshot, decision));
    };
    const decided = await withProgress('Telling the import', () =>
      decideSnapshot(target, id, { decision, reason, audit, signal, confirm }),
    );
    const { snapshot, outcome } = decided;
    if (outcome === 'not agreed') return finish(false);
    print({ outcome, ...told(snapshot) }, () => [decidedText(decided, decision)]);
    finish(true);
  };

const questionOf = ({ id, of }: SnapshotRecord, decision: DecisionOptions['decision']): string =>
  decision === 'approved' ? `Approve ${id}, and send ${countOf(of, 'message')}?` : `Reject ${id}?`;

const examples = `
Examples:
  sis-relay snapshots list
  sis-relay snapshots show 20261123T020000Z
  sis-relay snapshots diff tonight.zip
  sis-relay snapshots diff enrollments.csv --map mapping.json
  sis-relay snapshots approve 20261123T020000Z-0a1b2c3d --reason "the summer courses end"
  sis-relay snapshots reject 20261123T020000Z-0a1b2c3d --reason "half of the export is missing"

A file that is put into the bucket under snapshots/ is compared with the last accepted one, and its changes are
sent. Where more would be removed than is usual, or a file lost a column, nothing is sent before a person agrees.`;
