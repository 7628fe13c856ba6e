import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DurableExecutionClient } from '@aws/durable-execution-sdk-js';
import { listening, tellDate } from '../aws/listening.ts';
import {
  type CallbackAnswer,
  type DurableExecution,
  newExecution,
  type Operation,
  Refusal,
  type Update,
} from './durable-execution.ts';
import { createEventSourceMappings } from './event-source-mappings.ts';
import type { InvokeResult } from './runtime-api.ts';

export type DurableOptions = {
  /** As an event source or a person would name it: without a version. */
  functionArn: string;
  /** In all, waits included. */
  executionTimeoutMs: number;
  /** Of the execution; default: any. */
  name?: string | undefined;
  /** Of the function; default: its first. */
  version?: number;
  /** It has begun elsewhere: what was recorded of it there. */
  begun?: { arn: string; operations: readonly Operation[] };
};

/** Before a call is carried out, and after it, before it is answered: whoever says so gets no answer. */
type OnCheckpoint = (
  moment: 'before' | 'after',
  updates: Update[],
) => undefined | 'no answer' | Promise<undefined | 'no answer'>;

/** What AWS' descriptions of `ListDurableExecutionsByFunction` differ in. */
export type ListingBehavior = {
  /** What is listed if no version is named. */
  unnamed: 'all versions' | 'the latest alone';
  /** What `ReverseOrder` lists first; without it, the others are. */
  reversed: 'the oldest first' | 'the newest first';
};

type Options = {
  reading?: ListingBehavior;
  /** When each version of a function was published, beside those of which there are executions. */
  published?: Record<number, Date>;
  /** So many operations are told at a time; few, so that there is more than one page of them. */
  pageSize?: number;
  onCheckpoint?: OnCheckpoint;
  /** How it waits; default: as long as it takes. */
  pause?(ms: number, signal: AbortSignal): Promise<unknown>;
};

type Status = 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'STOPPED';
type ExecutionState = {
  execution: DurableExecution;
  functionArn: string;
  status: Status;
  /** Once it has ended. */
  result?: InvokeResult;
  stop(): void;
  /** It need not wait longer: a callback was answered, or it has ended. */
  wake: AbortController;
};

export type DurableExecutions = Awaited<ReturnType<typeof startDurableExecutions>>;

/**
 * Lambda's API: invocations, event-source mappings, and the engine of durable executions as far as a function meets it. The engine calls a function
 * again after each wait and each death, with what was recorded until then, and takes what the function records.
 */
