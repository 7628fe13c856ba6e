import { describe, expect, test } from 'vitest';
import type { Priority } from '../../../../lib/message/priority.ts';
import type { AnswerFacts } from '../../../../lib/platform/rate-limit/answered.ts';
import { RatePolicy, type RatePolicyOptions } from '../../../../lib/platform/rate-limit/rate-policy.ts';

type Options = Omit<RatePolicyOptions, 'random'> & { chance?: number };

const classes = ['urgent', 'normal', 'bulk'] as const;

const rounded = (value: number): number => Math.round(value * 1_000) / 1_000;

/** Without chance, unless given: a class begins without credits, and a gate opens at the first moment. */
const pacerWith = ({ chance = 0, ...options }: Options = {}) => {
  const pacer = new RatePolicy({ ...options, random: () => chance });
  const take = (nowMs: number, priority: Priority = 'urgent'): number => rounded(pacer.take(priority, nowMs));
  /** An answer that came at once. */
  const answer = (nowMs: number, more: Partial<AnswerFacts> = {}): void =>
    pacer.recordAnswer({ sentMs: nowMs, status: 200, ...more }, nowMs);
  /** One that tells a budget in credits, of which a call takes 10. */
  const tell = (nowMs: number, remaining: number, resetSeconds: number, more: Partial<AnswerFacts> = {}) =>
    answer(nowMs, { remaining, resetSeconds, cost: 10, ...more });
  const refuse = (nowMs: number, more: Partial<AnswerFacts> = {}): void =>
    answer(nowMs, { status: 429, retryAfterSeconds: 1, ...more });
  /** Sends calls that do not wait. */
  const send = (nowMs: number, calls: number, priority: Priority = 'urgent'): void => {
    for (let call = 0; call < calls; call += 1) pacer.charge(priority, nowMs);
  };
  /** How many calls go at once, and for how long the next one waits. */
  const go = (nowMs: number, priority: Priority = 'urgent'): [calls: number, waitMs: number] => {
    for (let calls = 0; calls < 1_000; calls += 1) {
      const waitMs = take(nowMs, priority);
      if (waitMs > 0) return [calls, waitMs];
    }
    return [Number.POSITIVE_INFINITY, 0];
  };
  /** Calls a second: by how much longer the next call waits if one more is sent. */
  const rate = (nowMs: number, priority: Priority = 'urgent'): number => {
    pacer.take(priority, nowMs);
    send(nowMs, 20, priority);
    const waitMs = pacer.take(priority, nowMs);
    send(nowMs, 1, priority);
    return rounded(1_000 / (pacer.take(priority, nowMs) - waitMs));
  };
  const rates = (nowMs: number): number[] => classes.map((each) => rate(nowMs, each));
  const budget = () => {
    const budget = pacer.budget();
    return (
      budget && {
        budget: budget.budget,
        remaining: budget.remaining,
        endsMs: budget.endsMs,
        cost: budget.cost,
      }
    );
  };
  const charge = pacer.charge.bind(pacer);
  const giveBack = pacer.giveBack.bind(pacer);
  const learn = pacer.recordAnswer.bind(pacer);
  return { charge, giveBack, learn, take, answer, tell, refuse, send, go, rate, rates, budget };
};

describe('before the first answer', () => {
  test('a call goes each second, of whatever class', () => {
    const { take } = pacerWith();
    expect([take(5_000), take(5_000, 'bulk'), take(5_400), take(5_999), take(6_000), take(6_000)]).toEqual([
      0, 1_000, 600, 1, 0, 1_000,
    ]);
  });
  test('further calls are free', () => {
    const { charge, tell, take } = pacerWith();
    expect(charge('urgent', 0)).toBe(0);
    tell(0, 50_000, 49.8);
    expect(take(0)).toBe(200);
  });
});

