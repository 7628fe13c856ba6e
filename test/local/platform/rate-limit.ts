const creditsPerCall = 10;
const unlimited = 1_000_000_000;

/** Credits that are spent by each call and come back, all at once, when the window ends. */
export function rateLimit() {
  let limit = unlimited;
  let windowMs = 60_000;
  let windowEnds = 0;
  let remaining = limit;

  return {
    set(creditsPerMinute: number | null, windowSeconds: number) {
      limit = creditsPerMinute ?? unlimited;
      windowMs = windowSeconds * 1000;
      windowEnds = 0;
    },
    /** Spends one call's credits; the headers go on the answer, whatever it will be. */
    spend(nowMs = Date.now()) {
      if (nowMs >= windowEnds) {
        windowEnds = nowMs + windowMs;
        remaining = limit;
      }
      const granted = remaining >= creditsPerCall;
      if (granted) remaining -= creditsPerCall;
      const resetSeconds = String(Math.ceil((windowEnds - nowMs) / 1000));
      const headers = {
        'X-Rate-Limit-Remaining': String(remaining),
        'X-Rate-Limit-Reset': resetSeconds,
        'X-Request-Cost': String(creditsPerCall),
        ...(granted ? {} : { 'Retry-After': resetSeconds }),
      };
      return { granted, headers };
    },
  };
}
