import type { RunOptions } from './run.ts';

/** How letters are sent, unless an operator chooses otherwise. */
export const runDefaults: RunOptions = { canary: 5, waitSeconds: 60, rate: 20, stopAfter: 5 };
