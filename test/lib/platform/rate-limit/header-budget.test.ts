import { describe, expect, test } from 'vitest';
import { HeaderBudget } from '../../../../lib/platform/rate-limit/header-budget.ts';

describe('a budget', () => {
  const first = { sentMs: 0, nowMs: 0, remaining: 50_000, resetSeconds: 60 };
  const unchanged = { budget: 50_000, remaining: 50_000, endsMs: 60_000 };
  const reported = (...answers: (typeof first)[]) => {
    const budget = new HeaderBudget(Number.POSITIVE_INFINITY);
    for (const { nowMs, ...answer } of answers) budget.report({ status: 200, ...answer }, nowMs);
    const { current } = budget;
    return current && { budget: current.budget, remaining: current.remaining, endsMs: current.endsMs };
  };
  test.each([
    ['is told as of the middle of a call', { sentMs: 1_000, nowMs: 2_000 }, { endsMs: 61_500 }],
    ['is known from a call of 20 seconds', { nowMs: 20_000 }, { endsMs: 70_000 }],
  ])('%s', (_what, answer, expected) => {
    expect(reported({ ...first, ...answer })).toEqual({ ...unchanged, ...expected });
  });
  test('is unknown from a longer call', () => {
    expect(reported({ ...first, nowMs: 20_001 })).toBeUndefined();
  });
  test.each<{ what: string; answer: Partial<typeof first>; is: Partial<typeof unchanged> }>([
    {
      what: 'ends an eighth later if it is told to end 1.5 seconds later',
      answer: { sentMs: 1_000, remaining: 49_000, resetSeconds: 60.5 },
      is: { remaining: 49_000, endsMs: 60_187.5 },
    },
    {
      what: 'is a new one if it is told to end later still',
      answer: { sentMs: 1_000, remaining: 48_000, resetSeconds: 60.501 },
      is: { budget: 49_000, remaining: 48_000, endsMs: 61_501 },
    },
    {
      what: 'ends an eighth earlier if it is told to end 1.5 seconds earlier',
      answer: { sentMs: 10_000, remaining: 40_000, resetSeconds: 48.5 },
      is: { remaining: 40_000, endsMs: 59_812.5 },
    },
    {
      what: 'is an older one if it is told to end earlier still',
      answer: { sentMs: 10_000, remaining: 40_000, resetSeconds: 48.499 },
      is: {},
    },
    {
      what: 'may end half a slow call later',
      answer: { sentMs: 1_000, nowMs: 3_000, remaining: 49_000, resetSeconds: 60.5 },
      is: { remaining: 49_000, endsMs: 60_312.5 },
    },
    {
      what: 'is a new one if it is told to end half a slow call later, and later still',
      answer: { sentMs: 1_000, nowMs: 3_000, remaining: 48_000, resetSeconds: 60.501 },
      is: { budget: 49_000, remaining: 48_000, endsMs: 62_501 },
    },
    {
      what: 'may end half a slow call earlier',
      answer: { sentMs: 1_000, nowMs: 3_000, remaining: 49_000, resetSeconds: 55.5 },
      is: { remaining: 49_000, endsMs: 59_687.5 },
    },
    {
      what: 'has more left by a later call',
      answer: { sentMs: 1, remaining: 50_001, resetSeconds: 59.999 },
      is: { remaining: 50_001 },
    },
    {
      what: 'has no more left by a call of the same time',
      answer: { remaining: 50_001 },
      is: {},
    },
    {
      what: 'has less left by an earlier call',
      answer: { sentMs: -100, nowMs: 100, remaining: 49_999 },
      is: { remaining: 49_999 },
    },
    {
      what: 'grows when it is renewed',
      answer: { sentMs: 60_000, remaining: 51_000 },
      is: { budget: 51_000, remaining: 51_000, endsMs: 120_000 },
    },
    {
      what: 'shrinks by 2 % when it is renewed, as others may have spent some',
      answer: { sentMs: 60_000, remaining: 35_000 },
      is: { budget: 49_000, remaining: 35_000, endsMs: 120_000 },
    },
    {
      what: 'was cut where less than 70 % are left at its begin',
      answer: { sentMs: 60_000, remaining: 34_999 },
      is: { budget: 34_999, remaining: 34_999, endsMs: 120_000 },
    },
    {
      what: 'was spent where a fifth of the time is over',
      answer: { sentMs: 72_000, remaining: 34_999, resetSeconds: 48 },
      is: { budget: 49_000, remaining: 34_999, endsMs: 120_000 },
    },
  ])('$what', ({ answer, is }) => {
    const next = { ...first, ...answer };
    expect(reported(first, { ...next, nowMs: answer.nowMs ?? next.sentMs })).toEqual({ ...unchanged, ...is });
  });
});
