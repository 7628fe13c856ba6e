import { numberOf } from '../../views/amounts.ts';
import type { Chart } from '../../views/view.ts';
import { type Html, html } from './html.ts';

/** A bar that fills this share of its place's width. */
export const bar = (share: number): Html =>
  html`<svg class="bar plain" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${Math.max(0.5, 100 * share)}" height="1"/></svg>`;

const height = 60;
const step = 12;
/** Fewer columns are not drawn wider. */
const leastColumns = 24;

/** Columns side by side, for example for the hours of a day. The text of each column contains its figures. */
export const columns = ({ title, labels, series }: Chart): Html => {
  const most = Math.max(1, ...series.flatMap(({ values }) => values));
  const width = (step - 2) / series.length;
  return html`<figure class="columns"><figcaption>${title}: ${series.map(
    ({ name, tone }) => html`<span class="key ${tone}">${name}</span> `,
  )}<span class="quiet">most: ${numberOf(most)}</span></figcaption>
  <svg viewBox="0 0 ${Math.max(leastColumns, labels.length) * step} ${height}" role="img" aria-label="${title}">${labels.map(
    (label, at) =>
      html`<g><title>${label}: ${series.map(({ name, values }) => `${values[at] ?? 0} ${name}`).join(', ')}</title>
      <rect class="ground" x="${at * step}" width="${step}" height="${height}"/>${series.map(
        ({ tone, values }, of) => {
          const tall = ((values[at] ?? 0) / most) * height;
          return html`<rect class="${tone}" x="${at * step + 1 + of * width}" y="${height - tall}" width="${width}" height="${tall}"/>`;
        },
      )}</g>`,
  )}</svg><p class="ends"><span>${labels[0]}</span><span>${labels.at(-1)}</span></p></figure>`;
};
