/** Which calls go first where not all can go at once. */
export const priorities = ['urgent', 'normal', 'bulk'] as const;
export type Priority = (typeof priorities)[number];

/** What the answer to one call tells of the pace. Headers that are missing or make no sense are undefined. */
export type Answered = {
  sentMs: number;
  /** Undefined where no answer came. */
  status: number | undefined;
  /** Credits left to all clients together until the window ends: `X-Rate-Limit-Remaining`. */
  remaining?: number | undefined;
  /** Until the window ends: `X-Rate-Limit-Reset`. */
  resetSeconds?: number | undefined;
  /** Credits that the call took: `X-Request-Cost`. */
  cost?: number | undefined;
  retryAfterSeconds?: number | undefined;
};

/** What is known of the platform's budget, in credits. */
export type Budget = { budget: number; remaining: number; endsMs: number; cost: number };

export type PacerOptions = {
  /** At most so many calls a minute, of all clients together. Default: as many as the platform grants. */
  callsPerMinute?: number | undefined;
  /** From 0 to 1. */
  random?: () => number;
};

/** Of what the platform grants, the part that a class aims at. A more urgent class grows into what the others leave. */
const aims = { urgent: 1, normal: 0.95, bulk: 0.8 } as const satisfies Record<Priority, number>;

/** A rate changes at most so often, and only by what was sent since it did. */
const changeMs = 1_000;
/** With each change, so much of what is granted is added to every rate: this evens them out between containers. */
const eveningShare = 0.005;
/** With so much of what is granted a container begins. */
const firstShare = 0.05;
/** So much of the budget may go at once after a pause. */
const burstShare = 0.002;
/** So much of the budget is left alone: for what is under way, and for the further calls of a message. */
const marginShare = 0.004;
/** Calls a second below which no rate falls: somebody has to find out when there is more. */
const leastRate = 0.05;
/** Without headers, so many calls a second more with each second; twice as many with each minute without a refusal. */
const growth = 0.02;
const maxDoublings = 8;
/** One refusal takes no more from a rate: it may be another's doing, such as a new container's. */
const leastPart = 0.7;
/** Calls a second from which on a rate that doubles has shown that it was too high. */
const soughtRate = 8;
/** Whatever the platform asks for, one call asks again after this time. */
const maxClosedMs = 120_000;
const usualWindowMs = 60_000;
/** Calls that find the platform down come one by one, this far apart at most. */
const maxBrakeMs = 5_000;
const firstBrakeMs = 100;

type Lane = {
  /** Credits a second; Infinity as long as nothing limits it. */
  rate: number;
  credits: number;
  atMs: number;
  /** A call has waited since the rate changed. */
  wanted: boolean;
  /** Credits since the rate changed. */
  spent: number;
  /** Without headers: nobody knows yet how high the rate may be, and it doubles until the next refusal. */
  seeks: boolean;
};

/** The budget, from one renewal to the next. */
type Window = {
  budget: number;
  lengthMs: number;
  endsMs: number;
  remaining: number;
  /** When the platform told what remains. */
  toldMs: number;
  /** At which all clients together spend it, in credits a second. */
  speed: number;
  /** What remained by the first answer to a call that was sent after the last change. */
  base: { remaining: number; toldMs: number } | undefined;
};

type Told = { sentMs: number; remaining: number; resetSeconds: number };

/**
 * Tells when a call may go, by nothing but the answers that its own container got. What remains of the budget falls at the speed
 * of all clients together: each container scales its rates by what is granted over what it sees.
 */
