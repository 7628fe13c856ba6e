import { patientReceipts, waitSeconds } from '../../message/backoff.ts';
import { type Failure, MessageFailure } from '../../message/failure.ts';
import { isRetried } from '../../message/failure-kinds.ts';
import { needsNobody } from '../../message/network-errors.ts';
import { type SafeText, safe } from '../../message/safe-text.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { type WaitReason, waitReasons } from './reasons.ts';
import type { Limits } from './services.ts';
import { ageMs, type Delivery, waitedMs } from './sqs-delivery.ts';

/** What an attempt found out about its message. */
export type AttemptFinding =
  /** `reason`: worth logging. */
  | { kind: 'done'; reason?: SafeText | undefined }
  | { kind: 'superseded' }
  /** `of`: SQS' id of the message that this one is a copy of. */
  | { kind: 'duplicate'; of: string | undefined }
  /**
   * The function crashed on this message or one beside it, or may crash: nothing was done. Try again when no other message of the batch
   * is being processed.
   */
  | { kind: 'isolate'; crashes: number }
  /** `seconds`: the longest possible wait. */
  | { kind: 'wait'; why: WaitReason; seconds: number }
  | {
      kind: 'fail';
      failure: Failure;
      /** Its call got no answer and must not be sent twice: look for its effect when the platform has had time to finish. */
      lookUpSeconds?: number | undefined;
      /** The outcome of the message is not recorded: the message must come back, and not become a letter. */
      isUnrecorded?: boolean;
    };

/** A message that is not done comes back after this many seconds, or becomes a letter. */
export type NotDone =
  | { outcome: 'waiting'; seconds: number; reason: SafeText; failure?: Failure; deferral?: WaitReason }
  | { outcome: 'parked'; failure: Failure };

export type AttemptOutcome =
  | { outcome: 'done'; reason?: SafeText | undefined }
  | { outcome: 'superseded' }
  | { outcome: 'duplicate'; of: string | undefined }
  | { outcome: 'isolate'; crashes: number }
  | NotDone;

export const waitOrPark = (decision: AttemptFinding, delivery: Delivery, limits: Limits): AttemptOutcome => {
  switch (decision.kind) {
    case 'wait':
      return afterDeferral(decision, delivery, limits);
    case 'fail':
      return afterFailure(decision, delivery, limits);
    default: {
      const { kind: outcome, ...rest } = decision;
      return { outcome, ...rest } as AttemptOutcome;
    }
  }
};

/** It is parked only before its queue would delete it, or would hand out nothing. */
const afterDeferral = (
  { why, seconds }: Extract<AttemptFinding, { kind: 'wait' }>,
  delivery: Delivery,
  limits: Limits,
): NotDone => {
  const { kind, reason, remedy } = waitReasons[why];
  // A day's backlog takes turns, too. A lack of room on the platform is no failure, and no reason for a letter.
  const isOver = why === 'pace' ? isOld(delivery) : !isPatient(delivery, limits);
  if (isOver && delivery.attempts > patientReceipts) {
    const failure = failureOf(new MessageFailure(kind, reason, { remedy }));
    return afterFailure({ kind: 'fail', failure }, delivery, limits);
  }
  const waiting = { outcome: 'waiting' as const, reason, deferral: why };
  if (why === 'no-time' || why === 'pace') return { ...waiting, seconds: backoff(delivery, limits, seconds) };
  // The attempt that it waits for may end at any time, and most attempts end within a second.
  const soon = why === 'busy' ? 2 ** delivery.attempts : Number.POSITIVE_INFINITY;
  const shortest = Math.min(seconds, soon, backoff(delivery, limits));
  if (!isTooMuch(shortest, limits)) return { ...waiting, seconds: shortest };
  // Nobody has to decide anything: the message that it waits for may also end while this one is a letter.
  const failure = failureOf(new MessageFailure('unavailable', reason));
  return { outcome: 'parked', failure: insteadOfWaiting(failure, inCrowd) };
};

/** Shorter waits fill no queue: 80,000 messages a minute would have to begin one. */
const longestInCrowdSeconds = 60;

/** Whether the queue has no room for so long a wait. */
const isTooMuch = (seconds: number, { isCrowded }: Limits): boolean =>
  seconds > longestInCrowdSeconds && isCrowded?.() === true;

const inCrowd =
  'So many messages of this function wait that its queue could soon hand out no others: this one became a letter instead.';

const afterFailure = (
  { failure, lookUpSeconds, isUnrecorded = false }: Extract<AttemptFinding, { kind: 'fail' }>,
  delivery: Delivery,
  limits: Limits,
): NotDone => {
  const seconds = backoff(delivery, limits, lookUpSeconds ?? spreadOut(failure, limits));
  if (isUnrecorded) return waitAfter(failure, seconds);
  const healsByWaiting = isRetried(failure.kind);
  // A look-up comes soon, and saves a person from looking.
  if (healsByWaiting && lookUpSeconds === undefined && isTooMuch(seconds, limits))
    return { outcome: 'parked', failure: insteadOfWaiting(failure, inCrowd) };
  if ((healsByWaiting || lookUpSeconds !== undefined) && isPatient(delivery, patience(failure, limits)))
    return waitAfter(failure, seconds);
  return {
    outcome: 'parked',
    failure: healsByWaiting ? insteadOfWaiting(failure, longWait(delivery)) : failure,
  };
};

/** Messages that were refused together must not come back together. */
const spreadOut = ({ kind, retryAfterSeconds }: Failure, { backoff: { random = Math.random } }: Limits) =>
  kind === 'throttled' && retryAfterSeconds !== undefined
    ? retryAfterSeconds + random() * Math.min(60, Math.max(10, retryAfterSeconds))
    : retryAfterSeconds;

/** For a message whose letter could not be written: it must stay on the queue. */
export const afterUnwrittenLetter = (
  { failure, unwritten }: { failure: Failure; unwritten: unknown },
  delivery: Delivery,
  limits: Limits,
): NotDone => {
  const { kind, message, remedy } = failureOf(unwritten);
  const text = safe`No letter could be written for this failure: ${failure.message}. ${message}`;
  // Not the platform's Retry-After: SQS must deliver it often enough to move it before it deletes it.
  return waitAfter({ ...failure, kind, remedy, message: text }, backoff(delivery, limits));
};

const waitAfter = (failure: Failure, seconds: number): NotDone => ({
  outcome: 'waiting',
  seconds,
  failure,
  reason: failure.message,
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

const longWait = (delivery: Delivery): string => `The message waited for ${waitedText(waitedMs(delivery))}.`;

const waitedText = (ms: number): string =>
  ms < 3_600_000 ? `${Math.ceil(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;

/** A message that no longer waits needs a person, so a remedy that only says to wait no longer helps. */
const insteadOfWaiting = (failure: Failure, why: string): Failure => {
  const { kind, message, status } = failure;
  const isAlone = needsNobody({ kind, error: message });
  const person = isAlone ? '' : `${failure.remedy} `;
  const then =
    isAlone && status !== undefined
      ? 'When the platform answers again, replay this letter, or leave it to the schedule.'
      : 'When the cause is gone, replay this letter.';
  return { ...failure, remedy: `${person}${why} ${then}` };
};
