import { beforeAll, describe, expect, test } from 'vitest';
import { memoryDays } from '../../lib/message/retention.ts';
import { reconcileSettingsFrom } from '../../lib/runtime/aws/settings.ts';
import { writtenPart } from '../documents.ts';
import { type Scenario, simulate } from './fleet.ts';
import { judge } from './judge.ts';
import { type FunctionLoad, hourMs, type Load, minuteMs, termStart } from './load.ts';
import { createQueue } from './queue.ts';
import { callsIn, planOf, type ReconcileLoad, reconcileDefaults, reconcileOf } from './reconcile.ts';
import { createRecord } from './record.ts';
import { summaryOf, textOf } from './report.ts';
import { type Told, tell } from './told.ts';
import { scenarioOf, ungated, type Variant, variants } from './variants.ts';

const functionLoad = (name: string, streams: FunctionLoad['streams']): FunctionLoad => {
  const known = termStart().functions.find((each) => each.name === name);
  if (known === undefined) throw new Error(`No function is called ${name}`);
  return { ...known, streams };
};

/** Half an hour with everything in it: bulk messages alone, then two equal floods, with a small function beside them. */
const smallLoad = (): Load => {
  const stream = (from: number, to: number, messages: number, isBulk = false) => ({
    ...{ fromMs: from * minuteMs, toMs: to * minuteMs, messages, isBulk },
  });
  return {
    floodMs: 10 * minuteMs,
    export: { fromMs: 12 * minuteMs, calls: 500, concurrency: 4 },
    functions: [
      functionLoad('user-attributes-update', [stream(1, 2, 15_000, true)]),
      functionLoad('enrollment-create', [stream(10, 12, 60_000)]),
      functionLoad('grade-push', [stream(0, 10, 600), stream(10, 12, 60_000)]),
      functionLoad('enrollment-remove', [stream(0, 30, 3_000)]),
      functionLoad('profile-image-update', [stream(0, 30, 500)]),
    ],
  };
};

const [withHeaders] = variants as [Variant, ...Variant[]];
const small = (changes: Partial<Scenario> = {}): Scenario => ({
  ...scenarioOf(withHeaders, 1),
  load: smallLoad(),
  ...changes,
});
const brokenIn = (scenario: Scenario): string[] =>
  judge(scenario, simulate(scenario)).flatMap(({ name, holds, measured }) =>
    holds ? [] : [`${name}: ${measured}`],
  );
const namesOf = (floors: string[]): string[] => floors.map((floor) => floor.replace(/:.*/, ''));

describe('half an hour of the term start', () => {
  const scenario = small();
  const simulated = simulate(scenario);

  test('holds every floor', () => {
    const floors = judge(scenario, simulated);
    const [over] = floors.splice(-1);
    expect(floors.filter(({ holds }) => !holds)).toEqual([]);
    // A minute's budget could be spent at its beginning, which is much of half an hour.
    expect(over?.measured).toBeLessThan(1.06);
  });

  test('is the same with the same seed, and another with another', { tags: ['long'] }, () => {
    const lastMs = (seed: number): number => simulate(small({ seed })).record.lastMs;
    expect(lastMs(1)).toBe(simulated.record.lastMs);
    expect(lastMs(2)).not.toBe(lastMs(1));
  });

  test('brings every message to its end, and no call twice', () => {
    const { record, windows, isDone } = simulated;
    const sent = scenario.load.functions.flatMap(({ streams }) => streams.map(({ messages }) => messages));
    const sum = (values: number[]): number => values.reduce((all, each) => all + each, 0);
    expect(isDone).toBe(true);
    expect(sum(record.lanes.map(({ done }) => done))).toBe(sum(sent));
    expect(sum(windows.map(({ ours }) => ours)) / 10).toBe(sum(sent) + scenario.load.export.calls);
  });
});

