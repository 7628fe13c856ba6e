import { matches } from '../../dead-letters/reading/filter.ts';
import { UsageError } from '../../deployment/command-errors.ts';
import type { DeskRecord } from '../../desk/record.ts';
import { type Html, href, html, said } from '../../markup/html.ts';
import { badge } from '../../markup/notes.ts';
import { table } from '../../markup/table.ts';
import { messagesAbout } from '../../trace/about.ts';
import { traceOf } from '../../trace/trace.ts';
import { ageOf, numberOf } from '../../wording/amounts.ts';
import { subjectOf } from '../../wording/letters.ts';
import { outcomeText } from '../../wording/trace.ts';
import { type App, type Desk, filterFrom, queryOf, render } from '../desk.ts';
import { timeline } from './letter.ts';

const maxMessages = 500;

export const addTrace = (app: App, desk: Desk): void => {
  const { target, integrations } = desk;
  app.get('/trace', async (context) => {
    const query = queryOf(context);
    const { signal } = context.req.raw;
    const id = query.get('id')?.trim() ?? '';
    const log = query.get('log') === 'yes';
    const { user, orgUnit } = filterFrom(query).filter;
    const content = async (): Promise<Html> => {
      if (id !== '') {
        const functions = [...integrations.keys()];
        const { events, messages, unread } = await traceOf(target, id, { log, functions, signal });
        return html`${
          events.length === 0
            ? html`<p>Nothing is known of it. A message that was done at its first try is known by its resource alone, as in grade/2001/5001/301, or by the functions’ log.</p>`
            : ''
        }${messages.map(
          (message) =>
            html`<p><code>${message.message}</code> ${said(message.function ?? '')} ${subjectOf({ user: undefined, orgUnit: undefined, thing: undefined, ...message })}: <strong>${outcomeText(message)}</strong></p>`,
        )}${timeline(events)}${unread.map(({ source, why }) => html`<p class="warn">Not read: ${source}: ${said(why)}</p>`)}`;
      }
      if (user === undefined && orgUnit === undefined) return html``;
      const about = { ...(user !== undefined && { user }), ...(orgUnit !== undefined && { orgUnit }) };
      const found = await messagesAbout(target, about, { limit: maxMessages, signal });
      return html`${recordTable(found.messages, 'Nothing is known. Messages that were done at their first try leave no record.')}${
        found.isWhole ? '' : html`<p class="quiet">The newest ${numberOf(found.messages.length)}.</p>`
      }`;
    };
    return render(
      desk,
      context,
      'Trace',
      html`<form method="get" class="filter" role="search">
<label>Message, letter, event or resource <input name="id" value="${id}" autocomplete="off" placeholder="grade/2001/5001/301"></label>
<label class="check"><input type="checkbox" name="log" value="yes"${log ? html` checked` : ''}> The functions’ log, too</label>
<label>or user <input name="user" value="${user ?? ''}" inputmode="numeric" placeholder="id"></label>
<label>and course <input name="orgUnit" value="${orgUnit ?? ''}" inputmode="numeric" placeholder="id"></label>
<button>Trace</button></form>${await content()}`,
    );
  });

  app.get('/waiting', async (context) => {
    const { filter } = filterFrom(queryOf(context));
    if (filter.cause !== undefined) throw new UsageError('What waits has no cause of letters.');
    const { value } = await desk.lists.waiting.get();
    const found = value.filter((record) => matches(filter, record));
    return render(
      desk,
      context,
      'Waiting',
      html`<p>${numberOf(found.length)} wait. Messages that only wait for their turn are not among them.</p>${recordTable(found.slice(0, maxMessages), 'Nothing waits.')}`,
    );
  });
};

const recordTable = (records: readonly DeskRecord[], empty: string): Html =>
  table(
    'Messages',
    [
      {
        title: 'Message',
        cell: ({ message }) => html`<a href="${href('/trace', { id: message })}">${message.slice(0, 8)}</a>`,
      },
      { title: 'Age', isNumber: true, cell: ({ firstMs, atMs }) => ageOf(firstMs ?? atMs) },
      { title: 'State', cell: ({ state }) => state },
      { title: 'Function', cell: ({ function: name }) => said(name || '–') },
      { title: 'Kind', cell: ({ kind }) => (kind === '' ? '' : badge(kind)) },
      { title: 'User · course · thing', cell: (record) => subjectOf(record) || '–' },
      { title: 'Error', cell: ({ error }) => said(error) },
    ],
    records,
    empty,
  );