export const createPacer = ({ callsPerMinute, random = Math.random }: PacerOptions = {}) => {
  const lanes = new Map<Priority, Lane>();
  let window: Window | undefined;
  let knownCost: number | undefined;
  /** 1 where the platform rounds its seconds down, which a 0 tells: a window ends later then than it says. */
  let missingSeconds = 0;
  /** Before the first answer, one call a second goes: the others wait for what it learns. */
  let isHeard = false;
  let firstAskedMs = Number.NEGATIVE_INFINITY;
  let changedMs = Number.NEGATIVE_INFINITY;
  let closedUntilMs = 0;
  let isRefused = false;
  let refusedMs = Number.NEGATIVE_INFINITY;
  let brake = { ms: 0, changedMs: 0, down: 0, up: 0, wentMs: 0 };

  const cost = (): number => knownCost ?? 1;
  const burst = (): number => Math.max(cost(), (window?.budget ?? 0) * burstShare);

  /** Credits that are left by now, as far as the last answer and the speed since tell. */
  const left = ({ remaining, toldMs, speed, budget, lengthMs }: Window, nowMs: number): number => {
    const plausible = Math.min(speed, (2_000 * budget) / lengthMs);
    return remaining - (plausible * Math.min(3 * changeMs, nowMs - toldMs)) / 1_000;
  };

  /** Credits that are left alone: a margin, and what the cap of our own forbids. */
  const reserve = ({ budget, lengthMs }: Window): number => {
    const capped = ((callsPerMinute ?? Number.POSITIVE_INFINITY) * cost() * lengthMs) / usualWindowMs;
    return Math.max(budget * marginShare, budget - capped);
  };

  /** Credits a second with which what is left lasts until the window ends. */
  const granted = (of: Window, nowMs: number): number => {
    const spendable = Math.max(0, left(of, nowMs) - reserve(of));
    const perMs = Math.min(
      spendable / Math.max(changeMs / 2, of.endsMs - nowMs),
      (2 * of.budget) / of.lengthMs,
    );
    return perMs * 1_000;
  };

  const firstRate = (nowMs: number): number =>
    window === undefined
      ? refusedMs === Number.NEGATIVE_INFINITY
        ? Number.POSITIVE_INFINITY
        : cost()
      : Math.max(leastRate * cost(), granted(window, nowMs) * firstShare);

  const laneOf = (priority: Priority, nowMs: number): Lane => {
    const known = lanes.get(priority);
    if (known) return known;
    const lane = {
      rate: firstRate(nowMs),
      credits: burst() * random(),
      atMs: nowMs,
      wanted: false,
      spent: 0,
      seeks: true,
    };
    lanes.set(priority, lane);
    return lane;
  };

  const change = (nowMs: number, rateOf: (lane: Lane, priority: Priority) => number): void => {
    for (const [priority, lane] of lanes) {
      lane.rate = Math.max(leastRate * cost(), rateOf(lane, priority));
      lane.wanted = false;
      lane.spent = 0;
    }
    changedMs = nowMs;
    if (window) window.base = undefined;
  };

  /** The part of its rate that a lane has used: what is not used does not grow, and what is hardly used does not fall. */
  const usedPart = ({ spent, rate }: Lane, nowMs: number): number =>
    (spent * 1_000) / (rate * Math.max(1, nowMs - Math.max(changedMs, closedUntilMs)));

  /** No two containers open again at the same time, nor with a burst. */
  const close = (untilMs: number, nowMs: number): void => {
    const openMs = Math.min(untilMs, nowMs + maxClosedMs) + random() * 1_000;
    if (openMs > closedUntilMs) closedUntilMs = openMs;
    for (const lane of lanes.values()) lane.credits = -random() * cost();
  };

  /** The window that an answer tells of; undefined where it is over, and its answer has come late. */
  const windowOf = ({ sentMs, remaining, resetSeconds }: Told, nowMs: number): Window | undefined => {
    const toldMs = (sentMs + nowMs) / 2;
    const lastsMs = (resetSeconds + missingSeconds) * 1_000;
    const endsMs = toldMs + lastsMs;
    const toleranceMs = 1_500 + (nowMs - sentMs) / 2;
    if (window === undefined || endsMs > window.endsMs + toleranceMs) {
      const { lengthMs: known = usualWindowMs, budget: last = 0, speed = 0 } = window ?? {};
      const lengthMs = Math.max(known, lastsMs);
      // Others may have spent of it already: what it was before counts, as long as it may still be that.
      const before = lastsMs > 0.8 * lengthMs ? (remaining < 0.7 * last ? 0 : 0.98 * last) : last;
      const budget = Math.max(remaining, before);
      return { budget, lengthMs, endsMs, remaining, toldMs, speed, base: undefined };
    }
    if (endsMs < window.endsMs - toleranceMs) return undefined;
    window.endsMs += (endsMs - window.endsMs) / 8;
    return remaining < window.remaining || sentMs > window.toldMs
      ? Object.assign(window, { remaining, toldMs })
      : window;
  };

  /** With headers: keeps to what they grant. */
  const follow = (told: Told, nowMs: number): void => {
    const current = windowOf(told, nowMs);
    if (current === undefined) return;
    window = current;
    for (const lane of lanes.values())
      if (lane.rate === Number.POSITIVE_INFINITY) lane.rate = firstRate(nowMs);
    if (told.sentMs < changedMs) return;
    const { base, remaining, toldMs } = current;
    current.base ??= { remaining, toldMs };
    const sinceMs = base ? toldMs - base.toldMs : 0;
    if (base === undefined || sinceMs < changeMs) return;
    current.speed = (Math.max(0, base.remaining - remaining) * 1_000) / sinceMs;
    const allowed = granted(current, nowMs);
    change(nowMs, ({ rate, wanted }, priority) => {
      const factor = Math.min(
        2,
        Math.max(0.25, (aims[priority] * allowed) / Math.max(current.speed, Number.MIN_VALUE)),
      );
      return wanted || factor < 1 ? rate * factor + eveningShare * allowed : rate;
    });
  };

  /** Without headers: rates double until the first refusal, and grow slowly afterwards. */
  const seek = ({ sentMs }: Answered, nowMs: number): void => {
    if (refusedMs === Number.NEGATIVE_INFINITY || sentMs < changedMs || nowMs - changedMs < changeMs) return;
    const minutes = Math.floor((nowMs - refusedMs) / usualWindowMs);
    const more =
      (growth * 2 ** Math.min(maxDoublings, Math.max(0, minutes - 1)) * (nowMs - changedMs)) / 1_000;
    change(nowMs, (lane) =>
      usedPart(lane, nowMs) > 0.5 ? (lane.seeks ? lane.rate * 2 : lane.rate + more) : lane.rate,
    );
  };

  const refuse = ({ sentMs, retryAfterSeconds, resetSeconds }: Answered, nowMs: number): void => {
    const askedMs = ((retryAfterSeconds ?? resetSeconds ?? 1) + missingSeconds) * 1_000;
    // Of all that was refused at once, the first is counted.
    if (sentMs >= refusedMs) {
      // A budget that was gone early was spent that much too fast.
      const spentIn = Math.max(leastPart, Math.min(1, 1 - askedMs / usualWindowMs));
      const part = window ? 0.9 : 0.94 * spentIn;
      change(nowMs, (lane) => {
        const { rate, seeks } = lane;
        if (rate === Number.POSITIVE_INFINITY) return cost();
        if (window) return rate * part;
        if (usedPart(lane, nowMs) < 0.25) return rate;
        if (rate > soughtRate * cost()) lane.seeks = false;
        return Math.max(cost() / 4, rate * (seeks ? 0.5 : part));
      });
      refusedMs = nowMs;
    }
    isRefused = true;
    close(nowMs + askedMs, nowMs);
  };

  /** The platform, or what is before it, is down: most calls of a second find nobody. */
  const feel = ({ status, sentMs }: Answered, nowMs: number): void => {
    if (status === undefined || (status >= 502 && status <= 504)) brake.down += 1;
    else brake.up += 1;
    if (nowMs - brake.changedMs < changeMs || sentMs < brake.changedMs) return;
    const isDown = brake.down > brake.up;
    const ms = isDown ? Math.min(maxBrakeMs, Math.max(firstBrakeMs, brake.ms * 2)) : brake.ms / 2;
    brake = { ms: ms < firstBrakeMs ? 0 : ms, changedMs: nowMs, down: 0, up: 0, wentMs: brake.wentMs };
  };

  const closedForMs = (nowMs: number): number => {
    if (nowMs < closedUntilMs) return closedUntilMs - nowMs;
    isRefused = false;
    if (!isHeard) return Math.max(0, firstAskedMs + 1_000 - nowMs);
    if (nowMs - brake.wentMs < brake.ms) return brake.wentMs + brake.ms - nowMs;
    if (window === undefined || nowMs >= window.endsMs) return 0;
    const margin = reserve(window);
    if (window.remaining < margin) {
      close(window.endsMs, nowMs);
      return closedUntilMs - nowMs;
    }
    return left(window, nowMs) < margin ? Math.min(changeMs / 4, window.endsMs - nowMs) : 0;
  };

  return {
    /** Milliseconds until a call of this class may go; 0: it goes now, and is charged. */
    take: (priority: Priority, nowMs: number): number => {
      const closedMs = closedForMs(nowMs);
      if (closedMs > 0) {
        const lane = lanes.get(priority);
        if (lane) lane.wanted = true;
        return closedMs;
      }
      if (!isHeard) firstAskedMs = nowMs;
      brake.wentMs = nowMs;
      if (!isHeard) return 0;
      const lane = laneOf(priority, nowMs);
      if (lane.rate === Number.POSITIVE_INFINITY) return 0;
      lane.credits = Math.min(burst(), lane.credits + (lane.rate * (nowMs - lane.atMs)) / 1_000);
      lane.atMs = nowMs;
      if (lane.credits < cost()) {
        lane.wanted = true;
        return Math.max(1, ((cost() - lane.credits) * 1_000) / lane.rate);
      }
      lane.credits -= cost();
      lane.spent += cost();
      return 0;
    },
    /** Charges a call that does not wait. Milliseconds until the platform, which has refused a call, takes one again. */
    charge: (priority: Priority, nowMs: number): number => {
      if (isRefused && nowMs < closedUntilMs) return closedUntilMs - nowMs;
      const lane = lanes.get(priority);
      if (lane) lane.credits -= cost();
      return 0;
    },
    /** What was taken is not used. */
    giveBack: (priority: Priority): void => {
      const lane = lanes.get(priority);
      if (lane) lane.credits += cost();
    },
    learn: (answer: Answered, nowMs: number): void => {
      isHeard = true;
      const { remaining, resetSeconds, status, sentMs } = answer;
      if (answer.cost !== undefined)
        knownCost = knownCost === undefined ? answer.cost : knownCost + (answer.cost - knownCost) / 8;
      feel(answer, nowMs);
      if (resetSeconds === 0) missingSeconds = 1;
      if (remaining !== undefined && resetSeconds !== undefined)
        follow({ sentMs, remaining, resetSeconds }, nowMs);
      else if (window === undefined && status !== undefined && status !== 429) seek(answer, nowMs);
      if (status === 429 || (status === 503 && answer.retryAfterSeconds !== undefined)) refuse(answer, nowMs);
    },
    /** As the last answers told it; undefined where they did not. */
    budget: (): Budget | undefined =>
      window && { budget: window.budget, remaining: window.remaining, endsMs: window.endsMs, cost: cost() },
  };
};

export type Pacer = ReturnType<typeof createPacer>;
