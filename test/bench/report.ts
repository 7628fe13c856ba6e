import { arch, cpus, loadavg, platform } from 'node:os';
import { tableOf } from '../documents.ts';

/** What repeats of one measurement say: the middle one, and the quartiles, between which half of them lie. */
export type Spread = { median: number; low: number; high: number };

/** What a figure must not exceed, or fall below, and whether it does not. */
export type Floor = {
  name: string;
  limit: number;
  measured: Spread;
  holds: boolean;
  /** How far a floor that is out of reach may be missed, and why it is. What misses it by more has become worse. */
  accepted?: { limit: number; reason: string } | undefined;
};

/** One thing that was measured, of us and of those beside us. */
export type Figure = {
  name: string;
  unit: 'µs' | 'ms' | 's' | 'MB' | 'KB' | 'messages/s';
  values: Record<string, Spread>;
  floors: Floor[];
};

export type Section = {
  title: string;
  /** How it was measured, in a sentence or two. */
  about: string;
  figures: Figure[];
};

export type Results = {
  at: string;
  node: string;
  machine: string;
  /** Of the machine while it was measured: more than 1 for each core means that others were at work. */
  loadAverages: number[];
  sections: Section[];
};

export const spreadOf = (values: number[]): Spread => ({
  median: quantile(values, 0.5),
  low: quantile(values, 0.25),
  high: quantile(values, 0.75),
});

const quantile = (values: number[], part: number): number => {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
};

/** The repeats of each subject as a figure. */
export const figureOf = (
  name: string,
  unit: Figure['unit'],
  values: Record<string, number[]>,
  floors: Floor[] = [],
): Figure => ({
  ...{ name, unit, floors },
  values: Object.fromEntries(Object.entries(values).map(([subject, all]) => [subject, spreadOf(all)])),
});

/**
 * By how much ours may exceed theirs, by the median of the ratios of neighbouring repeats: what slowed the machine down slowed down
 * both.
 */
export const atMostTimes = (
  limit: number,
  { peer, ours, theirs }: { peer: string; ours: number[]; theirs: number[] },
  accepted?: Floor['accepted'],
): Floor => ({
  ...atMost(
    limit,
    `≤ ${limit} × ${peer}`,
    ours.map((value, at) => value / (theirs[at] ?? Number.NaN)),
  ),
  accepted,
});

export const atMost = (limit: number, name: string, values: number[]): Floor => {
  const measured = spreadOf(values);
  return { name, limit, measured, holds: measured.median <= limit };
};

export const atLeast = (limit: number, name: string, values: number[]): Floor => {
  const measured = spreadOf(values);
  return { name, limit, measured, holds: measured.median >= limit };
};

export const resultsOf = (sections: Section[], loadAverages: number[]): Results => ({
  at: new Date().toISOString(),
  node: process.version,
  machine: `${platform()} ${arch()}, ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'an unknown processor'}`,
  ...{ loadAverages, sections },
});

export const loadAverage = (): number => round(loadavg()[0] ?? 0, 1);

/** `missed`: within what is accepted. */
export const verdictOf = ({ holds, accepted, measured }: Floor): 'holds' | 'missed' | 'fails' => {
  if (holds) return 'holds';
  return accepted !== undefined && measured.median <= accepted.limit ? 'missed' : 'fails';
};

export const floorsOf = ({ sections }: Results): Floor[] =>
  sections.flatMap(({ figures }) => figures.flatMap(({ floors }) => floors));

/** Figures of the same subjects share a table; the floors stand below. */
export const textOf = ({ title, about, figures }: Section): string => {
  const groups = Map.groupBy(figures, ({ values }) => Object.keys(values).join());
  const tables = [...groups.values()].map((group) => {
    const subjects = Object.keys(group[0]?.values ?? {});
    const rows = group.flatMap(({ name, unit, values, floors }) => [
      [name, ...subjects.map((subject) => shown(values[subject], ` ${unit}`))],
      ...(isRowOfFloors(floors, subjects) ? [floorRowOf(name, floors, subjects)] : []),
    ]);
    return tableOf(['', ...subjects], rows, { numbersFrom: 1 });
  });
  const floors = figures.flatMap((figure) =>
    (isRowOfFloors(figure.floors, Object.keys(figure.values)) ? [] : figure.floors).map(
      (floor) => `- ${figure.name}: ${floor.name}: ${shown(floor.measured)}, ${wordsOf(floor)}\n`,
    ),
  );
  return [`## ${title}\n`, `${about}\n`, ...tables, ...(floors.length > 0 ? [floors.join('')] : [])].join(
    '\n',
  );
};

/** A row shows many floors at once, if each of them is one subject's. */
const isRowOfFloors = (floors: Floor[], subjects: string[]): boolean =>
  floors.length > 3 && floors.every((floor) => subjects.some((subject) => isOf(subject, floor)));

const isOf = (subject: string, { name }: Floor): boolean => name.startsWith(`${subject} `);

const floorRowOf = (figure: string, floors: Floor[], subjects: string[]): string[] => {
  const cells = subjects.map((subject) => {
    const floor = floors.find((each) => isOf(subject, each));
    return floor ? marked(shown(floor.measured), verdictOf(floor)) : '';
  });
  const [first] = floors;
  const accepted = first?.accepted ? `; *missed*: ${wordsOfAccepted(first.accepted)}` : '';
  return [`${figure}, ${first?.name.replace(/^\S+ /, '')}${accepted}; **bold**: fails`, ...cells];
};

const marked = (text: string, verdict: ReturnType<typeof verdictOf>): string => {
  if (verdict === 'holds') return text;
  return verdict === 'missed' ? `*${text}*` : `**${text}**`;
};

export const markdownOf = (results: Results): string =>
  [
    '# Benchmarks\n',
    `Written by \`npm run bench\` on ${circumstancesOf(results)}.`,
    'Those that are compared take turns in one run, each in a process of its own. A value is the median of the repeats, with',
    'the quartiles behind it. A floor is a ratio of neighbouring repeats, which says more on a shared machine. One that is out of',
    'reach says by how much it may be missed, and why.\n',
    ...results.sections.map(textOf),
  ].join('\n');

const circumstancesOf = ({ at, node, machine, loadAverages }: Results): string =>
  `${at.slice(0, 10)} with Node ${node.slice(1)} on ${machine}, load average ${Math.min(...loadAverages)} to ${Math.max(...loadAverages)}`;

const wordsOf = (floor: Floor): string => {
  const verdict = verdictOf(floor);
  const accepted = !floor.holds && floor.accepted ? `: ${wordsOfAccepted(floor.accepted)}` : '';
  return `${marked(verdict, verdict)}${accepted}`;
};

const wordsOfAccepted = ({ limit, reason }: NonNullable<Floor['accepted']>): string =>
  `up to ${limit} is accepted, as ${reason}`;

const shown = (spread: Spread | undefined, unit = ''): string => {
  if (spread === undefined) return '';
  const [low, high] = [number(spread.low), number(spread.high)];
  return `${number(spread.median)}${unit}${low === high ? '' : ` (${low}–${high})`}`;
};

const number = (value: number): string => {
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return round(value, digits).toLocaleString('en');
};

const round = (value: number, digits: number): number => Math.round(value * 10 ** digits) / 10 ** digits;
