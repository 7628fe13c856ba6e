import { plain } from '../../redaction/printable.ts';
import type { Trace, TracedMessage } from '../../trace/trace.ts';
import { subjectOf } from '../../views/letters.ts';
import { eventText, outcomeText, timeText } from '../../views/trace.ts';
import { wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

export const traceLines = (
  trace: Trace,
  { terminal, log }: { terminal: Terminal; log: boolean },
): string[] => {
  const { id, events, messages } = trace;
  const { style, width } = terminal;
  const notes = trace.unread.flatMap(({ source, why }) =>
    wrapped(plain(`Not read: ${source} (${why})`), width, '  ').map((line) => style('yellow', line)),
  );
  if (events.length === 0)
    return [...wrapped(plain(`Nothing is known about ${id}. ${elsewhere(log)}`), width), ...notes];
  const several = messages.length > 1;
  return [
    ...messages.flatMap((message) => headLines(message, terminal)),
    '',
    ...events.flatMap((event) => {
      const who = several && event.message ? `${event.message.slice(0, 8)} ` : '';
      return wrapped(`${plain(who)}${eventText(event)}`, width - timeWidth).map(
        (line, at) => (at === 0 ? timeText(event.at) : '').padEnd(timeWidth) + line,
      );
    }),
    '',
    ...notes,
  ];
};

const elsewhere = (log: boolean): string =>
  log
    ? 'Check that it is the id of a message, letter or event of this stage. A message that was done before --since is found only by its resource, as in grade/2001/5001/301.'
    : 'A message that was done at its first try leaves no record. Pass its resource, as in grade/2001/5001/301, or --log to search the functions’ log.';

const headLines = (message: TracedMessage, { style, width }: Terminal): string[] => {
  const { ids, function: name = '', eventId, resource } = message;
  const told = [
    `${message.message}: ${outcomeText(message)}`,
    name,
    subjectOf(message),
    resource === undefined ? '' : `resource ${resource}`,
    eventId === undefined ? '' : `event ${eventId}`,
    ids.length > 1 ? `earlier ${ids.filter((id) => id !== message.message).join(', ')}` : '',
  ];
  const [first = '', ...others] = wrapped(plain(told.filter(Boolean).join(' · ')), width, '  ');
  return [style('bold', first), ...others];
};

const timeWidth = 25;
