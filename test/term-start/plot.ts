import { priorities } from '../../lib/runtime/telemetry/pace-use.ts';
import type { Slice, Told } from './told.ts';

type Series = { name: string; className: string; at(slice: Slice): number | undefined };
type Panel = {
  title: string;
  series: Series[];
  /** The values that are written beside the panel, from the bottom to the top. */
  marks: [value: number, text: string][];
  isLogarithmic?: boolean;
  /** Each series stands on the one before it. */
  isStacked?: boolean;
};

const panels: Panel[] = [
  {
    title: 'Use of the budget',
    isStacked: true,
    marks: [
      [0, '0 %'],
      [0.5, '50 %'],
      [1, '100 %'],
    ],
    series: [
      { name: 'strangers', className: 'strangers', at: ({ strangers }) => strangers },
      ...(['bulk', 'normal', 'urgent'] as const).map((name) => ({
        ...{ name, className: name },
        at: (slice: Slice) => slice[name],
      })),
    ],
  },
  {
    title: 'Waiting from sending to success, p95 by class',
    isLogarithmic: true,
    marks: [
      [0.1, '0.1 s'],
      [60, '1 min'],
      [3_600, '1 h'],
      [172_800, '2 d'],
    ],
    series: priorities.map((name) => ({ name, className: name, at: ({ waits }) => waits[name] })),
  },
  {
    title: 'Refused; receipts a message, p99',
    isLogarithmic: true,
    marks: [
      [0.0001, '0.01 %'],
      [0.01, '1 %'],
      [1, '100 %, 1 ×'],
      [100, '100 ×'],
    ],
    series: [
      { name: 'refused', className: 'refused', at: ({ refused }) => refused || undefined },
      { name: 'receipts', className: 'receipts', at: ({ receipts }) => receipts },
    ],
  },
];

const size = { width: 250, height: 84, left: 84, gap: 22, top: 92, row: 132, margin: 24 };
const across = (column: number): number =>
  size.margin + size.left + column * (size.width + size.left + size.gap);

/** The day of each variant in small charts, readable on light and dark pages: it brings its own ground. */
export const plotOf = (all: Told[]): string => {
  const width = across(panels.length) - size.left - size.gap + size.margin;
  const height = size.top + all.length * size.row - 18;
  const heads = panels.map(({ title, series }, column) => {
    const legend = series.map(
      ({ name, className }, nth) =>
        `<rect class="${className}" x="${across(column) + nth * 76}" y="46" width="10" height="10" rx="2"/>` +
        `<text class="small" x="${across(column) + nth * 76 + 14}" y="55">${name}</text>`,
    );
    return `<text class="title" x="${across(column)}" y="34">${title}</text>${legend.join('')}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="The term start, simulated">
<style>${style}</style>
<rect class="ground" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="12"/>
${heads.join('\n')}
${all.map(rowOf).join('\n')}
</svg>
`;
};

const rowOf = (told: Told, nth: number): string => {
  const y = size.top + nth * size.row;
  const letters = told.lanes.reduce((sum, lane) => sum + lane.letters, 0);
  const hours = told.minutes / 60;
  const about = `${told.part === 1 ? '' : `${told.part} of the load, `}${hours.toFixed(1)} h, ${letters} letters`;
  const charts = panels.map((panel, column) => chartOf(panel, told.slices, { x: across(column), y }));
  return `<text class="name" x="${across(0)}" y="${y - 8}">${told.name}<tspan class="small" dx="8">${about}</tspan></text>${charts.join('')}`;
};

const chartOf = (panel: Panel, slices: Slice[], { x, y }: { x: number; y: number }): string => {
  const { marks, series, isLogarithmic = false, isStacked = false } = panel;
  const scaled = (value: number): number => (isLogarithmic ? Math.log(value) : value);
  const low = scaled(marks[0]?.[0] ?? 0);
  const high = scaled(marks.at(-1)?.[0] ?? 1);
  const up = (value: number): string => {
    const part = Math.min(1, Math.max(0, (scaled(value) - low) / (high - low)));
    return (y + size.height * (1 - part)).toFixed(1);
  };
  const step = size.width / Math.max(1, slices.length);
  const to = (at: number): string => (x + at * step).toFixed(1);
  const grid = marks.map(
    ([value, text]) =>
      `<path class="grid" d="M${x} ${up(value)}h${size.width}"/>` +
      `<text class="small" x="${x - 6}" y="${(Number(up(value)) + 4).toFixed(1)}" text-anchor="end">${text}</text>`,
  );
  const below = slices.map(() => 0);
  const drawn = series.map(({ className, at }) => {
    const values = slices.map(at);
    if (!isStacked) {
      let isOn = false;
      const path = values.map((value, nth) => {
        const command =
          value === undefined ? '' : `${isOn ? 'L' : 'M'}${to(nth + 0.5)} ${up(value)}${isOn ? '' : 'h1'}`;
        isOn = value !== undefined;
        return command;
      });
      return `<path class="line line-${className}" d="${path.join('')}"/>`;
    }
    const floor = below.map(
      (value, nth) => `${to(slices.length - nth - 0.5)} ${up(below[slices.length - nth - 1] ?? value)}`,
    );
    for (const [nth, value] of values.entries()) below[nth] = (below[nth] ?? 0) + (value ?? 0);
    if (values.every((value) => !value)) return '';
    const roof = below.map((value, nth) => `${to(nth + 0.5)} ${up(value)}`);
    return `<path class="${className}" d="M${roof.join('L')}L${floor.join('L')}Z"/>`;
  });
  return grid.join('') + drawn.join('');
};

const style = `
  text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #4b5563; }
  .title { font-size: 14px; font-weight: 600; fill: #111827; }
  .name { font-weight: 600; fill: #111827; }
  .small { font-size: 11px; font-weight: 400; fill: #6b7280; }
  .ground { fill: #ffffff; stroke: #e5e7eb; }
  .grid { stroke: #e5e7eb; }
  .urgent { fill: #0d9488; } .normal { fill: #6366f1; } .bulk { fill: #d97706; } .strangers { fill: #cbd5e1; }
  .refused { fill: #dc2626; } .receipts { fill: #64748b; }
  .line { fill: none; stroke-width: 1.5; stroke-linejoin: round; }
  .line-urgent { stroke: #0d9488; } .line-normal { stroke: #6366f1; } .line-bulk { stroke: #d97706; }
  .line-refused { stroke: #dc2626; } .line-receipts { stroke: #64748b; }
  @media (prefers-color-scheme: dark) {
    text { fill: #b6c0cc; }
    .title, .name { fill: #f3f4f6; }
    .small { fill: #8b95a3; }
    .ground { fill: #0f1520; stroke: #273142; }
    .grid { stroke: #273142; }
    .strangers { fill: #3d4a5f; }
    .urgent { fill: #2dd4bf; } .line-urgent { stroke: #2dd4bf; }
    .normal { fill: #818cf8; } .line-normal { stroke: #818cf8; }
    .bulk { fill: #fbbf24; } .line-bulk { stroke: #fbbf24; }
    .refused { fill: #f87171; } .line-refused { stroke: #f87171; }
    .receipts { fill: #94a3b8; } .line-receipts { stroke: #94a3b8; }
  }`;
