/** Without headers: the rate grows by this many calls a second each second, and doubles each minute without a refusal. */
const growth = 0.02;
/** In calls a second. A doubling rate that is refused above this was too high. */
const doubledRate = 8;

type TimeSpan = { sinceMs: number; nowMs: number };

/** The rate of the calls of one class, and the credits that it has saved up. */
export class AdaptiveRate {
  /** Credits a second; Infinity while nothing limits it. */
  perSecond: number;
  credits: number;
  /** A call has waited since the rate changed. */
  hasWaited = false;
  #accruedMs: number;
  /** Credits spent since the rate changed. */
  #spent = 0;
  /** Without headers: it doubles until the next refusal, because the limit is not known yet. */
  #doubles = true;

  constructor({ perSecond, credits, nowMs }: { perSecond: number; credits: number; nowMs: number }) {
    this.perSecond = perSecond;
    this.credits = credits;
    this.#accruedMs = nowMs;
  }

  /** Milliseconds until a call may go; 0: it goes now, and is charged. `most`: credits that can be saved up. */
  take({ cost, most, nowMs }: { cost: number; most: number; nowMs: number }): number {
    if (this.perSecond === Number.POSITIVE_INFINITY) return 0;
    const accrued = (this.perSecond * Math.max(0, nowMs - this.#accruedMs)) / 1_000;
    this.credits = Math.min(most, this.credits + accrued);
    this.#accruedMs = nowMs;
    if (this.credits < cost) return Math.max(1, ((cost - this.credits) * 1_000) / this.perSecond);
    this.charge(cost);
    return 0;
  }

  charge(cost: number): void {
    this.credits -= cost;
    this.#spent += cost;
  }

  set(perSecond: number): void {
    this.perSecond = perSecond;
    this.hasWaited = false;
    this.#spent = 0;
  }

  /** Without headers, an unused rate does not grow, and a hardly used one does not fall. */
  #usedPart({ sinceMs, nowMs }: TimeSpan): number {
    return (this.#spent * 1_000) / (this.perSecond * Math.max(1, nowMs - sinceMs));
  }

  /** Without headers: what it is after a time without a refusal. */
  grown(used: TimeSpan, { seconds, quietMinutes }: { seconds: number; quietMinutes: number }): number {
    if (this.#usedPart(used) <= 0.5) return this.perSecond;
    if (this.#doubles) return this.perSecond * 2;
    return this.perSecond + growth * 2 ** Math.min(8, Math.max(0, quietMinutes - 1)) * seconds;
  }

  /** Without headers: what it is after a refusal. `part`: what remains of a rate that no longer doubles. */
  fallen(used: TimeSpan, { part, cost }: { part: number; cost: number }): number {
    if (this.#usedPart(used) < 0.25) return this.perSecond;
    const remains = this.#doubles ? 0.5 : part;
    if (this.perSecond > doubledRate * cost) this.#doubles = false;
    return Math.max(cost / 4, this.perSecond * remains);
  }
}
