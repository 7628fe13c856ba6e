import { setTimeout as sleep } from 'node:timers/promises';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { errorName } from '../aws/error.ts';
import { chunksOf } from '../aws/parallel.ts';
import { batchesOf } from '../aws/sqs.ts';
import type { Outgoing } from '../aws/sqs-limits.ts';
import { type DeadLetter, nowhere, pointerTo, sqsMessageOf } from '../dead-letter.ts';
import { type Failure, failureOf, MessageFailure } from '../failure.ts';
import type { KeepWhole } from './oversized-letters.ts';

/** A message of the function's own queue that is to be shown again later. */
export type Delay = { messageId: string; receiptHandle: string; seconds: number };

export type Queues = {
  /**
   * What SQS will never take as a letter is kept whole in the bucket, and its letter says where.
   * @throws where there is no letter in the end: then its message must stay on its queue.
   */
  park(letter: DeadLetter): Promise<void>;
  /** Never throws: a message whose visibility could not be set comes back when the queue's own timeout ends. */
  delay(delays: Delay[]): Promise<void>;
};

/** Sends messages to the function's own queue. @throws where one of them was not taken; others may have been. */
export type SendOn = (messages: Outgoing[], signal: AbortSignal) => Promise<void>;

type QueuesOptions = {
  /** Made when first needed: most invocations need neither letters nor visibilities. */
  sqs: () => Promise<SQSClient>;
  queueUrl: string;
  deadLetterQueueUrl: string;
  /** Undefined where no bucket is configured: then all that is left of such a message is that there was one. */
  keepWhole?: KeepWhole | undefined;
  warn(text: string, facts: Record<string, string | number>): void;
  /** Is told why a whole call about visibilities failed. */
  failed?(failure: Failure): void;
};

/** As many entries as SQS takes in one batch call. */
const batchSize = 10;

/** A batch call succeeds as a whole even where single entries failed: those are given again. */
const sendAttempts = 3;

export const createQueues = ({
  sqs,
  queueUrl,
  deadLetterQueueUrl,
  keepWhole,
  warn,
  failed,
}: QueuesOptions): Queues & { send: SendOn } => {
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
    const again = (error: unknown): Delay[] => {
      failed?.(failureOf(error));
      return refused;
    };
    const left = refused.length > 0 ? await delayBatch(refused).catch(again) : [];
    for (const { messageId, seconds } of left)
      warn(
        'the visibility of a waiting message could not be set; the message comes back when its queue shows it',
        {
          messageId,
          seconds,
        },
      );
  };

  const sendBatch = async (messages: Outgoing[], signal: AbortSignal): Promise<void> => {
    const { SendMessageBatchCommand } = await import('@aws-sdk/client-sqs');
    const client = await sqs();
    let left = messages;
    for (let attempt = 1; left.length > 0; attempt += 1) {
      const { Failed = [] } = await client.send(
        new SendMessageBatchCommand({
          QueueUrl: queueUrl,
          Entries: left.map(({ body, attributes }, at) => ({
            ...{ Id: String(at), MessageBody: body, MessageAttributes: attributes },
          })),
        }),
        { abortSignal: signal },
      );
      left = Failed.flatMap(({ Id }) => left[Number(Id)] ?? []);
      if (left.length === 0) return;
      if (attempt === sendAttempts)
        throw new MessageFailure(
          'unavailable',
          `SQS refused ${left.length} of ${messages.length} messages (${Failed[0]?.Code})`,
        );
      await sleep(100 * attempt ** 2);
    }
  };

  const send = async (letter: DeadLetter): Promise<void> => {
    const { SendMessageCommand } = await import('@aws-sdk/client-sqs');
    const client = await sqs();
    await client.send(new SendMessageCommand({ QueueUrl: deadLetterQueueUrl, ...sqsMessageOf(letter) }));
  };

  return {
    park: async (letter) => {
      try {
        await send(letter);
      } catch (error) {
        if (!isForGood(error)) throw error;
        const whole = (await keepWhole?.(letter)) ?? nowhere;
        warn(
          whole === nowhere
            ? 'SQS refuses a letter, and its message is not kept, because LETTERS_BUCKET is not set'
            : 'SQS refuses a letter; its message is kept in the bucket',
          { code: errorName(error) },
        );
        await send(pointerTo(letter, whole));
      }
    },
    delay: async (delays) => {
      // At once: a batch holds several tens, and what is left of the invocation's time is enough for the time-outs of one.
      await Promise.all(chunksOf(delays, batchSize).map(delayAll));
    },
    send: async (messages, signal) => {
      await Promise.all(batchesOf(messages).map(({ items }) => sendBatch(items, signal)));
    },
  };
};

/** What is wrong with the message itself is so for ever; throttling, an outage and a missing right are not. */
const isForGood = (error: unknown): boolean =>
  /^(Invalid(MessageContents|ParameterValue|ParameterCombination|AttributeName|AttributeValue)|MessageTooLong|BatchRequestTooLong|Missing(Required)?Parameter|ValidationError)(Exception)?$/.test(
    errorName(error),
  );
