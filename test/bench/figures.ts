/** What repeats of one measurement say: the middle one, and the quartiles, between which half of them lie. */
export type Spread = { median: number; low: number; high: number };

/** The repeats of each that was measured, in the order of the rounds. */
export type Repeats = Readonly<Record<string, readonly number[]>>;

/**
 * A ratio that must not be above `target`; up to `tolerance` it may be, because of `reason`. It is the median of the ratios of
 * neighbouring repeats: what slowed the machine down slowed down both.
 */
export type Floor = {
  name: string;
  ratio: number;
  target: number;
  tolerance: number;
  reason: string;
};

export const spreadOf = (values: readonly number[]): Spread => ({
  median: quantile(values, 0.5),
  low: quantile(values, 0.25),
  high: quantile(values, 0.75),
});

const quantile = (values: readonly number[], part: number): number => {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
};

export const ratioOf = (ours: readonly number[] = [], theirs: readonly number[] = []): number =>
  spreadOf(ours.map((value, at) => value / (theirs[at] ?? Number.NaN))).median;

/** `missed`: within what is tolerated. What is no number fails. */
export const verdictOf = ({ ratio, target, tolerance }: Floor): 'holds' | 'missed' | 'fails' => {
  if (ratio <= target) return 'holds';
  return ratio <= tolerance ? 'missed' : 'fails';
};

export const lineOf = (what: string, unit: string, repeats: Repeats): string =>
  `${what}: ${Object.entries(repeats)
    .map(([subject, values]) => `${subject} ${shown(spreadOf(values), unit)}`)
    .join('; ')}`;

export const floorLineOf = (floor: Floor): string => {
  const verdict = verdictOf(floor);
  const why = verdict === 'holds' ? '' : ` (up to ${floor.tolerance} is tolerated: ${floor.reason})`;
  return `Floor: ${floor.name} ≤ ${floor.target}: ${number(floor.ratio)}, ${verdict}${why}`;
};

const shown = ({ median, low, high }: Spread, unit: string): string =>
  `${`${number(median)} ${unit}`.trim()}${low === high ? '' : ` (${number(low)}–${number(high)})`}`;

const number = (value: number): string =>
  value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : 0 });
