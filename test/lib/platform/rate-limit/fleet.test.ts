import { describe, expect, test } from 'vitest';
import type { Priority } from '../../../../lib/message/priority.ts';
import { RatePolicy } from '../../../../lib/platform/rate-limit/rate-policy.ts';
import { randomFrom } from '../../../fuzz/random.ts';
import { createClock } from './clock.ts';
import { cost, createPlatform, latencyMs, type PlatformOptions } from './platform.ts';

const minuteMs = 60_000;

/** A container: always more to do, or so many calls a second from a time on. */
type Container = { priority: Priority; callsPerSecond?: number; fromMs?: number };

type Fleet = Partial<PlatformOptions> & {
  containers: Container[];
  minutes: number;
  callsPerMinute?: number;
  latency?: number;
};

const many = (count: number, container: Container): Container[] => Array<Container>(count).fill(container);
const sum = (values: number[]): number => values.reduce((all, each) => all + each, 0);

/** Containers that know nothing but the answers to their own calls, each with fifty calls under way at most. */
const live = ({ containers, minutes, callsPerMinute, latency = 1, ...options }: Fleet) => {
  const clock = createClock();
  const random = randomFrom(1).next;
  const usual: PlatformOptions = {
    budgetAt: () => 50_000,
    headers: true,
    resetRounding: 'up',
    strangers: [],
  };
  const platform = createPlatform({ ...usual, ...options }, { clock, random });
  const each = containers.map(({ priority, callsPerSecond, fromMs = 0 }) => {
    const pacer = new RatePolicy({ random, callsPerMinute });
    const record = { priority, granted: [] as number[], waits: [] as number[] };
    const asked: number[] = [];
    let underWay = 0;
    let isWaiting = false;
    const go = (): void => {
      if (isWaiting || underWay >= 50 || (callsPerSecond !== undefined && asked.length === 0)) return;
      const nowMs = clock.nowMs();
      const waitMs = pacer.take(priority, nowMs);
      isWaiting = waitMs > 0;
      if (isWaiting) {
        clock.setTimer(() => {
          isWaiting = false;
          go();
        }, waitMs);
        return;
      }
      const askedMs = asked.shift() ?? nowMs;
      record.waits.push(nowMs - askedMs);
      underWay += 1;
      const halfMs = (latency * latencyMs(random)) / 2;
      clock.after(halfMs, () => {
        const answer = platform.answer();
        clock.after(halfMs, () => {
          underWay -= 1;
          const minute = Math.floor(clock.nowMs() / minuteMs);
          if (answer.status === 200) record.granted[minute] = (record.granted[minute] ?? 0) + 1;
          else asked.push(askedMs);
          pacer.recordAnswer({ sentMs: nowMs, ...answer }, clock.nowMs());
          go();
        });
      });
      go();
    };
    const ask = (): void => {
      asked.push(clock.nowMs());
      go();
      clock.after((-Math.log(1 - random()) * 1_000) / (callsPerSecond ?? 1), ask);
    };
    clock.after(fromMs + random() * 2_000, callsPerSecond === undefined ? go : ask);
    return record;
  });
  clock.run(minutes * minuteMs);
  // The first minutes are those in which they find each other.
  const windows = platform.windows.slice(2, minutes);
  const callsOf = (record: (typeof each)[number]): number =>
    sum(record.granted.slice(2).map((calls) => calls ?? 0));
  const calls = (priority: Priority): number[] =>
    each.filter((record) => record.priority === priority).map(callsOf);
  return {
    use:
      sum(windows.map(({ ours, strangers }) => ours + strangers)) / sum(windows.map(({ budget }) => budget)),
    /** Calls of ours that were done in each window. */
    done: windows.map(({ ours }) => ours / cost),
    /** From the first call on. */
    refused:
      sum(platform.windows.map(({ refused }) => refused)) /
      sum(platform.windows.map(({ requests }) => requests)),
    unevenness: (priority: Priority): number =>
      Math.max(...calls(priority)) / Math.max(1, Math.min(...calls(priority))),
    part: (priority: Priority): number => sum(calls(priority)) / sum(each.map(callsOf)),
    waitP95: (nth: number): number => {
      const waits = [...(each[nth]?.waits ?? [])].sort((one, other) => one - other);
      return waits[Math.floor(waits.length * 0.95)] ?? Number.NaN;
    },
  };
};

const urgent = (count: number): Container[] => many(count, { priority: 'urgent' });

const strangers = [{ perMinute: 15_000, periodMs: minuteMs, activePart: 1 }];

