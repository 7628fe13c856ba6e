import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MessageFailure } from '../../../../lib/message/failure.ts';
import { safe } from '../../../../lib/message/safe-text.ts';
import { durableHandler, type Engine, isInterrupted } from '../../../../lib/runtime/jobs/engine.ts';
import { waitForOlderExecutions } from '../../../../lib/runtime/jobs/older-executions.ts';
import { passingTime } from '../../../local/aws/passing-time.ts';
import { type DurableExecutions, startDurableExecutions } from '../../../local/lambda/durable-executions.ts';
import type { InvokeResult } from '../../../local/lambda/runtime-api.ts';

const functionArn = 'arn:aws:lambda:us-east-1:000000000000:function:long';
const backoff = { minimumSeconds: 1, maximumSeconds: 1 };
const time = passingTime();
/** What waits for an answer from outside waits for as long as that takes. */
const pause = async (ms: number, signal: AbortSignal): Promise<unknown> =>
  ms <= 1_000 ? time.pass(ms) : sleep(ms, undefined, { signal });
let executions: DurableExecutions;

beforeAll(async () => {
  executions = await startDurableExecutions({ pause });
});
afterAll(() => executions.close());

/** Where work calls `die`, the invocation ends there, and nothing of it is heard again. */
type Work = (engine: Engine, die: () => Promise<never>) => Promise<unknown>;

const run = async (work: Work) => {
  let calls = 0;
  const result = await executions.run({}, { functionArn, executionTimeoutMs: 60_000 }, (payload) => {
    calls += 1;
    const death = Promise.withResolvers<InvokeResult>();
    const die = () => {
      death.resolve({ ok: false, error: { errorType: 'Runtime.ExitError', errorMessage: 'killed' } });
      return new Promise<never>(() => {});
    };
    const handler = durableHandler(
      { requestIn: () => ({}), run: (_, engine) => work(engine, die) },
      executions.client,
    );
    const untilMs = Date.now() + 20_000;
    const context = { getRemainingTimeInMillis: () => untilMs - Date.now() } as Context;
    const answered = handler(JSON.parse(JSON.stringify(payload)), context);
    return Promise.race([
      death.promise,
      answered.then((output): InvokeResult => ({ ok: true, payload: output })),
    ]);
  });
  return { result, calls };
};

const failing = (error: Error, times: number) => {
  let failed = 0;
  const work = async () => {
    failed += 1;
    if (failed <= times) throw error;
    return 'well';
  };
  return { work, tries: () => failed };
};
const unavailable = new MessageFailure('unavailable', safe`not now`);

describe('a step', () => {
  const denied = Object.assign(new Error('Access Denied'), {
    name: 'AccessDenied',
    $metadata: { httpStatusCode: 403 },
  });
  test.each([
    ['passes', unavailable],
    ['a person must allow', denied],
  ])('waits for what %s, while nothing runs', async (_, error) => {
    const { work, tries } = failing(error, 2);
    const { result, calls } = await run((engine) => engine.step('one', { work, backoff }));
    expect(result).toEqual({ ok: true, payload: 'well' });
    expect([tries(), calls]).toEqual([3, 3]);
  });

  test.each([
    ['a defect', new TypeError('x is not a function'), backoff],
    ['a refusal', new MessageFailure('rejected', safe`never`), backoff],
    ['anything, where it is not told how long', unavailable, undefined],
  ])('does not wait for %s', async (_, error, wait) => {
    const { work, tries } = failing(error, 9);
    const { result } = await run((engine) => engine.step('one', { work, ...(wait && { backoff: wait }) }));
    expect(result).toMatchObject({ ok: false, error: { errorMessage: error.message } });
    expect(tries()).toBe(1);
  });

  test('that was done is not done again, whatever dies after it', async () => {
    const done: string[] = [];
    const step = (engine: Engine, name: string) =>
      engine.step(name, { work: async () => void done.push(name), backoff });
    let crashes = 0;
    const { result } = await run(async (engine, die) => {
      for (const name of ['one', 'two', 'three']) {
        await step(engine, name);
        crashes += 1;
        if (crashes === 1 || crashes === 3) await die();
      }
      return engine.operations();
    });
    expect(done).toEqual(['one', 'two', 'three']);
    expect(result).toEqual({ ok: true, payload: 4 });
  });

  test('whose process died is begun again', async () => {
    let begun = 0;
    const { result } = await run((engine, die) =>
      engine.step('one', {
        work: async () => {
          begun += 1;
          return begun < 3 ? die() : begun;
        },
        backoff,
      }),
    );
    expect(result).toEqual({ ok: true, payload: 3 });
  });

  test('on which it always dies fails after ten times, and not when the time of all is up', {
    tags: ['long'],
  }, async () => {
    let begun = 0;
    const { result } = await run((engine, die) =>
      engine.step('one', {
        work: () => {
          begun += 1;
          return die();
        },
        backoff,
      }),
    );
    expect(result).toMatchObject({
      ok: false,
      error: { errorMessage: expect.stringMatching(/interruption/) },
    });
    expect(begun).toBe(10);
  });

  test('without a wait tells whether its process died on it', async () => {
    const { result } = await run(async (engine, die) => {
      const result = await engine.step('one', { work: die }).catch(isInterrupted);
      const other = await engine.step('two', { work: failing(unavailable, 9).work }).catch(isInterrupted);
      return [result, other];
    });
    expect(result).toEqual({ ok: true, payload: [true, false] });
  });
});

