import { readFileSync } from 'node:fs';
import { zipSync } from 'fflate';
import { unlessError } from '../../runtime/aws/error.ts';
import { RefusedError } from '../command-errors.ts';
import { integrationNames } from '../function-names.ts';
import { deployedFunction } from './functions.ts';
import { makeQueue, receiveFrom } from './queues.ts';
import type { StepSandbox } from './sandbox.ts';
import { notHere, type Seen, type Step, seen } from './step.ts';

const helper = new URL('receipts.mjs', import.meta.url);
/** Regular, and readable by all: Lambda runs it as another user. */
const readable = 0o100644 * 0x1_0000;
const zipped = (): Uint8Array => zipSync({ 'index.mjs': [readFileSync(helper), { os: 3, attrs: readable }] });

type Times = { hiddenSeconds: number; queueSeconds: number };

const makeFunction = async (corner: StepSandbox, role: string, variables: Record<string, string>) => {
  const { name: FunctionName } = corner;
  const { lambda, sdk } = await corner.lambda();
  const create = new sdk.CreateFunctionCommand({
    FunctionName,
    Role: role,
    Runtime: 'nodejs24.x',
    Architectures: ['arm64'],
    Timeout: 10,
    Handler: 'index.handler',
    Code: { ZipFile: zipped() },
    Environment: { Variables: variables },
  });
  await corner.make(
    `the function ${FunctionName}`,
    () => lambda.send(create),
    () => lambda.send(new sdk.DeleteFunctionCommand({ FunctionName })),
  );
  const get = new sdk.GetFunctionConfigurationCommand({ FunctionName });
  await corner.until(120, async () => ((await lambda.send(get)).State === 'Pending' ? undefined : true));
};

const makeMapping = async (corner: StepSandbox, EventSourceArn: string): Promise<void> => {
  const { name: FunctionName } = corner;
  const { lambda, sdk } = await corner.lambda();
  const create = new sdk.CreateEventSourceMappingCommand({
    FunctionName,
    EventSourceArn,
    BatchSize: 1,
    FunctionResponseTypes: ['ReportBatchItemFailures'],
  });
  let own: string | undefined;
  await corner.make(
    `the event-source mapping of ${FunctionName}`,
    async () => {
      // The queue's policy takes up to a minute until Lambda sees it.
      const made = await corner.until(90, () =>
        unlessError(/^InvalidParameterValueException$/, () => lambda.send(create)),
      );
      own = (made ?? (await lambda.send(create))).UUID;
    },
    async () => {
      const list = new sdk.ListEventSourceMappingsCommand({ FunctionName });
      const { EventSourceMappings = [] } = await lambda.send(list);
      const listed = EventSourceMappings.filter(({ State }) => State !== 'Deleting').map(({ UUID }) => UUID);
      // The list may be older than what was made.
      for (const UUID of new Set([own, ...listed]))
        if (UUID !== undefined) await lambda.send(new sdk.DeleteEventSourceMappingCommand({ UUID }));
    },
  );
};

/** `queueSeconds`: when it would come back if the queue's own time counted. */
export const tryVisibility = async (
  corner: StepSandbox,
  { hiddenSeconds, queueSeconds }: Times,
): Promise<Seen> => {
  const [lent] = await Promise.all(integrationNames().map((name) => deployedFunction(corner, name))).then(
    (all) => all.flatMap((each) => each ?? []),
  );
  if (lent?.Role === undefined) return notHere('The stage has no function with a queue.');
  const { Role } = lent;
  const policy = (...actions: string[]) => {
    const Action = actions.map((action) => `sqs:${action}`);
    const Statement = [{ Effect: 'Allow', Principal: { AWS: Role }, Action, Resource: '*' }];
    return JSON.stringify({ Version: '2012-10-17', Statement });
  };
  const report = await makeQueue(corner, 'seen', { Policy: policy('SendMessage') });
  const queue = await makeQueue(corner, 'queue', {
    VisibilityTimeout: `${queueSeconds}`,
    Policy: policy('ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes', 'ChangeMessageVisibility'),
  });
  await makeFunction(corner, Role, {
    SEEN_URL: report.url,
    OWN_URL: queue.url,
    HIDDEN_SECONDS: `${hiddenSeconds}`,
  });
  await makeMapping(corner, queue.arn);
  const { SendMessageCommand } = await import('@aws-sdk/client-sqs');
  const sqs = await corner.target.sqs();
  await sqs.send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody: '{}' }));
  const atMs = new Map<number, number>();
  await corner.until(queueSeconds * 2 + 120, async () => {
    const received = await receiveFrom(corner, report.url);
    const { receipt, atMs: when } = JSON.parse(received?.Body ?? '{}');
    if (typeof receipt === 'number' && !atMs.has(receipt)) atMs.set(receipt, when);
    return atMs.has(1) && atMs.has(2) ? true : undefined;
  });
  const [first, second] = [atMs.get(1), atMs.get(2)];
  if (first === undefined) throw new RefusedError('The function did not get the message.');
  if (second === undefined) return seen(false, 'the message did not come back');
  const seconds = (second - first) / 1_000;
  // Not at once, and not when the queue's own time is over. Clocks of two containers may differ a little.
  const isKept = seconds > hiddenSeconds * 0.9 && seconds < (hiddenSeconds + queueSeconds) / 2;
  return seen(
    isKept,
    `it came back after ${Math.round(seconds)} s; hidden for ${hiddenSeconds} s by the function, ${queueSeconds} s by the queue`,
  );
};

export const keptVisibility: Step = {
  id: 'kept-visibility',
  claim:
    'A message that a function has hidden, and then returns in batchItemFailures, comes back when that time is over',
  does: 'Makes two queues and a function of 20 lines, which runs with the role of one of the stage’s functions, and an event-source mapping; the function hides a message and returns it. No other function is called.',
  costs: 'two queues, and two runs of a function: less than $0.01',
  minutes: 13,
  expected: 'the message comes back at the end of the time for which the function hid it',
  rights: [
    ...[
      'CreateQueue',
      'GetQueueUrl',
      'GetQueueAttributes',
      'DeleteQueue',
      'SendMessage',
      'ReceiveMessage',
    ].map((action) => `sqs:${action}`),
    ...['GetFunctionConfiguration', 'CreateFunction', 'DeleteFunction', 'CreateEventSourceMapping'].map(
      (action) => `lambda:${action}`,
    ),
    'lambda:ListEventSourceMappings',
    'lambda:DeleteEventSourceMapping',
    'iam:PassRole',
  ],
  try: (corner) => tryVisibility(corner, { hiddenSeconds: 40, queueSeconds: 180 }),
};
