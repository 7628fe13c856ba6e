import { matches } from '../../dead-letters/reading/filter.ts';
import type { DeskRecord } from '../../desk/record.ts';
import { checkbox, textField } from '../../markup/forms.ts';
import { type Html, html, said } from '../../markup/html.ts';
import { table } from '../../markup/table.ts';
import { messagesAbout } from '../../trace/about.ts';
import { traceOf } from '../../trace/trace.ts';
import { ageOf, numberOf } from '../../views/amounts.ts';
import { subjectOf } from '../../views/letters.ts';
import { outcomeText } from '../../views/trace.ts';
import { waitText } from '../../views/waiting.ts';
import { addScreen, type Desk, filterFrom } from '../desk.ts';
import { about, origin, traceLink } from './cells.ts';
import { timeline } from './letter.ts';

const maxMessages = 500;

export const addTrace = (desk: Desk): void => {
  const { target, integrations, lists } = desk;
  const ofMessage = async (id: string, options: { log: boolean; signal: AbortSignal }): Promise<Html> => {
    const trace = await traceOf(target, id, { ...options, functions: [...integrations.keys()] });
    return html`${trace.events.length > 0 ? '' : html`<p>Nothing is known about it. A message that was done at its first try is found only by its resource, as in grade/2001/5001/301, or in the functions’ log.</p>`}
${trace.messages.map((message) => {
  const subject = subjectOf(message);
  return html`<p><code>${message.message}</code> ${said(message.function ?? '')} ${subject} <strong>${outcomeText(message)}</strong></p>`;
})}${timeline(trace)}`;
  };

  addScreen(desk, ['/trace', 'Trace'], async (query, context) => {
    const { signal } = context.req.raw;
    const id = query.get('id')?.trim() ?? '';
    const log = query.get('log') === 'yes';
    const { user, orgUnit } = filterFrom(
      new URLSearchParams([...query].filter(([name]) => name !== 'id')),
    ).filter;
    const subject = { ...(user && { user }), ...(orgUnit && { orgUnit }) };
    const found = async (): Promise<Html> => {
      if (id !== '') return ofMessage(id, { log, signal });
      if (Object.keys(subject).length === 0) return html``;
      const { messages, isWhole } = await messagesAbout(target, subject, { limit: maxMessages, signal });
      return html`${recordTable(messages, 'Nothing is known. A message that was done at its first try leaves no record.')}${
        isWhole ? '' : html`<p class="quiet">These are the newest ${numberOf(messages.length)}.</p>`
      }`;
    };
    return html`<form method="get" class="filter" role="search">${textField('id', 'Message, letter, event or resource', { value: id, hint: 'grade/2001/5001/301' })}
${textField('user', 'or user', { value: user, hint: 'id' })}${textField('orgUnit', 'and course', { value: orgUnit, hint: 'id' })}${checkbox('log', 'The functions’ log, too', { isChecked: log })}
<button>Trace</button></form>${await found()}`;
  });

  addScreen(desk, ['/waiting', 'Waiting'], async (query) => {
    const { filter } = filterFrom(query);
    const { value } = await lists.waiting.get();
    const found = value.filter((record) => matches(filter, record));
    return html`<p>${waitText(found.length)}. Messages that only wait for their turn are not listed.</p>${recordTable(found.slice(0, maxMessages), 'Nothing waits.')}`;
  });
};

const recordTable = (records: readonly DeskRecord[], empty: string): Html =>
  table(
    'Messages',
    records,
    {
      Message: ({ message }) => traceLink(message),
      Age: ({ firstMs, atMs }) => ageOf(firstMs ?? atMs),
      State: ({ state }) => state,
      ...origin,
      ...about,
      Error: ({ error }) => said(error),
    },
    { empty },
  );
