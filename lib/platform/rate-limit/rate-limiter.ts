import type { Priority } from '../../message/priority.ts';
import type { Budget } from '../../runtime/telemetry/call-budget.ts';
import type { AnswerFacts } from './answered.ts';
import { RatePolicy, type RatePolicyOptions } from './rate-policy.ts';

/** One container's part in the rate limit of all containers: every caller of the platform asks for a slot first. */
export type RateLimiter = {
  /**
   * Calls `settle` when a call of this class may go, immediately if none has to wait, or when it cannot go before `untilMs`.
   * Returns a function that ends the wait.
   */
  requestSlot(priority: Priority, untilMs: number, settle: (result: SlotResult) => void): () => void;
  recordAnswer(answer: AnswerFacts): void;
  budget(): Budget | undefined;
};

/** A slot; or, if there is none in time, the seconds after which to ask again. */
export type SlotResult = { slot: RateSlot } | { slot: undefined; seconds: number };

/** The right to call. Only the first call had to wait; each further one of the same work goes at once, and is charged. */
export type RateSlot = {
  /** 0: the next call may go. Otherwise the platform has refused a call, and takes one again after this many seconds. */
  next(): number;
  /** Gives back what was not used. */
  end(): void;
};

export type RateLimiterOptions = RatePolicyOptions & {
  nowMs?: () => number;
  setTimer?: (run: () => void, afterMs: number) => { close(): void };
};

type Waiter = { untilMs: number; onResult(result: SlotResult): void };
type Line = { waiters: Waiter[]; timer?: { close(): void } | undefined };

/** Work that could not wait in its invocation comes back within this time after calls may go again, spread at random. */
const spreadSeconds = 60;
/** No timer is set further ahead: calls may go again earlier. */
const maxTimerMs = 1_000;

export const createRateLimiter = (options: RateLimiterOptions = {}): RateLimiter => {
  const { nowMs = Date.now, random = Math.random, setTimer = setTimeout } = options;
  const policy = new RatePolicy(options);
  const lines = new Map<Priority, Line>();

  const slotOf = (priority: Priority): RateSlot => {
    let isUsed = false;
    return {
      next: () => {
        const waitMs = policy.charge(isUsed ? priority : undefined, nowMs());
        isUsed = true;
        return waitMs / 1_000;
      },
      end: () => {
        if (isUsed) return;
        isUsed = true;
        policy.giveBack(priority);
        serveAll();
      },
    };
  };
  const later = (waitMs: number): number => Math.ceil(waitMs / 1_000 + random() * spreadSeconds);

  /** Settles the calls whose turn has come, and those whose turn cannot come in time. */
  const serve = (priority: Priority, line: Line): void => {
    line.timer?.close();
    line.timer = undefined;
    for (let first = line.waiters[0]; first; first = line.waiters[0]) {
      // After a pause of the container its time may be over.
      const waitMs = nowMs() < first.untilMs ? policy.take(priority, nowMs()) : maxTimerMs;
      if (waitMs > 0 && nowMs() + waitMs < first.untilMs) {
        line.timer = setTimer(() => serve(priority, line), Math.min(waitMs, maxTimerMs));
        return;
      }
      line.waiters.shift();
      first.onResult(waitMs === 0 ? { slot: slotOf(priority) } : { slot: undefined, seconds: later(waitMs) });
    }
  };

  const serveAll = (): void => {
    for (const [each, line] of lines) if (line.waiters.length > 0) serve(each, line);
  };

  const requestSlot: RateLimiter['requestSlot'] = (priority, untilMs, onResult) => {
    const line = lines.get(priority) ?? { waiters: [] };
    lines.set(priority, line);
    const waiter = { untilMs, onResult };
    if (line.waiters.push(waiter) === 1) serve(priority, line);
    return () => {
      const at = line.waiters.indexOf(waiter);
      if (at < 0) return;
      line.waiters.splice(at, 1);
      onResult({ slot: undefined, seconds: later(1) });
    };
  };

  return {
    requestSlot: requestSlot,
    recordAnswer: (answer) => {
      policy.recordAnswer(answer, nowMs());
      serveAll();
    },
    budget: () => policy.budget(),
  };
};
