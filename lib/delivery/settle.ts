import type { SQSRecord } from 'aws-lambda';
import type { DeadLetter } from '../dead-letter.ts';
import {
  dispositions,
  type Failure,
  failureOf,
  MessageFailure,
  needsPerson,
  type Outcome,
} from '../failure.ts';
import type { Integration } from '../integration.ts';
import { eventIdIn, parseMessage } from '../message.ts';
import type { CallReport } from '../platform/client.ts';
import { withoutFileNames } from '../redaction/file-name.ts';
import { withoutFields } from '../redaction/letter-body.ts';
import { type Attempt, attempt, type Failed, hasTime, noTime, type Waiting } from './attempt.ts';
import { patientReceipts, waitSeconds } from './backoff.ts';
import { attributesOf, isDecided, type Story, storyOf } from './delivery.ts';
import type { Delay } from './queues.ts';

/**
 * Brings one record to its outcome and never throws. What it gives back must stay on the queue, for so many seconds, or
 * be settled again in isolation.
 */
export const settle = async <Data>(
  integration: Integration<Data>,
  record: SQSRecord,
  around: Pick<Attempt, 'world' | 'batch' | 'isolated'>,
): Promise<Delay | { isolate: SQSRecord } | undefined> => {
  const { world } = around;
  const { observe, limits } = world;
  const story = storyOf(record, world.nowMs());
  const ageMs = story.startedMs - story.sentMs;
  // A day in the backlog is nobody's failure: patience begins with the first receipt.
  const hasWaitedMs = story.startedMs - story.firstMs;
  const isPatient = hasWaitedMs < limits.maxWaitMs && ageMs < maxAgeMs;
  const calls: CallReport[] = [];
  const notes: string[] = [];
  const opened: AbortController[] = [];

  let eventId: string | undefined;
  const report = (outcome: Outcome, why?: Failure | string, seconds?: number): void => {
    const failure = typeof why === 'object' ? why : undefined;
    const reason = typeof why === 'object' ? why.message : why;
    const told = reason && withoutFileNames(reason);
    const last = calls.at(-1);
    world.incidents?.heard({
      outcome,
      failure: failure && { ...failure, message: told ?? '' },
      calls,
      asService: integration.actor === undefined,
      again: story.attempts + story.replays > 1,
    });
    observe.message({
      outcome,
      messageId: record.messageId,
      // Of a message that is not valid, the producer still wants to know which it was.
      eventId: eventId ?? eventIdIn(record.body),
      kind: failure?.kind,
      reason: told,
      operation: failure?.operation ?? last?.call,
      status: failure?.status ?? last?.status,
      requestId: failure?.requestId,
      attempts: story.attempts,
      replays: story.replays,
      requests: calls.length,
      platformMs: Math.round(calls.reduce((sum, { durationMs }) => sum + durationMs, 0)),
      durationMs: world.nowMs() - story.startedMs,
      ageSeconds: Math.round(ageMs / 1000),
      waitedSeconds: Math.round(hasWaitedMs / 1000),
      waitSeconds: seconds,
    });
  };
  const wait = (seconds: number, why: Failure | string): Delay => {
    report('waiting', why, seconds);
    return { messageId: record.messageId, receiptHandle: record.receiptHandle, seconds };
  };
  const patiently = (retryAfterSeconds: number | undefined): number =>
    waitSeconds({ receiveCount: story.attempts, retryAfterSeconds }, limits.backoff);
  const fail = async ({ error, lookUpSeconds, claimed }: Failed): Promise<Delay | undefined> => {
    const failure = failureOf(error);
    if (failure.kind === 'defect')
      observe.error('a defect of sis-relay', { messageId: record.messageId }, error);
    // What is looked up each minute would be received more often in a day than its queue allows, too.
    const asked = patiently(lookUpSeconds ?? failure.retryAfterSeconds);
    const seconds = claimed ? Math.min(asked, Math.floor(limits.visibilityMs / 1000)) : asked;
    const waits = dispositions[failure.kind] === 'wait' || lookUpSeconds !== undefined;
    if (claimed || (waits && isPatient)) return wait(seconds, failure);
    // What a waiting message would have done by itself is now for somebody to do.
    if (dispositions[failure.kind] === 'wait')
      failure.remedy = `${needsPerson(failure.kind) ? `${failure.remedy} ` : ''}It waited for ${Math.round(hasWaitedMs / 3_600_000)} h. When its cause is gone, replay this letter.`;
    try {
      await world.queues.park(
        letterFor(integration, record, {
          story,
          failure,
          isTaken: eventId !== undefined,
          lastMs: world.nowMs(),
        }),
      );
    } catch (unsent) {
      const { kind, message, remedy } = failureOf(unsent);
      // Not for as long as the platform asked: it must be received often enough for SQS to move it before it forgets it.
      return wait(patiently(undefined), {
        ...failure,
        ...{ kind, remedy },
        message: `No letter could be written of: ${failure.message}. ${message}`,
      });
    }
    report('parked', failure);
    return undefined;
  };
  /** Nothing failed: it waits for its turn. Where that never comes, it is parked before its queue forgets it. */
  const pause = async ({ seconds, mayEndEarlier, reason, kind }: Pause): Promise<Delay | undefined> => {
    // A day's backlog takes its turns, too.
    if (!isPatient && story.attempts > patientReceipts)
      return fail({ state: 'failed', error: new MessageFailure(kind, reason, { remedy: remedies[kind] }) });
    if (mayEndEarlier) return wait(Math.min(seconds, patiently(undefined)), reason);
    // What the newer message comes to may be known at any time.
    const longest = kind === 'uncertain' ? limits.backoff.maximumSeconds : seconds;
    return wait(patiently(Math.min(seconds, longest)), reason);
  };

  if (!hasTime(around)) return pause({ seconds: 1, reason: noTime, kind: 'unavailable' });
  try {
    const message = parseMessage(record.body, integration, story.startedMs);
    eventId = message.id;
    const context = {
      ...around,
      messageId: record.messageId,
      replays: story.replays,
      decidedMs: isDecided(record) ? story.sentMs : undefined,
      calls,
      notes,
      opened,
    };
    const progress = await attempt(integration, message, context);
    if (progress.state === 'isolate') return { isolate: record };
    if (progress.state === 'waiting') return await pause(progress);
    if (progress.state === 'failed') return await fail(progress);
    report(progress.state, notes.join('; ') || undefined);
    return undefined;
  } catch (error) {
    return fail({ state: 'failed', error });
  } finally {
    for (const file of opened) file.abort();
  }
};

