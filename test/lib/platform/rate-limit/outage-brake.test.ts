import { describe, expect, test } from 'vitest';
import { OutageBrake } from '../../../../lib/platform/rate-limit/outage-brake.ts';

describe('a platform that', () => {
  test.each<[what: string, answers: [nowMs: number, status: number | undefined, sentMs?: number][], number]>([
    ['tells 502', [[1_000, 502]], 100],
    ['tells 504', [[1_000, 504]], 100],
    ['does not answer', [[1_000, undefined]], 100],
    ['does not tell 501', [[1_000, 501]], 0],
    ['does not tell 505', [[1_000, 505]], 0],
    [
      'does not answer half of the calls',
      [
        [900, 200],
        [1_000, 503],
      ],
      0,
    ],
    [
      'is down for most calls',
      [
        [800, 503],
        [900, 503],
        [1_000, 200],
      ],
      100,
    ],
    [
      'is down for most calls of this second',
      [
        [900, 200],
        [1_000, 200],
        [2_000, 503],
      ],
      100,
    ],
    [
      'is asked once a second',
      [
        [1_000, 503],
        [1_999, 503],
      ],
      100,
    ],
    [
      'was sent a call in the second before',
      [
        [1_000, 503],
        [2_500, 503, 999],
      ],
      100,
    ],
    [
      'was sent a call in this second',
      [
        [1_000, 503],
        [2_500, 503, 1_000],
      ],
      200,
    ],
  ])('%s: %j keeps calls %d ms apart', (_what, answers, apartMs) => {
    const brake = new OutageBrake();
    for (const [nowMs, status, sentMs = nowMs] of answers) brake.observe({ status, sentMs }, nowMs);
    expect(brake.apartMs).toBe(apartMs);
  });
});
