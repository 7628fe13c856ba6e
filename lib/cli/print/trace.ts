import { plain } from '../../redaction/printable.ts';
import type { TraceEvent } from '../../trace/event.ts';
import type { Trace, TracedMessage } from '../../trace/trace.ts';
import { subjectOf } from './letters.ts';
import { countOf, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

export const traceLines = (
  trace: Trace,
  { terminal, log }: { terminal: Terminal; log: boolean },
): string[] => {
  const { id, events, messages } = trace;
  const { style, width } = terminal;
  const notes = trace.unread.flatMap(({ source, why }) =>
    wrapped(plain(`Not read: ${source}: ${why}`), width, '  ').map((line) => style('yellow', line)),
  );
  if (events.length === 0)
    return [...wrapped(plain(`Nothing is known of ${id}. ${elsewhere(log)}`), width), ...notes];
  const several = messages.length > 1;
  return [
    ...messages.flatMap((message) => headLines(message, terminal)),
    '',
    ...events.flatMap((event) => {
      const who = several && event.message ? `${event.message.slice(0, 8)} ` : '';
      return wrapped(plain(`${who}${textOf(event)}`), width - timeWidth).map(
        (line, at) => (at === 0 ? timeText(event.at) : '').padEnd(timeWidth) + line,
      );
    }),
    '',
    ...notes,
  ];
};

const elsewhere = (log: boolean): string =>
  log
    ? 'Is it the id of the message, its letter or its event, of this stage? Messages that were done longer ago than --since are known by their resource alone, as in grade/2001/5001/301.'
    : 'A message that was done at its first try leaves no record: give its resource, as in grade/2001/5001/301, or --log, which asks the functions’ log.';

const headLines = (message: TracedMessage, { style, width }: Terminal): string[] => {
  const { ids, function: name = '', eventId, resource, presumed, outcome } = message;
  const told = [
    `${message.message}: ${presumed ? 'sent, and presumed done' : outcomes[outcome]}`,
    name,
    subjectOf(message as Parameters<typeof subjectOf>[0]),
    resource === undefined ? '' : `resource ${resource}`,
    eventId === undefined ? '' : `event ${eventId}`,
    ids.length > 1 ? `earlier ${ids.filter((id) => id !== message.message).join(', ')}` : '',
  ];
  const [first = '', ...others] = wrapped(plain(told.filter(Boolean).join(' · ')), width, '  ');
  return [style('bold', first), ...others];
};

const outcomes: Record<TracedMessage['outcome'], string> = {
  done: 'done',
  duplicate: 'a duplicate of one that was done before, so it was not sent',
  superseded: 'superseded by a newer message, so it was not sent',
  waiting: 'waits',
  parked: 'a dead letter',
  replayed: 'replayed, and nothing is known of it since',
  edited: 'edited and sent, and nothing is known of it since',
  discarded: 'discarded',
  unknown: 'what became of it is not known',
};

const timeWidth = 25;

/** To the second, in UTC. */
const timeText = (at: string): string => `${at.slice(0, 19).replace('T', ' ')} UTC`;

const texts: Record<TraceEvent['what'], (event: TraceEvent) => string> = {
  received: ({ function: name, replays = 0 }) =>
    `received${by(name)}${replays > 0 ? `, as replay ${replays}` : ''}`,
  waited: (event) => `waited${forText(event)}, ${timesText(event)}`,
  waits: (event) => `waits${forText(event)}, ${timesText(event)}; ${nextText(event)}`,
  letter: (event) => `became a dead letter${forText(event)}`,
  replayed: (event) => `replayed${deedText(event)}`,
  edited: (event) => `edited and sent${deedText(event)}`,
  discarded: (event) => `discarded${deedText(event)}`,
  done: (event) => `done${callText(event)}${attemptsText(event)}`,
  duplicate: (event) => `not sent: a duplicate of one that was done before${attemptsText(event)}`,
  superseded: ({ error, ...event }) =>
    `not sent: a newer message was done before${error ? ` (${error})` : ''}${attemptsText(event)}`,
  claimed: (event) => `${claimText(event)} (ledger: ${event.resource}${fieldsText(event)})`,
  overtaken: (event) =>
    `another message was sent for ${event.resource}${fieldsText(event)}: ${event.eventId ?? event.message}`,
  woken: (event) => `woken${deedText(event)}`,
  command: ({ command, done, ...event }) =>
    `${command}${deedText(event)}${done === undefined ? '; it came to no end' : done ? '' : '; nothing was done to this one'}`,
  attempt: ({ outcome, requests = 0, durationMs, waitSeconds, ...event }) =>
    `log: ${outcome}${forText(event)}, ${countOf(requests, 'call')}${durationMs === undefined ? '' : ` in ${durationMs} ms`}${attemptsText(event)}${waitSeconds === undefined ? '' : `, for ${waitSeconds} s`}`,
  logged: ({ error }) => `log: ${error}`,
};

const textOf = (event: TraceEvent): string => texts[event.what](event);

const by = (name: string | undefined): string => (name ? ` by ${name}` : '');

/** For what it waited or became a letter, and which call got which answer. */
const forText = ({ kind, error, words, ...event }: TraceEvent): string =>
  [kind ? ` (${kind})` : '', error ? `: ${error}` : '', words ? ` “${words}”` : '', callText(event)].join('');

const callText = ({ operation, status }: Pick<TraceEvent, 'operation' | 'status'>): string =>
  operation === undefined ? '' : ` [${operation}${status === undefined ? '' : ` → ${status}`}]`;

const attemptsText = ({ attempts }: Pick<TraceEvent, 'attempts'>): string =>
  attempts === undefined || attempts < 2 ? '' : `, at receipt ${attempts}`;

const timesText = ({ times = 1, until }: TraceEvent): string =>
  times === 1 ? 'once' : `${times} times${until === undefined ? '' : `, the last ${timeText(until)}`}`;

const nextText = ({ next, remedy }: TraceEvent): string =>
  [
    next === undefined
      ? 'its next try is not known'
      : Date.parse(next) > Date.now()
        ? `its next try is ${timeText(next)}`
        : `its next try was due ${timeText(next)}`,
    ...(remedy ? [`→ ${remedy}`] : []),
  ].join('. ');

const deedText = ({ by: who, why, as, original }: Partial<TraceEvent>): string =>
  [
    by(who),
    why === undefined ? '' : `: ${why}`,
    as === undefined ? '' : `, as ${as}`,
    original === undefined ? '' : ` (original: ${original})`,
  ].join('');

const claimText = ({ outcome, presumed }: TraceEvent): string => {
  if (outcome === 'done') return 'sent, and done';
  if (outcome === 'undone') return 'sent, without effect';
  if (outcome === 'unknown') return 'sent; whether it had its effect is not known';
  return presumed
    ? 'sent, and presumed done: of a success that may be repeated no other outcome is written'
    : 'about to be sent: its attempt may be under way';
};

const fieldsText = ({ fields = [] }: TraceEvent): string =>
  fields.length === 0 || fields.join() === 'whole' ? '' : `, ${fields.join(', ')}`;
