import { describe, expect, test } from 'vitest';
import { AdaptiveRate } from '../../../../lib/platform/rate-limit/adaptive-rate.ts';

const cost = 10;
/** Ten calls a second, of which so many were sent in the second since it was set. */
const rateAfter = (calls: number, perSecond = 100): AdaptiveRate => {
  const rate = new AdaptiveRate({ perSecond, credits: 0, nowMs: 0 });
  for (let call = 0; call < calls; call += 1) rate.charge(cost);
  return rate;
};
const used = { sinceMs: 0, nowMs: 1_000 };
const minute = { seconds: 60, quietMinutes: 1 };

describe('credits', () => {
  test('accrue at the rate, up to what can be saved up', () => {
    const rate = rateAfter(0);
    expect(rate.take({ cost, most: 20, nowMs: 0 })).toBe(100);
    expect(rate.take({ cost, most: 20, nowMs: 60_000 })).toBe(0);
    expect(rate.take({ cost, most: 20, nowMs: 60_000 })).toBe(0);
    expect(rate.take({ cost, most: 20, nowMs: 60_000 })).toBe(100);
  });
  test('are not counted while nothing limits the rate', () => {
    const rate = rateAfter(0, Number.POSITIVE_INFINITY);
    expect(rate.take({ cost, most: 20, nowMs: 0 })).toBe(0);
    expect(rate.credits).toBe(0);
  });
});

describe('without headers, a rate', () => {
  test.each([
    ['that is half used stays', 5, 100],
    ['that is used doubles before the first refusal', 6, 200],
  ])('%s', (_what, calls, expected) => {
    expect(rateAfter(calls).grown(used, minute)).toBe(expected);
  });
  test('that was refused above 8 calls a second grows slowly from then on', () => {
    const rate = rateAfter(10);
    expect(rate.fallen(used, { part: 0.7, cost })).toBe(50);
    expect(rate.grown(used, minute)).toBeCloseTo(101.2);
    expect(rate.fallen(used, { part: 0.7, cost })).toBeCloseTo(70);
  });
  test('that is hardly used does not fall', () => {
    expect(rateAfter(2).fallen(used, { part: 0.7, cost })).toBe(100);
  });
});
