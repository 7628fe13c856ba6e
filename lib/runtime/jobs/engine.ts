import {
  type AnySerdes,
  CallbackTimeoutError,
  type DurableContext,
  type DurableExecutionClient,
  defaultSerdes,
  NestingType,
  StepError,
  StepInterruptedError,
  StepSemantics,
  withDurableExecution,
} from '@aws/durable-execution-sdk-js';
import { type BackoffLimits, waitSeconds } from '../../message/backoff.ts';
import type { Failure } from '../../message/failure.ts';
import { isRetried } from '../../message/failure-kinds.ts';
import { jsonIn } from '../../message/json.ts';
import { failureOf } from '../../platform/client/failure-of.ts';

/** AWS allows an execution this many operations: a job divides its work accordingly. */
export const maxOperations = 3_000;

/**
 * Work that is longer than an invocation. The engine starts it again after each wait and each crash, and replays the results of
 * earlier steps from its records. So everything that depends on time, chance or the outside world must be in a step, and the
 * same steps must come in the same order each time.
 */
export type Job<Request, Result> = {
  /** @throws Error if the event is not valid. */
  requestIn(event: unknown): Request;
  run(request: Request, engine: Engine): Promise<Result>;
};

export type Engine = {
  /** `arn:…:function:<name>:<version>/durable-execution/<name>/<id>` */
  executionArn: string;
  /** Of this invocation, as is the next field. */
  invocationId: string;
  leftMs(): number;
  /** Number of operations used so far, without those that repeated a step. */
  operations(): number;
  /** Runs the work and records its result, so that it is not done again. */
  step<Result>(name: string, options: StepOptions<Result>): Promise<Result>;
  /** The function does not run during the wait, and costs nothing. */
  wait(name: string, seconds: number): Promise<void>;
  /**
   * Waits for a decision from outside, by the API's callback; the function does not run during the wait. Undefined: none came in
   * time.
   */
  approval<Answer>(name: string, options: ApprovalOptions<Answer>): Promise<Answer | undefined>;
  /** Each item has its own engine. */
  map<Item, Result>(name: string, items: Item[], options: MapOptions<Item, Result>): Promise<Result[]>;
  /** Sets how results are recorded from now on. */
  recordBy(results: AnySerdes): void;
  /** Sets a function to call with each failure after which a step is repeated. */
  onWait(report: (failure: Failure) => void): void;
};

type StepOptions<Result> = {
  work(): Promise<Result>;
  /**
   * How long to wait after a failure that passes, or that a person must fix; then the step continues by itself, and starts again
   * after a crash. Default: it throws; `isInterrupted` shows whether it was a crash.
   */
  backoff?: BackoffLimits;
};

type ApprovalOptions<Answer> = {
  timeoutSeconds: number;
  /** Passes the callback's id to the outside; runs in a step, which is repeated by `backoff`. */
  submitted(callbackId: string): Promise<void>;
  backoff?: BackoffLimits;
  /** Parses the answer's JSON. @throws Error if it is not a valid answer: then the job fails. */
  answerIn(answer: unknown): Answer;
};

type MapOptions<Item, Result> = {
  concurrency: number;
  work(item: Item, engine: Engine): Promise<Result>;
};

/** For a function that is deployed with `durableConfig`. `engine`: what records the execution; default: Lambda's API. */
export const durableHandler = <Request, Result>(
  { requestIn, run }: Job<Request, Result>,
  engine?: DurableExecutionClient,
) =>
  withDurableExecution(
    (event: unknown, context) =>
      // The execution is an operation itself.
      run(requestIn(event), engineFor(context, { operations: 1, report: () => {} })),
    engine && { durableExecutionClient: engine },
  );

/** Shared by all engines of an execution. */
type SharedState = { operations: number; report(failure: Failure): void };

const engineFor = (context: DurableContext, shared: SharedState): Engine => ({
  executionArn: context.executionContext.durableExecutionArn,
  invocationId: context.lambdaContext.awsRequestId,
  leftMs: () => context.lambdaContext.getRemainingTimeInMillis(),
  operations: () => shared.operations,
  recordBy: (results) => context.configureSerdes({ defaultSerdes: results }),
  onWait: (report) => {
    shared.report = report;
  },

  step: (name, { work, backoff }) => {
    shared.operations += 1;
    return context.step(name, work, {
      // A crash counts as an attempt: otherwise a step that always crashes would be repeated until the execution's time is over.
      semantics: StepSemantics.AtMostOncePerRetry,
      retryStrategy: (error, attempt) => {
        if (backoff && error.name === interrupted && attempt < maxAttemptsAfterDeath)
          return { shouldRetry: true, delay: { seconds: waitSeconds({ receiveCount: attempt }, backoff) } };
        const failure = failureOf(error);
        if (!backoff || !isRetried(failure.kind) || attempt >= maxAttempts) return { shouldRetry: false };
        shared.report(failure);
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

  approval: async (name, { timeoutSeconds, submitted, backoff, answerIn }) => {
    shared.operations += 1;
    const [answer, callbackId] = await context.createCallback(name, { timeout: { seconds: timeoutSeconds } });
    const work = () => submitted(callbackId);
    await engineFor(context, shared).step(`${name}: submitted`, { work, ...(backoff && { backoff }) });
    const text = await answer.catch((error: unknown) => {
      if (error instanceof CallbackTimeoutError) return undefined;
      throw error;
    });
    return text === undefined ? undefined : answerIn(jsonIn(text));
  },

  map: async (name, items, { concurrency, work }) => {
    shared.operations += 1;
    const batch = await context.map(name, items, (child, item) => work(item, engineFor(child, shared)), {
      maxConcurrency: concurrency,
      // The steps of an item are recorded. Recording its begin and end, too, would cost an operation each.
      nesting: NestingType.FLAT,
      itemSerdes: defaultSerdes,
    });
    batch.throwIfError();
    return batch.getResults();
  },
});

/** A step is tried at most this often: a day of waits of half an hour, after the shorter ones. */
const maxAttempts = 100;
/** After crashes, at most this often, which takes an hour. */
const maxAttemptsAfterDeath = 10;

export const isInterrupted = (error: unknown): boolean =>
  error instanceof StepError && error.cause instanceof Error && error.cause.name === interrupted;

const interrupted = new StepInterruptedError('').name;
