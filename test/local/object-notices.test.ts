import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { localClient } from './aws.ts';
import { queuesAndFilesForTests } from './aws-for-tests.ts';
import type { ObjectNotice } from './object-notices.ts';
import { startStack } from './stack.ts';

const { server, s3, createBucket } = queuesAndFilesForTests();
const told: ObjectNotice[] = [];
beforeAll(async () => {
  await createBucket('files');
  server().onObject((notice) => told.push(notice));
});

test('each object that is put, copied or completed is told once, as S3 does', async () => {
  const Bucket = 'files';
  const put = new PutObjectCommand({ Bucket, Key: 'snapshots/night 1+ä.zip', Body: 'four' });
  const { ETag } = await s3.send(put);
  await expect.poll(() => told).toHaveLength(1);
  expect(told).toEqual([
    expect.objectContaining({
      ...{ eventVersion: '2.1', eventSource: 'aws:s3', eventName: 'ObjectCreated:Put' },
      s3: expect.objectContaining({
        bucket: expect.objectContaining({ name: Bucket, arn: 'arn:aws:s3:::files' }),
        object: expect.objectContaining({
          ...{ key: 'snapshots/night+1%2B%C3%A4.zip', size: 4, eTag: ETag?.replaceAll('"', '') },
        }),
      }),
    }),
  ]);

  const Key = 'snapshots/large.zip';
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }));
  const part = { Bucket, Key, UploadId, PartNumber: 1 };
  const uploaded = await s3.send(new UploadPartCommand({ ...part, Body: 'part' }));
  await s3.send(new PutObjectCommand({ Bucket: 'none', Key, Body: 'x' })).catch(() => {});
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'snapshots/none.zip' }));
  expect(told).toHaveLength(1);
  await s3.send(
    new CompleteMultipartUploadCommand({
      ...{ Bucket, Key, UploadId, MultipartUpload: { Parts: [{ PartNumber: 1, ETag: uploaded.ETag }] } },
    }),
  );
  await expect.poll(() => told).toHaveLength(2);
  await s3.send(new CopyObjectCommand({ Bucket, Key: 'copy.csv', CopySource: `${Bucket}/${Key}` }));
  await expect.poll(() => told).toHaveLength(3);
  expect(told.map(({ eventName }) => eventName).slice(1)).toEqual([
    ...['ObjectCreated:CompleteMultipartUpload', 'ObjectCreated:Copy'],
  ]);
  expect(told[1]?.s3.object).toMatchObject({ key: Key, size: 4 });
});

/** Instead of a function of the project, one that says what it was invoked with. */
const standIn = async (name: string): Promise<string> => {
  const folder = temporaryFolder();
  await mkdir(join(folder, 'functions'));
  const code = 'export const handler = async (event) => console.log(JSON.stringify(event));\n';
  await writeFile(join(folder, 'functions', `${name}.js`), code);
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  return folder;
};

test('a zip or a table under snapshots/ in the bucket of the stack starts its function, and nothing else does', async () => {
  const name = 'connection-check';
  const taskRoot = await standIn(name);
  const lines: string[] = [];
  const stack = await startStack({
    ...{ functions: [], taskRoot, onLog: (_, line) => lines.push(line) },
    notified: { function: name, prefix: 'snapshots/', suffixes: ['.zip', '.csv'] },
  });
  const { bucket: Bucket, s3: url } = stack.description;
  const client = new S3Client({ ...localClient(url), forcePathStyle: true });
  for (const Key of [
    'snapshots/mapping.json',
    'snapshot-records/a.zip',
    'snapshots/night.zip',
    'snapshots/b.csv',
  ])
    await client.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }));
  const keysTold = () => lines.flatMap((line) => /snapshots?[\w-]*\/[\w.]+/.exec(line)?.[0] ?? []).sort();
  await expect.poll(keysTold).toEqual(['snapshots/b.csv', 'snapshots/night.zip']);
  client.destroy();
  await stack.close();
});