describe('containers that share nothing share a budget, by its headers', () => {
  describe.each<{ what: string; fleet: Fleet; tags?: string[] }>([
    { what: '2 of them', fleet: { containers: urgent(2), minutes: 8 }, tags: ['long'] },
    { what: '8', fleet: { containers: urgent(8), minutes: 8 }, tags: ['long'] },
    { what: '24', fleet: { containers: urgent(24), minutes: 8 }, tags: ['long'] },
    { what: '60', fleet: { containers: urgent(60), minutes: 8 } },
    { what: 'beside strangers that use 30 %', fleet: { containers: urgent(24), minutes: 8, strangers } },
    {
      what: 'where seconds are rounded down',
      fleet: { containers: urgent(24), minutes: 8, resetRounding: 'down' },
      tags: ['long'],
    },
    {
      what: 'where answers take four seconds',
      fleet: { containers: urgent(24), minutes: 16, latency: 20 },
      tags: ['long'],
    },
    {
      what: 'where the budget is halved',
      fleet: { containers: urgent(24), minutes: 10, budgetAt: (ms) => (ms < 5 * minuteMs ? 50_000 : 25_000) },
      tags: ['long'],
    },
  ])('$what', ({ fleet, tags = [] }) => {
    test('use it, evenly, and none is refused', { tags }, () => {
      const { use, refused, unevenness } = live(fleet);
      expect(use).toBeGreaterThan(0.98);
      expect(refused).toBeLessThan(0.001);
      expect(unevenness('urgent')).toBeLessThan(2);
    });
  });

  test('not much, but some of it each minute, beside a client that spends it in the first seconds', () => {
    const greedy = { perMinute: 60_000, periodMs: minuteMs, activePart: 0.1 };
    const { done } = live({ containers: urgent(24), minutes: 20, strangers: [greedy] });
    expect(Math.min(...done)).toBeGreaterThan(30);
  });

  test('a small budget, too', () => {
    const { use, refused } = live({
      containers: many(4, { priority: 'urgent' }),
      minutes: 10,
      budgetAt: () => 6_000,
    });
    expect(use).toBeGreaterThan(0.95);
    expect(refused).toBeLessThan(0.01);
  });
});

describe('classes', () => {
  test('bulk alone uses nearly all, the last of it at the end of each window', () => {
    const { use } = live({ containers: many(6, { priority: 'bulk' }), minutes: 8 });
    expect(use).toBeGreaterThan(0.95);
    expect(use).toBeLessThan(0.985);
  });

  test('none starves the other, and the more urgent gets more', () => {
    const { use, part } = live({
      containers: (['urgent', 'normal', 'bulk'] as const).flatMap((priority) => many(4, { priority })),
      minutes: 10,
    });
    expect(use).toBeGreaterThan(0.98);
    expect(part('urgent')).toBeGreaterThan(part('normal'));
    expect(part('normal')).toBeGreaterThan(part('bulk'));
    expect(part('bulk')).toBeGreaterThan(0.01);
  });

  test('an urgent call that comes late finds its turn beside a flood of the others', () => {
    const { waitP95 } = live({
      containers: [
        { priority: 'urgent', callsPerSecond: 5, fromMs: 2 * minuteMs },
        ...many(12, { priority: 'normal' }),
        ...many(12, { priority: 'bulk' }),
      ],
      minutes: 8,
    });
    expect(waitP95(0)).toBeLessThan(10_000);
  });
});

test('a cap of our own leaves the rest of the budget to others', () => {
  const { use, refused } = live({
    containers: many(24, { priority: 'urgent' }),
    minutes: 8,
    callsPerMinute: 2_500,
  });
  expect(use).toBeGreaterThan(0.49);
  expect(use).toBeLessThan(0.525);
  expect(refused).toBe(0);
});

describe('without headers', () => {
  test('8 containers find their shares by the refusals alone', () => {
    const { use, refused, unevenness } = live({
      containers: urgent(8),
      minutes: 60,
      headers: false,
    });
    expect(use).toBeGreaterThan(0.9);
    expect(refused).toBeLessThan(0.01);
    expect(unevenness('urgent')).toBeLessThan(2);
  });

  test('one that needs little gets it beside others that take all', () => {
    const { waitP95 } = live({
      containers: [{ priority: 'urgent', callsPerSecond: 2 }, ...many(4, { priority: 'urgent' })],
      minutes: 60,
      headers: false,
    });
    expect(waitP95(0)).toBeLessThan(60_000);
  });
});
