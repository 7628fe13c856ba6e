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
    method,
    ...(body && { body: JSON.stringify(body) }),
  });
  const answerBody = (await answer.json()) as Record<string, unknown>;
  return { ...answerBody, status: answer.status };
};
const checkpoint = ({ DurableExecutionArn, CheckpointToken }: Payload, Updates: Update[]) =>
  call(`durable-executions/${encodeURIComponent(DurableExecutionArn)}/checkpoint`, {
    CheckpointToken,
    Updates,
  });
const step = (Id: string, Action: Update['Action'], more: Partial<Update> = {}): Update => ({
  Id,
  Action,
  Type: 'STEP',
  ...more,
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

/** Operations as both engines tell them, in any order: branches of a map run beside each other. */
const toldOf = (operations: readonly Partial<Operation>[]): string[] =>
  operations
    .map(({ Type, SubType, Name, Status, StepDetails, ContextDetails, CallbackDetails }) => {
      const { Result, Error: error } = CallbackDetails ?? {};
      const { ErrorType, ErrorMessage } = (error ?? {}) as Record<string, string>;
      const answer = [Result, ErrorType, ErrorMessage];
      const more = [StepDetails?.Attempt, ContextDetails?.ReplayChildren, ...answer];
      return JSON.stringify([Type, SubType, Name, Status, ...more]);
    })
    .sort();

test('a job records and answers the same as with the runner of AWS: branches, waits, retries, failures, callbacks', async () => {
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
    const [approved] = await context.createCallback('approved');
    const approval = await approved;
    const [refused] = await context.createCallback('refused');
    const refusal = await refused.catch(String);
    const [silent] = await context.createCallback('silent', { timeout: { seconds: 1 } });
    const silence = await silent.catch(String);
    const lengths = large.getResults().map((text) => text.length);
    return [small.getResults(), lengths, tried, failed, approval, refusal, silence];
  };
  const client = new LambdaClient(localClient(engine.url));
  // The SDK keeps the client that it made for the engine of an earlier test.
  const handler = withDurableExecution(job, { client });
  const Result = '{"decision":"approved"}';
  const no = { ErrorType: 'No', ErrorMessage: 'not this one' };

  await LocalDurableTestRunner.setupTestEnvironment({ skipTime: true });
  const runner = new LocalDurableTestRunner({ handlerFunction: handler });
  const running = runner.run({ payload: {} });
  await (await runner.getOperation('approved').waitForData()).sendCallbackSuccess(Result);
  await (await runner.getOperation('refused').waitForData()).sendCallbackFailure(no);
  const theirs = await running;
  await LocalDurableTestRunner.teardownTestEnvironment();

  const recorded = () => engine.operationsOf(engine.of(functionArn)[0]?.arn ?? '').slice(1);
  const callbackOf = async (name: string): Promise<string> => {
    for (;;) {
      const found = recorded().find(({ Name }) => Name === name);
      if (found?.CallbackDetails) return found.CallbackDetails.CallbackId;
      await sleep(5);
    }
  };
  const answering = (async () => {
    const approved = { CallbackId: await callbackOf('approved'), Result: Buffer.from(Result) };
    await client.send(new SendDurableExecutionCallbackSuccessCommand(approved));
    const refused = { CallbackId: await callbackOf('refused'), Error: no };
    await client.send(new SendDurableExecutionCallbackFailureCommand(refused));
  })();
  let calls = 0;
  const ours = await engine.run({}, durable, async (payload) => {
    calls += 1;
    const context = { getRemainingTimeInMillis: () => 20_000 } as Context;
    return { ok: true, payload: await handler(JSON.parse(JSON.stringify(payload)), context) };
  });
  await answering;
  client.destroy();

  expect(ours).toEqual({ ok: true, payload: theirs.getResult() });
  expect(ours).toMatchObject({
    payload: [
      [1, 2, 33, 4, 5],
      [200_000, 200_000],
      3,
      expect.stringMatching(/never/),
      Result,
      expect.stringMatching(/not this/),
      {},
    ],
  });
  const theirOperations = theirs.getOperations().map((each) => each.getOperationData() as Operation);
  expect(toldOf(recorded())).toEqual(toldOf(theirOperations));
  // After each wait a new one.
  expect(calls).toBe(8);
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
        status: 400,
        Type: 'User',
        message: 'Invalid Checkpoint Token: it is not the current one',
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
