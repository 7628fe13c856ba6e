import type { ConnectionReport } from '../connection/check.ts';
import type { Plan, PlannedGroup } from '../dead-letters/replay/plan.ts';
import type { ReplayResult } from '../dead-letters/replay/replay.ts';
import type { Canary, ReplayCounts, RunOptions } from '../dead-letters/replay/run.ts';
import { replayedOften } from '../desk/letter-kinds.ts';
import { plain } from '../redaction/printable.ts';
import { countOf, durationOf, numberOf } from './amounts.ts';
import { type Note, noteIf, type Tone } from './view.ts';

/** Letters of a plan to which the same happens for the same reason. Sections that follow each other may have the same title. */
export type PlanSection = { count: number; title: string; groups: PlannedGroup[]; notes: Note[] };

const sum = (groups: Pick<PlannedGroup, 'letters'>[]): number =>
  groups.reduce((total, { letters }) => total + letters, 0);

/** @param includer what sends letters that need a decision: the option of the command, by its name. */
export const planSections = (
  plan: Pick<Plan, 'send' | 'notYet' | 'uncertain' | 'unknownSource'>,
  report: Pick<ConnectionReport, 'reachable'> | undefined,
  includer = 'a replay that includes uncertain letters',
): PlanSection[] => {
  const section = (title: string, groups: PlannedGroup[], notes: Note[]): PlanSection => ({
    ...{ count: sum(groups), title, groups, notes },
  });
  const blocked = Map.groupBy(plan.notYet, ({ why, todo }) => JSON.stringify([why, todo]));
  return [
    section('will be sent', plan.send, sendNotes(plan.send, report)),
    ...[...blocked.values()].map((groups) =>
      section('cannot succeed yet, and stay where they are', groups, [
        { tone: 'warn', text: `${groups[0]?.why}` },
        { tone: 'todo', text: plain(groups[0]?.todo ?? '') },
      ]),
    ),
    ...(plan.uncertain.length > 0
      ? [
          section(
            'need your decision, and stay where they are',
            plan.uncertain,
            decisionNotes(plan.uncertain, includer),
          ),
        ]
      : []),
    ...(plan.unknownSource > 0
      ? [
          {
            ...section('not from this deployment: they have no queue to go to', [], []),
            count: plan.unknownSource,
          },
        ]
      : []),
  ];
};

const sendNotes = (send: PlannedGroup[], report: Pick<ConnectionReport, 'reachable'> | undefined): Note[] => [
  ...noteIf(
    send.some(({ kind }) => kind === 'invalid'),
    'plain',
    'Invalid messages are checked first. If their function would still refuse them, they stay letters.',
  ),
  ...noteIf(
    send.some(({ kind }) => /^missing-(scope|permission)$/.test(kind)) && report?.reachable === true,
    'plain',
    'The probe cannot tell whether the missing right is granted; the canary will.',
  ),
];

/** What a person has to look for, by kind. */
const decisionNotes = (uncertain: PlannedGroup[], includer: string): Note[] =>
  [
    {
      kind: 'uncertain',
      why: 'It is not known whether the uncertain messages were done, and doing them twice does harm. Check each on the platform.',
      todo: `Discard those that were done; ${includer} sends those that were not.`,
    },
    {
      kind: 'outdated',
      why: 'Something newer may have been done after the outdated messages. Check each on the platform.',
      todo: `Discard those that something newer has replaced; ${includer} sends the others.`,
    },
  ]
    .filter(({ kind }) => uncertain.some((group) => group.kind === kind))
    .flatMap(({ why, todo }): Note[] => [
      { tone: 'plain', text: why },
      { tone: 'todo', text: todo },
    ]);

/** Without the full stop, as more may follow. Undefined: there are none. */
export const replayedOftenText = (plan: Pick<Plan, 'replayedOften'>): string | undefined =>
  plan.replayedOften > 0
    ? `${countOf(plan.replayedOften, 'letter')} to send had ${replayedOften} replays or more`
    : undefined;

export const probeNotes = (report: Pick<ConnectionReport, 'problems'> | undefined): Note[] => {
  if (report === undefined)
    return [
      {
        tone: 'plain',
        text: 'The platform was not asked, because PLATFORM_URL is not set. The canary will show what still fails.',
      },
    ];
  if (report.problems.length === 0)
    return [{ tone: 'good', text: "The platform answers, and accepts the service's credential." }];
  return report.problems.map(({ what }) => ({ tone: 'bad', text: plain(what) }));
};

export const runSentence = (
  { send }: Pick<Plan, 'send'>,
  { canary: asked, waitSeconds, rate, stopAfter }: Omit<RunOptions, 'rate'> & { rate?: number },
): string => {
  const letters = sum(send);
  const canary = asked === 0 ? 0 : Math.max(asked, send.length);
  const left = Math.max(0, letters - canary);
  const first =
    canary > 0
      ? `Sends ${numberOf(Math.min(canary, letters))} first, at least one of each cause, and waits up to ${waitSeconds} s for their outcomes`
      : '';
  const then =
    left > 0
      ? `${canary > 0 ? 'then sends ' : 'Sends '}${numberOf(left)}${rate === undefined ? '' : ` at ${rate} a second (${durationOf(left / rate)})`}`
      : '';
  return `${[first, then].filter(Boolean).join(', ')}. Stops when ${stopAfter} in a row come back with the same error.`;
};

export const canarySentence = ({ letters, cameBack, waits, undecided, seconds }: Canary): string => {
  const [back, waiting] = [sum(cameBack), sum(waits)];
  const parts = [
    `${letters - back - waiting - undecided} went through`,
    ...(back > 0 ? [`${back} came back`] : []),
    ...(waiting > 0 ? [`${waiting} wait`] : []),
    ...(undecided > 0 ? [`${undecided} have no outcome yet`] : []),
  ];
  return `Canary of ${letters}: ${parts.join(', ')} (after ${Math.round(seconds)} s)`;
};

type Ended = Pick<ReplayResult, 'stoppedBecause' | 'backLater'> & { counts: ReplayCounts };

/** How a replay or an edit ended. */
export const endNote = ({ counts, stoppedBecause }: Ended): Note => {
  if (stoppedBecause !== undefined) return { tone: 'bad', text: `Stopped: ${plain(stoppedBecause)}.` };
  const { sent, through, setAside, notTried, gone, failed, undeleted } = counts;
  return through === sent && setAside + notTried + gone + failed.length + undeleted.length === 0
    ? { tone: 'good', text: 'Done.' }
    : { tone: 'warn', text: 'Ended. Not all letters went through.' };
};

/**
 * What else became of letters; the text goes on after the number of them.
 * @param invalid where the invalid ones are found, as a command to type.
 */
export const resultNotes = (
  { counts, backLater = 0 }: Ended,
  invalid?: string,
): (Note & { count: number })[] => {
  const notes: [count: number, tone: Tone, text: string][] = [
    [counts.gone, 'plain', 'were no longer in the queue, or another operator had them in hand'],
    [
      counts.stillInvalid,
      'warn',
      `were not sent, because their function would still refuse them${invalid === undefined ? '' : `: ${invalid}`}`,
    ],
    [counts.failed.length, 'bad', `could not be sent, and stay letters (${counts.failed[0]?.reason})`],
    [
      counts.undeleted.length,
      'warn',
      'were sent, but stay letters as well. If you replay them again, the ledger recognizes them as duplicates',
    ],
    [backLater, 'plain', 'letters become visible again by themselves when their lease ends'],
  ];
  return notes.flatMap(([count, tone, text]) => (count > 0 ? [{ count, tone, text }] : []));
};
