import type { ConnectionReport } from '../../connection/check.ts';
import { replayedOften } from '../../dead-letters/reading/letter.ts';
import type { Plan, PlannedGroup } from '../../dead-letters/replay/plan.ts';
import type { ReplayResult } from '../../dead-letters/replay/replay.ts';
import type { Canary, RunOptions } from '../../dead-letters/replay/run.ts';
import { plain } from '../../redaction/printable.ts';
import { groupTable, remarks } from './letters.ts';
import { countOf, numberOf, wrapped } from './table.ts';
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
    style(
      'bold',
      `Plan for ${name}: ${countOf(plan.matching, 'letter matches', 'letters match')} of ${numberOf(plan.seen)}`,
    ),
    ...heading(sum(plan.send), 'will be sent'),
    ...rowsOf(plan.send),
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
    ...remarks(plan),
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

export const paceLine = (letters: number, { canary, waitSeconds, rate, stopAfter }: RunOptions): string => {
  const left = Math.max(0, letters - canary);
  const first =
    canary > 0
      ? `${numberOf(Math.min(canary, letters))} first, their outcome awaited for up to ${waitSeconds} s`
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
  const back = canary.cameBack.reduce((sum, { letters }) => sum + letters, 0);
  const through = canary.letters - back - canary.undecided;
  const parts = [
    `${through} went through`,
    ...(back > 0 ? [`${back} came back`] : []),
    ...(canary.undecided > 0 ? [`of ${canary.undecided} nothing is known yet`] : []),
  ];
  return [
    `Canary of ${canary.letters}: ${parts.join(', ')} (after ${Math.round(canary.seconds)} s)`,
    ...groupTable(canary.cameBack, terminal).rows.values(),
  ];
};

export const resultLines = (result: ReplayResult, { style, ...terminal }: Terminal): string[] => {
  const { counts, stoppedBecause, backLater } = result;
  if (counts === undefined) return [];
  const through = counts.sent - counts.cameBack;
  const line = (count: number, text: string) =>
    count > 0 ? [`${numberOf(count).padStart(7)}  ${text}`] : [];
  return [
    '',
    ...(stoppedBecause === undefined
      ? [style('green', 'Done.')]
      : wrapped(`Stopped: ${plain(stoppedBecause)}.`, terminal.width).map((each) => style('red', each))),
    ...line(
      through,
      counts.settled
        ? 'were sent and went through: done, unless done before, or something newer was'
        : 'were sent and have not come back so far; some may still wait on their queues',
    ),
    ...line(counts.cameBack, 'were sent and came back as letters:'),
    ...groupTable(counts.cameBackAs, { style, ...terminal }).rows.values(),
    ...line(counts.setAside, 'were not sent, as the canary of their group came back'),
    ...line(counts.notSent, 'were not sent'),
    ...line(counts.failed.length, `could not be sent, and stay letters (${counts.failed[0]?.reason})`),
    ...line(
      counts.undeleted.length,
      'were sent, but stay letters as well: replayed again, the ledger knows them as duplicates',
    ),
    ...line(backLater, 'letters show up again by themselves when their lease is over'),
  ];
};
