import {
  isCorrectedFirst,
  isProbed,
  lacksRight,
  needsDecision,
  replayedOften,
  type UndecidedKind,
  undecidedKinds,
} from '../../message/failure-kinds.ts';
import { networkRemedyIn } from '../../message/network-errors.ts';
import { plain } from '../../runtime/privacy/printable.ts';
import type { ConnectionReport } from '../../stage/connection/check.ts';
import type { PausedFunction } from '../../stage/pause.ts';
import type { Plan, PlannedGroup } from '../messages/replay/plan.ts';
import type { ReplayResult } from '../messages/replay/replay.ts';
import type { Canary, CauseCounts, OutcomeCounts, ReplayCounts, RunOptions } from '../messages/replay/run.ts';
import { ageOf, countOf, durationOf, numberOf } from './format.ts';
import {
  causeColumns,
  crosswalkSteps,
  grantsView,
  groupTable,
  matchText,
  maxGrants,
  origin,
  remarksOnLetters,
  revealCommand,
} from './letters.ts';
import { isPaused, pausedNotes } from './pause.ts';
import { type Block, href, type Note, part, section, type Tone, table, text, type View } from './view.ts';

const sum = (groups: Pick<PlannedGroup, 'letters'>[]): number =>
  groups.reduce((total, { letters }) => total + letters, 0);

/** Letters of a plan with the same action for the same reason. Consecutive sections may have the same title. */
const planSection = (
  [one, many]: [one: string, many: string],
  groups: PlannedGroup[],
  ...notes: View
): Block => section(countOf(sum(groups), one, many), groupTable(many, groups), ...notes);

/** Undefined: nobody knows the platform's address. */
type ProbeReport<Report = ConnectionReport> = Report | 'not asked' | undefined;

const planSections = (plan: Plan, report: ProbeReport, isAgreed: boolean): View => {
  const { send, notChecked, uncertain, unknownSource } = plan;
  const isUnderRows = !isAgreed && send.some(isChecked);
  const isRightMissing = send.some(({ kind }) => lacksRight(kind));
  const blocked = Map.groupBy(plan.notYet, ({ why, todo }) => JSON.stringify([why, todo]));
  return [
    section(
      `${numberOf(sum(send))} will be sent`,
      isUnderRows && {
        tone: 'plain',
        text: 'Before you agree, check that the cause of each is gone, as its row says.',
      },
      groupTable('will be sent', send, isUnderRows ? { under: beforeAgreeing } : {}),
      isRightMissing &&
        typeof report === 'object' &&
        report.reachable && {
          tone: 'plain',
          text: 'The probe cannot tell whether the missing right is granted; the canary will.',
        },
    ),
    ...[...blocked.values()].map((groups) =>
      planSection(
        ['cannot succeed yet, and stays where it is', 'cannot succeed yet, and stay where they are'],
        groups,
        { tone: 'warn', text: sentenceOf(groups[0]?.why ?? '') },
        { tone: 'todo', text: plain(groups[0]?.todo ?? '') },
        ...groups.flatMap((group) => (group.todo === group.remedy ? grantsOfGroup(group) : [])),
        editLinks(groups),
        ...groups.slice(0, 1).flatMap(({ cause, error }) => crosswalkSteps(error, { cause })),
      ),
    ),
    notChecked.length > 0 &&
      planSection(
        ['is not checked yet, and stays where it is', 'are not checked yet, and stay where they are'],
        notChecked,
        {
          tone: 'plain',
          text: 'There are too many letters to check them all: this plan checked only some of those that may fail again.',
        },
        { lead: 'To check all of them', command: `letters replay --kind ${kindsIn(notChecked).join(',')}` },
        {
          action: '/replay',
          hidden: { kind: kindsIn(notChecked) },
          isHarmless: true,
          buttons: [{ text: `Check ${countOf(sum(notChecked), 'letter')}` }],
        },
      ),
    uncertain.length > 0 &&
      planSection(
        ['needs your decision, and stays where it is', 'need your decision, and stay where they are'],
        uncertain,
        ...decisionNotes(uncertain),
      ),
    unknownSource > 0 &&
      section(
        countOf(
          unknownSource,
          'is not from this deployment: it has no queue to go to',
          'are not from this deployment: they have no queue to go to',
        ),
        { lead: 'Which they are, and what to do', command: 'letters groups --kind unknown-source' },
        { links: [{ text: 'See them', to: href('/letters', { kind: 'unknown-source' }) }] },
      ),
  ];
};

