import { GetQueueAttributesCommand, ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { beforeEach, expect, test } from 'vitest';
import { createInFlight } from '../../../../lib/delivery/handle/in-flight.ts';
import { queuesAndFilesForTests } from '../../../local/aws/for-tests.ts';

const { sqs, fault, clearFaults, createQueue } = queuesAndFilesForTests();
let url: string;
let made = 0;
let asked = 0;
let nowMs = 0;
const warnings: unknown[] = [];

sqs.middlewareStack.add(
  (next, context) => (args) => {
    if (context.commandName === GetQueueAttributesCommand.name) asked += 1;
    return next(args);
  },
  { step: 'initialize' },
);

beforeEach(async () => {
  made += 1;
  ({ url } = await createQueue(`in-flight-${made}`));
  [asked, nowMs] = [0, Date.now()];
  warnings.splice(0);
});

const inFlightFrom = (from?: number) =>
  createInFlight({
    sqs: async () => sqs,
    queueUrl: url,
    nowMs: () => nowMs,
    from,
    warn: (text, facts) => warnings.push([text, facts]),
  });

/** So many lie on the queue, hidden, and one is visible. */
const hidden = async (count: number): Promise<void> => {
  for (let at = 0; at < count; at += 1) {
    await sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: 'm' }));
    await sqs.send(new ReceiveMessageCommand({ QueueUrl: url, VisibilityTimeout: 600 }));
  }
  await sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: 'm' }));
};

test('a queue is crowded from its limit on, and not before', async () => {
  await hidden(3);
  const [below, at, unlimited] = [inFlightFrom(4), inFlightFrom(3), inFlightFrom()];
  for (const each of [below, at, unlimited]) await each.hides(1);
  expect([below, at, unlimited].map((each) => each.isCrowded())).toEqual([false, true, false]);
});

test('a queue is asked once a minute while messages wait, and what it said then counts for a minute', async () => {
  await hidden(1);
  const inFlight = inFlightFrom(1);
  expect(inFlight.isCrowded()).toBe(false);
  for (let at = 0; at < 5; at += 1) await inFlight.hides(10);
  expect([asked, inFlight.isCrowded()]).toEqual([1, true]);
  nowMs += 59_999;
  await inFlight.hides(1);
  expect([asked, inFlight.isCrowded()]).toEqual([1, true]);
  nowMs += 1;
  expect(inFlight.isCrowded()).toBe(false);
  await inFlight.hides(1);
  expect([asked, inFlight.isCrowded()]).toEqual([2, true]);
});

test('a queue is asked earlier if a thousand more wait', async () => {
  const inFlight = inFlightFrom(1);
  await inFlight.hides(999);
  await inFlight.hides(999);
  expect([asked, inFlight.isCrowded()]).toEqual([1, false]);
  await hidden(1);
  await inFlight.hides(1);
  expect([asked, inFlight.isCrowded()]).toEqual([2, true]);
});

test('a queue that does not say it counts as having room, and is asked again after a minute', async () => {
  await hidden(1);
  const inFlight = inFlightFrom(1);
  await fault({ action: 'GetQueueAttributes', status: 400, type: 'AccessDenied' });
  await inFlight.hides(1);
  expect(inFlight.isCrowded()).toBe(false);
  expect(warnings).toEqual([
    ['it is not known how many messages wait on the queue', { code: expect.stringContaining('Denied') }],
  ]);
  await clearFaults();
  nowMs += 60_000;
  await inFlight.hides(1);
  expect(inFlight.isCrowded()).toBe(true);
});
