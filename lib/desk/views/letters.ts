import { fillCommand, lookUpCommand, unknownNameIn } from '../../crosswalk/unknown-id.ts';
import {
  grantsOf,
  healsByItself,
  isCorrectedFirst,
  letterUseOf,
  needsDecision,
  replayedOften,
  type UndecidedKind,
} from '../../message/failure-kinds.ts';
import { plain } from '../../runtime/privacy/printable.ts';
import { shownIds } from '../../runtime/privacy/shown-ids.ts';
import { firstFieldIn } from '../messages/edit/problems.ts';
import type { Filter } from '../messages/letters/filter.ts';
import { type Group, maxWords } from '../messages/letters/groups.ts';
import type {
  endedLettersOf,
  Groups,
  LetterFacts,
  LetterList,
  LetterSearch,
} from '../messages/letters/list.ts';
import type { LetterDetails } from '../messages/letters/show.ts';
import type { PlannedGroup } from '../messages/replay/plan.ts';
import { ageOf, countOf, numberOf } from './format.ts';
import {
  type Block,
  badge,
  type Columns,
  type Form,
  href,
  type Link,
  list,
  type Note,
  type Piece,
  part,
  table,
  text,
  type View,
} from './view.ts';

/**
 * The user, org unit and object of a letter, as in `301 · 2001 · grade object 5001`, and the SIS' names if its message contained them, as in
 * `(s1234567 · MATH-101)`.
 */
export const subjectOf = ({
  user,
  orgUnit,
  thing,
  named,
}: Partial<Pick<LetterFacts, 'user' | 'orgUnit' | 'thing' | 'named'>>): string => {
  const bySis = named === undefined ? [] : [`(${plain(named)})`];
  if (user === undefined && orgUnit === undefined && thing === undefined) return bySis.join('');
  const byPlatform = [user ?? '–', orgUnit ?? '–', ...(thing === undefined ? [] : [thing])].join(' · ');
  return [byPlatform, ...bySis].join(' ');
};

/** The same with the name of each id, as in `user 301, org unit 2001, grade object 5001 (s1234567 · MATH-101)`. */
export const namedSubjectOf = ({ user, orgUnit, thing, named }: Parameters<typeof subjectOf>[0]): string => {
  const ids = [user && `user ${user}`, orgUnit && `org unit ${orgUnit}`, thing];
  const names = named === undefined ? [] : [`(${plain(named)})`];
  return [ids.filter(Boolean).join(', '), ...names].filter(Boolean).join(' ');
};

/** The text that distinguishes a cause: the platform's words, if there are any. Of a name's meaning, they are the name, masked. */
export const causeText = ({ kind, error, words }: Pick<PlannedGroup, 'kind' | 'error' | 'words'>): string =>
  plain(
    words[0] === undefined || kind === 'unknown-id' || kind === 'ambiguous-id'
      ? error
      : `${/^\d{3}(?= )/.exec(error)?.[0] ?? ''} ${words[0]}`.trim(),
  );

/** The failure's message is longer than `error`; an unreadable message must be reported, too. */
const whatHappened = ({ kind, error, failure }: LetterDetails): string => {
  if (failure === null) return error;
  return kind === 'unreadable' ? `${error}. ${failure.message}` : failure.message;
};

/** More rights or secrets are counted. */
export const maxGrants = 10;

type AdvisedCause = Pick<Group, 'about' | 'cause' | 'kind' | 'remedy' | 'grants' | 'replayedOften'>;

/** What to do about a cause. `first`: its first action. */
export const adviceOf = (group: AdvisedCause, first: View): View => {
  const often = countOf(group.replayedOften, 'letter was', 'letters were');
  return [
    group.about !== '' && { tone: 'plain', text: `${plain(group.about)}.` },
    { tone: 'todo', text: plain(group.remedy) },
    ...grantsView(group),
    group.replayedOften > 0 && {
      tone: 'warn',
      text: `${often} replayed ${replayedOften} times or more: find the cause first.`,
    },
    ...first,
    // Last: who has done all of it sends the letters again, and needs no list.
    group.grants.length > maxGrants && {
      lead: 'To list all',
      command: `letters groups --cause ${group.cause} --json`,
    },
  ];
};

