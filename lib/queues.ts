import type { SQSClient } from '@aws-sdk/client-sqs';
import { type DeadLetter, sqsMessageOf } from './dead-letter.ts';

/** A message of the function's own queue that is to be shown again later. */
export type Delay = { messageId: string; receiptHandle: string; seconds: number };

export type Queues = {
  /** @throws where SQS does not take the letter: then its message must stay on its queue. */
  park(letter: DeadLetter): Promise<void>;
  /** Never throws: a message whose visibility could not be set comes back when the queue's own timeout ends. */
  delay(delays: Delay[]): Promise<void>;
};

type QueuesOptions = {
  /** Made when first needed: most invocations need neither letters nor visibilities. */
  sqs: () => Promise<SQSClient>;
  queueUrl: string;
  deadLetterQueueUrl: string;
  warn(text: string, facts: Record<string, string | number>): void;
};

/** As many entries as SQS takes in one batch call. */
const batchSize = 10;

export const createQueues = ({ sqs, queueUrl, deadLetterQueueUrl, warn }: QueuesOptions): Queues => {
  const delayBatch = async (delays: Delay[]): Promise<Delay[]> => {
    const { ChangeMessageVisibilityBatchCommand } = await import('@aws-sdk/client-sqs');
    const client = await sqs();
    const answer = await client.send(
      new ChangeMessageVisibilityBatchCommand({
        QueueUrl: queueUrl,
        Entries: delays.map((delay, at) => ({
          Id: String(at),
          ReceiptHandle: delay.receiptHandle,
          VisibilityTimeout: delay.seconds,
        })),
      }),
    );
    const failed = new Set((answer.Failed ?? []).map((entry) => entry.Id));
    return delays.filter((_, at) => failed.has(String(at)));
  };

  const delayAll = async (delays: Delay[]): Promise<void> => {
    // A batch call succeeds as a whole even where single entries failed: those are asked for once more, then named.
    const refused = await delayBatch(delays).catch(() => delays);
    const left = refused.length > 0 ? await delayBatch(refused).catch(() => refused) : [];
    for (const { messageId, seconds } of left)
      warn('the visibility of a waiting message could not be set: it comes back when its queue shows it', {
        messageId,
        seconds,
      });
  };

  return {
    park: async (letter) => {
      const { SendMessageCommand } = await import('@aws-sdk/client-sqs');
      const client = await sqs();
      await client.send(new SendMessageCommand({ QueueUrl: deadLetterQueueUrl, ...sqsMessageOf(letter) }));
    },
    delay: async (delays) => {
      for (let at = 0; at < delays.length; at += batchSize) await delayAll(delays.slice(at, at + batchSize));
    },
  };
};
