import type { Target } from '../../deployment/target.ts';
import { plain } from '../../redaction/printable.ts';
import type { SnapshotDiff } from '../../snapshots/desk/diff.ts';
import type { RefusedRow, ShownSnapshot, SnapshotList } from '../../snapshots/desk/read.ts';
import type { Counts, SnapshotRecord } from '../../snapshots/record.ts';
import { fileNameOf, isTable } from '../../snapshots/request.ts';
import { ageOf, numberOf } from '../../views/amounts.ts';
import {
  countNames,
  diffNotes,
  diffTitle,
  noSnapshotsText,
  refusedRowsTitle,
  refusedRowText,
  sentText,
  snapshotNotes,
  snapshotState,
} from '../../views/snapshots.ts';
import { noteLines } from './notes.ts';
import { rest, right, tableOf, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

type Print = { target: Target; terminal: Terminal };

const countColumns = countNames.map((name) => right(name.replace(/^./, (first) => first.toUpperCase())));
const countCells = (counts: Counts): string[] => countNames.map((name) => numberOf(counts[name]));

export const snapshotListLines = (
  { snapshots, all, accepted, acceptedTables }: SnapshotList,
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
    '',
    ...(accepted ? [`The next zip is compared with ${plain(accepted)}.`] : []),
    ...Object.entries(acceptedTables).map(
      ([name, id]) => `The next ${plain(name)} is compared with ${plain(id)}.`,
    ),
    ...(snapshots.length < all
      ? [style('dim', `The newest ${snapshots.length} of ${numberOf(all)}: a higher --limit shows more.`)]
      : []),
    ...(next ? ['', `Next: ${terminal.command(`snapshots show ${next.id}`)}`] : []),
  ];
};

export const snapshotLines = (snapshot: ShownSnapshot, { terminal }: Pick<Print, 'terminal'>): string[] => {
  const { refusedRows, report, isAccepted } = snapshot;
  return [
    ...planLines(snapshot, terminal),
    ...(isAccepted
      ? [
          `The next ${isTable(snapshot.key) ? plain(fileNameOf(snapshot.key)) : 'zip'} is compared with this one.`,
        ]
      : []),
    ...(refusedRows.length > 0
      ? [
          '',
          refusedRowsTitle(snapshot),
          ...refusedLines(refusedRows, terminal),
          `All of them: aws s3 cp ${plain(report ?? '')} -`,
        ]
      : []),
    ...nextLines(snapshot, terminal),
  ];
};

const refusedLines = (rows: readonly RefusedRow[], { width }: Terminal): string[] =>
  rows.flatMap((row) => wrapped(refusedRowText(row), width - 2, '  ').map((line) => `  ${line}`));

/** What it is and does, as before a decision, too. */
export const planLines = (snapshot: SnapshotRecord, terminal: Terminal): string[] => {
  const { id, key, droppedAt } = snapshot;
  return [
    terminal.style('bold', `Snapshot ${id}: ${snapshotState(snapshot)}`),
    `${plain(key)}, dropped at ${plain(droppedAt)} (${ageOf(Date.parse(droppedAt))} ago); ${sentText(snapshot)}`,
    ...snapshotNotes(snapshot).flatMap((note) => noteLines(note, terminal, '  ')),
    '',
    ...changeLines(snapshot, terminal),
  ];
};

type Changes = Pick<SnapshotRecord, 'byKind' | 'counts'>;

const changeLines = ({ byKind, counts }: Changes, { style, width }: Terminal): string[] => {
  const [header = '', ...rows] = tableOf(
    ['', ...countColumns],
    [
      ...Object.entries(byKind).map(([kind, each]) => [plain(kind), ...countCells(each)]),
      ['All', ...countCells(counts)],
    ],
    width,
  );
  return [style('dim', header), ...rows];
};

/** What a file would change. */
export const diffLines = (diff: SnapshotDiff, terminal: Terminal): string[] => [
  terminal.style('bold', diffTitle(diff)),
  ...diffNotes(diff).flatMap((note) => noteLines(note, terminal, '  ')),
  '',
  ...changeLines(diff, terminal),
  ...(diff.refusedRows.length > 0 ? ['', refusedRowsTitle(diff)] : []),
  ...refusedLines(diff.refusedRows, terminal),
];

/** The commands that come next, without the program's name. */
const nextCommands = ({ id, state }: Pick<SnapshotRecord, 'id' | 'state'>): string[] =>
  state === 'waiting-for-approval'
    ? [`snapshots approve ${id}`, `snapshots reject ${id} --reason "…"`]
    : state === 'comparing' || state === 'sending'
      ? [`snapshots show ${id}`]
      : [];

const nextLines = (snapshot: SnapshotRecord, terminal: Terminal): string[] => {
  const [first, ...others] = nextCommands(snapshot);
  if (first === undefined) return [];
  return ['', `Next: ${terminal.command(first)}`, ...others.map((each) => `  or: ${terminal.command(each)}`)];
};
