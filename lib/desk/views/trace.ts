import { plain } from '../../runtime/privacy/printable.ts';
import type { TraceEvent } from '../messages/trace/event.ts';
import type { messagesAbout, Trace, TracedMessage } from '../messages/trace/trace.ts';
import { countOf, numberOf } from './format.ts';
import { about, origin, subjectOf, traceLink } from './letters.ts';
import {
  type Block,
  type Columns,
  href,
  type Moment,
  part,
  type Tone,
  table,
  text,
  type View,
} from './view.ts';

const outcomes: Record<TracedMessage['outcome'], string> = {
  done: 'done',
  duplicate: 'a duplicate of a message that was done before, so it was not sent',
  superseded: 'superseded by a newer message, so it was not sent',
  waiting: 'waits',
  parked: 'a dead letter',
  replayed: 'replayed; what followed is not known',
  edited: 'edited and sent; what followed is not known',
  discarded: 'discarded',
  unknown: 'its outcome is not known',
};

/** To the second, in UTC. */
export const timeText = (at: string): string => `${at.slice(0, 19).replace('T', ' ')} UTC`;

const eventText = (event: TraceEvent): string => plain(texts[event.what](event));

const texts: Record<TraceEvent['what'], (event: TraceEvent) => string> = {
  sent: ({ eventId }) => `sent by the SIS${eventId === undefined ? '' : `, as event ${eventId}`}`,
  received: ({ function: name, replays = 0 }) =>
    `received${by(name)}${replays > 0 ? `, as replay ${replays}` : ''}`,
  waited: (event) => `waited${forText(event)}, ${timesText(event)}`,
  waits: (event) => `waits${forText(event)}, ${timesText(event)}; ${nextText(event)}`,
  letter: (event) => `became a dead letter${forText(event)}`,
  replayed: (event) => `replayed${actionText(event)}`,
  edited: (event) => `edited and sent${actionText(event)}`,
  discarded: (event) => `discarded${actionText(event)}`,
  done: (event) => `done${callText(event)}${attemptsText(event)}`,
  duplicate: (event) => `not sent: a duplicate of a message that was done before${attemptsText(event)}`,
  superseded: ({ error, ...event }) =>
    `not sent: a newer message was done before${error ? ` (${error})` : ''}${attemptsText(event)}`,
  claimed: (event) => `${claimText(event)} (ledger: ${event.resource}${fieldsText(event)})`,
  overtaken: (event) =>
    `another message was sent for ${event.resource}${fieldsText(event)}: ${event.eventId ?? event.message ?? 'its outcome is not recorded yet'}`,
  woken: (event) => `woken${actionText(event)}`,
  command: ({ command, done, ...event }) =>
    `${command}${actionText(event)}${done === undefined ? '; it did not finish' : done ? '' : '; nothing was done to this one'}`,
  attempt: ({ outcome, requests = 0, durationMs, waitSeconds, ...event }) =>
    `log: ${outcome}${forText(event)}, ${countOf(requests, 'call')}${durationMs === undefined ? '' : ` in ${durationMs} ms`}${attemptsText(event)}${waitSeconds === undefined ? '' : `, for ${waitSeconds} s`}`,
  logged: ({ error }) => `log: ${error}`,
};

const by = (name: string | undefined): string => (name ? ` by ${name}` : '');

/** The cause of a wait or a letter, and the last call with its answer. */
const forText = ({ kind, error, words, ...event }: TraceEvent): string =>
  [kind ? ` (${kind})` : '', error ? `: ${error}` : '', words ? ` “${words}”` : '', callText(event)].join('');

const callText = ({ operation, status }: Pick<TraceEvent, 'operation' | 'status'>): string =>
  operation === undefined ? '' : ` [${operation}${status === undefined ? '' : ` → ${status}`}]`;

const attemptsText = ({ attempts }: Pick<TraceEvent, 'attempts'>): string =>
  attempts === undefined || attempts < 2 ? '' : `, at receipt ${attempts}`;

