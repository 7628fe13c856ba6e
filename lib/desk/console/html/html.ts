import { html as escaped } from 'hono/html';
import { plain } from '../../../runtime/privacy/printable.ts';

/** Escaped markup, as hono's `html` makes it: every value in a template is escaped, unless it is such markup itself. */
export type Html = ReturnType<typeof escaped>;

/** Security: removes from values control characters, and characters that change the direction of surrounding text. */
export const html = (strings: TemplateStringsArray, ...values: unknown[]): Html =>
  escaped(strings, ...values.map(visible));

const hidden = /(?![\t\n\r])[\p{Cc}\p{Bidi_Control}]/gu;

const visible = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(visible);
  return typeof value === 'string' ? value.replace(hidden, ' ') : value;
};

/** A sentence has the commands that do what it says in parentheses. In the console, a button does it. */
export const withoutCommands = (sentence: string): string =>
  sentence.replace(/ \(`sis-relay [^`]*`(?:, `sis-relay [^`]*`)*\)/g, '');

/** A text from outside: without control characters, and isolated so that its direction changes nothing around it. */
export const said = (text: string): Html => html`<bdi>${plain(text)}</bdi>`;
