import { setTimeout as sleep } from 'node:timers/promises';
import {
  type DurableContext,
  NestingType,
  StepSemantics,
  withDurableExecution,
} from '@aws/durable-execution-sdk-js';
import { LocalDurableTestRunner } from '@aws/durable-execution-sdk-js-testing';
import {
  LambdaClient,
  SendDurableExecutionCallbackFailureCommand,
  SendDurableExecutionCallbackSuccessCommand,
} from '@aws-sdk/client-lambda';
import type { Context } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { localClient } from '../aws/aws.ts';
import { passingTime } from '../aws/passing-time.ts';
import type { Operation, Update } from './durable-execution.ts';
import { type DurableExecutions, startDurableExecutions } from './durable-executions.ts';
import type { InvokeResult } from './runtime-api.ts';

const functionArn = 'arn:aws:lambda:us-east-1:000000000000:function:long';
const durable = { functionArn, executionTimeoutMs: 60_000 };
const time = passingTime();
/** What is waited for much longer, somebody ends. */
const pause = async (ms: number, signal: AbortSignal): Promise<unknown> =>
  ms > 2_000 ? sleep(ms, undefined, { signal }) : time.pass(ms);
let engine: DurableExecutions;

beforeEach(async () => {
  engine = await startDurableExecutions({ pageSize: 3, pause });
  const { region, credentials } = localClient(engine.url);
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_LAMBDA: engine.url,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  });
});
afterEach(() => engine.close());

type Payload = { DurableExecutionArn: string; CheckpointToken: string };

/** What a function may call, by HTTP as it would. */
const call = async (path: string, body?: object) => {
  const method = body ? 'POST' : 'GET';
  const answer = await fetch(`${engine.url}/2025-12-01/${path}`, {
    ...{ method, ...(body && { body: JSON.stringify(body) }) },
  });
  const told = (await answer.json()) as Record<string, unknown>;
  return { ...told, status: answer.status };
};
const checkpoint = ({ DurableExecutionArn, CheckpointToken }: Payload, Updates: Update[]) =>
  call(`durable-executions/${encodeURIComponent(DurableExecutionArn)}/checkpoint`, {
    ...{ CheckpointToken, Updates },
  });
const step = (Id: string, Action: Update['Action'], more: Partial<Update> = {}): Update => ({
  ...{ Id, Action, Type: 'STEP', ...more },
});
const ended: InvokeResult = { ok: true, payload: { Status: 'SUCCEEDED', Result: '"well"' } };

/** A function that is called once, and does this. */
const once = async (work: (payload: Payload) => Promise<void>) => {
  const failures: unknown[] = [];
  const result = await engine.run({}, durable, async (payload) => {
    await work(payload as Payload).catch((error: unknown) => failures.push(error));
    return ended;
  });
  expect(failures).toEqual([]);
  return result;
};

describe('it records', () => {
  test('the same as the runner of AWS for the same job, and answers the same', async () => {
    const job = async (_: unknown, context: DurableContext) => {
      const semantics = StepSemantics.AtMostOncePerRetry;
      const limits = { maxConcurrency: 2, nesting: NestingType.FLAT };
      const pass = async (item: DurableContext, number: number) => {
        const first = await item.step(`item ${number}`, async () => number, { semantics });
        if (number !== 3) return first;
        await item.wait('a pause', { seconds: 1 });
        return item.step(`item ${number}`, async () => 33, { semantics });
      };
      const small = await context.map('small', [1, 2, 3, 4, 5], pass, limits);
      // Together they are too large for one record, so that each is kept.
      const work = (item: DurableContext, number: number) =>
        item.step(`large ${number}`, async () => 'x'.repeat(200_000));
      const large = await context.map('large', [1, 2], work, limits);
      await context.wait('a wait', { seconds: 1 });
      const tried = await context.step(
        'tried again',
        async ({ attempt }) => {
          if (attempt < 3) throw new Error('not yet');
          return attempt;
        },
        { retryStrategy: () => ({ shouldRetry: true, delay: { seconds: 1 } }) },
      );
      const never = async () => {
        throw new RangeError('never');
      };
      const failed = await context
        .step('failed', never, { retryStrategy: () => ({ shouldRetry: false }) })
        .catch((error: unknown) => {
          const { name, cause, message } = error as Error & { cause: Error };
          return `${name} of ${cause.name}: ${message}`;
        });
      return [small.getResults(), large.getResults().map((text) => text.length), tried, failed];
    };
    const handler = withDurableExecution(job);

    await LocalDurableTestRunner.setupTestEnvironment({ skipTime: true });
    const theirs = await new LocalDurableTestRunner({ handlerFunction: handler }).run({ payload: {} });
    await LocalDurableTestRunner.teardownTestEnvironment();
    let calls = 0;
    const ours = await engine.run({}, durable, async (payload) => {
      calls += 1;
      const untilMs = Date.now() + 20_000;
      const context = { getRemainingTimeInMillis: () => untilMs - Date.now() } as Context;
      return { ok: true, payload: await handler(JSON.parse(JSON.stringify(payload)), context) };
    });

    expect(ours).toEqual({ ok: true, payload: theirs.getResult() });
    expect(ours).toMatchObject({ payload: [[1, 2, 33, 4, 5], [200_000, 200_000], 3, expect.any(String)] });
    const told = ({ Type, SubType, Name, Status, StepDetails, ContextDetails }: Partial<Operation>) =>
      [Type, SubType, Name, Status, StepDetails?.Attempt, ContextDetails?.ReplayChildren].join(' ');
    const recorded = engine.operationsOf(engine.of(functionArn)[0]?.arn ?? '').slice(1);
    const theirOperations = theirs.getOperations().map((each) => each.getOperationData() as Operation);
    expect(recorded.map(told).sort()).toEqual(theirOperations.map(told).sort());
    // After each wait a new one.
    expect(calls).toBe(5);
  });
});

