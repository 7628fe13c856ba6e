import { vi } from 'vitest';
import { waitLimitMs } from './limits.ts';

/** Asks again until it throws nothing, and answers what it returns: what `expect.poll` does in tests, also for hooks. */
export const eventually = <Result>(look: () => Promise<Result>): Promise<Result> =>
  vi.waitFor(look, { timeout: waitLimitMs, interval: 20 });
