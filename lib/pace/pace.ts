import { type Answered, type Budget, createPacer, type PacerOptions, type Priority } from './pacer.ts';

/** One container's place in the pace of the whole fleet: whoever calls the platform asks for a turn before. */
export type Pace = {
  /** Waits until a call of this class may go, at most until `untilMs` or until the signal aborts. Never rejects. */
  turn(priority: Priority, until: { untilMs?: number; signal?: AbortSignal }): Promise<Asked>;
  /** The same without a promise: calls `settle` once, at once where nobody has to wait. Returns what ends the wait. */
  ask(priority: Priority, untilMs: number, settle: (asked: Asked) => void): () => void;
  learn(answer: Answered): void;
  budget(): Budget | undefined;
};

/** A turn; or none in time, and after how many seconds to ask again. */
export type Asked = { turn: Turn } | { turn: undefined; seconds: number };

/** The right to call. The first call was waited for; each further one of the same work goes at once, and is charged. */
export type Turn = {
  /** 0: the next call may go. Else the platform has refused a call, and takes one again after so many seconds. */
  next(): number;
  /** Gives back what was not used. */
  end(): void;
};

export type PaceOptions = PacerOptions & {
  nowMs?: () => number;
  setTimer?: (run: () => void, afterMs: number) => { close(): void };
};

type Line = {
  waiters: { untilMs: number; settle(asked: Asked): void }[];
  timer?: { close(): void } | undefined;
};

/** What could not wait in its invocation comes back within this time after the gate opens, each at a moment of its own. */
const spreadSeconds = 60;
/** No timer is set further ahead: the gate may open earlier. */
const maxTimerMs = 1_000;

export const createPace = (options: PaceOptions = {}): Pace => {
  const { nowMs = Date.now, random = Math.random, setTimer = setTimeout } = options;
  const pacer = createPacer(options);
  const lines = new Map<Priority, Line>();

  const turnOf = (priority: Priority): Turn => {
    let isUsed = false;
    return {
      next: () => {
        const waitMs = isUsed ? pacer.charge(priority, nowMs()) : 0;
        isUsed = true;
        return waitMs / 1_000;
      },
      end: () => {
        if (!isUsed) pacer.giveBack(priority);
        isUsed = true;
      },
    };
  };
  const later = (waitMs: number): number => Math.ceil(waitMs / 1_000 + random() * spreadSeconds);

  /** Lets go whose turn it is, and whose turn cannot come in time. */
  const serve = (priority: Priority, line: Line): void => {
    line.timer?.close();
    line.timer = undefined;
    for (let first = line.waiters[0]; first; first = line.waiters[0]) {
      const waitMs = pacer.take(priority, nowMs());
      if (waitMs > 0 && nowMs() + waitMs < first.untilMs) {
        line.timer = setTimer(() => serve(priority, line), Math.min(waitMs, maxTimerMs));
        return;
      }
      line.waiters.shift();
      first.settle(waitMs === 0 ? { turn: turnOf(priority) } : { turn: undefined, seconds: later(waitMs) });
    }
  };

  const ask: Pace['ask'] = (priority, untilMs, settle) => {
    const line = lines.get(priority) ?? { waiters: [] };
    lines.set(priority, line);
    const waiter = { untilMs, settle };
    if (line.waiters.push(waiter) === 1) serve(priority, line);
    return () => {
      const at = line.waiters.indexOf(waiter);
      if (at < 0) return;
      line.waiters.splice(at, 1);
      settle({ turn: undefined, seconds: later(1) });
    };
  };

  return {
    ask,
    turn: async (priority, { untilMs = Number.POSITIVE_INFINITY, signal }) => {
      const { promise, resolve } = Promise.withResolvers<Asked>();
      const leave = ask(priority, signal?.aborted ? 0 : untilMs, resolve);
      signal?.addEventListener('abort', leave, { once: true });
      const asked = await promise;
      signal?.removeEventListener('abort', leave);
      return asked;
    },
    learn: (answer) => {
      pacer.learn(answer, nowMs());
      for (const [each, line] of lines) if (line.waiters.length > 0) serve(each, line);
    },
    budget: pacer.budget,
  };
};
