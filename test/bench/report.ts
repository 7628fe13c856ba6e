import { arch, cpus, loadavg, platform } from 'node:os';
import type { Figure, Floor, Section } from './figures.ts';
import type { Spread } from './statistics.ts';

export type Results = {
  at: string;
  node: string;
  machine: string;
  /** Of the machine while it was measured: more than 1 for each core means that others were at work. */
  loadAverages: number[];
  sections: Section[];
};

export const resultsOf = (sections: Section[], loadAverages: number[]): Results => ({
  at: new Date().toISOString(),
  node: process.version,
  machine: `${platform()} ${arch()}, ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'an unknown processor'}`,
  loadAverages,
  sections,
});

export const loadAverage = (): number => round(loadavg()[0] ?? 0, 1);

export const floorsOf = ({ sections }: Results): Floor[] =>
  sections.flatMap(({ figures }) => figures.flatMap(({ floors }) => floors));

/** For a terminal: each figure with its floors, and whether they hold. */
export const textOf = ({ title, figures }: Section): string =>
  [`\n${title}\n`, ...figures.map(textOfFigure)].join('\n');

const textOfFigure = ({ name, unit, values, floors }: Figure): string => {
  const width = Math.max(...Object.keys(values).map(({ length }) => length));
  return [
    `  ${name}`,
    ...Object.entries(values).map(
      ([subject, spread]) =>
        `    ${subject.padEnd(width)}  ${shown(spread, unit).padStart(12)}${range(spread)}`,
    ),
    ...floors.map((floor) => `    ${floor.holds ? '✓' : '✗'} ${sentenceOf(floor)}`),
    '',
  ].join('\n');
};

const sentenceOf = ({ name, measured, holds }: Floor): string =>
  `${name}: ${holds ? 'holds' : 'does not hold'}, ${number(measured.median)}${range(measured)}`;

/** All of it: a table for each section. */
export const markdownOf = (results: Results): string =>
  [
    '# Benchmarks',
    '',
    `Written by \`npm run bench\` on ${circumstancesOf(results)}.`,
    'Those that are compared take turns in one run, each in a process of its own. A value is the median of the repeats, with',
    'the quartiles behind it. [The floors](../../README.md#benchmarks) are ratios of neighbouring repeats, which say more on a shared machine.',
    ...results.sections.flatMap((section) => ['', ...tableOf(section)]),
    '',
  ].join('\n');

const circumstancesOf = ({ at, node, machine, loadAverages }: Results): string =>
  `${at.slice(0, 10)} with Node ${node.slice(1)} on ${machine}, load average ${Math.min(...loadAverages)} to ${Math.max(...loadAverages)}`;

/** For test/README.md: each floor, and of a figure that has one for each function the worst of them. */
export const summaryOf = (results: Results): string => {
  const rows = results.sections.flatMap(({ title, figures }) =>
    figures.flatMap(({ name, floors }) => {
      const shown = floors.length > 3 ? [minGood(floors)] : floors;
      return shown.map(
        (floor) =>
          `| ${title}: ${lowered(name)} | ${floor.name}${floors.length > 3 ? `, the worst of ${floors.length}` : ''} | ${number(floor.measured.median)}${range(floor.measured)} | ${verdictOf(floor)} |`,
      );
    }),
  );
  return [
    '',
    '| what | floor | measured | |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
    `On ${circumstancesOf(results)}.`,
    '',
  ].join('\n');
};

const minGood = (floors: Floor[]): Floor =>
  floors.reduce((worst, floor) =>
    floor.measured.median / floor.limit > worst.measured.median / worst.limit ? floor : worst,
  );

export const lowered = (text: string): string =>
  /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;

const verdictOf = ({ holds }: Floor): string => (holds ? 'holds' : '**does not hold**');

const tableOf = ({ title, about, figures }: Section): string[] => [
  `## ${title}`,
  '',
  about,
  ...groupsOf(figures).flatMap((group) => {
    const subjects = Object.keys(group[0]?.values ?? {});
    return [
      '',
      `| | ${subjects.join(' | ')} |`,
      `|---|${subjects.map(() => '---:|').join('')}`,
      ...group.map(({ name, unit, values }) => {
        const cells = subjects.map((subject) => {
          const spread = values[subject];
          return spread ? `${shown(spread, unit)}${range(spread)}` : '';
        });
        return `| ${name} | ${cells.join(' | ')} |`;
      }),
    ];
  }),
];

/** Figures of the same subjects share a table. */
const groupsOf = (figures: Figure[]): Figure[][] => {
  const groups = new Map<string, Figure[]>();
  for (const figure of figures) {
    const key = Object.keys(figure.values).join();
    groups.set(key, [...(groups.get(key) ?? []), figure]);
  }
  return [...groups.values()];
};

export const shown = ({ median }: Spread, unit: Figure['unit']): string => `${number(median)} ${unit}`;

const range = ({ low, high }: Spread): string =>
  number(low) === number(high) ? '' : ` (${number(low)}–${number(high)})`;

const number = (value: number): string => {
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return round(value, digits).toLocaleString('en');
};

const round = (value: number, digits: number): number => Math.round(value * 10 ** digits) / 10 ** digits;