test('a map works at so many at once, waits in one hold up no other, and each has its result', async () => {
  let atWork = 0;
  const both = Promise.withResolvers<void>();
  const { result } = await run(async (engine) => {
    const results = await engine.map('all', [1, 2, 3, 4, 5], {
      concurrency: 3,
      work: async (item, its) => {
        if (item === 2) await its.wait('a pause', 0.2);
        return its.step(`item ${item}`, {
          work: async () => {
            atWork += 1;
            // The first two go on together, or never; the third is at its pause.
            if (atWork === 2) both.resolve();
            await both.promise;
            return item * 10;
          },
        });
      },
    });
    return [results, engine.operations()];
  });
  expect(result).toEqual({ ok: true, payload: [[10, 20, 30, 40, 50], 8] });
});

describe('an approval', () => {
  const answerIn = (answer: unknown): string => {
    if (typeof answer !== 'string') throw new Error('An answer is a text');
    return answer;
  };
  const send = (callbackId: string, verb: string, body: string) =>
    fetch(
      `${executions.url}/2025-12-01/durable-execution-callbacks/${encodeURIComponent(callbackId)}/${verb}`,
      { method: 'POST', body },
    );

  test('is asked for once, in a step that is repeated, and comes after a crash', async () => {
    const asked: string[] = [];
    let crashes = 0;
    const { result, calls } = await run(async (engine, die) => {
      const answer = await engine.approval('approval', {
        timeoutSeconds: 60,
        backoff,
        answerIn,
        submitted: async (callbackId) => {
          asked.push(callbackId);
          if (asked.length === 1) throw unavailable;
          setTimeout(() => void send(callbackId, 'succeed', '"approved"'), 200);
        },
      });
      crashes += 1;
      if (crashes === 1) await die();
      return [answer, engine.operations()];
    });
    expect(result).toEqual({ ok: true, payload: ['approved', 3] });
    expect(asked).toHaveLength(2);
    expect(new Set(asked).size).toBe(1);
    // Before the step's repetition, while nobody has answered, after the answer, and after the crash.
    expect(calls).toBe(4);
  });

  test('that nobody gives in time is none', async () => {
    const submitted = async () => {};
    const { result } = await run(async (engine) => [
      await engine.approval('approval', { timeoutSeconds: 1, submitted, answerIn }),
      'over',
    ]);
    expect(result).toEqual({ ok: true, payload: [null, 'over'] });
  });

  test.each([
    ['succeed', '{"not":"a text"}', 'An answer is a text'],
    ['succeed', 'no JSON', 'An answer is a text'],
    ['fail', '{"ErrorMessage":"stopped by hand"}', 'stopped by hand'],
  ])('fails its job where somebody lets it %s with %s', async (verb, body, errorMessage) => {
    const submitted = async (callbackId: string) => void (await send(callbackId, verb, body));
    const { result } = await run((engine) =>
      engine.approval('approval', { timeoutSeconds: 60, submitted, answerIn }),
    );
    expect(result).toMatchObject({ ok: false, error: { errorMessage } });
  });
});

describe('a turn', () => {
  test('comes when no older execution is left, and is asked for by the function’s name without a version', async () => {
    const asked: string[] = [];
    const before = ['arn:of-one', 'arn:of-another'];
    const { result } = await run(async (engine) => {
      const running = async (name: string) => {
        asked.push(name);
        return [...before.splice(0, 1), engine.executionArn];
      };
      await waitForOlderExecutions(engine, { running, backoff });
      return 'its turn';
    });
    expect(result).toEqual({ ok: true, payload: 'its turn' });
    expect(asked).toEqual([functionArn, functionArn, functionArn]);
  });

  test('fails soon if the execution that asks is not listed itself', async () => {
    let asked = 0;
    const { result } = await run(async (engine) => {
      const running = async () => {
        asked += 1;
        return ['arn:of-another'];
      };
      await waitForOlderExecutions(engine, { running, backoff });
    });
    expect(result).toMatchObject({
      ok: false,
      error: {
        errorMessage: expect.stringMatching(/^Lambda does not list the execution arn:.*nothing was begun/),
      },
    });
    expect(asked).toBe(3);
  });
});
