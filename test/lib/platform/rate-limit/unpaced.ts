import type { RateLimiter, RateSlot } from '../../../../lib/platform/rate-limit/rate-limiter.ts';

export const freeTurn: RateSlot = { next: () => 0, end: () => {} };

/** The pace of a platform that takes all calls at once. */
export const unpaced: RateLimiter = {
  requestSlot: (_priority, _untilMs, settle) => {
    settle({ slot: freeTurn });
    return () => {};
  },
  recordAnswer: () => {},
  budget: () => undefined,
};
