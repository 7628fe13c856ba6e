import {
  type FailureKind,
  failureKinds,
  grantsOf,
  letterUseOf,
  needsDecision,
  needsPerson,
  type UndecidedKind,
  undecidedKinds,
} from '../../message/failure-kinds.ts';
import { needsNobody, networkRemedyIn } from '../../message/network-errors.ts';
import { plain } from '../../runtime/privacy/printable.ts';
import type { CallCount } from '../../runtime/telemetry/call-usage.ts';
import type { PlatformReach } from '../../runtime/telemetry/platform-reach.ts';
import { type ConnectionReport, minuteOf, skewOf } from '../../stage/connection/check.ts';
import { isRecent } from '../../stage/connection/functions-reach.ts';
import { needsRole } from '../../stage/roles.ts';
import { type DeployedVersion, versionText } from '../../stage/version.ts';
import type { Group } from '../messages/letters/groups.ts';
import type { WaitingGroup } from '../messages/waiting/waiting.ts';
import { periodSeconds } from '../stage-state/metric-counts.ts';
import type { OptionFacts, PaceStatus, QueueStatus, Status } from '../stage-state/status.ts';
import { ageOf, countOf, numberOf, partOf } from './format.ts';
import {
  adviceOf,
  causeText,
  decideActions,
  firstAction,
  kindTone,
  otherLinks,
  outdatedCommands,
  queueNotes,
  remarksOnLetters,
  revealCommand,
} from './letters.ts';
import { isPaused, pausedStep, resumeForm } from './pause.ts';
import {
  type Block,
  type Cell,
  type Figure,
  href,
  list,
  type Note,
  section,
  stepOf,
  type Tone,
  table,
  text,
  type View,
} from './view.ts';
import { canBeWoken, remarksOn, secretsView, waitingGroupTable, waitText, wakeCommands } from './waiting.ts';

/** What an option reports of a stage. */
export type OptionStatus = OptionFacts & {
  /** For “What to do first”. */
  first: View;
  /** Further sections. */
  sections: View;
  /** What could not be read, as a sentence: without it, nobody may say that all is well. */
  unknown?: string;
};

/** The known state of the connection to the platform, without its problems. */
export const connectionNotes = (
  report: ConnectionReport | undefined,
  waiting: readonly WaitingGroup[] = [],
): View =>
  report === undefined
    ? [
        {
          tone: 'plain',
          text: 'The platform was not asked, because its address is not known: PLATFORM_URL is not set.',
        },
      ]
    : [...healthNotes(report, waiting), ...concernNotes(report)];

const healthNotes = (
  report: ConnectionReport,
  waiting: readonly WaitingGroup[],
): [platform: Note, credential: Note, versions: Note] => {
  const { reachable, platform, versions } = report;
  const known = versions.map(({ component, version }) => `${component} ${version}`).join(', ');
  return [
    {
      tone: reachable ? 'good' : 'bad',
      text: `From this machine, the platform ${reachable ? 'answers' : 'does not answer'}: ${platform}`,
    },
    credentialNote(report, waiting),
    {
      tone: versions.every(({ supported }) => supported !== false) ? 'good' : 'bad',
      text: `Versions in use: ${known}`,
    },
  ];
};

/** Reading proves nothing about changes: some platforms accept a key for GET that they refuse for a change. */
const credentialNote = (report: ConnectionReport, waiting: readonly WaitingGroup[]): Note => {
  const { credentialAccepted, isCredentialForbidden, changes } = report;
  const note = (tone: Tone, text: string): Note => ({ tone, text });
  if (credentialAccepted === false) return note('bad', 'It refuses the service’s credential');
  if (changes?.refused === 'yes')
    return note(
      'bad',
      `${credentialAccepted ? 'It accepts the service’s credential for reading, but' : 'It'} has refused it for changes since ${minuteOf(changes.since)}`,
    );
  if (isCredentialForbidden)
    return note(
      'unknown',
      `Not checked whether it accepts the service’s credential, because your role may not read that secret. ${needsRole('operator')}`,
    );
  if (credentialAccepted === undefined)
    return note('unknown', 'It is not known whether it accepts the service’s credential');
  if (changes?.refused === 'untried')
    return note(
      'unknown',
      `It accepts the service’s credential for reading. For changes, it refused the one that the secret held until ${minuteOf(changes.last)}; the new one was not tried yet`,
    );
  const refusedMs = refusedMsAmong(waiting);
  if (refusedMs !== undefined)
    return note(
      'unknown',
      `It accepts the service’s credential now, and refused it to the functions ${ageOf(refusedMs)} ago; messages that wait have not tried it since`,
    );
  if (changes?.refused === 'no')
    return note('good', 'It accepts the service’s credential, and has not refused it for a change lately');
  return note('unknown', 'It accepts the service’s credential for reading. For changes, this is not known');
};

/** When messages that wait were last refused the service's own credential. */
const refusedMsAmong = (waiting: readonly WaitingGroup[]): number | undefined => {
  const refused = waiting.flatMap(({ bySecret = [], mendedMs }) =>
    mendedMs === undefined ? bySecret.filter(({ secret }) => secret.endsWith('/service')) : [],
  );
  return refused.length === 0 ? undefined : Math.max(...refused.map(({ lastMs }) => lastMs));
};

