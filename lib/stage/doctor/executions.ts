import type {
  Execution,
  GetDurableExecutionCommandOutput,
  Event as HistoryEvent,
} from '@aws-sdk/client-lambda';
import { errorName } from '../../runtime/aws/error.ts';
import { listExecutions } from '../../runtime/jobs/executions.ts';
import { logText } from '../../runtime/privacy/log-text.ts';
import { deployedFunction } from './functions.ts';
import type { StepSandbox } from './sandbox.ts';
import { notHere, type Step, seen } from './step.ts';

/** Its executions do nothing for a file that is not there, or is neither a zip nor a CSV file. */
const importer = 'snapshot-import';
const filler = 'crosswalk-fill';
const listing = ['ListDurableExecutionsByFunction', 'ListVersionsByFunction', 'GetDurableExecution'];
const rightsTo = (...actions: string[]): string[] =>
  ['GetFunctionConfiguration', ...listing, ...actions].map((action) => `lambda:${action}`);

const keyOf = ({ name }: StepSandbox, ending: string): string => `snapshots/${name}${ending}`;

const start = async (corner: StepSandbox, event: object, name?: string): Promise<void> => {
  const { lambda, sdk } = await corner.lambda();
  const invoke = new sdk.InvokeCommand({
    FunctionName: `${corner.target.prefix}${importer}:durable`,
    InvocationType: 'Event',
    ...(name !== undefined && { DurableExecutionName: name }),
    Payload: Buffer.from(JSON.stringify(event)),
  });
  await lambda.send(invoke);
};

/** How far this machine's clock may differ from AWS'. */
const clockMs = 10 * 60_000;

/** Executions of the import since then whose event has this text. */
const executionsWith = async (corner: StepSandbox, text: string, sinceMs: number) => {
  const { lambda, sdk } = await corner.lambda();
  const all = await listExecutions(lambda, `${corner.target.prefix}${importer}`, {});
  const young = all.filter(({ StartTimestamp }) => Number(StartTimestamp) > sinceMs - clockMs);
  const found: GetDurableExecutionCommandOutput[] = [];
  for (const { DurableExecutionArn } of young) {
    const it = await lambda.send(new sdk.GetDurableExecutionCommand({ DurableExecutionArn }));
    if (it.InputPayload?.includes(text)) found.push(it);
  }
  return found;
};

/** The first of them that has ended. */
const ended = (corner: StepSandbox, text: string, sinceMs: number) =>
  corner.until(180, async () =>
    (await executionsWith(corner, text, sinceMs)).find(({ Status }) => Status !== 'RUNNING'),
  );

const outcomeOf = ({ Result = '{}' }: GetDurableExecutionCommandOutput): unknown =>
  JSON.parse(Result)?.outcome;

const endText = (it: GetDurableExecutionCommandOutput): string => {
  const why =
    it.Error === undefined
      ? `${outcomeOf(it)}`
      : logText(`${it.Error.ErrorType}: ${it.Error.ErrorMessage}`, 200);
  return `${it.Status}, ${why}`;
};

export const durableExecution: Step = {
  id: 'durable-execution',
  needs: importer,
  claim:
    'With the rights of its role, a durable function records its steps, and finds itself among the executions of its versions',
  does: 'Starts snapshot-import for a file that is not there.',
  costs: 'two seconds of a function: less than $0.01',
  minutes: 3,
  expected: 'the execution succeeds: there is no such file',
  rights: rightsTo('InvokeFunction'),
  try: async (corner) => {
    const [sinceMs, key] = [Date.now(), keyOf(corner, '-missing.zip')];
    await start(corner, { key });
    const it = await ended(corner, key, sinceMs);
    if (it === undefined) return seen(false, 'no execution with this event has ended within 180 s');
    return seen(it.Status === 'SUCCEEDED' && outcomeOf(it) === 'replaced', endText(it));
  },
};

