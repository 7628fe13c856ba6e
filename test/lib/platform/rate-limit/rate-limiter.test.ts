import { describe, expect, test } from 'vitest';
import type { Priority } from '../../../../lib/message/priority.ts';
import { budgetIn } from '../../../../lib/platform/client/budget-headers.ts';
import type { AnswerFacts } from '../../../../lib/platform/rate-limit/answered.ts';
import {
  createRateLimiter,
  type RateLimiterOptions,
  type SlotResult,
} from '../../../../lib/platform/rate-limit/rate-limiter.ts';
import { randomFrom } from '../../../fuzz/random.ts';

/** A container on a clock that goes only where it is told to. */
const containerAt = (options: RateLimiterOptions = {}) => {
  let now = 1_000_000;
  let timers: { atMs: number; run(): void }[] = [];
  const pace = createRateLimiter({
    random: randomFrom(1).next,
    ...options,
    nowMs: () => now,
    setTimer: (run, afterMs) => {
      const timer = { atMs: now + afterMs, run };
      timers.push(timer);
      return {
        close: () => {
          timers = timers.filter((each) => each !== timer);
        },
      };
    },
  });
  /** Time goes by, and no timer runs. */
  const freeze = (ms: number): void => {
    now += ms;
  };
  const pass = (ms: number): void => {
    const untilMs = now + ms;
    for (;;) {
      timers.sort((one, other) => one.atMs - other.atMs);
      const [next] = timers;
      if (next === undefined || next.atMs > untilMs) break;
      timers.shift();
      now = Math.max(now, next.atMs);
      next.run();
    }
    now = untilMs;
  };
  /** Asks, and tells what is settled by now. */
  const ask = (priority: Priority = 'normal', untilMs = Number.POSITIVE_INFINITY): { asked?: SlotResult } => {
    const result: { asked?: SlotResult } = {};
    pace.requestSlot(priority, untilMs, (asked) => {
      result.asked = asked;
    });
    return result;
  };
  const answer = (more: Partial<AnswerFacts> = {}): void =>
    pace.recordAnswer({ sentMs: now, status: 200, ...more });
  /** So many calls are asked for; how many of them go within this time? */
  const goIn = (ms: number, calls: number, priority: Priority = 'normal'): number => {
    const all = Array.from({ length: calls }, () => ask(priority));
    pass(ms);
    return all.filter(({ asked }) => asked?.slot).length;
  };
  return { pace, pass, freeze, ask, answer, goIn, nowMs: () => now };
};

/** A container that always calls, on a platform that grants so many calls a window and tells so. */
const calling = (calls: number, seconds: number, priorities: readonly Priority[] = ['urgent']) => {
  const container = containerAt();
  let [windowEndsMs, remaining] = [0, 0];
  let counted = { granted: 0, refused: 0, of: { urgent: 0, normal: 0, bulk: 0 } };
  const call = (): void => {
    const sentMs = container.nowMs();
    if (sentMs >= windowEndsMs) [windowEndsMs, remaining] = [sentMs + seconds * 1_000, calls * 10];
    const isGranted = remaining >= 10;
    if (isGranted) remaining -= 10;
    counted[isGranted ? 'granted' : 'refused'] += 1;
    const resetSeconds = Math.ceil((windowEndsMs - sentMs) / 1_000);
    container.pace.recordAnswer({
      sentMs,
      status: isGranted ? 200 : 429,
      remaining,
      resetSeconds,
      cost: 10,
      ...(!isGranted && { retryAfterSeconds: resetSeconds }),
    });
  };
  const next = priorities.map((priority) => ({ priority, told: container.ask(priority) }));
  return (ms: number): typeof counted => {
    counted = { granted: 0, refused: 0, of: { urgent: 0, normal: 0, bulk: 0 } };
    for (let passed = 0; passed < ms; passed += 50) {
      for (const each of next)
        for (; each.told.asked?.slot; each.told = container.ask(each.priority)) {
          counted.of[each.priority] += 1;
          call();
        }
      container.pass(50);
    }
    return counted;
  };
};

describe('before the first answer', () => {
  test('one call goes, and another each second: the others wait for what it learns', () => {
    const { goIn } = containerAt();
    expect(goIn(2_500, 20)).toBe(3);
  });
  test('all wait, and go with it, where the platform tells no limit', () => {
    const { ask, answer } = containerAt();
    const all = Array.from({ length: 50 }, () => ask());
    answer();
    expect(all.filter(({ asked }) => asked?.slot)).toHaveLength(50);
  });
});

