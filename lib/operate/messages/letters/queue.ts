import type { Message } from '@aws-sdk/client-sqs';
import type { Queue } from '../../../runtime/aws/sqs.ts';

/** `leaseSeconds`: how long a message stays hidden from others. `pollSeconds`: how long SQS looks for messages before it answers. */
export type ReceiveOptions = { leaseSeconds: number; pollSeconds: number };

/** Takes no abort signal: an answer that nobody reads would hide its messages until their lease ends. */
export const receive = async (
  { sqs, url }: Queue,
  { leaseSeconds, pollSeconds }: ReceiveOptions,
): Promise<Message[]> => {
  const { ReceiveMessageCommand } = await import('@aws-sdk/client-sqs');
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: url,
      MaxNumberOfMessages: 10,
      VisibilityTimeout: leaseSeconds,
      WaitTimeSeconds: pollSeconds,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['All'],
    }),
  );
  return Messages;
};

/** How many letters there are in all. */
export type ListCounts = {
  /** How many letters the lists have; undefined: a filter was given. */
  listed: number | undefined;
  /** About how many SQS counts in the dead-letter queue, also those that somebody has in hand. */
  queued: number;
};

export type Counts = { visible: number; inFlight: number; delayed: number };

/** How many messages a queue has, as SQS approximately knows. */
export const countsOf = async ({ sqs, url }: Queue): Promise<Counts> => {
  const { GetQueueAttributesCommand } = await import('@aws-sdk/client-sqs');
  const { Attributes = {} } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] }),
  );
  return {
    visible: Number(Attributes.ApproximateNumberOfMessages ?? 0),
    inFlight: Number(Attributes.ApproximateNumberOfMessagesNotVisible ?? 0),
    delayed: Number(Attributes.ApproximateNumberOfMessagesDelayed ?? 0),
  };
};