/** One on a line, to hand on. */
export const grantsView = ({ kind, grants }: Pick<Group, 'kind' | 'grants'>): View =>
  grants.length < 2
    ? []
    : [
        { tone: 'plain', text: grantsOf(kind)?.title ?? '' },
        list(grants.slice(0, maxGrants).map((each) => ({ text: each, code: true }))),
        grants.length > maxGrants && text(`… and ${numberOf(grants.length - maxGrants)} more`),
      ];

const groupsText = ({ groups, matching }: Pick<Groups, 'groups' | 'matching'>): string => {
  const oldest = ageOf(Math.min(...groups.map(({ oldestMs }) => oldestMs)));
  const newest = ageOf(Math.max(...groups.map(({ newestMs }) => newestMs)));
  return `${countOf(matching, 'dead letter')} in ${countOf(groups.length, 'group')}, the oldest ${oldest}, the newest ${newest} old`;
};

export const matchText = (letters: number): string =>
  letters === 0 ? 'No letter matches' : countOf(letters, 'letter matches', 'letters match');

type LetterCounts = Pick<LetterSearch, 'listed' | 'queued'> & { limitReached?: boolean };

const nothingText = ({ listed, queued }: LetterCounts, name: string): string =>
  queued === 0 || listed === 0 ? `${name}: there are no dead letters.` : `${name}: no dead letter matches.`;

/** What limits the list, and how the lists and the queue differ. */
export const remarksOnLetters = ({ listed, queued, limitReached }: LetterCounts): View => [
  limitReached && { more: 'These are as many as were asked for' },
  ...(listed === undefined || listed === queued ? [] : queueNotes({ listed, queued })),
];

/** The lists lack letters that the queue has, or have others. */
export const queueNotes = ({
  listed = 0,
  queued,
}: Pick<LetterSearch, 'listed' | 'queued'>): [Note, ...View] => [
  {
    tone: 'plain',
    text: `SQS counts about ${countOf(queued, 'letter')}, but the lists have ${numberOf(listed)}. The lists are corrected every 15 minutes.`,
  },
  { lead: 'To do it now', command: 'letters reindex' },
  { action: '/reindex', buttons: [{ text: 'Correct the lists now' }] },
];

/** `warn`: it may go away by itself. `bad`: a person must act. */
export const kindTone = (kind: string): 'warn' | 'bad' => (healsByItself(kind) ? 'warn' : 'bad');

export const letterLink = (id: string): Piece => ({
  text: id.slice(0, 8),
  to: `/letters/${encodeURIComponent(id)}`,
});

/** For letters that no longer match: what shows what became of them. */
export const endedLetterLinks = ({ id: ids = [] }: Filter): View =>
  ids.slice(0, 3).flatMap((id): View => {
    const lead = `What became of ${id.slice(0, 8)}`;
    return [
      { lead, command: `letters show ${id}` },
      { links: [{ text: lead, to: `/letters/${encodeURIComponent(id)}` }] },
    ];
  });

/** Of a cause of which no letter is left. */
export const endedLettersView = (ended: Awaited<ReturnType<typeof endedLettersOf>>): View => {
  if (ended.length === 0)
    return [
      text('No letter has this cause. Its id may be wrong, or all its letters are gone.'),
      { lead: 'The causes that there are', command: 'letters groups' },
      { links: [{ text: 'The causes that there are', to: '/causes' }] },
    ];
  const alike = Map.groupBy(ended, ({ state, by, why }) => JSON.stringify([state, by, why]));
  return [
    table('What became of its letters', [...alike.values()], {
      Letters: (each) => each.length,
      'Were then': ([record]) => record?.state,
      By: ([record]) => record?.by,
      Why: ([record]) => record?.why,
      'One of them': ([record]) => record && traceLink(record.message),
    }),
    { lead: 'What followed for one', command: `trace ${ended[0]?.message.slice(0, 8)}` },
  ];
};

export const traceLink = (id: string) => ({ text: id.slice(0, 8), to: href('/trace', { id }) });

/** Columns that several tables have. */
export const origin: Columns<{ function: string; kind: string }> = {
  Function: ({ function: name }) => name || '–',
  Kind: ({ kind }) => (kind === '' ? '' : badge(kind, kindTone(kind))),
};

