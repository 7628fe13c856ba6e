import type { Budget } from '../../runtime/telemetry/call-budget.ts';
import { type AnswerFacts, changeMs, maxCallMs, usualWindowMs } from './answered.ts';

/** The share of the budget that is kept for calls under way, and for the further calls of a message. */
const marginShare = 0.004;
/** So many answers in a row, sent after a window was reported, end it if they report an earlier end: one may be of another server. */
const contradictions = 2;

/** The budget from one renewal to the next. */
type Window = Omit<Budget, 'cost'> & {
  lengthMs: number;
  /** When the platform reported what remains. */
  reportedMs: number;
  /** When it first reported this window. */
  firstMs: number;
  /** Number of later answers in a row that report an earlier end. */
  contradicted: number;
  /** The rate at which all clients together spend the budget, in credits a second. */
  speed: number;
  /** From the first call that was sent after the last change. */
  base?: { remaining: number; reportedMs: number } | undefined;
};

/** What an answer reports: the window as it was known, a window that contradicts it, or nothing of use. */
export type BudgetReport = 'known' | 'contradicting' | 'nothing';

/** The budget of all clients together, as the headers of answers report it. */
export class HeaderBudget {
  readonly #maxRate: number;
  #window: Window | undefined;
  /** 1 if the platform rounds its seconds down, which a 0 shows. */
  #missingSeconds = 0;

  /** @param maxRate Calls a second of all clients together. */
  constructor(maxRate: number) {
    this.#maxRate = maxRate;
  }

  get current(): Readonly<Window> | undefined {
    return this.#window;
  }

  forget(): void {
    this.#window = undefined;
  }

  /** Seconds as the platform means them. */
  secondsOf(seconds: number): number {
    return seconds + this.#missingSeconds;
  }

  noteSeconds(seconds: number | undefined): void {
    if (seconds === 0) this.#missingSeconds = 1;
  }

  report(answer: AnswerFacts, nowMs: number): BudgetReport {
    if (nowMs - answer.sentMs > maxCallMs) return 'nothing';
    const { sentMs, remaining = 0, resetSeconds = 0 } = answer;
    const reportedMs = (sentMs + nowMs) / 2;
    const lastsMs = this.secondsOf(resetSeconds) * 1_000;
    const endsMs = reportedMs + lastsMs;
    const toleranceMs = 1_500 + (nowMs - sentMs) / 2;
    const contradicts = this.#endIfContradicted(sentMs, endsMs + toleranceMs);
    const window = this.#window;
    if (window === undefined || endsMs > window.endsMs + toleranceMs) {
      this.#window = renewed(window, { remaining, reportedMs, lastsMs, endsMs, firstMs: nowMs });
      return contradicts ? 'contradicting' : 'known';
    }
    if (endsMs < window.endsMs - toleranceMs) return 'nothing';
    window.contradicted = 0;
    window.endsMs += (endsMs - window.endsMs) / 8;
    if (remaining < window.remaining || sentMs > window.reportedMs)
      Object.assign(window, { remaining, reportedMs });
    return 'known';
  }

  /** Later answers that report an earlier end show that the window was reported wrongly: nothing that followed from it holds. */
  #endIfContradicted(sentMs: number, endsMs: number): boolean {
    const window = this.#window;
    if (window === undefined || sentMs <= window.firstMs || endsMs >= window.endsMs) return false;
    window.contradicted += 1;
    if (window.contradicted < contradictions) return false;
    this.#window = undefined;
    return true;
  }

  /** Ends a window that no answer has renewed for its length. */
  endIfSilent(nowMs: number): boolean {
    if (this.#window === undefined || nowMs <= this.#window.endsMs + this.#window.lengthMs) return false;
    this.#window = undefined;
    return true;
  }

  /** The rate at which all clients spend, in credits a second; undefined before it was observed long enough since the last change. */
  observedSpeed(): number | undefined {
    const window = this.#window;
    if (window === undefined) return undefined;
    const { base, remaining, reportedMs } = window;
    if (base === undefined) window.base = { remaining, reportedMs };
    if (base === undefined || reportedMs - base.reportedMs < changeMs) return undefined;
    window.speed = (1_000 * Math.max(0, base.remaining - remaining)) / (reportedMs - base.reportedMs);
    return window.speed;
  }

  /** The rate has changed: the speed is observed anew. */
  observeAnew(): void {
    if (this.#window) this.#window.base = undefined;
  }

  /** The rate in credits a second at which the remainder lasts until the window ends. */
  grantedRate(cost: number, nowMs: number): number {
    const window = this.#window;
    if (window === undefined) return Number.POSITIVE_INFINITY;
    const spendable = Math.max(0, left(window, nowMs) - this.#reserve(window, cost));
    const even = spendable / Math.max(changeMs / 2, window.endsMs - nowMs);
    return 1_000 * Math.min(even, (2 * window.budget) / window.lengthMs);
  }

  /** Whether the platform reported that only the reserve is left, or whether that must be so by now. */
  isSpent(cost: number, nowMs: number): 'as reported' | 'by now' | false {
    const window = this.#window;
    if (window === undefined || nowMs >= window.endsMs) return false;
    const reserve = this.#reserve(window, cost);
    if (window.remaining < reserve) return 'as reported';
    return left(window, nowMs) < reserve && 'by now';
  }

  /** Credits that are not spent. */
  #reserve({ budget, lengthMs }: Window, cost: number): number {
    return Math.max(budget * marginShare, budget - (this.#maxRate * cost * lengthMs) / 1_000);
  }
}

/** The remaining budget by now, from the last answer and the speed since. */
const left = ({ remaining, reportedMs, speed, budget, lengthMs }: Window, nowMs: number): number =>
  remaining - Math.min(speed / 1_000, (2 * budget) / lengthMs) * Math.min(3 * changeMs, nowMs - reportedMs);

const renewed = (
  former: Window | undefined,
  {
    lastsMs,
    ...reported
  }: Pick<Window, 'remaining' | 'reportedMs' | 'endsMs' | 'firstMs'> & { lastsMs: number },
): Window => {
  const { budget: last = 0, speed = 0 } = former ?? {};
  // Between the ends of two windows lie one or more of them.
  const known = former ? Math.min(former.lengthMs, reported.endsMs - former.endsMs) : usualWindowMs;
  const lengthMs = Math.max(known, lastsMs);
  // Others may have spent some already: the budget stays as it was, unless that is impossible.
  const isHalved = lastsMs > 0.8 * lengthMs && reported.remaining < 0.7 * last;
  const budget = isHalved ? reported.remaining : Math.max(reported.remaining, 0.98 * last);
  return { ...reported, budget, lengthMs, speed, contradicted: 0 };
};
