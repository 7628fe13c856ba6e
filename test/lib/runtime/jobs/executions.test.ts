import { LambdaClient } from '@aws-sdk/client-lambda';
import { afterEach, describe, expect, test } from 'vitest';
import { listExecutions, longestExecutionDays } from '../../../../lib/runtime/jobs/executions.ts';
import { runningExecutions } from '../../../../lib/runtime/jobs/older-executions.ts';
import { localClient } from '../../../local/aws/aws.ts';
import {
  type DurableExecutions,
  type ListingBehavior,
  startDurableExecutions,
} from '../../../local/lambda/durable-executions.ts';
import type { InvokeResult } from '../../../local/lambda/runtime-api.ts';

const functionArn = 'arn:aws:lambda:us-east-1:000000000000:function:long';
let engine: DurableExecutions;
let lambda: LambdaClient;

const start = async (options: Parameters<typeof startDurableExecutions>[0]) => {
  engine = await startDurableExecutions(options);
  lambda = new LambdaClient(localClient(engine.url));
};
afterEach(async () => {
  lambda.destroy();
  await engine.close();
});

/** Each goes on until the engine is closed. */
const begin = async (version: number, name: string): Promise<string> => {
  const begun = Promise.withResolvers<string>();
  const never = new Promise<InvokeResult>(() => {});
  const options = { functionArn, version, name, executionTimeoutMs: 60_000 };
  void engine.run({}, options, (payload) => {
    begun.resolve((payload as { DurableExecutionArn: string }).DurableExecutionArn);
    return never;
  });
  const arn = await begun.promise;
  // They are told apart by the millisecond in which they began.
  for (const now = Date.now(); Date.now() === now; ) await new Promise(setImmediate);
  return arn;
};

const readings = (['all versions', 'the latest alone'] as const).flatMap((unnamed) =>
  (['the oldest first', 'the newest first'] as const).map(
    (reversed): ListingBehavior => ({ unnamed, reversed }),
  ),
);

describe.each(readings)(
  'where $unnamed are listed by a function’s name, and reversed $reversed,',
  (reading) => {
    test('all pages of all versions are listed, the oldest execution first', async () => {
      await start({ reading, pageSize: 2 });
      const begun: string[] = [];
      for (const [at, version] of [3, 2, 3, 3, 2, 3].entries()) begun.push(await begin(version, `of-${at}`));
      expect(await runningExecutions(lambda)(functionArn)).toEqual(begun);
      engine.stop(begun[0]!);
      expect(await runningExecutions(lambda)(functionArn)).toEqual(begun.slice(1));
    });

    test('one is found by its name', async () => {
      await start({ reading });
      await begin(2, 'night-1');
      const ofToday = await begin(2, 'night');
      const listed = await listExecutions(lambda, functionArn, { DurableExecutionName: 'night' });
      expect(listed.find((each) => each.DurableExecutionName === 'night')?.DurableExecutionArn).toBe(ofToday);
    });
  },
);

test('versions that were replaced longer ago than an execution may last are not asked', async () => {
  const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 3_600_000);
  const last = longestExecutionDays;
  await start({ published: { 1: daysAgo(90), 2: daysAgo(60), 3: daysAgo(last - 1), 4: daysAgo(1) } });
  // The emulator lists what no engine would run any more.
  await begin(1, 'of-1');
  const begun = [await begin(2, 'of-2'), await begin(3, 'of-3'), await begin(4, 'of-4')];
  expect(await runningExecutions(lambda)(functionArn)).toEqual(begun);
});