export const about: Columns<Parameters<typeof subjectOf>[0]> = {
  'User · org unit · thing': (each) => subjectOf(each) || '–',
};

/** What distinguishes a cause: its id, as `--cause` takes it, and the whole text. */
export const causeColumns = {
  Cause: ({ cause }) => ({ text: cause, code: true }),
  'What failed': (group) => ({ text: causeText(group), isWhole: true }),
} satisfies Columns<Pick<PlannedGroup, 'cause' | 'kind' | 'error' | 'words'>>;

/** One row per cause. */
export const groupTable = (
  caption: string,
  groups: readonly PlannedGroup[],
  options: { empty?: string; under?: (group: PlannedGroup) => View } = {},
): Block =>
  table(caption, groups, { Letters: ({ letters }) => letters, ...origin, ...causeColumns }, options);

/** What is masked may be what a person must look for. `which`: a filter. */
export const revealCommand = (which: string): string =>
  `letters verify ${which}--reveal --reason "a look at the platform"`;

/** No command finds out whether something newer was done: a person compares, then sends or discards all. */
export const outdatedCommands = (these: string): View => [
  { lead: 'To see what to compare with the platform', command: revealCommand(`${these} `) },
  { lead: 'If nothing newer is there, to send them', command: `letters replay ${these} --include-uncertain` },
  { lead: 'If something newer is there', command: `letters discard ${these} --reason <why>` },
];

type OneOrAll = { cause: string } | { id: string };

/** A name that the crosswalk lacks stays unknown, however often its letter is sent. Privacy: no address has the name. */
export const crosswalkSteps = (error: string, which: OneOrAll): View => {
  const unknown = unknownNameIn(error);
  if (unknown === undefined) return [];
  const { kind, wasEmpty } = unknown;
  const fill: View = [
    { lead: 'First, to fill the crosswalk', command: fillCommand(kind) },
    {
      action: '/crosswalk-fill',
      hidden: { classlists: kind === 'orgUnitCode' ? '' : 'yes' },
      buttons: [{ text: 'Fill the crosswalk' }],
    },
  ];
  return [
    ...(wasEmpty ? fill : []),
    {
      lead: wasEmpty ? 'Then, to look the name up' : 'First, to look the name up',
      command: lookUpCommand(kind),
    },
    { links: [{ text: 'Look the name up', to: href('/crosswalk', which) }] },
  ];
};

type ActionCounts = { kind: string; error: string; letters?: number; parts?: readonly string[] };

const isShared = (field: string): boolean => {
  const name = field.split('.').at(-1) ?? '';
  return shownIds.has(name) && name !== 'userId';
};

const isAbsent = (field: string, error: string): boolean =>
  !field.endsWith('.userId') &&
  /^: (is missing|must not be null|must be an object)\b/.test(error.split(field)[1] ?? '');

/**
 * Of many letters, the lists do not know the values: those of a field that is masked, or names the learner, are each learner's own. Where
 * the error says that there is no value, they agree.
 */
const isCorrectedTogether = ({ error, letters }: { error: string; letters: number }): boolean => {
  const field = firstFieldIn(error);
  return letters === 1 || (field !== undefined && (isShared(field) || isAbsent(field, error)));
};

const isBodyless = (error: string): boolean => error.startsWith('the body ');

/** A body that cannot be read has no fields to set, and an editor opens one letter at a time. */
const correction = (
  { error, letters, parts }: { error: string; letters: number; parts: readonly string[] },
  these: string,
): Block => {
  const values = parts.length > 0 ? parts : [`${firstFieldIn(error) ?? '<field>'}=<value>`];
  if (!isBodyless(error) && isCorrectedTogether({ error, letters }))
    return {
      lead: letters === 1 ? 'To correct and send' : 'If one value is right for all, to correct and send',
      command: `letters edit ${these} --set ${values.join(' --set ')} --reason <why>`,
    };
  return letters === 1
    ? { lead: 'To correct it in your editor and send it', command: `letters edit ${these} --reason <why>` }
    : {
        lead: 'To correct each by itself, letters edit <id>. Their ids',
        command: `letters list ${these}`,
      };
};