const concernNotes = ({
  clockSkewSeconds = 0,
  ownSkewSeconds,
  authorizationDays,
}: Pick<ConnectionReport, 'clockSkewSeconds' | 'ownSkewSeconds' | 'authorizationDays'>): View => [
  Math.abs(clockSkewSeconds) >= 2 && {
    tone: 'plain',
    text: `Its clock is ${skewOf(clockSkewSeconds)} ${ownSkewSeconds === undefined ? 'ours' : 'AWS’'}`,
  },
  Math.abs(ownSkewSeconds ?? 0) >= 2 && {
    tone: 'plain',
    text: `The clock of this machine is ${skewOf(ownSkewSeconds ?? 0)} AWS’`,
  },
  authorizationDays !== undefined && {
    tone: 'plain',
    text: `A person must authorize again in ${countOf(Math.max(0, authorizationDays ?? 0), 'day')}`,
  },
];

/** What the functions see may differ from what this machine sees: they have a network of their own. */
const reachNote = (reach: PlatformReach | undefined): Note => {
  if (reach === undefined)
    return { tone: 'unknown', text: 'From the functions: connection-check has reported nothing yet' };
  const { isReached, atMs, sinceMs, what } = reach;
  if (!isRecent(reach)) return { tone: 'unknown', text: `From the functions: ${silentText(reach)}` };
  return isReached
    ? { tone: 'good', text: `From the functions, the platform answered ${ageOf(atMs)} ago` }
    : {
        tone: 'bad',
        text: `From the functions, the platform has not answered since ${momentOf(sinceMs)}, last tried ${ageOf(atMs)} ago: ${plain(what)}`,
      };
};

const momentOf = (ms: number): string => minuteOf(new Date(ms).toISOString());

const silentText = ({ atMs }: PlatformReach): string =>
  `connection-check has reported nothing since ${momentOf(atMs)}`;

/** What is wrong with the connection, and whose it is: a difference between this machine and the functions is the network's. */
const connectionProblems = ({
  connection,
  reach,
}: Pick<Status, 'connection' | 'reach'>): ConnectionReport['problems'] => {
  const problems = connection?.problems ?? [];
  if (reach === undefined) return problems;
  if (!isRecent(reach))
    return [
      ...problems,
      {
        what: `It is not known whether the functions reach the platform: ${silentText(reach)}`,
        remedy:
          'Its log says why. If the log has no new lines, its schedule may be off. `npx serverless deploy` restores both.',
      },
    ];
  if (connection === undefined || reach.isReached === connection.reachable) return problems;
  if (reach.isReached)
    return [
      {
        what: 'This machine does not reach the platform, but the functions do: no message waits for it',
        remedy:
          'Check the network of this machine. From here, it is not known whether the credential is accepted.',
      },
    ];
  return [
    {
      what: `The functions have not reached the platform since ${momentOf(reach.sinceMs)}, but this machine does: ${reach.what}`,
      remedy: `Ask the people who run the functions’ network to check subnets, NAT, firewall and DNS, and whether the platform admits the functions’ address.${hasOwnRemedy(reach.remedy) ? ` ${reach.remedy}` : ''}`,
    },
    ...problems,
  ];
};

const hasOwnRemedy = (remedy: string): boolean => remedy !== '' && remedy !== failureKinds.unavailable.remedy;

/** The platform's budget, and what is left of it. */
const windowText = (window: PaceStatus['window']): string => {
  if (window === undefined) return 'The platform’s budget is not known.';
  if (window === 'none') return 'The platform does not report a budget.';
  const { remaining, endsMs, budget, used } = window;
  const renewed = `it is renewed in ${Math.max(0, Math.ceil((endsMs - Date.now()) / 1000))} s`;
  return budget === undefined || used === undefined
    ? `The platform’s budget: ${numberOf(remaining)} credits are left; ${renewed}.`
    : `The platform’s budget: ${numberOf(budget)} credits, of which ${numberOf(used)} (${partOf(used, budget)}) are used; ${renewed}.`;
};

const paceView = ({ window, calls, sinceMs }: PaceStatus): View => {
  if (calls === undefined) return [text(`${windowText(window)} The calls of functions are not known.`)];
  if (calls.length === 0)
    return [text(`${windowText(window)} No function has called the platform since ${hourOf(sinceMs)}.`)];
  const rows = [...Map.groupBy(calls, ({ priority }) => priority)].flatMap(([priority, each]) => [
    { name: priority as string, each },
    ...each.map((one) => ({ name: `  ${one.function}`, each: [one] })),
  ]);
  const sumOf = (each: readonly CallCount[], what: 'calls' | 'refused'): number =>
    each.reduce((sum, one) => sum + one[what], 0);
  return [
    text(windowText(window)),
    table('Calls to the platform', rows, {
      [`Calls since ${hourOf(sinceMs)}`]: ({ name }) => name,
      All: ({ each }) => sumOf(each, 'calls'),
      'Throttled (429)': ({ each }) => ({ count: sumOf(each, 'refused'), of: sumOf(each, 'calls') }),
    }),
  ];
};

/** `12:05 UTC`. */
const hourOf = (ms: number): string => `${new Date(ms).toISOString().slice(11, 16)} UTC`;

const pausesUnknown = 'It is not known whether functions are paused.';

