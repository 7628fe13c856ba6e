/** Things in the order of their times. */
const createHeap = <Item>() => {
  const times: number[] = [];
  const items: Item[] = [];
  const put = (at: number, timeMs: number, item: Item): void => {
    times[at] = timeMs;
    items[at] = item;
  };
  return {
    firstMs: (): number => times[0] ?? Number.POSITIVE_INFINITY,
    add: (timeMs: number, item: Item): void => {
      let at = times.length;
      while (at > 0) {
        const above = (at - 1) >> 1;
        const other = times[above] as number;
        if (other <= timeMs) break;
        put(at, other, items[above] as Item);
        at = above;
      }
      put(at, timeMs, item);
    },
    take: (): Item => {
      const first = items[0] as Item;
      const timeMs = times.pop() as number;
      const item = items.pop() as Item;
      const size = times.length;
      if (size === 0) return first;
      let at = 0;
      for (;;) {
        let below = 2 * at + 1;
        if (below >= size) break;
        if (below + 1 < size && (times[below + 1] as number) < (times[below] as number)) below += 1;
        const other = times[below] as number;
        if (timeMs <= other) break;
        put(at, other, items[below] as Item);
        at = below;
      }
      put(at, timeMs, item);
      return first;
    },
  };
};

/** A clock that stands still between events, and jumps from one to the next. */
export type Clock = {
  nowMs(): number;
  after(ms: number, run: () => void): void;
  setTimer(run: () => void, afterMs: number): { close(): void };
  /** Until the time, or until nothing is left to happen. */
  run(untilMs: number): void;
};

export const createClock = (): Clock => {
  const events = createHeap<() => void>();
  let nowMs = 0;
  const after: Clock['after'] = (ms, run) => events.add(nowMs + ms, run);
  return {
    nowMs: () => nowMs,
    after,
    // As in Node, at least one millisecond.
    setTimer: (run, afterMs) => {
      let isSet = true;
      after(Math.max(1, afterMs), () => {
        if (isSet) run();
      });
      return {
        close: () => {
          isSet = false;
        },
      };
    },
    run: (untilMs) => {
      while (events.firstMs() <= untilMs) {
        nowMs = events.firstMs();
        events.take()();
      }
    },
  };
};