describe('a callback', () => {
  test('is answered and recorded as by the runner of AWS, for a success, a failure and silence', async () => {
    const job = async (_: unknown, context: DurableContext) => {
      const [approved] = await context.createCallback('approved', { timeout: { seconds: 60 } });
      const first = await approved;
      const [refused] = await context.createCallback('refused');
      const second = await refused.catch(String);
      const [silent] = await context.createCallback('silent', { timeout: { seconds: 1 } });
      const third = await silent.catch(String);
      return [first, second, third];
    };
    const client = new LambdaClient(localClient(engine.url));
    // The SDK keeps the client that it made for the engine of an earlier test.
    const handler = withDurableExecution(job, { client });

    await LocalDurableTestRunner.setupTestEnvironment();
    const runner = new LocalDurableTestRunner({ handlerFunction: handler });
    const running = runner.run({ payload: {} });
    const approved = await runner.getOperation('approved').waitForData();
    await approved.sendCallbackSuccess('{"decision":"approved"}');
    const refused = await runner.getOperation('refused').waitForData();
    await refused.sendCallbackFailure({ ErrorType: 'No', ErrorMessage: 'not this one' });
    const theirs = await running;
    await LocalDurableTestRunner.teardownTestEnvironment();

    const idOf = async (name: string) => {
      for (;;) {
        const arn = engine.of(functionArn)[0]?.arn ?? '';
        const found = engine.operationsOf(arn).find(({ Name }) => Name === name);
        if (found?.CallbackDetails) return found.CallbackDetails.CallbackId;
        await sleep(5);
      }
    };
    const answering = (async () => {
      const Result = Buffer.from('{"decision":"approved"}');
      const CallbackId = await idOf('approved');
      await client.send(new SendDurableExecutionCallbackSuccessCommand({ CallbackId, Result }));
      const no = { ErrorType: 'No', ErrorMessage: 'not this one' };
      const other = await idOf('refused');
      await client.send(new SendDurableExecutionCallbackFailureCommand({ CallbackId: other, Error: no }));
    })();
    const ours = await engine.run({}, durable, async (payload) => {
      const context = { getRemainingTimeInMillis: () => 20_000 } as Context;
      return { ok: true, payload: await handler(JSON.parse(JSON.stringify(payload)), context) };
    });
    await answering;
    client.destroy();

    expect(ours).toEqual({ ok: true, payload: theirs.getResult() });
    expect(ours).toMatchObject({
      payload: ['{"decision":"approved"}', expect.stringMatching(/not this/), {}],
    });
    const told = ({ Type, SubType, Name, Status, CallbackDetails }: Partial<Operation>) => {
      const { Result, Error: error } = CallbackDetails ?? {};
      return { Type, SubType, Name, Status, Result, error };
    };
    const recorded = engine.operationsOf(engine.of(functionArn)[0]?.arn ?? '').slice(1);
    const theirOperations = theirs.getOperations().map((each) => each.getOperationData() as Operation);
    expect(recorded.map(told)).toEqual(theirOperations.map(told));
  });
});

describe('it refuses', () => {
  const refused = { status: 400, message: expect.any(String) };

  test('whoever was called before, and a token that was used', async () => {
    let earlier: Payload | undefined;
    const result = await engine.run({}, durable, async (payload) => {
      const now = payload as Payload;
      if (earlier === undefined) {
        earlier = now;
        return { ok: false, error: { errorType: 'Runtime.ExitError', errorMessage: 'killed' } };
      }
      expect(await checkpoint(earlier, [])).toEqual({
        ...{ status: 400, Type: 'User', message: 'Invalid Checkpoint Token: it is not the current one' },
      });
      expect(await checkpoint(now, [])).toMatchObject({ status: 200 });
      expect(await checkpoint(now, [])).toMatchObject(refused);
      return ended;
    });
    expect(result).toEqual({ ok: true, payload: 'well' });
  });

  test.each<[string, Update[]]>([
    ['what ends after its end', [step('1', 'SUCCEED'), step('1', 'FAIL')]],
    ['a child of nobody', [step('1', 'START', { ParentId: 'none' })]],
    ['a result of more than 256 KB', [step('1', 'SUCCEED', { Payload: 'x'.repeat(262_145) })]],
    ['more than 3,000 operations', Array.from({ length: 3_000 }, (_, at) => step(`${at}`, 'START'))],
  ])('%s', async (_, updates) => {
    await once(async (payload) => expect(await checkpoint(payload, updates)).toMatchObject(refused));
  });
});
