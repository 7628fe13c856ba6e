import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import type { SQSEvent, SQSRecord } from 'aws-lambda';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { queuesAndFilesForTests } from './aws-for-tests.ts';
import { mapQueue, type QueueMapping } from './event-source-mapping.ts';
import type { InvokeResult } from './lambda.ts';
import { passingTime } from './passing-time.ts';

const time = passingTime();
const { sqs, createQueue } = queuesAndFilesForTests();
let queue: { url: string; arn: string };
let queues = 0;
const mappings: { stop(): Promise<void> }[] = [];
const stopping: Promise<void>[] = [];

afterAll(() => Promise.all(stopping));
beforeEach(async () => {
  // Longer than any test: a message that comes twice was left by the mapping, not lost by a clock.
  queue = await createQueue(`mapped-${queues++}`, { VisibilityTimeout: '600' });
});
afterEach(() => {
  // The last poll of each takes a second, for which no test need wait.
  stopping.push(...mappings.splice(0).map((mapping) => mapping.stop()));
});

const succeed = (payload: unknown = null): InvokeResult => ({ ok: true, payload });

/** Maps the queue to a function within this process, and keeps what came. */
function map(invoke: (event: SQSEvent) => Promise<InvokeResult>, more: Partial<QueueMapping> = {}) {
  const events: SQSEvent[] = [];
  const errors: string[] = [];
  const mapping = mapQueue({
    sqs,
    queueUrl: queue.url,
    queueArn: queue.arn,
    batchSize: 10,
    pollers: 1,
    onError: (error) => errors.push(error.message),
    ...more,
    invoke: (event) => {
      events.push(event);
      return invoke(event);
    },
  });
  mappings.push(mapping);
  return { events, errors, mapping };
}

const sendAll = async (...bodies: string[]) => {
  const Entries = bodies.map((MessageBody, index) => ({ Id: `${index}`, MessageBody }));
  await sqs.send(new SendMessageBatchCommand({ QueueUrl: queue.url, Entries }));
};

/** How many messages wait, and how many are out with a receiver. */
const counts = async () => {
  const AttributeNames = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const;
  const request = { QueueUrl: queue.url, AttributeNames: [...AttributeNames] };
  const { Attributes = {} } = await sqs.send(new GetQueueAttributesCommand(request));
  return AttributeNames.map((name) => Number(Attributes[name]));
};

const bodiesOf = (events: SQSEvent[]) => events.map(({ Records }) => Records.map(({ body }) => body));

describe('an event', () => {
  test('has the shape that Lambda gives it', async () => {
    const { events } = map(async () => succeed());
    await sqs.send(
      new SendMessageCommand({
        QueueUrl: queue.url,
        MessageBody: '{"grade":0}',
        MessageAttributes: {
          kind: { DataType: 'String', StringValue: 'unavailable' },
          replays: { DataType: 'Number', StringValue: '2' },
          bytes: { DataType: 'Binary', BinaryValue: new Uint8Array([1, 2, 255]) },
        },
      }),
    );
    await expect.poll(() => events.length).toBe(1);
    const lists = { stringListValues: [], binaryListValues: [] };
    expect(events[0]).toEqual({
      Records: [
        {
          messageId: expect.stringMatching(/^[\da-f-]{36}$/),
          receiptHandle: expect.any(String),
          body: '{"grade":0}',
          attributes: {
            ApproximateReceiveCount: '1',
            SentTimestamp: expect.stringMatching(/^\d{13}$/),
            SenderId: expect.any(String),
            ApproximateFirstReceiveTimestamp: expect.stringMatching(/^\d{13}$/),
          },
          messageAttributes: {
            kind: { dataType: 'String', stringValue: 'unavailable', ...lists },
            replays: { dataType: 'Number', stringValue: '2', ...lists },
            bytes: { dataType: 'Binary', binaryValue: 'AQL/', ...lists },
          },
          md5OfBody: expect.stringMatching(/^[\da-f]{32}$/),
          md5OfMessageAttributes: expect.stringMatching(/^[\da-f]{32}$/),
          eventSource: 'aws:sqs',
          eventSourceARN: queue.arn,
          awsRegion: 'us-east-1',
        },
      ],
    });
  });

  test('holds more than SQS hands out at once, and each is deleted', async () => {
    const bodies = Array.from({ length: 48 }, (_, at) => `${at}`);
    for (let at = 0; at < bodies.length; at += 10) await sendAll(...bodies.slice(at, at + 10));
    const { events, errors } = map(async () => succeed(), { batchSize: 25 });
    await expect.poll(counts).toEqual([0, 0]);
    expect(bodiesOf(events).map((batch) => batch.length)).toEqual([25, 23]);
    expect(new Set(bodiesOf(events).flat())).toEqual(new Set(bodies));
    expect(errors).toEqual([]);
  });
});

describe('a batch', () => {
  test('keeps what the answer names, with the visibility that the function gave it', async () => {
    await sendAll('done', 'wait', 'soon', 'done too');
    let first = true;
    const { events, errors } = map(async ({ Records }) => {
      if (!first) return succeed();
      first = false;
      const failed = Records.filter(({ body }) => !body.startsWith('done'));
      await setVisibility(
        failed.find(({ body }) => body === 'soon'),
        1,
      );
      return succeed({ batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) });
    });
    await expect.poll(counts).toEqual([0, 2]);
    time.pass(1_000);
    await expect.poll(() => bodiesOf(events)).toEqual([['done', 'wait', 'soon', 'done too'], ['soon']]);
    await expect.poll(counts).toEqual([0, 1]);
    expect(events[1]?.Records[0]?.attributes.ApproximateReceiveCount).toBe('2');
    expect(errors).toEqual([]);
  });

  test.for([
    ['a word for failures', { batchItemFailures: 'none' }, 'not an array'],
    ['an unknown id', { batchItemFailures: [{ itemIdentifier: 'stranger' }] }, '"stranger"'],
    ['a misspelt id', { batchItemFailures: [{ itemIdentifer: 'x' }] }, '""'],
  ] as const)('that is answered with %s is left as it is, and that is told', async ([, answer, reason]) => {
    await sendAll('a', 'b');
    const { errors } = map(async () => succeed(answer));
    await expect.poll(() => errors).toEqual([expect.stringContaining(reason)]);
    expect(await counts()).toEqual([0, 2]);
  });
});

describe('polling', () => {
  test('goes on at as many batches at once as there are pollers', async () => {
    const releases: (() => void)[] = [];
    const { events } = map(() => new Promise((resolve) => releases.push(() => resolve(succeed()))), {
      batchSize: 1,
      pollers: 3,
    });
    await sendAll('1', '2', '3', '4', '5');
    await expect.poll(counts).toEqual([2, 3]);
    releases.shift()?.();
    await expect.poll(() => events.length).toBe(4);
    expect(releases).toHaveLength(3);
    const timer = setInterval(() => releases.shift()?.(), 5);
    await expect.poll(counts).toEqual([0, 0]);
    clearInterval(timer);
  });
});

async function setVisibility(record: SQSRecord | undefined, seconds: number) {
  await sqs.send(
    new ChangeMessageVisibilityCommand({
      QueueUrl: queue.url,
      ReceiptHandle: record?.receiptHandle,
      VisibilityTimeout: seconds,
    }),
  );
}