describe('the first rate of a container', () => {
  type BudgetReport = [nowMs: number, remaining: number, resetSeconds: number];
  const cap = { callsPerMinute: 3_000 };
  test.each<{ what: string; told?: BudgetReport[]; atMs?: number; options?: Options; calls: number }>([
    // 49,800 credits in 49.8 seconds are 100 calls a second.
    { what: 'a twentieth of what is left but for 0.4 % of the budget', calls: 5 },
    { what: 'more if it begins later', atMs: 9_960, calls: 6.25 },
    { what: 'a twentieth of twice the usual at most', atMs: 40_000, calls: 8.333 },
    {
      what: 'of a rest that lasts half a second at least',
      told: [
        [0, 50_000, 49.8],
        [49_700, 600, 0.1],
      ],
      atMs: 49_700,
      calls: 4,
    },
    { what: 'a call in 20 seconds at least', told: [[0, 300, 60]], calls: 0.05 },
    { what: 'a twentieth of the cap', told: [[0, 50_000, 60]], options: cap, calls: 2.5 },
    {
      what: 'not limited by the number of containers',
      told: [[0, 50_000, 60]],
      options: { ...cap, containers: 100 },
      calls: 2.5,
    },
  ])('is $what', ({ told: budget = [[0, 50_000, 49.8]], atMs = 0, options, calls }) => {
    const { tell, rates } = pacerWith(options);
    for (const each of budget) tell(...each);
    expect(rates(atMs)).toEqual([calls, calls, calls]);
  });
  test('is the same for a class that asked before the budget was told', () => {
    const { answer, take, tell, rates } = pacerWith();
    answer(0, { cost: 10 });
    expect(take(0)).toBe(0);
    tell(0, 50_000, 49.8);
    expect(rates(0)).toEqual([5, 5, 5]);
  });
  test('comes with a random part of what may go at once', () => {
    const { tell, go } = pacerWith({ chance: 0.55 });
    tell(0, 50_000, 49.8);
    // 55 of 100 credits: the sixth call lacks 5, at 50 a second.
    expect(go(0)).toEqual([5, 100]);
  });
  test('is a part of the cap where no budget is told', () => {
    const { answer, rates } = pacerWith({ callsPerMinute: 600, containers: 4 });
    answer(0, { cost: 10 });
    expect(rates(0)).toEqual([2.5, 2.5, 2.5]);
  });
  test('is unlimited where nothing is', () => {
    const { answer, go } = pacerWith();
    answer(0);
    expect(go(0)).toEqual([Number.POSITIVE_INFINITY, 0]);
  });
});

describe('a class', () => {
  test('gets calls as time passes, and after a pause as many at once as a 500th of the budget takes', () => {
    const { tell, go } = pacerWith();
    tell(0, 50_000, 49.8);
    expect(go(0)).toEqual([0, 200]);
    expect(go(150)).toEqual([0, 50]);
    expect(go(200)).toEqual([1, 200]);
    expect(go(10_000)).toEqual([10, 200]);
    expect(go(10_199.9)).toEqual([0, 1]);
    // By a clock that was set back a little.
    expect(go(10_100)).toEqual([0, 1]);
    expect(go(10_101)).toEqual([1, 199.1]);
  });
  test('gets a single call after a pause where the budget is small', () => {
    const { tell, go } = pacerWith();
    tell(0, 3_000, 60);
    expect(go(0)[0]).toBe(0);
    expect(go(40_000)[0]).toBe(1);
  });
  test('pays for further calls, and gets back what was not used', () => {
    const { tell, charge, giveBack, take } = pacerWith();
    tell(0, 50_000, 49.8);
    giveBack('urgent');
    expect(take(0)).toBe(200);
    expect([charge('urgent', 0), charge(undefined, 0), take(0)]).toEqual([0, 0, 400]);
    giveBack('urgent');
    expect(take(0)).toBe(200);
  });
  test('pays what calls cost on average: of each answer, an eighth counts', () => {
    const { tell, take, budget } = pacerWith();
    tell(0, 50_000, 49.8);
    tell(0, 50_000, 49.8, { cost: 18 });
    tell(0, 50_000, 49.8, { cost: undefined });
    expect(budget()?.cost).toBe(11);
    expect(take(0)).toBe(220);
  });
});

