import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Failure } from '../../message/failure.ts';
import { messageIdText, safe, type Warn } from '../../message/safe-text.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { errorName } from '../../runtime/aws/error.ts';
import { chunksOf } from '../../runtime/aws/parallel.ts';
import { hide, maxEntries } from '../../runtime/aws/sqs.ts';
import { type DeadLetter, notStored, pointerTo, sqsMessageOf } from '../letters/dead-letter.ts';
import type { KeepWhole } from '../letters/letter-file.ts';
import type { InFlight } from './in-flight.ts';

/** A message of the function's own queue to deliver again later. */
export type Delay = { messageId: string; receiptHandle: string; seconds: number };

export type Queues = {
  /**
   * A message that SQS never accepts as a letter is kept whole in the bucket, and its letter names the place.
   * @throws if no letter was written: then its message must stay on its queue.
   */
  writeLetter(letter: DeadLetter): Promise<void>;
  /** Never throws: a message whose visibility could not be set comes back when the queue's own timeout ends. */
  delay(delays: Delay[]): Promise<void>;
};

type QueuesOptions = {
  /** Created when first needed: most invocations need neither letters nor visibilities. */
  sqs: () => Promise<SQSClient>;
  queueUrl: string;
  deadLetterQueueUrl: string;
  /** Undefined if no bucket is configured: then the letter records only that such a message existed. */
  keepWhole?: KeepWhole | undefined;
  warn: Warn;
  inFlight?: InFlight | undefined;
  /** Called if a whole batch call for visibilities failed. */
  failed?(failure: Failure): void;
};

export const createQueues = ({
  sqs,
  queueUrl,
  deadLetterQueueUrl,
  keepWhole,
  warn,
  inFlight,
  failed,
}: QueuesOptions): Queues => {
  const delayBatch = async (delays: Delay[]): Promise<Delay[]> => {
    const refused = await hide({ sqs: await sqs(), url: queueUrl }, delays);
    return refused.flatMap(({ Id }) => delays[Number(Id)] ?? []);
  };

  const delayAll = async (delays: Delay[]): Promise<void> => {
    // A batch call succeeds as a whole even if single entries failed: those are sent once more, then logged.
    const refused = await delayBatch(delays).catch(() => delays);
    const again = (error: unknown): Delay[] => {
      failed?.(failureOf(error));
      return refused;
    };
    const left = refused.length > 0 ? await delayBatch(refused).catch(again) : [];
    for (const { messageId, seconds } of left)
      warn(
        safe`the visibility of a waiting message could not be set; the message comes back when its queue shows it`,
        {
          messageId: messageIdText(messageId),
          seconds,
        },
      );
  };

  const send = async (letter: DeadLetter): Promise<void> => {
    const { SendMessageCommand } = await import('@aws-sdk/client-sqs');
    const client = await sqs();
    await client.send(new SendMessageCommand({ QueueUrl: deadLetterQueueUrl, ...sqsMessageOf(letter) }));
  };

  return {
    writeLetter: async (letter) => {
      try {
        await send(letter);
      } catch (error) {
        if (!isPermanent(error)) throw error;
        const storedAt = (await keepWhole?.(letter)) ?? notStored;
        warn(
          storedAt === notStored
            ? safe`SQS refuses a letter, and its message is not kept, because LETTERS_BUCKET is not set`
            : safe`SQS refuses a letter; its message is kept in the bucket`,
          { code: errorName(error) },
        );
        await send(pointerTo(letter, storedAt));
      }
    },
    delay: async (delays) => {
      // Concurrently: a batch holds several tens, and the invocation's remaining time is enough for the time-outs of one.
      const isAny = delays.length > 0;
      await Promise.all([
        isAny && inFlight?.hides(delays.length),
        ...chunksOf(delays, maxEntries).map(delayAll),
      ]);
    },
  };
};

/** A fault of the message itself is permanent; throttling, an outage and a missing right are not. */
const isPermanent = (error: unknown): boolean =>
  /^(Invalid(MessageContents|ParameterValue|ParameterCombination|AttributeName|AttributeValue)|MessageTooLong|BatchRequestTooLong|Missing(Required)?Parameter|ValidationError)(Exception)?$/.test(
    errorName(error),
  );
