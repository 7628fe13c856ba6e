import { isRetried } from '../../message/failure-kinds.ts';
import type { WaitingGroup, WaitingList, WaitingMessage } from '../messages/waiting/waiting.ts';
import type { WakePlan, Woken } from '../messages/waiting/wake.ts';
import { ageOf, countOf, numberOf } from './format.ts';
import { about, grantsView, kindTone, maxGrants } from './letters.ts';
import { type Block, badge, type Form, href, part, table, text, type View } from './view.ts';

const nextText = ({ next, nextMs = 0 }: Pick<WaitingMessage, 'next' | 'nextMs'>): string =>
  next === 'later' ? inTime(nextMs) : next;

const nextOfGroup = ({ nextMs, due }: Pick<WaitingGroup, 'nextMs' | 'due'>): string =>
  nextMs === undefined ? (due > 0 ? 'due' : 'unknown') : inTime(nextMs);

/** `in 3 min`. */
const inTime = (ms: number): string => `in ${ageOf(Date.now() - (ms - Date.now()))}`;

export const waitText = (messages: number): string => countOf(messages, 'message waits', 'messages wait');

const sum = (groups: readonly WaitingGroup[], count: (group: WaitingGroup) => number): number =>
  groups.reduce((all, group) => all + count(group), 0);

export const remarksOn = (groups: readonly WaitingGroup[]): string[] => {
  const due = sum(groups, (group) => group.due);
  const unknown = sum(groups, (group) => group.unknown);
  return [
    ...(due > 0
      ? [
          `${countOf(due, 'message is', 'messages are')} due: the function has ${due === 1 ? 'it' : 'them'}, or its queue has others before ${due === 1 ? 'it' : 'them'}, or it is paused.`,
        ]
      : []),
    ...(unknown > 0
      ? [
          `${countOf(unknown, 'message')} may no longer wait: the next try is long past. Either the queue has many messages before ${unknown === 1 ? 'it' : 'them'}, or the function is paused, or ${unknown === 1 ? 'it' : 'they'} ended and that could not be recorded. To find out, trace ${unknown === 1 ? 'it' : 'one of them'} with the functions’ log.`,
        ]
      : []),
  ];
};

export const wokenNotes = ({ plan, woken, taken, failed, left }: Woken): View => {
  const messages = (count: number) => countOf(count, 'message was', 'messages were');
  return [
    plan.messages === 0 && text('Nothing was woken.'),
    woken > 0 && {
      tone: 'good',
      text: `${messages(woken)} woken: their functions take them now. What still waits for its cause waits again.`,
    },
    woken > 0 && { lead: 'To see which wait again, and what is next', command: 'status' },
    woken > 0 && { links: [{ text: 'What waits now', to: '/waiting' }] },
    taken > 0 && { tone: 'plain', text: `${messages(taken)} already taken by their functions.` },
    failed.length > 0 && {
      tone: 'bad',
      text: `${countOf(failed.length, 'message')} could not be woken (${failed[0]?.reason}). They are tried again at the planned time.`,
    },
    left > 0 && {
      tone: 'warn',
      text: `${messages(left)} not woken. They are tried again at the planned time.`,
    },
  ];
};

export const waitingView = ({ groups, messages, matching }: WaitingList, name: string): View => {
  const [first] = messages;
  if (first === undefined) return [text(`${name}: no message waits, or none matches.`)];
  return [
    { heading: `${name}: ${waitText(matching)}` },
    part(waitingGroupTable(groups)),
    part(
      table('Messages', messages, {
        Id: ({ id }) => ({ text: id.slice(0, 8), to: href('/trace', { id }) }),
        Age: ({ firstMs }) => ({ sinceMs: firstMs ?? Date.now() }),
        Function: (message) => message.function,
        Kind: ({ kind }) => badge(kind, kindTone(kind)),
        Tries: ({ attempts }) => attempts,
        Next: nextText,
        ...about,
      }),
    ),
    messages.length < matching && {
      more: `The ${numberOf(messages.length)} that have waited longest, of ${numberOf(matching)}`,
    },
    ...remarksOn(groups).map((each) => text(each)),
    { tone: 'quiet', text: 'Messages that wait only for the rate limiter are not listed.' },
    { lead: 'All of one', command: `trace ${first.id.slice(0, 8)}` },
    ...wakeCommands(groups),
  ];
};

/** Waking can help only if a person can remove the cause, and if the queue hides some of the messages until their next try. */
export const canBeWoken = ({ kind, nextMs }: Pick<WaitingGroup, 'kind' | 'nextMs'>): boolean =>
  isRetried(kind) && nextMs !== undefined;

/** The commands for each kind of cause, the largest cause first. */
export const wakeCommands = (groups: readonly WaitingGroup[]): View =>
  [...new Set(groups.filter(canBeWoken).map(({ kind }) => kind))].map((kind) => ({
    lead: 'Once the cause is gone',
    command: `waiting wake --kind ${kind}`,
  }));

/** One row per cause, with its error and the required action. */
export const waitingGroupTable = (
  groups: readonly WaitingGroup[],
  { isPlan = false }: { isPlan?: boolean } = {},
): Block =>
  table(
    'What waits, by cause',
    groups,
    {
      Messages: ({ messages }) => messages,
      Function: (group) => group.function || '–',
      Kind: ({ kind }) => badge(kind, kindTone(kind)),
      Oldest: ({ oldestMs }) => ({ sinceMs: oldestMs }),
      Tries: ({ attempts }) => attempts,
      'Next try': nextOfGroup,
    },
    {
      under: (group) => [
        text({ text: group.error, to: href('/waiting', { function: group.function, kind: group.kind }) }),
        group.mendedMs === undefined
          ? group.remedy !== '' && { tone: 'todo', text: group.remedy }
          : text(`Changed ${ageOf(group.mendedMs)} ago, after the last try.`),
        ...secretsView([group]),
        !isPlan &&
          !isRetried(group.kind) && {
            tone: 'quiet',
            text: 'This ends by itself. Waking the messages changes nothing.',
          },
        !isPlan && canBeWoken(group) && wakeForm(group),
      ],
    },
  );

/** The secrets to change, if they are several, and what to do first once they are. */
export const secretsView = (groups: readonly WaitingGroup[], first: View = []): View => {
  const left = groups.flatMap(({ bySecret = [], mendedMs }) => (mendedMs === undefined ? bySecret : []));
  const grants = [...new Set(left.map(({ secret }) => secret))];
  return [
    ...grantsView({ kind: groups[0]?.kind ?? '', grants }),
    ...first,
    grants.length > maxGrants && { lead: 'To list all', command: 'waiting --json' },
  ];
};

const wakeForm = (of: Pick<WaitingGroup, 'function' | 'kind'>): Form => ({
  action: '/wake',
  hidden: { function: of.function, kind: of.kind },
  fields: [{ reason: 'optional' }],
  buttons: [{ text: `Wake all of ${of.function} that wait because of this` }],
});

export const wakePlanView = (plan: Pick<WakePlan, 'messages' | 'groups' | 'due'>): View => [
  plan.messages === 0
    ? text('No message that matches is hidden until its next try, so there is nothing to wake.')
    : { heading: `${countOf(plan.messages, 'message is', 'messages are')} hidden until the next try` },
  part(waitingGroupTable(plan.groups, { isPlan: true })),
  plan.due > 0 && {
    tone: 'plain',
    text: `${numberOf(plan.due)} that ${plan.due === 1 ? 'matches is' : 'match are'} due already, and left alone.`,
  },
];
