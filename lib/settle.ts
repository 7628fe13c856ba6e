import type { SQSRecord } from 'aws-lambda';
import { type Attempt, attempt, hasTime, noTime } from './attempt.ts';
import { patientReceipts, waitSeconds } from './backoff.ts';
import type { DeadLetter } from './dead-letter.ts';
import { dispositions, type Failure, failureOf, MessageFailure, type Outcome } from './failure.ts';
import { withoutFileNames } from './file-uri.ts';
import { withoutFields } from './forbidden-fields.ts';
import type { Integration } from './integration.ts';
import { eventIdIn, parseMessage } from './message.ts';
import type { CallReport } from './platform/client.ts';
import type { Delay } from './queues.ts';
import { attributesOf, type Story, storyOf } from './record.ts';

/**
 * Brings one record to its outcome and never throws. What it gives back must stay on the queue, for so many seconds, or
 * be settled again alone.
 */
export const settle = async <Data>(
  integration: Integration<Data>,
  record: SQSRecord,
  around: Pick<Attempt, 'world' | 'batch' | 'alone'>,
): Promise<Delay | { alone: SQSRecord } | undefined> => {
  const { world } = around;
  const { observe, limits } = world;
  const story = storyOf(record, world.nowMs());
  const hasWaitedMs = story.startedMs - story.sentMs;
  const calls: CallReport[] = [];
  const opened: AbortController[] = [];

  let eventId: string | undefined;
  const report = (outcome: Outcome, why?: Failure | string, seconds?: number): void => {
    const failure = typeof why === 'object' ? why : undefined;
    const reason = typeof why === 'object' ? why.message : why;
    const last = calls.at(-1);
    observe.message({
      outcome,
      messageId: record.messageId,
      // Of a message that is not valid, the producer still wants to know which it was.
      eventId: eventId ?? eventIdIn(record.body),
      kind: failure?.kind,
      reason: reason && withoutEcho(withoutFileNames(reason), failure?.title, record.body),
      operation: failure?.operation ?? last?.call,
      status: failure?.status ?? last?.status,
      requestId: failure?.requestId,
      attempts: story.attempts,
      replays: story.replays,
      requests: calls.length,
      platformMs: Math.round(calls.reduce((sum, { durationMs }) => sum + durationMs, 0)),
      durationMs: world.nowMs() - story.startedMs,
      ageSeconds: Math.round(hasWaitedMs / 1000),
      waitSeconds: seconds,
    });
  };
  const wait = (seconds: number, why: Failure | string): Delay => {
    report('waiting', why, seconds);
    return { messageId: record.messageId, receiptHandle: record.receiptHandle, seconds };
  };
  const patiently = (retryAfterSeconds: number | undefined): number =>
    waitSeconds({ receiveCount: story.attempts, retryAfterSeconds }, limits.backoff);
  const fail = async (error: unknown, lookUpSeconds?: number): Promise<Delay | undefined> => {
    const failure = failureOf(error);
    if (failure.kind === 'defect')
      observe.error('a defect of sis-relay', { messageId: record.messageId }, error);
    // What is looked up each minute would be received more often in a day than its queue allows, too.
    const seconds = patiently(lookUpSeconds ?? failure.retryAfterSeconds);
    const waits = dispositions[failure.kind] === 'wait' || lookUpSeconds !== undefined;
    if (waits && hasWaitedMs < limits.longestWaitMs) return wait(seconds, failure);
    // What a waiting message would have done by itself is now for somebody to do.
    if (dispositions[failure.kind] === 'wait')
      failure.remedy = `It waited for ${Math.round(hasWaitedMs / 3_600_000)} h. When its cause is gone, replay this letter.`;
    try {
      await world.queues.park(letterFor(integration, record, { story, failure, lastMs: world.nowMs() }));
    } catch (unsent) {
      const { kind } = failureOf(unsent);
      return wait(seconds, {
        ...failure,
        kind,
        message: `No letter could be written of: ${failure.message}`,
      });
    }
    report('parked', failure);
    return undefined;
  };
  /** Nothing failed: it waits for its turn. Where that never comes, it is parked before its queue forgets it. */
  const pause = async (seconds: number, reason: string): Promise<Delay | undefined> => {
    // Being old is not enough: a day's backlog takes its turns, too.
    if (hasWaitedMs >= limits.longestWaitMs && story.attempts > patientReceipts)
      return fail(new MessageFailure('unavailable', reason));
    return wait(patiently(seconds), reason);
  };

  if (!hasTime(around)) return pause(1, noTime);
  try {
    const message = parseMessage(record.body, integration, story.startedMs);
    eventId = message.id;
    const context = {
      ...around,
      messageId: record.messageId,
      replays: story.replays,
      // Whoever replays a letter that says so has looked and found nothing.
      decidedMs: record.messageAttributes?.kind?.stringValue === 'uncertain' ? story.sentMs : undefined,
      calls,
      opened,
    };
    const progress = await attempt(integration, message, context);
    if (progress.state === 'alone') return { alone: record };
    if (progress.state === 'waiting') return pause(progress.seconds, progress.reason);
    if (progress.state === 'unanswered') return await fail(progress.error, progress.lookUpSeconds);
    report(progress.state);
    return undefined;
  } catch (error) {
    return fail(error);
  } finally {
    for (const file of opened) file.abort();
  }
};

/** A reason holds the title of a refusal, which names an error; one that has a word of the message in it may name somebody. */
const withoutEcho = (reason: string, title: string | undefined, body: string): string => {
  const words = title?.match(/[A-Za-z]{3,}/g) ?? [];
  const isEcho = words.some((word) => new RegExp(`\\b${word}\\b`).test(body));
  return title && isEcho ? reason.replace(title, '…') : reason;
};

const letterFor = (
  { name, forbidden }: { name: string; forbidden?: readonly string[] },
  record: SQSRecord,
  { story, failure, lastMs }: { story: Story; failure: Failure; lastMs: number },
): DeadLetter => {
  const { body, fields } = withoutFields(record.body, forbidden);
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
      firstAt: new Date(story.sentMs).toISOString(),
      lastAt: new Date(lastMs).toISOString(),
    },
  };
};
