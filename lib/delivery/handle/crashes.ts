import type { SQSRecord } from 'aws-lambda';
import type { LedgerMessage } from '../ledger/judge.ts';
import { type Delivery, waitedMs } from './sqs-delivery.ts';

/** In characters. A smaller message takes little memory, whatever it holds. */
const largeLength = 128 * 1024;

export const isLarge = ({ body }: SQSRecord): boolean =>
  typeof body === 'string' && body.length >= largeLength;

/**
 * Whether the function may crash on the message before it locks its resource, as when it parses the message. After a crash, SQS hides the
 * message for the whole visibility timeout; a message that comes back earlier only waited. So most messages that come again are not
 * suspected, and many messages that wait for the rate limiter cost nothing here.
 */
export const isSuspect = (record: SQSRecord, delivery: Delivery, visibilityMs: number): boolean => {
  const returns = delivery.attempts - 1;
  return isLarge(record) || (returns > 0 && waitedMs(delivery) >= 0.9 * visibilityMs * returns);
};

/** The receipt of such a message has a lock of its own in the ledger, which counts the crashes. */
export const receiptMessage = (
  functionName: string,
  { messageId }: SQSRecord,
  nowMs: number,
): LedgerMessage => ({
  resource: `receipt/${functionName}/${messageId}`,
  fields: ['whole'],
  version: messageId,
  timeMs: nowMs,
  messageId,
  replays: 0,
  decidedMs: undefined,
  repeatable: true,
  digests: {},
});