const timesText = ({ times = 1, until }: TraceEvent): string =>
  times === 1 ? 'once' : `${times} times${until === undefined ? '' : `, the last ${timeText(until)}`}`;

const nextText = ({ next }: TraceEvent): string => {
  if (next === undefined) return 'its next try is not known';
  return `its next try ${Date.parse(next) > Date.now() ? 'is' : 'was due'} ${timeText(next)}`;
};

const actionText = ({ by: who, why, as, original }: Partial<TraceEvent>): string =>
  [
    by(who),
    why === undefined ? '' : `: ${why}`,
    as === undefined ? '' : `, as ${as}`,
    original === undefined ? '' : ` (original: ${original})`,
  ].join('');

const claimText = ({ outcome }: TraceEvent): string => {
  if (outcome === 'done') return 'sent, and done';
  return outcome === 'sending'
    ? 'is being sent, or its function died'
    : 'sent; it is not known whether it had its effect';
};

const fieldsText = ({ fields = [] }: TraceEvent): string =>
  fields.length === 0 || fields.join() === 'whole' ? '' : `, ${fields.join(', ')}`;

export const traceView = (trace: Trace, log: boolean): View =>
  trace.events.length === 0
    ? [
        text(`Nothing is known about ${trace.id}. ${elsewhere(log)}`),
        !log && { lead: 'To search it', command: `trace ${trace.id} --log` },
        ...unreadNotes(trace),
      ]
    : [...trace.messages.map(headOf), part(...timelineView(trace))];

/** For the id of a letter that was dealt with. */
export const noLetterView = (trace: Trace): View => [
  { tone: 'plain', text: 'This is no longer a letter. What became of it:' },
  ...traceView(trace, false),
];

/** For an id of which nothing is known. */
export const unknownLetterView = (id: string): View => [
  text(
    `No letter ${plain(id)} is known. The id is wrong or of another stage, or the letter was dealt with more than a week ago.`,
  ),
  {
    links: [
      { text: 'All letters', to: '/letters' },
      { text: 'Search the functions’ log for it', to: href('/trace', { id, log: 'yes' }) },
      { text: 'What was done, and the archives', to: '/log' },
    ],
  },
];

type SubjectMessages = Awaited<ReturnType<typeof messagesAbout>>;

/** Messages about a user or a course. */
export const aboutView = ({ messages, isWhole }: SubjectMessages): View => {
  const [first] = messages;
  return [
    recordTable(messages, 'Nothing is known. A message that was done at its first try leaves no record.'),
    !isWhole && { more: `The newest ${numberOf(messages.length)}` },
    first !== undefined && { lead: 'All of one', command: `trace ${first.message.slice(0, 8)}` },
  ];
};

export const recordColumns: Columns<SubjectMessages['messages'][number]> = {
  Message: ({ message }) => traceLink(message),
  Age: ({ firstMs, atMs }) => ({ sinceMs: firstMs ?? atMs }),
  State: ({ state }) => state,
  ...origin,
  ...about,
  Error: ({ error }) => error,
};

const recordTable = (records: SubjectMessages['messages'], empty: string): Block =>
  table('Messages', records, recordColumns, { empty });

/** The events in order of time. */
export const timelineView = ({
  events,
  unread,
  messages,
}: Pick<Trace, 'events' | 'unread' | 'messages'>): View => {
  const several = messages.length > 1;
  const ofOne = ({ message }: TraceEvent): string => (several && message ? `${message.slice(0, 8)} ` : '');
  return [
    {
      timeline: events.map((event) => ({
        ...momentOf(event),
        at: event.at,
        line: `${ofOne(event)}${eventText(event)}`,
        ...(several && { text: `${ofOne(event)}${momentOf(event).text}` }),
      })),
    },
    ...unreadNotes({ unread }),
  ];
};