const kindsIn = (groups: readonly PlannedGroup[]): string[] => [...new Set(groups.map(({ kind }) => kind))];

const sentenceOf = (why: string): string => why.charAt(0).toUpperCase() + why.slice(1);

/** The probe sees of the others whether their cause is gone; but not of what the functions' own network meets. */
const isChecked = ({ kind, error }: PlannedGroup): boolean =>
  !isProbed(kind) || networkRemedyIn(error) !== undefined;

/** What people have to do before the letters are sent. */
const beforeAgreeing = (group: PlannedGroup): View =>
  isChecked(group) ? [{ tone: 'todo', text: plain(group.remedy) }, ...grantsOfGroup(group)] : [];

const grantsOfGroup = (group: PlannedGroup): View => [
  ...grantsView(group),
  group.grants.length > maxGrants && {
    lead: 'To list all',
    command: `letters groups --cause ${group.cause} --json`,
  },
];

/** Letters that come back unless somebody has removed their cause, which no probe can see. */
export const stillFailing = (groups: readonly PlannedGroup[]): View =>
  [
    ...Map.groupBy(
      groups.filter(({ kind }) => !isProbed(kind) && !needsDecision(kind)),
      ({ kind }) => kind,
    ),
  ].map(([kind, each]) => ({
    tone: 'warn',
    text: `${countOf(
      sum(each),
      'letter comes',
      'letters come',
    )} back if ${each.length === 1 ? 'the cause is' : 'their causes are'} still there (${kind}).`,
  }));

/** To correct what is invalid. */
const editLinks = (groups: PlannedGroup[]): Block => ({
  links: groups
    .filter(({ kind }) => isCorrectedFirst(kind))
    .map(({ cause, letters, function: name }) => ({
      text: `Edit ${countOf(letters, 'letter')} of ${name}`,
      to: href('/edit', { cause }),
      isChange: true,
    })),
});

type Decision = { why: string; todo: string; link: string; look(cause: string): string; lead: string };

const decisions: Record<UndecidedKind, Decision> = {
  uncertain: {
    why: 'It is not known whether the uncertain messages were done, and doing them twice does harm. Check each on the platform.',
    todo: 'Look on the platform, discard those that were done, and send the others.',
    link: 'Look on the platform',
    look: (cause) => `letters verify --cause ${cause}`,
    lead: 'Once those that were done are discarded',
  },
  outdated: {
    why: 'Something newer may have been done after the outdated messages. Check each on the platform.',
    todo: 'Compare them with the platform, discard those that something newer has replaced, and send the others.',
    link: 'Compare, then decide',
    look: (cause) => revealCommand(`--cause ${cause} `),
    lead: 'Once those that something newer has replaced are discarded',
  },
};

/** What a person has to check, by kind, and what sends letters of one cause once they are checked. */
const decisionNotes = (uncertain: PlannedGroup[]): View =>
  undecidedKinds.flatMap((kind): View => {
    const groups = uncertain.filter((group) => group.kind === kind);
    const { why, todo, link, look, lead } = decisions[kind];
    if (groups.length === 0) return [];
    return [
      { tone: 'plain', text: why },
      { tone: 'todo', text: todo },
      { links: [{ text: link, to: href('/uncertain', { kind }) }] },
      ...groups.flatMap(
        ({ cause }): View => [
          { lead: 'To look', command: look(cause) },
          {
            lead,
            command: `letters replay --cause ${cause} --include-uncertain`,
          },
        ],
      ),
    ];
  });

