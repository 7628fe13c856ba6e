import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchResultErrorEntry, SQSClient } from '@aws-sdk/client-sqs';
import { errorWord, type SafeText, safe } from '../../message/safe-text.ts';
import { bytesOf, maxBytes, type OutgoingMessage } from '../../message/sqs-limits.ts';
import { type ClientOptions, lazyAwsClient } from './clients.ts';
import { errorName } from './error.ts';
import { inParallel } from './parallel.ts';

export const sqsClient = (options: ClientOptions) =>
  lazyAwsClient(async () => (await import('@aws-sdk/client-sqs')).SQSClient, options);

export type Queue = { sqs: SQSClient; url: string };

/** Why an entry was not done, by its index in the input; any other was done. */
export type Failures = Map<number, SafeText>;

/** SQS' limit for one batch call. */
export const maxEntries = 10;

/** The result of a send, by indexes in the input. */
export type SendResult = {
  failures: Failures;
  /** SQS' ids; undefined: it did not accept the message. */
  messageIds: (string | undefined)[];
  /** Why a whole call got no answer, or was refused; of several, one. */
  error?: unknown;
};

export const sendAll = async (
  { sqs, url }: Queue,
  messages: OutgoingMessage[],
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<SendResult> => {
  const { SendMessageBatchCommand } = await import('@aws-sdk/client-sqs');
  const messageIds: SendResult['messageIds'] = messages.map(() => undefined);
  let thrown: unknown;
  const failures = await inBatches(messages, async (batch, places) => {
    const Entries = batch.map(({ body, attributes }, at) => ({
      Id: String(at),
      MessageBody: body,
      MessageAttributes: attributes,
    }));
    const command = new SendMessageBatchCommand({ QueueUrl: url, Entries });
    const answer = await sqs.send(command, signal && { abortSignal: signal }).catch((error: unknown) => {
      thrown = error;
      throw error;
    });
    for (const { Id, MessageId } of answer.Successful ?? []) {
      const place = places[Number(Id)];
      if (place !== undefined) messageIds[place] = MessageId;
    }
    return answer.Failed;
  });
  return { failures, messageIds, error: thrown };
};

export const deleteAll = async ({ sqs, url }: Queue, receiptHandles: string[]): Promise<Failures> => {
  const { DeleteMessageBatchCommand } = await import('@aws-sdk/client-sqs');
  return inBatches(receiptHandles, async (batch) => {
    const Entries = batch.map((ReceiptHandle, at) => ({ Id: String(at), ReceiptHandle }));
    return (await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: url, Entries }))).Failed;
  });
};

/** Delivers messages again after this many seconds; 0: at once. */
export const hideAll = (queue: Queue, receiptHandles: string[], seconds: number): Promise<Failures> =>
  inBatches(receiptHandles, (batch) =>
    hide(
      queue,
      batch.map((receiptHandle) => ({ receiptHandle, seconds })),
    ),
  );

/** Delivers the messages of one batch call again, each after its own time; returns the entries that failed. */
export const hide = async (
  { sqs, url }: Queue,
  messages: readonly { receiptHandle: string; seconds: number }[],
): Promise<BatchResultErrorEntry[]> => {
  const { ChangeMessageVisibilityBatchCommand } = await import('@aws-sdk/client-sqs');
  const Entries = messages.map(({ receiptHandle, seconds }, at) => ({
    Id: String(at),
    ReceiptHandle: receiptHandle,
    VisibilityTimeout: seconds,
  }));
  const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl: url, Entries });
  return (await sqs.send(command)).Failed ?? [];
};

const attempts = 3;
/** Number of concurrent batch calls. */
const maxCalls = 8;
/** After this many consecutive calls without an answer, no more are made: the SDK has tried each of them several times. */
const maxUnanswered = 16;

/** `places`: the indexes of the batch's items. */
type Call<Item> = (batch: Item[], places: number[]) => Promise<BatchResultErrorEntry[] | undefined>;

/** A batch call succeeds as a whole even if single entries failed: only those are sent again, a few times. */
const inBatches = async <Item>(items: Item[], call: Call<Item>): Promise<Failures> => {
  const failures: Failures = new Map();
  let unanswered = 0;
  let lastError: unknown;
  const failedOf = async (places: number[]): Promise<BatchResultErrorEntry[]> => {
    try {
      if (unanswered >= maxUnanswered) throw lastError;
      const batch = places.map((place) => items[place] as Item);
      const failed = await call(batch, places);
      unanswered = 0;
      return failed ?? [];
    } catch (error) {
      unanswered += 1;
      lastError = error;
      // The SDK has tried again already. Whether the call had its effect is not known; its entries count as not done.
      return places.map((_, at) => ({ Id: String(at), Code: errorName(error), SenderFault: true }));
    }
  };
  const work = async (batch: number[]): Promise<void> => {
    let left = batch;
    for (let attempt = 1; left.length > 0; attempt += 1) {
      const asked = left;
      left = [];
      for (const { Id, Code, SenderFault } of await failedOf(asked)) {
        const place = asked[Number(Id)];
        if (place === undefined) continue;
        if (SenderFault || attempt === attempts) failures.set(place, errorWord(Code) ?? safe`unknown`);
        else left.push(place);
      }
      if (left.length > 0) await sleep(100 * attempt ** 2);
    }
  };
  await inParallel(batchesOf(items), work, maxCalls);
  return failures;
};

/** The indexes of items, in SQS' largest batches. */
const batchesOf = (items: unknown[]): number[][] => {
  const batches: number[][] = [];
  let bytes = 0;
  for (const [place, item] of items.entries()) {
    const size =
      typeof item === 'object' && item !== null && 'body' in item ? bytesOf(item as OutgoingMessage) : 0;
    let batch = batches.at(-1);
    if (batch === undefined || batch.length === maxEntries || bytes + size > maxBytes) {
      batch = [];
      batches.push(batch);
      bytes = 0;
    }
    batch.push(place);
    bytes += size;
  }
  return batches;
};
