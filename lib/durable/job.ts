import {
  type AnySerdes,
  type DurableContext,
  defaultSerdes,
  NestingType,
  StepError,
  StepInterruptedError,
  StepSemantics,
  withDurableExecution,
} from '@aws/durable-execution-sdk-js';
import { type BackoffLimits, waitSeconds } from '../delivery/backoff.ts';
import { dispositions, type Failure, failureOf } from '../failure.ts';

/** So many operations AWS allows an execution: a job divides its work by it. */
export const maxOperations = 3_000;

/**
 * Work that outlasts an invocation. The engine begins it anew after each wait and each death of its process, and answers what
 * was done before from its records. So what depends on the time, on chance or on the world belongs into a step, and the same
 * steps must come in the same order each time.
 */
export type Job<Request, Result> = {
  /** @throws Error where the event is none. */
  requestIn(event: unknown): Request;
  run(request: Request, engine: Engine): Promise<Result>;
};

export type Engine = {
  /** `arn:…:function:<name>:<version>/durable-execution/<name>/<id>` */
  executionArn: string;
  /** Of this invocation, as is the next. */
  invocationId: string;
  leftMs(): number;
  /** So many operations were used until now, but for those that tried a step again. */
  operations(): number;
  /** Its result is recorded, and what it did is not done again. */
  step<Result>(name: string, options: StepOptions<Result>): Promise<Result>;
  /** Costs nothing meanwhile. */
  wait(name: string, seconds: number): Promise<void>;
  /** Each of them has an engine of its own. */
  map<Item, Result>(name: string, items: Item[], options: MapOptions<Item, Result>): Promise<Result[]>;
  /** How results are recorded from here on. */
  recordBy(results: AnySerdes): void;
  /** Who is told from here on of each failure after which a step is tried again. */
  tellWaits(tell: (failure: Failure) => void): void;
};

type StepOptions<Result> = {
  work(): Promise<Result>;
  /**
   * How long it waits for what passes, or what a person must mend: both go on by themselves; and where its process died, it is
   * begun again. Default: it throws, and `isInterrupted` tells of a death.
   */
  backoff?: BackoffLimits;
};

type MapOptions<Item, Result> = {
  concurrency: number;
  work(item: Item, engine: Engine): Promise<Result>;
};

/** For a function that is deployed with `durableConfig`. */
export const durableHandler = <Request, Result>({ requestIn, run }: Job<Request, Result>) =>
  withDurableExecution((event: unknown, context) =>
    // The execution is an operation itself.
    run(requestIn(event), engineFor(context, { operations: 1, tell: () => {} })),
  );

/** What all engines of an execution share. */
type Shared = { operations: number; tell(failure: Failure): void };

const engineFor = (context: DurableContext, shared: Shared): Engine => ({
  executionArn: context.executionContext.durableExecutionArn,
  invocationId: context.lambdaContext.awsRequestId,
  leftMs: () => context.lambdaContext.getRemainingTimeInMillis(),
  operations: () => shared.operations,
  recordBy: (results) => context.configureSerdes({ defaultSerdes: results }),
  tellWaits: (tell) => {
    shared.tell = tell;
  },

  step: (name, { work, backoff }) => {
    shared.operations += 1;
    return context.step(name, work, {
      // So that a death counts as an attempt: else a step that always dies would be begun until the execution's time is up.
      semantics: StepSemantics.AtMostOncePerRetry,
      retryStrategy: (error, attempt) => {
        if (backoff && error.name === interrupted && attempt < maxAttemptsAfterDeath)
          return { shouldRetry: true, delay: { seconds: waitSeconds({ receiveCount: attempt }, backoff) } };
        const failure = failureOf(error);
        if (!backoff || dispositions[failure.kind] !== 'wait' || attempt >= maxAttempts)
          return { shouldRetry: false };
        shared.tell(failure);
        const { retryAfterSeconds } = failure;
        const seconds = waitSeconds({ receiveCount: attempt, retryAfterSeconds }, backoff);
        return { shouldRetry: true, delay: { seconds } };
      },
    });
  },

  wait: async (name, seconds) => {
    shared.operations += 1;
    await context.wait(name, { seconds: Math.max(1, Math.ceil(seconds)) });
  },

  map: async (name, items, { concurrency, work }) => {
    shared.operations += 1;
    const batch = await context.map(name, items, (child, item) => work(item, engineFor(child, shared)), {
      maxConcurrency: concurrency,
      // What an item does is recorded; that it was begun and ended need not be, at an operation each.
      nesting: NestingType.FLAT,
      itemSerdes: defaultSerdes,
    });
    batch.throwIfError();
    return batch.getResults();
  },
});

/** So often the same step is tried at most: a day of waits of half an hour, and the short ones before. */
const maxAttempts = 100;
/** And so often after its process died, which takes an hour. */
const maxAttemptsAfterDeath = 10;

/** Whether a step's process died while it was under way. */
export const isInterrupted = (error: unknown): boolean =>
  error instanceof StepError && error.cause instanceof Error && error.cause.name === interrupted;

const interrupted = new StepInterruptedError('').name;
