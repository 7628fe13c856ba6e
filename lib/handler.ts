import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { Batch } from './attempt.ts';
import type { Integration } from './integration.ts';
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
    const remainingMs = context.getRemainingTimeInMillis();
    const leftMs = remainingMs - world.limits.reserveMs;
    if (leftMs < world.limits.attemptTimeoutMs)
      world.observe.error(
        'no message is started, as the function has less time than ATTEMPT_TIMEOUT_MS and RESERVE_MS: raise its timeout',
        { remainingMs },
      );
    const batch: Batch = {
      deadlineMs: world.nowMs() + leftMs,
      signal: AbortSignal.timeout(Math.max(1, leftMs)),
      ended: [],
    };
    const settled = await Promise.all(
      event.Records.map((record) => settle(integration, record, { world, batch, alone: false })),
    );
    const waiting = settled.flatMap((each) => (each === undefined || 'alone' in each ? [] : [each]));

    // The function died on one of these, or beside it. So that it takes nothing along, the others are written down as
    // done before the first of them starts, and each before the next.
    for (const each of settled) {
      if (each === undefined || !('alone' in each)) continue;
      await world.ledger?.confirm(batch.ended.splice(0));
      const again = await settle(integration, each.alone, { world, batch, alone: true });
      if (again !== undefined && !('alone' in again)) waiting.push(again);
    }

    if (waiting.length > 0) await world.queues.delay(waiting);
    world.observe.flush();
    return { batchItemFailures: waiting.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
