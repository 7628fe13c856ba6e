import { compareWithOriginal } from '../../dead-letters/edit/original.ts';
import { findLetter } from '../../dead-letters/reading/find.ts';
import { showLetter } from '../../dead-letters/reading/show.ts';
import { UsageError } from '../../deployment/command-errors.ts';
import { historyIn } from '../../desk/history.ts';
import { needsDecision } from '../../failure.ts';
import { type Html, href, html, said } from '../../markup/html.ts';
import { badge } from '../../markup/notes.ts';
import { plain } from '../../redaction/printable.ts';
import type { TraceEvent } from '../../trace/event.ts';
import { traceOf } from '../../trace/trace.ts';
import { ageOf } from '../../wording/amounts.ts';
import { subjectOf } from '../../wording/letters.ts';
import { eventText, timeText } from '../../wording/trace.ts';
import { type App, type Desk, formOf, render } from '../desk.ts';
import { button, later, reasonField } from '../page.ts';

export const addLetter = (app: App, desk: Desk): void => {
  const { target, audit, integrations } = desk;
  app.get('/letters/:id', async (context) => {
    const { signal } = context.req.raw;
    const { id, record } = await findLetter(target, context.req.param('id'), signal);
    const trace = await traceOf(target, id, { log: false, functions: [...integrations.keys()], signal });
    const { function: name, kind, error, words, remedy, operation, status, required } = record;
    return render(
      desk,
      context,
      `Letter ${id.slice(0, 8)}`,
      html`<p>${said(name || '–')} ${badge(kind)} <span>${subjectOf(record)}</span> <span class="quiet">a letter for ${ageOf(record.atMs)}</span></p>
<p>${said(error)}</p>${words ? html`<blockquote>${said(words)}</blockquote>` : ''}
${operation ? html`<p><code>${plain(operation)}</code>${status === undefined ? '' : ` → ${status}`}${required ? html`, requires <code>${plain(required)}</code>` : ''}</p>` : ''}
<p class="todo">→ ${said(remedy ?? '')}</p>
${desk.readOnly ? '' : actionsOf(id, kind)}
<section><h2>What happened</h2>${timeline(trace.events)}${trace.unread.map(({ source, why }) => html`<p class="warn">Not read: ${source}: ${said(why)}</p>`)}</section>
<section><h2>Message</h2>${later(`/letters/${encodeURIComponent(id)}/message`, 'Take it from the queue, and show it without what is personal')}</section>
${historyIn(record.history)?.deeds.some(({ original }) => original) ? html`<section><h2>Before and after the edit</h2>${later(`/letters/${encodeURIComponent(id)}/original`, 'Compare with the original')}</section>` : ''}
${desk.readOnly ? '' : html`<section><h2>Reveal</h2><form method="post" action="/letters/${encodeURIComponent(id)}/reveal">${reasonField(true)}<button>Reveal what is personal</button></form><p class="quiet">The audit log says who did so and why.</p></section>`}`,
    );
  });

  app.get('/letters/:id/message', async (context) => {
    const { message } = await showLetter(target, {
      ...{ id: context.req.param('id'), reveal: false, audit, signal: context.req.raw.signal },
    });
    return render(desk, context, 'Message', html`<div id="part">${json(message)}</div>`);
  });

  app.post('/letters/:id/reveal', async (context) => {
    const reason = (await formOf(context)).get('reason')?.trim();
    if (!reason) throw new UsageError('Why? To reveal a message needs a reason, for the audit log.');
    const details = await showLetter(target, {
      ...{ id: context.req.param('id'), reveal: true, reason, audit, signal: context.req.raw.signal },
    });
    const { message, failure, attributes } = details;
    return render(
      desk,
      context,
      'Letter, revealed',
      html`${json(message)}${failure?.detail ? html`<h2>In the platform’s words</h2><blockquote>${said(failure.detail)}</blockquote>` : ''}
${Object.keys(attributes).length > 0 ? html`<h2>Attributes</h2>${json(attributes)}` : ''}<p><a href="/letters/${encodeURIComponent(details.id)}">Back to the letter</a></p>`,
    );
  });

  app.get('/letters/:id/original', async (context) => {
    const { signal } = context.req.raw;
    const compared = await compareWithOriginal(target, { id: context.req.param('id'), signal });
    if ('missing' in compared)
      return render(desk, context, 'Original', html`<p id="part">${said(compared.missing)}</p>`);
    const { before, after, difference } = compared;
    return render(
      desk,
      context,
      'Original',
      html`<div id="part" class="beside"><div><h2>As it was</h2>${json(before)}</div><div><h2>As it is</h2>${json(after)}</div>
<p class="wide">${difference.length === 0 ? 'They differ in nothing that may be shown.' : `They differ in ${difference.map(({ field }) => field).join(', ')}.`}</p></div>`,
    );
  });
};

const actionsOf = (id: string, kind: string): Html => html`<div class="actions">
${needsDecision(kind) ? html`<a class="button" href="${href('/uncertain', { id })}">Look, then decide</a>` : ''}
${kind === 'unknown-source' || needsDecision(kind) ? '' : button('/replay', 'Plan a replay', { id })}
<a class="button" href="${href('/edit', { id })}">Edit</a> <a class="button" href="${href('/discard', { id })}">Discard</a>
<a class="button" href="${href('/trace', { id })}">Trace</a></div>`;

export const timeline = (events: readonly TraceEvent[]): Html =>
  events.length === 0
    ? html`<p class="quiet">Nothing is known.</p>`
    : html`<ol class="timeline">${events.map(
        (event) =>
          html`<li class="${event.what}"><time datetime="${event.at}">${timeText(event.at)}</time> ${said(eventText(event))}</li>`,
      )}</ol>`;

const json = (value: unknown): Html =>
  html`<pre class="json" tabindex="0"><bdi>${(typeof value === 'string'
    ? value
    : JSON.stringify(value, null, 2)
  )
    .split('\n')
    .map((line) => plain(line))
    .join('\n')}</bdi></pre>`;
