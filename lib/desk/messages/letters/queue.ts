import type { Message } from '@aws-sdk/client-sqs';
import type { Queue } from '../../../runtime/aws/sqs.ts';

/** `leaseSeconds`: how long a message stays hidden from others. `pollSeconds`: how long SQS waits for messages before it answers. */
export type ReceiveOptions = { leaseSeconds: number; pollSeconds: number };

/** Takes no abort signal: if nobody read the answer, its messages would stay hidden until their lease ends. */
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

export type Counts = { visible: number; inFlight: number; delayed: number };

/** SQS' approximate counts. */
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