/** Why messages wait, as the functions report it. For functions without a report, the probe of the platform may have found the reason. */
const waitingTexts = ({
  queues,
  connection,
  waiting,
}: Pick<Status, 'queues' | 'connection' | 'waiting'>): string[] => {
  const count = queues.reduce((sum, { inFlight, delayed }) => sum + inFlight + delayed, 0);
  const waitingNow = waiting.reduce((sum, { messages, due, unknown }) => sum + messages - due - unknown, 0);
  const why =
    connection === undefined
      ? 'The cause is not known, because the platform was not asked.'
      : connection.waitingFor
        ? `They wait (${connection.waitingFor.kind}): ${plain(connection.waitingFor.why)}.`
        : 'A probe of the platform found no cause: they are being handled, or are tried again within 30 minutes. If single calls are refused, the log of the function shows why.';
  const others = Math.max(0, count - waitingNow);
  const flying = `${countOf(count, 'message is', 'messages are')} in flight.`;
  if (waiting.length === 0) return count === 0 ? ['Nothing waits.'] : [`${flying} ${why}`];
  return [
    ...remarksOn(waiting),
    ...(others > 0
      ? [
          `${flying} ${countOf(others, 'is', 'are')} being handled, or ${others === 1 ? 'waits' : 'wait'} for the rate limiter.`,
        ]
      : []),
  ];
};

/** The whole status, with the actions for a person first. */
export const statusView = (status: Status<OptionStatus>): View => [
  { title: 'What to do first', isFirst: true, part: firstOf(status, maxCauses) },
  ...sectionsOf(status),
];

type Overview = {
  chart: Block;
  /** Of this console's runs. */
  asking: View;
  /** In the last hour; undefined: unknown. */
  done: number | undefined;
};

/** The console's first screen: each cause is a card, and what needs nobody is one line. */
export const overviewView = (status: Status<OptionStatus>, { chart, asking, done }: Overview): View => {
  const first = firstOf(status, Number.POSITIVE_INFINITY);
  // All is not well while a run waits for a person.
  return [
    { figures: figuresOf(status, done), health: healthOf(status), beside: chart },
    {
      title: 'What to do first',
      isFirst: true,
      part:
        asking.length === 0
          ? first
          : [...asking, ...first.filter((each) => !(each && 'tone' in each && each.tone === 'good'))],
    },
    { fold: sectionsOf(status), summary: 'Platform, pace, queues, versions, and letters by kind' },
  ];
};

/** Where a run of the console ended: a person goes on from there, without a way back. */
export const nextView = (status: Status<OptionStatus>): View => {
  const steps = firstOf(status, Number.POSITIVE_INFINITY);
  return [
    { title: 'What to do next', isFirst: true, part: steps.slice(0, maxNext) },
    ...(steps.length > maxNext ? [{ links: [{ text: `All ${numberOf(steps.length)}`, to: '/' }] }] : []),
  ];
};

const maxNext = 4;

const figuresOf = ({ waiting, letters, pace }: Status<OptionStatus>, done: number | undefined): Figure[] => {
  const messages = waiting.reduce((sum, group) => sum + group.messages, 0);
  const isBlocked = waiting.some(({ kind }) => needsPerson(kind));
  const { calls = [], window, sinceMs } = pace;
  const refused = calls.reduce((sum, each) => sum + each.refused, 0);
  const asked = calls.reduce((sum, each) => sum + each.calls, 0);
  const { budget, used } = typeof window === 'object' ? window : {};
  return [
    {
      label: 'Waiting',
      value: numberOf(messages),
      to: '/waiting',
      ...(isBlocked && { tone: 'bad', note: 'some for a person' }),
    },
    {
      label: 'Letters',
      value: numberOf(letters.matching),
      to: '/letters',
      ...(letters.matching > 0 && { tone: 'bad', note: countOf(letters.groups.length, 'cause') }),
    },
    {
      label: 'Done, last hour',
      value: done === undefined ? '–' : numberOf(done),
      ...(done === undefined && { note: 'not known' }),
    },
    {
      label: 'Throttled (429)',
      value: pace.calls === undefined ? '–' : numberOf(refused),
      note: pace.calls === undefined ? 'not known' : `of ${numberOf(asked)} in ${ageOf(sinceMs)}`,
    },
    budget === undefined || used === undefined
      ? { label: 'Budget used', value: '–', note: window === 'none' ? 'none reported' : 'not known' }
      : { label: 'Budget used', value: partOf(used, budget), note: 'of all credits' },
  ];
};

/** What is fine, in one line, and what is not known. */
const healthOf = ({ connection, waiting, queues, paused, deployed }: Status<OptionStatus>): Note => {
  const notes = connectionNotes(connection, waiting).flatMap((each) =>
    each && 'tone' in each && 'text' in each ? [each as Note] : [],
  );
  const tones: Tone[] = [
    ...notes.map(({ tone }) => tone),
    ...(paused === undefined ? ['unknown' as const] : []),
  ];
  const tone = (['bad', 'unknown'] as const).find((each) => tones.includes(each)) ?? 'good';
  const worst = notes.find((each) => each.tone === tone)?.text ?? '';
  const stopped = paused?.filter(isPaused).length ?? 0;
  return {
    tone,
    to: '/#details',
    text: [
      tone === 'good'
        ? 'The platform answers and accepts the service’s credential'
        : worst.replace(/^It (?!is )/, 'The platform ') || pausesUnknown,
      `${countOf(queues.length - stopped, 'queue')} delivered`,
      ...(deployed?.version === undefined ? [] : [`version ${deployed.version}`]),
    ].join(' · '),
  };
};

