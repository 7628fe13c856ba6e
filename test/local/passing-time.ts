import { afterAll, beforeAll, vi } from 'vitest';

/**
 * For a test file: waits need not be waited for, as the time can be moved on instead, for everything in this process, the
 * emulators of AWS and the platform included. Timers stay real: what is under way keeps its limits.
 */
export function passingTime() {
  beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true }));
  afterAll(() => void vi.useRealTimers());
  return { pass: (ms: number): void => void vi.advanceTimersByTime(ms) };
}
