import type { Priority } from '../../message/priority.ts';
import type { Budget } from '../../runtime/telemetry/call-budget.ts';

/** Facts of one answer for the pace. Undefined: no answer came, or its headers are missing or invalid. */
export type Answered = {
  sentMs: number;
  status: number | undefined;
  /** Credits left to all clients together until the window ends, and the credits that the call took. */
  remaining?: number | undefined;
  resetSeconds?: number | undefined;
  cost?: number | undefined;
  retryAfterSeconds?: number | undefined;
};

export type PacerOptions = {
  /** Maximum calls a minute of all clients together. Default: what the platform grants. */
  callsPerMinute?: number | undefined;
  /** Number of containers that share `callsPerMinute` evenly if the platform reports no budget. */
  containers?: number | undefined;
  random?: () => number;
};

/** The part of the platform's grant that a class aims at. A more urgent class uses what it leaves. */
const aims = { urgent: 1, normal: 0.95, bulk: 0.8 } as const satisfies Record<Priority, number>;

/** A rate changes at most once in this time, and only by calls that were sent since the last change. */
const changeMs = 1_000;
/** This share of the grant is added with each change: it equalizes the rates of containers. */
const eveningShare = 0.005;
/** A container's first rate, as a share of the grant. */
const firstShare = 0.05;
/** The share of the budget that may go at once after a pause. */
const burstShare = 0.002;
/** The share of the budget that is kept for calls under way, and for the further calls of a message. */
const marginShare = 0.004;
/** No rate falls below this, in calls a second: some call must find out when more is granted. */
const leastRate = 0.05;
/** Without headers: the rate grows by this many calls a second each second, and doubles each minute without a refusal. */
const growth = 0.02;
/** One refusal leaves at least this part of a rate: another client may have caused it, such as a new container. */
const leastPart = 0.7;
/** In calls a second. A doubling rate that is refused above this was too high. */
const soughtRate = 8;
/** Whatever the platform asks for, one call asks again after this time. */
const maxClosedMs = 120_000;
const usualWindowMs = 60_000;
const unlimited = Number.POSITIVE_INFINITY;
/** The headers of a longer call are of no use: it is unknown when within the call they were made. */
const maxCallMs = 20_000;
/** So many answers in a row, sent after a window was told, end it if they tell an earlier end: one may be of another server. */
const contradictions = 2;
/** One answer may raise the cost of a call to this multiple at most, and the first one to this many credits. */
const [maxCostFactor, maxFirstCost] = [2, 1_000];
/** Delay between single calls while the platform is down: the least and the most. */
const [leastBrakeMs, maxBrakeMs] = [100, 5_000];

/** The calls of one class. */
type Lane = {
  /** Credits a second; Infinity while nothing limits it. */
  rate: number;
  credits: number;
  atMs: number;
  /** A call has waited since the rate changed. */
  wanted: boolean;
  /** Credits spent since the rate changed. */
  spent: number;
  /** Without headers: it doubles until the next refusal, because the limit is not known yet. */
  seeks: boolean;
};

/** The budget from one renewal to the next. */
type Window = Omit<Budget, 'cost'> & {
  lengthMs: number;
  /** When the platform reported what remains. */
  toldMs: number;
  /** When it first reported this window. */
  heardMs: number;
  /** Number of later answers in a row that report an earlier end. */
  contradicted: number;
  /** The rate at which all clients together spend the budget, in credits a second. */
  speed: number;
  /** From the first call that was sent after the last change. */
  base?: { remaining: number; toldMs: number } | undefined;
};

/**
 * Decides when a call may go, only by the answers to its own container. The remaining budget falls at the speed of all clients
 * together, so each container scales its rates by the grant divided by the observed speed. Without headers, rates grow slowly and
 * fall with each refusal.
 */
