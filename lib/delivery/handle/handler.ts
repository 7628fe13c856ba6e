import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { safe } from '../../message/safe-text.ts';
import { type Invocation, latestStartMs, type RecordOutcome } from './attempt.ts';
import { isLarge } from './crashes.ts';
import type { Integration } from './integration.ts';
import { processRecord } from './process-record.ts';
import { type Services, servicesFromEnvironment } from './services.ts';
import { receiveCountOf } from './sqs-delivery.ts';

/** The Lambda handler of an integration: it settles each record of a batch separately, and reports those that must wait. */
export const handlerOf =
  <Data>(
    integration: Integration<Data>,
    services: () => Services = servicesFromEnvironment(integration.name),
  ) =>
  async (event: SQSEvent, context: Context): Promise<SQSBatchResponse> => {
    const invocation = begin(services(), context, event);
    const { queues, incidents, arrivals, callUsage, letterIndex, observe } = invocation.services;
    const results = await Promise.all(
      event.Records.map((record) => processRecord(integration, record, invocation)),
    );

    const alone = { ...invocation, isolated: true, slotsUntilMs: latestStartMs(invocation) };
    for (const { at, record } of inOrder(event.Records, results))
      results[at] = await processRecord(integration, record, alone);

    const waiting = event.Records.flatMap(({ messageId, receiptHandle }, at) => {
      const result = results[at];
      return result?.outcome === 'waiting' ? [{ messageId, receiptHandle, seconds: result.seconds }] : [];
    });
    await queues.delay(waiting);
    await Promise.all([incidents?.write(), arrivals?.write(), callUsage?.write(), letterIndex?.write()]);
    observe.flush();
    return { batchItemFailures: waiting.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };

/**
 * Orders the messages to process alone: the likely causes of a crash come last, so that another crash affects as few others as
 * possible.
 */
const inOrder = (records: readonly SQSRecord[], results: readonly RecordOutcome[]) =>
  records
    .flatMap((record, at) => {
      const result = results[at];
      return result?.outcome === 'isolate' ? [{ at, record, crashes: result.crashes }] : [];
    })
    .sort((one, other) => one.crashes - other.crashes || lengthOf(one.record) - lengthOf(other.record));

const lengthOf = ({ body }: SQSRecord): number => (typeof body === 'string' ? body.length : 0);

const begin = (services: Services, context: Context, { Records }: SQSEvent): Invocation => {
  const { observe, limits, nowMs } = services;
  observe.begin(context.awsRequestId);
  const remainingMs = context.getRemainingTimeInMillis();
  const leftMs = remainingMs - limits.reserveMs;
  if (leftMs < limits.attemptTimeoutMs)
    observe.error(
      safe`no message is started, because the timeout of the function is shorter than ATTEMPT_TIMEOUT_MS and RESERVE_MS together: raise its timeout`,
      { remainingMs },
    );
  const deadlineMs = nowMs() + leftMs;
  const lastMs = latestStartMs({ services, deadlineMs });
  // Messages to process alone come after all others, and also need time to wait for turns.
  const someAlone = Records.some((record) => receiveCountOf(record) > 1 || isLarge(record));
  const slotsUntilMs = someAlone ? (nowMs() + lastMs) / 2 : lastMs;
  return {
    services,
    deadlineMs,
    slotsUntilMs,
    timeLimit: timeLimits(services, deadlineMs),
    isolated: false,
  };
};

/** Attempts that begin within this time share a signal: one for each would cost as much as a message's log line. */
const sharedMs = 1_000;

/** An attempt ends with its batch at the latest, and while it holds its lock. */
const timeLimits = ({ limits, nowMs }: Services, deadlineMs: number): (() => AbortSignal) => {
  let last: { signal: AbortSignal; sinceMs: number } | undefined;
  return () => {
    const sinceMs = nowMs();
    if (last === undefined || sinceMs - last.sinceMs >= sharedMs) {
      const leftMs = Math.min(deadlineMs - sinceMs, limits.attemptTimeoutMs);
      last = { signal: AbortSignal.timeout(Math.max(1, leftMs)), sinceMs };
    }
    return last.signal;
  };
};
