import type { SQSRecord } from 'aws-lambda';
import { errorName } from '../../runtime/aws/error.ts';
import { type ItemTable, readItem, updateItem } from '../../runtime/aws/table-items.ts';
import { type Delivery, waitedMs } from './sqs-delivery.ts';

/**
 * Counts the receipts of a message that its function did not survive. The ledger counts only deaths after its claim, but a message
 * may kill the function while it is parsed.
 */
export type Deaths = {
  /** Undefined: no receipt of it was counted yet. @throws if the table cannot be read. */
  of(messageId: string): Promise<number | undefined>;
  /** Call this before the message is parsed. @throws if the table cannot be written. */
  begins(messageId: string): Promise<void>;
  /** Never throws: a failed write counts as one more death. */
  ended(messageId: string): Promise<void>;
};

type Options = ItemTable & { function: string; warn(text: string, facts: Record<string, string>): void };

/** Longer than SQS keeps a message. */
const keptSeconds = 15 * 24 * 3_600;

export const createDeaths = ({ function: name, warn, ...access }: Options): Deaths => {
  const keyOf = (messageId: string): string => `receipt/${name}/${messageId}`;
  const count = async (messageId: string, what: 'begun' | 'ended'): Promise<void> => {
    const expires = Math.floor(access.nowMs() / 1000) + keptSeconds;
    const abortSignal = AbortSignal.timeout(writingMs);
    await updateItem({ ...access, abortSignal }, keyOf(messageId), { set: { expires }, add: { [what]: 1 } });
  };
  return {
    of: async (messageId) => {
      const item = await readItem(access, keyOf(messageId));
      return item && Number(item.begun ?? 0) - Number(item.ended ?? 0);
    },
    begins: (messageId) => count(messageId, 'begun'),
    ended: (messageId) =>
      count(messageId, 'ended').catch((error: unknown) =>
        warn('the end of a receipt could not be recorded; it counts as a death of the function', {
          messageId,
          error: errorName(error),
        }),
      ),
  };
};

const writingMs = 3_000;

/** Number of times that the function may die on a message, or beside it. */
export const maxDeaths = 3;

/** In characters. A smaller message takes little memory, whatever it holds. */
const largeLength = 128 * 1024;

export const isLarge = ({ body }: SQSRecord): boolean =>
  typeof body === 'string' && body.length >= largeLength;

/**
 * Whether the function may die of the message. A receipt that never ended hides a message for the queue's whole visibility timeout,
 * and a message that waited has survived. So most messages that come again are not counted, and a flood that takes turns costs
 * nothing here.
 */
export const isSuspect = (record: SQSRecord, delivery: Delivery, visibilityMs: number): boolean => {
  const returns = delivery.attempts - 1;
  return isLarge(record) || (returns > 0 && waitedMs(delivery) >= 0.9 * visibilityMs * returns);
};