export const listOfExecutions: Step = {
  id: 'executions',
  needs: importer,
  claim:
    'Executions are listed if their version is named by its number, and if they are named; nothing is taken for granted of the order, or of lists without a version',
  marked: ["One job of a function at a time, by Lambda's list of executions"],
  does: 'Starts snapshot-import twice for a file that is not there, and lists its executions in each way that AWS describes.',
  costs: 'four seconds of a function: less than $0.01',
  minutes: 3,
  expected: 'lists by version have both executions, and a list by name the one of that name',
  rights: rightsTo('InvokeFunction'),
  try: async (corner) => {
    const { lambda, sdk } = await corner.lambda();
    const FunctionName = `${corner.target.prefix}${importer}`;
    // AWS takes names of 64 characters.
    const names = ['first', 'second'].map((word) => `${corner.name}-${word}`);
    for (const name of names) {
      await start(corner, { key: keyOf(corner, '-missing.zip') }, name);
      await corner.rest(2);
    }
    const ownIn = (all: readonly Execution[]): string[] =>
      all.flatMap(({ DurableExecutionName: name = '' }) => (names.includes(name) ? [name] : []));
    const byVersion = await corner.until(120, async () => {
      const own = ownIn(await listExecutions(lambda, FunctionName, {}));
      return own.length === names.length ? own : undefined;
    });
    const byName = await corner.until(30, async () => {
      const own = ownIn(await listExecutions(lambda, FunctionName, { DurableExecutionName: `${names[0]}` }));
      return own.length > 0 ? own : undefined;
    });
    /** The newest or the oldest hundred, whichever come first. */
    const asked = async (more: { Qualifier?: string; ReverseOrder?: boolean }): Promise<string> => {
      const list = new sdk.ListDurableExecutionsByFunctionCommand({ FunctionName, MaxItems: 100, ...more });
      // No part of the code lists so: a refusal is what there is to see.
      const answer = await lambda.send(list).catch((error: unknown) => errorName(error));
      if (typeof answer === 'string') return answer;
      const order = ownIn(answer.DurableExecutions ?? []).map((name) =>
        name === names[0] ? 'older' : 'newer',
      );
      return order.join(' before ') || 'neither';
    };
    const ways = {
      'without a version': await asked({}),
      'reversed, without a version': await asked({ ReverseOrder: true }),
      'not reversed, without a version': await asked({ ReverseOrder: false }),
      'by the alias': await asked({ Qualifier: 'durable' }),
    };
    return seen(
      byVersion !== undefined && byName?.join() === names[0],
      [
        `by version: ${byVersion === undefined ? 'not both' : 'both'}`,
        `by name: ${byName?.length ?? 0}`,
        ...Object.entries(ways).map(([way, order]) => `${way}: ${order}`),
      ].join('; '),
    );
  },
};

/** Lambda tries an asynchronous invocation again after one minute, and after two more. */
const retriesSeconds = 300;

export const failedExecution: Step = {
  id: 'failed-execution',
  needs: importer,
  claim: 'A failed execution of an asynchronous invocation is not started a second time',
  does: 'Starts snapshot-import with an event that it refuses, and waits for 5 minutes. The alarm JobsFailed goes off, and perhaps SnapshotNotStarted; each sends a mail, and another when it ends.',
  alarms: ['JobsFailed', 'SnapshotNotStarted'],
  costs: 'less than $0.01, and two to four mails to the address of the alarms',
  minutes: 8,
  expected: 'one execution, which failed',
  rights: rightsTo('InvokeFunction'),
  try: async (corner) => {
    const [sinceMs, text] = [Date.now(), `${corner.name}-refused`];
    await start(corner, { doctor: text });
    if ((await ended(corner, text, sinceMs)) === undefined)
      return seen(false, 'no execution with this event has ended within 180 s');
    await corner.rest(retriesSeconds);
    const all = await executionsWith(corner, text, sinceMs);
    const isOne = all.length === 1 && all[0]?.Status === 'FAILED';
    return seen(isOne, `${all.length} within 5 minutes: ${all.map(({ Status }) => Status).join(', ')}`);
  },
};

export const droppedFile: Step = {
  id: 'dropped-file',
  needs: importer,
  claim:
    'A file that is put under snapshots/ starts snapshot-import once, by EventBridge and the function’s alias',
  does: 'Puts a file under snapshots/ whose name says that it is not complete: snapshot-import ignores it.',
  costs: 'less than $0.01',
  minutes: 4,
  expected: 'one execution, which ignores the file',
  rights: [
    ...rightsTo(),
    'cloudformation:DescribeStacks',
    'kms:GenerateDataKey',
    's3:PutObject',
    's3:DeleteObject',
    's3:DeleteObjectVersion',
  ],
  try: async (corner) => {
    const Bucket = await corner.target.bucket();
    if (Bucket === undefined) return notHere('The name of the bucket is not known: pass --bucket.');
    const sdk = await import('@aws-sdk/client-s3');
    const s3 = await corner.target.s3();
    const [sinceMs, Key] = [Date.now(), keyOf(corner, '.part')];
    let VersionId: string | undefined;
    await corner.make(
      `the object ${Key} of the bucket`,
      async () => {
        ({ VersionId } = await s3.send(new sdk.PutObjectCommand({ Bucket, Key, Body: 'doctor\n' })));
      },
      () => s3.send(new sdk.DeleteObjectCommand({ Bucket, Key, VersionId })),
    );
    const first = await ended(corner, Key, sinceMs);
    if (first === undefined) return seen(false, 'no execution for this file has ended within 180 s');
    const seconds = Math.round((Number(first.StartTimestamp) - sinceMs) / 1_000);
    await corner.rest(20);
    const { length } = await executionsWith(corner, Key, sinceMs);
    const isIgnored = first.Status === 'SUCCEEDED' && outcomeOf(first) === 'ignored';
    return seen(isIgnored && length === 1, `${length}, the first after ${seconds} s: ${endText(first)}`);
  },
};

/** Newest first; older ones say nothing more. */
const most = 20;
const newestOf = async (corner: StepSandbox, name: string): Promise<Execution[]> => {
  if ((await deployedFunction(corner, name)) === undefined) return [];
  const { lambda } = await corner.lambda();
  return (await listExecutions(lambda, `${corner.target.prefix}${name}`, {})).slice(-most).reverse();
};

