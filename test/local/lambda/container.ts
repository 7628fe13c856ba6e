import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { DurableOptions } from './durable-executions.ts';
import { type FunctionProcess, memoryMbOf, startProcess, type Watchdog } from './process.ts';
import { type InvokeResult, type RuntimeError, startRuntimeApi } from './runtime-api.ts';

export type FunctionConfiguration = {
  /** `functions/grade-push.handler`: a file under the task root, without its extension, and what it exports. */
  handler: string;
  /** The folder that holds the code, be it sources or bundles; the project's own by default. */
  taskRoot?: string;
  env: Record<string, string>;
  timeoutMs: number;
  maximumConcurrency: number;
  /** A process that takes more is ended, as Lambda does. */
  memoryMb?: number;
  awsRuntime?: boolean;
  /** Its invocations are executions that the engine carries on. */
  durable?: DurableOptions;
};

type ContainerOptions = {
  name: string;
  configuration: FunctionConfiguration;
  watchdog: Watchdog;
  onLog(line: string): void;
};

export type Container = ReturnType<typeof startContainer>;

type Invocation = {
  id: string;
  event: string;
  delivered: boolean;
  result?: InvokeResult;
  settle(result: InvokeResult): void;
};

/** What Lambda gives a function to load; a slower one loads a second time, within the time of its first invocation. */
const initTimeoutMs = 10_000;

const memoryLookMs = 100;

/** One process that runs a function's invocations one after the other, and the Runtime API that it alone speaks to. */
export function startContainer({ name, configuration, watchdog, onLog }: ContainerOptions) {
  const {
    env,
    timeoutMs,
    taskRoot = resolve(import.meta.dirname, '../../..'),
    awsRuntime = false,
  } = configuration;
  const arn = `arn:aws:lambda:${regionOf(env)}:000000000000:function:${name}`;
  const ended = Promise.withResolvers<void>();
  let running: FunctionProcess | undefined;
  let state: 'loading' | 'idle' | 'busy' | 'ended' = 'loading';
  let invocation: Invocation | undefined;
  let timer: NodeJS.Timeout | undefined;
  let memoryTimer: NodeJS.Timeout | undefined;
  let initError: RuntimeError | undefined;

  const api = startRuntimeApi({
    onListening(address) {
      if (state === 'ended') return api.close();
      const variables = { LAMBDA_TASK_ROOT: taskRoot, AWS_LAMBDA_RUNTIME_API: address };
      running = startProcess({
        taskRoot,
        awsRuntime,
        memoryMb: configuration.memoryMb,
        env: { ...env, ...lambdaVariables(name, configuration), ...variables },
        temporary: watchdog.temporary,
        onLog,
        onEnd,
      });
      if (running.pid !== undefined) watchdog.started(running.pid);
    },
    onNext() {
      state = 'idle';
      if (invocation?.delivered)
        settle(invocation.result ?? failure('Runtime.InvalidResponse', 'no answer was given'));
      if (invocation) deliver(invocation);
    },
    onResult(id, result) {
      if (invocation?.id === id) invocation.result ??= result;
    },
    onInitError(error) {
      initError = error;
    },
  });

  function deliver(next: Invocation) {
    state = 'busy';
    next.delivered = true;
    endAfter(timeoutMs);
    if (configuration.memoryMb !== undefined) watchMemory(configuration.memoryMb);
    api.deliver({ id: next.id, event: next.event, deadlineMs: Date.now() + timeoutMs, arn });
  }

  function endAfter(ms: number) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const message = `Error: Task timed out after ${(timeoutMs / 1000).toFixed(2)} seconds`;
      if (invocation) invocation.result ??= failure('Sandbox.Timedout', message);
      end();
    }, ms);
  }

  function watchMemory(memoryMb: number) {
    clearInterval(memoryTimer);
    memoryTimer = setInterval(() => {
      if ((memoryMbOf(running?.pid ?? 0) ?? 0) > memoryMb) end();
    }, memoryLookMs);
  }

  function onEnd(reason: string) {
    state = 'ended';
    api.close();
    if (running?.pid !== undefined) watchdog.ended(running.pid);
    const initFailure = initError && { ok: false as const, error: initError };
    settle(invocation?.result ?? initFailure ?? failure('Runtime.ExitError', reason));
    ended.resolve();
  }

  function settle(result: InvokeResult) {
    const done = invocation;
    invocation = undefined;
    clearTimeout(timer);
    clearInterval(memoryTimer);
    // What the function logged lies in the pipes by now, and reaches onLog within this turn of the event loop.
    setImmediate(() => done?.settle(result));
  }

  function failure(errorType: string, message: string): InvokeResult {
    const errorMessage = invocation ? `RequestId: ${invocation.id} ${message}` : message;
    return { ok: false, error: { errorType, errorMessage } };
  }

  function end() {
    if (running?.pid === undefined) onEnd('Error: the container was ended before it ran');
    else running.signal('SIGKILL');
  }

  return {
    get pid() {
      return running?.pid;
    },
    get alive() {
      return state !== 'ended';
    },
    get busy() {
      return invocation !== undefined;
    },
    ended: ended.promise,
    signal: (signal: NodeJS.Signals) => running?.signal(signal),
    end,
    /** One at a time. */
    invoke(event: unknown): Promise<InvokeResult> {
      return new Promise((settle) => {
        endAfter(state === 'loading' ? initTimeoutMs + timeoutMs : timeoutMs);
        invocation = { id: randomUUID(), event: JSON.stringify(event), delivered: false, settle };
        if (state === 'idle') deliver(invocation);
        if (state === 'ended') onEnd('Error: the container has ended');
      });
    },
  };
}

function lambdaVariables(name: string, { handler, env, memoryMb = 512 }: FunctionConfiguration) {
  return {
    _HANDLER: handler,
    AWS_LAMBDA_FUNCTION_NAME: name,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: `${memoryMb}`,
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${name}`,
    AWS_LAMBDA_LOG_STREAM_NAME: `${new Date().toISOString().slice(0, 10).replaceAll('-', '/')}/[$LATEST]${randomUUID().replaceAll('-', '')}`,
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
    AWS_REGION: regionOf(env),
    AWS_DEFAULT_REGION: regionOf(env),
    TZ: ':UTC',
  };
}

function regionOf({ AWS_REGION = 'us-east-1' }: Record<string, string>) {
  return AWS_REGION;
}