describe('rates follow the budget', () => {
  /** Calls of all classes wait at 0, and a second later so much is left. */
  const spending = (remaining: number, chance = 0) => {
    const pacer = pacerWith({ chance });
    pacer.tell(0, 50_000, 49.8);
    for (const each of classes) pacer.take(0, each);
    pacer.tell(1_000, remaining, 48.8);
    return pacer;
  };
  // A rate of 5 times an aim (1, 0.95 and 0.8), times what is granted by what is spent, and 0.5 % of the grant.
  test.each([
    ['keep their level where exactly the grant is spent', 49_000, [5.5, 5.25, 4.5]],
    ['fall where twice as much is spent', 48_000, [2.939, 2.816, 2.449]],
    ['fall to a quarter at once at most', 44_000, [1.699, 1.699, 1.699]],
    ['rise where half as much is spent', 49_500, [10.505, 10.102, 8.587]],
    ['double at once at most', 50_000, [10.51, 10.51, 10.51]],
  ])('%s', (_what, remaining, expected) => {
    expect(spending(remaining).rates(1_000)).toEqual(expected);
  });
  test('but do not rise where no call waits', () => {
    expect(spending(49_500, 0.55).rates(1_000)).toEqual([5, 5, 5]);
    expect(spending(49_000, 0.55).rates(1_000)).toEqual([5, 5.25, 4.5]);
    const { tell, rates } = spending(49_000);
    tell(1_000, 49_000, 48.8);
    tell(2_000, 48_500, 47.8);
    expect(rates(2_000)).toEqual([5.5, 5.25, 4.5]);
  });
  test('once a second, by the calls that were sent since the last time', () => {
    const { tell, rates } = spending(49_000);
    expect(rates(1_000)).toEqual([5.5, 5.25, 4.5]);
    tell(1_000, 40_000, 48.8, { sentMs: 999 });
    tell(1_000, 49_000, 48.8);
    tell(1_999, 40_000, 47.801);
    expect(rates(1_999)).toEqual([5.5, 5.25, 4.5]);
    tell(2_000, 48_000, 47.8);
    expect(rates(2_000)).toEqual([6, 5.488, 4.1]);
  });
  test('and fall by a tenth with a refusal, once for all calls that were under way', () => {
    const { tell, rates, refuse, answer } = pacerWith();
    tell(0, 50_000, 49.8);
    rates(0);
    refuse(500);
    refuse(600, { sentMs: 499 });
    expect(rates(2_000)).toEqual([4.5, 4.5, 4.5]);
    refuse(2_000, { sentMs: 500 });
    expect(rates(3_000)).toEqual([4.05, 4.05, 4.05]);
    // Headers are missing once.
    answer(4_000);
    expect(rates(4_000)).toEqual([4.05, 4.05, 4.05]);
  });
});

describe('a budget', () => {
  test('is unknown from a part of the headers', () => {
    const { answer, budget } = pacerWith();
    answer(0, { remaining: 50_000 });
    answer(0, { resetSeconds: 60 });
    expect(budget()).toBeUndefined();
  });
  test('ends a second later where seconds are rounded down, which a 0 shows', () => {
    const { tell, budget, refuse, take } = pacerWith();
    tell(0, 50_000, 0);
    expect(budget()?.endsMs).toBe(1_000);
    tell(1_000, 50_000, 59);
    expect(budget()?.endsMs).toBe(61_000);
    refuse(2_000, { retryAfterSeconds: undefined, resetSeconds: 30 });
    expect(take(2_000)).toBe(31_000);
  });
  // Of a minute, unless two follow each other faster, or one lasts longer.
  test.each<{ windows: [nowMs: number, resetSeconds: number][]; untilMs: number }>([
    { windows: [[0, 10]], untilMs: 70_000 },
    {
      windows: [
        [0, 10],
        [10_000, 10],
      ],
      untilMs: 30_000,
    },
    {
      windows: [
        [0, 10],
        [30_000, 10],
      ],
      untilMs: 70_000,
    },
    { windows: [[0, 3_600]], untilMs: 7_200_000 },
  ])('is forgotten if none is told for a window after its end: $windows', ({ windows, untilMs }) => {
    const { tell, answer, budget, rates } = pacerWith();
    for (const [nowMs, resetSeconds] of windows) tell(nowMs, 50_000, resetSeconds);
    rates(0);
    answer(untilMs);
    expect(budget()?.budget).toBe(50_000);
    answer(untilMs + 1);
    expect(budget()).toBeUndefined();
    expect(rates(untilMs + 1)).toEqual(classes.map(() => Number.POSITIVE_INFINITY));
  });
});

