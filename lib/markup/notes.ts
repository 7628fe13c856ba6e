import type { Note } from '../wording/notes.ts';
import { type Html, html, said } from './html.ts';

/** `good` and the like as a word for whoever does not see the colour. */
const marks = { good: '✓', bad: '✗', warn: '!', todo: '→', plain: '' } as const;

export const notes = (all: readonly Note[]): Html =>
  all.length === 0
    ? html``
    : html`<ul class="notes">${all.map(
        ({ tone, text }) =>
          html`<li class="${tone}"><span aria-hidden="true">${marks[tone]}</span> ${said(text)}</li>`,
      )}</ul>`;

/** Yellow: it may go away by itself. Red: a person must act. */
export const toneOf = (kind: string): string =>
  /^(credentials|throttled|unavailable)$/.test(kind) ? 'warn' : 'bad';

export const badge = (kind: string): Html => html`<span class="badge ${toneOf(kind)}">${kind}</span>`;
