import { numberOf } from '../../views/format.ts';
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
export const columns = (chart: Chart): Html => (chart.isApart ? rowsOf(chart) : sideBySide(chart));

/** Each series in a row of its own, by a scale of its own: some are a thousand times as large as others. */
const rowsOf = ({ title, labels, series }: Chart): Html =>
  html`<figure class="rows"><figcaption class="unseen">${title}</figcaption>${series.map(
    ({ name, tone, values, note }) => {
      const most = Math.max(1, ...values);
      const total = values.reduce((sum, value) => sum + value, 0);
      return html`<p><span class="${tone}">${name}</span> <b>${note ?? numberOf(total)}</b></p>
<svg class="${tone}" viewBox="0 0 ${labels.length * step} ${rowHeight}" preserveAspectRatio="none" role="img" aria-label="${title}, ${name}: ${numberOf(total)}, at most ${numberOf(most)} in an hour">${labels.map(
        (label, at) => {
          const tall = ((values[at] ?? 0) / most) * (rowHeight - 1);
          return html`<g><title>${label}: ${values[at] ?? 0} ${name}</title><rect class="ground" x="${at * step}" width="${step}" height="${rowHeight}"/><rect x="${at * step + 1}" y="${rowHeight - Math.max(tall, 0.5)}" width="${step - 2}" height="${Math.max(tall, 0.5)}"/></g>`;
        },
      )}</svg>`;
    },
  )}<p class="ends"><span>${labels[0]}</span><span>UTC</span><span>${labels.at(-1)}</span></p></figure>`;

const rowHeight = 24;

const sideBySide = ({ title, labels, series }: Chart): Html => {
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
