import { expect, test } from 'vitest';
import type { Letter } from '../../../../../lib/desk/messages/letters/letter.ts';
import { countsOf } from '../../../../../lib/desk/messages/letters/queue.ts';
import { withSession } from '../../../../../lib/desk/messages/letters/session.ts';
import type { Target } from '../../../../../lib/stage/target.ts';
import { never, officesForTests } from '../../cli/office.ts';

const offices = officesForTests();

/** Reads until `look` says stop. */
const read = (
  target: Target,
  { signal = never, look }: { signal?: AbortSignal; look(letter: Letter): unknown },
) =>
  withSession(target, async (session) => {
    for await (const letter of session.letters({ signal })) if ((await look(letter)) === 'stop') break;
    return session.summary();
  });

test('every letter is seen once, and everybody sees all of them afterwards', async () => {
  const office = await offices.open();
  const ids = await office.park(Array.from({ length: 137 }, () => ({})));
  const seen: string[] = [];
  const summary = await read(office.target, { look: ({ id }) => seen.push(id) });
  expect(summary).toEqual({ seen: 137, whole: true, hidden: 0, oldestMs: expect.any(Number) });
  expect(seen.sort()).toEqual(ids.sort());
  const queue = { sqs: await office.target.sqs(), url: office.deadLetters.url };
  expect(await countsOf(queue)).toEqual({ visible: 137, inFlight: 0, delayed: 0 });
});

test('a lease that ends during a long reading shows no letter twice', async () => {
  const office = await offices.open();
  await office.park(Array.from({ length: 20 }, () => ({})));
  const seen: string[] = [];
  const slow = { ...office.target, leaseSeconds: 1 };
  await read(slow, {
    look: async ({ id }) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      seen.push(id);
    },
  });
  expect(seen).toHaveLength(20);
  expect(new Set(seen).size).toBe(20);
});

test('whoever has seen enough stops, and gives back what was received beyond that', async () => {
  const office = await offices.open();
  await office.park(Array.from({ length: 50 }, () => ({})));
  const summary = await read(office.target, { look: () => 'stop' });
  expect(summary.whole).toBe(false);
  expect(await office.take(office.deadLetters.url)).toHaveLength(50);
});

test('an interruption gives everything back', async () => {
  const office = await offices.open();
  await office.park(Array.from({ length: 200 }, () => ({})));
  const interrupt = new AbortController();
  const summary = await read(office.target, {
    signal: interrupt.signal,
    look: () => interrupt.abort(),
  });
  expect(summary.whole).toBe(false);
  expect(summary.seen).toBeLessThan(200);
  expect(await office.take(office.deadLetters.url)).toHaveLength(200);
});

test('a queue that cannot be read is an error, after everything in hand was given back', async () => {
  const office = await offices.open();
  await office.park(Array.from({ length: 20 }, () => ({})));
  const name = office.deadLetters.url.split('/').at(-1);
  const failing = read(office.target, {
    look: () => office.fault({ action: 'ReceiveMessage', name, status: 403, type: 'AccessDenied' }),
  });
  await expect(failing).rejects.toThrow('a local fault');
  await office.clearFaults();
  expect(await office.take(office.deadLetters.url)).toHaveLength(20);
});

test('letters that another session has leased are not counted as seen, and told of', async () => {
  const office = await offices.open();
  await office.park([{}, {}, {}]);
  await read(office.target, {
    look: async () => {
      const other = await read(office.target, { look: () => {} });
      expect(other.hidden).toBeGreaterThan(0);
      return 'stop';
    },
  });
});
