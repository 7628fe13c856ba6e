import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { needsDecision } from '../../message/failure.ts';
import { priorityAttribute } from '../../message/message.ts';
import type { Priority } from '../../message/priority.ts';
import { nowhere, replaysIn } from '../letters/dead-letter.ts';

/** What SQS tells of a message beside its body. */
export type Delivery = {
  /** When the producer sent it to this queue. */
  sentMs: number;
  /** When SQS first handed it out: from then on it has waited, and not in a backlog. */
  firstMs: number;
  /** When this attempt began. */
  startedMs: number;
  /** How often SQS has handed it out, this time included. */
  attempts: number;
  /** How often it was sent back from the dead-letter queue. */
  replays: number;
};

/** Events made by hand, to try a function, may lack what SQS always tells. */
export const deliveryOf = (record: SQSRecord, nowMs: number): Delivery => ({
  sentMs: timeIn(record.attributes?.SentTimestamp) || nowMs,
  firstMs: timeIn(record.attributes?.ApproximateFirstReceiveTimestamp) || nowMs,
  startedMs: nowMs,
  attempts: attemptsOf(record),
  replays: toldReplays(record) + (isRedriven(record) ? 1 : 0),
});

const toldReplays = ({ messageAttributes }: SQSRecord): number =>
  replaysIn(messageAttributes?.replays?.stringValue);

/**
 * Whether it is a letter that somebody has sent back by SQS' own redrive: what our replays take off it is still beside it. It counts
 * as a replay, and its producer could say as much; nothing else that it tells is believed.
 */
const isRedriven = ({ messageAttributes }: SQSRecord): boolean =>
  messageAttributes?.letterId !== undefined || messageAttributes?.failure !== undefined;

/**
 * Where the message lies that such a letter only points to: its body is none, and it must not become a letter that points nowhere. No
 * function may read there; only its own part of the bucket counts, as a producer could say as much.
 */
export const wholeOf = (record: SQSRecord, functionName: string): string | undefined => {
  const whole = record.messageAttributes?.whole?.stringValue ?? '';
  const isOurs = whole === nowhere || whole.includes(`/letters/${functionName}/`);
  return isRedriven(record) && isOurs ? whole : undefined;
};

/** Replays are many, and late already. */
export const priorityOf = (
  { messageAttributes }: SQSRecord,
  delivery: Delivery,
  declared: Priority = 'normal',
): Priority =>
  delivery.replays > 0 || messageAttributes?.[priorityAttribute]?.stringValue === 'bulk' ? 'bulk' : declared;

/** How often SQS has handed it out, this time included. */
export const attemptsOf = ({ attributes }: SQSRecord): number =>
  numberIn(attributes?.ApproximateReceiveCount) || 1;

/** For how long it has waited since its first receipt. */
export const waitedMs = ({ startedMs, firstMs }: Delivery): number => startedMs - firstMs;

/** For how long it has been on its queue. */
export const ageMs = ({ startedMs, sentMs }: Delivery): number => startedMs - sentMs;

/** In milliseconds; none where nothing usable is told. */
const timeIn = (told: unknown): number => new Date(numberIn(told)).getTime();

/**
 * Whether whoever replays it has looked for what it should have done, and found nothing: the letters of that kind say so. A
 * producer's attribute of that name does not, without a replay; nor does a letter that came back without a look at what it says.
 */
export const isDecided = (record: SQSRecord): boolean =>
  needsDecision(record.messageAttributes?.kind?.stringValue) &&
  toldReplays(record) > 0 &&
  !isRedriven(record);

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