describe('a platform that tells no headers', () => {
  test('and refuses nothing slows nobody down', () => {
    const { ask, answer, goIn } = containerAt();
    ask();
    answer();
    expect(goIn(0, 10_000)).toBe(10_000);
  });
  test('gets an even part of the cap from each container that may run', () => {
    const { ask, answer, goIn } = containerAt({ callsPerMinute: 600, containers: 10 });
    ask();
    answer();
    const gone = goIn(60_000, 1_000);
    expect(gone).toBeGreaterThanOrEqual(59);
    expect(gone).toBeLessThanOrEqual(61);
  });
});

describe('a platform that tells its budget', () => {
  test('is not asked for all of it at once', () => {
    const { ask, answer, goIn } = containerAt();
    ask();
    answer({ remaining: 50_000, resetSeconds: 60, cost: 10 });
    // Of 83 calls a second for the whole fleet.
    expect(goIn(1_000, 1_000)).toBeLessThan(20);
  });
  test('is left alone until its window ends where nearly nothing is left', () => {
    const { ask, answer, pass } = containerAt();
    ask();
    answer({ remaining: 100, resetSeconds: 30, cost: 10 });
    answer({ remaining: 0, resetSeconds: 30, cost: 10 });
    const all = Array.from({ length: 5 }, () => ask());
    pass(29_000);
    expect(all.filter(({ asked }) => asked)).toHaveLength(0);
    pass(60_000);
    expect(all.filter(({ asked }) => asked?.slot).length).toBeGreaterThan(0);
  });
  test('is believed in what it tells now, and not in what it told in an older window', () => {
    const { ask, answer, pass, goIn, nowMs } = containerAt();
    ask();
    answer({ remaining: 50_000, resetSeconds: 60, cost: 10 });
    pass(61_000);
    const sentMs = nowMs() - 3_000;
    answer({ remaining: 49_000, resetSeconds: 58, cost: 10 });
    answer({ sentMs, remaining: 0, resetSeconds: 1, cost: 10 });
    expect(goIn(1_000, 5)).toBeGreaterThan(0);
  });
  test('and stops to tell it is treated as one that tells nothing', () => {
    const { ask, answer, pass, goIn } = containerAt();
    ask();
    answer({ remaining: 600, resetSeconds: 60, cost: 10 });
    pass(200_000);
    answer();
    expect(goIn(0, 1)).toBe(1);
    answer();
    expect(goIn(1_000, 500)).toBe(500);
  });
});

describe('a platform’s windows', () => {
  test.each([10, 30, 60, 3_600])('of %i seconds are used', (seconds) => {
    const live = calling(10 * seconds, seconds);
    live(2 * seconds * 1_000);
    const { granted, refused } = live(10 * seconds * 1_000);
    expect(granted).toBeGreaterThan(0.9 * 10 * 10 * seconds);
    expect(refused).toBeLessThan(0.02 * granted);
  });
  test('are not known where it tells what remains, but not until when', () => {
    const { ask, answer, goIn } = containerAt();
    ask();
    answer({ remaining: 100 });
    expect(goIn(0, 100)).toBe(100);
  });
  test('do not hold where they are no longer told of', () => {
    const { ask, answer, goIn, pass } = containerAt();
    ask();
    answer({ remaining: 600, resetSeconds: 60, cost: 10 });
    goIn(10_000, 5);
    pass(200_000);
    answer();
    expect(goIn(0, 500)).toBe(500);
  });
});

describe('a clock', () => {
  test('that is set back stops nobody', () => {
    const { ask, answer, freeze, goIn } = containerAt();
    ask();
    answer();
    goIn(0, 1);
    answer({ status: 429, retryAfterSeconds: 30 });
    freeze(-3_600_000);
    expect(goIn(30_000, 1)).toBe(1);
  });
});

test('classes share what there is, the more urgent the more, and none starves', () => {
  const { of, granted } = calling(6_000, 60, ['urgent', 'normal', 'bulk'])(10 * 60_000);
  expect(of.urgent).toBeGreaterThan(of.normal);
  expect(of.normal).toBeGreaterThan(of.bulk);
  expect(of.bulk).toBeGreaterThan(0.02 * granted);
});

