import type { SQSClient } from '@aws-sdk/client-sqs';
import { safe, type Warn } from '../../message/safe-text.ts';
import { errorName } from '../../runtime/aws/error.ts';

/** SQS hands out nothing more of a queue at 120,000. Its count is a minute old, and other containers hide messages meanwhile. */
const crowdedFrom = 80_000;
/** While messages wait, the queue is asked once in this time, or earlier if this container has hidden `askedEvery` messages since. */
const askedEveryMs = 60_000;
const askedEvery = 1_000;

/** How many messages of the function's queue are in flight: those that wait, and those that are being handled. */
export type InFlight = {
  /** Whether so many messages are in flight that the queue may soon hand out nothing. False if the queue was not asked lately. */
  isCrowded(): boolean;
  /** Never throws. `count`: how many more messages wait now. */
  hides(count: number): Promise<void>;
};

type InFlightOptions = {
  sqs: () => Promise<SQSClient>;
  queueUrl: string;
  warn: Warn;
  nowMs(): number;
  /** Tests have a smaller one. */
  from?: number | undefined;
};

export const createInFlight = ({
  sqs,
  queueUrl: QueueUrl,
  warn,
  nowMs,
  from = crowdedFrom,
}: InFlightOptions): InFlight => {
  let counted = 0;
  let askedMs = Number.NEGATIVE_INFINITY;
  let hiddenSince = 0;
  const isRecent = (): boolean => nowMs() - askedMs < askedEveryMs;

  const ask = async (): Promise<number> => {
    const { GetQueueAttributesCommand } = await import('@aws-sdk/client-sqs');
    const name = 'ApproximateNumberOfMessagesNotVisible';
    const client = await sqs();
    const { Attributes } = await client.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [name] }),
    );
    return Number(Attributes?.[name] ?? 0);
  };

  return {
    isCrowded: () => isRecent() && counted >= from,
    hides: async (count) => {
      hiddenSince += count;
      if (isRecent() && hiddenSince < askedEvery) return;
      askedMs = nowMs();
      hiddenSince = 0;
      try {
        counted = await ask();
      } catch (error) {
        counted = 0;
        warn(safe`it is not known how many messages wait on the queue`, { code: errorName(error) });
      }
    },
  };
};
