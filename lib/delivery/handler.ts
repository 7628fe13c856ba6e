import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { Integration } from '../integration.ts';
import type { Batch } from './attempt.ts';
import { type Services, servicesFromEnvironment } from './services.ts';
import { settle } from './settle.ts';

/** The Lambda handler of an integration: each record of a batch is settled on its own, and those to wait are reported. */
export const handlerOf =
  <Data>(
    integration: Integration<Data>,
    services: () => Services = servicesFromEnvironment(integration.name),
  ) =>
  async (event: SQSEvent, context: Context): Promise<SQSBatchResponse> => {
    const world = services();
    world.observe.begin(context.awsRequestId);
    const remainingMs = context.getRemainingTimeInMillis();
    const leftMs = remainingMs - world.limits.reserveMs;
    if (leftMs < world.limits.attemptTimeoutMs)
      world.observe.error(
        'no message is started, as the function has less time than ATTEMPT_TIMEOUT_MS and RESERVE_MS: raise its timeout',
        { remainingMs },
      );
    const batch: Batch = {
      deadlineMs: world.nowMs() + leftMs,
      timeLimit: timeLimits(world, world.nowMs() + leftMs),
      ended: [],
    };
    const settled = await Promise.all(
      event.Records.map((record) => settle(integration, record, { world, batch, isolated: false })),
    );
    const waiting = settled.flatMap((each) => (each === undefined || 'isolate' in each ? [] : [each]));

    // The function died on one of these, or beside it. So that it takes nothing along, the others are written down as
    // done before the first of them starts, and each before the next.
    for (const each of settled) {
      if (each === undefined || !('isolate' in each)) continue;
      await world.ledger?.confirm(batch.ended.splice(0));
      const again = await settle(integration, each.isolate, { world, batch, isolated: true });
      if (again !== undefined && !('isolate' in again)) waiting.push(again);
    }

    if (waiting.length > 0) await world.queues.delay(waiting);
    await world.incidents?.write();
    world.observe.flush();
    return { batchItemFailures: waiting.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };

/** Attempts that begin so close to each other share a signal: one for each costs as much as a message's log line. */
const sharedMs = 1_000;

/** The time of an attempt ends with that of its batch, or earlier: a claim's lease is as long. */
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
