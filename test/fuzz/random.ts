/** Reproducible randomness: the same seed gives the same run. */
export type Random = ReturnType<typeof randomFrom>;

export const randomFrom = (seed: number) => {
  let state = seed >>> 0;
  /** From 0 up to 1 (mulberry32). */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (most: number): number => Math.floor(next() * most);
  const happens = (probability: number): boolean => next() < probability;
  const one = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
  return { next, below, happens, one };
};
