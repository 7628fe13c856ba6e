import type { Random } from '../../../fuzz/random.ts';

const startMs = Date.parse('2026-11-01T01:00:00Z');
export const instantOf = (night: number, minutes = 0): string =>
  new Date(startMs + night * 86_400_000 - (60 - minutes) * 60_000).toISOString();
export const dayOf = (night: number): string => instantOf(night).slice(0, 10);

export type Now = {
  night: number;
  random: Random;
  /** How many nights the crosswalk is late. */
  delay: number;
};

export const one = <Key, Value>(map: ReadonlyMap<Key, Value>, { random }: Now): [Key, Value] | undefined =>
  map.size === 0 ? undefined : random.one([...map]);
