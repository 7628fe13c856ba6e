import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { needsDecision } from '../../message/failure-kinds.ts';
import { priorityAttribute } from '../../message/message.ts';
import type { Priority } from '../../message/priority.ts';
import { notStored, replaysIn } from '../letters/dead-letter.ts';

/** The SQS metadata of a message. */
export type Delivery = {
  sentMs: number;
  /** When SQS first delivered it: it has waited since then, not counting its time in a backlog. */
  firstMs: number;
  startedMs: number;
  /** Number of receipts, including this one. */
  attempts: number;
  /** How often it was sent back from the dead-letter queue. */
  replays: number;
};

/** Events written by hand, to try a function, may lack attributes that SQS always sets. */
export const deliveryOf = (record: SQSRecord, nowMs: number): Delivery => ({
  sentMs: timeIn(record.attributes?.SentTimestamp) || nowMs,
  firstMs: timeIn(record.attributes?.ApproximateFirstReceiveTimestamp) || nowMs,
  startedMs: nowMs,
  attempts: receiveCountOf(record),
  replays: recordedReplays(record) + (isRedriven(record) ? 1 : 0),
});

const recordedReplays = ({ messageAttributes }: SQSRecord): number =>
  replaysIn(messageAttributes?.replays?.stringValue);

/**
 * Whether it is a letter that was sent back by SQS' own redrive: it still has the attributes that our replays remove. It counts as
 * a replay. A producer could set the same attributes, so nothing else in them is trusted.
 */
const isRedriven = ({ messageAttributes }: SQSRecord): boolean =>
  messageAttributes?.letterId !== undefined || messageAttributes?.failure !== undefined;

/**
 * Where the whole message lies if the letter only points to it: the letter's body is not the message, and must not become a letter
 * that points nowhere. No function may read there. Only its own part of the bucket counts, as a producer could set the attribute.
 */
export const storedAtOf = (record: SQSRecord, functionName: string): string | undefined => {
  const storedAt = record.messageAttributes?.whole?.stringValue ?? '';
  const isOurs = storedAt === notStored || storedAt.includes(`/letters/${functionName}/`);
  return isRedriven(record) && isOurs ? storedAt : undefined;
};

/** Replays are many, and already late. */
export const priorityOf = (
  { messageAttributes }: SQSRecord,
  delivery: Delivery,
  declared: Priority = 'normal',
): Priority =>
  delivery.replays > 0 || messageAttributes?.[priorityAttribute]?.stringValue === 'bulk' ? 'bulk' : declared;

/** Number of receipts, including this one. */
export const receiveCountOf = ({ attributes }: SQSRecord): number =>
  numberIn(attributes?.ApproximateReceiveCount) || 1;

/** Time since its first receipt. */
export const waitedMs = ({ startedMs, firstMs }: Delivery): number => startedMs - firstMs;

/** Time since it was sent to its queue. */
export const ageMs = ({ startedMs, sentMs }: Delivery): number => startedMs - sentMs;

/** In milliseconds; NaN if there is no usable value. */
const timeIn = (value: unknown): number => new Date(numberIn(value)).getTime();

/**
 * Whether the operator who replays it has looked for its effect and found none: the letters of that kind ask for this. A producer's
 * attribute of that name does not count without a replay, nor does a letter that SQS' redrive sent back.
 */
export const isDecided = (record: SQSRecord): boolean =>
  needsDecision(record.messageAttributes?.kind?.stringValue) &&
  recordedReplays(record) > 0 &&
  !isRedriven(record);

/** An object with its own `toString` could throw when it is converted to a number. */
const numberIn = (value: unknown): number =>
  typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN;

/** The record's attributes in the form that SQS accepts: Lambda passes them under other names, with bytes as base64. */
export const attributesOf = (record: SQSRecord): Record<string, MessageAttributeValue> =>
  Object.fromEntries(
    Object.entries(record.messageAttributes ?? {}).flatMap(
      ([name, value]): [string, MessageAttributeValue][] => {
        const { dataType: DataType, stringValue, binaryValue } = value;
        if (stringValue) return [[name, { DataType, StringValue: stringValue }]];
        if (binaryValue) return [[name, { DataType, BinaryValue: Buffer.from(binaryValue, 'base64') }]];
        // SQS refuses an attribute without a value: one such would keep the letter from ever being written.
        return [];
      },
    ),
  );
