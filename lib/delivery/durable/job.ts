import type { BackoffLimits } from '../../message/backoff.ts';
import type { Observe } from '../../runtime/telemetry/observe.ts';
import type { Engine, Job } from './engine.ts';
import type { RunningExecutions } from './older-executions.ts';
import { createResults, type ResultStore } from './results.ts';

type RunServices = {
  observe: Observe;
  store: ResultStore;
  running: RunningExecutions;
  limits: {
    /** Reserved at the end of an invocation, for what is in progress. */
    reserveMs: number;
    backoff: BackoffLimits;
  };
};

export type Run<Services = RunServices> = {
  services: Services;
  engine: Engine;
  /** A step that is repeated after a failure that waiting can help, and after a crash. */
  step<Result>(name: string, work: () => Promise<Result>): Promise<Result>;
  /** Prefix of the objects that only this execution needs. */
  folder: string;
  /** Time that the invocation had when it began. */
  wholeMs: number;
  /** What a failure from now on must change beside the log. */
  failed?(error: unknown): Promise<void>;
};

type Described<Request, Result, Services> = {
  requestIn(event: unknown): Request;
  /** The job's name in the log, such as `the course export`. */
  whatOf(request: Request): string;
  services(): Promise<Services>;
  /** Prefix of the objects that only executions need. */
  executions(services: Services): string;
  work(request: Request, run: Run<Services>): Promise<Result>;
};

/** A job that keeps large results in its bucket, and logs why it waits and why it ended early. */
export const jobOf = <Request, Result, Services extends RunServices>({
  requestIn,
  whatOf,
  executions,
  work,
  ...made
}: Described<Request, Result, Services>): Job<Request, Result> => ({
  requestIn,
  run: async (request, engine) => {
    const wholeMs = engine.leftMs();
    const what = whatOf(request);
    const services = await made.services();
    const { observe, store } = services;
    observe.begin(engine.invocationId);
    const prefix = executions(services);
    engine.recordBy(createResults(store, prefix));
    engine.tellWaits(({ kind, message }) => {
      observe.failed(kind);
      observe.warn(`${what} waits: ${message}`);
      observe.flush();
    });
    const folder = `${prefix}${engine.executionArn.split('/').at(-1)}/`;
    const run: Run<Services> = {
      ...{ services, engine, folder, wholeMs },
      step: (name, work) => engine.step(name, { work, backoff: services.limits.backoff }),
    };
    try {
      return await work(request, run);
    } catch (error) {
      await engine.step('the end', {
        work: async () => {
          observe.error(`${what} failed`, {}, error);
          observe.flush();
          await run.failed?.(error);
        },
      });
      throw error;
    }
  },
});

type Timed = Pick<Run, 'engine' | 'wholeMs'> & { services: Pick<RunServices, 'limits'> };

/** Waits for the next invocation if this one is too short: a step that its end cuts off would be repeated. */
export const enoughTime = async ({ engine, wholeMs, services }: Timed, name: string): Promise<void> => {
  const seconds = await engine.step(name, {
    work: async () => (engine.leftMs() < wholeMs / 2 ? engine.leftMs() / 1000 + 1 : 0),
    // The process may die here, too.
    backoff: services.limits.backoff,
  });
  if (seconds > 0) await engine.wait(`${name}: the next invocation`, seconds);
};

/** The time for a step, without the reserve at the end of the invocation. */
export const timeLeft = ({ engine, services }: Pick<Timed, 'engine' | 'services'>): number =>
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
  run: Timed,
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
