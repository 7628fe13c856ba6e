import { setTimeout as sleep } from 'node:timers/promises';

type Pace<Item> = {
  /** Items per second. */
  rate: number;
  signal: AbortSignal;
  /** Asked before each batch: true if no more may begin. */
  stop(): boolean;
  work(batch: Item[]): Promise<void>;
};

/** Batches in flight, so that a slow answer does not reduce the pace. */
const parallel = 8;

/** Processes items at an even pace, at most ten at a time. Finishes what has begun, also when it stops. */
export const paced = async <Item>(items: Item[], { rate, signal, stop, work }: Pace<Item>): Promise<void> => {
  const size = Math.min(10, Math.max(1, Math.round(rate / 5)));
  const underWay = new Set<Promise<void>>();
  const errors: unknown[] = [];
  let dueMs = performance.now();
  for (let from = 0; from < items.length && errors.length === 0; from += size) {
    await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal }).catch(() => {});
    if (signal.aborted || stop()) break;
    const batch = work(items.slice(from, from + size))
      .catch((error: unknown) => void errors.push(error))
      .finally(() => underWay.delete(batch));
    underWay.add(batch);
    // After a pause, such as a machine's sleep, it continues at the same pace and does not catch up.
    dueMs = Math.max(dueMs + (size / rate) * 1000, performance.now() - 1000);
    if (underWay.size >= parallel) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  if (errors.length > 0) throw errors[0];
};
