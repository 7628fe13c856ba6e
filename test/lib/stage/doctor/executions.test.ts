import { expect, test } from 'vitest';
import {
  droppedFile,
  durableExecution,
  failedExecution,
  listOfExecutions,
  sqlEngine,
  wakeUp,
} from '../../../../lib/stage/doctor/executions.ts';
import type { Step } from '../../../../lib/stage/doctor/step.ts';
import { lambdaOf } from '../../../../lib/stage/lambda-client.ts';
import { filesIn } from '../../../local/bucket.ts';
import { localOffice } from '../../desk/cli/local-office.ts';
import { overheard, playedLambda, tryOne } from './played.ts';

const office = localOffice({ functions: [] });

/** With the real functions, on the local engine. */
const onTheStack = async (step: Step, secondMs = 100) => {
  const called: string[] = [];
  const target = office.target();
  const s3 = await target.s3();
  const heard = { ...target, s3: async () => overheard('s3', s3, { called }) };
  const tried = await tryOne(step, heard, { lambda: await playedLambda(target, {}, called), secondMs });
  expect(called.filter((call) => !step.rights.includes(call))).toEqual([]);
  expect(tried.left).toEqual([]);
  return tried;
};

test.each<[Step, string]>([
  [durableExecution, 'SUCCEEDED, replaced'],
  [listOfExecutions, 'by version: both; by name: 1; without a version: newer before older'],
  [droppedFile, 's: SUCCEEDED, ignored'],
])('$id: the import does nothing but end', async (step, saw) => {
  expect(await onTheStack(step)).toMatchObject({ is: 'as-expected', saw: expect.stringContaining(saw) });
});

test('failed-execution: one execution fails, and no other comes', async () => {
  const tried = await onTheStack(failedExecution, 10);
  expect(tried).toMatchObject({ is: 'as-expected', saw: '1 within 5 minutes: FAILED' });
});

test('nothing is left of it in the bucket, and the platform was not called', async () => {
  expect(await filesIn(office.stack).keysUnder('snap')).toEqual([]);
  expect(await office.controls().requests()).toEqual([]);
});

test('set-engine and wake-up: of two fills at once, the second has waited for the first', async () => {
  const { sdk, lambda } = await lambdaOf(office.target());
  const fill = () => lambda.send(new sdk.InvokeCommand({ FunctionName: 'crosswalk-fill', Payload: '{}' }));
  // Two new containers may start so far apart that the first fill is over when the second begins.
  const seen = async () => {
    await office.controls().fault({ delayMs: 200 }, { path: 'orgstructure/$', times: 1 });
    await Promise.all([fill(), fill()]);
    const { is, saw } = await onTheStack(wakeUp);
    return `${is}: ${saw}`;
  };
  await expect.poll(seen).toMatch(/^as-expected: [1-9]\d* waits ended, at most \d+ s late; 0/);
  expect(await onTheStack(sqlEngine)).toMatchObject({ is: 'as-expected' });
});

const FunctionArn = 'arn:aws:lambda:us-east-1:000000000000:function:sis-relay-local-snapshot-import';
type Played = { name: string; input?: string; status?: string; result?: string; error?: object };

/** Lambda that has run these executions, all of one version, the first first. */
const lambdaWith = (executions: Played[], plays: Parameters<typeof playedLambda>[1] = {}) => {
  const listedExecutions = executions.map(({ name, status = 'SUCCEEDED', input, result, error }, at) => ({
    DurableExecutionArn: `${FunctionArn}:1/durable-execution/${name}/${at}`,
    DurableExecutionName: name,
    FunctionArn,
    Status: status,
    StartTimestamp: new Date(Date.now() + at),
    InputPayload: input,
    Result: result,
    Error: error,
  }));
  return playedLambda(office.target(), {
    GetFunctionConfiguration: () => ({ Architectures: ['arm64'] }),
    Invoke: () => ({}),
    ListVersionsByFunction: () => ({ Versions: [{ Version: '1', LastModified: new Date().toISOString() }] }),
    ListDurableExecutionsByFunction: ({ DurableExecutionName: name }) => ({
      DurableExecutions: listedExecutions.filter(
        (each) => name === undefined || each.DurableExecutionName === name,
      ),
    }),
    GetDurableExecution: ({ DurableExecutionArn: arn }) =>
      listedExecutions.find((each) => each.DurableExecutionArn === arn),
    ...plays,
  });
};
const nowhere = () => {
  throw Object.assign(new Error('There is no such function'), { name: 'ResourceNotFoundException' });
};
const run = 'sis-relay-local-doctor-1f2e3d4c';
const own = (step: Step): string => `${run}-${step.id}`;
const first = { name: `${own(listOfExecutions)}-first` };
const error = { ErrorType: 'Error', ErrorMessage: 'a reason' };

