import { html as escaped } from 'hono/html';
import { plain } from '../redaction/printable.ts';
import { kindTone } from '../views/letters.ts';
import type { Note } from '../views/view.ts';

/** Escaped markup, as hono's `html` makes it: every value in a template is escaped, unless it is such markup itself. */
export type Html = ReturnType<typeof escaped>;

/** Of no value comes a control character, or one that turns the direction of what stands around it. */
export const html = (strings: TemplateStringsArray, ...values: unknown[]): Html =>
  escaped(strings, ...values.map(visible));

const hidden = /(?![\t\n\r])[\p{Cc}\p{Bidi_Control}]/gu;

const visible = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(visible);
  return typeof value === 'string' ? value.replace(hidden, ' ') : value;
};

/** A text from outside: no control characters, and its direction changes nothing around it. */
export const said = (text: string): Html => html`<bdi>${plain(text)}</bdi>`;

/** `good` and the like as a word for whoever does not see the colour. */
const marks = { good: '✓', bad: '✗', warn: '!', todo: '→', plain: '', quiet: '' } as const;

export const notes = (all: readonly Note[]): Html =>
  all.length === 0
    ? html``
    : html`<ul class="notes">${all.map(
        ({ tone, text }) =>
          html`<li class="${tone}"><span aria-hidden="true">${marks[tone]}</span> ${said(text)}</li>`,
      )}</ul>`;

export const badge = (kind: string): Html => html`<span class="badge ${kindTone(kind)}">${kind}</span>`;

/** What takes long has a page of its own; the script puts the part of that page here. */
export const later = (to: string, text: string): Html =>
  html`<p data-load="${to}"><a href="${to}">${text}</a></p>`;