/** The first action for letters of a kind; some kinds have none. */
export const firstAction = (
  { kind, error, letters = 1, parts = [] }: ActionCounts,
  which: OneOrAll,
): View => {
  const these = 'cause' in which ? `--cause ${which.cause}` : `--id ${which.id.slice(0, 8)}`;
  const count = countOf(letters, 'letter');
  if (needsDecision(kind))
    return [
      ...(kind === 'uncertain'
        ? [{ lead: 'To look on the platform', command: `letters verify ${these}` }]
        : outdatedCommands(these)),
      ...decideActions(kind, { letters, which }),
    ];
  if (letterUseOf(kind) === 'none')
    return [
      { lead: 'To hand them on', command: `letters export ${these} --to letters.jsonl --reason <why>` },
      { lead: 'Once they are in the file', command: `letters discard ${these} --reason <why>` },
    ];
  const replay: Form = {
    action: '/replay',
    hidden: which,
    isHarmless: true,
    buttons: [{ text: `Plan a replay of ${count}`, short: 'Plan a replay' }],
  };
  if (isCorrectedFirst(kind)) {
    const discard = {
      lead: 'If the producer sends it again',
      command: `letters discard ${these} --reason <why>`,
    };
    const correct = correction({ error, letters, parts }, these);
    const isTogether = isCorrectedTogether({ error, letters });
    const edited = isTogether
      ? editLink(` ${count}`, which)
      : { text: 'Choose letters to edit', to: href('/letters', which), short: 'Edit one by one' };
    return [
      ...(isTogether || isBodyless(error) ? [correct, discard] : [discard, correct]),
      { links: [edited, discardLink(` ${count}`, which)] },
    ];
  }
  const steps = kind === 'unknown-id' ? crosswalkSteps(error, which) : [];
  const lead = steps.length === 0 ? 'To send again' : 'Once the name is known';
  return [...steps, { lead, command: `letters replay ${these}` }, replay];
};

/** A look-up of uncertain letters changes nothing, so it begins at once. What no look-up can show, a person compares. */
export const decideActions = (
  kind: UndecidedKind,
  { letters, which }: { letters: number; which: { cause: string } | { id: string } | { kind: string } },
): View => {
  const to = href('/uncertain', which);
  if (kind === 'outdated') return [{ links: [{ text: 'Compare, then decide', to }] }];
  return [lookForm(letters, which), { links: [{ text: 'Decide one by one', to }] }];
};

export const lookForm = (letters: number, which: NonNullable<Form['hidden']>): Form => ({
  action: '/uncertain',
  hidden: which,
  isHarmless: true,
  buttons: [
    { text: `Look on the platform for ${countOf(letters, 'letter')}`, short: 'Look on the platform' },
  ],
});

const editLink = (count: string, which: OneOrAll): Link => ({
  text: `Edit${count}`,
  to: href('/edit', which),
  isChange: true,
  short: 'Edit',
});

/** Further actions, without what is the first one. `letters`: how many they are about, for buttons. */
export const otherLinks = (
  { kind, letters }: { kind: string; letters?: number },
  which: OneOrAll,
): Link[] => {
  const count = letters === undefined ? '' : ` ${countOf(letters, 'letter')}`;
  if (isCorrectedFirst(kind)) return [];
  const first =
    letterUseOf(kind) === 'none'
      ? { text: `Export${count}`, to: href('/export', which), isChange: true as const, short: 'Export' }
      : editLink(count, which);
  return [first, discardLink(count, which)];
};

const discardLink = (count: string, which: OneOrAll): Link => ({
  text: `Discard${count}`,
  to: href('/discard', which),
  isChange: true,
  isDestructive: true,
  short: 'Discard',
});

export const groupsView = (found: Groups, name: string): View => {
  const { groups, matching } = found;
  const [largest] = groups;
  if (largest === undefined || matching === 0)
    return [text(nothingText(found, name)), ...remarksOnLetters(found)];
  return [
    { heading: `${name}: ${groupsText(found)}` },
    part(
      table(
        'Causes',
        groups,
        {
          Letters: ({ letters }) => letters,
          ...origin,
          Cause: causeColumns.Cause,
          Oldest: ({ oldestMs }) => ({ sinceMs: oldestMs }),
          Newest: ({ newestMs }) => ({ sinceMs: newestMs }),
        },
        { idOf: ({ cause }) => cause, under: causeView },
      ),
    ),
    ...remarksOnLetters(found),
    { lead: 'One by one', command: `letters list --cause ${largest.cause}` },
  ];
};

