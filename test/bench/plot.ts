import type { Figure, Section } from './figures.ts';
import { ours } from './messages.ts';
import { lowered, type Results, shown } from './report.ts';

/** The results as charts in one picture, readable on light and dark pages: it brings its own ground. */
export const plotOf = ({ sections }: Results): string => {
  const [message, coldStart, upload, growth] = sections;
  const columns = [
    [
      ...['0 ms', '20 ms'].map((latency) =>
        bars(figureIn(message, `CPU a message, the platform answers after ${latency}`), {
          title: `CPU a message, answered after ${latency}`,
        }),
      ),
      bars(figureIn(upload, 'Memory growth'), {
        title: `Memory growth, ${lowered(upload?.title ?? '')}`,
      }),
    ],
    [
      bars(figureIn(coldStart, 'Import'), { title: 'Import at a cold start' }),
      lines(
        [
          {
            figure: figureIn(growth, 'CPU a message, from the first one on'),
            name: 'from the first one on',
            mark: 'peer',
          },
          { figure: figureIn(growth, 'CPU a message, once warm'), name: 'once warm', mark: 'ours' },
        ],
        'CPU a message, by how many there are',
      ),
    ],
  ];
  const width = 2 * (chartWidth + gap) + gap;
  let height = 0;
  const placed = columns.flatMap((charts, column) => {
    let y = gap;
    const drawn = charts.map((chart) => {
      const at = `translate(${gap + column * (chartWidth + gap)} ${y})`;
      y += chart.height + gap;
      return `<g transform="${at}">${chart.svg}</g>`;
    });
    height = Math.max(height, y);
    return drawn;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="Benchmarks of sis-relay">
<style>${style}</style>
<rect class="ground" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="12"/>
${placed.join('\n')}
</svg>
`;
};

const chartWidth = 440;
const gap = 36;

const style = `
  text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #4b5563; }
  .title { font-size: 15px; font-weight: 600; fill: #111827; }
  .name-ours, .value-ours { font-weight: 600; fill: #0f766e; }
  .value { font-variant-numeric: tabular-nums; }
  .small { font-size: 11px; fill: #6b7280; }
  .ground { fill: #ffffff; stroke: #e5e7eb; }
  .peer { fill: #cbd5e1; } .ours { fill: #0d9488; }
  .line-peer { fill: none; stroke: #94a3b8; stroke-width: 2; } .line-ours { fill: none; stroke: #0d9488; stroke-width: 2.5; }
  .dot-peer { fill: #94a3b8; } .dot-ours { fill: #0d9488; }
  .spread { stroke: #475569; stroke-width: 1; }
  .floor { stroke: #d97706; stroke-width: 2; stroke-dasharray: 3 3; } .floor-text { fill: #b45309; font-size: 11px; }
  .grid { stroke: #e5e7eb; }
  @media (prefers-color-scheme: dark) {
    text { fill: #b6c0cc; }
    .title { fill: #f3f4f6; }
    .name-ours, .value-ours { fill: #5eead4; }
    .small { fill: #8b95a3; }
    .ground { fill: #0f1520; stroke: #273142; }
    .peer { fill: #3d4a5f; } .ours { fill: #2dd4bf; }
    .line-peer { stroke: #64748b; } .line-ours { stroke: #2dd4bf; }
    .dot-peer { fill: #64748b; } .dot-ours { fill: #2dd4bf; }
    .spread { stroke: #cbd5e1; }
    .floor { stroke: #fbbf24; } .floor-text { fill: #fbbf24; }
    .grid { stroke: #273142; }
  }`;

type Chart = { svg: string; height: number };

const figureIn = (section: Section | undefined, name: string): Figure | undefined =>
  section?.figures.find((figure) => figure.name === name);

/** A bar for each subject, the quartiles on it, and what ours must not exceed: of a ratio, as much of the peer's bar. */
const bars = (figure: Figure | undefined, { title }: { title: string }): Chart => {
  if (figure === undefined) return { svg: '', height: 0 };
  const subjects = Object.entries(figure.values);
  const limits = limitsOf(figure);
  const most = Math.max(...subjects.map(([, { high }]) => high), ...limits.map(({ at }) => at)) || 1;
  const left = 168;
  const across = (value: number): number => left + (value / most) * (chartWidth - left - 84);
  const rowHeight = 30;
  const top = 40;
  const rows = subjects.map(([name, spread], at) => {
    const y = top + at * rowHeight;
    const isOurs = isOur(name, figure);
    const end = across(spread.median);
    return [
      `<text class="${isOurs ? 'name-ours' : 'name'}" x="${left - 10}" y="${y + 14}" text-anchor="end">${escaped(name)}</text>`,
      `<rect class="${isOurs ? 'ours' : 'peer'}" x="${left}" y="${y}" width="${fixed(end - left)}" height="20" rx="3"/>`,
      spread.high > spread.low
        ? `<path class="spread" d="M${fixed(across(spread.low))} ${y + 10}H${fixed(across(spread.high))}"/>`
        : '',
      ...(isOurs
        ? limits.map(({ at }) => `<path class="floor" d="M${fixed(across(at))} ${y - 4}v28"/>`)
        : []),
      `<text class="value ${isOurs ? 'value-ours' : ''}" x="${chartWidth}" y="${y + 14}" text-anchor="end">${shown(spread, figure.unit)}</text>`,
    ].join('');
  });
  const bottom = top + subjects.length * rowHeight;
  const legend = limits.map(
    ({ name }, nth) =>
      `<path class="floor" d="M${left + 1} ${bottom + 4 + nth * 16}v12"/>` +
      `<text class="floor-text" x="${left + 10}" y="${bottom + 14 + nth * 16}">${escaped(name)}</text>`,
  );
  return {
    svg: `<text class="title" x="0" y="16">${escaped(title)}</text>${rows.join('')}${legend.join('')}`,
    height: bottom + 4 + limits.length * 16,
  };
};

const isOur = (name: string, { values }: Figure): boolean =>
  // Where nobody is called sis-relay, our functions are, and the peer has a comma in its name.
  ours in values ? name.startsWith(ours) : !name.includes(',');

/** The limits of a figure on its own scale; equal ones are drawn once. */
const limitsOf = ({ values, floors, unit }: Figure): { at: number; name: string }[] => {
  const limits = floors.map(({ name, limit }) => {
    const peer = Object.entries(values).find(([each]) => name.endsWith(`× ${each}`))?.[1];
    return peer
      ? { at: limit * peer.median, name: `at most ${limit} × ${nameIn(values, peer)}` }
      : { at: limit, name: `at most ${limit} ${unit}` };
  });
  return limits.filter(({ at }, nth) => limits.findIndex((other) => other.at === at) === nth);
};

const nameIn = (values: Figure['values'], spread: Figure['values'][string]): string =>
  Object.entries(values).find(([, each]) => each === spread)?.[0] ?? '';

type Series = { figure: Figure | undefined; name: string; mark: 'ours' | 'peer' };

/** Values by a number of messages, ten times as many with each step. */
const lines = (series: Series[], title: string): Chart => {
  const [first] = series;
  const steps = Object.keys(first?.figure?.values ?? {});
  const all = series.flatMap(({ figure }) => Object.values(figure?.values ?? {}).map(({ median }) => median));
  const most = roundedUp(Math.max(...all));
  const top = 40;
  const bottom = top + 120;
  const left = 56;
  const across = (at: number): number =>
    left + 16 + (at * (chartWidth - left - 110)) / Math.max(1, steps.length - 1);
  const up = (value: number): number => bottom - (value / most) * (bottom - top);
  const unit = first?.figure?.unit ?? 'µs';
  const grid = [0, 0.5, 1].map(
    (part) =>
      `<path class="grid" d="M${left} ${fixed(up(part * most))}H${chartWidth}"/>` +
      `<text class="small" x="${left - 8}" y="${fixed(up(part * most) + 4)}" text-anchor="end">${shown({ median: part * most, low: 0, high: 0 }, unit)}</text>`,
  );
  const labels = steps.map(
    (step, at) =>
      `<text class="small" x="${fixed(across(at))}" y="${bottom + 18}" text-anchor="middle">${step}</text>`,
  );
  const drawn = series.map(({ figure, name, mark }, nth) => {
    const points = Object.values(figure?.values ?? {}).map(({ median }, at): [number, number] => [
      across(at),
      up(median),
    ]);
    const path = points.map(([x, y], at) => `${at === 0 ? 'M' : 'L'}${fixed(x)} ${fixed(y)}`).join('');
    const dots = points.map(
      ([x, y]) => `<circle class="dot-${mark}" cx="${fixed(x)}" cy="${fixed(y)}" r="4"/>`,
    );
    const legend =
      `<circle class="dot-${mark}" cx="${left + 8 + nth * 170}" cy="${bottom + 38}" r="4"/>` +
      `<text class="${mark === 'ours' ? 'name-ours' : 'name'}" x="${left + 18 + nth * 170}" y="${bottom + 42}">${name}</text>`;
    return `<path class="line-${mark}" d="${path}"/>${dots.join('')}${legend}`;
  });
  return {
    svg: `<text class="title" x="0" y="16">${escaped(title)}</text>${grid.join('')}${labels.join('')}${drawn.join('')}`,
    height: bottom + 46,
  };
};

/** The next number that is easy to read. */
const roundedUp = (value: number): number => {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return ([1, 2, 4, 5, 10].find((times) => times * power >= value) ?? 10) * power || 1;
};

const fixed = (value: number): string => value.toFixed(1);
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
