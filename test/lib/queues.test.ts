import {
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type DeadLetter, letterOf } from '../../lib/dead-letter.ts';
import { createQueues, type Delay } from '../../lib/queues.ts';
import { createQueue, localClient, startQueuesAndFiles } from '../local/aws.ts';

let aws: Awaited<ReturnType<typeof startQueuesAndFiles>>;
let sqs: SQSClient;
let queue: { url: string; arn: string };
let letters: { url: string; arn: string };
let made = 0;
let warnings: Record<string, unknown>[];
const calls: string[] = [];

beforeAll(async () => {
  aws = await startQueuesAndFiles();
  sqs = new SQSClient({ ...localClient(aws.url), maxAttempts: 1 });
  sqs.middlewareStack.add(
    (next, context) => (args) => {
      calls.push(String(context.commandName));
      return next(args);
    },
    { step: 'initialize' },
  );
});
afterAll(async () => {
  sqs.destroy();
  await aws.close();
});
beforeEach(async () => {
  made += 1;
  queue = await createQueue(sqs, `queue-${made}`);
  letters = await createQueue(sqs, `letters-${made}`);
  warnings = [];
  calls.splice(0);
});
afterEach(() => fetch(`${aws.url}/_local/faults`, { method: 'DELETE' }));

const fault = async (given: object) => {
  const answer = await fetch(`${aws.url}/_local/faults`, { method: 'POST', body: JSON.stringify(given) });
  expect(answer.status).toBe(204);
};

const queues = (options: Partial<Parameters<typeof createQueues>[0]> = {}) =>
  createQueues({
    sqs: async () => sqs,
    queueUrl: queue.url,
    deadLetterQueueUrl: letters.url,
    warn: (_, facts) => warnings.push(facts ?? {}),
    ...options,
  });

const receive = async (url = queue.url): Promise<Message[]> => {
  const all: Message[] = [];
  for (;;) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10, MessageAttributeNames: ['All'] }),
    );
    if (Messages.length === 0) return all;
    all.push(...Messages);
  }
};

/** So many messages in hand, all invisible on their queue. */
const inHand = async (count: number, seconds = 0): Promise<Delay[]> => {
  for (let at = 0; at < count; at += 1)
    await sqs.send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody: `m${at}` }));
  const messages = await receive();
  expect(messages).toHaveLength(count);
  calls.splice(0);
  return messages.map(({ MessageId = '', ReceiptHandle = '' }) => ({
    messageId: MessageId,
    receiptHandle: ReceiptHandle,
    seconds,
  }));
};

const idsOf = (delays: Delay[]) => delays.map(({ messageId }) => messageId).sort();
/** A visibility of 0 seconds shows a message at once: what can be received has been set. */
const shown = async () => (await receive()).map(({ MessageId = '' }) => MessageId).sort();
const warned = (delays: Delay[]) => delays.map(({ messageId, seconds }) => ({ messageId, seconds }));
const visibilityCalls = () => calls.filter((name) => name === 'ChangeMessageVisibilityBatchCommand').length;