describe('the rest of a budget', () => {
  test('of less than 0.4 % is left to calls under way until it is renewed', () => {
    const { tell, take, charge } = pacerWith({ chance: 0.5 });
    tell(0, 50_000, 49.8);
    tell(500, 200, 49.3);
    expect(take(500)).toBe(0);
    tell(500, 199, 49.3);
    expect(take(500)).toBe(49_800);
    expect(charge('urgent', 500)).toBe(0);
    // Half a credit a second is 24.9, less the 10 of the charged call, and a random part of 10.
    expect([take(50_299), take(50_300), take(50_501)]).toEqual([1, 200, 0]);
  });
  test('is left alone for two minutes at most', () => {
    const { tell, take } = pacerWith();
    tell(0, 50_000, 3_600);
    tell(500, 199, 3_599.5);
    expect(take(500)).toBe(120_000);
  });
  test('counts what all have spent since the last answer, at the last speed, for three seconds', () => {
    const waitAt = (nowMs: number, remaining: number): number => {
      const { tell, take } = pacerWith({ chance: 0.5 });
      tell(0, 50_000, 49.8);
      tell(1_000, 49_000, 48.8);
      tell(1_500, remaining, 48.3);
      return take(nowMs);
    };
    expect([4_500, 10_000].map((nowMs) => waitAt(nowMs, 3_200))).toEqual([0, 0]);
    expect([4_499, 4_499.1, 10_000, 49_700, 49_800].map((nowMs) => waitAt(nowMs, 3_199))).toEqual([
      0, 250, 250, 100, 0,
    ]);
    expect(waitAt(49_800, 199)).toBe(0);
  });
  test('counts twice the usual speed at most', () => {
    const { tell, take } = pacerWith({ chance: 0.5 });
    tell(0, 50_000, 60);
    tell(1_000, 700, 59);
    expect([take(1_300), take(1_301)]).toEqual([0, 250]);
  });
});

describe('a refusal', () => {
  test.each<[asked: Partial<AnswerFacts>, closedMs: number]>([
    [{ retryAfterSeconds: 30 }, 30_500],
    [{ retryAfterSeconds: 0, resetSeconds: 20 }, 1_500],
    [{ retryAfterSeconds: undefined, resetSeconds: 20 }, 20_500],
    [{ retryAfterSeconds: undefined }, 1_500],
    [{ retryAfterSeconds: 500 }, 120_500],
    [{ status: 503, retryAfterSeconds: 30 }, 30_500],
    [{ status: 503, retryAfterSeconds: undefined }, 0],
    [{ status: 200, retryAfterSeconds: 30 }, 0],
  ])('%j closes the gate for this time and a random part of a second', (asked, closedMs) => {
    const { answer, refuse, take, charge } = pacerWith({ chance: 0.5 });
    answer(0);
    refuse(0, asked);
    expect([take(0), take(0, 'bulk'), charge('bulk', 0), charge(undefined, 0)]).toEqual([
      closedMs,
      closedMs,
      closedMs,
      closedMs,
    ]);
    expect([charge('urgent', closedMs), take(closedMs + 2_000)]).toEqual([0, 0]);
  });
  test('of a shorter time does not open it earlier', () => {
    const { answer, refuse, take, charge } = pacerWith();
    answer(0);
    refuse(0, { retryAfterSeconds: 30 });
    refuse(100);
    expect([take(100), charge('urgent', 100)]).toEqual([29_900, 29_900]);
  });
});

