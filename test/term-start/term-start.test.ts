import { describe, expect, test } from 'vitest';
import { writtenPart } from '../documents.ts';
import { type Scenario, simulate } from './fleet.ts';
import { judge } from './judge.ts';
import { type FunctionLoad, type Load, minuteMs, termStart } from './load.ts';
import { plotOf } from './plot.ts';
import { createQueue } from './queue.ts';
import { summaryOf, textOf } from './report.ts';
import { tell } from './told.ts';
import { scenarioOf, ungated, type Variant, variants } from './variants.ts';

/** Half an hour with everything in it: bulk messages alone, then two equal floods, with a small function beside them. */
const smallLoad = (): Load => {
  const like = (name: string): FunctionLoad => {
    const known = termStart().functions.find((each) => each.name === name);
    if (known === undefined) throw new Error(`No function is called ${name}`);
    return { ...known, streams: [] };
  };
  const stream = (from: number, to: number, messages: number, isBulk = false) => ({
    ...{ fromMs: from * minuteMs, toMs: to * minuteMs, messages, isBulk },
  });
  return {
    floodMs: 10 * minuteMs,
    export: { fromMs: 12 * minuteMs, calls: 500, concurrency: 4 },
    functions: [
      { ...like('user-attributes-update'), streams: [stream(1, 2, 15_000, true)] },
      { ...like('enrollment-create'), streams: [stream(10, 12, 60_000)] },
      { ...like('grade-push'), streams: [stream(0, 10, 600), stream(10, 12, 60_000)] },
      { ...like('enrollment-remove'), streams: [stream(0, 30, 3_000)] },
      { ...like('profile-image-update'), streams: [stream(0, 30, 500)] },
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
  test('holds every floor', () => {
    const floors = judge(small(), simulate(small()));
    const [over] = floors.splice(-1);
    expect(floors.filter(({ holds }) => !holds)).toEqual([]);
    // A minute's budget could be spent at its beginning, which is much of half an hour.
    expect(over?.measured).toBeLessThan(1.06);
  });

  test('is the same with the same seed, and another with another', () => {
    const lastMs = (seed: number): number => simulate(small({ seed })).record.lastMs;
    expect(lastMs(1)).toBe(lastMs(1));
    expect(lastMs(2)).not.toBe(lastMs(1));
  });

  test('brings every message to its end, and no call twice', () => {
    const scenario = small();
    const { record, windows, isDone } = simulate(scenario);
    const sent = scenario.load.functions.flatMap(({ streams }) => streams.map(({ messages }) => messages));
    const sum = (values: number[]): number => values.reduce((all, each) => all + each, 0);
    expect(isDone).toBe(true);
    expect(sum(record.lanes.map(({ done }) => done))).toBe(sum(sent));
    expect(sum(windows.map(({ ours }) => ours)) / 10).toBe(sum(sent) + scenario.load.export.calls);
  });
});

describe('the judge sees', () => {
  test('calls that go at once', () => {
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

  test('is drawn', () => {
    const picture = plotOf(told);
    expect(picture).not.toMatch(/NaN|undefined|Infinity/);
    expect(picture.match(/<path class="line /g)).toHaveLength(3 + 2);
  });

  test('stands in test/README.md, with every variant', () => {
    const rows = writtenPart('term-start').match(/^\| .* \|$/gm) ?? [];
    expect(rows).toHaveLength(3 + variants.length + ungated.length);
    for (const { name, mustHold } of [...variants, ...ungated])
      expect(rows.some((row) => row.startsWith(`| ${name}`) && row.includes('**') !== mustHold)).toBe(true);
  });
});