export async function startDurableExecutions({
  reading = { unnamed: 'all versions', reversed: 'the oldest first' },
  published = {},
  pageSize = 20,
  onCheckpoint,
  pause = (ms, signal) => sleep(ms, undefined, { signal }),
}: Options = {}) {
  const known = new Map<string, ExecutionState>();
  /** As in an account whose limit was raised from what a new one has. */
  const accountLimit = { ConcurrentExecutions: 1_000, UnreservedConcurrentExecutions: 1_000 };
  const mappings = createEventSourceMappings();
  let observer = onCheckpoint;
  let functions: ((name: string, event: unknown, execution?: string) => Promise<InvokeResult>) | undefined;

  const server = createServer(async (request, response) => {
    tellDate(response);
    try {
      await answer(request, response);
    } catch (error) {
      const { name, message, status = error instanceof Refusal ? 400 : 500 } = error as Refused;
      response.writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': name });
      response.end(JSON.stringify({ Type: 'User', message }));
    }
  });
  const { url, close } = await listening(server, () => false);

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://lambda');
    const [, , kind = '', about = '', verb = ''] = pathname.split('/').map(decodeURIComponent);
    const send = (body: object, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body, inSeconds));
    };
    if (kind === 'functions' && verb === 'invocations')
      return answerInvocation(about, JSON.parse((await text(request)) || 'null'), { request, response });
    if (kind === 'event-source-mappings' && request.method === 'GET')
      return send(mappings.list(searchParams.get('FunctionName')));
    if (kind === 'event-source-mappings')
      return send(mappings.update(about, JSON.parse(await text(request))), 202);
    const answer = listed({ kind, verb }, about, searchParams);
    if (answer !== undefined) return send(answer);
    if (kind === 'durable-execution-callbacks') {
      answerCallback(about, { verb: verb as CallbackAnswer['verb'], body: await text(request) });
      return send({});
    }
    const found = known.get(about);
    if (kind !== 'durable-executions' || !found)
      throw Object.assign(new Error(`There is no execution ${about}`), {
        name: 'ResourceNotFoundException',
        status: 404,
      });
    if (verb === '') {
      const { InputPayload } = found.execution.root.ExecutionDetails ?? {};
      return send({ ...summaryOf(found), ...resultOf(found), InputPayload });
    }
    if (verb === 'history') return send({ Events: found.execution.operations().flatMap(eventsOf) });
    if (verb === 'state') {
      const all = found.execution.state(searchParams.get('CheckpointToken') ?? '');
      return send(page(all, Number(searchParams.get('Marker') ?? 0)));
    }
    const recorded = await record(found, JSON.parse(await text(request)));
    return recorded === 'no answer' ? response.destroy() : send(recorded);
  }

  async function record({ execution }: ExecutionState, { CheckpointToken, Updates = [] }: Checkpoint) {
    if ((await observer?.('before', Updates)) === 'no answer') return 'no answer';
    const { token, operations } = execution.record(CheckpointToken, Updates);
    if ((await observer?.('after', Updates)) === 'no answer') return 'no answer';
    return { CheckpointToken: token, NewExecutionState: { Operations: operations } };
  }

  const isAsked = (arn: string, qualifier: string | null): boolean => {
    if (qualifier !== null) return versionIn(arn) === qualifier;
    // Nothing runs as `$LATEST`, which is what that description means.
    return reading.unnamed === 'all versions';
  };

  function listed({ kind, verb }: { kind: string; verb: string }, about: string, asked: URLSearchParams) {
    if (kind === 'account-settings') return { AccountLimit: accountLimit };
    if (kind !== 'functions') return undefined;
    if (verb === 'versions') return versionsOf(about);
    if (verb === 'configuration')
      return {
        FunctionName: about,
        Architectures: ['arm64'],
        Role: `arn:aws:iam::000000000000:role/${about}`,
      };
    if (verb !== 'durable-executions') throw new Refusal(`${verb} of functions is not known here`);
    const [statuses, named] = [asked.getAll('Statuses'), asked.get('DurableExecutionName')];
    const all = executionsOf(about).filter(
      ({ status, execution: { arn } }) =>
        isAsked(arn, asked.get('Qualifier')) &&
        (statuses.length === 0 || statuses.includes(status)) &&
        (named === null || nameOf(arn)?.includes(named)),
    );
    const isOldestFirst =
      (asked.get('ReverseOrder') === 'true') === (reading.reversed === 'the oldest first');
    if (!isOldestFirst) all.reverse();
    const from = Number(asked.get('Marker') ?? 0);
    const until = from + pageSize;
    return {
      DurableExecutions: all.slice(from, until).map(summaryOf),
      ...(until < all.length && { NextMarker: String(until) }),
    };
  }

  function versionsOf(about: string) {
    const used = executionsOf(about).map(({ execution }) => versionIn(execution.arn));
    const numbers = [...new Set([...Object.keys(published), ...used, '1'])];
    const when = (version: string) => (published[Number(version)] ?? new Date()).toISOString();
    return {
      Versions: [
        { Version: '$LATEST', LastModified: new Date().toISOString() },
        ...numbers.map((Version) => ({ Version, LastModified: when(Version) })),
      ],
    };
  }

  const executionsOf = (called: string): ExecutionState[] =>
    [...known.values()].filter(({ functionArn }) => functionNameIn(functionArn) === functionNameIn(called));

  const knownBy = (arn: string): ExecutionState => {
    const found = known.get(arn);
    if (!found) throw new Refusal(`There is no execution ${arn}`);
    return found;
  };

  function answerCallback(callbackId: string, answer: CallbackAnswer): void {
    const isRight = /^[A-Za-z0-9+/]+={0,2}$/.test(callbackId) && callbackVerbs.includes(answer.verb);
    const asks = [...known.values()].find(({ execution }) => execution.hasCallback(callbackId));
    if (!isRight || !asks) throw new Refusal('There is no such callback');
    if (asks.status !== 'RUNNING') throw new Refusal('The execution has ended', 'CallbackTimeoutException');
    asks.execution.answer(callbackId, answer);
    asks.wake.abort();
  }

  /** As a person would invoke it by the AWS CLI. */
  async function answerInvocation(called: string, event: unknown, { request, response }: Exchange) {
    if (!functions) throw new Refusal('There are no functions here');
    const name = functionNameIn(called);
    const execution = request.headers['x-amz-durable-execution-name'];
    const invoked = functions(name, event, typeof execution === 'string' ? execution : undefined);
    if (request.headers['x-amz-invocation-type'] === 'Event') {
      invoked.catch(() => undefined);
      return response.writeHead(202).end();
    }
    const result = await invoked;
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(!result.ok && { 'x-amz-function-error': 'Unhandled' }),
    });
    return response.end(JSON.stringify(result.ok ? result.payload : result.error));
  }

  function page(operations: Operation[], from: number) {
    const until = from + pageSize;
    return {
      Operations: operations.slice(from, until),
      ...(until < operations.length && { NextMarker: String(until) }),
    };
  }

  return {
    url,

    mappings,

    /** What the account may run at once. */
    limitAccount: (containers: number): void => {
      accountLimit.ConcurrentExecutions = containers;
      accountLimit.UnreservedConcurrentExecutions = containers;
    },

    /** For a function in this process: the same without HTTP, which takes most of the time of a job that does little. */
    client: {
      getExecutionState: async ({ DurableExecutionArn: arn = '', CheckpointToken = '', Marker }) => {
        const all = knownBy(arn).execution.state(CheckpointToken);
        return page(all, Number(Marker ?? 0));
      },
      checkpoint: async ({ DurableExecutionArn: arn = '', ...checkpoint }) => {
        const recorded = await record(knownBy(arn), checkpoint as Checkpoint);
        if (recorded === 'no answer') throw new Error('no answer');
        return recorded;
      },
    } as DurableExecutionClient,

    /** As a function lists those that it must wait for, without HTTP. */
    running: async (called: string): Promise<string[]> =>
      executionsOf(called).flatMap(({ status, execution }) => (status === 'RUNNING' ? [execution.arn] : [])),

    /** The executions of a function, the oldest first. */
    of: (functionArn: string) =>
      [...known.values()]
        .filter((each) => each.functionArn === functionArn)
        .map(({ execution, status }) => ({ arn: execution.arn, status, ...execution.used() })),

    operationsOf: (arn: string): Operation[] => known.get(arn)?.execution.operations() ?? [],

    stop: (arn: string): void => known.get(arn)?.stop(),

    /** From now on they can be invoked here. */
    serve: (invoke: typeof functions): void => {
      functions = invoke;
    },

    /** Instead of the one that was told of calls until now. */
    observe: (next: OnCheckpoint | undefined): void => {
      observer = next;
    },

    /** Carries an execution to its end, and answers as a synchronous invocation would. */
    async run(
      event: unknown,
      { functionArn, executionTimeoutMs, name = randomUUID(), version = 1, begun }: DurableOptions,
      invoke: (event: object) => Promise<InvokeResult>,
    ): Promise<InvokeResult> {
      const arn = begun?.arn ?? `${functionArn}:${version}/durable-execution/${name}/${randomUUID()}`;
      const execution = newExecution(arn, JSON.stringify(event ?? {}), begun?.operations);
      const stopped = Promise.withResolvers<InvokeResult>();
      const it: ExecutionState = {
        execution,
        functionArn,
        status: 'RUNNING',
        stop: () => end('STOPPED', 'it was stopped'),
        wake: new AbortController(),
      };
      const end = (status: Status, message: string) => {
        it.status = status;
        it.wake.abort();
        stopped.resolve(failed(`Execution.${status}`, `The durable execution ended: ${message}`));
      };
      known.set(arn, it);
      const timer = setTimeout(() => end('TIMED_OUT', 'its time is up'), executionTimeoutMs);
      const carried = carry(it, invoke).catch((error: unknown) => failed('ServiceException', String(error)));
      const result = await Promise.race([carried, stopped.promise]);
      clearTimeout(timer);
      it.result = result;
      if (it.status === 'RUNNING') it.status = result.ok ? 'SUCCEEDED' : 'FAILED';
      return result;
    },

    async close(): Promise<void> {
      for (const it of known.values()) if (it.status === 'RUNNING') it.stop();
      await close();
    },
  };

  /** Until it has succeeded or failed: it is called, and again after what it waits for, and again where its process died. */
  async function carry(
    it: ExecutionState,
    invoke: (event: object) => Promise<InvokeResult>,
  ): Promise<InvokeResult> {
    const { execution } = it;
    for (let deaths = 0; it.status === 'RUNNING'; ) {
      it.wake = new AbortController();
      const CheckpointToken = execution.begin();
      const InitialExecutionState = page(execution.state(CheckpointToken), 0);
      const result = await invoke({
        DurableExecutionArn: execution.arn,
        CheckpointToken,
        InitialExecutionState,
      });
      if (!result.ok) {
        deaths += 1;
        await sleep(Math.min(2_000, 50 * 2 ** deaths));
        continue;
      }
      deaths = 0;
      const { Status, Result, Error: error } = result.payload as Output;
      if (Status === 'SUCCEEDED') return { ok: true, payload: Result ? JSON.parse(Result) : undefined };
      if (Status === 'FAILED')
        return failed(error?.ErrorType ?? 'Error', error?.ErrorMessage ?? 'The execution failed');
      if (execution.dueMs() === undefined)
        return failed('Execution.Stuck', 'The execution waits for nothing');
      await untilDue(it, pause);
    }
    return failed('Execution.Ended', 'The execution has ended');
  }
}