const probeNotes = (report: ProbeReport<Pick<ConnectionReport, 'problems' | 'functionsReachedMs'>>): View => {
  if (report === 'not asked')
    return [{ tone: 'plain', text: 'The platform was not asked. The canary will show what still fails.' }];
  if (report === undefined)
    return [
      {
        tone: 'plain',
        text: 'The platform was not asked, because PLATFORM_URL is not set. The canary will show what still fails.',
      },
    ];
  const { problems, functionsReachedMs } = report;
  if (functionsReachedMs !== undefined)
    return [
      {
        tone: 'warn',
        text: `The platform does not answer this machine, but answered the functions ${ageOf(functionsReachedMs)} ago. Not checked: whether it accepts the service’s credential, and still refuses what it refused. The canary shows it.`,
      },
    ];
  if (problems.length === 0)
    return [{ tone: 'good', text: "The platform answers, and accepts the service's credential." }];
  return problems.map(({ what }) => ({ tone: 'bad', text: plain(what) }));
};

export const runSentence = (
  { send }: Pick<Plan, 'send'>,
  { canary: asked, waitSeconds, rate, stopAfter }: Omit<RunOptions, 'rate'> & { rate?: number },
): string => {
  const letters = sum(send);
  const canary = asked === 0 ? 0 : Math.max(asked, send.length);
  const left = Math.max(0, letters - canary);
  const outcomes = `waits up to ${waitSeconds} s for ${letters === 1 ? 'its outcome' : 'their outcomes'}`;
  if (canary > 0 && left === 0) return `Sends ${countOf(letters, 'letter')}, and ${outcomes}.`;
  const first =
    canary > 0 ? `Sends ${numberOf(canary)} first, at least one of each cause, and ${outcomes}` : '';
  const then =
    left > 0
      ? `${canary > 0 ? 'then sends ' : 'Sends '}${numberOf(left)}${rate === undefined ? '' : ` at ${rate} a second (${durationOf(left / rate)})`}`
      : '';
  return `${[first, then].filter(Boolean).join(', ')}. Stops when ${stopAfter} in a row come back with the same error.`;
};

const canarySentence = ({ letters, cameBack, waits, undecided, seconds }: Canary): string => {
  const [back, waiting] = [sum(cameBack), sum(waits)];
  const parts = [
    `${letters - back - waiting - undecided} went through`,
    ...(back > 0 ? [`${back} came back`] : []),
    ...(waiting > 0 ? [`${waiting} wait`] : []),
    ...(undecided > 0 ? [`${undecided} have no outcome yet`] : []),
  ];
  return `Canary of ${letters}: ${parts.join(', ')} (after ${Math.round(seconds)} s)`;
};

/** The outcomes so far, and about how long the sending of the rest takes. */
export const outcomesText = (counts: OutcomeCounts, { rate }: Pick<RunOptions, 'rate'>): string => {
  const { sent, through, cameBack, waits, unknown, setAside, notTried } = counts;
  const parts = [
    `${numberOf(through)} went through`,
    ...(cameBack > 0 ? [`${numberOf(cameBack)} came back`] : []),
    ...(waits > 0 ? [countOf(waits, 'waits', 'wait')] : []),
    ...(unknown > 0 ? [countOf(unknown, 'has no outcome yet', 'have no outcome yet')] : []),
  ];
  const rest = [
    ...(setAside > 0
      ? [`${countOf(setAside, 'is', 'are')} set aside, because the canary of the cause failed`]
      : []),
    ...(notTried > 0
      ? [`${countOf(notTried, 'was', 'were')} not sent yet (${durationOf(notTried / rate)})`]
      : []),
  ];
  return `${[`Of ${numberOf(sent)} sent, ${parts.join(', ')}`, ...rest].join('; ')}.`;
};

type EndCounts = Pick<ReplayResult, 'stoppedBecause' | 'backLater'> & { counts: ReplayCounts };

/** How the plan's number became that of what was sent. Nothing, if they are the same. */
const differenceText = ({ counts }: Pick<EndCounts, 'counts'>): string => {
  const { sent, setAside, notTried, gone, stillInvalid, failed } = counts;
  const rest: [count: number, one: string, many?: string][] = [
    [
      setAside,
      'was set aside, because the canary of its cause failed',
      'were set aside, because the canary of their cause failed',
    ],
    [notTried, 'was not tried', 'were not tried'],
    [gone, 'was gone', 'were gone'],
    [stillInvalid, 'would still be refused'],
    [failed.length, 'could not be sent'],
  ];
  const planned = rest.reduce((total, [count]) => total + count, sent);
  if (planned === sent) return '';
  const parts = rest.flatMap(([count, one, many = one]) => (count > 0 ? [countOf(count, one, many)] : []));
  return `Of ${countOf(planned, 'letter')} in the plan, ${countOf(sent, 'was sent', 'were sent')}; ${parts.join(', ')}.`;
};

