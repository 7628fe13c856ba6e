import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import type { Attributes } from '../../lib/runtime/aws/dynamodb.ts';
import { createQuickDynamoDb } from '../../lib/runtime/aws/dynamodb-quick.ts';
import type { Version } from '../../lib/stage/version.ts';
import { localClient } from '../local/aws/aws.ts';
import { controlsOf, type PlatformState } from '../local/controls.ts';
import type { Operation } from '../local/lambda/durable-execution.ts';
import { durableOptionsOf, type Stack } from '../local/stack.ts';
import { lastVersion, releases } from '../package/contract/releases.ts';

type Queue = NonNullable<ReturnType<Stack['queues']['getQueueByName']>>;
type Message = Queue['messages'][number];

/** What the SIS has told, and what has become of it. */
export type SisState = {
  /** When the SIS began to tell. */
  fromMs: number;
  /** By user: how many grades were told, each newer than the one before. */
  grades: Record<number, number>;
  /** Users whose last grade is on its way, and not on the platform. */
  owed: number[];
  /** Users whose only grade is a letter. */
  parked: number[];
  /** How many letters of each kind the version's own command lists. */
  letters: Record<string, number>;
  /** How many versions have worked on the stage. */
  versions: number;
};

/** What a stage holds when a version has worked on it: all that the next version finds. */
export type State = {
  /** Which code made it. */
  by: Version;
  /** When. The next version goes on from there. */
  ms: number;
  ledgerKey: string;
  tables: Record<(typeof tables)[number], Attributes[]>;
  /** By name of the queue, with the ids and times of SQS; `hiddenMs`: until when it is hidden. */
  queues: Record<string, (Message & { hiddenMs?: number })[]>;
  /** By key, in Base64. */
  files: Record<string, string>;
  /** The platform's tables that the messages change, or name. */
  platform: PlatformState;
  told: SisState;
  /** The executions that have not ended, with what is recorded of each. */
  executions: { function: string; arn: string; operations: Operation[] }[];
};

const tables = ['table', 'deskTable', 'crosswalkTable'] as const;
const platformTables = ['orgUnits', 'users', 'enrollments', 'gradeObjects', 'gradeValues', 'folders'];
const durable = ['snapshot-import', 'course-export', 'crosswalk-fill', 'reconcile'];

const dynamodbOf = ({ description }: Stack) => createQuickDynamoDb(localClient(description.dynamodb));

/** Takes what an idle stage holds. */
export const takeState = async (
  stack: Stack,
  known: Pick<State, 'by' | 'ledgerKey' | 'told'>,
): Promise<State> => {
  const { description, executions } = stack;
  const platform = await controlsOf(description).state(...platformTables);
  const queues = [...stack.queues.allQueues()].map((queue): [string, State['queues'][string]] => {
    const { ready, delayed, inflight } = queue.inspectMessages();
    const hidden = inflight.map(({ message, visibilityDeadline: hiddenMs }) => ({ ...message, hiddenMs }));
    return [queue.name, [...ready, ...delayed, ...hidden]];
  });
  return {
    ...known,
    ms: Date.now(),
    tables: {
      table: await itemsIn(stack, description.table),
      deskTable: await itemsIn(stack, description.deskTable),
      crosswalkTable: await itemsIn(stack, description.crosswalkTable),
    },
    queues: Object.fromEntries(queues),
    files: await filesIn(stack),
    // How often a row was written is no part of what the platform holds.
    platform: Object.fromEntries(
      Object.entries(platform).map(([name, rows]) => [name, rows.map(({ writes: _, ...row }) => row)]),
    ),
    executions: durable.flatMap((name) =>
      executions
        .of(durableOptionsOf(name).functionArn)
        .filter(({ status }) => status === 'RUNNING')
        .map(({ arn }) => ({ function: name, arn, operations: executions.operationsOf(arn) })),
    ),
  };
};

const itemsIn = async (stack: Stack, TableName: string): Promise<Attributes[]> => {
  const dynamodb = dynamodbOf(stack);
  const items: Attributes[] = [];
  let ExclusiveStartKey: Attributes | undefined;
  do {
    const page = await dynamodb.call('Scan', { TableName, ...(ExclusiveStartKey && { ExclusiveStartKey }) });
    items.push(...(page.Items ?? []));
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey !== undefined);
  // As they came, by random numbers, they cannot be compressed.
  return items.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
};

const filesIn = async ({ s3, description: { bucket: Bucket } }: Stack): Promise<State['files']> => {
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
  const read = async (Key = ''): Promise<[string, string]> => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
    return [Key, (await Body?.transformToString('base64')) ?? ''];
  };
  // Those that a stack puts there by itself are left out.
  const own = Contents.filter(({ Key = '' }) => !Key.startsWith('events/'));
  return Object.fromEntries(await Promise.all(own.map(({ Key }) => read(Key))));
};

/** Gives a stage that is new what another one held. The caller begins its executions again. */
export const putState = async (stack: Stack, state: State): Promise<void> => {
  const { description, s3, queues } = stack;
  const dynamodb = dynamodbOf(stack);
  for (const name of tables)
    for (let from = 0; from < state.tables[name].length; from += 25)
      await dynamodb.call('BatchWriteItem', {
        RequestItems: {
          [description[name]]: state.tables[name]
            .slice(from, from + 25)
            .map((Item) => ({ PutRequest: { Item } })),
        },
      });
  for (const [Key, base64] of Object.entries(state.files))
    await s3.send(
      new PutObjectCommand({ Bucket: description.bucket, Key, Body: Buffer.from(base64, 'base64') }),
    );
  await controlsOf(description).seed(state.platform);
  // At last, as functions take them at once.
  for (const [name, messages] of Object.entries(state.queues)) {
    const queue = queues.getQueueByName(name);
    for (const { hiddenMs: visibilityDeadline, ...message } of messages)
      if (visibilityDeadline === undefined) queue?.enqueue(message);
      else {
        const receiptHandle = `hidden-${message.messageId}`;
        queue?.inflightMessages.set(receiptHandle, { message, receiptHandle, visibilityDeadline });
      }
  }
};

/** Keeps it beside what else the version promises. */
export const keepState = (state: State): void => {
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 11 };
  writeFileSync(stateFile(state.by.version), brotliCompressSync(JSON.stringify(state), { params }));
};

/** That of the last release; undefined: it kept none. */
export const lastState = (): State | undefined => {
  const file = stateFile(lastVersion());
  if (!existsSync(file)) return undefined;
  return JSON.parse(brotliDecompressSync(readFileSync(file)).toString(), (name, value) =>
    /^(Start|End|NextAttempt|ScheduledEnd)Timestamp$/.test(name) ? new Date(value) : value,
  );
};

const stateFile = (version: string): string => join(releases, version, 'state.json.br');