const sectionsOf = (status: Status<OptionStatus>): Block[] => {
  const { connection, pace, waiting } = status;
  return [
    section(
      'Platform',
      ...connectionNotes(connection, waiting),
      connection && reachNote(status.reach),
      connection?.scopes && text(`Scopes asked for: ${connection.scopes.join(' ')}`),
    ),
    section('Pace', ...paceView(pace)),
    ...expectedView(status.expected),
    section('Queues', ...queuesView(status)),
    ...status.options.flatMap(({ sections }) => sections.flatMap((each) => each || [])),
    ...(status.deployed === undefined ? [] : [section('Version', ...versionView(status.deployed))]),
    section(
      waitText(waiting.reduce((sum, { messages }) => sum + messages, 0)),
      waitingGroupTable(waiting),
      ...waitingTexts(status).map((each) => text(each)),
      ...(waiting.length === 0 ? [] : [{ lead: 'One by one', command: 'waiting' }, ...wakeCommands(waiting)]),
    ),
    lettersSection(status.letters),
  ];
};

const versionView = (deployed: DeployedVersion): readonly [Note, ...View] => {
  const { version, commit, is, command } = deployed;
  const here = versionText(command);
  if (version === undefined)
    return [
      {
        tone: 'warn',
        text: `What is deployed does not state its version: it was set back by \`serverless rollback\`, or is older than 1.0.0. This command is ${here}`,
      },
      {
        tone: 'todo',
        text: 'Deploy a release again, of 1.0.0 or later. If it is a local stack, end `npm run local`, and start it again.',
      },
    ];
  const there = versionText({ version, commit });
  if (is === 'same') return [{ tone: 'plain', text: `Deployed: ${there}, the version of this command` }];
  const way = { older: 'older than', newer: 'newer than', other: 'on another branch than' }[is];
  return [
    { tone: 'warn', text: `What is deployed, ${there}, is ${way} this command, ${here}` },
    { tone: 'todo', text: plain(versionRemedies[is]) },
  ];
};

const versionRemedies = {
  older:
    'Read CHANGELOG.md, and deploy this version with `npx serverless deploy`. If it is a local stack, end `npm run local`, and start it again.',
  newer: 'Before you change anything, update this checkout: `git pull && npm ci`.',
  other: 'Find out who deployed it, and run the command from that commit.',
};

/** First what stops everything, then what only a person can decide, then the largest causes. */
const firstOf = ({ letters, ...status }: Status<OptionStatus>, most: number): View => {
  const { deployed, paused = [], waiting } = status;
  const { groups } = letters;
  // Larger ones first, and what heals by itself last.
  const causes = groups
    .filter(({ kind }) => !needsDecision(kind))
    .toSorted((one, other) => Number(needsNobody(one)) - Number(needsNobody(other)));
  const all: View = [
    ...(deployed === undefined || deployed.is === 'same' ? [] : [stepOf(versionView(deployed), 'now')]),
    ...blockedView(waiting, connectionProblems(status)),
    ...wakeAllView(waiting),
    ...awayView(status),
    ...unansweredView(status),
    ...paused.map(pausedStep),
    ...overdueSteps(status.expected),
    ...status.options.flatMap(({ first }) => first),
    ...atWorkView(status.atWork ?? []),
    ...(isMoreQueued(letters) ? [stepOf(queueNotes(letters), 'note')] : []),
    ...undecidedView(groups),
    ...replayAllView(groups),
    ...causes.slice(0, most).map((group) => firstOfCause(group, isOneOfMany(groups) && isReplayed(group))),
    ...otherCausesView(causes.slice(most)),
  ];
  if (all.length > 0) return all;
  if (waiting.length > 0) return [text('Nothing: messages that wait continue by themselves.')];
  const unknown = unknownIn(status, letters);
  return unknown === undefined
    ? [{ tone: 'good', text: 'Nothing. All is well.' }]
    : [{ tone: 'unknown', text: `Nothing, as far as is known. ${unknown}` }];
};

/** Why nobody may say that all is well; undefined: all is known. */
const unknownIn = (
  status: Omit<Status<OptionStatus>, 'letters'>,
  letters: Status['letters'],
): string | undefined => {
  const { connection, waiting } = status;
  const unknown = [
    ...status.options.flatMap((each) => each.unknown ?? []),
    ...(letters.unread === undefined ? [] : [letters.unread]),
    ...unrecordedText(status),
  ];
  if (unknown.length > 0) return unknown.join(' ');
  return connection && credentialNote(connection, waiting).tone === 'good' ? undefined : 'See “Platform”.';
};

/** What to do first, as data: what is wrong, what to do about it, and the commands to type. */
export type Todo = { what: string; todo: string[]; commands: string[] };

/** `typed`: a command as it is typed. */
export const todoIn = (status: Status<OptionStatus>, typed: (command: string) => string): Todo[] =>
  firstOf(status, maxCauses).flatMap((block): Todo[] => {
    if (!block) return [];
    const { step, next } = 'step' in block ? block : { step: block, next: [] };
    if (!('tone' in step && 'text' in step) || step.tone === 'good') return [];
    const commands = [step, ...next].flatMap((each) =>
      each && 'command' in each && each.command !== undefined ? typed(each.command) : [],
    );
    const todo = next.flatMap((each) =>
      each && 'tone' in each && 'text' in each && each.tone === 'todo' ? each.text : [],
    );
    return [{ what: step.text, todo, commands }];
  });

/** A person must act now or today, or nobody knows whether that is so. */
export const needsSomebody = ({ letters, ...status }: Status<OptionStatus>): boolean =>
  unknownIn(status, letters) !== undefined ||
  firstOf({ letters, ...status }, Number.POSITIVE_INFINITY).some(
    (block) => block && 'step' in block && ['now', 'today'].includes(block.severity),
  );