describe('without headers', () => {
  /** The first refusal comes at 0, and the gate opens at 1 s. */
  const refused = (cost = 1) => {
    const pacer = pacerWith();
    pacer.answer(0, { cost });
    pacer.take(0);
    pacer.refuse(0);
    return pacer;
  };
  /** The rate doubles until a refusal, at 5.5 s, and is 8 from then on. */
  const found = () => {
    const pacer = refused();
    for (const [nowMs, calls] of [
      [2_000, 1],
      [3_000, 2],
      [4_000, 4],
      [5_000, 8],
    ] as const) {
      pacer.send(nowMs, calls);
      pacer.answer(nowMs);
    }
    pacer.send(5_500, 8);
    pacer.refuse(5_500);
    return pacer;
  };
  test('a first refusal leaves one call a second to each class', () => {
    expect(refused().rates(1_000)).toEqual([1, 1, 1]);
  });
  test.each<[what: string, nowMs: number, calls: number, answered: Partial<AnswerFacts>, expected: number]>([
    ['doubles if it is used', 2_000, 1, { sentMs: 0 }, 2],
    ['doubles if only a part of the headers is told', 2_000, 1, { remaining: 1 }, 2],
    ['doubles if only another part is told', 2_000, 1, { resetSeconds: 1 }, 2],
    ['is kept if half of it is used', 3_000, 1, {}, 1],
    ['is kept by calls that were sent before the refusal', 2_000, 1, { sentMs: -1 }, 1],
    ['is halved by another refusal', 5_000, 4, { status: 429 }, 0.5],
    ['is halved if a quarter of it is used', 5_000, 1, { status: 429 }, 0.5],
    ['is kept by another refusal if less is used', 5_001, 1, { status: 429 }, 1],
  ])('then a rate %s', (_what, nowMs, calls, answered, expected) => {
    const { send, answer, rate } = refused();
    send(nowMs, calls);
    answer(nowMs, answered);
    expect(rate(nowMs + 1_000)).toBe(expected);
  });
  test('it changes once a second', () => {
    const { send, answer, rate } = refused();
    send(2_000, 1);
    answer(2_000);
    send(2_999, 2);
    answer(2_999);
    expect(rate(2_999)).toBe(2);
  });
  test('it falls to a call in four seconds at least', () => {
    const { send, refuse, rate } = refused();
    for (const nowMs of [2_000, 4_000, 6_000]) {
      send(nowMs, 1);
      refuse(nowMs);
    }
    expect(rate(7_000)).toBe(0.25);
  });
  test('it goes on to double after a refusal of up to 8 calls a second', () => {
    const { send, answer, refuse, rate } = refused(10);
    for (const [nowMs, calls] of [
      [2_000, 1],
      [3_000, 2],
      [4_000, 4],
    ] as const) {
      send(nowMs, calls);
      answer(nowMs);
    }
    send(4_500, 4);
    refuse(4_500);
    send(6_500, 4);
    answer(6_500);
    expect(rate(6_500)).toBe(8);
  });
  test('a refusal of more is halved, too', () => {
    expect(found().rate(6_500)).toBe(8);
  });
  // It grows by 0.02 a second each second, and doubles each minute after the first, for eight minutes.
  test.each([
    [30, 8.6],
    [119.999, 10.4],
    [120, 12.8],
    [180, 22.4],
    [540, 2_772.8],
    [600, 3_080],
  ])('but then it grows without a refusal for %d seconds to %d', (seconds, expected) => {
    const { send, answer, rate } = found();
    const nowMs = 5_500 + seconds * 1_000;
    send(nowMs, 4_800);
    answer(nowMs);
    expect(rate(nowMs)).toBe(expected);
  });
  // By 6 % beside the part of a minute for which the platform takes no calls.
  test.each([
    [1, 7.395],
    [6, 6.768],
    [18, 5.264],
    [30, 5.264],
  ])('and falls with a refusal for %d seconds to %d', (retryAfterSeconds, expected) => {
    const { send, refuse, rate } = found();
    send(7_500, 8);
    refuse(7_500, { retryAfterSeconds });
    expect(rate(40_000)).toBe(expected);
  });
});

