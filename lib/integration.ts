import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type * as z from 'zod';
import { waitSeconds } from './backoff.ts';
import { dispositions, type Failure, failureOf, type Outcome } from './failure.ts';
import type { OpenedFile } from './files.ts';
import { type Message, parseMessage } from './message.ts';
import type { Actor } from './platform/auth.ts';
import type { CallReport, Platform } from './platform/client.ts';
import { attributesOf, type Story, storyOf } from './record.ts';
import { type Limits, type Services, servicesFromEnvironment } from './services.ts';

/** What one kind of message does: an integration's file is all there is to it. */
export type Integration<Data> = {
  /** Of the function's file, its queue, event and test; its message type is `sis.<name>.v1`. */
  name: string;
  /** What the message must carry. */
  data: z.ZodType<Data>;
  /** The one thing on the platform that the message changes. */
  key(data: Data, message: Message<Data>): string;
  /** May its calls be sent twice without harm? */
  repeatable: boolean;
  /** Whose credential must sign: a platform user's id; default: the service's own. */
  actor?(data: Data): Actor;
  run(data: Data, world: World): Promise<unknown>;
};

/** What `run` may touch. */
export type World = {
  platform: Platform;
  /** Opens a file that the message names, of at most so many bytes. */
  openFile(uri: string, maximumBytes: number): Promise<OpenedFile>;
  limits: Limits;
};

/** The Lambda handler of an integration: each record of a batch is settled on its own, and those to wait are reported. */
export const handlerOf =
  <Data>(
    integration: Integration<Data>,
    services: () => Services = servicesFromEnvironment(integration.name),
  ) =>
  async (event: SQSEvent, context: Context): Promise<SQSBatchResponse> => {
    const world = services();
    const leftMs = context.getRemainingTimeInMillis() - world.limits.reserveMs;
    const timeoutMs = Math.max(1, Math.min(leftMs, world.limits.attemptTimeoutMs));
    const batch = {
      enoughTime: leftMs >= world.limits.attemptTimeoutMs,
      signal: AbortSignal.timeout(timeoutMs),
    };
    const settled = await Promise.all(
      event.Records.map((record) => settle(integration, record, { world, batch })),
    );
    const waiting = settled.filter((each) => each !== undefined);
    if (waiting.length > 0) await world.queues.delay(waiting);
    world.observe.flush();
    return { batchItemFailures: waiting.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };

type Around = { world: Services; batch: { enoughTime: boolean; signal: AbortSignal } };
type Waiting = { messageId: string; receiptHandle: string; seconds: number };

/** Brings one record to its outcome and never throws; what it gives back must stay on the queue. */
const settle = async <Data>(
  integration: Integration<Data>,
  record: SQSRecord,
  { world, batch }: Around,
): Promise<Waiting | undefined> => {
  const { observe, limits } = world;
  const story = storyOf(record, world.nowMs());
  const calls: CallReport[] = [];
  let eventId: string | undefined;

  const end = (outcome: Outcome, failure?: Failure, seconds?: number): Waiting | undefined => {
    const last = calls.at(-1);
    observe.message({
      function: integration.name,
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
    return seconds === undefined
      ? undefined
      : { messageId: record.messageId, receiptHandle: record.receiptHandle, seconds };
  };
  const wait = (failure: Failure): Waiting | undefined =>
    end(
      'waiting',
      failure,
      waitSeconds(
        { receiveCount: story.attempts, retryAfterSeconds: failure.retryAfterSeconds },
        limits.backoff,
      ),
    );

  if (!batch.enoughTime) return end('waiting', undefined, 1);
  try {
    const message = parseMessage(record.body, integration, story.startedMs);
    eventId = message.id;
    await integration.run(message.data, worldOf(integration, message, { world, batch, calls }));
    return end('done');
  } catch (error) {
    const failure = failureOf(error);
    if (failure.kind === 'defect')
      observe.error('a defect of sis-relay', { messageId: record.messageId }, error);
    const mayWait = story.startedMs - story.sentMs < limits.longestWaitMs;
    if (dispositions[failure.kind] === 'wait' && mayWait) return wait(failure);
    try {
      await world.queues.park(letterFor(integration, record, { story, failure, lastMs: world.nowMs() }));
    } catch (unsent) {
      return wait({ ...failureOf(unsent), message: `The letter could not be written: ${failure.message}` });
    }
    return end('parked', failure);
  }
};

const letterFor = (
  integration: { name: string },
  record: SQSRecord,
  { story, failure, lastMs }: { story: Story; failure: Failure; lastMs: number },
) => ({
  body: record.body,
  source: record.eventSourceARN,
  replays: story.replays,
  attributes: attributesOf(record),
  failure: {
    ...failure,
    function: integration.name,
    attempts: story.attempts,
    firstAt: new Date(story.sentMs).toISOString(),
    lastAt: new Date(lastMs).toISOString(),
  },
});

const worldOf = <Data>(
  integration: Integration<Data>,
  message: Message<Data>,
  { world, batch, calls }: Around & { calls: CallReport[] },
): World => ({
  platform: world.platform.for({
    actor: integration.actor?.(message.data),
    signal: batch.signal,
    onCall: (call) => {
      calls.push(call);
      world.observe.call(call);
    },
  }),
  openFile: (uri, maximumBytes) => world.files.open(uri, { maximumBytes, signal: batch.signal }),
  limits: world.limits,
});