describe('reconcile in the twentieth part of a term start', { tags: ['long'] }, () => {
  let [without, byNight, allDay] = [] as unknown as [Told, Told, Told];
  beforeAll(() => {
    [without, byNight, allDay] = variants
      .slice(0, 3)
      .map((variant) => tell({ ...variant, part: 0.05 }, 1)) as [Told, Told, Told];
  });
  const p95Of = ({ urgent }: Told): number[] => urgent.flatMap(({ p95 }) => p95 ?? []);
  const floorOf = ({ floors }: Told, name: string): number =>
    floors.find((each) => each.name === name)?.measured ?? Number.NaN;

  test('leaves urgent messages their time outside the flood, and within it to those whose share it is', () => {
    for (const name of ['urgent p95 within budget', 'urgent p95 of small functions in the flood'])
      for (const told of [byNight, allDay]) expect(floorOf(told, name)).toBe(floorOf(without, name));
  });

  test('delays the flood by its least share alone, and wastes nothing', () => {
    for (const told of [byNight, allDay]) {
      expect(told.lastMs / without.lastMs).toBeLessThan(1.03);
      expect(floorOf(told, 'time over the least')).toBeLessThan(
        floorOf(without, 'time over the least') + 0.01,
      );
      expect(floorOf(told, 'requests refused')).toBeLessThanOrEqual(0.001);
      // Waits are counted in steps of 5 %; whoever waits for the end of the flood waits as much longer as that comes later.
      const laterSeconds = (told.lastMs - without.lastMs) / 1_000;
      for (const [at, p95] of p95Of(told).entries())
        expect(p95).toBeLessThan(1.06 * (p95Of(without)[at] ?? 0) + laterSeconds);
    }
  });

  test('reads nearly all that it plans beside the load of every day, and next to nothing in the flood', () => {
    const [before, inFlood] = allDay.reconciled.map(({ planned, made }) => made / callsIn(planned));
    expect(before).toBeGreaterThan(0.9);
    expect(inFlood).toBeLessThan(0.1);
    for (const { endedMs, fromMs } of allDay.reconciled)
      expect(endedMs - fromMs).toBeLessThan(8 * 0.05 * hourMs + 2 * minuteMs);
  });
});

describe('what reconcile has to read', () => {
  const load = (): Load => ({
    ...smallLoad(),
    functions: [
      functionLoad('grade-push', [{ fromMs: 0, toMs: 24 * hourMs, messages: 24_000 }]),
      functionLoad('enrollment-create', [{ fromMs: 0, toMs: 24 * hourMs, messages: 2_400 }]),
    ],
  });
  const of: ReconcileLoad = { ...reconcileOf(1, 'by night'), orgUnits: 100, sample: 0 };

  test('is a call for each grade of the last 25 hours and for each classlist of its enrollments, and a part of the days before', () => {
    const planned = planOf(load(), of, createRecord(), 0);
    expect(planned.recent).toBe(25_000 + 100);
    expect(planned.sample).toBe(0);
    expect(planned.slice).toBeCloseTo((24_000 * memoryDays - 25_000 + 100) / 28, -2);
  });

  test('is what was written in the simulation, once it has lived that long', () => {
    const record = createRecord();
    record.laneOf(0, 'urgent').calls[60] = 7;
    record.laneOf(0, 'urgent').calls[26 * 60] = 11;
    expect(planOf(load(), of, record, 26.5 * hourMs).recent).toBe(11);
    expect(planOf(load(), of, record, 2 * hourMs).recent).toBe(7 + 11 + 23_000 + 100);
  });

  test('has a sample of grades and enrollments together, and the settings of the function', () => {
    const url = 'https://none.example.edu';
    const environment = {
      ...{ PLATFORM_URL: url, SECRET_PREFIX: 'x', LEDGER_TABLE: 'a-table' },
      ...{ LEDGER_KEY_SECRET: 'a-key', RECONCILE_BUCKET: 'a-bucket' },
      DEAD_LETTER_QUEUE_URL: `${url}/dead-letters`,
    };
    const { sample } = planOf(load(), { ...of, sample: 1_100, orgUnits: 1_000_000 }, createRecord(), 0);
    expect(sample).toBe(1_100);
    expect(reconcileSettingsFrom(environment)).toMatchObject({
      RECONCILE_LONGEST_HOURS: reconcileDefaults.longestHours,
      RECONCILE_CONCURRENCY: reconcileDefaults.concurrency,
      RECONCILE_RECENT_HOURS: reconcileDefaults.recentHours,
      RECONCILE_SAMPLE: reconcileDefaults.sample,
      RECONCILE_NIGHTS: reconcileDefaults.nights,
    });
  });
});