export const endNote = ({ counts, stoppedBecause }: EndCounts): Note => {
  if (stoppedBecause !== undefined) return { tone: 'bad', text: `Stopped: ${plain(stoppedBecause)}.` };
  const { sent, through, setAside, notTried, gone, failed, undeleted } = counts;
  return through === sent && setAside + notTried + gone + failed.length + undeleted.length === 0
    ? { tone: 'good', text: 'Done.' }
    : { tone: 'warn', text: 'Ended. Not all letters went through.' };
};

/** Further results for letters. */
export const resultNotes = ({ counts, backLater = 0 }: EndCounts): View => {
  const { gone, stillInvalid, failed, undeleted } = counts;
  const notes: { count: number; tone: Tone; one: string; many: string; command?: string }[] = [
    {
      count: gone,
      tone: 'plain',
      one: 'letter was no longer in the queue, or another operator had it in hand',
      many: 'letters were no longer in the queue, or another operator had them in hand',
    },
    {
      count: stillInvalid,
      tone: 'warn',
      command: 'letters groups --kind invalid',
      one: 'letter was not sent, because its function would still refuse it',
      many: 'letters were not sent, because their functions would still refuse them',
    },
    {
      count: failed.length,
      tone: 'bad',
      one: `letter could not be sent, and stays a letter (${failed[0]?.reason})`,
      many: `letters could not be sent, and stay letters (${failed[0]?.reason})`,
    },
    {
      count: undeleted.length,
      tone: 'warn',
      one: 'letter was sent, but stays a letter as well. If you replay it again, the ledger recognizes it as a duplicate',
      many: 'letters were sent, but stay letters as well. If you replay them again, the ledger recognizes them as duplicates',
    },
    {
      count: backLater,
      tone: 'plain',
      one: 'letter becomes visible again by itself when its lease ends',
      many: 'letters become visible again by themselves when their lease ends',
    },
  ];
  return notes.flatMap(({ count, tone, one, many, command }) =>
    count > 0 ? [{ tone, text: countOf(count, one, many), ...(command && { command }) }] : [],
  );
};

/** What is sent to a function that gets no messages stays on its queue. */
export const pausedView = (paused: readonly PausedFunction[] = []): View =>
  paused.filter(isPaused).flatMap((each) => [
    ...pausedNotes(each),
    {
      tone: 'warn',
      text: `The letters of ${each.function} would wait on its queue, and have no outcome until it is resumed.`,
    },
  ]);

type PlanContext = {
  /** The functions among those it would send to that get no messages. */
  paused?: readonly PausedFunction[] | undefined;
  /** What was to be done before is over. */
  isAgreed?: boolean;
};

export const planView = (
  plan: Plan,
  report: ProbeReport,
  { paused, isAgreed = false }: PlanContext = {},
): View => [
  { heading: matchText(plan.matching) },
  ...planSections(plan, report, isAgreed),
  part(...pausedView(paused)),
  part(
    plan.replayedOften > 0 && {
      tone: 'warn',
      text: `${countOf(plan.replayedOften, 'letter')} to send had ${replayedOften} replays or more`,
      command: `letters list --min-replays ${replayedOften}`,
    },
    ...probeNotes(report),
    ...remarksOnLetters(plan),
  ),
];

export const canaryView = (canary: Canary): View => [
  text(canarySentence(canary)),
  groupTable('What came back or waits', [...canary.cameBack, ...canary.waits]),
];

const unsent: Partial<Record<ReplayResult['ended'], string>> = {
  planned: 'This was only the plan.',
  nothing: 'There is nothing to send.',
  declined: 'Nothing was changed.',
};

/** Columns that are shown if one of their numbers is not zero. */
const unlucky: [title: string, count: (cause: CauseCounts) => number][] = [
  ['Came back', ({ cameBack }) => cameBack],
  ['Waits', ({ waits }) => waits],
  ['Unknown', ({ unknown }) => unknown],
  ['Not tried', ({ setAside, notTried }) => setAside + notTried],
];

