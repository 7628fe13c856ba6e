import type { ConnectionReport } from '../../connection/check.ts';
import type { Plan } from '../../dead-letters/replay/plan.ts';
import type { ReplayResult } from '../../dead-letters/replay/replay.ts';
import type { Canary, CauseCounts, ReplayCounts } from '../../dead-letters/replay/run.ts';
import { replayedOften } from '../../desk/letter-kinds.ts';
import { plain } from '../../redaction/printable.ts';
import { numberOf } from '../../views/amounts.ts';
import { causeText, matchText } from '../../views/letters.ts';
import {
  canarySentence,
  endNote,
  planSections,
  probeNotes,
  replayedOftenText,
  resultNotes,
} from '../../views/plan.ts';
import type { Note } from '../../views/view.ts';
import { causeOptions, groupTable, remarks } from './letters.ts';
import { marked, noteLines, toned } from './notes.ts';
import { rest, right, tableOf, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

export const planLines = (
  plan: Plan,
  report: ConnectionReport | undefined,
  { terminal, name }: { terminal: Terminal; name: string },
): string[] => {
  const { style, width } = terminal;
  const say = (note: Note) =>
    noteLines(note, { style, width: width - 11 }).map((line) => `${' '.repeat(9)}${line}`);
  const { rows } = groupTable([...plan.send, ...plan.notYet, ...plan.uncertain], terminal);
  const sections = planSections(plan, report, '--include-uncertain');
  const often = replayedOftenText(plan);
  return [
    style('bold', `Plan for ${name}: ${matchText(plan.matching)}`),
    ...[...Map.groupBy(sections, ({ title }) => title)].flatMap(([title, each]) => [
      '',
      style('bold', `${numberOf(each.reduce((sum, { count }) => sum + count, 0)).padStart(7)}  ${title}`),
      ...each.flatMap(({ groups, notes }) => [
        ...groups.flatMap((group) => rows.get(group) ?? []),
        ...notes.flatMap(say),
      ]),
    ]),
    ...(plan.unknownSource > 0
      ? say({ tone: 'todo', text: terminal.command('letters list --kind unknown-source') })
      : []),
    ...(often === undefined
      ? []
      : [
          '',
          ...wrapped(
            `${often}: ${terminal.command(`letters list --min-replays ${replayedOften}`)}`,
            width,
          ).map((line) => style('yellow', line)),
        ]),
    '',
    ...probeNotes(report).map((note) => (note.tone === 'plain' ? note.text : marked(note, terminal))),
    ...remarks(plan, terminal),
  ];
};

export const canaryLines = (canary: Canary, terminal: Terminal): string[] => [
  canarySentence(canary),
  ...groupTable([...canary.cameBack, ...canary.waits], terminal).rows.values(),
];

export const resultLines = (
  { counts, ...ended }: Pick<ReplayResult, 'counts' | 'stoppedBecause' | 'backLater'>,
  terminal: Terminal,
): string[] => {
  if (counts === undefined) return [];
  const { width, command } = terminal;
  const { tone, text } = endNote({ counts, ...ended });
  return [
    '',
    ...wrapped(text, width).map((line) => toned(tone, line, terminal)),
    ...causeLines(counts, terminal),
    ...resultNotes({ counts, ...ended }, command('letters groups --kind invalid')).flatMap((note) =>
      wrapped(`${numberOf(note.count).padStart(7)}  ${note.text}`, width, ' '.repeat(9)),
    ),
  ];
};

/** Per cause what was sent, went through, came back and was not tried, and what to do next. */
const causeLines = ({ byCause, cameBackAs, waitFor }: ReplayCounts, terminal: Terminal): string[] => {
  const { style, width } = terminal;
  const number = (count: number) => (count === 0 ? '–' : numberOf(count));
  const [header = '', ...rows] = tableOf(
    [
      ...['Sent', 'Through', 'Came back', 'Waits', 'Unknown', 'Not tried'].map(right),
      ...['Function', 'Kind'],
      rest('What failed'),
    ],
    byCause.map(
      ({
        sent,
        through,
        cameBack,
        waits,
        unknown,
        setAside,
        notTried,
        function: name,
        kind,
        error,
        words,
      }) => [
        ...[sent, through, cameBack, waits, unknown, setAside + notTried].map(number),
        ...[plain(name) || '–', kind],
        causeText({ error, words }),
      ],
    ),
    width,
  );
  const say = (text: string) => noteLines({ tone: 'todo', text }, terminal, ' '.repeat(9));
  return [
    style('dim', header),
    ...byCause.flatMap((cause, at) => [rows[at] ?? '', ...nextOf(cause, terminal).flatMap(say)]),
    ...(cameBackAs.length > 0 ? ['', 'They came back as:'] : []),
    ...cameBackAs.flatMap((group) => [
      `${numberOf(group.letters).padStart(7)}  ${group.kind}: ${causeText(group)}`,
      ...say(plain(group.remedy)),
    ]),
    ...(waitFor.length > 0 ? ['', 'They wait for:'] : []),
    ...waitFor.flatMap((group) => [
      `${numberOf(group.letters).padStart(7)}  ${group.kind}: ${causeText(group)}`,
    ]),
  ];
};

const nextOf = (cause: CauseCounts, { command }: Terminal): string[] => {
  const { cameBack, waits, unknown, setAside, notTried } = cause;
  return [
    ...(cameBack + setAside > 0 ? [command(`letters groups ${causeOptions(cause)}`)] : []),
    ...(waits > 0 ? [command('waiting')] : []),
    ...(unknown > 0 ? [`Is its function paused, or does it fail? ${command('status')}`] : []),
    ...(cameBack + setAside === 0 && notTried > 0 ? [command(`letters replay ${causeOptions(cause)}`)] : []),
  ];
};
