import type { Priority } from '../../message/priority.ts';
import type { Budget } from '../../runtime/telemetry/call-budget.ts';
import { AdaptiveRate } from './adaptive-rate.ts';
import { type AnswerFacts, changeMs, maxCallMs, usualWindowMs } from './answered.ts';
import { HeaderBudget } from './header-budget.ts';
import { OutageBrake } from './outage-brake.ts';

export type RatePolicyOptions = {
  /** Maximum calls a minute of all clients together. Default: what the platform grants. */
  callsPerMinute?: number | undefined;
  /** Number of containers that share `callsPerMinute` evenly if the platform reports no budget. */
  containers?: number | undefined;
  random?: () => number;
};

/** The part of the platform's grant that a class aims at. A more urgent class uses what it leaves. */
const targetShares = { urgent: 1, normal: 0.95, bulk: 0.8 } as const satisfies Record<Priority, number>;

/** This share of the grant is added with each change: it equalizes the rates of containers. */
const equalizingShare = 0.005;
/** A container's first rate, as a share of the grant. */
const firstShare = 0.05;
/** The share of the budget that may go at once after a pause. */
const burstShare = 0.002;
/** No rate falls below this, in calls a second: some call must find out when more is granted. */
const leastRate = 0.05;
/** One refusal leaves at least this part of a rate: another client may have caused it, such as a new container. */
const leastPart = 0.7;
/** Whatever the platform asks for, one call asks again after this time. */
const maxClosedMs = 120_000;
const unlimited = Number.POSITIVE_INFINITY;
/** One answer may raise the cost of a call to this multiple at most, and the first one to this many credits. */
const [maxCostFactor, maxFirstCost] = [2, 1_000];

/**
 * Decides when a call may go, only by the answers to its own container. The remaining budget falls at the speed of all clients
 * together, so each container scales its rates by the grant divided by the observed speed. Without headers, rates grow slowly and
 * fall with each refusal.
 */
export class RatePolicy {
  readonly #maxRate: number;
  readonly #containers: number;
  readonly #random: () => number;
  readonly #budget: HeaderBudget;
  readonly #brake = new OutageBrake();
  readonly #rates = new Map<Priority, AdaptiveRate>();
  /** Credits of one call. */
  #cost = 1;
  #hasAnswer = false;
  #wentMs = -unlimited;
  #changedMs = -unlimited;
  #refusedMs = -unlimited;
  #takenMs = -unlimited;
  #closedUntilMs = -unlimited;
  #isRefused = false;

  constructor({ callsPerMinute, containers = 1, random = Math.random }: RatePolicyOptions = {}) {
    this.#maxRate = callsPerMinute === undefined ? unlimited : callsPerMinute / 60;
    this.#containers = containers;
    this.#random = random;
    this.#budget = new HeaderBudget(this.#maxRate);
  }

