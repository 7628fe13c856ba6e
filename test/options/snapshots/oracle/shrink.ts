import type { Found, History } from './history.ts';

type Live = (history: History) => Promise<Found[]>;

const until = ({ seed, nights, universities }: History, { night }: Found): History => ({
  seed,
  nights: nights.slice(0, night),
  universities: universities.map((each) => ({ ...each, changes: each.changes.slice(0, night) })),
});

const withoutOthers = (history: History, { university }: Found): History => ({
  ...history,
  universities: history.universities.filter(({ at }) => university < 0 || at === university),
});

const without = <Item>(items: readonly Item[], at: number): Item[] =>
  items.filter((_, index) => index !== at);

/**
 * All histories with half of the universities, a quarter and so on less, or one change or file less. The first file
 * of a calm night stays: names change only with it.
 */
function* smaller(history: History): Generator<History> {
  const { nights, universities } = history;
  for (let size = Math.floor(universities.length / 2); size > 0; size = Math.floor(size / 2))
    for (let from = 0; from < universities.length; from += size)
      yield { ...history, universities: universities.toSpliced(from, size) };
  for (let night = nights.length - 1; night > 0; night -= 1)
    if (universities.every(({ changes }) => changes[night]?.length === 0))
      yield {
        ...history,
        nights: without(nights, night),
        universities: universities.map((each) => ({ ...each, changes: without(each.changes, night) })),
      };
  for (let night = nights.length - 1; night >= 0; night -= 1) {
    const { isCalm, puts } = nights[night] ?? { isCalm: false, puts: [] };
    for (let put = puts.length - 1; put >= (isCalm ? 1 : 0); put -= 1)
      yield { ...history, nights: nights.with(night, { isCalm, puts: without(puts, put) }) };
  }
  for (const [at, university] of universities.entries())
    for (const [night, changes] of university.changes.entries())
      for (const change of changes.keys()) {
        const fewer = university.changes.with(night, without(changes, change));
        yield { ...history, universities: universities.with(at, { ...university, changes: fewer }) };
      }
}

/** A smallest history in which something is wrong still, as far as so many attempts find it. */
export const shrunk = async (
  history: History,
  { found, live, attempts }: { found: Found; live: Live; attempts: number },
): Promise<{ history: History; found: Found }> => {
  let best = { history: until(history, found), found };
  const isSmaller = async (each: History): Promise<boolean> => {
    const [first] = await live(each);
    if (first !== undefined) best = { history: until(each, first), found: first };
    return first !== undefined;
  };
  // Another one may matter: because of it, a file waited.
  await isSmaller(withoutOthers(best.history, found));
  for (let left = attempts; left > 0; ) {
    let isFound = false;
    for (const each of smaller(best.history)) {
      left -= 1;
      isFound = await isSmaller(each);
      if (isFound || left === 0) break;
    }
    if (!isFound) break;
  }
  return best;
};
