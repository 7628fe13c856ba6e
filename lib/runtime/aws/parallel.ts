export const chunksOf = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));

/** The same of items that come one by one. */
export async function* groupsOf<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  size: number,
): AsyncGenerator<Item[]> {
  let group: Item[] = [];
  for await (const item of items) {
    if (group.push(item) < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/** Works on all items, with limited concurrency. @throws the first error, after the work that was begun has ended. */
export const inParallel = async <Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  work: (item: Item) => Promise<unknown>,
  concurrency = 16,
): Promise<void> => {
  const underWay = new Set<Promise<void>>();
  const errors: unknown[] = [];
  for await (const item of items) {
    if (errors.length > 0) break;
    const one: Promise<void> = work(item)
      .then(
        () => {},
        (error: unknown) => void errors.push(error),
      )
      .finally(() => underWay.delete(one));
    underWay.add(one);
    if (underWay.size >= concurrency) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  if (errors.length > 0) throw errors[0];
};
