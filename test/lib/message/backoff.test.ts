import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { waitSeconds } from '../../../lib/message/backoff.ts';

const limits = { minimumSeconds: 5, maximumSeconds: 1_800 };
const least = () => 0;
const most = () => 1 - Number.EPSILON;
const at = (random: () => number) => ({ ...limits, random });

const day = 24 * 3600;

/** How often a message is received within a day of waiting, if each attempt takes no time at all. */
const receiptsOfADay = (wait: (receiveCount: number) => number): number => {
  let receiveCount = 0;
  for (let seconds = 0; seconds < day; seconds += wait(receiveCount)) receiveCount += 1;
  return receiveCount;
};

describe('without a word of the platform, a message waits', () => {
  test.each([
    [1, 5, 10],
    [2, 10, 20],
    [3, 20, 40],
    [4, 40, 80],
    [8, 640, 1_280],
    [9, 900, 1_800],
    [10, 900, 1_800],
    [100, 900, 1_800],
    [1_000_000, 900, 1_800],
  ])('after receipt %i between %i and %i seconds', (receiveCount, from, to) => {
    expect(waitSeconds({ receiveCount }, at(least))).toBe(from);
    expect(waitSeconds({ receiveCount }, at(most))).toBe(to);
  });

  test('whole seconds, never under the minimum and never over the maximum', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (receiveCount, random) => {
          const seconds = waitSeconds(
            { receiveCount },
            at(() => random),
          );
          expect(seconds).toSatisfy(Number.isInteger);
          expect(seconds).toBeGreaterThanOrEqual(5);
          expect(seconds).toBeLessThanOrEqual(1_800);
        },
      ),
    );
  });

  test('not as long as the next message, even after its first receipt', () => {
    const waits = Array.from({ length: 200 }, () => waitSeconds({ receiveCount: 1 }, limits));
    expect(new Set(waits).size).toBeGreaterThan(1);
  });

  test('in other limits, where they are configured', () => {
    const wait = (receiveCount: number, random: () => number) =>
      waitSeconds({ receiveCount }, { minimumSeconds: 1, maximumSeconds: 2, random });
    expect([wait(1, least), wait(1, most), wait(9, least), wait(9, most)]).toEqual([1, 2, 1, 2]);
    for (const maximumSeconds of [10, 12])
      expect(waitSeconds({ receiveCount: 5 }, { minimumSeconds: 10, maximumSeconds, random: least })).toBe(
        10,
      );
  });
});

describe('a Retry-After', () => {
  test.each([
    [0, 1],
    [1, 1],
    [1.2, 2],
    [30, 30],
    [3_600, 3_600],
    [39_600, 39_600],
    [43_200, 39_600],
    [1e12, 39_600],
    [Number.POSITIVE_INFINITY, 39_600],
  ])('of %d seconds makes a message wait for %i', (retryAfterSeconds, seconds) => {
    for (const receiveCount of [1, 2, 20])
      expect(waitSeconds({ receiveCount, retryAfterSeconds }, at(most))).toBe(seconds);
  });

  test('that is short no longer counts after 20 receipts, and one that is long still does', () => {
    expect(waitSeconds({ receiveCount: 21, retryAfterSeconds: 1 }, at(least))).toBe(900);
    expect(waitSeconds({ receiveCount: 21, retryAfterSeconds: 1 }, at(most))).toBe(1_800);
    expect(waitSeconds({ receiveCount: 21, retryAfterSeconds: 7_200 }, at(most))).toBe(7_200);
  });
});

describe('in a day of waiting a message is received so seldom that its queue never gives it up', () => {
  test.each([
    ['without a word', undefined],
    ['told 0 seconds each time', 0],
    ['told a second each time', 1],
    ['told a minute each time', 60],
  ])('%s', (_, retryAfterSeconds) => {
    const receipts = receiptsOfADay((receiveCount) =>
      waitSeconds({ receiveCount, retryAfterSeconds }, at(least)),
    );
    expect(receipts).toBeGreaterThan(90);
    expect(receipts).toBeLessThan(150);
  });

  test('whatever the platform says, in whatever order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.option(fc.nat(100_000), { nil: undefined }), { minLength: 1, maxLength: 50 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (words, random) => {
          const receipts = receiptsOfADay((receiveCount) => {
            const retryAfterSeconds = words[receiveCount % words.length];
            return waitSeconds(
              { receiveCount, retryAfterSeconds },
              at(() => random),
            );
          });
          expect(receipts).toBeLessThan(150);
        },
      ),
    );
  });
});

test('no wait, with the longest attempt of a function before it, exceeds the 12 hours of a visibility', () => {
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
