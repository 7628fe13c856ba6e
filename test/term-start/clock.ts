import { createHeap } from './heap.ts';

/** A clock that stands still between events, and jumps from one to the next. */
export type Clock = {
  nowMs(): number;
  after(ms: number, run: () => void): void;
  setTimer(run: () => void, afterMs: number): { close(): void };
  /** Until the time, until it is told to stop, or until nothing is left to happen. */
  run(untilMs: number): void;
  stop(): void;
};

export const createClock = (): Clock => {
  const events = createHeap<() => void>();
  let nowMs = 0;
  let isStopped = false;
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
      while (!isStopped && events.firstMs() <= untilMs) {
        nowMs = events.firstMs();
        events.take()();
      }
    },
    stop: () => {
      isStopped = true;
    },
  };
};
