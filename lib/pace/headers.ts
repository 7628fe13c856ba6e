import type { Answered } from './pacer.ts';

type Headers = Record<string, string | string[] | undefined>;

const numberIn = (
  value: string | string[] | undefined,
  { least, most }: { least: number; most: number },
): number | undefined => {
  const told = typeof value === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : Number.NaN;
  return told >= least && told <= most ? told : undefined;
};

/** What the headers of an answer tell of the rate limit; nothing where they make no sense, such as a time of day for seconds. */
export const rateLimitIn = (
  headers: Headers,
): Pick<Answered, 'remaining' | 'resetSeconds' | 'cost' | 'retryAfterSeconds'> => ({
  remaining: numberIn(headers['x-rate-limit-remaining'], { least: 0, most: Number.MAX_SAFE_INTEGER }),
  resetSeconds: numberIn(headers['x-rate-limit-reset'], { least: 0, most: 3_600 }),
  cost: numberIn(headers['x-request-cost'], { least: Number.MIN_VALUE, most: 1_000_000 }),
  retryAfterSeconds: numberIn(headers['retry-after'], { least: 0, most: Number.MAX_SAFE_INTEGER }),
});
