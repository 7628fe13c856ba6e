import type { Priority } from '../../../message/priority.ts';
import type { Budget } from '../../../runtime/telemetry/call-budget.ts';

/** What one answer tells of the pace. Undefined: no answer came, or its headers are missing or make no sense. */
export type Answered = {
  sentMs: number;
  status: number | undefined;
  /** Credits that are left to all clients together, until the window ends, and how many the call took. */
  remaining?: number | undefined;
  resetSeconds?: number | undefined;
  cost?: number | undefined;
  retryAfterSeconds?: number | undefined;
};

export type PacerOptions = {
  /** At most so many calls a minute of all clients together. Default: what the platform grants. */
  callsPerMinute?: number | undefined;
  /** How many containers share `callsPerMinute` evenly where the platform tells no budget. */
  containers?: number | undefined;
  random?: () => number;
};

/** Of what the platform grants, the part that a class aims at. A more urgent class grows into what it leaves. */
const aims = { urgent: 1, normal: 0.95, bulk: 0.8 } as const satisfies Record<Priority, number>;

/** A rate changes at most so often, and only by calls that were sent since it did. */
const changeMs = 1_000;
/** So much of what is granted is added with each change: this evens out the rates of containers. */
const eveningShare = 0.005;
/** So much of what is granted is a container's first rate. */
const firstShare = 0.05;
/** So much of the budget may go at once after a pause. */
const burstShare = 0.002;
/** So much of the budget is left: for what is under way, and for the further calls of a message. */
const marginShare = 0.004;
/** No rate falls below, in calls a second: somebody has to find out when there is more. */
const leastRate = 0.05;
/** Without headers: so many calls a second more with each second, and twice as many with each minute without a refusal. */
const growth = 0.02;
/** One refusal takes no more of a rate: it may be another’s doing, such as a new container’s. */
const leastPart = 0.7;
/** In calls a second. A rate that doubles and is refused above this was too high. */
const soughtRate = 8;
/** Whatever the platform asks for, one call asks again after this time. */
const maxClosedMs = 120_000;
const usualWindowMs = 60_000;
const unlimited = Number.POSITIVE_INFINITY;
/** At some time within a call that takes longer, its headers were told: they are of no use. */
const maxCallMs = 20_000;
/** Where the platform is down, calls go one by one, so far apart at most. */
const [leastBrakeMs, maxBrakeMs] = [100, 5_000];

/** The calls of one class. */
type Lane = {
  /** Credits a second; Infinity as long as nothing limits it. */
  rate: number;
  credits: number;
  atMs: number;
  /** A call has waited since the rate changed. */
  wanted: boolean;
  /** Credits since the rate changed. */
  spent: number;
  /** Without headers: it doubles until the next refusal, as nobody knows yet how high it may be. */
  seeks: boolean;
};

/** The budget from one renewal to the next. */
type Window = Omit<Budget, 'cost'> & {
  lengthMs: number;
  /** When the platform told what remains. */
  toldMs: number;
  /** At which all clients together spend it, in credits a second. */
  speed: number;
  /** What the first call told that was sent after the last change. */
  base?: { remaining: number; toldMs: number } | undefined;
};

