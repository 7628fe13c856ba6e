import { setImmediate } from 'node:timers/promises';
import { DurableOperationError } from '@aws/durable-execution-sdk-js';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MessageFailure } from '../../../lib/message/failure.ts';
import { safe } from '../../../lib/message/safe-text.ts';
import { requestedIn } from '../../../lib/options/course-export/export-request.ts';
import { type ExportRun, orgUnitList } from '../../../lib/options/course-export/org-unit.ts';
import { incompleteIn } from '../../../lib/options/course-export/totals.ts';
import type { PlatformClient } from '../../../lib/platform/client/client.ts';
import { failureOf } from '../../../lib/platform/client/failure-of.ts';
import { type Engine, maxOperations } from '../../../lib/runtime/jobs/engine.ts';
import type { JobStore } from '../../../lib/runtime/jobs/store.ts';
import { type WorkList, workThrough } from '../../../lib/runtime/jobs/work-list.ts';
import { createObserve } from '../../../lib/runtime/telemetry/observe.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const concurrency = 4;

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 0 }));
afterEach(() => void vi.useRealTimers());

type World = {
  /** What the platform answers to a call: after a refusal of the org unit itself, nothing is left of it. */
  answer(operation: string): 'had' | 'rejected' | 'unavailable' | 'throttled' | 'credentials';
  /** The function dies on it. */
  deadly?: number;
};

/** An engine whose time passes while all wait, and which counts what AWS counts. */
const engineIn = ({ deadly = -1 }: World) => {
  let operations = 0;
  let sleepers: { untilMs: number; wake(): void }[] = [];
  const underWay = new Set<() => void>();
  const die = () => {
    for (const interrupt of [...underWay]) interrupt();
  };
  const engine: Engine = {
    executionArn: 'arn',
    invocationId: 'an invocation',
    leftMs: () => 15 * minute,
    operations: () => operations,
    recordBy: () => {},
    onWait: () => {},
    approval: async () => undefined,
    step: async (name, { work }) => {
      operations += 1;
      const [first = 0, last = first] = (name.match(/\d+/g) ?? []).map(Number);
      const { promise, reject } = Promise.withResolvers<never>();
      const interrupt = () =>
        reject(DurableOperationError.fromErrorObject({ ErrorType: 'StepInterruptedError' }));
      promise.catch(() => {});
      underWay.add(interrupt);
      // So that others are under way beside it.
      await setImmediate();
      if (deadly >= first && deadly <= last) die();
      return Promise.race([promise, work()]).finally(() => underWay.delete(interrupt));
    },
    wait: (_, seconds) => {
      operations += 1;
      const { promise, resolve } = Promise.withResolvers<void>();
      sleepers.push({ untilMs: Date.now() + seconds * second, wake: resolve });
      return promise;
    },
    map: async (_, items, { work }) => {
      operations += 1;
      const results: Awaited<ReturnType<typeof work>>[] = [];
      const left = items.entries();
      const lane = async () => {
        for (const [at, item] of left) results[at] = await work(item, engine);
      };
      await Promise.all(Array.from({ length: concurrency }, lane));
      return results;
    },
  };
  /** Nobody is at work where a turn of the event loop changes nothing. */
  const until = async <Result>(job: Promise<Result>): Promise<Result> => {
    let isOver = false;
    const over = job.finally(() => {
      isOver = true;
    });
    over.catch(() => {});
    while (!isOver) {
      await setImmediate();
      if (underWay.size > 0 || sleepers.length === 0) continue;
      const nextMs = Math.min(...sleepers.map(({ untilMs }) => untilMs));
      vi.setSystemTime(nextMs);
      const awake = sleepers.filter(({ untilMs }) => untilMs <= nextMs);
      sleepers = sleepers.filter(({ untilMs }) => untilMs > nextMs);
      for (const { wake } of awake) wake();
    }
    return over;
  };
  return { engine, until };
};

const runWith = (platform: PlatformClient): ExportRun => ({
  request: requestedIn({}).request,
  runId: 'run',
  services: {
    platform,
    store: {
      readJson: async () => undefined,
      writeJson: async () => {},
      addressOf: (key: string) => key,
      upload: async (_: string, __: string, pieces: AsyncIterable<Uint8Array>) => {
        for await (const _piece of pieces);
        return { bytes: 0 };
      },
    } as Partial<JobStore> as JobStore,
    observe: createObserve({ function: 'course-export', namespace: 'sis-relay', level: 'silent' }),
    limits: {
      prefix: '',
      concurrency,
      reserveMs: 10 * second,
      maxWaitMs: 3 * hour,
      backoff: { minimumSeconds: 5, maximumSeconds: 1_800 },
    },
  },
});

