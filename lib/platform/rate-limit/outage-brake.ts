import { type AnswerFacts, changeMs } from './answered.ts';

/** Delay between single calls while the platform is down: the least and the most. */
const [leastMs, mostMs] = [100, 5_000];

/** If most calls of a second find the platform, or a proxy before it, down, the next go slower. */
export class OutageBrake {
  /** Milliseconds between two calls; 0: the platform is not down. */
  apartMs = 0;
  #sinceMs = 0;
  #down = 0;
  #up = 0;

  observe({ status = 504, sentMs }: AnswerFacts, nowMs: number): void {
    if (status >= 502 && status <= 504) this.#down += 1;
    else this.#up += 1;
    if (sentMs < this.#sinceMs || nowMs - this.#sinceMs < changeMs) return;
    const apartMs = this.#down > this.#up ? Math.max(leastMs, this.apartMs * 2) : this.apartMs / 2;
    this.apartMs = apartMs < leastMs ? 0 : Math.min(mostMs, apartMs);
    this.forget(nowMs);
  }

  /** Counts anew. */
  forget(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#down = 0;
    this.#up = 0;
  }
}
