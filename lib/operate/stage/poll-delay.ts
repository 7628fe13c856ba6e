import { setTimeout as sleep } from 'node:timers/promises';

const [firstMs, longestMs] = [50, 1_000];

/** Rests before the next look at what AWS or a function is doing; short at first, as most of it is soon done. Ctrl-C ends it. */
export const restAfter = async (looks: number, signal: AbortSignal): Promise<void> => {
  await sleep(Math.min(longestMs, firstMs * 2 ** looks), undefined, { signal }).catch(() => {});
};