describe('waiting messages', () => {
  test.each([
    [1, 1],
    [10, 1],
    [11, 2],
    [25, 3],
  ])('get their visibility in batches of ten: %i messages by %i calls', async (count, expected) => {
    const delays = await inHand(count);
    await queues().delay(delays);
    expect(visibilityCalls()).toBe(expected);
    expect(await shown()).toEqual(idsOf(delays));
    expect(warnings).toEqual([]);
  });

  test('stay hidden for the time that each has to wait', async () => {
    const delays = await inHand(3);
    await queues().delay(delays.map((delay, at) => ({ ...delay, seconds: at === 1 ? 0 : 600 })));
    expect(await shown()).toEqual([delays[1]?.messageId]);
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: queue.url, AttributeNames: ['All'] }),
    );
    expect(Attributes?.ApproximateNumberOfMessagesNotVisible).toBe('3');
  });

  test('that are none need no client', async () => {
    await queues({ sqs: () => Promise.reject(new Error('asked for')) }).delay([]);
    expect(calls).toEqual([]);
    expect(warnings).toEqual([]);
  });

  test('whose entries failed are asked for once more, and they alone', async () => {
    const delays = await inHand(7);
    await fault({ action: 'ChangeMessageVisibilityBatch', failedEntries: 3, times: 1 });
    await queues().delay(delays);
    expect(visibilityCalls()).toBe(2);
    expect(await shown()).toEqual(idsOf(delays));
    expect(warnings).toEqual([]);
  });

  test('whose entries failed twice are named, and the others are set', async () => {
    const delays = await inHand(7);
    await fault({ action: 'ChangeMessageVisibilityBatch', failedEntries: 2, times: 2 });
    await queues().delay(delays);
    expect(visibilityCalls()).toBe(2);
    expect(await shown()).toEqual(idsOf(delays.slice(2)));
    expect(warnings).toEqual(warned(delays.slice(0, 2)));
  });

  test('of which one has a receipt handle that SQS no longer knows: it alone is named', async () => {
    const delays = await inHand(3);
    const stale = { ...delays[1]!, receiptHandle: 'gone' };
    await queues().delay([delays[0]!, stale, delays[2]!]);
    expect(await shown()).toEqual(idsOf([delays[0]!, delays[2]!]));
    expect(warnings).toEqual(warned([stale]));
  });

  test('of which one would wait for longer than SQS lets it: it alone is named', async () => {
    const delays = await inHand(2);
    const endless = { ...delays[0]!, seconds: 43_201 };
    await queues().delay([endless, delays[1]!]);
    expect(await shown()).toEqual([delays[1]?.messageId]);
    expect(warnings).toEqual(warned([endless]));
  });

  test.each([
    ['refused', { status: 400, type: 'AccessDenied' }],
    ['answered with 500', { status: 500 }],
    ['cut off', { reset: true }],
  ])('are set by the second call where the first is %s', async (_, then) => {
    const delays = await inHand(4);
    await fault({ action: 'ChangeMessageVisibilityBatch', times: 1, ...then });
    await queues().delay(delays);
    expect(visibilityCalls()).toBe(2);
    expect(await shown()).toEqual(idsOf(delays));
    expect(warnings).toEqual([]);
  });

  test('are all named where SQS does not answer at all, and nothing is thrown', async () => {
    const delays = await inHand(2);
    await fault({ action: 'ChangeMessageVisibilityBatch', reset: true });
    await queues().delay(delays);
    expect(visibilityCalls()).toBe(2);
    expect(warnings).toEqual(warned(delays));
  });

  test('are named where there is no client to be had, and nothing is thrown', async () => {
    const delays = await inHand(2);
    await queues({ sqs: () => Promise.reject(new Error('no region')) }).delay(delays);
    expect(warnings).toEqual(warned(delays));
  });

  test('of one call that fails are no reason to leave those of the next', async () => {
    const delays = await inHand(15);
    await fault({ action: 'ChangeMessageVisibilityBatch', status: 500, times: 2 });
    await queues().delay(delays);
    expect(visibilityCalls()).toBe(3);
    expect(await shown()).toEqual(idsOf(delays.slice(10)));
    expect(warnings).toEqual(warned(delays.slice(0, 10)));
  });
});

describe('a parked message', () => {
  const letter: DeadLetter = {
    body: '{"id":"ä😀"}',
    source: 'arn:aws:sqs:eu-west-1:123456789012:sis-relay-grade-push',
    failure: null,
    replays: 1,
    attributes: { trace: { DataType: 'String', StringValue: 't' } },
  };

  test('lies in the dead-letter queue, once, and not on its own', async () => {
    await queues().park(letter);
    expect((await receive(letters.url)).map(letterOf)).toEqual([letter]);
    expect(await shown()).toEqual([]);
  });

  test.each([
    ['refuses it', { status: 400, type: 'AccessDenied' }],
    ['fails', { status: 500 }],
    ['does not answer', { reset: true }],
  ])('is told to have failed where SQS %s', async (_, then) => {
    await fault({ action: 'SendMessage', times: 1, ...then });
    await expect(queues().park(letter)).rejects.toThrow(Error);
    expect(await receive(letters.url)).toEqual([]);
  });

  test('is told to have failed where SQS takes no such letter', async () => {
    const bad = { trace: { DataType: 'Number', StringValue: 'not one' } };
    await expect(queues().park({ ...letter, attributes: bad })).rejects.toThrow('not a number');
    await expect(queues({ deadLetterQueueUrl: `${letters.url}-none` }).park(letter)).rejects.toThrow(Error);
    await expect(queues().park({ ...letter, body: '' })).rejects.toThrow(Error);
  });

  test('is told to have failed where there is no client to be had', async () => {
    const none = queues({ sqs: () => Promise.reject(new Error('no region')) });
    await expect(none.park(letter)).rejects.toThrow('no region');
  });
});
