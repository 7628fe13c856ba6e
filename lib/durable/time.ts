import type { BackoffLimits } from '../delivery/backoff.ts';
import type { Engine } from './job.ts';

/** A job in one of its invocations. */
type Timed = {
  engine: Engine;
  /** How long the invocation was to last when it began. */
  wholeMs: number;
  services: { limits: { reserveMs: number; backoff: BackoffLimits } };
};

/** The next invocation has more time: a step that is cut off by the end of this one would be done again. */
export const enoughTime = async ({ engine, wholeMs, services }: Timed, name: string): Promise<void> => {
  const seconds = await engine.step(name, {
    work: async () => (engine.leftMs() < wholeMs / 2 ? engine.leftMs() / 1000 + 1 : 0),
    // A process may die here, too.
    backoff: services.limits.backoff,
  });
  if (seconds > 0) await engine.wait(`${name}: the next invocation`, seconds);
};

/** For a step, without what is reserved at the end of the invocation. */
export const timeLeft = ({ engine, services }: Pick<Timed, 'engine' | 'services'>): number =>
  Math.max(1, engine.leftMs() - services.limits.reserveMs);
