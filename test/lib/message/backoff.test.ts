import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { waitSeconds } from '../../../lib/message/backoff.ts';

const limits = { minimumSeconds: 5, maximumSeconds: 1_800 };
const least = () => 0;
const most = () => 1 - Number.EPSILON;
const at = (random: () => number) => ({ ...limits, random });

describe('without a word of the platform, a message waits', () => {
  test.each([
    [1, 5, 10],
    [2, 10, 20],
    [3, 20, 40],
    [8, 640, 1_280],
    [9, 900, 1_800],
    [1_000_000, 900, 1_800],
  ])('after receipt %i between %i and %i seconds', (receiveCount, from, to) => {
    expect(waitSeconds({ receiveCount }, at(least))).toBe(from);
    expect(waitSeconds({ receiveCount }, at(most))).toBe(to);
  });

  test('not as long as the next message, even after its first receipt', () => {
    const waits = Array.from({ length: 200 }, () => waitSeconds({ receiveCount: 1 }, limits));
    expect(new Set(waits).size).toBeGreaterThan(1);
  });

  test('never under a minimum that is close to the maximum', () => {
    const close = { minimumSeconds: 10, maximumSeconds: 12, random: least };
    expect(waitSeconds({ receiveCount: 5 }, close)).toBe(10);
  });
});

describe('a Retry-After', () => {
  test.each([
    [0, 1],
    [1.2, 2],
    [3_600, 3_600],
    [39_600, 39_600],
    [43_200, 39_600],
    [Number.POSITIVE_INFINITY, 39_600],
  ])('of %d seconds makes a message wait for %i', (retryAfterSeconds, seconds) => {
    for (const receiveCount of [1, 20])
      expect(waitSeconds({ receiveCount, retryAfterSeconds }, at(most))).toBe(seconds);
  });

  test('is not longer than its limits allow', () => {
    const hour = { ...at(most), longestSeconds: 3_600 };
    expect(waitSeconds({ receiveCount: 1, retryAfterSeconds: 315_360_000 }, hour)).toBe(3_600);
  });

  test('that is short no longer counts after 20 receipts, and one that is long still does', () => {
    expect(waitSeconds({ receiveCount: 21, retryAfterSeconds: 1 }, at(least))).toBe(900);
    expect(waitSeconds({ receiveCount: 21, retryAfterSeconds: 7_200 }, at(most))).toBe(7_200);
  });
});

test('a message that waits for a day is received so seldom that its queue never gives it up, whatever the platform says', () => {
  const received = (words: (number | undefined)[], random: number): number => {
    let receiveCount = 0;
    for (let seconds = 0; seconds < 24 * 3600; ) {
      receiveCount += 1;
      const retryAfterSeconds = words[receiveCount % words.length];
      seconds += waitSeconds(
        { receiveCount, retryAfterSeconds },
        at(() => random),
      );
    }
    return receiveCount;
  };
  expect(received([1], 0)).toBeGreaterThan(90);
  fc.assert(
    fc.property(
      fc.array(fc.option(fc.nat(100_000), { nil: undefined }), { minLength: 1, maxLength: 50 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (words, random) => {
        expect(received(words, random)).toBeLessThan(150);
      },
    ),
  );
});

test('a wait is of whole seconds, and with the longest attempt before it within the 12 hours of a visibility', () => {
  const longestAttempt = 15 * 60;
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2_000 }),
      fc.option(fc.double({ min: 0, noNaN: true }), { nil: undefined }),
      fc.record({
        minimumSeconds: fc.integer({ min: 1, max: 1e9 }),
        maximumSeconds: fc.integer({ min: 1, max: 1e9 }),
      }),
      (receiveCount, retryAfterSeconds, anyLimits) => {
        const seconds = waitSeconds({ receiveCount, retryAfterSeconds }, anyLimits);
        expect(seconds).toSatisfy(Number.isInteger);
        expect(seconds).toBeGreaterThanOrEqual(1);
        expect(longestAttempt + seconds).toBeLessThanOrEqual(12 * 3600);
      },
    ),
  );
});