/** Ids from 1 on. */
const exportOf = async (count: number, world: World) => {
  const calls: number[] = [];
  const call = async (
    { name }: { name: string },
    { path: { orgUnitId } }: { path: { orgUnitId: number } },
  ) => {
    calls.push(orgUnitId);
    const kind = world.answer(name);
    if (kind === 'had') return {};
    throw new MessageFailure(
      kind,
      safe`it is ${kind}`,
      kind === 'rejected' ? { refusal: { status: 404 } } : {},
    );
  };
  const platform = { for: () => ({ call, download: call }) };
  const { engine, until } = engineIn(world);
  const run = runWith(platform as unknown as PlatformClient);
  const orgUnits = Array.from({ length: count }, (_, at) => ({ orgUnitId: at + 1 }));
  const { services } = run;
  const totals = await until(
    workThrough(orgUnits, orgUnitList(run), { run: { engine, services }, startedMs: 0 }),
  );
  const kinds: Record<string, number> = {};
  for (const { kind, part, count: files } of totals.failures)
    if (part === 'org-units') kinds[kind] = (kinds[kind] ?? 0) + files;
  return { totals, kinds, calls, operations: engine.operations(), hours: Date.now() / hour };
};

describe('10,000 org units take no more operations than AWS allows an execution', () => {
  const all = 10_000;

  test('where all is well: a chunk of 20 has a step', { tags: ['long'] }, async () => {
    const { kinds, calls, operations, hours } = await exportOf(all, { answer: () => 'rejected' });
    expect(kinds).toEqual({ rejected: all });
    expect(calls).toHaveLength(all);
    expect(operations).toBe(1 + 500);
    expect(hours).toBe(0);
  });

  test('where the platform is away for good: it is asked until the longest wait, and then once for each chunk', async () => {
    const { kinds, calls, operations, hours } = await exportOf(all, { answer: () => 'unavailable' });
    expect(kinds).toEqual({ unavailable: all });
    expect(calls.length).toBeLessThan(1_000);
    expect(operations).toBeLessThan(1_000);
    expect(hours).toBeGreaterThanOrEqual(3);
    expect(hours).toBeLessThan(4);
  });

  test('where it is back after two hours: all are had, and nobody asked in vain for more than a few times', {
    tags: ['long'],
  }, async () => {
    const answer = () => (Date.now() < 2 * hour ? 'unavailable' : 'rejected');
    const { kinds, calls, operations, hours } = await exportOf(all, { answer });
    expect(kinds).toEqual({ rejected: all });
    expect(calls.length - all).toBeLessThan(200);
    expect(operations).toBeLessThan(800);
    expect(hours).toBeLessThan(3);
  });

  test.each(['throttled', 'credentials'] as const)(
    'where every tenth call is %s: what is left in the end is told',
    { tags: ['long'] },
    async (kind) => {
      let calls = 0;
      const answer = () => {
        calls += 1;
        return calls % 10 === 0 ? kind : 'rejected';
      };
      const { kinds, operations, totals } = await exportOf(all, { answer });
      expect(kinds.rejected).toBeGreaterThan(2_000);
      expect((kinds.rejected ?? 0) + (kinds[kind] ?? 0)).toBe(all);
      expect(incompleteIn(totals)).toBe(all);
      expect(operations).toBeLessThan(maxOperations - 400);
    },
  );

  test('where one part of each cannot be had: all are tried again together, and given up after the longest wait', {
    tags: ['long'],
  }, async () => {
    const answer = (operation: string) =>
      operation === 'list-classlist-paged'
        ? 'unavailable'
        : operation === 'read-org-unit'
          ? 'had'
          : 'rejected';
    const { totals, operations, hours } = await exportOf(all, { answer });
    expect(totals.parts).toMatchObject({ 'org-units': { files: all } });
    expect(totals.failures).toContainEqual(
      expect.objectContaining({ part: 'classlists', kind: 'unavailable', count: all }),
    );
    expect(operations).toBeLessThan(1_200);
    expect(hours).toBeLessThan(4);
  });

  test('where the function dies on one of them: that one is found, and the others lose nothing', async () => {
    const { kinds, operations } = await exportOf(all, { answer: () => 'rejected', deadly: 5_432 });
    expect(kinds).toEqual({ rejected: all - 1, crashed: 1 });
    expect(operations).toBeLessThan(600);
  });
});

