import type { ConnectionReport } from '../../connection/check.ts';
import type { PaceStatus, QueueStatus, Status } from '../../connection/status.ts';
import type { Group } from '../../dead-letters/reading/groups.ts';
import type { PausedFunction } from '../../deployment/pause.ts';
import type { Target } from '../../deployment/target.ts';
import { plain } from '../../redaction/printable.ts';
import type { Incident } from '../../telemetry/incidents.ts';
import type { CallCount } from '../../telemetry/pace-use.ts';
import { ageOf, numberOf, partOf } from '../../views/amounts.ts';
import { lastComparisonNote } from '../../views/reconcile.ts';
import { waitingSnapshotText } from '../../views/snapshots.ts';
import {
  concernNotes,
  connectionNotes,
  healthNotes,
  hourOf,
  incidentNotes,
  isPaused,
  noCallsText,
  pausedText,
  pausesUnknown,
  waitingTexts,
  windowText,
} from '../../views/status.ts';
import { remarks } from './letters.ts';
import { marked, noteLines } from './notes.ts';
import { right, tableOf, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';
import { waitingGroupLines, wakeOf } from './waiting.ts';

export const statusLines = (
  status: Status,
  { terminal, target }: { terminal: Terminal; target: Target },
): string[] => {
  const { style, width } = terminal;
  const { queues, letters, connection } = status;
  const [queueHeader = '', ...queueRows] = tableOf(
    ['Queue', right('Visible'), right('In flight'), right('Delayed'), right('Oldest seen')],
    [...queues, deadLettersOf(letters)].map(({ function: name, visible, inFlight, delayed, oldestMs }) => [
      status.paused?.some((each) => each.function === name && isPaused(each)) ? `${name} (paused)` : name,
      ...[visible, inFlight, delayed].map((count) => (count === 0 ? '–' : numberOf(count))),
      oldestMs === undefined ? '–' : ageOf(oldestMs),
    ]),
    width,
  );
  const kinds = byKind(letters.groups);
  const [kindHeader = '', ...kindRows] = tableOf(
    [right('Letters'), 'Kind', right('Oldest'), right('Newest')],
    kinds.map(({ kind, letters: count, oldestMs, newestMs }) => [
      numberOf(count),
      kind,
      ageOf(oldestMs),
      ageOf(newestMs),
    ]),
    width,
  );
  return [
    style('bold', target.prefix.slice(0, -1)),
    '',
    ...connectionLines(connection, terminal),
    '',
    ...paceLines(status.pace, terminal),
    '',
    style('dim', queueHeader),
    ...queueRows,
    ...pausedLines(status.paused, terminal),
    ...waitingLines(status, terminal),
    ...snapshotLines(status, terminal),
    ...comparisonLines(status, terminal),
    ...(status.incidents ?? []).flatMap((incident) => incidentLines(incident, terminal)),
    '',
    ...(letters.unread === undefined
      ? kinds.length === 0
        ? ['There are no dead letters.']
        : [style('dim', kindHeader), ...kindRows]
      : wrapped(plain(letters.unread), width, '  ').map((line) => style('red', line))),
    ...remarks(letters, terminal),
    ...(kinds.length === 0
      ? []
      : wrapped(`What to do about them: ${terminal.command('letters groups')}`, width, '  ').map((line) =>
          style('dim', line),
        )),
  ];
};

const deadLettersOf = ({ counts, groups }: Status['letters']): QueueStatus => ({
  function: 'dead-letters',
  ...counts,
  oldestMs: groups.length === 0 ? undefined : Math.min(...groups.map(({ oldestMs }) => oldestMs)),
});

const pausedLines = (paused: PausedFunction[] | undefined, terminal: Terminal): string[] => {
  if (paused === undefined) return [pausesUnknown];
  return paused.flatMap((each) => [
    ...noteLines({ tone: 'bad', text: pausedText(each) }, terminal),
    ...noteLines(
      { tone: 'todo', text: `To resume: ${terminal.command(`resume ${each.function}`)}` },
      terminal,
      '  ',
    ),
  ]);
};

const connectionLines = (report: ConnectionReport | undefined, terminal: Terminal): string[] => {
  if (report === undefined) return connectionNotes(report).map(({ text }) => text);
  const [platform, credential, versions] = healthNotes(report);
  return [
    marked(platform, terminal),
    ...wrapped(marked(credential, terminal), terminal.width, '  '),
    marked(versions, terminal),
    ...concernNotes(report).flatMap((note) => noteLines(note, terminal, '  ')),
  ];
};

const paceLines = (pace: PaceStatus, { style, width }: Terminal): string[] => {
  const { window, calls = [], sinceMs } = pace;
  if (calls.length === 0) return wrapped(`${windowText(window)} ${noCallsText(pace)}`, width);
  const [header = '', ...rows] = tableOf(
    [`Calls since ${hourOf(sinceMs)}`, right('All'), right('Refused')],
    [...Map.groupBy(calls, ({ priority }) => priority)].flatMap(([priority, each]) => [
      [priority, ...callCells(each)],
      ...each.map((one) => [`  ${one.function}`, ...callCells([one])]),
    ]),
    width,
  );
  return [...wrapped(windowText(window), width), style('dim', header), ...rows];
};

const callCells = (counts: CallCount[]): string[] => {
  const calls = counts.reduce((sum, each) => sum + each.calls, 0);
  const refused = counts.reduce((sum, each) => sum + each.refused, 0);
  return [numberOf(calls), refused === 0 ? '–' : `${numberOf(refused)} (${partOf(refused, calls)})`];
};

const incidentLines = (incident: Incident, terminal: Terminal): string[] =>
  incidentNotes(incident).flatMap((note) => noteLines(note, terminal, note.tone === 'todo' ? '  ' : ''));

const waitingLines = (status: Status, terminal: Terminal): string[] => {
  const { waiting } = status;
  const { style, width, command } = terminal;
  const texts = waitingTexts(status, '--log').flatMap((text) => wrapped(text, width));
  if (waiting.length === 0) return texts;
  return [
    '',
    ...waitingGroupLines(waiting, terminal),
    ...texts,
    ...wrapped(
      `One by one: ${command('waiting')}. Once a cause is gone: ${command(wakeOf(waiting))}`,
      width,
      '  ',
    ).map((line) => style('dim', line)),
  ];
};

const byKind = (groups: Group[]) =>
  [...Map.groupBy(groups, ({ kind }) => kind)]
    .map(([kind, each]) => ({
      kind,
      letters: each.reduce((sum, { letters }) => sum + letters, 0),
      oldestMs: Math.min(...each.map(({ oldestMs }) => oldestMs)),
      newestMs: Math.max(...each.map(({ newestMs }) => newestMs)),
    }))
    .sort((one, other) => other.letters - one.letters);

const snapshotLines = ({ snapshots = [] }: Status, terminal: Terminal): string[] =>
  snapshots.length === 0
    ? []
    : [
        '',
        ...snapshots.flatMap((each) => [
          ...noteLines({ tone: 'warn', text: waitingSnapshotText(each) }, terminal),
          `  ${terminal.command(`snapshots show ${each.id}`)}`,
        ]),
      ];

const comparisonLines = ({ comparison }: Status, terminal: Terminal): string[] => {
  const note = lastComparisonNote(comparison);
  if (note === undefined) return [];
  const next = note.tone === 'good' ? [] : [`  ${terminal.command('reconcile show')}`];
  return ['', ...noteLines(note, terminal), ...next];
};
