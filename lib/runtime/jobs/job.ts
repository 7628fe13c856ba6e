import type { BackoffLimits } from '../../message/backoff.ts';
import { type SafeText, safe } from '../../message/safe-text.ts';
import type { Observe } from '../telemetry/observe.ts';
import type { Engine, Job } from './engine.ts';
import type { RunningExecutions } from './older-executions.ts';
import { createResults, type ResultStore } from './step-results.ts';

export type RunServices = {
  observe: Observe;
  store: ResultStore;
  running: RunningExecutions;
  limits: {
    /** Reserved at the end of an invocation, for what is in progress. */
    reserveMs: number;
    backoff: BackoffLimits;
  };
};

export type JobRun<Services = RunServices> = {
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

type JobDescription<Request, Result, Services> = {
  requestIn(event: unknown): Request;
  /** The job's name in the log, such as `the course export`. */
  whatOf(request: Request): SafeText;
  services(): Promise<Services>;
  /** Prefix of the objects that only executions need: results of steps that are too large for the engine. */
  executions(services: Services): string;
  work(request: Request, run: JobRun<Services>): Promise<Result>;
};

/** A job that keeps large results in its bucket, and logs why it waits and why it ended early. */
export const jobOf = <Request, Result, Services extends RunServices>({
  requestIn,
  whatOf,
  executions,
  work,
  ...made
}: JobDescription<Request, Result, Services>): Job<Request, Result> => ({
  requestIn,
  run: async (request, engine) => {
    const wholeMs = engine.leftMs();
    const what = whatOf(request);
    const services = await made.services();
    const { observe, store } = services;
    observe.begin(engine.invocationId);
    const prefix = executions(services);
    engine.recordBy(createResults(store, prefix));
    engine.onWait(({ kind, message }) => {
      observe.failed(kind);
      observe.warn(safe`${what} waits: ${message}`);
      observe.flush();
    });
    const folder = `${prefix}${engine.executionArn.split('/').at(-1)}/`;
    const run: JobRun<Services> = {
      services,
      engine,
      folder,
      wholeMs,
      step: (name, work) => engine.step(name, { work, backoff: services.limits.backoff }),
    };
    try {
      return await work(request, run);
    } catch (error) {
      await engine.step('the end', {
        work: async () => {
          observe.error(safe`${what} failed`, {}, error);
          observe.flush();
          await run.failed?.(error);
        },
      });
      throw error;
    }
  },
});
