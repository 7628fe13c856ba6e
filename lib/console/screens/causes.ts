import type { Group } from '../../dead-letters/reading/groups.ts';
import { needsDecision } from '../../failure.ts';
import { type Html, href, html, said } from '../../markup/html.ts';
import { badge } from '../../markup/notes.ts';
import { ageOf, countOf, numberOf } from '../../wording/amounts.ts';
import { type App, type Desk, render } from '../desk.ts';
import { button } from '../page.ts';

export const addCauses = (app: App, desk: Desk): void => {
  app.get('/causes', async (context) => {
    const { value, atMs } = await desk.lists.letters.get();
    const { groups, all, queued } = value;
    return render(
      desk,
      context,
      'Causes',
      html`<p>${countOf(all.length, 'letter')} of ${countOf(groups.length, 'cause')}, as of ${new Date(atMs).toISOString().slice(11, 19)} UTC.
${all.length === queued ? '' : html`<span class="quiet">SQS counts about ${numberOf(queued)}; lists and queue are made equal every 15 minutes.</span>`}</p>
${groups.length === 0 ? html`<p class="good">There are no dead letters.</p>` : groups.map((group) => causeOf(group))}`,
    );
  });
};

const causeOf = (group: Group): Html => {
  const { cause, function: name, kind, error, words, remedy, letters, oldestMs, newestMs } = group;
  const { grants, replayedOften } = group;
  return html`<article class="cause" id="${cause}"><h2><span class="count">${numberOf(letters)}</span> ${said(name || '–')} ${badge(kind)}</h2>
<p>${said(error)}</p>${words.map((each) => html`<blockquote>${said(each)}</blockquote>`)}
<p class="todo">→ ${said(remedy)}</p>
${grants.length > 1 ? html`<p>Scopes to ask for: ${said(grants.join(', '))}</p>` : ''}
${replayedOften > 0 ? html`<p class="warn">! ${countOf(replayedOften, 'letter was', 'letters were')} replayed five times or more: look into the cause first.</p>` : ''}
<p class="quiet">The oldest ${ageOf(oldestMs)}, the newest ${ageOf(newestMs)} old.</p>
<div class="actions">${needsDecision(kind) ? html`<a class="button" href="${href('/uncertain', { cause })}">Look, then decide</a>` : ''}
${kind === 'unknown-source' || needsDecision(kind) ? '' : button('/replay', 'Plan a replay', { cause })}
<a class="button" href="${href('/letters', { cause })}">Letters</a>
<a class="button" href="${href('/edit', { cause })}">Edit</a>
<a class="button" href="${href('/discard', { cause })}">Discard</a></div></article>`;
};
