import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';

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

export const storyOf = (record: SQSRecord, nowMs: number): Story => ({
  sentMs: Number(record.attributes.SentTimestamp) || nowMs,
  startedMs: nowMs,
  attempts: Number(record.attributes.ApproximateReceiveCount) || 1,
  replays: Number(record.messageAttributes.replays?.stringValue) || 0,
});

/** The record's attributes as SQS takes them back: Lambda hands them over under other names, bytes as base64. */
export const attributesOf = (record: SQSRecord): Record<string, MessageAttributeValue> =>
  Object.fromEntries(
    Object.entries(record.messageAttributes).map(([name, { dataType, stringValue, binaryValue }]) => [
      name,
      {
        DataType: dataType,
        ...(stringValue === undefined || stringValue === null ? {} : { StringValue: stringValue }),
        ...(binaryValue ? { BinaryValue: Buffer.from(binaryValue, 'base64') } : {}),
      },
    ]),
  );