const callbackVerbs: CallbackAnswer['verb'][] = ['succeed', 'fail'];

/** A timer of Node waits for 24 days at most, and at once for longer. */
const longestTimerMs = 2 ** 31 - 1;

async function untilDue({ execution, wake: { signal } }: ExecutionState, pause: Pause): Promise<void> {
  for (let leftMs = 1; leftMs > 0 && !signal.aborted; ) {
    leftMs = (execution.dueMs() ?? 0) - Date.now();
    await pause(Math.min(longestTimerMs, Math.max(0, leftMs)), signal).catch(() => undefined);
  }
}

type Checkpoint = { CheckpointToken: string; Updates?: Update[] };

type Pause = NonNullable<Options['pause']>;

type Refused = Error & { status?: number };

type Exchange = { request: IncomingMessage; response: ServerResponse };

type Output = {
  Status: 'SUCCEEDED' | 'FAILED' | 'PENDING';
  Result?: string;
  Error?: { ErrorType?: string; ErrorMessage?: string };
};

const failed = (errorType: string, errorMessage: string): InvokeResult => ({
  ok: false,
  error: { errorType, errorMessage },
});

const versionIn = (arn: string): string => /:(\w+)\/durable-execution\//.exec(arn)?.[1] ?? '';

const nameOf = (arn: string): string | undefined => arn.split('/').at(-2);

