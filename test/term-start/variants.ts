import type { Scenario } from './fleet.ts';
import { hourMs, minuteMs, termStart } from './load.ts';
import type { PlatformOptions } from './platform.ts';

export type Variant = {
  name: string;
  /** Whether its floors must hold, or must be seen not to. */
  mustHold: boolean;
  /** Of the load, and of its day. */
  part: number;
  batchSize?: number;
  /** Whether writes are compared with the platform beside it, all the while. */
  reconciles?: true;
  platform: Partial<PlatformOptions>;
};

const creditsPerMinute = 50_000;
const noon = 12 * hourMs;

export const variants: Variant[] = [
  { name: 'headers', mustHold: true, part: 1, platform: {} },
  { name: 'reconcile all day', mustHold: true, part: 1, reconciles: true, platform: {} },
  { name: 'no headers', mustHold: true, part: 1, platform: { headers: false } },
  {
    name: 'two strange clients use 30 %',
    ...{ mustHold: true, part: 1 },
    platform: {
      strangers: [
        // One at any time, and one that comes every ten seconds, for two.
        { perMinute: 0.15 * creditsPerMinute, periodMs: minuteMs, activePart: 1 },
        { perMinute: 0.15 * creditsPerMinute, periodMs: 10_000, activePart: 0.2 },
      ],
    },
  },
  {
    name: 'outage of 30 min',
    ...{ mustHold: true, part: 1 },
    platform: {
      outage: { fromMs: noon, silentFromMs: noon + 15 * minuteMs, toMs: noon + 30 * minuteMs },
    },
  },
  {
    name: 'budget halved at noon',
    ...{ mustHold: true, part: 1 },
    platform: { budgetAt: (ms) => (ms < noon ? creditsPerMinute : creditsPerMinute / 2) },
  },
  { name: 'reset rounded down', mustHold: true, part: 1, platform: { resetRounding: 'down' } },
];

/** What must be seen to fail: calls that go at once, in batches as they are and as they were before there was a pace. */
export const ungated: Variant[] = [
  { name: 'without the gate', mustHold: false, part: 0.2, platform: {} },
  { name: 'before: batches of 10', mustHold: false, part: 1, batchSize: 10, platform: {} },
];

export const scenarioOf = (
  { mustHold, part, batchSize = 50, reconciles, platform }: Variant,
  seed: number,
): Scenario => ({
  load: {
    ...termStart({ part, batchSize }),
    ...(reconciles && { reconcile: { fromMs: 0, toMs: 24 * part * hourMs, concurrency: 16 } }),
  },
  isGated: mustHold,
  ...{ seed, maxMs: 4 * 24 * hourMs },
  platform: {
    budgetAt: () => creditsPerMinute,
    headers: true,
    resetRounding: 'up',
    strangers: [],
    outage: undefined,
    ...platform,
  },
});
