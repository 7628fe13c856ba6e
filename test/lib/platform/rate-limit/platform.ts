import type { Clock } from './clock.ts';

export type PlatformOptions = {
  /** Credits for a minute that begins at this time. */
  budgetAt(ms: number): number;
  headers: boolean;
  resetRounding: 'up' | 'down';
  /** Clients that know nothing of ours: credits a minute, all of them within the first part of each period. */
  strangers: { perMinute: number; periodMs: number; activePart: number }[];
};

type Answer = {
  status: 200 | 429;
  remaining?: number;
  resetSeconds?: number;
  cost?: number;
  retryAfterSeconds?: number;
};

/** What became of the credits of one minute. */
type Window = {
  /** What it grants in all. */
  budget: number;
  /** Credits that were granted to our calls, and to those of others. */
  ours: number;
  strangers: number;
  /** Of ours. */
  requests: number;
  refused: number;
};

const windowMs = 60_000;
export const cost = 10;

/** The platform's budget: so much for each minute, whoever asks. */
export const createPlatform = (
  { budgetAt, headers, resetRounding, strangers }: PlatformOptions,
  { clock, random }: { clock: Clock; random: () => number },
) => {
  const windows: Window[] = [];
  const windowAt = (ms: number): Window => {
    const at = Math.floor(ms / windowMs);
    while (windows.length <= at) {
      const budget = budgetAt(windows.length * windowMs);
      windows.push({ budget, ours: 0, strangers: 0, requests: 0, refused: 0 });
    }
    return windows[at] as Window;
  };
  const leftIn = ({ budget, ours, strangers: others }: Window): number => budget - ours - others;

  for (const { perMinute, periodMs, activePart } of strangers) {
    const everyMs = (windowMs * cost * activePart) / perMinute;
    const step = (): void => {
      const nowMs = clock.nowMs();
      const window = windowAt(nowMs);
      if (leftIn(window) >= cost) window.strangers += cost;
      const afterMs = -Math.log(1 - random()) * everyMs;
      const atMs = nowMs + afterMs;
      const isActive = atMs % periodMs <= periodMs * activePart;
      clock.after(isActive ? afterMs : Math.ceil(atMs / periodMs) * periodMs - nowMs, step);
    };
    clock.after(random() * everyMs, step);
  }

  return {
    windows,
    /** What the platform says to a request that reaches it now. */
    answer: (): Answer => {
      const nowMs = clock.nowMs();
      const window = windowAt(nowMs);
      window.requests += 1;
      const isGranted = leftIn(window) >= cost;
      if (isGranted) window.ours += cost;
      else window.refused += 1;
      const seconds = (windowMs - (nowMs % windowMs)) / 1_000;
      const resetSeconds = resetRounding === 'up' ? Math.ceil(seconds) : Math.floor(seconds);
      return {
        status: isGranted ? 200 : 429,
        ...(headers ? { remaining: Math.floor(leftIn(window)), resetSeconds, cost } : {}),
        ...(isGranted ? {} : { retryAfterSeconds: resetSeconds }),
      };
    },
  };
};

/** A call's time in milliseconds: 200 as a rule, and a tail of seconds. */
export const latencyMs = (random: () => number): number =>
  120 + 160 * random() + (random() < 0.01 ? -Math.log(1 - random()) * 500 : 0);
