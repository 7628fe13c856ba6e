import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { type QueueAttributeName, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { createQuickDynamoDb, type QuickDynamoDb } from '../../../lib/runtime/aws/dynamodb-quick.ts';
import { createQueue, localClient, startQueuesAndFiles } from './aws.ts';
import { startTables } from './tables.ts';

/** A server for a test file, or for a part of one. A fault, as faults.ts tells, lasts no longer than its test. */
function serverForTests<Server extends { url: string; close(): Promise<void> }>(
  start: () => Promise<Server>,
) {
  let server: Server;
  let isFaulty = false;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.close());
  const clearFaults = async (): Promise<void> => {
    await fetch(`${server.url}/_local/faults`, { method: 'DELETE' });
    isFaulty = false;
  };
  afterEach(() => (isFaulty ? clearFaults() : undefined));
  return {
    server: () => server,
    url: () => server.url,
    clearFaults,
    fault: async (fault: object): Promise<void> => {
      const request = { method: 'POST', body: JSON.stringify(fault) };
      const answer = await fetch(`${server.url}/_local/faults`, request);
      if (!answer.ok) throw new Error(await answer.text());
      isFaulty = true;
    },
  };
}

type ClientOptions = NonNullable<Parameters<typeof createQuickDynamoDb>[0]>;

/** DynamoDB with these tables, as `startTables` makes them. */
export function tablesForTests(...names: Parameters<typeof startTables>) {
  const { url, fault, clearFaults } = serverForTests(() => startTables(...names));
  /** A client whose calls are heard of. */
  const client = (
    options: ClientOptions = {},
    onCall: (action: string) => void = () => {},
  ): QuickDynamoDb => {
    let made: QuickDynamoDb | undefined;
    const it = (): QuickDynamoDb => {
      made ??= createQuickDynamoDb({ ...localClient(url()), ...options });
      return made;
    };
    return {
      call: (action, ...given) => {
        onCall(action);
        return it().call(action, ...given);
      },
      clockDiffersByMs: () => it().clockDiffersByMs(),
      warm: () => it().warm(),
    };
  };
  return { url, fault, clearFaults, client };
}

/** SQS and S3, and clients of them that ask once. */
export function queuesAndFilesForTests() {
  const { server, url, fault, clearFaults } = serverForTests(startQueuesAndFiles);
  const local = { ...localClient(''), endpoint: async () => ({ url: new URL(url()) }), maxAttempts: 1 };
  const sqs = new SQSClient(local);
  const s3 = new S3Client({ ...local, forcePathStyle: true });
  afterAll(() => {
    sqs.destroy();
    s3.destroy();
  });
  return {
    server,
    fault,
    clearFaults,
    sqs,
    s3,
    createQueue: (name: string, attributes: Partial<Record<QueueAttributeName, string>> = {}) =>
      createQueue(sqs, name, attributes),
    createBucket: (Bucket: string) => s3.send(new CreateBucketCommand({ Bucket })),
  };
}
