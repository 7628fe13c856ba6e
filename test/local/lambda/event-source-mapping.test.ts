import { GetQueueAttributesCommand, SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import { afterEach, expect, test } from 'vitest';
import { queuesAndFilesForTests } from '../aws/for-tests.ts';
import { mapQueue } from './event-source-mapping.ts';

const { sqs, createQueue } = queuesAndFilesForTests();
let queues = 0;
let stop: () => Promise<void>;
afterEach(() => stop());

/** Sends so many messages, and maps their queue to a function within this process that answers this. */
async function mapped(count: number, payload: unknown) {
  // Longer than any test: a message that comes twice was left by the mapping, not lost by a clock.
  const queue = await createQueue(`mapped-${queues++}`, { VisibilityTimeout: '600' });
  for (let left = count; left > 0; left -= 10) {
    const Entries = Array.from({ length: Math.min(10, left) }, (_, at) => ({
      Id: `${at}`,
      MessageBody: `${left - at}`,
    }));
    await sqs.send(new SendMessageBatchCommand({ QueueUrl: queue.url, Entries }));
  }
  const batches: string[][] = [];
  const errors: string[] = [];
  const mapping = mapQueue({
    sqs,
    queueUrl: queue.url,
    queueArn: queue.arn,
    batchSize: 25,
    pollers: 1,
    onError: ({ message }) => errors.push(message),
    invoke: async ({ Records }) => {
      batches.push(Records.map(({ body }) => body));
      return { ok: true, payload };
    },
  });
  stop = mapping.stop;
  /** How many messages wait, and how many are out with a receiver. */
  const counts = async () => {
    const AttributeNames = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const;
    const request = { QueueUrl: queue.url, AttributeNames: [...AttributeNames] };
    const { Attributes = {} } = await sqs.send(new GetQueueAttributesCommand(request));
    return AttributeNames.map((name) => Number(Attributes[name]));
  };
  return { batches, errors, counts };
}

test('an event holds more than SQS hands out at once, and each is deleted', async () => {
  const { batches, errors, counts } = await mapped(48, null);
  await expect.poll(counts).toEqual([0, 0]);
  expect(batches.map((batch) => batch.length)).toEqual([25, 23]);
  expect(new Set(batches.flat()).size).toBe(48);
  expect(errors).toEqual([]);
});

test.for([
  ['a word for failures', { batchItemFailures: 'none' }, 'not an array'],
  ['an unknown id', { batchItemFailures: [{ itemIdentifier: 'stranger' }] }, '"stranger"'],
  ['a misspelt id', { batchItemFailures: [{ itemIdentifer: 'x' }] }, '""'],
] as const)(
  'a batch that is answered with %s is left as it is, and that is told',
  async ([, answer, reason]) => {
    const { errors, counts } = await mapped(2, answer);
    await expect.poll(() => errors).toEqual([expect.stringContaining(reason)]);
    expect(await counts()).toEqual([0, 2]);
  },
);