type Pause = Omit<Waiting, 'state'>;

/** SQS forgets a message after 14 days, without a word: one that is so old becomes a letter, which it keeps for 14 more. */
const maxAgeMs = 13 * 24 * 3_600_000;

/** Of a message whose turn never came. */
const remedies = {
  unavailable: undefined,
  uncertain:
    'Find the newer message about the same resource (its letter, or its queue) and bring it to its end. Then replay this letter: it is superseded if the newer one was done. To have this one instead, look at what the platform holds, replay it and discard the newer one.',
};

const letterFor = (
  { name, forbidden }: { name: string; forbidden?: readonly string[] },
  record: SQSRecord,
  { story, failure, isTaken, lastMs }: { story: Story; failure: Failure; isTaken: boolean; lastMs: number },
): DeadLetter => {
  const { body, fields } = withoutFields(record.body, forbidden, isTaken);
  const remedy =
    fields.length === 0
      ? failure.remedy
      : `Rotate what it brought as ${fields.join(', ')}: its queue had it in clear, and this letter is without it. Have its producer send it again without, or edit and replay this letter.`;
  return {
    body,
    source: record.eventSourceARN,
    replays: story.replays,
    attributes: attributesOf(record),
    failure: {
      ...failure,
      remedy,
      function: name,
      attempts: story.attempts,
      firstAt: new Date(story.firstMs).toISOString(),
      lastAt: new Date(lastMs).toISOString(),
    },
  };
};
