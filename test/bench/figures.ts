import { ratioOf, type Spread, spreadOf } from './statistics.ts';

/** One thing that was measured, of us and of those beside us. */
export type Figure = {
  name: string;
  unit: 'µs' | 'ms' | 's' | 'MB' | 'KB' | 'messages/s';
  values: Record<string, Spread>;
  floors: Floor[];
};

/** What a figure must not exceed, or fall below, and whether it does not. */
export type Floor = { name: string; limit: number; measured: Spread; holds: boolean };

export type Section = {
  title: string;
  /** How it was measured, in a sentence or two. */
  about: string;
  figures: Figure[];
};

/** By how much ours may exceed theirs, by the median of the repeats' own ratios. */
export const atMostTimes = (
  limit: number,
  { peer, ours, theirs }: { peer: string; ours: number[]; theirs: number[] },
): Floor => {
  const measured = ratioOf(ours, theirs);
  return { name: `≤ ${limit} × ${peer}`, limit, measured, holds: measured.median <= limit };
};

export const atMost = (limit: number, name: string, values: number[]): Floor => {
  const measured = spreadOf(values);
  return { name, limit, measured, holds: measured.median <= limit };
};

export const atLeast = (limit: number, name: string, values: number[]): Floor => {
  const measured = spreadOf(values);
  return { name, limit, measured, holds: measured.median >= limit };
};

export const spreadsOf = (values: Record<string, number[]>): Record<string, Spread> =>
  Object.fromEntries(Object.entries(values).map(([name, all]) => [name, spreadOf(all)]));