/** What went through needs nobody. */
const unluckyFirst = (one: CauseCounts, other: CauseCounts): number => unluckyIn(other) - unluckyIn(one);

const unluckyIn = (cause: CauseCounts): number =>
  unlucky.reduce((total, [, count]) => total + count(cause), 0);

type ReplayEnd = Pick<ReplayResult, 'counts' | 'ended' | 'stoppedBecause' | 'backLater'>;

/**
 * The end of a run, and for each cause the letters that were sent, went through, came back and were not tried. `again`: the command that
 * sends what was not tried.
 */
export const resultView = ({ counts, ended, ...more }: ReplayEnd, again?: string): View => {
  if (counts === undefined) return [text(unsent[ended])];
  const { byCause, cameBackAs, waitFor } = counts;
  const difference = differenceText({ counts });
  return [
    endNote({ counts, ...more }),
    difference !== '' && text(difference),
    table('The outcome of each cause', byCause.toSorted(unluckyFirst), {
      Sent: ({ sent }) => sent,
      Through: ({ through }) => through,
      ...Object.fromEntries(unlucky.filter(([, count]) => byCause.some((cause) => count(cause) > 0))),
      ...origin,
      ...causeColumns,
    }),
    ...nextSteps(counts, { isStopped: more.stoppedBecause !== undefined, again }),
    cameBackAs.length > 0 &&
      section(
        'They came back as:',
        groupTable('They came back as', cameBackAs),
        ...remediesOf(cameBackAs),
        ...cameBackAs.flatMap(grantsOfGroup),
      ),
    waitFor.length > 0 && section('They wait for:', groupTable('They wait for', waitFor)),
    ...resultNotes({ counts, ...more }),
  ];
};

/** Each once. */
const remediesOf = (groups: readonly { remedy: string }[]): Note[] =>
  [...new Set(groups.map(({ remedy }) => remedy))].map((remedy) => ({ tone: 'todo', text: remedy }));

/** One command for each thing to do, however many causes it is about. */
const nextSteps = (
  { byCause, cameBackAs }: ReplayCounts,
  { isStopped, again }: { isStopped: boolean; again: string | undefined },
): View => {
  const back = byCause.filter(
    ({ setAside, cause: id }) => setAside > 0 || cameBackAs.some(({ cause }) => cause === id),
  );
  const [waiting, unknown, left] = [
    byCause.filter(({ waits }) => waits > 0),
    byCause.filter((cause) => cause.unknown > 0),
    byCause.filter(({ notTried }) => notTried > 0),
  ];
  const numberIn = (causes: readonly CauseCounts[], count: (cause: CauseCounts) => number): string =>
    numberOf(causes.reduce((total, cause) => total + count(cause), 0));
  const unknownText = isStopped
    ? 'had no outcome yet when the run stopped'
    : 'have no outcome yet: it may be paused, or fail';
  return [
    back.length > 0 && {
      lead: 'What to do about them',
      command: `letters groups --cause ${back.map(({ cause }) => cause).join(',')}`,
    },
    waiting.length > 0 && {
      tone: 'plain',
      to: href('/waiting', { function: namesOf(waiting) }),
      text: `${numberIn(waiting, ({ waits }) => waits)} of ${namesOf(waiting).join(', ')} wait`,
      command: 'waiting',
    },
    unknown.length > 0 && {
      tone: 'warn',
      to: '/',
      command: 'status',
      text: `${numberIn(unknown, (cause) => cause.unknown)} of ${namesOf(unknown).join(', ')} ${unknownText}`,
    },
    left.length > 0 &&
      again !== undefined && {
        lead: `To send the ${numberIn(left, ({ notTried }) => notTried)} that were not tried`,
        command: again,
      },
    left.some((cause) => cause.unknown > 0) &&
      again !== undefined && {
        lead: 'To send them even if the canary has no outcome yet',
        command: [again, '--continue-undecided'].join(' '),
      },
  ];
};

const namesOf = (causes: readonly CauseCounts[]): string[] => [
  ...new Set(causes.map(({ function: name }) => name)),
];