/** The same in a few words, with what explains them below. */
const momentOf = (event: TraceEvent): Pick<Moment, 'text' | 'tone' | 'more' | 'remedy'> => {
  const { error, words, operation, status, why, next, remedy, original } = event;
  const [text, tone] = moments[event.what](event);
  const call = operation === undefined ? '' : `${operation}${status === undefined ? '' : ` → ${status}`}`;
  const isOpen = event.what === 'waits';
  return {
    text: plain(text),
    tone,
    ...(isOpen && remedy && { remedy: plain(remedy) }),
    more: [
      event.what === 'sent' && event.eventId !== undefined ? `Event ${event.eventId}` : '',
      call,
      [error, words && `“${words}”`].filter(Boolean).join(' '),
      why ?? '',
      isOpen && next !== undefined ? nextText(event) : '',
      original === undefined ? '' : `Original: ${original}`,
    ]
      .filter(Boolean)
      .map(plain),
  };
};

const kindText = ({ kind }: TraceEvent): string => (kind ? ` (${kind})` : '');

const moments: Record<TraceEvent['what'], (event: TraceEvent) => [text: string, tone: Tone]> = {
  sent: () => ['Sent by the SIS', 'plain'],
  received: ({ function: name, replays = 0 }) => [
    `Received${by(name)}${replays > 0 ? `, as replay ${numberOf(replays)}` : ''}`,
    'plain',
  ],
  waited: (event) => [`Waited ${timesText(event)}${kindText(event)}`, 'warn'],
  waits: (event) => [`Waits, ${timesText(event)}${kindText(event)}`, 'warn'],
  letter: (event) => [`Became a dead letter${kindText(event)}`, 'bad'],
  replayed: ({ by: who }) => [`Replayed${by(who)}`, 'todo'],
  edited: ({ by: who }) => [`Edited and sent${by(who)}`, 'todo'],
  discarded: ({ by: who }) => [`Discarded${by(who)}`, 'todo'],
  done: (event) => [`Done${attemptsText(event)}`, 'good'],
  duplicate: () => ['Not sent: a duplicate of a message that was done before', 'plain'],
  superseded: () => ['Not sent: a newer message was done before', 'plain'],
  claimed: (event) => [`Call ${claimText(event)}`, event.outcome === 'done' ? 'good' : 'warn'],
  overtaken: ({ resource = '' }) => [`Another message was sent for ${resource}`, 'plain'],
  woken: ({ by: who }) => [`Woken${by(who)}`, 'todo'],
  command: ({ command = '', by: who, done }) => [
    `${command}${by(who)}${done === undefined ? '; it did not finish' : ''}`,
    'todo',
  ],
  attempt: (event) => [
    `Attempt: ${event.outcome}${kindText(event)}, ${countOf(event.requests ?? 0, 'call')}`,
    event.outcome === 'done' ? 'good' : event.outcome === 'parked' ? 'bad' : 'warn',
  ],
  logged: () => ['Logged', 'plain'],
};

const unreadNotes = ({ unread }: Pick<Trace, 'unread'>): View =>
  unread.map(({ source, why }) => ({ tone: 'warn', text: `Not read: ${source} (${why})` }));

const elsewhere = (log: boolean): string =>
  log
    ? 'Check that it is the id of a message, letter or event of this stage. A message that was done before the time that is searched is found only by its resource, as in grade/2001/5001/301.'
    : 'A message that was done at its first try leaves no record. Pass its resource, as in grade/2001/5001/301, or search the functions’ log, too.';

const headOf = (message: TracedMessage): Block => {
  const { ids, function: name = '', eventId, resource } = message;
  const parts = [
    `${message.message}: ${outcomes[message.outcome]}`,
    name,
    subjectOf(message),
    resource === undefined ? '' : `resource ${resource}`,
    eventId === undefined ? '' : `event ${eventId}`,
    ids.length > 1 ? `earlier ${ids.filter((id) => id !== message.message).join(', ')}` : '',
  ];
  return { heading: parts.filter(Boolean).join(' · ') };
};
