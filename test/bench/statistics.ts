/** What repeats of one measurement say: the middle one, and the quartiles, between which half of them lie. */
export type Spread = { median: number; low: number; high: number };

export const spreadOf = (values: number[]): Spread => ({
  median: quantile(values, 0.5),
  low: quantile(values, 0.25),
  high: quantile(values, 0.75),
});

/** The ratios of two measurements taken beside each other: what slowed the machine down slowed down both. */
export const ratioOf = (ours: number[], theirs: number[]): Spread =>
  spreadOf(ours.map((value, at) => value / (theirs[at] ?? Number.NaN)));

/** The repeats of each, continued by more of them. */
export const continued = <Value>(
  before: Record<string, Value[]>,
  more: Record<string, Value[]>,
): Record<string, Value[]> =>
  Object.fromEntries(Object.entries(more).map(([name, all]) => [name, [...(before[name] ?? []), ...all]]));

const quantile = (values: number[], part: number): number => {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
};
