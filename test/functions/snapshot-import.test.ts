import { gunzipSync } from 'node:zlib';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { PurgeQueueCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import type { Context } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { handler } from '../../functions/snapshot-import.ts';
import type { ImportAnswer } from '../../lib/snapshots/import.ts';
import type { SnapshotRecord } from '../../lib/snapshots/record.ts';
import {
  enrollment,
  entriesOfSis,
  type Rows,
  result,
  type Sis,
  smallSis,
  zipOf,
} from '../lib/snapshots/sis.ts';
import { localClient } from '../local/aws.ts';
import { startLambda } from '../local/lambda.ts';
import type { InvokeResult } from '../local/lambda-runtime-api.ts';
import { durableOptionsOf, type Stack, settingsOf, startStack } from '../local/stack.ts';

const name = 'snapshot-import';
let stack: Stack;
let s3: S3Client;
let Bucket: string;
let logged: string[] = [];
const queues = [
  ...['enrollment-create', 'enrollment-remove', 'grade-object-create', 'grade-object-update', 'grade-push'],
];
const settings = () => ({
  ...settingsOf(stack.description, name),
  ...{ RESERVE_MS: '1000', LOG_LEVEL: 'info', WAIT_MINIMUM_SECONDS: '1', WAIT_MAXIMUM_SECONDS: '1' },
});

beforeAll(async () => {
  stack = await startStack({ functions: false });
  Bucket = stack.description.bucket;
  s3 = new S3Client({ ...localClient(stack.description.s3), forcePathStyle: true });
  Object.assign(process.env, settings());
  const write = process.stdout.write.bind(process.stdout);
  vi.spyOn(process.stdout, 'write').mockImplementation((text, ...others) => {
    if (!`${text}`.startsWith('{')) return write(text, ...(others as []));
    logged.push(...`${text}`.split('\n'));
    return true;
  });
});
beforeEach(async () => {
  logged = [];
  for (const Prefix of ['snapshots/', 'snapshot-records/', 'snapshot-settings.json']) {
    const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix }));
    for (const { Key } of Contents) await s3.send(new DeleteObjectCommand({ Bucket, Key }));
  }
  for (const each of queues)
    await stack.sqs.send(new PurgeQueueCommand({ QueueUrl: stack.description.queues[each] }));
  await putSettings({ roles: { student: 110, teacher: 109 }, maxRemovalsPercent: 50 });
});
afterAll(async () => {
  vi.restoreAllMocks();
  s3.destroy();
  await stack.close();
});

const put = (Key: string, Body: string | Buffer) => s3.send(new PutObjectCommand({ Bucket, Key, Body }));
const putSettings = (json: object) => put('snapshot-settings.json', JSON.stringify(json));
const bytesAt = async (Key: string): Promise<Buffer> => {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
  return Buffer.from((await Body?.transformToByteArray()) ?? []);
};

type Execute = (event: unknown) => Promise<InvokeResult>;
const executed: Execute = (event) =>
  stack.executions.run(event, durableOptionsOf(name), async (payload) => {
    const context = { getRemainingTimeInMillis: () => 60_000 } as Context;
    return { ok: true, payload: await handler(JSON.parse(JSON.stringify(payload)), context) };
  });

const invoke = async (event: unknown, execute = executed): Promise<ImportAnswer> => {
  const result = await execute(event);
  if (result.ok) return result.payload as ImportAnswer;
  throw new Error(`${result.error.errorType}: ${result.error.errorMessage}`);
};

let lastDropMs = 0;
/** S3 tells seconds alone, by which snapshots are ordered. */
const dropFile = async (bytes: Buffer | string, key = 'snapshots/export.zip') => {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, lastDropMs + 1_050 - Date.now())));
  await put(key, bytes);
  lastDropMs = Date.now();
  return key;
};
const importFile = async (bytes: Buffer | string, key?: string) =>
  invoke({ key: await dropFile(bytes, key) });
const importSis = async (sis: Sis, modes?: Record<string, string>) =>
  importFile(await zipOf(entriesOfSis(sis, modes)));

