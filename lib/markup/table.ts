import { type Html, html } from './html.ts';

export type Column<Row> = {
  title: Html | string;
  cell(row: Row): Html | string | undefined;
  /** Numbers and ages stand to the right. */
  isNumber?: boolean;
};

/** It scrolls by itself where the screen is narrow, also by keyboard. `empty` stands in its place where there are no rows. */
export const table = <Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  empty = 'None.',
): Html =>
  rows.length === 0
    ? html`<p class="quiet">${empty}</p>`
    : html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table>
  <caption class="unseen">${caption}</caption>
  <thead><tr>${columns.map(({ title, isNumber }) => html`<th scope="col"${classOf(isNumber)}>${title}</th>`)}</tr></thead>
  <tbody>${rows.map(
    (row) =>
      html`<tr>${columns.map(({ cell, isNumber }) => html`<td${classOf(isNumber)}>${cell(row)}</td>`)}</tr>`,
  )}</tbody></table></div>`;

const classOf = (isNumber = false): Html | undefined => (isNumber ? html` class="number"` : undefined);