export const createPacer = ({ callsPerMinute, containers = 1, random = Math.random }: PacerOptions = {}) => {
  const maxRate = callsPerMinute === undefined ? unlimited : callsPerMinute / 60;
  const lanes = new Map<Priority, Lane>();
  let window: Window | undefined;
  let cost = 1;
  let isHeard = false;
  let [wentMs, changedMs, refusedMs, takenMs] = [-unlimited, -unlimited, -unlimited, -unlimited];
  let closedUntilMs = -unlimited;
  let isRefused = false;
  /** 1 if the platform rounds its seconds down, which a 0 shows. */
  let missingSeconds = 0;
  let brakeMs = 0;
  let felt = { sinceMs: 0, down: 0, up: 0 };

  const burst = (): number => Math.max(cost, (window?.budget ?? 0) * burstShare);
  const withinBounds = (rate: number): number =>
    Math.min(Math.max(rate, leastRate * cost), window ? unlimited : (maxRate * cost) / containers);

  /** The remaining budget by now, from the last answer and the speed since. */
  const left = ({ remaining, toldMs, speed, budget, lengthMs }: Window, nowMs: number): number =>
    remaining - Math.min(speed / 1_000, (2 * budget) / lengthMs) * Math.min(3 * changeMs, nowMs - toldMs);

  /** Credits that are not spent. */
  const reserve = ({ budget, lengthMs }: Window): number =>
    Math.max(budget * marginShare, budget - (maxRate * cost * lengthMs) / 1_000);

  /** The rate in credits a second at which the remainder lasts until the window ends. */
  const granted = (of: Window, nowMs: number): number => {
    const spendable = Math.max(0, left(of, nowMs) - reserve(of));
    const even = spendable / Math.max(changeMs / 2, of.endsMs - nowMs);
    return 1_000 * Math.min(even, (2 * of.budget) / of.lengthMs);
  };

  const firstRate = (nowMs: number): number =>
    withinBounds(window ? granted(window, nowMs) * firstShare : refusedMs < 0 ? unlimited : cost);

  const change = (nowMs: number, rateOf: (lane: Lane, priority: Priority) => number): void => {
    for (const [priority, lane] of lanes)
      Object.assign(lane, { rate: withinBounds(rateOf(lane, priority)), wanted: false, spent: 0 });
    changedMs = nowMs;
    if (window) window.base = undefined;
  };

  /**
   * Random, so that containers do not open again at the same time. What is in store is lost, but credits accrue while it is closed, up
   * to a burst: beside a client that spends each budget as soon as it is renewed, one that has to wait first gets none of it.
   */
  const close = (untilMs: number, nowMs: number): void => {
    closedUntilMs = Math.max(closedUntilMs, Math.min(untilMs, nowMs + maxClosedMs) + random() * 1_000);
    for (const lane of lanes.values()) lane.credits = -random() * cost;
  };

  /** Later answers that report an earlier end show that the window was reported wrongly: nothing that followed from it holds. */
  const endIfContradicted = (sentMs: number, endsMs: number): void => {
    if (window === undefined || sentMs <= window.heardMs || endsMs >= window.endsMs) return;
    window.contradicted += 1;
    if (window.contradicted < contradictions) return;
    window = undefined;
    lanes.clear();
    if (!isRefused) closedUntilMs = -unlimited;
  };

  /** The window that an answer reports; undefined if it is an older one. */
  const windowOf = ({ sentMs, remaining = 0, resetSeconds = 0 }: Answered, nowMs: number) => {
    const toldMs = (sentMs + nowMs) / 2;
    const lastsMs = (resetSeconds + missingSeconds) * 1_000;
    const endsMs = toldMs + lastsMs;
    const toleranceMs = 1_500 + (nowMs - sentMs) / 2;
    endIfContradicted(sentMs, endsMs + toleranceMs);
    if (window === undefined || endsMs > window.endsMs + toleranceMs) {
      const { budget: last = 0, speed = 0 } = window ?? {};
      // Between the ends of two windows lie one or more of them.
      const known = window ? Math.min(window.lengthMs, endsMs - window.endsMs) : usualWindowMs;
      const lengthMs = Math.max(known, lastsMs);
      // Others may have spent some already: the budget stays as it was, unless that is impossible.
      const isHalved = lastsMs > 0.8 * lengthMs && remaining < 0.7 * last;
      const budget = isHalved ? remaining : Math.max(remaining, 0.98 * last);
      return { budget, lengthMs, endsMs, remaining, toldMs, speed, heardMs: nowMs, contradicted: 0 };
    }
    if (endsMs < window.endsMs - toleranceMs) return undefined;
    window.contradicted = 0;
    window.endsMs += (endsMs - window.endsMs) / 8;
    const isNewer = remaining < window.remaining || sentMs > window.toldMs;
    return isNewer ? Object.assign(window, { remaining, toldMs }) : window;
  };

  /** With headers: keeps to their grant. */
  const follow = (answer: Answered, nowMs: number): void => {
    const told = nowMs - answer.sentMs > maxCallMs ? undefined : windowOf(answer, nowMs);
    if (told === undefined) return;
    window = told;
    for (const lane of lanes.values()) if (lane.rate === unlimited) lane.rate = firstRate(nowMs);
    if (answer.sentMs < changedMs) return;
    const { base, remaining, toldMs } = window;
    if (base === undefined) window.base = { remaining, toldMs };
    else if (toldMs - base.toldMs >= changeMs) {
      const speed = (1_000 * Math.max(0, base.remaining - remaining)) / (toldMs - base.toldMs);
      window.speed = speed;
      const rate = granted(window, nowMs);
      change(nowMs, (lane, priority) => {
        const factor = Math.min(2, Math.max(0.25, (aims[priority] * rate) / (speed || Number.MIN_VALUE)));
        return lane.wanted || factor < 1 ? lane.rate * factor + eveningShare * rate : lane.rate;
      });
    }
  };

  /** Without headers, an unused rate does not grow, and a hardly used one does not fall. */
  const usedPart = ({ spent, rate }: Lane, nowMs: number): number =>
    (spent * 1_000) / (rate * Math.max(1, nowMs - Math.max(changedMs, closedUntilMs)));

  /** Without headers: after a refusal, a rate doubles until the next one, and grows slowly from then on. */
  const seek = ({ sentMs }: Answered, nowMs: number): void => {
    if (window && nowMs > window.endsMs + window.lengthMs) {
      window = undefined;
      for (const lane of lanes.values()) lane.rate = firstRate(nowMs);
    }
    if (window || refusedMs < 0 || sentMs < changedMs || nowMs - changedMs < changeMs) return;
    const quietMinutes = Math.floor((nowMs - refusedMs) / usualWindowMs);
    const perSecond = growth * 2 ** Math.min(8, Math.max(0, quietMinutes - 1));
    const more = (perSecond * (nowMs - changedMs)) / 1_000;
    change(nowMs, (lane) => {
      if (usedPart(lane, nowMs) <= 0.5) return lane.rate;
      return lane.seeks ? lane.rate * 2 : lane.rate + more;
    });
  };

  const refuse = ({ sentMs, retryAfterSeconds, resetSeconds }: Answered, nowMs: number): void => {
    const askedMs = (Math.max(1, retryAfterSeconds ?? resetSeconds ?? 1) + missingSeconds) * 1_000;
    // Of all calls that were under way together, the first counts.
    if (sentMs >= refusedMs) {
      // A budget that ends early was spent too fast by this factor.
      const part = window ? 0.9 : 0.94 * Math.max(leastPart, Math.min(1, 1 - askedMs / usualWindowMs));
      change(nowMs, (lane) => {
        const { rate, seeks } = lane;
        if (rate === unlimited) return cost;
        if (window) return rate * part;
        if (usedPart(lane, nowMs) < 0.25) return rate;
        if (rate > soughtRate * cost) lane.seeks = false;
        return Math.max(cost / 4, rate * (seeks ? 0.5 : part));
      });
      refusedMs = nowMs;
    }
    isRefused = true;
    close(nowMs + askedMs, nowMs);
  };

  /** If most calls of a second find the platform, or a proxy before it, down, the next go slower. */
  const feel = ({ status = 504, sentMs }: Answered, nowMs: number): void => {
    felt[status >= 502 && status <= 504 ? 'down' : 'up'] += 1;
    if (sentMs < felt.sinceMs || nowMs - felt.sinceMs < changeMs) return;
    brakeMs = felt.down > felt.up ? Math.max(leastBrakeMs, brakeMs * 2) : brakeMs / 2;
    brakeMs = brakeMs < leastBrakeMs ? 0 : Math.min(maxBrakeMs, brakeMs);
    felt = { sinceMs: nowMs, down: 0, up: 0 };
  };

  /** Milliseconds for which the gate is closed to all classes. */
  const closedForMs = (nowMs: number): number => {
    if (nowMs < closedUntilMs) return closedUntilMs - nowMs;
    isRefused = false;
    // Before the first answer, one call a second goes: the others wait for what it learns.
    const apartMs = isHeard ? brakeMs : changeMs;
    if (nowMs - wentMs < apartMs) return wentMs + apartMs - nowMs;
    if (window === undefined || nowMs >= window.endsMs) return 0;
    const margin = reserve(window);
    if (window.remaining < margin) close(window.endsMs, nowMs);
    if (nowMs < closedUntilMs) return closedUntilMs - nowMs;
    return left(window, nowMs) < margin ? Math.min(changeMs / 4, window.endsMs - nowMs) : 0;
  };

  const laneOf = (priority: Priority, nowMs: number): Lane => {
    const known = lanes.get(priority);
    if (known) return known;
    const begin = { rate: firstRate(nowMs), credits: burst() * random(), atMs: nowMs };
    const lane = { ...begin, wanted: false, spent: 0, seeks: true };
    lanes.set(priority, lane);
    return lane;
  };

  const spend = (lane: Lane): void => {
    lane.credits -= cost;
    lane.spent += cost;
  };

  return {
    /** Milliseconds until a call of this class may go; 0: it goes now, and is charged. */
    take: (priority: Priority, nowMs: number): number => {
      // The clock was set back: no known time holds. But that there was a refusal does: without one, rates are unlimited.
      if (nowMs < takenMs - maxCallMs) {
        [closedUntilMs, wentMs, changedMs, window] = [-unlimited, -unlimited, -unlimited, undefined];
        refusedMs = Math.min(refusedMs, nowMs);
        felt = { sinceMs: nowMs, down: 0, up: 0 };
      }
      takenMs = nowMs;
      const lane = isHeard ? laneOf(priority, nowMs) : undefined;
      let waitMs = closedForMs(nowMs);
      if (waitMs === 0 && lane && lane.rate < unlimited) {
        lane.credits = Math.min(burst(), lane.credits + (lane.rate * Math.max(0, nowMs - lane.atMs)) / 1_000);
        lane.atMs = nowMs;
        if (lane.credits >= cost) spend(lane);
        else waitMs = Math.max(1, ((cost - lane.credits) * 1_000) / lane.rate);
      }
      if (waitMs === 0) wentMs = nowMs;
      else if (lane) lane.wanted = true;
      return waitMs;
    },
    /**
     * Charges a class, if given, with a call that does not wait. Returns the milliseconds for which the platform takes none,
     * because it refused one.
     */
    charge: (priority: Priority | undefined, nowMs: number): number => {
      if (isRefused && nowMs < closedUntilMs) return closedUntilMs - nowMs;
      if (isHeard && priority) spend(laneOf(priority, nowMs));
      return 0;
    },
    /** Call this if a taken turn was not used. */
    giveBack: (priority: Priority): void => {
      const lane = lanes.get(priority);
      if (lane) lane.credits += cost;
      wentMs = -unlimited;
    },
    learn: (answer: Answered, nowMs: number): void => {
      const { status, remaining, resetSeconds } = answer;
      if (answer.cost !== undefined)
        cost = isHeard
          ? cost + (Math.min(answer.cost, maxCostFactor * cost) - cost) / 8
          : Math.min(answer.cost, maxFirstCost);
      isHeard = true;
      if (resetSeconds === 0) missingSeconds = 1;
      feel(answer, nowMs);
      if (remaining !== undefined && resetSeconds !== undefined) follow(answer, nowMs);
      if (status === 429 || (status === 503 && answer.retryAfterSeconds !== undefined)) refuse(answer, nowMs);
      else if (remaining === undefined || resetSeconds === undefined) seek(answer, nowMs);
    },
    budget: (): Budget | undefined => window && { ...window, cost },
  };
};
