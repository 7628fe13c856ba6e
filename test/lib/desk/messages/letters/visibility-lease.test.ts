import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { countsOf, receive } from '../../../../../lib/desk/messages/letters/queue.ts';
import { createVisibilityLease } from '../../../../../lib/desk/messages/letters/visibility-lease.ts';
import { type Office, officesForTests } from '../../cli/office.ts';

const offices = officesForTests();

const leasing = async (office: Office, letters: number, leaseSeconds: number, nowMs?: () => number) => {
  const queue = { sqs: await office.target.sqs(), url: office.deadLetters.url };
  const ids = await office.park(Array.from({ length: letters }, () => ({})));
  const lease = createVisibilityLease(queue, leaseSeconds, nowMs);
  for (const { MessageId = '', ReceiptHandle = '' } of await receive(queue, { leaseSeconds, pollSeconds: 0 }))
    lease.add(MessageId, ReceiptHandle);
  return { queue, lease, ids };
};

test('nobody else sees a letter that is leased, however long, and everybody once it is given back', async () => {
  const { queue, lease } = await leasing(await offices.open(), 3, 1);
  await sleep(2_500);
  expect(await receive(queue, { leaseSeconds: 1, pollSeconds: 0 })).toEqual([]);
  expect(await lease.giveBack()).toBe(0);
  lease.close();
  expect(await countsOf(queue)).toEqual({ visible: 3, inFlight: 0, delayed: 0 });
});

test('some can be kept while the others are given back', async () => {
  const { queue, lease, ids } = await leasing(await offices.open(), 3, 60);
  await lease.giveBack([ids[1]!]);
  expect(await countsOf(queue)).toMatchObject({ visible: 2, inFlight: 1 });
  expect(lease.size()).toBe(1);
  await lease.giveBack();
  lease.close();
});

test('a letter that could not be renewed has no current lease: a machine that slept must not act on it', async () => {
  let nowMs = Date.now();
  const { lease, ids } = await leasing(await offices.open(), 1, 60, () => nowMs);
  expect(lease.isCurrent(ids[0]!)).toBe(true);
  nowMs += 59_500;
  expect(lease.isCurrent(ids[0]!)).toBe(false);
  lease.close();
});

test('the leases of very many letters are longer, so that their renewals leave time for the letters', async () => {
  let aheadMs = 0;
  const { queue, lease, ids } = await leasing(await offices.open(), 1, 2, () => Date.now() + aheadMs);
  expect(lease.seconds()).toBe(2);
  for (let at = 0; at < 30_000; at += 1) lease.add(`letter ${at}`, `handle ${at}`, 3_600);
  expect(lease.seconds()).toBe(12);
  // The first letter alone is due.
  await sleep(2_500);
  expect(await receive(queue, { leaseSeconds: 1, pollSeconds: 0 })).toEqual([]);
  aheadMs = 6_000;
  expect(lease.isCurrent(ids[0]!)).toBe(true);
  lease.close();
});

test('no lease is longer than SQS allows', async () => {
  const { lease } = await leasing(await offices.open(), 1, 43_200);
  for (let at = 0; at < 10_000; at += 1) lease.add(`letter ${at}`, `handle ${at}`);
  expect(lease.seconds()).toBe(43_200);
  lease.close();
});

test('a letter that SQS hands out a second time is known', async () => {
  const { lease, ids } = await leasing(await offices.open(), 1, 60);
  expect(lease.add(ids[0]!, 'another handle')).toBe(false);
  expect(lease.add('another letter', 'its handle')).toBe(true);
  lease.close();
});

test('what cannot be deleted is named, and stays leased', async () => {
  const office = await offices.open();
  const { lease, ids } = await leasing(office, 2, 60);
  await office.fault({
    action: 'DeleteMessageBatch',
    name: office.deadLetters.url.split('/').at(-1),
    failedEntries: 1,
    times: 3,
  });
  const failures = await lease.deleteLetters(ids);
  expect([...failures.values()]).toEqual(['InternalError']);
  expect(lease.size()).toBe(1);
  await lease.giveBack();
  lease.close();
  expect(await office.take(office.deadLetters.url)).toHaveLength(1);
});

test('letters that cannot be given back are counted: they come back by themselves', async () => {
  const office = await offices.open();
  const { lease } = await leasing(office, 2, 60);
  await office.fault({
    action: 'ChangeMessageVisibilityBatch',
    name: office.deadLetters.url.split('/').at(-1),
    failedEntries: 2,
    times: 3,
  });
  expect(await lease.giveBack()).toBe(2);
  lease.close();
});