/**
 * Tells when a call may go, by the answers to its own container alone. What remains of the budget falls at the speed of all clients
 * together, so each container scales its rates by what is granted over what it sees. Without headers, rates grow slowly and fall
 * with each refusal.
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
  /** 1 where the platform rounds its seconds down, as a 0 tells. */
  let missingSeconds = 0;
  let brakeMs = 0;
  let felt = { sinceMs: 0, down: 0, up: 0 };

  const burst = (): number => Math.max(cost, (window?.budget ?? 0) * burstShare);
  const withinBounds = (rate: number): number =>
    Math.min(Math.max(rate, leastRate * cost), window ? unlimited : (maxRate * cost) / containers);

  /** What is left by now, as far as the last answer and the speed since tell. */
  const left = ({ remaining, toldMs, speed, budget, lengthMs }: Window, nowMs: number): number =>
    remaining - Math.min(speed / 1_000, (2 * budget) / lengthMs) * Math.min(3 * changeMs, nowMs - toldMs);

  /** Credits that are left alone. */
  const reserve = ({ budget, lengthMs }: Window): number =>
    Math.max(budget * marginShare, budget - (maxRate * cost * lengthMs) / 1_000);

  /** Credits a second with which what is left lasts until the window ends. */
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

  /** No two containers open again at the same time, nor with a burst. */
  const close = (untilMs: number, nowMs: number): void => {
    closedUntilMs = Math.max(closedUntilMs, Math.min(untilMs, nowMs + maxClosedMs) + random() * 1_000);
    for (const lane of lanes.values()) lane.credits = -random() * cost;
  };

  /** The window that an answer tells of; undefined where it tells of an older one. */
  const windowOf = ({ sentMs, remaining = 0, resetSeconds = 0 }: Answered, nowMs: number) => {
    const toldMs = (sentMs + nowMs) / 2;
    const lastsMs = (resetSeconds + missingSeconds) * 1_000;
    const endsMs = toldMs + lastsMs;
    const toleranceMs = 1_500 + (nowMs - sentMs) / 2;
    if (window === undefined || endsMs > window.endsMs + toleranceMs) {
      const { budget: last = 0, speed = 0 } = window ?? {};
      // Between the ends of two windows lie one or more of them.
      const known = window ? Math.min(window.lengthMs, endsMs - window.endsMs) : usualWindowMs;
      const lengthMs = Math.max(known, lastsMs);
      // Others may have spent of it already: it is what it was before, unless it cannot be.
      const isHalved = lastsMs > 0.8 * lengthMs && remaining < 0.7 * last;
      const budget = isHalved ? remaining : Math.max(remaining, 0.98 * last);
      return { budget, lengthMs, endsMs, remaining, toldMs, speed };
    }
    if (endsMs < window.endsMs - toleranceMs) return undefined;
    window.endsMs += (endsMs - window.endsMs) / 8;
    const isNewer = remaining < window.remaining || sentMs > window.toldMs;
    return isNewer ? Object.assign(window, { remaining, toldMs }) : window;
  };

  /** With headers: keeps to what they grant. */
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

  /** Without headers, what is not used does not grow, and what is hardly used does not fall. */
  const usedPart = ({ spent, rate }: Lane, nowMs: number): number =>
    (spent * 1_000) / (rate * Math.max(1, nowMs - Math.max(changedMs, closedUntilMs)));

  /** Without headers: once a call was refused, a rate doubles until the next one is, and grows slowly from then on. */
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
    // Of all that were under way at once, the first counts.
    if (sentMs >= refusedMs) {
      // A budget that ends early was spent so much too fast.
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

  /** Where most calls of a second find the platform, or what stands before it, down, the next go slower. */
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
      // The clock was set back: nothing that is known of times holds.
      if (nowMs < takenMs - maxCallMs)
        [closedUntilMs, wentMs, changedMs, window] = [-unlimited, -unlimited, -unlimited, undefined];
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
    /** Charges a class, if any, with a call that does not wait. Milliseconds for which the platform takes none, as it refused one. */
    charge: (priority: Priority | undefined, nowMs: number): number => {
      if (isRefused && nowMs < closedUntilMs) return closedUntilMs - nowMs;
      if (isHeard && priority) spend(laneOf(priority, nowMs));
      return 0;
    },
    /** What was taken was not used. */
    giveBack: (priority: Priority): void => {
      const lane = lanes.get(priority);
      if (lane) lane.credits += cost;
      wentMs = -unlimited;
    },
    learn: (answer: Answered, nowMs: number): void => {
      const { status, remaining, resetSeconds } = answer;
      if (answer.cost !== undefined) cost += (answer.cost - cost) * (isHeard ? 1 / 8 : 1);
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
