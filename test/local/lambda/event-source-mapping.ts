import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteMessageBatchCommand,
  type Message,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSEvent, SQSMessageAttribute, SQSRecord, SQSRecordAttributes } from 'aws-lambda';
import type { InvokeResult } from './lambda.ts';

type QueueMapping = {
  sqs: SQSClient;
  queueUrl: string;
  queueArn: string;
  batchSize: number;
  /** Each takes one batch at a time: the number is the maximum concurrency. */
  pollers: number;
  invoke(event: SQSEvent): Promise<InvokeResult>;
  /** What went wrong between queue and function; on standard error if nobody asks. No message is lost by it. */
  onError?(error: Error): void;
};

/** SQS hands out at most so many messages at once, and deletes as many. */
const maxOfSqs = 10;
/** Before a queue that could not be read is asked again. */
const pauseMs = 200;

/** Brings a queue's messages to a function, and takes those away that it is done with, as Lambda does for SQS. */
export function mapQueue(mapping: QueueMapping): { stop(): Promise<void> } {
  const { batchSize, onError = (error) => console.error(error) } = mapping;
  let isOver = false;
  /** Until nothing is waiting, or an event is full: Lambda would wait for more, up to its batching window. */
  const batch = async (): Promise<Message[]> => {
    // A poll that is broken off takes the messages along that it was about to bring, so stop waits for it: keep it short.
    const all = await receive(mapping, { most: batchSize, waitSeconds: 1 });
    for (let more = all; more.length === maxOfSqs && all.length < batchSize; all.push(...more))
      more = await receive(mapping, { most: batchSize - all.length }).catch((error) => {
        onError(error);
        return [];
      });
    return all;
  };
  const poll = async (): Promise<void> => {
    while (!isOver) {
      const messages = await batch().catch(async (error) => {
        onError(error);
        await sleep(pauseMs);
        return [];
      });
      if (messages.length > 0) await settle(mapping, messages).catch(onError);
    }
  };
  const polls = Array.from({ length: mapping.pollers }, poll);
  return {
    /** Done when the batches in flight are. */
    async stop() {
      isOver = true;
      await Promise.all(polls);
    },
  };
}

/** Brings one batch of what waits now. Returns how many messages it had. */
export async function bringOnce(mapping: Omit<QueueMapping, 'pollers' | 'onError'>): Promise<number> {
  const messages = await receive({ ...mapping, pollers: 1 }, { most: mapping.batchSize });
  if (messages.length > 0) await settle({ ...mapping, pollers: 1 }, messages);
  return messages.length;
}

async function receive(
  { sqs, queueUrl: QueueUrl }: QueueMapping,
  { most, waitSeconds = 0 }: { most: number; waitSeconds?: number },
): Promise<Message[]> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl,
      MaxNumberOfMessages: Math.min(maxOfSqs, most),
      WaitTimeSeconds: waitSeconds,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['All'],
    }),
  );
  return Messages;
}

async function settle(mapping: QueueMapping, messages: Message[]) {
  // As on AWS, no handler begins in the millisecond of the receipt: a stage whose messages wait for less than one parks each of them.
  await sleep(2);
  const records = messages.map((message) => recordOf(message, mapping.queueArn));
  const result = await mapping.invoke({ Records: records });
  if (!result.ok)
    throw new Error(`the function failed: ${result.error.errorType}: ${result.error.errorMessage}`);
  const failed = failedIds(result.payload, records);
  const done = records.filter(({ messageId }) => !failed.has(messageId));
  for (let at = 0; at < done.length; at += maxOfSqs) await remove(mapping, done.slice(at, at + maxOfSqs));
}

/** An answer that does not say clearly what failed says that all did, as with Lambda. */
function failedIds(answer: unknown, records: SQSRecord[]): Set<string> {
  if (typeof answer !== 'object' || Array.isArray(answer)) throw invalid('it is not an object');
  const { batchItemFailures: failures } = (answer ?? {}) as { batchItemFailures?: unknown };
  if (failures === null || failures === undefined) return new Set();
  if (!Array.isArray(failures)) throw invalid('batchItemFailures is not an array');
  const known = new Set(records.map(({ messageId }) => messageId));
  const ids = failures.map((failure: { itemIdentifier?: string } | null) => failure?.itemIdentifier ?? '');
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) throw invalid(`itemIdentifier ${JSON.stringify(unknown)} is not in the batch`);
  return new Set(ids);
}

function invalid(reason: string) {
  return new Error(`the function's answer is invalid, so its whole batch failed: ${reason}`);
}

/** A message that stays is done again, so what could not be deleted is tried until it is hopeless. */
async function remove(mapping: QueueMapping, records: SQSRecord[], attempt = 1): Promise<void> {
  if (records.length === 0) return;
  const { sqs, queueUrl: QueueUrl } = mapping;
  const Entries = records.map(({ receiptHandle }, index) => ({
    Id: `${index}`,
    ReceiptHandle: receiptHandle,
  }));
  const everything = (error: Error) => ({ Failed: Entries.map(({ Id }) => ({ Id, Code: error.name })) });
  const { Failed = [] } = await sqs
    .send(new DeleteMessageBatchCommand({ QueueUrl, Entries }))
    .catch(everything);
  const left = Failed.flatMap(({ Id }) => records[Number(Id)] ?? []);
  if (left.length > 0 && attempt === maxDeleteAttempts) {
    const ids = left.map(({ messageId }) => messageId).join(', ');
    throw new Error(
      `messages that the function is done with could not be deleted (${Failed[0]?.Code}): ${ids}`,
    );
  }
  if (left.length > 0) await sleep(50 * 2 ** attempt);
  await remove(mapping, left, attempt + 1);
}

const maxDeleteAttempts = 5;

function recordOf(message: Message, queueArn: string): SQSRecord {
  const { MessageAttributes = {}, MD5OfMessageAttributes: md5OfMessageAttributes } = message;
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    attributes: { ...message.Attributes } as unknown as SQSRecordAttributes,
    messageAttributes: Object.fromEntries(
      Object.entries(MessageAttributes).map(([name, value]) => [name, attributeOf(value)]),
    ),
    md5OfBody: message.MD5OfBody ?? '',
    ...(md5OfMessageAttributes === undefined ? {} : { md5OfMessageAttributes }),
    eventSource: 'aws:sqs',
    eventSourceARN: queueArn,
    awsRegion: queueArn.split(':')[3] ?? '',
  };
}

function attributeOf({
  DataType = '',
  StringValue,
  BinaryValue,
}: MessageAttributeValue): SQSMessageAttribute {
  return {
    ...(StringValue === undefined ? {} : { stringValue: StringValue }),
    ...(BinaryValue === undefined ? {} : { binaryValue: Buffer.from(BinaryValue).toString('base64') }),
    stringListValues: [],
    binaryListValues: [],
    dataType: DataType,
  };
}