const overdueSteps = (look: Status['expected']): View =>
  (look?.things ?? [])
    .filter(({ isOverdue }) => isOverdue)
    .map(({ name, hours, lastMs }) => {
      const since = lastMs === undefined ? 'since sis-relay began to expect it' : `for ${ageOf(lastMs)}`;
      const what: Note = {
        tone: 'bad',
        text: `Nothing has come for ${name} ${since}. Something must come within ${countOf(hours, 'expected hour')}`,
      };
      return stepOf([what, { tone: 'todo', text: 'Ask who runs the student information system.' }], 'now');
    });

/** A look that is older says nothing of now: it is made every 15 minutes. */
const lookedLatelyMs = 3_600_000;

const expectedView = (look: Status['expected']): Block[] => {
  if (look === undefined || look.things.length === 0) return [];
  const isOld = Date.now() - look.atMs > lookedLatelyMs;
  return [
    section(
      'What is expected',
      table('What is expected', look.things, {
        Name: ({ name }) => name,
        'Within, h': ({ hours }) => hours,
        Last: ({ lastMs }) => (lastMs === undefined ? 'never' : { sinceMs: lastMs }),
        State: ({ isOverdue }) => (isOverdue ? { text: 'overdue', tone: 'bad' } : 'in time'),
      }),
      isOld && {
        tone: 'warn',
        text: `This is ${ageOf(look.atMs)} old: the schedule of dead-letter-replay does not run`,
      },
    ),
  ];
};

const maxCauses = 3;

/** The smaller causes, which are shown elsewhere. */
const otherCausesView = (groups: readonly Group[]): View => {
  if (groups.length === 0) return [];
  const moreCauses = `${countOf(groups.length, 'more cause', 'more causes')} of ${countOf(lettersOf(groups), 'letter')}`;
  return [
    text(`And ${moreCauses}:`),
    list(groups.slice(0, maxOthers).map(causeLine)),
    { lead: 'All causes, and what to do', command: 'letters groups' },
    { links: [{ text: `See ${moreCauses}`, to: '/causes' }] },
  ];
};

const maxOthers = 30;

const causeLine = (group: Group): string => {
  const { letters, kind, function: name } = group;
  return `${countOf(letters, 'letter')} of ${name || 'no function'} (${kind}): ${causeText(group)}`;
};

const lettersOf = (groups: readonly Group[]): number => groups.reduce((sum, { letters }) => sum + letters, 0);

/** What can be looked up, and what cannot. */
const undecidedNotes: Record<
  UndecidedKind,
  { question: [one: string, many: string]; text: string; commands: View }
> = {
  uncertain: {
    question: ['was it done', 'were they done'],
    text: 'Doing them twice does harm',
    commands: [
      { lead: 'To look on the platform', command: 'letters verify' },
      { lead: 'For those that stay unclear', command: revealCommand('') },
    ],
  },
  outdated: {
    question: ['is something newer there', 'is something newer there'],
    text: 'They are older than the ledger remembers',
    commands: outdatedCommands('--kind outdated'),
  },
};

const undecidedView = (groups: readonly Group[]): View =>
  undecidedKinds.flatMap((each): View => {
    const undecided = groups.filter(({ kind }) => kind === each);
    const letters = lettersOf(undecided);
    if (letters === 0) return [];
    const { question, text: why, commands } = undecidedNotes[each];
    const of = [...new Set(undecided.map(({ function: name }) => name))];
    const title = `${countOf(letters, 'letter')}${of.length > maxNamed ? '' : ` of ${of.join(', ')}`}: ${question[letters === 1 ? 0 : 1]}?`;
    const note: Note = { tone: 'bad', text: `${title} (${each})`, to: href('/uncertain', { kind: each }) };
    return [
      stepOf([note, ...commands, ...decideActions(each, { letters, which: { kind: each } })], 'today', {
        title,
        text: `${why} (${each})`,
        whom: harmText(undecided),
      }),
    ];
  });

/** More functions would fill the line. */
const maxNamed = 3;

/** What the probe found, and what messages wait for until a person acts: causes with the same remedy are one. */
export const blockedView = (
  waiting: readonly WaitingGroup[],
  problems: ConnectionReport['problems'],
): View => {
  const blocked = Map.groupBy(
    waiting.filter(
      ({ kind, error }) => needsPerson(kind as FailureKind) || networkRemedyIn(error) !== undefined,
    ),
    // Of several secrets, some may be changed already.
    ({ remedy, bySecret = [], mendedMs }) =>
      bySecret.length > 1 && mendedMs !== undefined ? `changed: ${remedy}` : remedy,
  );
  const found = Map.groupBy(problems, ({ remedy }) => remedy);
  return [...new Set([...found.keys(), ...blocked.keys()])].flatMap((key): View => {
    const groups = blocked.get(key) ?? [];
    const [group] = groups;
    const texts = found.get(key)?.map(({ what }) => what) ?? [group?.error ?? ''];
    const what = plain(texts.join('; ').replace(/\.$/, ''));
    // A probe that still meets it knows better.
    const mendedMs = groups.every((each) => each.mendedMs !== undefined) ? group?.mendedMs : undefined;
    if (mendedMs !== undefined && !found.has(key)) return [mendedView(groups, mendedMs)];
    const todo: Note = { tone: 'todo', text: plain(group?.remedy ?? key) };
    if (group === undefined) return [stepOf([{ tone: 'bad', text: what }, todo], 'now')];
    return [
      stepOf(
        [
          { tone: 'bad', to: waitingScreen(groups), text: `${what}. ${blockedText(groups)}` },
          todo,
          ...secretsView(groups, [
            groups.some(canBeWoken) && { lead: 'Once the cause is gone', command: wakeCommand(groups) },
            // To wake what waits before the cause is mended changes nothing: that screen says first what to do.
            { links: [{ text: `What to do about ${what}`, short: 'What to do', to: waitingScreen(groups) }] },
          ]),
        ],
        'now',
        { title: what, text: blockedText(groups) },
      ),
    ];
  });
};

