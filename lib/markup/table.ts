import { numberOf } from '../views/amounts.ts';
import { type Html, html } from './html.ts';

/** What a row has in each column, by its title; numbers stand to the right, and none as a dash. */
export type Columns<Row> = Record<string, (row: Row) => Html | string | number | undefined>;

type Options = {
  /** In place of a table without rows. */
  empty?: string;
  /** In place of titles that are more than text. */
  titles?: Record<string, Html>;
};

/** It scrolls by itself where the screen is narrow, also by keyboard. */
export const table = <Row>(
  caption: string,
  rows: readonly Row[],
  columns: Columns<Row>,
  { empty = 'None.', titles = {} }: Options = {},
): Html => {
  const [first] = rows;
  if (first === undefined) return empty === '' ? html`` : html`<p class="quiet">${empty}</p>`;
  const all = Object.entries(columns);
  const isNumber = all.map(([, cellOf]) => typeof cellOf(first) === 'number');
  const head = all.map(
    ([title], at) => html`<th scope="col"${numberClass(isNumber[at])}>${titles[title] ?? title}</th>`,
  );
  const cell = (content: ReturnType<Columns<Row>[string]>, at: number): Html =>
    html`<td${numberClass(isNumber[at])}>${typeof content === 'number' ? figure(content) : content}</td>`;
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table>
<caption class="unseen">${caption}</caption><thead><tr>${head}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${all.map(([, cellOf], at) => cell(cellOf(row), at))}</tr>`)}</tbody></table></div>`;
};

const figure = (count: number): string => (count === 0 ? '–' : numberOf(count));

const numberClass = (isNumber = false): Html | undefined => (isNumber ? html` class="number"` : undefined);