describe('a refusal', () => {
  const refused = (more: Partial<AnswerFacts> = {}) => {
    const container = containerAt();
    container.ask();
    container.answer();
    container.answer({ status: 429, retryAfterSeconds: 30, ...more });
    return container;
  };
  test('closes the gate for every class until the platform takes calls again', () => {
    for (const priority of ['urgent', 'normal', 'bulk'] as const) {
      const { goIn } = refused();
      expect(goIn(30_000, 3, priority)).toBe(0);
      expect(goIn(5_000, 3, priority)).toBeGreaterThan(0);
    }
  });
  test('is a 503 with Retry-After as well', () => {
    const { goIn } = refused({ status: 503 });
    expect(goIn(30_000, 3)).toBe(0);
  });
  test('is believed for two minutes, whatever it asks for', () => {
    const { goIn } = refused({ retryAfterSeconds: 86_400 });
    expect(goIn(119_000, 3)).toBe(0);
    expect(goIn(5_000, 3)).toBeGreaterThan(0);
  });
  test('opens the gates of containers again at different times, and not for all that wait at once', () => {
    const opened = [1, 2, 3, 4, 5].map((seed) => {
      const { ask, answer, pass, nowMs } = containerAt({ random: randomFrom(seed).next });
      ask();
      answer();
      answer({ status: 429, retryAfterSeconds: 30 });
      const all = Array.from({ length: 10 }, () => ask());
      const startMs = nowMs();
      while (!all.some(({ asked }) => asked?.slot)) pass(10);
      expect(all.filter(({ asked }) => asked?.slot)).toHaveLength(1);
      return nowMs() - startMs;
    });
    expect(new Set(opened).size).toBe(5);
  });
});

describe('a platform that is down', () => {
  const down = (status: number | undefined) => {
    const { ask, answer, pass, goIn } = containerAt();
    ask();
    answer();
    for (let second = 0; second < 20; second += 1) {
      answer({ status });
      answer({ status });
      pass(1_000);
    }
    return { answer, goIn, pass };
  };
  test.each([502, 503, 504, undefined])('gets a call each five seconds from a container: %s', (status) => {
    const { goIn } = down(status);
    expect(goIn(20_000, 100)).toBeLessThanOrEqual(5);
  });
  test('gets more and more as it answers again', () => {
    const { answer, goIn, pass } = down(503);
    for (let second = 0; second < 10; second += 1) {
      answer();
      pass(1_001);
    }
    expect(goIn(0, 100)).toBe(100);
  });
  test('is not one that answers some calls with 500', () => {
    const { goIn } = down(500);
    expect(goIn(0, 100)).toBe(100);
  });
});

