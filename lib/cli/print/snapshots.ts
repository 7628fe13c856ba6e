import type { Target } from '../../deployment/target.ts';
import { plain } from '../../redaction/printable.ts';
import type { ShownSnapshot, SnapshotList } from '../../snapshots/desk/read.ts';
import type { Counts, SnapshotRecord } from '../../snapshots/record.ts';
import { ageOf, numberOf } from '../../wording/amounts.ts';
import {
  countNames,
  nextCommands,
  noSnapshotsText,
  refusedRowsTitle,
  refusedRowText,
  sentText,
  snapshotNotes,
  snapshotState,
} from '../../wording/snapshots.ts';
import { noteLines } from './notes.ts';
import { rest, right, tableOf, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

type Print = { target: Target; terminal: Terminal };

const countColumns = countNames.map((name) => right(name.replace(/^./, (first) => first.toUpperCase())));
const countCells = (counts: Counts): string[] => countNames.map((name) => numberOf(counts[name]));

export const snapshotListLines = (
  { snapshots, all, accepted }: SnapshotList,
  { target, terminal }: Print,
): string[] => {
  if (all === 0) return [noSnapshotsText(target.prefix.slice(0, -1))];
  const { style, width } = terminal;
  const [header = '', ...rows] = tableOf(
    ['Id', right('Age'), 'State', ...countColumns, rest('File')],
    snapshots.map((snapshot) => [
      snapshot.id,
      ageOf(Date.parse(snapshot.droppedAt)),
      snapshotState(snapshot),
      ...countCells(snapshot.counts),
      plain(snapshot.key),
    ]),
    width,
  );
  const next = snapshots.find(({ state }) => state === 'waiting-for-approval');
  return [
    style('dim', header),
    ...rows,
    ...(accepted ? ['', `The next is compared with ${plain(accepted)}.`] : []),
    ...(snapshots.length < all
      ? [style('dim', `The newest ${snapshots.length} of ${numberOf(all)}: --limit shows more.`)]
      : []),
    ...(next ? ['', `Next: ${terminal.command(`snapshots show ${next.id}`)}`] : []),
  ];
};

export const snapshotLines = (snapshot: ShownSnapshot, { terminal }: Pick<Print, 'terminal'>): string[] => {
  const { refusedRows, report, isAccepted } = snapshot;
  return [
    ...planLines(snapshot, terminal),
    ...(isAccepted ? ['The next snapshot is compared with this one.'] : []),
    ...(refusedRows.length > 0
      ? [
          '',
          refusedRowsTitle(snapshot),
          ...refusedRows.flatMap((row) => wrapped(`  ${refusedRowText(row)}`, terminal.width, '    ')),
          `All of them: aws s3 cp ${plain(report ?? '')} -`,
        ]
      : []),
    ...nextLines(snapshot, terminal),
  ];
};

/** What it is and does, as before a decision, too. */
export const planLines = (snapshot: SnapshotRecord, terminal: Terminal): string[] => {
  const { id, key, droppedAt, counts, byKind } = snapshot;
  const [header = '', ...rows] = tableOf(
    ['', ...countColumns],
    [
      ...Object.entries(byKind).map(([kind, each]) => [plain(kind), ...countCells(each)]),
      ['All', ...countCells(counts)],
    ],
    terminal.width,
  );
  return [
    terminal.style('bold', `Snapshot ${id}: ${snapshotState(snapshot)}`),
    `${plain(key)}, dropped at ${plain(droppedAt)} (${ageOf(Date.parse(droppedAt))} ago); ${sentText(snapshot)}`,
    ...snapshotNotes(snapshot).flatMap((note) => noteLines(note, terminal, '  ')),
    '',
    terminal.style('dim', header),
    ...rows,
  ];
};

const nextLines = (snapshot: SnapshotRecord, terminal: Terminal): string[] => {
  const [first, ...others] = nextCommands(snapshot);
  if (first === undefined) return [];
  return ['', `Next: ${terminal.command(first)}`, ...others.map((each) => `  or: ${terminal.command(each)}`)];
};
