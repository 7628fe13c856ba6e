import type { Pace, RateSlot } from '../../../../lib/platform/pace/pace.ts';

export const freeTurn: RateSlot = { next: () => 0, end: () => {} };

/** The pace of a platform that takes all calls at once. */
export const unpaced: Pace = {
  ask: (_priority, _untilMs, settle) => {
    settle({ slot: freeTurn });
    return () => {};
  },
  learn: () => {},
  budget: () => undefined,
};