describe('a turn', () => {
  test('that cannot come in time is not waited for, and is asked for again at some time in the minute after', () => {
    const { ask, answer, nowMs } = containerAt();
    ask();
    answer();
    answer({ status: 429, retryAfterSeconds: 100 });
    const all = Array.from({ length: 50 }, () => ask('normal', nowMs() + 70_000).asked);
    const seconds = all.map((asked) => (asked?.slot === undefined ? asked?.seconds : undefined) ?? 0);
    expect(Math.min(...seconds)).toBeGreaterThanOrEqual(100);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(162);
    expect(new Set(seconds).size).toBeGreaterThan(20);
  });
  test('is waited for as long as it may come in time', () => {
    const { ask, answer, pass, nowMs } = containerAt();
    ask();
    answer();
    answer({ status: 429, retryAfterSeconds: 50 });
    const result = ask('normal', nowMs() + 70_000);
    expect(result.asked).toBeUndefined();
    pass(60_000);
    expect(result.asked?.slot).toBeDefined();
  });
  test('is for further calls, too, which do not wait: whoever comes next pays', () => {
    const { ask, answer, pass, goIn } = containerAt();
    ask();
    answer({ remaining: 50_000, resetSeconds: 60, cost: 10 });
    ask();
    pass(10_000);
    const { asked } = ask();
    if (!asked?.slot) throw new Error('no turn');
    expect(Array.from({ length: 50 }, () => asked.slot.next()).every((seconds) => seconds === 0)).toBe(true);
    expect(goIn(5_000, 10)).toBe(0);
  });
  test('is over for further calls when the platform refuses one', () => {
    const { ask, answer } = containerAt({ random: () => 0.5 });
    ask();
    answer();
    const { asked } = ask();
    if (!asked?.slot) throw new Error('no turn');
    expect(asked.slot.next()).toBe(0);
    answer({ status: 429, retryAfterSeconds: 30 });
    expect(asked.slot.next()).toBe(30.5);
  });
  test('that was not used is given back', () => {
    const { ask, answer, pass } = containerAt();
    ask();
    answer({ remaining: 50_000, resetSeconds: 60, cost: 10 });
    ask();
    pass(30_000);
    for (let at = 0; at < 50; at += 1) {
      const { asked } = ask();
      expect(asked?.slot).toBeDefined();
      asked?.slot?.end();
    }
  });
  test('is no longer waited for by whoever leaves', () => {
    const { pace, pass, ask, answer } = containerAt();
    ask();
    answer();
    answer({ status: 429, retryAfterSeconds: 30 });
    const result: SlotResult[] = [];
    const leave = pace.requestSlot('normal', Number.POSITIVE_INFINITY, (asked) => void result.push(asked));
    const behind = ask();
    leave();
    leave();
    expect(result).toEqual([{ slot: undefined, seconds: expect.any(Number) }]);
    pass(40_000);
    expect(behind.asked?.slot).toBeDefined();
  });
  test('is not given after its time, as to a container that was frozen', () => {
    const { ask, answer, freeze, pass, nowMs } = containerAt();
    ask();
    answer();
    answer({ status: 429, retryAfterSeconds: 30 });
    const result = ask('normal', nowMs() + 60_000);
    freeze(600_000);
    pass(0);
    expect(result.asked).toEqual({ slot: undefined, seconds: expect.any(Number) });
  });
  test('that was given before a refusal is over, too', () => {
    const { ask, answer } = containerAt();
    ask();
    answer();
    const { asked } = ask();
    answer({ status: 429, retryAfterSeconds: 30 });
    expect(asked?.slot?.next()).toBeGreaterThanOrEqual(30);
  });
  test('that is not used in a cold container is the next one’s', () => {
    const { ask } = containerAt();
    const first = ask();
    const second = ask();
    expect(second.asked).toBeUndefined();
    first.asked?.slot?.end();
    expect(second.asked?.slot).toBeDefined();
    const third = ask();
    first.asked?.slot?.end();
    expect(third.asked).toBeUndefined();
    second.asked?.slot?.next();
    second.asked?.slot?.end();
    expect(third.asked).toBeUndefined();
  });
  test('comes before its time is over, or is to be asked for again', () => {
    const { ask, nowMs } = containerAt({ random: () => 0 });
    expect(ask('normal', nowMs()).asked).toEqual({ slot: undefined, seconds: 1 });
    expect(ask('normal', nowMs() + 1).asked?.slot).toBeDefined();
    expect(ask('normal', nowMs() + 1_000).asked).toEqual({ slot: undefined, seconds: 1 });
    expect(ask('normal', nowMs() + 1_001).asked).toBeUndefined();
  });
});

describe('headers', () => {
  test('are read where they are numbers that can be true', () => {
    const result = { 'x-rate-limit-remaining': '49990', 'x-rate-limit-reset': '42', 'x-request-cost': '10' };
    expect(budgetIn(result)).toEqual({ remaining: 49_990, resetSeconds: 42, cost: 10 });
  });
  test.each(['', ' ', '-1', 'NaN', '1e3', 'soon', '0x10', ['1', '2'], undefined])(
    'tell nothing as %j',
    (value) => {
      const names = ['x-rate-limit-remaining', 'x-rate-limit-reset', 'x-request-cost'];
      const result = budgetIn(Object.fromEntries(names.map((name) => [name, value])));
      expect(Object.values(result)).toEqual([undefined, undefined, undefined]);
    },
  );
  test.each([
    ['x-rate-limit-reset', '1767225600', 'a time of day'],
    ['x-request-cost', '0', 'a call that costs nothing'],
  ])('tell nothing: %s %s, %s', (name, value) => {
    expect(Object.values(budgetIn({ [name]: value })).every((each) => each === undefined)).toBe(true);
  });
});

test('the budget can be asked for through the pace', () => {
  expect(createRateLimiter().budget()).toBeUndefined();
});
