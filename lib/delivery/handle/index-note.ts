import { withoutFileNames } from '../../runtime/privacy/file-name.ts';
import { indexedIn } from '../letters/letter-attributes.ts';
import type { ReceiptOutcome } from '../letters/letter-index-writer.ts';
import type { ReceivedRecord, RecordOutcome } from './attempt.ts';
import type { Integration } from './integration.ts';
import { resourceIn } from './ledger-message.ts';
import { attributesOf } from './sqs-delivery.ts';

type FinalOutcome = Exclude<RecordOutcome, { outcome: 'isolate' }>;

/**
 * The record that operators see of a message. Undefined for a message that ends with its first receipt, unless its sender asks, so
 * that a success costs nothing here. A letter is recorded before it is written.
 */
export const indexNoteOf = <Data>(
  integration: Integration<Data>,
  { record, delivery }: ReceivedRecord,
  result: FinalOutcome,
): ReceiptOutcome | undefined => {
  const { outcome } = result;
  const { messageAttributes = {}, messageId, receiptHandle, body } = record;
  const isAsked = messageAttributes.receipt !== undefined;
  const { attempts, replays, firstMs, startedMs } = delivery;
  if (outcome === 'parked' || (outcome !== 'waiting' && attempts === 1 && !isAsked)) return undefined;
  const waits = outcome === 'waiting' ? result : undefined;
  const { failure, deferral, seconds = 0, reason = '' } = waits ?? {};
  const { call, status } = result.calls.at(-1) ?? {};
  return {
    message: messageId,
    outcome,
    isAsked,
    attempts,
    replays,
    firstMs,
    // A message that waits for the rate limiter blocks nothing.
    kind: failure?.kind ?? (deferral === 'pace' || deferral === 'no-time' ? undefined : deferral),
    reason: withoutFileNames(reason),
    remedy: failure?.remedy,
    status: failure?.status ?? status,
    operation: failure?.operation ?? call,
    waits: waits && { nextMs: startedMs + seconds * 1000, handle: receiptHandle },
    copyOf: outcome === 'duplicate' ? result.of : undefined,
    eventId: result.eventId,
    resource: () => resourceIn(integration, body, { nowMs: startedMs, ids: result.ids }),
    ids: result.ids,
    body,
    ...indexedIn(attributesOf(record)),
  };
};
