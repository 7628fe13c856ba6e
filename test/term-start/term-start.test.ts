import { describe, expect, test } from 'vitest';
import { writtenPart } from '../documents.ts';
import { type Scenario, simulate } from './fleet.ts';
import { judge } from './judge.ts';
import { type FunctionLoad, type Load, minuteMs, termStart } from './load.ts';
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

  test('brings every message to its end, and no call twice', () => {
    const { record, windows, isDone } = simulated;
    const sent = scenario.load.functions.flatMap(({ streams }) => streams.map(({ messages }) => messages));
    const sum = (values: number[]): number => values.reduce((all, each) => all + each, 0);
    expect(isDone).toBe(true);
    expect(sum(record.lanes.map(({ done }) => done))).toBe(sum(sent));
    expect(sum(windows.map(({ ours }) => ours)) / 10).toBe(sum(sent) + scenario.load.export.calls);
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

test('test/README.md has a row for each variant, and in bold what does not hold', () => {
  const rows = writtenPart('term-start').match(/^\| .* \|$/gm) ?? [];
  expect(rows).toHaveLength(3 + variants.length + ungated.length);
  for (const { name, mustHold } of [...variants, ...ungated])
    expect(rows.some((row) => row.startsWith(`| ${name}`) && row.includes('**') !== mustHold)).toBe(true);
});
