import type { Message } from '@aws-sdk/client-sqs';
import type { Queue } from '../../aws/batches.ts';
import type { Hold } from './visibility-lease.ts';

export type ScanOptions = {
  queue: Queue;
  hold: Hold;
  leaseSeconds: number;
  pollSeconds: number;
  signal: AbortSignal;
  /** Each letter once. False: no more are needed. */
  onLetter(message: Message): Promise<boolean>;
};

/** Of the 120,000 messages that SQS lets a queue have in flight, some are left to others. */
export const maxHeld = 110_000;
/** So many ask at once. SQS may answer that it has none while it has some: only when all of them hear that does it count. */
const receivers = 8;
/** And then not more often than so, where SQS' own count says that there are more. */
const maxLooks = 5;

/**
 * Receives every letter that nobody else has in hand, and holds it. `whole` is false where the scan ended before: nobody
 * needed more, it was stopped, or there are too many to hold.
 */
export const scan = async (options: ScanOptions): Promise<{ whole: boolean }> => {
  const { queue, hold, signal } = options;
  let enough = false;
  const over = () => enough || signal.aborted || hold.size() >= maxHeld;

  const receiveUntilEmpty = async (): Promise<void> => {
    for (let messages: Message[] | undefined; messages?.length !== 0 && !over(); ) {
      messages = await receive(options);
      for (const message of messages) {
        const isNew = hold.add(message.MessageId ?? '', message.ReceiptHandle ?? '');
        if (isNew && !(await options.onLetter(message))) enough = true;
      }
    }
  };

  for (let look = 0; look < maxLooks && !over(); look += 1) {
    // All must have ended before anything is given back, also where one of them failed.
    const ends = await Promise.allSettled(Array.from({ length: receivers }, receiveUntilEmpty));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    if (over() || (await visibleIn(queue)) === 0) break;
  }
  return { whole: !over() };
};

/** Never broken off: an answer that nobody reads would hide its letters until their lease is over. */
export const receive = async ({
  queue,
  leaseSeconds,
  pollSeconds,
}: Pick<ScanOptions, 'queue' | 'leaseSeconds' | 'pollSeconds'>): Promise<Message[]> => {
  const { ReceiveMessageCommand } = await import('@aws-sdk/client-sqs');
  const { Messages = [] } = await queue.sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: queue.url,
      MaxNumberOfMessages: 10,
      VisibilityTimeout: leaseSeconds,
      WaitTimeSeconds: pollSeconds,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['All'],
    }),
  );
  return Messages;
};

const visibleIn = async (queue: Queue): Promise<number> => (await countsOf(queue)).visible;

export type Counts = { visible: number; inFlight: number; delayed: number };

/** How many messages a queue has, as SQS approximately knows. */
export const countsOf = async ({ sqs, url }: Queue): Promise<Counts> => {
  const { GetQueueAttributesCommand } = await import('@aws-sdk/client-sqs');
  const names = {
    visible: 'ApproximateNumberOfMessages',
    inFlight: 'ApproximateNumberOfMessagesNotVisible',
    delayed: 'ApproximateNumberOfMessagesDelayed',
  } as const;
  const { Attributes = {} } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: Object.values(names) }),
  );
  const { visible, inFlight, delayed } = names;
  return {
    visible: Number(Attributes[visible] ?? 0),
    inFlight: Number(Attributes[inFlight] ?? 0),
    delayed: Number(Attributes[delayed] ?? 0),
  };
};
