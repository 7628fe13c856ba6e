import type { SQSRecord } from 'aws-lambda';
import type { DeadLetter } from '../dead-letter.ts';
import type { Failure } from '../failure.ts';
import type { Integration } from '../integration.ts';
import { withoutFields } from '../redaction/letter-body.ts';
import { attempt, type Invocation, type Received, type Settlement } from './attempt.ts';
import { deskNoteOf } from './desk-note.ts';
import { resourceIn } from './ledger-entry.ts';
import { report } from './report.ts';
import { attributesOf, deliveryOf } from './sqs-delivery.ts';
import { afterUnwrittenLetter } from './wait-or-park.ts';

/**
 * Brings one record to its outcome and never throws. A message that waits or is to be isolated must stay on its queue; any
 * other is acknowledged, where it is parked after its letter was written.
 */
export const settle = async <Data>(
  integration: Integration<Data>,
  record: SQSRecord,
  invocation: Invocation,
): Promise<Settlement> => {
  const { services } = invocation;
  const received = { record, delivery: deliveryOf(record, services.nowMs()) };
  let settlement = await attempt(integration, received, invocation);
  if (settlement.outcome === 'parked') {
    const { failure, eventId, ids } = settlement;
    try {
      const about = {
        failure: ids ? { ...failure, ids } : failure,
        isValid: eventId !== undefined,
        lastMs: services.nowMs(),
      };
      const letter = letterFor(integration, received, about);
      await services.desk?.parks(record.messageId, letter, {
        resource: resourceIn(integration, record.body, { nowMs: received.delivery.startedMs, ids }),
      });
      await services.queues.park(letter);
    } catch (unwritten) {
      const waiting = afterUnwrittenLetter({ failure, unwritten }, received.delivery, services.limits);
      settlement = { ...settlement, ...waiting };
    }
  }
  if (settlement.outcome !== 'isolate') {
    report(settlement, received, { services, asService: integration.actor === undefined });
    const note = services.desk && deskNoteOf(integration, received, settlement);
    if (note) services.desk?.heard(note);
  }
  return settlement;
};

const withheldRemedy =
  'Find its producer by the id and the size that this letter tells, have the message sent again in the form that the contract describes, then discard this letter: it cannot be replayed. If the message contained a secret, rotate that.';

const letterFor = (
  { name, forbidden }: { name: string; forbidden?: readonly string[] },
  { record, delivery }: Received,
  { failure, isValid, lastMs }: { failure: Failure; isValid: boolean; lastMs: number },
): DeadLetter => {
  const { body, fields, isWithheld } = withoutFields(record.body, forbidden, isValid);
  const masked =
    fields.length === 0
      ? failure.remedy
      : `Rotate the secret that it contained (${fields.join(', ')}): its queue held it in clear text, and this letter does not. Have the producer send the message again without it, or edit and replay this letter.`;
  const remedy = isWithheld ? withheldRemedy : masked;
  return {
    body,
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
