import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Readable } from 'node:stream';
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { Pool } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createQuickDynamoDb } from '../../../lib/runtime/aws/dynamodb-quick.ts';
import { startPlatform } from '../platform/server.ts';
import { createQueue, localClient, startQueuesAndFiles } from './aws.ts';
import { startSecretsManager } from './secrets-manager.ts';
import { startTables } from './tables.ts';
import { useSockets } from './without-sockets.ts';

let platform: Awaited<ReturnType<typeof startPlatform>>;
let aws: Awaited<ReturnType<typeof startQueuesAndFiles>>;
let secrets: Awaited<ReturnType<typeof startSecretsManager>>;
let tables: Awaited<ReturnType<typeof startTables>>;
let pool: Pool;
let sqs: SQSClient;
let s3: S3Client;
let QueueUrl = '';

beforeAll(async () => {
  [platform, aws, secrets, tables] = await Promise.all([
    startPlatform(),
    startQueuesAndFiles(),
    startSecretsManager({ one: 'a secret' }),
    startTables('ledger'),
  ]);
  pool = new Pool(platform.url);
  sqs = new SQSClient(localClient(aws.url));
  s3 = new S3Client({ ...localClient(aws.url), forcePathStyle: true });
  QueueUrl = (await createQueue(sqs, 'queue')).url;
  await s3.send(new CreateBucketCommand({ Bucket: 'bucket' }));
  await s3.send(new PutObjectCommand({ Bucket: 'bucket', Key: 'ä b+c', Body: 'x'.repeat(200_000) }));
});
afterAll(async () => {
  await pool.close();
  for (const client of [sqs, s3]) client.destroy();
  await Promise.all([platform, aws, secrets, tables].map((server) => server.close()));
});

let requests = 0;
const count = (): void => {
  requests += 1;
};
beforeAll(() => subscribe('http.server.request.start', count));
afterAll(() => void unsubscribe('http.server.request.start', count));
afterEach(() => useSockets(true));

/** What came of a call, and how many requests of HTTP it took. */
const outcomeOf = async (call: () => Promise<unknown>) => {
  requests = 0;
  const answer = await call().catch(({ name, message, $metadata }) => ({
    name,
    message,
    status: $metadata?.httpStatusCode,
  }));
  return { answer, requests };
};

const undici = async (method: 'GET' | 'PUT', path: string, body?: string) => {
  const { statusCode, headers, body: answer } = await pool.request({ method, path, body: body ?? null });
  return { statusCode, type: headers['content-type'], text: await answer.text() };
};

const calls: Record<string, () => Promise<unknown>> = {
  'a page of the platform': () => undici('GET', '/_local/settings'),
  'a refusal of the platform': () => undici('PUT', '/svc/api/le/1.82/2001/grades/?a=%20b', '{}'),
  'a secret': async () => {
    const client = new SecretsManagerClient(localClient(secrets.url));
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: 'one' }));
    client.destroy();
    return SecretString;
  },
  'a secret that is not there': () =>
    new SecretsManagerClient(localClient(secrets.url)).send(new GetSecretValueCommand({ SecretId: 'two' })),
  'a file': async () => {
    const { Body, ContentLength } = await s3.send(new GetObjectCommand({ Bucket: 'bucket', Key: 'ä b+c' }));
    return { ContentLength, text: await Body?.transformToString() };
  },
  'a file that is not there': () => s3.send(new GetObjectCommand({ Bucket: 'bucket', Key: 'none' })),
  'a list of files': async () =>
    (await s3.send(new ListObjectsV2Command({ Bucket: 'bucket', Prefix: 'ä ' }))).Contents,
  'a message': async () => {
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'ä 🎓' }));
    const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl }));
    return Messages?.map(({ Body }) => Body);
  },
  'an item of a table': () =>
    createQuickDynamoDb(localClient(tables.url)).call('Scan', { TableName: 'ledger' }),
  'a table that is not there': () =>
    createQuickDynamoDb(localClient(tables.url)).call('Scan', { TableName: 'none' }),
};

test.each(Object.entries(calls))('%s comes as it does by HTTP, without it', async (_, call) => {
  useSockets(true);
  const byHttp = await outcomeOf(call);
  expect(byHttp.requests).toBeGreaterThan(0);
  useSockets(false);
  expect(await outcomeOf(call)).toEqual({ ...byHttp, requests: 0 });
});

describe('by HTTP goes in any case', () => {
  const isByHttp = async (call: () => Promise<unknown>) => {
    useSockets(false);
    const { answer, requests } = await outcomeOf(call);
    expect(requests).toBeGreaterThan(0);
    return answer;
  };

  test('what a fault does to a connection, and no other fault', async () => {
    const fault = (effect: object) =>
      fetch(`${aws.url}/_local/faults`, { method: 'POST', body: JSON.stringify({ ...effect, times: 1 }) });
    const list = () => s3.send(new ListObjectsV2Command({ Bucket: 'bucket' }));
    await fault({ action: 'GetObject', reset: true });
    expect(await isByHttp(list)).toHaveProperty('KeyCount', 1);
    await fetch(`${aws.url}/_local/faults`, { method: 'DELETE' });
    await fault({ status: 403, type: 'AccessDenied' });
    expect(await outcomeOf(list)).toMatchObject({
      requests: 0,
      answer: { name: 'AccessDenied', status: 403 },
    });
  });

  test('a body that is a stream', async () => {
    const Body = Readable.from([Buffer.from('streamed')]);
    const put = new PutObjectCommand({ Bucket: 'bucket', Key: 'stream', Body, ContentLength: 8 });
    expect(await isByHttp(() => s3.send(put))).toHaveProperty('ETag');
  });
});

test('a call that is aborted ends at once', async () => {
  useSockets(false);
  const ending = new AbortController();
  const receive = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 });
  const receiving = sqs.send(receive, { abortSignal: ending.signal });
  setTimeout(() => ending.abort(), 20);
  await expect(receiving).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
});
