import { createHash } from 'node:crypto';
import type { SQSRecord } from 'aws-lambda';
import { waitSeconds } from './backoff.ts';
import type { DeadLetter } from './dead-letter.ts';
import { dispositions, type Failure, failureOf, MessageFailure, type Outcome } from './failure.ts';
import type { Integration, World } from './integration.ts';
import type { Claim, Doubt, Entry } from './ledger.ts';
import { type Message, parseMessage, versionOf } from './message.ts';
import type { CallReport } from './platform/client.ts';
import type { Delay } from './queues.ts';
import { attributesOf, type Story, storyOf } from './record.ts';
import type { Services } from './services.ts';

/** What the records of one invocation share. */
export type Batch = {
  /** When every attempt must have ended. */
  deadlineMs: number;
  signal: AbortSignal;
  /** Claims that ended well, and that the ledger only remembers so far. */
  ended: Claim[];
};

type Around = { world: Services; batch: Batch; alone: boolean };

/**
 * Brings one record to its outcome and never throws. What it gives back must stay on the queue, for so many seconds, or
 * be settled again alone.
 */
export const settle = async <Data>(
  integration: Integration<Data>,
  record: SQSRecord,
  around: Around,
): Promise<Delay | { alone: SQSRecord } | undefined> => {
  const { world } = around;
  const { observe, limits } = world;
  const story = storyOf(record, world.nowMs());
  const calls: CallReport[] = [];
  const over = new AbortController();
  let eventId: string | undefined;

  const report = (outcome: Outcome, failure?: Failure, seconds?: number): void => {
    const last = calls.at(-1);
    observe.message({
      outcome,
      messageId: record.messageId,
      eventId,
      kind: failure?.kind,
      reason: failure?.message,
      operation: failure?.operation ?? last?.call,
      status: failure?.status ?? last?.status,
      requestId: failure?.requestId,
      attempts: story.attempts,
      replays: story.replays,
      requests: calls.length,
      platformMs: Math.round(calls.reduce((sum, { durationMs }) => sum + durationMs, 0)),
      durationMs: world.nowMs() - story.startedMs,
      ageSeconds: Math.round((story.startedMs - story.sentMs) / 1000),
      waitSeconds: seconds,
    });
  };
  const wait = (seconds: number, failure?: Failure): Delay => {
    report('waiting', failure, seconds);
    return { messageId: record.messageId, receiptHandle: record.receiptHandle, seconds };
  };
  const fail = async (error: unknown, lookUpSeconds?: number): Promise<Delay | undefined> => {
    const failure = failureOf(error);
    if (failure.kind === 'defect')
      observe.error('a defect of sis-relay', { messageId: record.messageId }, error);
    const { retryAfterSeconds } = failure;
    const seconds =
      lookUpSeconds ?? waitSeconds({ receiveCount: story.attempts, retryAfterSeconds }, limits.backoff);
    const waits = dispositions[failure.kind] === 'wait' || lookUpSeconds !== undefined;
    if (waits && story.startedMs - story.sentMs < limits.longestWaitMs) return wait(seconds, failure);
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

  if (!hasTime(around)) return wait(1);
  try {
    const message = parseMessage(record.body, integration, story.startedMs);
    eventId = message.id;
    const attempt = {
      ...around,
      calls,
      over: over.signal,
      replays: story.replays,
      messageId: record.messageId,
    };
    const progress = await proceed(integration, message, attempt);
    if (progress.state === 'alone') return { alone: record };
    if (progress.state === 'waiting') return wait(progress.seconds);
    if (progress.state === 'unanswered') return await fail(progress.error, progress.lookUpSeconds);
    report(progress.state);
    return undefined;
  } catch (error) {
    return fail(error);
  } finally {
    over.abort();
  }
};

/** A record that could not finish is not started. */
const hasTime = ({ world, batch }: Around): boolean =>
  batch.deadlineMs - world.nowMs() >= world.limits.attemptTimeoutMs;

/** Where a message has got to. */
type Progress =
  | { state: 'done' | 'duplicate' | 'superseded' }
  /** Another attempt on the same thing is under way. */
  | { state: 'waiting'; seconds: number }
  /** It must not be sent twice and no answer came: to be looked up when the platform has had time to finish. */
  | { state: 'unanswered'; error: unknown; lookUpSeconds: number }
  | { state: 'alone' };

type Attempt = Around & {
  calls: CallReport[];
  /** Lets go of files that were opened and not read. */
  over: AbortSignal;
  replays: number;
  messageId: string;
};

/** Asks the ledger what may still be done, and does it; throws what the message fails with. */
const proceed = async <Data>(
  integration: Integration<Data>,
  message: Message<Data>,
  attempt: Attempt,
): Promise<Progress> => {
  const { world, batch, calls } = attempt;
  const { ledger } = world;
  const reach = reachOf(integration, message, attempt);
  if (ledger === undefined) {
    await integration.run(message.data, reach);
    return { state: 'done' };
  }
  const untilMs = batch.deadlineMs + world.limits.reserveMs;
  const verdict = await ledger.claim(entryOf(integration, message, attempt), {
    untilMs,
    alone: attempt.alone,
  });
  if (verdict.kind === 'wait') return { state: 'waiting', seconds: verdict.seconds };
  if (verdict.kind === 'crashed')
    throw new MessageFailure('crashed', 'The function died three times while it handled this message');
  if (verdict.kind !== 'send') return { state: verdict.kind };

  const { claim } = verdict;
  let { doubt } = verdict;
  if (!hasTime(attempt)) {
    await ledger.end(claim, doubt ? 'unknown' : 'undone');
    return { state: 'waiting', seconds: 1 };
  }
  try {
    const wasDone = doubt !== undefined && (await lookUp(integration, message.data, { reach, doubt }));
    doubt = undefined;
    if (!wasDone) await integration.run(message.data, reach);
    await ledger.end(claim, 'done');
    batch.ended.push(claim);
    return { state: 'done' };
  } catch (error) {
    await ledger.end(claim, doubt || calls.some((call) => call.mayHaveActed) ? 'unknown' : 'undone');
    const unanswered = doubt === undefined && failureOf(error).kind === 'uncertain';
    if (!unanswered || !integration.verify) throw error;
    return { state: 'unanswered', error, lookUpSeconds: Math.ceil(ledger.settlingMs / 1000) + 1 };
  }
};

/** Whether the attempt that left no outcome was done; throws `uncertain` where nobody can tell and nobody has decided. */
const lookUp = async <Data>(
  { verify }: Integration<Data>,
  data: Data,
  { reach, doubt }: { reach: World; doubt: Doubt },
): Promise<boolean> => {
  const since = new Date(doubt.sinceMs).toISOString();
  const subject = verify?.subject(data) ?? 'its effect';
  let why = 'the platform does not tell';
  try {
    const found = (await verify?.look(data, { ...reach, sinceMs: doubt.sinceMs })) ?? 'unclear';
    if (found !== 'unclear') return found === 'found';
  } catch (error) {
    const failure = failureOf(error);
    if (dispositions[failure.kind] === 'wait') throw error;
    why = failure.message;
  }
  // Whoever replays a letter that says `uncertain` has looked and found nothing.
  if (doubt.decided) return false;
  throw new MessageFailure('uncertain', `An attempt since ${since} left no outcome: ${why}`, {
    remedy: `Look for ${subject} since ${since}. Replay only if there is none, else discard this letter.`,
  });
};

/** DynamoDB takes keys of up to 2,048 bytes; a message's source and id may be longer. */
const longestKey = 512;

const entryOf = <Data>(integration: Integration<Data>, message: Message<Data>, attempt: Attempt): Entry => {
  const key = integration.key(message.data, message);
  const short = key.length > longestKey ? createHash('sha256').update(key).digest('base64url') : key;
  return {
    thing: `${integration.name}#${short}`,
    // Of what must not be sent twice, each message is a thing of its own: it has no older version.
    version: integration.repeatable ? versionOf(message) : '1',
    messageId: attempt.messageId,
    replays: attempt.replays,
    repeatable: integration.repeatable,
  };
};

const reachOf = <Data>(
  integration: Integration<Data>,
  message: Message<Data>,
  { world, batch: { signal }, calls, over }: Attempt,
): World => ({
  platform: world.platform.for({
    actor: integration.actor?.(message.data),
    signal,
    onCall: (call) => {
      calls.push(call);
      world.observe.call(call);
    },
  }),
  openFile: (uri, maximumBytes) =>
    world.files.open(uri, { maximumBytes, signal: AbortSignal.any([signal, over]) }),
  limits: world.limits,
});

const letterFor = (
  { name }: { name: string },
  record: SQSRecord,
  { story, failure, lastMs }: { story: Story; failure: Failure; lastMs: number },
): DeadLetter => ({
  body: record.body,
  source: record.eventSourceARN,
  replays: story.replays,
  attributes: attributesOf(record),
  failure: {
    ...failure,
    function: name,
    attempts: story.attempts,
    firstAt: new Date(story.sentMs).toISOString(),
    lastAt: new Date(lastMs).toISOString(),
  },
});
