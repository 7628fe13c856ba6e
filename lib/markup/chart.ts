import { numberOf } from '../views/amounts.ts';
import type { Chart } from '../views/view.ts';
import { type Html, html } from './html.ts';

export type Bar = { label: string; value: number; tone?: string; href?: string };

/** So much of the width of its place. */
export const bar = (share: number): Html =>
  html`<svg class="bar plain" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${Math.max(0.5, 100 * share)}" height="1"/></svg>`;

/** Bars from the left, each with its number; the longest takes the whole width. */
export const bars = (title: string, all: readonly Bar[]): Html => {
  const most = Math.max(1, ...all.map(({ value }) => value));
  return html`<dl class="bars" aria-label="${title}">${all.map(
    ({ label, value, tone = 'plain', href }) => html`<div>
    <dt>${href === undefined ? label : html`<a href="${href}">${label}</a>`}</dt>
    <dd><svg class="bar ${tone}" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${Math.max(0.5, (100 * value) / most)}" height="1"/></svg>
    <span>${numberOf(value)}</span></dd></div>`,
  )}</dl>`;
};

const height = 60;
const step = 12;

const hourMs = 3_600_000;
const dayHours = 24;

/** What happened by hour of the last 24, in UTC. */
export const hourly = (
  title: string,
  series: readonly { name: string; tone: string; events: readonly { atMs: number; count?: number }[] }[],
): Html => {
  const first = Math.floor(Date.now() / hourMs) - dayHours + 1;
  const hours = Array.from({ length: dayHours }, (_, at) => first + at);
  const countIn = (events: (typeof series)[number]['events']): number[] => {
    const sums = new Map<number, number>();
    for (const { atMs, count = 1 } of events) {
      const hour = Math.floor(atMs / hourMs);
      sums.set(hour, (sums.get(hour) ?? 0) + count);
    }
    return hours.map((hour) => sums.get(hour) ?? 0);
  };
  const labels = hours.map((hour) => `${String(hour % dayHours).padStart(2, '0')}:00`);
  return columns({
    ...{ title, labels },
    series: series.map(({ events, ...each }) => ({ ...each, values: countIn(events) })),
  });
};

/** Columns side by side, as for the hours of a day; the figures stand in the text of each column. */
export const columns = ({ title, labels, series }: Chart): Html => {
  const most = Math.max(1, ...series.flatMap(({ values }) => values));
  const width = (step - 2) / series.length;
  return html`<figure class="columns"><figcaption>${title}: ${series.map(
    ({ name, tone }) => html`<span class="key ${tone}">${name}</span> `,
  )}<span class="quiet">most: ${numberOf(most)}</span></figcaption>
  <svg viewBox="0 0 ${labels.length * step} ${height}" role="img" aria-label="${title}">${labels.map(
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