const causeView = (group: Group): View => {
  const { cause, error, words } = group;
  return [
    text(error),
    ...words.map((each, at) => (at < maxWords - 1 ? { quote: each } : text('… and more'))),
    ...adviceOf(group, firstAction(group, { cause })),
    {
      links: [{ text: 'Letters', to: href('/letters', { cause }) }, ...otherLinks(group, { cause })],
    },
  ];
};

export const letterColumns: Columns<LetterFacts> = {
  Letter: ({ id }) => letterLink(id),
  Age: ({ sentMs }) => ({ sinceMs: sentMs }),
  ...origin,
  ...about,
  Replays: ({ replays }) => (replays >= replayedOften ? `${replays}!` : replays),
  'What failed': ({ kind, error, words }) => ({
    text: causeText({ kind, error, words: words === undefined ? [] : [words] }),
    isApart: true,
  }),
};

export const listView = (found: LetterList, name: string): View => {
  const { letters, matching } = found;
  const [first] = letters;
  if (first === undefined) return [text(nothingText(found, name)), ...remarksOnLetters(found)];
  return [
    part(table('Letters', letters, letterColumns)),
    ...remarksOnLetters(found),
    letters.length < matching
      ? { more: `The oldest ${numberOf(letters.length)} of ${numberOf(matching)}` }
      : text(`${countOf(matching, 'letter')}.`),
    { lead: 'Details of one', command: `letters show ${first.id.slice(0, 8)}` },
  ];
};

const whenText = (time: string): string => `${time} (${ageOf(Date.parse(time))} ago)`;

/** All that a letter says, without its message. */
export const letterFacts = (details: LetterDetails): View => {
  const { failure, history, replays } = details;
  const facts = (...all: [label: string, value: Piece][]): Block => ({
    facts: all.filter(([, value]) => value !== undefined && value !== ''),
  });
  const whenOf = (time: string | undefined): string | undefined => time && whenText(time);
  return [
    { heading: `Letter ${details.id}` },
    part(
      facts(
        ['Function', details.function],
        ['Kind', details.kind],
        ['What happened', whatHappened(details)],
        ['What to do', { text: details.remedy, tone: 'todo' }],
      ),
    ),
    part(
      facts(
        ['Call', failure?.operation],
        ['Answer', [failure?.status, failure?.title].filter((each) => each !== undefined).join(' ')],
        ['In its words', failure?.detail],
        ['Problem type', failure?.type],
        ['It requires', failure?.required],
        ['Request id', failure?.requestId],
        ['Attempts', failure?.attempts],
        ['First attempt', whenOf(failure?.firstAt)],
        ['Last attempt', whenOf(failure?.lastAt)],
        ['Letter since', whenText(details.sentAt)],
        [
          'Replays',
          replays >= replayedOften ? `${replays}: find the cause before you replay it again` : replays,
        ],
        ['From', details.source],
        ['Imported from', history?.importedFrom],
        ['Original try', whenOf(history?.firstAt)],
        ...(history?.deeds ?? []).map(({ what, at, by, why, kind, original }): [string, string] => [
          what === 'edited' ? 'Edited' : 'Replayed',
          `${at} by ${by}, then ${kind}${why === undefined ? '' : `: ${why}`}${original === undefined ? '' : ` (original: ${original})`}`,
        ]),
        ...Object.entries(details.attributes).map(([name, value]): [string, string] => [
          'Attribute',
          `${name}: ${value}`,
        ]),
      ),
    ),
  ];
};

export const letterView = (details: LetterDetails): View => [
  ...letterFacts(details),
  part(
    {
      tone: 'quiet',
      text: details.revealed ? 'Message' : 'Message, without personal data',
      ...(!details.revealed && {
        command: `letters show ${details.id.slice(0, 8)} --reveal --reason <why>`,
      }),
    },
    { document: details.message, label: 'Message' },
  ),
];
