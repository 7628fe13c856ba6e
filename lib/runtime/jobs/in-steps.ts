import type { JobRun, RunServices } from './job.ts';

type TimedRun = Pick<JobRun, 'engine' | 'wholeMs'> & { services: Pick<RunServices, 'limits'> };

/** Waits for the next invocation if this one is too short: a step that its end cuts off would be repeated. */
export const enoughTime = async ({ engine, wholeMs, services }: TimedRun, name: string): Promise<void> => {
  const seconds = await engine.step(name, {
    work: async () => (engine.leftMs() < wholeMs / 2 ? engine.leftMs() / 1000 + 1 : 0),
    // The process may die here, too.
    backoff: services.limits.backoff,
  });
  if (seconds > 0) await engine.wait(`${name}: the next invocation`, seconds);
};

/** The time for a step, without the reserve at the end of the invocation. */
export const timeLeft = ({ engine, services }: Pick<TimedRun, 'engine' | 'services'>): number =>
  Math.max(1, engine.leftMs() - services.limits.reserveMs);

type Steps<Place, Result> = {
  name: string;
  from: Place;
  work(from: Place, step: { at: number; timeMs: number }): Promise<Result>;
  /** Where to continue; undefined: it is done. Must be deterministic. */
  next(result: Result, from: Place): Place | undefined | Promise<Place | undefined>;
  /** Number of the first step. */
  first?: number;
};

/** Runs work in steps, each with enough time; each continues where the one before stopped. */
export const inSteps = async <Place, Result>(
  run: TimedRun,
  { name, from, work, next, first = 1 }: Steps<Place, Result>,
): Promise<void> => {
  let place: Place | undefined = from;
  for (let at = first; place !== undefined; at += 1) {
    const begin: Place = place;
    await enoughTime(run, `before: ${name}, ${at}`);
    const result = await run.engine.step(`${name}, ${at}`, {
      work: () => work(begin, { at, timeMs: timeLeft(run) }),
      backoff: run.services.limits.backoff,
    });
    place = await next(result, begin);
  }
};
