import type { Message, MessageAttributeValue, SQSClient } from '@aws-sdk/client-sqs';
import { unlessError } from '../../runtime/aws/error.ts';
import { RefusedError } from '../command-errors.ts';
import type { StepSandbox } from './sandbox.ts';
import { type Step, seen } from './step.ts';

type OwnQueue = { url: string; arn: string };

/** A queue of this run alone. */
export const makeQueue = async (
  { target, name, make, rest, until }: StepSandbox,
  ending: string,
  Attributes: Record<string, string> = {},
): Promise<OwnQueue> => {
  const sdk = await import('@aws-sdk/client-sqs');
  const sqs = await target.sqs();
  const QueueName = `${name}-${ending}`;
  const { QueueUrl: url = '' } = await make(
    `the queue ${QueueName}`,
    () => sqs.send(new sdk.CreateQueueCommand({ QueueName, Attributes })),
    async () => {
      const { QueueUrl } = await sqs.send(new sdk.GetQueueUrlCommand({ QueueName }));
      await sqs.send(new sdk.DeleteQueueCommand({ QueueUrl }));
    },
  );
  const ask = new sdk.GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] });
  // It may be used after a second.
  await rest(1);
  const attributes = await until(30, () => unlessError(/NonExistent|DoesNotExist/, () => sqs.send(ask)));
  const arn = attributes?.Attributes?.QueueArn;
  if (arn === undefined) throw new RefusedError(`The queue ${QueueName} was made, and cannot be found.`);
  return { url, arn };
};

/** What lies on a queue, hidden for a minute. */
export const receiveFrom = async (
  { target }: StepSandbox,
  QueueUrl: string,
): Promise<Message | undefined> => {
  const { ReceiveMessageCommand } = await import('@aws-sdk/client-sqs');
  const receive = new ReceiveMessageCommand({
    QueueUrl,
    VisibilityTimeout: 60,
    WaitTimeSeconds: target.pollSeconds,
    MessageAttributeNames: ['All'],
    MessageSystemAttributeNames: ['All'],
  });
  const { Messages: [message] = [] } = await (await target.sqs()).send(receive);
  return message;
};

const show = async (sqs: SQSClient, QueueUrl: string, { ReceiptHandle }: Message): Promise<void> => {
  const { ChangeMessageVisibilityCommand } = await import('@aws-sdk/client-sqs');
  await sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }));
};

const body = `{"doctor":"Grüße, 学生 \\u0041 ${'x'.repeat(20)}"}\n`;
const attributes: Record<string, MessageAttributeValue> = {
  priority: { DataType: 'String', StringValue: 'bulk' },
};
const isSame = ({ Body, MessageAttributes: { priority } = {} }: Message): boolean =>
  Body === body && priority?.StringValue === 'bulk' && priority.DataType === 'String';

const patienceSeconds = 90;

export const redrive: Step = {
  id: 'redrive',
  claim:
    'SQS moves a message that was received too often to the dead-letter queue as it was, with the queue that it comes from, and back in the same way',
  does: 'Makes two queues, has a message moved from one to the other by its redrive policy, and back by StartMessageMoveTask.',
  costs: 'two queues and a hundred requests: less than $0.01',
  minutes: 3,
  expected:
    'body, attributes, id and time of sending stay; the letter has its queue’s ARN, and what comes back has none',
  rights: [
    'CreateQueue',
    'GetQueueUrl',
    'GetQueueAttributes',
    'DeleteQueue',
    'SendMessage',
    'ReceiveMessage',
    'DeleteMessage',
    'ChangeMessageVisibility',
    'StartMessageMoveTask',
  ].map((action) => `sqs:${action}`),
  try: async (corner) => {
    const sdk = await import('@aws-sdk/client-sqs');
    const sqs = await corner.target.sqs();
    const letters = await makeQueue(corner, 'letters');
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: letters.arn, maxReceiveCount: 1 });
    const queue = await makeQueue(corner, 'queue', { RedrivePolicy });
    const sent = await sqs.send(
      new sdk.SendMessageCommand({ QueueUrl: queue.url, MessageBody: body, MessageAttributes: attributes }),
    );
    const received = await corner.until(patienceSeconds, () => receiveFrom(corner, queue.url));
    if (received === undefined) throw new RefusedError('The message was not received.');
    await show(sqs, queue.url, received);
    const letter = await corner.until(patienceSeconds, async () => {
      // SQS moves it when it would be received once more.
      await receiveFrom(corner, queue.url);
      return receiveFrom(corner, letters.url);
    });
    if (letter === undefined)
      return seen(false, `the message was not moved within ${patienceSeconds} s of its second receipt`);
    await show(sqs, letters.url, letter);
    await sqs.send(new sdk.StartMessageMoveTaskCommand({ SourceArn: letters.arn }));
    const back = await corner.until(patienceSeconds, () => receiveFrom(corner, queue.url));
    const { Attributes: { SentTimestamp, DeadLetterQueueSourceArn: from } = {} } = letter;
    const others = [
      isSame(letter) ? [] : 'the letter has another body or other attributes',
      letter.MessageId === sent.MessageId ? [] : 'the letter has another id',
      SentTimestamp === received.Attributes?.SentTimestamp ? [] : 'the letter has another time of sending',
      from === queue.arn ? [] : `the letter says it comes from ${from ?? 'nowhere'}`,
      back === undefined ? `it did not come back within ${patienceSeconds} s` : [],
      back === undefined || isSame(back) ? [] : 'it came back with another body or other attributes',
      back?.Attributes?.DeadLetterQueueSourceArn === undefined ? [] : 'what came back still names a queue',
    ].flat();
    return seen(others.length === 0, others.join('; ') || 'all of it');
  },
};
