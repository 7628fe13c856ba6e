import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createCachedValue } from '../../../../lib/desk/console/cached-value.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => vi.useRealTimers());

/** Each reading takes so long on the clock, and answers its number, or fails. */
const reader = (tookMs: number) => {
  const state = { reads: 0, isAway: false };
  const kept = createCachedValue(
    async () => {
      state.reads += 1;
      const { reads, isAway } = state;
      await Promise.resolve();
      vi.setSystemTime(Date.now() + tookMs);
      if (isAway) throw new Error('AWS does not answer');
      return reads;
    },
    { freshMs: 1_000 },
  );
  const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);
  const seen = async () => (await kept.get()).value;
  return { state, pass, seen };
};

test('what is read quickly is read anew for whoever asks after it is no longer fresh', async () => {
  const { pass, seen } = reader(10);
  expect(await seen()).toBe(1);
  pass(900);
  expect(await seen()).toBe(1);
  pass(200);
  expect(await seen()).toBe(2);
});

test('what takes long to read is read again after 30 s at most, and shown as it was until then', async () => {
  const { state, pass, seen } = reader(20_000);
  expect(await seen()).toBe(1);
  pass(9_000);
  expect(await seen()).toBe(1);
  expect(state.reads, 'read less than 30 s ago').toBe(1);
  pass(2_000);
  expect(await seen(), 'as it was, while it is read again').toBe(1);
  await turn();
  expect(await seen()).toBe(2);
});

test('nobody is shown what is older than a minute, nor the old in the place of what cannot be read', async () => {
  const { state, pass, seen } = reader(20_000);
  expect(await seen()).toBe(1);
  pass(41_000);
  expect(await seen()).toBe(2);
  state.isAway = true;
  pass(11_000);
  expect(await seen()).toBe(2);
  await turn();
  await expect(seen()).rejects.toThrow('AWS does not answer');
  await turn();
  state.isAway = false;
  expect(await seen()).toBe(state.reads);
});

test('what was changed is read anew, also where a reading is under way', async () => {
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const readings = [first.promise, second.promise];
  const kept = createCachedValue(() => readings.shift() ?? Promise.reject(new Error('read too often')), {
    freshMs: 1_000,
  });
  const before = kept.get();
  kept.changed();
  const after = kept.get();
  second.resolve('new');
  expect((await after).value).toBe('new');
  first.resolve('old');
  expect((await before).value).toBe('old');
  expect((await kept.get()).value, 'the older reading does not take its place').toBe('new');
});
