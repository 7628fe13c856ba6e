import type { SQSRecord } from 'aws-lambda';
import { type DeadLetter, letterOf, sqsMessageOf } from '../../lib/delivery/letters/dead-letter.ts';
import type { Stage } from './stage.ts';

/** What lies on the queue under an id of its own: a message, the same message once more, or a replay. */
export type Copy = {
  messageId: string;
  message: number;
  body: string;
  replays: number;
  /** Of the letter that it was. */
  kind: string | undefined;
  /** Of a letter that SQS sent back as it is. */
  attributes?: SQSRecord['messageAttributes'];
  sentMs: number;
  /** When it was received for the first time. */
  firstMs?: number;
  /** When SQS handed it out although it was in flight, or deleted. */
  againMs: number[];
  receives: number;
  visibleMs: number;
  gone: boolean;
  /** The function is done with it, and SQS has not heard of it yet. */
  answered: boolean;
};

export type Letter = DeadLetter & { message: number };

export const visibilityMs = 360_000;

/** SQS: the queue of the messages, and that of the letters. */
export function createQueueModel(stage: Stage) {
  const copies: Copy[] = [];
  const letters: Letter[] = [];
  /** Every letter that was ever written. */
  const written: Letter[] = [];

  return {
    copies,
    letters,
    written,

    send(message: number, body: string, { replays = 0, ...more }: Partial<Copy> = {}) {
      const nowMs = stage.nowMs();
      copies.push({
        messageId: `copy ${copies.length}`,
        message,
        body,
        replays,
        kind: undefined,
        ...more,
        sentMs: nowMs,
        receives: 0,
        againMs: [],
        visibleMs: nowMs,
        gone: false,
        answered: false,
      });
    },

    receive(copy: Copy): SQSRecord {
      copy.gone = false;
      copy.receives += 1;
      copy.firstMs ??= stage.nowMs();
      copy.visibleMs = stage.nowMs() + visibilityMs;
      const replays = { dataType: 'Number', stringValue: `${copy.replays}` };
      const kind = { dataType: 'String', stringValue: copy.kind ?? '' };
      return {
        messageId: copy.messageId,
        receiptHandle: copy.messageId,
        body: copy.body,
        attributes: {
          ApproximateReceiveCount: `${copy.receives}`,
          SentTimestamp: `${copy.sentMs}`,
          SenderId: 'sis',
          ApproximateFirstReceiveTimestamp: `${copy.firstMs}`,
        },
        messageAttributes: copy.attributes ?? (copy.kind ? { replays, kind } : {}),
        md5OfBody: '',
        eventSource: 'aws:sqs',
        eventSourceARN: 'arn:aws:sqs:eu-west-1:000000000000:queue',
        awsRegion: 'eu-west-1',
      };
    },

    delay(messageId: string, seconds: number) {
      const copy = copies.find((each) => each.messageId === messageId);
      if (copy) copy.visibleMs = stage.nowMs() + seconds * 1000;
    },

    /** As SQS itself does it. */
    redrive(letter: Letter) {
      letters.splice(letters.indexOf(letter), 1);
      const { MessageBody, MessageAttributes } = sqsMessageOf(letter);
      const attributes = Object.fromEntries(
        Object.entries(MessageAttributes).map(([name, { DataType: dataType = '', StringValue }]) => [
          name,
          { dataType, ...(StringValue !== undefined && { stringValue: StringValue }) },
        ]),
      );
      this.send(letter.message, MessageBody, { replays: letter.replays + 1, attributes });
    },

    /** As it is written, and read again. */
    park(message: number, letter: DeadLetter) {
      const { MessageBody, MessageAttributes } = sqsMessageOf(letter);
      const read = { ...letterOf({ Body: MessageBody, MessageAttributes }), message };
      letters.push(read);
      written.push(read);
    },
  };
}