const historyOf = async (
  corner: StepSandbox,
  { DurableExecutionArn }: Execution,
): Promise<HistoryEvent[]> => {
  const { lambda, sdk } = await corner.lambda();
  const events: HistoryEvent[] = [];
  const asked = { DurableExecutionArn, IncludeExecutionData: false, MaxItems: 1_000 };
  for await (const { Events = [] } of sdk.paginateGetDurableExecutionHistory({ client: lambda }, asked))
    events.push(...Events);
  return events;
};

/** What a function writes: Lambda itself ends a wait. */
const ownEvents =
  /^((Step|Wait|Context|Callback|ChainedInvoke)Started|Step(Succeeded|Failed)|Execution(Succeeded|Failed))$/;

/** After what they waited for, Lambda starts them again within this time. */
const lateSeconds = 60;

/** How many seconds after its end a wait was noticed by its function. */
type Wait = number | 'overdue';
const waitsOf = ({ Status, EndTimestamp }: Execution, events: readonly HistoryEvent[]): Wait[] =>
  events.flatMap(({ Id, WaitStartedDetails }): Wait[] => {
    const dueMs = WaitStartedDetails?.ScheduledEndTimestamp?.getTime();
    if (dueMs === undefined) return [];
    const over = events.findIndex((each) => each.Id === Id && each.EventType === 'WaitSucceeded');
    const after = over < 0 ? [] : events.slice(over + 1);
    const nextMs = after.find(({ EventType = '' }) => ownEvents.test(EventType))?.EventTimestamp?.getTime();
    if (nextMs !== undefined) return [(nextMs - dueMs) / 1_000];
    const isCutOff = /^(RUNNING|TIMED_OUT)$/.test(Status ?? '');
    return isCutOff && dueMs < (EndTimestamp?.getTime() ?? Date.now()) - lateSeconds * 1_000
      ? ['overdue']
      : [];
  });

export const wakeUp: Step = {
  id: 'wake-up',
  claim: 'An execution that waits is started again when its wait is over',
  does: 'Reads the histories of the last executions of the long jobs; it starts none, because only a job at work waits.',
  costs: 'nothing',
  minutes: 3,
  expected: `executions that waited went on within ${lateSeconds} s of the end of their wait`,
  rights: rightsTo('GetDurableExecutionHistory'),
  try: async (corner) => {
    const waits: Wait[] = [];
    for (const name of [filler, 'course-export', 'reconcile', importer])
      for (const execution of await newestOf(corner, name))
        waits.push(...waitsOf(execution, await historyOf(corner, execution)));
    const late = waits.flatMap((wait) => (wait === 'overdue' ? [] : wait));
    const overdue = waits.length - late.length;
    if (waits.length === 0)
      return notHere(
        'No execution of the last 14 days has waited. Start `sis-relay crosswalk fill` twice at once, as the second waits for the first; then try this step again.',
      );
    const latest = Math.round(Math.max(0, ...late));
    return seen(
      overdue === 0 && latest <= lateSeconds,
      `${late.length} waits ended, at most ${latest} s late; ${overdue} are overdue`,
    );
  },
};

export const sqlEngine: Step = {
  id: 'set-engine',
  needs: filler,
  claim: 'The binding of DuckDB that is packaged works on Lambda’s processors, arm64',
  does: 'Looks for a fill of the crosswalk that has compared names, which the engine does.',
  costs: 'nothing',
  minutes: 1,
  expected: 'on arm64, a fill has compared names and succeeded',
  rights: rightsTo('GetDurableExecutionHistory'),
  try: async (corner) => {
    const { Architectures = [] } = (await deployedFunction(corner, filler)) ?? {};
    if (!Architectures.includes('arm64')) return notHere(`${filler} runs on ${Architectures.join()}.`);
    const newest = await newestOf(corner, filler);
    for (const execution of newest.filter(({ Status }) => Status === 'SUCCEEDED')) {
      const isCompared = (await historyOf(corner, execution)).some(
        ({ EventType, Name = '' }) => EventType === 'StepSucceeded' && Name.startsWith('compare the '),
      );
      const at = execution.StartTimestamp?.toISOString();
      if (isCompared) return seen(true, `the fill that began at ${at} has compared names`);
    }
    const failed = newest.find(({ Status }) => Status === 'FAILED');
    if (failed === undefined)
      return notHere('No fill of the crosswalk has ended yet: wait for the next hour.');
    const { lambda, sdk } = await corner.lambda();
    const { DurableExecutionArn } = failed;
    const it = await lambda.send(new sdk.GetDurableExecutionCommand({ DurableExecutionArn }));
    const why = `No fill has compared names; the last: ${endText(it)}`;
    // Others fail because of the platform, or of a file.
    return /duckdb|dlopen|ELF|shared object/i.test(why) ? seen(false, why) : notHere(why);
  },
};