describe('a platform that is down', () => {
  test('gets calls twice as far apart each second, up to 5 seconds, and half as far when it answers', () => {
    const { answer, take } = pacerWith();
    const apart = [...Array<number>(8).fill(503), ...Array<number>(6).fill(200)].map((status, at) => {
      const nowMs = (at + 1) * 6_000;
      answer(nowMs, { status });
      return [take(nowMs), take(nowMs)];
    });
    expect(apart).toEqual(
      [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 2_500, 1_250, 625, 312.5, 156.25, 0].map((waitMs) => [
        0,
        waitMs,
      ]),
    );
  });
});

describe('a clock that is set back', () => {
  test.each([
    [80_000, 21_000],
    [79_999, 0],
  ])('from 100,000 to %d stops the first calls for %d ms', (nowMs, waitMs) => {
    const { take } = pacerWith();
    take(100_000);
    expect(take(nowMs)).toBe(waitMs);
  });
  test('by more than 20 seconds ends what is known of the time', () => {
    const { tell, take, refuse, answer, budget, send, rate } = pacerWith();
    tell(100_000, 50_000, 60);
    take(100_000);
    refuse(100_000, { retryAfterSeconds: 30 });
    expect(take(80_000)).toBe(50_000);
    expect(budget()?.budget).toBe(50_000);
    // Of its class alone: 83 calls a second were granted, and a refusal took a tenth of a twentieth.
    expect(take(50_000)).toBe(267.738);
    expect(budget()).toBeUndefined();
    answer(50_000);
    send(51_000, 100);
    answer(51_000);
    expect(rate(51_000)).toBe(7.47);
    refuse(51_000, { retryAfterSeconds: 30 });
    expect(take(51_000)).toBe(30_000);
    // A refusal counts again, and that there was one before is not forgotten.
    expect(rate(81_000)).toBe(3.735);
    expect(rate(81_000, 'bulk')).toBe(1);
  });
  test('does not keep calls apart when the platform is up again, nor limit where none was refused', () => {
    const { take, answer, go } = pacerWith();
    answer(100_000, { status: 503 });
    take(100_000);
    for (const nowMs of [100_100, 100_200]) answer(nowMs, { status: 503 });
    expect([take(50_000), take(50_000)]).toEqual([0, 100]);
    answer(51_000);
    expect([go(51_000), go(51_000, 'bulk')]).toEqual(Array(2).fill([Number.POSITIVE_INFINITY, 0]));
  });
});

describe('what the platform says once', () => {
  test('of an hour without budget holds no longer than until two later answers contradict it', () => {
    const { tell, take, budget } = pacerWith();
    tell(0, 50_000, 60);
    tell(1_000, 0, 3_600);
    expect(take(1_001)).toBeGreaterThan(10_000);
    tell(130_000, 49_900, 50);
    expect(budget()?.endsMs).toBeGreaterThan(3_000_000);
    tell(131_000, 49_800, 49);
    expect(budget()).toMatchObject({ remaining: 49_800, endsMs: 180_000 });
    expect(take(131_001)).toBeLessThan(1_000);
  });

  test('is not contradicted by one answer of another server, or by those that were sent before', () => {
    const { tell, budget } = pacerWith();
    tell(0, 50_000, 60);
    tell(1_000, 49_000, 30);
    tell(2_000, 48_000, 58);
    tell(3_000, 47_000, 30);
    expect(budget()).toMatchObject({ remaining: 48_000, endsMs: 60_000 });
    tell(59_000, 100, 1);
    tell(60_500, 50_000, 60);
    for (const _ of [1, 2, 3]) tell(60_600, 0, 0.1, { sentMs: 59_900 });
    expect(budget()?.endsMs).toBeGreaterThan(120_000);
  });

  test('of the cost of a call raises it a little', () => {
    const { answer, tell, budget } = pacerWith();
    answer(0, { cost: 1_000_000 });
    tell(1, 50_000, 60);
    expect(budget()?.cost).toBeLessThanOrEqual(1_000);
    const other = pacerWith();
    other.tell(0, 50_000, 60);
    other.tell(1, 50_000, 60, { cost: 1_000_000 });
    expect(other.budget()?.cost).toBe(11.25);
  });
});
