/**
 * Yields the items of several generators as they become ready; each generator works at most one item ahead. It ends, fails or returns
 * only after all of them have ended.
 */
export async function* merged<Item>(sources: AsyncGenerator<Item>[]): AsyncGenerator<Item> {
  const pending = new Map(sources.map((source) => [source, nextOf(source)]));
  try {
    while (pending.size > 0) {
      const { source, result } = await Promise.race(pending.values());
      // Deleted before it is added again, so that it comes last and every source has its turn.
      pending.delete(source);
      if (result.done) continue;
      pending.set(source, nextOf(source));
      yield result.value;
    }
  } finally {
    await Promise.allSettled(pending.values());
    await Promise.allSettled(sources.map((source) => source.return(undefined)));
  }
}

const nextOf = <Item>(source: AsyncGenerator<Item>) => {
  const next = source.next().then((result) => ({ source, result }));
  // It may fail while the consumer works on another item; the race reports it afterwards.
  next.catch(() => {});
  return next;
};