  /** Milliseconds until a call of this class may go; 0: it goes now, and is charged. */
  take(priority: Priority, nowMs: number): number {
    if (nowMs < this.#takenMs - maxCallMs) this.#forgetTimes(nowMs);
    this.#takenMs = nowMs;
    const rate = this.#hasAnswer ? this.#rateOf(priority, nowMs) : undefined;
    let waitMs = this.#closedForMs(nowMs);
    if (waitMs === 0 && rate) waitMs = rate.take({ cost: this.#cost, most: this.#burst(), nowMs });
    if (waitMs === 0) this.#wentMs = nowMs;
    else if (rate) rate.hasWaited = true;
    return waitMs;
  }

  /**
   * Charges a class, if given, with a call that does not wait. Returns the milliseconds for which the platform takes none, because it
   * refused one.
   */
  charge(priority: Priority | undefined, nowMs: number): number {
    if (this.#isRefused && nowMs < this.#closedUntilMs) return this.#closedUntilMs - nowMs;
    if (this.#hasAnswer && priority) this.#rateOf(priority, nowMs).charge(this.#cost);
    return 0;
  }

  /** Call this if a taken slot was not used. */
  giveBack(priority: Priority): void {
    const rate = this.#rates.get(priority);
    if (rate) rate.credits += this.#cost;
    this.#wentMs = -unlimited;
  }

  recordAnswer(answer: AnswerFacts, nowMs: number): void {
    const { status, remaining, resetSeconds, retryAfterSeconds } = answer;
    if (answer.cost !== undefined) this.#learnCost(answer.cost);
    this.#hasAnswer = true;
    this.#budget.noteSeconds(resetSeconds);
    this.#brake.observe(answer, nowMs);
    const hasHeaders = remaining !== undefined && resetSeconds !== undefined;
    if (hasHeaders) this.#adjustToHeaders(answer, nowMs);
    if (status === 429 || (status === 503 && retryAfterSeconds !== undefined)) this.#refuse(answer, nowMs);
    else if (!hasHeaders) this.#adjustWithoutHeaders(answer, nowMs);
  }

  budget(): Budget | undefined {
    const { current } = this.#budget;
    return current && { ...current, cost: this.#cost };
  }

  #learnCost(cost: number): void {
    this.#cost = this.#hasAnswer
      ? this.#cost + (Math.min(cost, maxCostFactor * this.#cost) - this.#cost) / 8
      : Math.min(cost, maxFirstCost);
  }

  /** With headers: keeps to their grant. */
  #adjustToHeaders(answer: AnswerFacts, nowMs: number): void {
    const reported = this.#budget.report(answer, nowMs);
    if (reported === 'nothing') return;
    if (reported === 'contradicting') {
      this.#rates.clear();
      if (!this.#isRefused) this.#closedUntilMs = -unlimited;
    }
    for (const rate of this.#rates.values())
      if (rate.perSecond === unlimited) rate.perSecond = this.#firstRate(nowMs);
    if (answer.sentMs < this.#changedMs) return;
    const speed = this.#budget.observedSpeed();
    if (speed === undefined) return;
    const granted = this.#budget.grantedRate(this.#cost, nowMs);
    this.#change(nowMs, (rate, priority) => {
      const aimed = (targetShares[priority] * granted) / (speed || Number.MIN_VALUE);
      const factor = Math.min(2, Math.max(0.25, aimed));
      return rate.hasWaited || factor < 1
        ? rate.perSecond * factor + equalizingShare * granted
        : rate.perSecond;
    });
  }

  /** Without headers: after a refusal, a rate doubles until the next one, and grows slowly from then on. */
  #adjustWithoutHeaders({ sentMs }: AnswerFacts, nowMs: number): void {
    if (this.#budget.endIfSilent(nowMs))
      for (const rate of this.#rates.values()) rate.perSecond = this.#firstRate(nowMs);
    const sinceMs = nowMs - this.#changedMs;
    if (this.#budget.current || this.#refusedMs < 0 || sentMs < this.#changedMs || sinceMs < changeMs) return;
    const quietMinutes = Math.floor((nowMs - this.#refusedMs) / usualWindowMs);
    const used = this.#usedSince(nowMs);
    this.#change(nowMs, (rate) => rate.grown(used, { seconds: sinceMs / 1_000, quietMinutes }));
  }

  #refuse({ sentMs, retryAfterSeconds, resetSeconds }: AnswerFacts, nowMs: number): void {
    const askedMs = this.#budget.secondsOf(Math.max(1, retryAfterSeconds ?? resetSeconds ?? 1)) * 1_000;
    // Of all calls that were under way together, the first counts.
    if (sentMs >= this.#refusedMs) {
      // A budget that ends early was spent too fast by this factor.
      const part = 0.94 * Math.max(leastPart, Math.min(1, 1 - askedMs / usualWindowMs));
      const used = this.#usedSince(nowMs);
      const cost = this.#cost;
      this.#change(nowMs, (rate) => {
        if (rate.perSecond === unlimited) return cost;
        return this.#budget.current ? rate.perSecond * 0.9 : rate.fallen(used, { part, cost });
      });
      this.#refusedMs = nowMs;
    }
    this.#isRefused = true;
    this.#close(nowMs + askedMs, nowMs);
  }

  /** Milliseconds for which no class may call. */
  #closedForMs(nowMs: number): number {
    if (nowMs < this.#closedUntilMs) return this.#closedUntilMs - nowMs;
    this.#isRefused = false;
    // Before the first answer, one call a second goes: the others wait for what it learns.
    const apartMs = this.#hasAnswer ? this.#brake.apartMs : changeMs;
    if (nowMs - this.#wentMs < apartMs) return this.#wentMs + apartMs - nowMs;
    const { endsMs = 0 } = this.#budget.current ?? {};
    const spent = this.#budget.isSpent(this.#cost, nowMs);
    if (spent === 'by now') return Math.min(changeMs / 4, endsMs - nowMs);
    if (spent === 'as reported') this.#close(endsMs, nowMs);
    return Math.max(0, this.#closedUntilMs - nowMs);
  }

  /**
   * Random, so that containers do not open again at the same time. What is in store is lost, but credits accrue while it is closed, up
   * to a burst: beside a client that spends each budget as soon as it is renewed, one that has to wait first gets none of it.
   */
  #close(untilMs: number, nowMs: number): void {
    const endsMs = Math.min(untilMs, nowMs + maxClosedMs) + this.#random() * 1_000;
    this.#closedUntilMs = Math.max(this.#closedUntilMs, endsMs);
    for (const rate of this.#rates.values()) rate.credits = -this.#random() * this.#cost;
  }

  #change(nowMs: number, rateFor: (rate: AdaptiveRate, priority: Priority) => number): void {
    for (const [priority, rate] of this.#rates) rate.set(this.#withinBounds(rateFor(rate, priority)));
    this.#changedMs = nowMs;
    this.#budget.observeAnew();
  }

  /** Since when the use of the rates is counted. */
  #usedSince(nowMs: number): { sinceMs: number; nowMs: number } {
    return { sinceMs: Math.max(this.#changedMs, this.#closedUntilMs), nowMs };
  }

  #rateOf(priority: Priority, nowMs: number): AdaptiveRate {
    const known = this.#rates.get(priority);
    if (known) return known;
    const perSecond = this.#firstRate(nowMs);
    const rate = new AdaptiveRate({ perSecond, credits: this.#burst() * this.#random(), nowMs });
    this.#rates.set(priority, rate);
    return rate;
  }

  #firstRate(nowMs: number): number {
    if (this.#budget.current)
      return this.#withinBounds(this.#budget.grantedRate(this.#cost, nowMs) * firstShare);
    return this.#withinBounds(this.#refusedMs < 0 ? unlimited : this.#cost);
  }

  #withinBounds(perSecond: number): number {
    const most = this.#budget.current ? unlimited : (this.#maxRate * this.#cost) / this.#containers;
    return Math.min(Math.max(perSecond, leastRate * this.#cost), most);
  }

  #burst(): number {
    return Math.max(this.#cost, (this.#budget.current?.budget ?? 0) * burstShare);
  }

  /** The clock was set back: no known time holds. But that there was a refusal does: without one, rates are unlimited. */
  #forgetTimes(nowMs: number): void {
    this.#closedUntilMs = -unlimited;
    this.#wentMs = -unlimited;
    this.#changedMs = -unlimited;
    this.#budget.forget();
    this.#refusedMs = Math.min(this.#refusedMs, nowMs);
    this.#brake.forget(nowMs);
  }
}