/** A short outage heals by itself. */
const awayMs = 30 * 60_000;

/** That the whole platform does not answer has its own line, so that nobody looks for the fault of one part. */
const isAllAway = ({ connection, reach }: Pick<Status, 'connection' | 'reach'>): boolean =>
  connection?.reachable === false || reach?.isReached === false;

const isAwaited = ({ kind, error }: WaitingGroup): boolean =>
  kind === 'unavailable' && networkRemedyIn(error) === undefined;

/** What waits for a part of the platform or of AWS: it continues by itself, but somebody must hear that it is away. */
const awayView = (status: Pick<Status, 'connection' | 'reach' | 'waiting'>): View => {
  if (isAllAway(status)) return [];
  return status.waiting
    .filter((group) => isAwaited(group) && group.oldestMs < Date.now() - awayMs)
    .map((group) => {
      const title = `A part is away: ${plain(group.error)}`;
      const blocked = blockedText([group]);
      return stepOf(
        [
          { tone: 'bad', to: waitingScreen([group]), text: `${title}. ${blocked}` },
          {
            tone: 'todo',
            text: 'Ask the people who run it, and name this call and its answer. Messages that wait continue by themselves.',
          },
          { lead: 'One by one', command: `waiting --kind unavailable --function ${group.function}` },
        ],
        'today',
        { title, text: blocked },
      );
    });
};

/** The count of the last invocation may be in the period before this one. */
const unansweredLatelyMs = 2 * periodSeconds * 1000;

/** An outage of so many periods is no short one. */
const severalPeriods = 3;

/** Functions that have no answer, and no record of what waits: the table of records may be what does not answer. */
const unansweredView = (status: Pick<Status, 'connection' | 'reach' | 'waiting' | 'unanswered'>): View => {
  if (isAllAway(status)) return [];
  const byFunction = Map.groupBy(status.unanswered ?? [], ({ function: name }) => name);
  const isTold = (name: string): boolean =>
    status.waiting.some((group) => group.function === name && group.kind === 'unavailable');
  const lately = [...byFunction].filter(
    ([name, counts]) => !isTold(name) && counts.some(({ atMs }) => atMs > Date.now() - unansweredLatelyMs),
  );
  if (lately.length === 0) return [];
  const names = lately.map(([name]) => name).join(', ');
  const isLong = lately.some(([, counts]) => counts.length >= severalPeriods);
  const title = `A part of the platform or of AWS does not answer ${names}`;
  const unrecorded = 'What waits for it could not be recorded';
  return [
    stepOf(
      [
        { tone: 'bad', text: `${title}. ${unrecorded}` },
        {
          tone: 'todo',
          text: 'Its log names what does not answer. If it is DynamoDB, look at the throttles of the stage’s tables. If it is over within 15 minutes, do nothing: messages continue by themselves.',
        },
      ],
      isLong ? 'now' : 'today',
      { title, text: unrecorded },
    ),
  ];
};

/** Messages in flight without a record are being handled, unless their functions get no answer, which is not known. */
const unrecordedText = ({
  queues,
  waiting,
  unanswered,
}: Pick<Status, 'queues' | 'waiting' | 'unanswered'>): string[] => {
  if (unanswered !== undefined) return [];
  const flying = queues.reduce((sum, { inFlight }) => sum + inFlight, 0);
  const recorded = waiting.reduce((sum, { messages }) => sum + messages, 0);
  if (flying <= recorded) return [];
  return [
    `${countOf(flying - recorded, 'message is', 'messages are')} in flight without a record, and it is not known whether ${flying - recorded === 1 ? 'it is' : 'they are'} being handled. Look again in some minutes.`,
  ];
};

/** The secrets were changed after the last try: the messages go on with their next one, or when they are woken. */
const mendedView = (groups: readonly WaitingGroup[], mendedMs: number): Block => {
  const isHidden = groups.some(canBeWoken);
  const then = isHidden
    ? ': wake what waits for it.'
    : groups.some(({ due }) => due > 0)
      ? '. What waits for it is due.'
      : '. It is not known whether anything still waits for it.';
  const changed = `The ${secretsText(groups)} changed ${ageOf(mendedMs)} ago${then}`;
  return stepOf(
    [
      {
        tone: isHidden ? 'todo' : 'plain',
        to: waitingScreen(groups),
        text: `${changed} ${blockedText(groups)}`,
      },
      ...wakeStep(groups),
    ],
    isHidden ? 'now' : 'note',
    { title: changed, text: blockedText(groups) },
  );
};

const secretsText = (groups: readonly WaitingGroup[]): string => {
  const secrets = new Set(groups.flatMap(({ bySecret = [] }) => bySecret.map(({ secret }) => secret)));
  return secrets.size < 2
    ? 'secret of a refused credential was'
    : `secrets of ${numberOf(secrets.size)} refused credentials were`;
};

