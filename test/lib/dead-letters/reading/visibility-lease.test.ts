import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { countsOf, receive } from '../../../../lib/dead-letters/reading/queue.ts';
import { createHold } from '../../../../lib/dead-letters/reading/visibility-lease.ts';
import { type Office, officesForTests } from '../../cli/office.ts';

const offices = officesForTests();

const holding = async (office: Office, letters: number, leaseSeconds: number, nowMs?: () => number) => {
  const queue = { sqs: await office.target.sqs(), url: office.deadLetters.url };
  const ids = await office.park(Array.from({ length: letters }, () => ({})));
  const hold = createHold(queue, leaseSeconds, nowMs);
  for (const { MessageId = '', ReceiptHandle = '' } of await receive({ queue, leaseSeconds, pollSeconds: 0 }))
    hold.add(MessageId, ReceiptHandle);
  return { queue, hold, ids };
};

test('nobody else sees a letter that is held, however long, and everybody once it is given back', async () => {
  const { queue, hold } = await holding(await offices.open(), 3, 1);
  await sleep(2_500);
  expect(await receive({ queue, leaseSeconds: 1, pollSeconds: 0 })).toEqual([]);
  expect(await hold.giveBack()).toBe(0);
  hold.close();
  expect(await countsOf(queue)).toEqual({ visible: 3, inFlight: 0, delayed: 0 });
});

test('some can be kept while the others are given back', async () => {
  const { queue, hold, ids } = await holding(await offices.open(), 3, 60);
  await hold.giveBack([ids[1]!]);
  expect(await countsOf(queue)).toMatchObject({ visible: 2, inFlight: 1 });
  expect(hold.size()).toBe(1);
  await hold.giveBack();
  hold.close();
});

test('a letter that could not be prolonged is no longer safe: a machine that slept must not act on it', async () => {
  let nowMs = Date.now();
  const { hold, ids } = await holding(await offices.open(), 1, 60, () => nowMs);
  expect(hold.isSafe(ids[0]!)).toBe(true);
  nowMs += 59_500;
  expect(hold.isSafe(ids[0]!)).toBe(false);
  hold.close();
});

test('a letter that SQS hands out a second time is known', async () => {
  const { hold, ids } = await holding(await offices.open(), 1, 60);
  expect(hold.add(ids[0]!, 'another handle')).toBe(false);
  expect(hold.add('another letter', 'its handle')).toBe(true);
  hold.close();
});

test('what cannot be deleted is named, and stays held', async () => {
  const office = await offices.open();
  const { hold, ids } = await holding(office, 2, 60);
  await office.fault({
    action: 'DeleteMessageBatch',
    name: office.deadLetters.url.split('/').at(-1),
    failedEntries: 1,
    times: 3,
  });
  const failures = await hold.remove(ids);
  expect([...failures.values()]).toEqual(['InternalError']);
  expect(hold.size()).toBe(1);
  await hold.giveBack();
  hold.close();
  expect(await office.take(office.deadLetters.url)).toHaveLength(1);
});

test('letters that cannot be given back are counted: they come back by themselves', async () => {
  const office = await offices.open();
  const { hold } = await holding(office, 2, 60);
  await office.fault({
    action: 'ChangeMessageVisibilityBatch',
    name: office.deadLetters.url.split('/').at(-1),
    failedEntries: 2,
    times: 3,
  });
  expect(await hold.giveBack()).toBe(2);
  hold.close();
});
