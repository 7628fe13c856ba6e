import { setTimeout as sleep } from 'node:timers/promises';

const [firstMs, longestMs] = [50, 1_000];

/**
 * Rests before the next look at the progress of AWS or a function. The first rests are short, as most work ends soon. Ctrl-C ends a rest.
 */
export const pollDelay = async (looks: number, signal: AbortSignal): Promise<void> => {
  await sleep(Math.min(longestMs, firstMs * 2 ** looks), undefined, { signal }).catch(() => {});
};
