import type { SQSRecord } from 'aws-lambda';
import type { Failure } from '../../message/failure.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { unread, withoutFields } from '../../runtime/privacy/letter-body.ts';
import type { Verdict } from '../ledger/ledger.ts';
import type { DeadLetter } from '../letters/dead-letter.ts';
import { attempt, type Invocation, type ReceivedRecord, type RecordOutcome, unsent } from './attempt.ts';
import { isLarge, isSuspect, receiptMessage } from './crashes.ts';
import { indexNoteOf } from './index-note.ts';
import type { Integration } from './integration.ts';
import { resourceIn } from './ledger-message.ts';
import { report } from './report.ts';
import { attributesOf, deliveryOf, storedAtOf } from './sqs-delivery.ts';
import { type AttemptFinding, afterUnwrittenLetter, waitOrPark } from './wait-or-park.ts';

/**
 * Brings one record to its outcome; never throws. A message that waits or must be isolated stays on its queue. Any other is
 * acknowledged; a parked one only after its letter was written.
 */
export const processRecord = async <Data>(
  integration: Integration<Data>,
  record: SQSRecord,
  invocation: Invocation,
): Promise<RecordOutcome> => {
  const { ledger, limits, nowMs } = invocation.services;
  const received = { record, delivery: deliveryOf(record, nowMs()) };
  const attemptAndFinish = async (): Promise<RecordOutcome> =>
    finishRecord(integration, received, {
      result: await attempt(integration, received, invocation),
      invocation,
    });
  if (ledger === undefined || !isSuspect(record, received.delivery, limits.visibilityMs))
    return attemptAndFinish();
  const finishUnparsed = (decision: AttemptFinding): Promise<RecordOutcome> => {
    const result = {
      ...waitOrPark(decision, received.delivery, limits),
      eventId: undefined,
      calls: [],
      turnMs: 0,
    };
    return finishRecord(integration, received, { result, invocation, isUnread: true });
  };
  // After all others.
  if (isLarge(record) && !invocation.isolated) return finishUnparsed({ kind: 'isolate', crashes: 0 });
  let verdict: Verdict;
  try {
    verdict = await ledger.take(receiptMessage(integration.name, record, nowMs()), {
      lockMs: limits.attemptTimeoutMs + limits.reserveMs,
      isolated: invocation.isolated,
    });
  } catch (error) {
    return finishUnparsed({ kind: 'fail', failure: failureOf(error), isUnrecorded: true });
  }
  // The receipt's entry did not exist at the first crash, so it does not count that crash; the entries of the other messages' resources do.
  if (verdict.kind === 'isolate') return finishUnparsed({ ...verdict, crashes: verdict.crashes + 1 });
  if (verdict.kind !== 'send') return finishUnparsed(unsent(verdict));
  const result = await attemptAndFinish();
  await ledger.settle(verdict, { ending: 'undone' });
  return result;
};

/** `isUnread`: the message must not be parsed, as that may have killed the function. */
type FinishOptions = { result: RecordOutcome; invocation: Invocation; isUnread?: boolean };

/** Writes the letter of a parked message, and reports the outcome. */
const finishRecord = async <Data>(
  integration: Integration<Data>,
  received: ReceivedRecord,
  { result: attempted, invocation: { services }, isUnread = false }: FinishOptions,
): Promise<RecordOutcome> => {
  const { record } = received;
  let result = attempted;
  if (result.outcome === 'parked') {
    const { failure, eventId, ids } = result;
    try {
      const letterFacts = {
        failure: ids ? { ...failure, ids } : failure,
        isValid: eventId !== undefined,
        isUnread,
        lastMs: services.nowMs(),
      };
      const letter = letterFor(integration, received, letterFacts);
      const resource = isUnread
        ? undefined
        : resourceIn(integration, record.body, { nowMs: received.delivery.startedMs, ids });
      await services.letterIndex?.recordLetter(
        record.messageId,
        isUnread ? { ...letter, body: '' } : letter,
        {
          resource,
        },
      );
      await services.queues.writeLetter(letter);
    } catch (unwritten) {
      const waiting = afterUnwrittenLetter({ failure, unwritten }, received.delivery, services.limits);
      result = { ...result, ...waiting };
    }
  }
  if (result.outcome !== 'isolate') {
    const asService = integration.actor === undefined;
    report(result, received, { services, asService, isUnread });
    const note = services.letterIndex && !isUnread && indexNoteOf(integration, received, result);
    if (note) services.letterIndex?.record(note);
  }
  return result;
};

const withheldRemedy =
  'This letter cannot be replayed. Find its producer by the id and the size in this letter. Have the message sent again in the form that the contract describes, then discard this letter. If the message contained a secret, rotate that secret.';

const letterFor = (
  { name, forbidden }: { name: string; forbidden?: readonly string[] },
  { record, delivery }: ReceivedRecord,
  {
    failure,
    isValid,
    isUnread,
    lastMs,
  }: { failure: Failure; isValid: boolean; isUnread: boolean; lastMs: number },
): DeadLetter => {
  const { body, fields, isWithheld } = isUnread
    ? unread(record.body, forbidden)
    : withoutFields(record.body, forbidden, isValid);
  const remedyIfMasked =
    fields.length === 0
      ? failure.remedy
      : `Rotate the secret that the message contained (${fields.join(', ')}). The queue held it in clear text; this letter does not. Have the producer send the message again without it, or edit and replay this letter.`;
  const remedy = isWithheld ? withheldRemedy : remedyIfMasked;
  const storedAt = storedAtOf(record, name);
  return {
    body,
    ...(storedAt !== undefined && { storedAt }),
    letterId: record.messageId,
    source: record.eventSourceARN,
    replays: delivery.replays,
    attributes: attributesOf(record),
    failure: {
      ...failure,
      remedy,
      function: name,
      attempts: delivery.attempts,
      firstAt: new Date(delivery.firstMs).toISOString(),
      lastAt: new Date(lastMs).toISOString(),
    },
  };
};
