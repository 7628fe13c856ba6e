import { patientReceipts, waitSeconds } from '../../message/backoff.ts';
import {
  dispositions,
  type Failure,
  MessageFailure,
  needsPerson,
  responsible,
} from '../../message/failure.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import type { Limits } from './services.ts';
import { ageMs, type Delivery, waitedMs } from './sqs-delivery.ts';

/** A message that is not done comes back after this many seconds, or becomes a letter. */
export type NotDone =
  | { outcome: 'waiting'; seconds: number; reason: string; failure?: Failure; turn?: Turn['why'] }
  | { outcome: 'parked'; failure: Failure };

export type Failed = {
  failure: Failure;
  /** Its call got no answer and must not be sent twice: look for its effect when the platform has had time to finish. */
  lookUpSeconds?: number | undefined;
  /**
   * Its claim stands in the ledger. If the message does not come back as soon as its queue would deliver it, it is presumed done:
   * so it must not be hidden for longer, nor become a letter.
   */
  claimed?: boolean;
};

export const afterFailure = (
  { failure, lookUpSeconds, claimed = false }: Failed,
  delivery: Delivery,
  limits: Limits,
): NotDone => {
  const seconds = backoff(delivery, limits, lookUpSeconds ?? spreadOut(failure, limits));
  if (claimed) return waitAfter(failure, Math.min(seconds, Math.floor(limits.visibilityMs / 1000)));
  const healsByWaiting = dispositions[failure.kind] === 'wait';
  if ((healsByWaiting || lookUpSeconds !== undefined) && isPatient(delivery, patience(failure, limits)))
    return waitAfter(failure, seconds);
  return { outcome: 'parked', failure: healsByWaiting ? afterLongWait(failure, delivery) : failure };
};

/** Messages that were refused together must not come back together. */
const spreadOut = ({ kind, retryAfterSeconds }: Failure, { backoff: { random = Math.random } }: Limits) =>
  kind === 'throttled' && retryAfterSeconds !== undefined
    ? retryAfterSeconds + random() * Math.min(60, Math.max(10, retryAfterSeconds))
    : retryAfterSeconds;

/** Why a message waits without a failure, and the text of its letter if its turn never comes. */
const turns = {
  'no-time': {
    kind: 'unavailable',
    reason: 'Too little time was left in this invocation. The next one handles the message',
    remedy: undefined,
  },
  pace: {
    kind: 'throttled',
    reason: 'Its turn to call the platform did not come in this invocation. The message comes back for it',
    remedy: undefined,
  },
  busy: {
    kind: 'unavailable',
    reason:
      'Another attempt on the same resource may still take effect. The message waits until that is over',
    remedy: undefined,
  },
  copy: {
    kind: 'unavailable',
    reason:
      'Another copy of this message left no outcome, and may come back. The message waits for that copy',
    remedy: undefined,
  },
  look: {
    kind: 'unavailable',
    reason: 'It must be looked up first whether something was created on the same resource',
    remedy: undefined,
  },
  stale: {
    kind: 'uncertain',
    reason:
      'The platform still shows what was there before the last change, and this message would write that back. It waits until the platform shows the change',
    remedy:
      'Compare what the platform holds with what was sent last about this resource. If a restore has set the platform back, send that again (`sis-relay reconcile resend`), or have the message sent with all its fields. Then replay this letter. The replay keeps what the platform then shows.',
  },
  newer: {
    kind: 'uncertain',
    reason:
      'A newer message about the same resource has no outcome yet. It supersedes this one only if it is done',
    remedy:
      'Find the newer message about the same resource (a letter, or on its queue) and settle it first. Then replay this letter: it is superseded if the newer one was done. If you want this message instead, check what the platform holds, replay this letter and discard the newer one.',
  },
} as const;

export type Turn = {
  why: keyof typeof turns;
  seconds: number;
  /** `seconds` is the longest possible wait: ask again soon, and later each time. */
  mayEndEarlier?: boolean;
};

/** For a message that waits for another to end: it is parked only before its queue would delete it. */
export const waitForTurn = (
  { why, seconds, mayEndEarlier = false }: Turn,
  delivery: Delivery,
  limits: Limits,
): NotDone => {
  const { reason } = turns[why];
  // A day's backlog takes turns, too. A lack of room on the platform is no failure, and no reason for a letter.
  const isOver = why === 'pace' ? isOld(delivery) : !isPatient(delivery, limits);
  if (isOver && delivery.attempts > patientReceipts)
    return afterFailure({ failure: failureOf(noTurn(why)) }, delivery, limits);
  if (mayEndEarlier || why === 'copy' || why === 'look')
    return { outcome: 'waiting', seconds: Math.min(seconds, backoff(delivery, limits)), reason, turn: why };
  // The outcome of the newer message may become known at any time.
  const asked = why === 'newer' ? Math.min(seconds, limits.backoff.maximumSeconds) : seconds;
  return { outcome: 'waiting', seconds: backoff(delivery, limits, asked), reason, turn: why };
};

export const noTurn = (why: keyof typeof turns): MessageFailure => {
  const { kind, reason, remedy } = turns[why];
  return new MessageFailure(kind, reason, { remedy });
};

/** For a message whose letter could not be written: it must stay on the queue. */
export const afterUnwrittenLetter = (
  { failure, unwritten }: { failure: Failure; unwritten: unknown },
  delivery: Delivery,
  limits: Limits,
): NotDone => {
  const { kind, message, remedy } = failureOf(unwritten);
  const text = `No letter could be written for this failure: ${failure.message}. ${message}`;
  // Not the platform's Retry-After: SQS must deliver it often enough to move it before it deletes it.
  return waitAfter({ ...failure, kind, remedy, message: text }, backoff(delivery, limits));
};

const waitAfter = (failure: Failure, seconds: number): NotDone => ({
  outcome: 'waiting',
  ...{ seconds, failure, reason: failure.message },
});

/** Also for a look-up: once a minute would exceed the queue's receipts in a day. */
const backoff = ({ attempts }: Delivery, limits: Limits, retryAfterSeconds?: number): number =>
  waitSeconds({ receiveCount: attempts, retryAfterSeconds }, limits.backoff);

/** SQS deletes a message after 14 days: one of this age becomes a letter, which SQS keeps for 14 more. */
const maxAgeMs = 13 * 24 * 3_600_000;

/** A message that waits for the next fill of the crosswalk waits less long: most such ids are wrong. */
const patience = ({ kind }: Failure, limits: Limits): Limits =>
  kind === 'unknown-id'
    ? { ...limits, maxWaitMs: Math.min(limits.maxWaitMs, limits.maxUnknownIdWaitMs) }
    : limits;

/** Counted from the first receipt: a day in the backlog is no failure. */
const isPatient = (delivery: Delivery, { maxWaitMs }: Limits): boolean =>
  waitedMs(delivery) < maxWaitMs && !isOld(delivery);

const isOld = (delivery: Delivery): boolean => ageMs(delivery) >= maxAgeMs;

/** What a waiting message would have done by itself now needs a person. A remedy that only says to wait is no more one. */
const afterLongWait = (failure: Failure, delivery: Delivery): Failure => {
  const { kind } = failure;
  const person = needsPerson(kind) || responsible[kind] !== 'schedule' ? `${failure.remedy} ` : '';
  const hours = Math.round(waitedMs(delivery) / 3_600_000);
  const remedy = `${person}The message waited for ${hours} h. When the cause is gone, replay this letter.`;
  return { ...failure, remedy };
};