test.each<[string, Step, Played[], string]>([
  [
    'the function may not record its steps',
    durableExecution,
    [{ name: 'a', input: `snapshots/${own(durableExecution)}-missing.zip`, status: 'FAILED', error }],
    'FAILED, Error: a reason',
  ],
  ['no execution begins', durableExecution, [], 'no execution with this event has ended within 180 s'],
  ['an execution is not listed', listOfExecutions, [first], 'by version: not both; by name: 1'],
  [
    'Lambda begins what failed once more',
    failedExecution,
    ['a', 'b', 'c'].map((name) => ({
      name,
      input: `${own(failedExecution)}-refused`,
      status: 'FAILED',
      error,
    })),
    '3 within 5 minutes: FAILED, FAILED, FAILED',
  ],
  [
    'EventBridge tells of a file twice',
    droppedFile,
    ['a', 'b'].map((name) => ({
      name,
      input: `snapshots/${own(droppedFile)}.part`,
      result: '{"outcome":"ignored"}',
    })),
    '2, the first after 0 s: SUCCEEDED, ignored',
  ],
  ['the rule starts nothing', droppedFile, [], 'no execution for this file has ended within 180 s'],
  [
    'the binding cannot be loaded',
    sqlEngine,
    [{ name: 'a', status: 'FAILED', error: { ErrorType: 'Error', ErrorMessage: 'duckdb.node: wrong ELF' } }],
    'No fill has compared names; the last: FAILED, Error: duckdb.node: wrong ELF',
  ],
])('it is different if %s', async (_, step, executions, saw) => {
  const tried = await tryOne(step, office.target(), { lambda: await lambdaWith(executions), secondMs: 0.1 });
  expect(tried).toMatchObject({ is: 'different', saw: expect.stringContaining(saw), left: [] });
});

test.each([durableExecution, listOfExecutions, failedExecution, droppedFile, sqlEngine, wakeUp])(
  '$id cannot be shown where the function is off',
  async (step) => {
    const lambda = await lambdaWith([], { GetFunctionConfiguration: nowhere });
    expect(await tryOne(step, office.target(), { lambda })).toMatchObject({ is: 'not-here' });
  },
);

const at = (seconds: number) => new Date(Date.now() + seconds * 1_000);
const compared = { EventType: 'StepSucceeded', Name: 'compare the org units' };
const waited = (lateSeconds: number) => [
  { Id: 'w', EventType: 'WaitStarted', WaitStartedDetails: { ScheduledEndTimestamp: at(-900) } },
  // Lambda itself ends a wait, in time.
  { Id: 'w', EventType: 'WaitSucceeded', EventTimestamp: at(-900) },
  { Id: 's', EventType: 'StepStarted', EventTimestamp: at(lateSeconds - 900) },
];

test.each<[string, Step, Played[], object[], string, string]>([
  ['a fill has compared names', sqlEngine, [first], [compared], 'as-expected', 'has compared names'],
  ['no fill has ended', sqlEngine, [], [], 'not-here', 'wait for the next hour'],
  [
    'a fill failed for another reason',
    sqlEngine,
    [{ ...first, status: 'FAILED', error }],
    [],
    'not-here',
    'the last: FAILED, Error: a reason',
  ],
  ['waits ended in time', wakeUp, [first], waited(4), 'as-expected', '4 waits ended, at most 4 s late; 0'],
  ['a wait ended late', wakeUp, [first], waited(400), 'different', 'at most 400 s late'],
  [
    'a wait does not end',
    wakeUp,
    [{ ...first, status: 'RUNNING' }],
    waited(0).slice(0, 1),
    'different',
    '0 waits ended, at most 0 s late; 4 are overdue',
  ],
  [
    'a wait ends, and the function is not run again',
    wakeUp,
    [{ ...first, status: 'TIMED_OUT' }],
    waited(0).slice(0, 2),
    'different',
    '0 waits ended, at most 0 s late; 4 are overdue',
  ],
  ['nothing has waited', wakeUp, [first], [compared], 'not-here', 'No execution of the last 14 days'],
])('by the histories of executions: %s', async (_, step, executions, Events, is, saw) => {
  const lambda = await lambdaWith(executions, { GetDurableExecutionHistory: () => ({ Events }) });
  expect(await tryOne(step, office.target(), { lambda })).toMatchObject({
    is,
    saw: expect.stringContaining(saw),
  });
});
