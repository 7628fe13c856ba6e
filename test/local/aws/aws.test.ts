import {
  type Message,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs';
import { beforeEach, expect, test } from 'vitest';
import { queuesAndFilesForTests } from './for-tests.ts';

const { sqs, createQueue } = queuesAndFilesForTests();
let queue: { url: string; arn: string };
let queues = 0;

beforeEach(async () => {
  queue = await createQueue(`queue-${queues++}`);
});

const send = (body: string, attributes?: Record<string, MessageAttributeValue>, url = queue.url) =>
  sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: body, MessageAttributes: attributes }));

const receive = async (url = queue.url, waitTimeSeconds = 0): Promise<Message[]> => {
  const answer = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: url,
      MaxNumberOfMessages: 10,
      WaitTimeSeconds: waitTimeSeconds,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['All'],
    }),
  );
  return answer.Messages ?? [];
};

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    ({ name, code, $metadata }) => ($metadata?.httpStatusCode ? name : (code ?? name)) as string,
  );

test('moves a message to its dead-letter queue when it was received maxReceiveCount times, and names the source', async () => {
  const letters = await createQueue(`letters-${queues}`);
  const redrive = { deadLetterTargetArn: letters.arn, maxReceiveCount: 2 };
  await sqs.send(
    new SetQueueAttributesCommand({
      QueueUrl: queue.url,
      Attributes: { RedrivePolicy: JSON.stringify(redrive), VisibilityTimeout: '0' },
    }),
  );
  await send('poison', { keep: { DataType: 'String', StringValue: 'me' } });
  const [first] = await receive();
  const [second] = await receive();
  expect(first?.Attributes?.ApproximateReceiveCount).toBe('1');
  expect(second?.Attributes?.ApproximateReceiveCount).toBe('2');
  expect(await receive()).toEqual([]);
  const [letter] = await receive(letters.url);
  expect(letter).toMatchObject({ MessageId: first?.MessageId, Body: 'poison' });
  expect(letter?.MessageAttributes?.keep?.StringValue).toBe('me');
  expect(letter?.Attributes?.DeadLetterQueueSourceArn).toBe(queue.arn);
  await send('written, not redriven', undefined, letters.url);
  const [written] = await receive(letters.url);
  expect(written?.Attributes?.DeadLetterQueueSourceArn).toBeUndefined();
});

test.for([
  [
    '11 attributes',
    Object.fromEntries(
      Array.from({ length: 11 }, (_, n) => [`a${n}`, { DataType: 'String', StringValue: 'x' }]),
    ),
  ],
  ['an empty value', { empty: { DataType: 'String', StringValue: '' } }],
  ['an unknown type', { odd: { DataType: 'Text', StringValue: 'x' } }],
  ['a reserved name', { 'AWS.x': { DataType: 'String', StringValue: 'x' } }],
  ['a control character', { text: { DataType: 'String', StringValue: 'a\u0000b' } }],
  ['a number that is none', { count: { DataType: 'Number', StringValue: 'three' } }],
] as const)('refuses a message with %s, alone and within a batch', async ([, attributes]) => {
  expect(await codeOf(send('x', attributes))).toBe('InvalidParameterValue');
  const { Successful, Failed } = await sqs.send(
    new SendMessageBatchCommand({
      QueueUrl: queue.url,
      Entries: [
        { Id: 'bad', MessageBody: 'bad', MessageAttributes: attributes },
        { Id: 'good', MessageBody: 'good' },
      ],
    }),
  );
  expect(Successful?.map(({ Id }) => Id)).toEqual(['good']);
  expect(Failed).toEqual([expect.objectContaining({ Id: 'bad', Code: 'InvalidParameterValue' })]);
  expect((await receive()).map(({ Body }) => Body)).toEqual(['good']);
});

test('refuses a body with a control character or a lone surrogate', async () => {
  expect(await codeOf(send('a\u0001'))).toBe('InvalidMessageContents');
  expect(await codeOf(send('a\ud83c'))).toBe('InvalidMessageContents');
});