describe('the judge sees', () => {
  test('calls that go at once', { tags: ['long'] }, () => {
    const broken = namesOf(brokenIn(small({ isGated: false })));
    expect(broken).toContain('requests refused');
    expect(broken).toContain('receipts p99');
  });

  test('a budget that is not used', () => {
    const { platform } = small();
    const scenario = small();
    const simulated = simulate({ ...scenario, platform: { ...platform, budgetAt: () => 45_000 } });
    for (const window of simulated.windows) window.budget = 50_000;
    const broken = judge(scenario, simulated).filter(({ holds }) => !holds);
    expect(namesOf(broken.map(({ name }) => name))).toEqual(['budget used', 'time over the least']);
  });

  test('messages that are never done', () => {
    const scenario = small({ maxMs: 20 * minuteMs });
    expect(namesOf(brokenIn(scenario))).toContain('time over the least');
  });
});

describe('a queue', () => {
  const queueWith = (messages: number) =>
    createQueue(
      {
        ...(termStart().functions[0] as FunctionLoad),
        streams: [{ fromMs: 0, toMs: 1_000, messages }],
      },
      () => 0.5,
    );

  test('hands out messages in the order of their sending, and counts those that lie there', () => {
    const queue = queueWith(10);
    expect(queue.visible(500, false)).toBe(5);
    expect([queue.receive(500)?.sentMs, queue.receive(500)?.sentMs]).toEqual([50, 150]);
    expect(queue.visible(1_000, false)).toBe(8);
  });

  test('hides a message, counts its receipts, and puts it behind all others after three', () => {
    const queue = queueWith(10);
    for (const receipts of [1, 2, 3]) {
      const message = queue.receive(1_000);
      expect(message).toMatchObject({ sentMs: 50, firstMs: 1_000, receipts });
      if (message) queue.hide(message, 1_000);
    }
    expect(queue.receive(1_000)).toMatchObject({ sentMs: 150, receipts: 1 });
  });

  test('hands out no more than 120,000 at a time', () => {
    const queue = queueWith(130_000);
    let received = 0;
    while (queue.receive(2_000)) received += 1;
    expect(received).toBe(120_000);
    queue.delete();
    expect(queue.receive(2_000)).toBeDefined();
  });

  test('is empty when everything was sent and is gone', () => {
    const queue = queueWith(1);
    expect(queue.isEmpty()).toBe(false);
    queue.receive(1_000);
    expect(queue.isEmpty()).toBe(false);
    queue.delete();
    expect(queue.isEmpty()).toBe(true);
  });
});

describe('what is shown', () => {
  const told = [tell({ ...withHeaders, part: 0.01 }, 1)];

  test('tells each floor in the table and for a terminal', () => {
    for (const { name } of told[0]?.floors ?? []) {
      expect(summaryOf(told)).toContain(name);
      expect(textOf(told[0] as (typeof told)[0])).toContain(name);
    }
  });

  test('tells of each run of reconcile how far it came, and the urgent messages beside it', {
    tags: ['long'],
  }, () => {
    const [without, byNight] = variants.slice(0, 2).map((each) => tell({ ...each, part: 0.01 }, 1)) as [
      Told,
      Told,
    ];
    expect(textOf(byNight)).toContain('reconcile from 0 h: ');
    expect(textOf(without)).not.toContain('reconcile');
    for (const each of [without, byNight])
      expect(textOf(each)).toMatch(/^ {2}urgent p95, sent from [\d.]+ h to [\d.]+ h: [\d.]+ (s|min)$/m);
  });

  test('stands in test/README.md, with every variant', () => {
    const rows = writtenPart('term-start').match(/^\| .* \|$/gm) ?? [];
    expect(rows).toHaveLength(3 + variants.length + ungated.length);
    for (const { name, mustHold } of [...variants, ...ungated])
      expect(rows.some((row) => row.startsWith(`| ${name}`) && row.includes('**') !== mustHold)).toBe(true);
  });
});