const recordOf = async ({ id }: ImportAnswer): Promise<SnapshotRecord> =>
  JSON.parse((await bytesAt(`snapshot-records/${id}/record.json`)).toString());
const reportOf = async ({ id }: ImportAnswer): Promise<string[]> =>
  (await bytesAt(`snapshot-records/${id}/report.csv`)).toString().trimEnd().split('\n').slice(1);

type Event = { id: string; time: string; sequence: string; type: string; data: Record<string, unknown> };

const bodiesIn = async (queue: string): Promise<string[]> => {
  const bodies: string[] = [];
  for (;;) {
    const { Messages = [] } = await stack.sqs.send(
      new ReceiveMessageCommand({
        ...{ QueueUrl: stack.description.queues[queue], MaxNumberOfMessages: 10 },
        MessageAttributeNames: ['All'],
      }),
    );
    if (Messages.length === 0) return bodies;
    for (const { Body = '', MessageAttributes } of Messages) {
      expect(MessageAttributes).toMatchObject({ priority: { StringValue: 'bulk' } });
      bodies.push(Body);
    }
  }
};
/** What was sent since the last look, by function, sorted. */
const sent = async (): Promise<Record<string, Event['data'][]>> => {
  const all: Record<string, Event['data'][]> = {};
  for (const queue of queues) {
    const bodies = (await bodiesIn(queue)).map((body) => JSON.parse(body) as Event);
    if (bodies.length > 0)
      all[queue] = bodies
        .map(({ data }) => data)
        .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  }
  return all;
};
const change = (rows: Rows, sourcedId: string, changes: Record<string, string>): Rows =>
  rows.map((row) => (row.sourcedId === sourcedId ? { ...row, ...changes } : row));

describe('an import', () => {
  test('sends everything of the first snapshot as created', async () => {
    const answer = await importSis(smallSis());
    expect(answer).toEqual({
      ...{ outcome: 'accepted', message: '9 events were sent.' },
      id: expect.stringMatching(/^\d{8}T\d{6}Z-[0-9a-f]{8}$/),
      record: `s3://${Bucket}/snapshot-records/${answer.id}/record.json`,
    });
    expect(await sent()).toEqual({
      'grade-object-create': [
        { orgUnitCode: 'ART-1', type: 'numeric', name: 'Talk', maxPoints: 10 },
        { orgUnitCode: 'BIO-101', type: 'numeric', name: 'Essay', maxPoints: 20 },
      ],
      'enrollment-create': [
        { orgUnitCode: 'ART-1', userName: 'ada', roleId: 110 },
        { orgUnitCode: 'BIO-101', userName: 'ada', roleId: 110 },
        { orgUnitCode: 'BIO-101', userName: 'ben', roleId: 110 },
        { orgUnitCode: 'BIO-101', userName: 'cleo', roleId: 110 },
        { orgUnitCode: 'BIO-101', userName: 'tess', roleId: 109 },
      ],
      'grade-push': [
        {
          ...{ orgUnitCode: 'BIO-101', gradeObjectName: 'Essay', userName: 'ada' },
          grade: { type: 'numeric', points: 17.5, outOf: 20 },
        },
        {
          ...{ orgUnitCode: 'BIO-101', gradeObjectName: 'Essay', userName: 'ben' },
          ...{ grade: { type: 'numeric', points: 0, outOf: 20 }, comments: 'See me' },
        },
      ],
    });
    const none = { updated: 0, removed: 0, unchanged: 0, refused: 0 };
    expect(await recordOf(answer)).toEqual({
      ...{ id: answer.id, key: 'snapshots/export.zip', state: 'accepted', sent: 9, of: 9 },
      ...{ droppedAt: expect.any(String), startedAt: expect.any(String), endedAt: expect.any(String) },
      ...{ sendingAt: expect.any(String), counts: { created: 9, ...none } },
      byKind: {
        ...{ lineItems: { created: 2, ...none }, enrollments: { created: 5, ...none } },
        results: { created: 2, ...none },
      },
    });
    expect(await reportOf(answer)).toEqual([]);
    expect(logged.join('\n')).not.toMatch(/ada|BIO-101|See me/);
  });
});
