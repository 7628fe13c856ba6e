import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { replaysIn } from './dead-letter.ts';

/** What SQS tells of a message beside its body. */
export type Story = {
  /** When the producer sent it to this queue. */
  sentMs: number;
  /** When this attempt began. */
  startedMs: number;
  /** How often SQS has handed it out, this time included. */
  attempts: number;
  /** How often it was replayed from the dead-letter queue. */
  replays: number;
};

/** Events made by hand, to try a function, may lack what SQS always tells. */
export const storyOf = (record: SQSRecord, nowMs: number): Story => ({
  sentMs: new Date(numberIn(record.attributes?.SentTimestamp)).getTime() || nowMs,
  startedMs: nowMs,
  attempts: numberIn(record.attributes?.ApproximateReceiveCount) || 1,
  replays: replaysIn(record.messageAttributes?.replays?.stringValue),
});

/** Of an object not even a number can be asked without an error, if it has a `toString` of its own. */
const numberIn = (told: unknown): number =>
  typeof told === 'string' || typeof told === 'number' ? Number(told) : Number.NaN;

/** The record's attributes as SQS takes them back: Lambda hands them over under other names, bytes as base64. */
export const attributesOf = (record: SQSRecord): Record<string, MessageAttributeValue> =>
  Object.fromEntries(
    Object.entries(record.messageAttributes ?? {}).flatMap(
      ([name, value]): [string, MessageAttributeValue][] => {
        const { dataType: DataType, stringValue, binaryValue } = value;
        if (stringValue) return [[name, { DataType, StringValue: stringValue }]];
        if (binaryValue) return [[name, { DataType, BinaryValue: Buffer.from(binaryValue, 'base64') }]];
        // SQS takes no attribute without a value: one such would keep the letter from being written for ever.
        return [];
      },
    ),
  );
