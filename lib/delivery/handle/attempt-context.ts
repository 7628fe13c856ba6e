import type { Message } from '../../message/message.ts';
import type { Priority } from '../../message/priority.ts';
import type { Asked, Turn } from '../../platform/client/pace/pace.ts';
import type { CallReport } from '../../runtime/telemetry/call-report.ts';
import type { Claim } from '../ledger/ledger.ts';
import type { Integration, IntegrationContext } from './integration.ts';
import type { Services } from './services.ts';
import { mustBeCurrent } from './stale-read.ts';

/** What one attempt lets its integration touch, and what has come of it. */
export type AttemptContext = {
  /** Of the platform. */
  calls: readonly CallReport[];
  /** What the integration says of its success. */
  notes: readonly string[];
  /** Waits for the turn to call the platform. 0: it has come; else it has not by then, and may come after so many seconds. */
  takeTurn(untilMs: number): Promise<number>;
  /** For how long it has waited for that. */
  turnMs(): number;
  /** For these fields of the resource; `claim`: the right to change it. */
  forFields(fields: readonly string[], claim?: Claim): IntegrationContext;
  /** Closes the files that were not read to their end, and gives back the turn where nothing was called. */
  close(): void;
};

type Subject<Data> = { integration: Integration<Data>; message: Message<Data>; priority: Priority };

export const createAttemptContext = <Data>(
  { integration, message, priority }: Subject<Data>,
  { services, timeLimit }: { services: Services; timeLimit(): AbortSignal },
): AttemptContext => {
  const calls: CallReport[] = [];
  const notes: string[] = [];
  const opened: AbortController[] = [];
  let turn: Turn | undefined;
  let turnMs = 0;
  return {
    calls,
    notes,
    takeTurn: async (untilMs) => {
      const sinceMs = services.nowMs();
      let isAsking = true;
      const { promise, resolve } = Promise.withResolvers<Asked>();
      services.platform.pace.ask(priority, untilMs, (asked) => {
        // What goes at once has not waited, however busy the other messages of its batch keep the container.
        if (!isAsking) turnMs = services.nowMs() - sinceMs;
        resolve(asked);
      });
      isAsking = false;
      const asked = await promise;
      services.observe.turn(priority, turnMs);
      turn = asked.turn;
      return asked.turn ? 0 : asked.seconds;
    },
    turnMs: () => turnMs,
    forFields: (fields, claim) => {
      const signal = timeLimit();
      const platform = services.platform.for({
        actor: integration.actor?.(message.data),
        operations: integration.operations,
        ...{ signal, priority },
        ...(turn && { turn }),
        onCall: (call) => {
          calls.push(call);
          services.observe.call(call);
        },
      });
      return {
        platform,
        gradeObjects: (orgUnitId, sinceMs) =>
          services.crosswalk.gradeObjects.of(orgUnitId, platform, sinceMs),
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
          if (claim) await mustBeCurrent(shown, { claim, digest, clockOffsetMs, nowMs: nowMs() });
        },
      };
    },
    close: () => {
      turn?.end();
      for (const file of opened) file.abort();
    },
  };
};
