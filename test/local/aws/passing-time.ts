import { afterAll, beforeAll } from 'vitest';

/**
 * For a test file: waits need not be waited for, as the time can be moved on instead, for everything in this process, the
 * emulators of AWS and the platform included. Timers stay real: what is under way keeps its limits.
 */
export function passingTime() {
  const real = Date;
  let aheadMs = 0;
  const now = (): number => real.now() + aheadMs;
  const ahead = new Proxy(real, {
    get: (_, name) => (name === 'now' ? now : Reflect.get(real, name)),
    construct: (_, given) => Reflect.construct(real, given.length === 0 ? [now()] : given),
  });
  beforeAll(() => {
    globalThis.Date = ahead;
  });
  afterAll(() => {
    globalThis.Date = real;
  });
  return {
    pass: (ms: number): void => {
      aheadMs += ms;
    },
  };
}
