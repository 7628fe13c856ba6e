import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { type DeadLetter, letterOf } from '../../lib/delivery/letters/dead-letter.ts';
import { messageFor } from '../../lib/desk/messages/replay/send-and-delete.ts';
import { waitLimitMs } from '../limits.ts';
import type { Stack } from './stack.ts';

export async function send(
  { sqs, description }: Stack,
  name: string,
  { body, attributes }: { body: string; attributes?: ReturnType<typeof messageFor>['attributes'] },
): Promise<void> {
  const QueueUrl = description.queues[name];
  const message = { QueueUrl, MessageBody: body, MessageAttributes: attributes };
  await sqs.send(new SendMessageCommand(message));
}

/** As `sis-relay letters replay` does. */
export const replay = (stack: Stack, letter: DeadLetter): Promise<void> =>
  send(stack, JSON.parse(letter.body).type.split('.')[1], messageFor(letter));

/** How many messages all queues hold, visible or not. */
export async function messagesLeft({ sqs, description }: Stack): Promise<number> {
  const names = ['', 'NotVisible', 'Delayed'] as const;
  const AttributeNames = names.map((name) => `ApproximateNumberOfMessages${name}` as const);
  const answers = await Promise.all(
    Object.values(description.queues).map((QueueUrl) =>
      sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames })),
    ),
  );
  return answers
    .flatMap(({ Attributes = {} }) => Object.values(Attributes))
    .reduce((sum, value) => sum + Number(value), 0);
}

/** Until no more messages than these are on the queues, beside those that wait. @throws if no message leaves for a long time. */
export async function untilLeft(stack: Stack, most: number, waiting = () => 0): Promise<void> {
  let fewest = Number.POSITIVE_INFINITY;
  let sinceMs = 0;
  for (let calm = 0; calm < 2; await sleep(250)) {
    const left = (await messagesLeft(stack)) - waiting();
    calm = left <= most ? calm + 1 : 0;
    if (left < fewest) [fewest, sinceMs] = [left, performance.now()];
    else if (performance.now() - sinceMs > waitLimitMs)
      throw new Error(`${left} messages are left, and none has come to its end for ${waitLimitMs / 1000} s`);
  }
}

/** The bodies of what is on these queues, visible or not, by their names. */
export const bodiesOn = ({ queues }: Stack, ...names: string[]): string[] =>
  names.flatMap((name) => {
    const { ready, delayed, inflight } = queues.getQueueByName(name)?.inspectMessages() ?? none;
    return [...ready, ...delayed, ...inflight.map(({ message }) => message)].map(({ body }) => body);
  });
const none = { ready: [], delayed: [], inflight: [] };

/** Takes what lies on a queue that nobody polls. */
export async function takeAll({ sqs }: Stack, QueueUrl: string | undefined): Promise<Message[]> {
  const found: Message[] = [];
  for (let empty = 0; empty < 2; ) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, MessageAttributeNames: ['All'] }),
    );
    empty = Messages.length === 0 ? empty + 1 : 0;
    if (Messages.length === 0) continue;
    found.push(...Messages);
    // On a slow machine a message that is only hidden comes again within the test.
    const Entries = Messages.map(({ ReceiptHandle }, at) => ({ Id: `${at}`, ReceiptHandle }));
    await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
  }
  return found;
}

export const takeLetters = async (stack: Stack): Promise<DeadLetter[]> =>
  (await takeAll(stack, stack.description.deadLetters)).map(letterOf);