const functionsOf = (groups: readonly WaitingGroup[]): string[] => [
  ...new Set(groups.map(({ function: name }) => name)),
];

const waitingScreen = (groups: readonly WaitingGroup[]): string =>
  href('/waiting', { function: functionsOf(groups), kind: groups[0]?.kind });

const wakeCommand = (groups: readonly WaitingGroup[]): string =>
  `waiting wake --kind ${groups[0]?.kind} --function ${functionsOf(groups).join(' ')}`;

const wakeStep = (groups: readonly WaitingGroup[]): View => {
  if (!groups.some(canBeWoken)) return [];
  const messages = groups.reduce((sum, group) => sum + group.messages, 0);
  const functions = functionsOf(groups);
  return [
    { command: wakeCommand(groups) },
    {
      action: '/wake',
      hidden: { function: functions, kind: groups[0]?.kind ?? '' },
      buttons: [{ text: `Wake ${countOf(messages, 'message')} of ${functions.join(', ')}`, short: 'Wake' }],
    },
  ];
};

/** What still waits for its cause waits again: one step for all of it does no harm. */
const wakeAllView = (waiting: readonly WaitingGroup[]): View => {
  const groups = waiting.filter((group) => needsPerson(group.kind) && canBeWoken(group));
  // Those with one remedy are one step already, and so are those that one wake of a function takes.
  const steps = [...Map.groupBy(groups, ({ remedy }) => remedy).values()].map(wakeCommand);
  if (new Set(steps).size < severalCauses) return [];
  const kinds = [...new Set(groups.map(({ kind }) => kind))];
  const count = countOf(
    groups.reduce((sum, { messages }) => sum + messages, 0),
    'message',
  );
  const text = `Once the causes above are gone: wake all ${count} at once. A message whose cause is not gone waits again.`;
  return [
    stepOf(
      [
        { tone: 'todo', text },
        { lead: 'To wake all', command: `waiting wake --kind ${kinds.join(',')}` },
        {
          action: '/wake',
          hidden: { kind: kinds },
          buttons: [{ text: `Wake all ${count}`, short: 'Wake all' }],
        },
      ],
      'shortcut',
      {
        title: `Wake ${count}, once their causes are gone`,
        text: 'What still waits for its cause waits again.',
      },
    ),
  ];
};

/** `3 messages of grade-push wait for it (credentials), the oldest for 20 min; last tried 2 min ago`. */
const blockedText = (groups: readonly WaitingGroup[]): string => {
  const messages = groups.reduce((sum, group) => sum + group.messages, 0);
  const oldest = ageOf(Math.min(...groups.map(({ oldestMs }) => oldestMs)));
  const last = ageOf(Math.max(...groups.map(({ lastMs }) => lastMs)));
  return `${countOf(messages, 'message')} of ${functionsOf(groups).join(', ')} ${messages === 1 ? 'waits' : 'wait'} for it (${groups[0]?.kind}), the oldest for ${oldest}; last tried ${last} ago`;
};

const atWorkView = (commands: NonNullable<Status['atWork']>): View =>
  commands.map(({ command, who, at, counts: { planned = 0 } }) =>
    stepOf(
      [
        {
          tone: 'plain',
          to: '/runs',
          text: `${plain(command)} by ${plain(who)}${planned > 0 ? ` (${numberOf(planned)} planned)` : ''} began ${ageOf(Date.parse(at))} ago and has not ended. It is at work, or was cut off`,
        },
        { lead: 'To see whether it has ended', command: 'status' },
      ],
      'note',
    ),
  );

const isMoreQueued = ({ listed, queued }: Status['letters']): boolean => queued > (listed ?? queued);

/** The fewest causes for which one replay of all is quicker than one of each. */
const severalCauses = 2;

/** The others are left to people, as their messages cannot be sent as they are. */
const isReplayed = ({ kind }: Group): boolean => (letterUseOf(kind) ?? 'replay') === 'replay';

const isOneOfMany = (groups: readonly Group[]): boolean => groups.filter(isReplayed).length >= severalCauses;

/** One replay tries each cause by itself. What it leaves to people is said before. */
const replayAllView = (groups: readonly Group[]): View => {
  if (!isOneOfMany(groups)) return [];
  const [sent, others] = [groups.filter(isReplayed), groups.filter((each) => !isReplayed(each))];
  const left = [...Map.groupBy(others, ({ kind }) => kind)].map(
    ([kind, each]) => `${numberOf(lettersOf(each))} ${kind}`,
  );
  const leaves = left.length === 0 ? '' : ` It leaves ${left.join(', ')} to you.`;
  const count = countOf(lettersOf(sent), 'letter');
  return [
    stepOf(
      [
        {
          tone: 'todo',
          text: `The quickest way, once the causes below are gone: one replay of ${count} with ${numberOf(sent.length)} causes. Each cause is tried with a few letters first.${leaves}`,
        },
        { lead: 'To replay all causes', command: 'letters replay' },
        // The plan is about all letters, and says which of them can be sent.
        { action: '/replay', isHarmless: true, buttons: [{ text: 'Plan one replay' }] },
      ],
      'shortcut',
      {
        title: `Replay ${numberOf(sent.length)} causes, once they are gone`,
        text: `Each is tried with a few letters first.${leaves}`,
      },
    ),
  ];
};

