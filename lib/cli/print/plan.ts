import type { ConnectionReport } from '../../connection/check.ts';
import type { Group } from '../../dead-letters/reading/groups.ts';
import type { Plan, PlannedGroup } from '../../dead-letters/replay/plan.ts';
import type { ReplayResult } from '../../dead-letters/replay/replay.ts';
import type { Canary, CauseCounts, ReplayCounts, RunOptions } from '../../dead-letters/replay/run.ts';
import { replayedOften } from '../../desk/letter-words.ts';
import { plain } from '../../redaction/printable.ts';
import { causeOptions, causeText, groupTable, remarks } from './letters.ts';
import { countOf, numberOf, rest, right, tableOf, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

export const planLines = (
  plan: Plan,
  report: ConnectionReport | undefined,
  { terminal, name }: { terminal: Terminal; name: string },
): string[] => {
  const { style, width } = terminal;
  const say = (text: string, format?: 'green' | 'yellow') =>
    wrapped(text, width - 11, '  ').map((line) => `${' '.repeat(9)}${format ? style(format, line) : line}`);
  const heading = (count: number, text: string) => [
    '',
    style('bold', `${numberOf(count).padStart(7)}  ${text}`),
  ];
  const sum = (groups: PlannedGroup[]) => groups.reduce((total, { letters }) => total + letters, 0);
  const { rows: lines } = groupTable([...plan.send, ...plan.notYet, ...plan.uncertain], terminal);
  const rowsOf = (groups: PlannedGroup[]) => groups.flatMap((group) => lines.get(group) ?? []);
  const isRight = ({ kind }: PlannedGroup) => /^missing-(scope|permission)$/.test(kind);
  const blocked = Map.groupBy(plan.notYet, ({ why, todo }) => JSON.stringify([why, todo]));
  return [
    style('bold', `Plan for ${name}: ${countOf(plan.matching, 'letter matches', 'letters match')}`),
    ...heading(sum(plan.send), 'will be sent'),
    ...rowsOf(plan.send),
    ...(plan.send.some(({ kind }) => kind === 'invalid')
      ? say(
          'Those that are invalid are checked first: what their function would still refuse stays a letter.',
        )
      : []),
    ...(plan.send.some(isRight) && report?.reachable
      ? say('The probe cannot tell whether the missing right is granted; the canary will.')
      : []),
    ...(plan.notYet.length > 0
      ? heading(sum(plan.notYet), 'cannot succeed yet, and stay where they are')
      : []),
    ...[...blocked.values()].flatMap((groups) => [
      ...rowsOf(groups),
      ...say(`${groups[0]?.why}`, 'yellow'),
      ...say(`→ ${plain(groups[0]?.todo ?? '')}`, 'green'),
    ]),
    ...(plan.uncertain.length > 0
      ? [
          ...heading(sum(plan.uncertain), 'need your decision, and stay where they are'),
          ...rowsOf(plan.uncertain),
          ...decisions
            .filter(({ kind }) => plan.uncertain.some((group) => group.kind === kind))
            .flatMap(({ why, todo }) => [...say(why), ...say(todo, 'green')]),
        ]
      : []),
    ...(plan.unknownSource > 0
      ? [
          ...heading(plan.unknownSource, 'not from here: they have no queue to go to'),
          ...say(`→ ${terminal.command('letters list --kind unknown-source')}`, 'green'),
        ]
      : []),
    ...(plan.replayedOften > 0
      ? [
          '',
          ...wrapped(
            `${countOf(plan.replayedOften, 'letter')} to send had ${replayedOften} replays or more: ${terminal.command(`letters list --min-replays ${replayedOften}`)}`,
            width,
          ).map((line) => style('yellow', line)),
        ]
      : []),
    '',
    ...probeLines(report, terminal),
    ...remarks(plan, terminal),
  ];
};

/** What a person has to look for, by kind. */
const decisions = [
  {
    kind: 'uncertain',
    why: 'Nobody knows whether the uncertain ones were done, and doing them twice does harm. Check each on the platform.',
    todo: '→ Discard those that were done; --include-uncertain sends those that were not.',
  },
  {
    kind: 'outdated',
    why: 'Something newer may have been done since the outdated messages. Check each on the platform.',
    todo: '→ Discard those that something newer has replaced; --include-uncertain sends the others.',
  },
];

const probeLines = (report: ConnectionReport | undefined, { style }: Terminal): string[] => {
  if (report === undefined)
    return ['The platform was not asked (PLATFORM_URL): the canary will tell what still fails.'];
  if (report.problems.length === 0)
    return [`${style('green', '✓')} The platform answers, and takes the service's credential.`];
  return report.problems.map(({ what }) => `${style('red', '✗')} ${plain(what)}`);
};

export const paceLine = (
  { send }: Pick<Plan, 'send'>,
  { canary: asked, waitSeconds, rate, stopAfter }: RunOptions,
): string => {
  const letters = send.reduce((sum, group) => sum + group.letters, 0);
  const canary = asked === 0 ? 0 : Math.max(asked, send.length);
  const left = Math.max(0, letters - canary);
  const first =
    canary > 0
      ? `${numberOf(Math.min(canary, letters))} first, of each cause at least one, their outcome awaited for up to ${waitSeconds} s`
      : '';
  const then =
    left > 0
      ? `${canary > 0 ? 'then ' : ''}${numberOf(left)} at ${rate} a second (${durationOf(left / rate)})`
      : '';
  return `${[first, then].filter(Boolean).join(', ')}; it stops when ${stopAfter} in a row come back with the same error.`;
};

const durationOf = (seconds: number): string => {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
};

export const canaryLines = (canary: Canary, terminal: Terminal): string[] => {
  const sum = (groups: Group[]) => groups.reduce((total, { letters }) => total + letters, 0);
  const [back, waits] = [sum(canary.cameBack), sum(canary.waits)];
  const through = canary.letters - back - waits - canary.undecided;
  const parts = [
    `${through} went through`,
    ...(back > 0 ? [`${back} came back`] : []),
    ...(waits > 0 ? [`${waits} wait`] : []),
    ...(canary.undecided > 0 ? [`of ${canary.undecided} nothing is known yet`] : []),
  ];
  return [
    `Canary of ${canary.letters}: ${parts.join(', ')} (after ${Math.round(canary.seconds)} s)`,
    ...groupTable([...canary.cameBack, ...canary.waits], terminal).rows.values(),
  ];
};

export const resultLines = (
  { counts, stoppedBecause, backLater = 0 }: Pick<ReplayResult, 'counts' | 'stoppedBecause' | 'backLater'>,
  terminal: Terminal,
): string[] => {
  if (counts === undefined) return [];
  const { style, width } = terminal;
  const line = (count: number, text: string) =>
    count > 0 ? wrapped(`${numberOf(count).padStart(7)}  ${text}`, width, ' '.repeat(9)) : [];
  const isWell = stoppedBecause === undefined && counts.through === counts.sent && openOf(counts) === 0;
  return [
    '',
    ...(stoppedBecause === undefined
      ? [isWell ? style('green', 'Done.') : style('yellow', 'Ended; not all went through.')]
      : wrapped(`Stopped: ${plain(stoppedBecause)}.`, width).map((each) => style('red', each))),
    ...causeLines(counts, terminal),
    ...line(counts.gone, 'were in the queue no longer, or in somebody else’s hands'),
    ...line(
      counts.stillInvalid,
      `were not sent, as their function would still refuse them: ${terminal.command('letters groups --kind invalid')}`,
    ),
    ...line(counts.failed.length, `could not be sent, and stay letters (${counts.failed[0]?.reason})`),
    ...line(
      counts.undeleted.length,
      'were sent, but stay letters as well: replayed again, the ledger knows them as duplicates',
    ),
    ...line(backLater, 'letters show up again by themselves when their lease is over'),
  ];
};

const openOf = ({ setAside, notTried, gone, failed, undeleted }: ReplayCounts): number =>
  setAside + notTried + gone + failed.length + undeleted.length;

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
  const say = (text: string) =>
    wrapped(text, width - 9, '  ').map((line) => style('green', `${' '.repeat(9)}${line}`));
  return [
    style('dim', header),
    ...byCause.flatMap((cause, at) => [rows[at] ?? '', ...nextOf(cause, terminal).flatMap(say)]),
    ...(cameBackAs.length > 0 ? ['', 'They came back as:'] : []),
    ...cameBackAs.flatMap((group) => [
      `${numberOf(group.letters).padStart(7)}  ${group.kind}: ${causeText(group)}`,
      ...say(`→ ${plain(group.remedy)}`),
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
    ...(cameBack + setAside > 0 ? [`→ ${command(`letters groups ${causeOptions(cause)}`)}`] : []),
    ...(waits > 0 ? [`→ ${command('waiting')}`] : []),
    ...(unknown > 0 ? [`→ Is its function paused, or dead? ${command('status')}`] : []),
    ...(cameBack + setAside === 0 && notTried > 0
      ? [`→ ${command(`letters replay ${causeOptions(cause)}`)}`]
      : []),
  ];
};
