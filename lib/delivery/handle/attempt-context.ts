import type { Message } from '../../message/message.ts';
import type { Priority } from '../../message/priority.ts';
import type { SafeText } from '../../message/safe-text.ts';
import type { RateSlot, SlotResult } from '../../platform/rate-limit/rate-limiter.ts';
import type { CallReport } from '../../runtime/telemetry/call-report.ts';
import type { LockedResource } from '../ledger/ledger.ts';
import type { Integration, IntegrationContext } from './integration.ts';
import type { Services } from './services.ts';
import { mustBeCurrent } from './stale-read.ts';

/** What one attempt lets its integration use, and what it has recorded. */
export type AttemptContext = {
  /** The calls of the platform. */
  calls: readonly CallReport[];
  /** The integration's notes on its success. */
  notes: readonly SafeText[];
  /**
   * Waits for the rate limiter. 0: the call is admitted. Otherwise it was not by then, and may be after this many
   * seconds.
   */
  takeSlot(untilMs: number): Promise<number>;
  /** Time spent waiting for the turn. */
  slotWaitMs(): number;
  /** For these fields of the resource; `taken`: the right to change it. */
  forFields(fields: readonly string[], taken?: LockedResource): IntegrationContext;
  /** Closes the files that were not read to their end, and gives back the turn if nothing was called. */
  close(): void;
};

type Subject<Data> = {
  integration: Integration<Data>;
  message: Message<Data>;
  priority: Priority;
  /** When the message was sent to its queue. */
  sentMs: number;
};

export const createAttemptContext = <Data>(
  { integration, message, priority, sentMs }: Subject<Data>,
  { services, timeLimit }: { services: Services; timeLimit(): AbortSignal },
): AttemptContext => {
  const calls: CallReport[] = [];
  const notes: SafeText[] = [];
  const opened: AbortController[] = [];
  let slot: RateSlot | undefined;
  let slotWaitMs = 0;
  return {
    calls,
    notes,
    takeSlot: async (untilMs) => {
      const sinceMs = services.nowMs();
      let isAsking = true;
      const { promise, resolve } = Promise.withResolvers<SlotResult>();
      services.platform.rateLimiter.requestSlot(priority, untilMs, (result) => {
        // A turn that is granted at once is no wait, even if other messages of the batch keep the container busy.
        if (!isAsking) slotWaitMs = services.nowMs() - sinceMs;
        resolve(result);
      });
      isAsking = false;
      const result = await promise;
      services.observe.slotWait(priority, slotWaitMs);
      slot = result.slot;
      return result.slot ? 0 : result.seconds;
    },
    slotWaitMs: () => slotWaitMs,
    forFields: (fields, taken) => {
      const signal = timeLimit();
      const platform = services.platform.for({
        actor: integration.actor?.(message.data),
        operations: integration.operations,
        signal,
        priority,
        ...(slot && { slot }),
        onCall: (call) => {
          calls.push(call);
          services.observe.call(call);
        },
      });
      return {
        platform,
        gradeObjects: (orgUnitId, isIn) =>
          services.crosswalk.gradeObjects.of(orgUnitId, { platform, sentMs }, isIn),
        openFile: (uri, maximumBytes) => {
          const file = new AbortController();
          opened.push(file);
          return services.files.open(uri, { maximumBytes, signal: AbortSignal.any([signal, file.signal]) });
        },
        readSecret: services.readSecret,
        limits: services.limits,
        note: (text) => notes.push(text),
        fields,
        mustBeCurrent: async (shown) => {
          const clockOffsetMs = platform.clockOffsetMs() ?? 0;
          const { digest, nowMs } = services;
          if (taken) await mustBeCurrent(shown, { taken, digest, clockOffsetMs, nowMs: nowMs() });
        },
      };
    },
    close: () => {
      slot?.end();
      for (const file of opened) file.abort();
    },
  };
};