/** What tells a cause from the others, in its first words. */
const causeTitle = (group: Group): string => {
  const [grant, other] = group.grants;
  const [, permission] = /\bsecurityVariableName: (\w+)/.exec(group.words[0] ?? '') ?? [];
  if (permission !== undefined) return `Permission ${permission} is missing`;
  return grant !== undefined && other === undefined && grantsOf(group.kind)?.of === 'scope'
    ? `Scope ${plain(grant)} is missing`
    : causeText(group);
};

/** `isSentWithAll`: the replay of all causes sends it, too. Only the console has a button for it then. */
const firstOfCause = (group: Group, isSentWithAll: boolean): Block => {
  const { letters, kind, function: name, cause, newestMs } = group;
  const of = `${countOf(letters, 'letter')} of ${name || 'no function'}`;
  return stepOf(
    [
      {
        tone: needsNobody(group) ? 'warn' : 'bad',
        to: `/causes#${cause}`,
        text: `${of} (${kind}), the newest ${ageOf(newestMs)} old: ${causeText(group)}`,
      },
      ...adviceOf(
        group,
        isSentWithAll
          ? firstAction(group, { cause }).filter((each) => !isReplayCommand(each))
          : firstAction(group, { cause }),
      ),
      { links: otherLinks(group, { cause }) },
    ],
    needsNobody(group) ? 'watch' : 'today',
    {
      title: causeTitle(group),
      text: `${of} · ${ageOf(newestMs)} · ${kind}`,
      whom: harmText([group]),
    },
  );
};

const isReplayCommand = (block: View[number]): boolean =>
  Boolean(block && 'command' in block && block.command?.startsWith('letters replay'));

/** Whom letters harm, as far as they name it: `200 users in org unit 2001, grade object 5001`. */
const harmText = (groups: readonly Group[]): string =>
  [...Map.groupBy(groups, ({ about }) => about)]
    .filter(([about]) => about !== '')
    .map(([about, { length }]) => {
      const [shared = '', different] = about.replace(/^All (in|about) /, '').split('; ');
      const causeText = different === undefined ? shared : `${different} in ${shared}`;
      // The users of two causes may be the same, or others: their sum is not known.
      return length === 1 || different === undefined
        ? causeText
        : `${numberOf(length)} causes, each ${causeText}`;
    })
    .join('; ');

const queuesView = ({ queues, letters, paused }: Pick<Status, 'queues' | 'letters' | 'paused'>): View => {
  const { counts, groups } = letters;
  const oldestMs = groups.length === 0 ? undefined : Math.min(...groups.map((group) => group.oldestMs));
  const all: QueueStatus[] = [...queues, { function: 'dead-letters', ...counts, oldestMs }];
  const isStopped = (name: string): boolean =>
    paused?.some((each) => each.function === name && isPaused(each)) ?? false;
  return [
    table('Queues', all, {
      Queue: ({ function: name }) => name,
      Visible: ({ visible }) => visible,
      'In flight': ({ inFlight }) => inFlight,
      Delayed: ({ delayed }) => delayed,
      'Oldest seen': (queue) => ({ sinceMs: queue.oldestMs }),
      Deliveries: ({ function: name }) =>
        name === 'dead-letters' || paused === undefined
          ? ''
          : isStopped(name)
            ? { text: 'paused', tone: 'bad' }
            : 'on',
      Change: ({ function: name }) => (name === 'dead-letters' ? '' : deliveryForm(name, isStopped(name))),
    }),
    paused === undefined && text(pausesUnknown),
  ];
};

const deliveryForm = (name: string, isStopped: boolean): Cell =>
  isStopped
    ? resumeForm(name, 'Resume')
    : {
        action: '/pause',
        hidden: { function: name },
        summary: 'pause',
        fields: [{ reason: 'required' }],
        buttons: [{ text: `Pause ${name}` }],
      };

const lettersSection = (letters: Status['letters']): Block => {
  const kinds = byKind(letters.groups);
  return section(
    countOf(
      kinds.reduce((sum, kind) => sum + kind.letters, 0),
      'letter',
    ),
    letters.unread !== undefined && { tone: 'bad', text: letters.unread ?? '' },
    table(
      'Letters by kind',
      kinds,
      {
        Letters: (each) => each.letters,
        Kind: ({ kind }) => ({
          text: kind,
          tone: kindTone(kind),
          badge: true,
          to: href('/letters', { kind }),
        }),
        Oldest: ({ oldestMs }) => ({ sinceMs: oldestMs }),
        Newest: ({ newestMs }) => ({ sinceMs: newestMs }),
      },
      { empty: letters.unread === undefined ? 'There are no dead letters.' : '', hasBars: true },
    ),
    ...(isMoreQueued(letters) ? [] : remarksOnLetters(letters)),
    ...(kinds.length === 0
      ? []
      : [
          { lead: 'What to do about them', command: 'letters groups' },
          { links: [{ text: 'By cause, and what to do', to: '/causes' }] },
        ]),
  );
};

const byKind = (groups: readonly Group[]) =>
  [...Map.groupBy(groups, ({ kind }) => kind)]
    .map(([kind, each]) => ({
      kind,
      letters: each.reduce((sum, { letters }) => sum + letters, 0),
      oldestMs: Math.min(...each.map(({ oldestMs }) => oldestMs)),
      newestMs: Math.max(...each.map(({ newestMs }) => newestMs)),
    }))
    .sort((one, other) => other.letters - one.letters);
