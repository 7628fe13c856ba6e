import { compareWithOriginal } from '../../dead-letters/edit/original.ts';
import { findLetter } from '../../dead-letters/reading/find.ts';
import { showLetter } from '../../dead-letters/reading/show.ts';
import { historyIn } from '../../desk/history.ts';
import { reasonField } from '../../markup/forms.ts';
import { badge, type Html, html, later, said } from '../../markup/html.ts';
import { plain } from '../../redaction/printable.ts';
import { type Trace, traceOf } from '../../trace/trace.ts';
import { ageOf } from '../../views/amounts.ts';
import { subjectOf } from '../../views/letters.ts';
import { eventText, timeText } from '../../views/trace.ts';
import { addScreen, type Context, type Desk, formOf, reasonIn, render } from '../desk.ts';
import { actionLink, firstAction } from './cells.ts';

const asked = (context: Context) => ({ id: context.req.param('id') ?? '', signal: context.req.raw.signal });

export const addLetter = (desk: Desk): void => {
  const { app, target, audit, integrations, readOnly } = desk;
  addScreen(desk, ['/letters/:id', 'Letter'], async (_, context) => {
    const { signal, ...given } = asked(context);
    const { id, record } = await findLetter(target, given.id, signal);
    const trace = await traceOf(target, id, { log: false, functions: [...integrations.keys()], signal });
    const path = `/letters/${encodeURIComponent(id)}`;
    const { function: name, kind, error, words, remedy = '', operation, status, required } = record;
    const wasEdited = historyIn(record.history)?.deeds.some(({ original }) => original) ?? false;
    return html`<p><code>${plain(id)}</code> ${said(name || '–')} ${badge(kind)} ${subjectOf(record)} <span class="quiet">a letter for ${ageOf(record.atMs)}</span></p>
<p>${said(error)}</p>${words ? html`<blockquote>${said(words)}</blockquote>` : ''}
${operation ? html`<p><code>${plain(operation)}</code> ${status === undefined ? '' : `→ ${status}`} ${required ? html`requires <code>${plain(required)}</code>` : ''}</p>` : ''}
<p class="todo">→ ${said(remedy)}</p>${readOnly ? '' : actionsOf(id, kind)}
<section><h2>What happened</h2>${timeline(trace)}</section>
<section><h2>Message</h2>${later(`${path}/message`, 'Read it from the queue, and show it without personal data')}</section>
${wasEdited ? html`<section><h2>Before and after the edit</h2>${later(`${path}/original`, 'Compare it with the original')}</section>` : ''}
${readOnly ? '' : html`<section><h2>Reveal</h2><form method="post" action="${path}/reveal">${reasonField(true)}<button>Reveal personal data</button></form><p class="quiet">The audit log records who did so, and why.</p></section>`}`;
  });

  addScreen(desk, ['/letters/:id/message', 'Message'], async (_, context) => {
    const { message } = await showLetter(target, { ...asked(context), reveal: false, audit });
    return html`<div id="part">${json('Message', message)}</div>`;
  });
  addScreen(desk, ['/letters/:id/original', 'Original'], async (_, context) => {
    const compared = await compareWithOriginal(target, asked(context));
    if ('missing' in compared) return html`<p id="part">${said(compared.missing)}</p>`;
    const fields = compared.difference.map(({ field }) => field).join(', ');
    return html`<div id="part" class="beside"><div><h2>Before</h2>${json('Before', compared.before)}</div><div><h2>After</h2>${json('After', compared.after)}</div>
<p class="wide">${fields === '' ? 'They do not differ.' : html`They differ in ${said(fields)}.`}</p></div>`;
  });

  app.post('/letters/:id/reveal', async (context) => {
    const reason = reasonIn(await formOf(context));
    const details = await showLetter(target, { ...asked(context), reveal: true, reason, audit });
    const { id, message, failure, attributes } = details;
    const content = html`${json('Message', message)}${failure?.detail ? html`<h2>In the platform’s words</h2><blockquote>${said(failure.detail)}</blockquote>` : ''}
${Object.keys(attributes).length > 0 ? html`<h2>Attributes</h2>${json('Attributes', attributes)}` : ''}<p><a href="/letters/${encodeURIComponent(id)}">Back to the letter</a></p>`;
    return render(desk, context, { title: 'Letter, revealed', content });
  });
};

const actionsOf = (id: string, kind: string): Html =>
  html`<div class="actions">${firstAction(kind, { id })}
${actionLink('/edit', 'Edit', { id })} ${actionLink('/discard', 'Discard', { id })} ${actionLink('/trace', 'Trace', { id })}</div>`;

export const timeline = ({ events, unread }: Pick<Trace, 'events' | 'unread'>): Html =>
  html`<ol class="timeline">${events.map(
    (event) =>
      html`<li class="${event.what}"><time datetime="${event.at}">${timeText(event.at)}</time> ${said(eventText(event))}</li>`,
  )}</ol>${unread.map(({ source, why }) => html`<p class="warn">Not read: ${source} (${said(why)})</p>`)}`;

const json = (label: string, value: unknown): Html => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'nothing');
  return html`<pre tabindex="0" role="region" aria-label="${label}"><bdi>${text.split('\n').map(plain).join('\n')}</bdi></pre>`;
};
