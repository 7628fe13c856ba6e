/** Facts of one answer for the rate limiter. Undefined: no answer came, or its headers are missing or invalid. */
export type AnswerFacts = {
  sentMs: number;
  status: number | undefined;
  /** Credits left to all clients together until the window ends, and the credits that the call took. */
  remaining?: number | undefined;
  resetSeconds?: number | undefined;
  cost?: number | undefined;
  retryAfterSeconds?: number | undefined;
};

/** A rate changes at most once in this time, and only by calls that were sent since the last change. */
export const changeMs = 1_000;
export const usualWindowMs = 60_000;
/** The headers of a longer call are of no use: it is unknown when within the call they were made. */
export const maxCallMs = 20_000;
