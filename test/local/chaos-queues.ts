import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { type DeadLetter, letterOf } from '../../lib/delivery/letters/dead-letter.ts';
import { waitLimitMs } from '../limits.ts';
import { type Kind, kinds } from './chaos-messages.ts';
import type { Stack } from './stack.ts';

export async function send(stack: Stack, kind: Kind, body: string): Promise<void> {
  const QueueUrl = stack.description.queues[kind];
  await stack.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: body }));
}

/** Until no more messages than these are on the queues, visible or not. @throws where none of them leaves any more. */
export async function untilLeft({ sqs, description }: Stack, most: number): Promise<void> {
  const AttributeNames = [
    'ApproximateNumberOfMessages',
    'ApproximateNumberOfMessagesNotVisible',
    'ApproximateNumberOfMessagesDelayed',
  ] as const;
  let fewest = Number.POSITIVE_INFINITY;
  let sinceMs = 0;
  for (let calm = 0; calm < 2; await sleep(250)) {
    const answers = await Promise.all(
      kinds.map((kind) =>
        sqs.send(
          new GetQueueAttributesCommand({
            QueueUrl: description.queues[kind],
            AttributeNames: [...AttributeNames],
          }),
        ),
      ),
    );
    const left = answers
      .flatMap(({ Attributes = {} }) => Object.values(Attributes))
      .reduce((sum, value) => sum + Number(value), 0);
    calm = left <= most ? calm + 1 : 0;
    if (left < fewest) [fewest, sinceMs] = [left, performance.now()];
    else if (performance.now() - sinceMs > waitLimitMs)
      throw new Error(`${left} messages are left, and none has come to its end for ${waitLimitMs / 1000} s`);
  }
}

export async function takeLetters({ sqs, description }: Stack): Promise<DeadLetter[]> {
  const QueueUrl = description.deadLetters;
  const found: DeadLetter[] = [];
  for (let empty = 0; empty < 2; ) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, MessageAttributeNames: ['All'] }),
    );
    empty = Messages.length === 0 ? empty + 1 : 0;
    for (const message of Messages) {
      found.push(letterOf(message));
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }));
    }
  }
  return found;
}

/** As `sis-relay letters replay` does. */
export async function replay({ sqs, description }: Stack, letter: DeadLetter): Promise<void> {
  await sqs.send(
    new SendMessageCommand({
      QueueUrl: description.queues[kindOf(letter)],
      MessageBody: letter.body,
      MessageAttributes: {
        replays: { DataType: 'Number', StringValue: `${letter.replays + 1}` },
        kind: { DataType: 'String', StringValue: letter.failure?.kind ?? 'none' },
      },
    }),
  );
}

export const idOf = ({ body }: DeadLetter): string => JSON.parse(body).id;
export const kindOf = ({ body }: DeadLetter): Kind => JSON.parse(body).type.split('.')[1];
