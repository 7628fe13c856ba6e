import { type Answered, type Budget, createPacer, type PacerOptions, type Priority } from './pacer.ts';

/** A place in the pace of the whole fleet: whoever calls the platform asks for a turn before. */
export type Pace = {
  /** Waits until a call of this class may go, at most until `untilMs`. Rejects when the signal aborts. */
  turn(priority: Priority, until: { untilMs: number; signal?: AbortSignal }): Promise<Asked>;
  /** The same without a promise: `settle` is called once, at once where nobody has to wait. Returns how to leave the line. */
  ask(priority: Priority, untilMs: number, settle: (asked: Asked) => void): () => void;
  learn(priority: Priority, answer: Answered): void;
  /** What is known of the budget, and what became of the calls since the last report. */
  report(): PaceReport;
};

/** A turn; or none in time, and after how many seconds to ask again. */
export type Asked = { turn: Turn } | { turn: undefined; seconds: number };

/** The right to call: the first call was waited for, and each further one of the same work goes at once and is charged. */
export type Turn = {
  /** 0: the next call may go. Else the platform refuses calls, and takes one again after so many seconds. */
  next(): number;
  /** Gives back what was not used. */
  end(): void;
};

/** What became of the calls of one class. */
export type Tally = { calls: number; refused: number; waitedMs: number };

export type PaceReport = { budget: Budget | undefined; tallies: ReadonlyMap<Priority, Tally> };

export type PaceOptions = PacerOptions & {
  nowMs?: () => number;
  setTimer?: (run: () => void, afterMs: number) => { unset(): void };
};

type Waiter = { sinceMs: number; untilMs: number; settle(asked: Asked): void };
type Line = { waiters: Waiter[]; timer: { unset(): void } | undefined };

/** What could not wait in its invocation comes back within this time after the gate opens, each at a moment of its own. */
const spreadSeconds = 60;
/** A timer is never set further ahead: the gate may open earlier. */
const maxTimerMs = 1_000;

export const createPace = (options: PaceOptions = {}): Pace => {
  const { nowMs = Date.now, random = Math.random, setTimer = nodeTimer } = options;
  const pacer = createPacer(options);
  const lines = new Map<Priority, Line>();
  let tallies = new Map<Priority, Tally>();

  const tallyOf = (priority: Priority): Tally => {
    const tally = tallies.get(priority) ?? { calls: 0, refused: 0, waitedMs: 0 };
    tallies.set(priority, tally);
    return tally;
  };

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

  /** Lets go whose turn it is, and those that can have none in time. */
  const serve = (priority: Priority, line: Line): void => {
    line.timer?.unset();
    line.timer = undefined;
    for (let first = line.waiters[0]; first; first = line.waiters[0]) {
      const now = nowMs();
      const waitMs = pacer.take(priority, now);
      if (waitMs > 0 && now + waitMs < first.untilMs) {
        line.timer = setTimer(() => serve(priority, line), Math.min(waitMs, maxTimerMs));
        return;
      }
      line.waiters.shift();
      if (now > first.sinceMs) tallyOf(priority).waitedMs += now - first.sinceMs;
      first.settle(
        waitMs === 0
          ? { turn: turnOf(priority) }
          : { turn: undefined, seconds: Math.ceil(waitMs / 1_000 + random() * spreadSeconds) },
      );
    }
  };

  const ask: Pace['ask'] = (priority, untilMs, settle) => {
    const line = lines.get(priority) ?? { waiters: [], timer: undefined };
    lines.set(priority, line);
    const waiter = { sinceMs: nowMs(), untilMs, settle };
    line.waiters.push(waiter);
    if (line.waiters.length === 1) serve(priority, line);
    return () => {
      const at = line.waiters.indexOf(waiter);
      if (at >= 0) line.waiters.splice(at, 1);
    };
  };

  return {
    ask,
    turn: (priority, { untilMs, signal }) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const abort = (): void => {
          leave();
          reject(signal?.reason);
        };
        const leave = ask(priority, untilMs, (asked) => {
          signal?.removeEventListener('abort', abort);
          resolve(asked);
        });
        signal?.addEventListener('abort', abort, { once: true });
        return undefined;
      }),
    learn: (priority, answer) => {
      const tally = tallyOf(priority);
      tally.calls += 1;
      if (answer.status === 429) tally.refused += 1;
      pacer.learn(answer, nowMs());
      for (const [each, line] of lines) if (line.waiters.length > 0) serve(each, line);
    },
    report: () => {
      const told = { budget: pacer.budget(), tallies };
      tallies = new Map();
      return told;
    },
  };
};

const nodeTimer = (run: () => void, afterMs: number): { unset(): void } => {
  const timer = setTimeout(run, afterMs);
  return { unset: () => clearTimeout(timer) };
};