test.each([
  [1, 1],
  [4, 4],
  [500, 500],
  [501, 500],
  [1_000, 500],
])('%i org units have %i steps', async (count, steps) => {
  const { kinds, operations } = await exportOf(count, { answer: () => 'rejected' });
  expect(kinds).toEqual({ rejected: count });
  expect(operations).toBe(1 + steps);
});

test('of a step, so many items are under way at once; those that were not begun wait with one that is throttled', async () => {
  const { engine, until } = engineIn({ answer: () => 'had' });
  const { services } = runWith({} as PlatformClient);
  /** Each turn: the item, and after how many operations. */
  const turns: [item: number, operations: number][] = [];
  const underWay = new Set<number>();
  let most = 0;
  const list: WorkList<number, number[]> = {
    what: safe`a test`,
    nameOf: () => 'items',
    minPerStep: 10,
    maxWaitMs: hour,
    noSum: () => [],
    add: (sum, more) => void sum.push(...more),
    inStep: ({ sum }, work) =>
      work(async (item) => {
        const isFirst = !turns.some(([other]) => other === item);
        turns.push([item, engine.operations()]);
        underWay.add(item);
        most = Math.max(most, underWay.size);
        await setImmediate();
        underWay.delete(item);
        if (item === 1 && isFirst)
          return {
            left: item,
            answered: false,
            failure: failureOf(new MessageFailure('throttled', safe`later`)),
          };
        sum.push(item);
        return { answered: true };
      }),
    giveUp: () => expect.unreachable(),
    concurrency: { steps: 1, items: 3 },
  };
  const done = await until(
    workThrough([0, 1, 2, 3, 4, 5], list, { run: { engine, services }, startedMs: 0 }),
  );
  expect(done.toSorted()).toEqual([0, 1, 2, 3, 4, 5]);
  expect(most).toBe(3);
  expect(turns).toHaveLength(7);
  const [first, pauseAndSecond] = [2, 4];
  expect(turns.slice(0, 3)).toEqual([0, 1, 2].map((item) => [item, first]));
  expect(turns.slice(-2).map(([, operations]) => operations)).toEqual([pauseAndSecond, pauseAndSecond]);
  expect(engine.operations()).toBe(pauseAndSecond);
});

test('a later pass knows when the platform last answered, though its execution begins anew after a wait', async () => {
  const results = new Map<string, unknown[]>();
  /** As AWS' engine: what has a result is not run again. `until`: the wait in which the invocation ends. */
  const replaying = (engine: Engine, until?: string): Engine => ({
    ...engine,
    map: async (name, items, options) => {
      const known = results.get(name) ?? (await engine.map(name, items, options));
      results.set(name, JSON.parse(JSON.stringify(known)));
      return known as never;
    },
    wait: async (name) => {
      if (name === until) throw new Error('the invocation ends');
    },
  });
  const { engine, until } = engineIn({ answer: () => 'had' });
  const { services } = runWith({} as PlatformClient);
  let failures = 2;
  const list: WorkList<number, number[]> = {
    what: safe`a test`,
    nameOf: () => 'items',
    minPerStep: 10,
    maxWaitMs: 3 * hour,
    noSum: () => [],
    add: (sum, more) => void sum.push(...more),
    inStep: ({ sum }, work) =>
      work(async (item) => {
        // All but the last take more than four hours.
        if (item < 2) vi.setSystemTime(Date.now() + 2.1 * hour);
        const failure = failureOf(new MessageFailure('unavailable', safe`later`));
        if (item === 2 && failures-- > 0) return { left: item, answered: false, failure };
        sum.push(item);
        return { answered: true };
      }),
    giveUp: () => expect.unreachable(),
    concurrency: { steps: 1, items: 1 },
  };
  const begun = (its: Engine) =>
    until(workThrough([0, 1, 2], list, { run: { engine: its, services }, startedMs: 0 }));
  await expect(begun(replaying(engine, 'before pass 2'))).rejects.toThrow('the invocation ends');
  expect(await begun(replaying(engine))).toEqual([0, 1, 2]);
});