/** Of an ARN, a name, or a name with a version or an alias; with what a deployment's names begin with, or without it. */
const functionNameIn = (called: string): string =>
  (called.replace(/^.*:function:/, '').split(':')[0] ?? '').replace(/^sis-relay-local-/, '');

const summaryOf = ({ execution, functionArn, status }: ExecutionState) => ({
  DurableExecutionArn: execution.arn,
  DurableExecutionName: nameOf(execution.arn),
  FunctionArn: functionArn,
  Status: status,
  StartTimestamp: execution.root.StartTimestamp,
});

/** Of what began, and of what has succeeded, as far as operators look at it. */
const eventsOf = ({ Id, Name, Type, Status, EndTimestamp, WaitDetails, ...operation }: Operation) => {
  const word = `${Type.slice(0, 1)}${Type.slice(1).toLowerCase()}`;
  const named = { Id, Name };
  return [
    {
      ...named,
      EventType: `${word}Started`,
      EventTimestamp: operation.StartTimestamp,
      ...(WaitDetails && { WaitStartedDetails: { Duration: 1, ...WaitDetails } }),
    },
    ...(Status === 'SUCCEEDED'
      ? [{ ...named, EventType: `${word}Succeeded`, EventTimestamp: EndTimestamp }]
      : []),
  ];
};

const resultOf = ({ result }: ExecutionState) =>
  result?.ok === false
    ? { Error: { ErrorType: result.error.errorType, ErrorMessage: result.error.errorMessage } }
    : { Result: JSON.stringify(result?.payload) };

/** As Lambda's API writes times; an event has them as text. */
function inSeconds(this: Record<string, unknown>, name: string, value: unknown): unknown {
  const given = this[name];
  return given instanceof Date ? given.getTime() / 1000 : value;
}
