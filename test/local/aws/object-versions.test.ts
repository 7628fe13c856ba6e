import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutBucketVersioningCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { beforeAll, expect, test } from 'vitest';
import { queuesAndFilesForTests } from './for-tests.ts';
import type { ObjectNotice } from './object-notices.ts';

const { server, s3, createBucket } = queuesAndFilesForTests();
const Key = 'snapshots/nightly delta+ä.zip';
const object = { Bucket: 'versioned', Key };

beforeAll(async () => {
  for (const name of ['versioned', 'plain']) await createBucket(name);
  const VersioningConfiguration = { Status: 'Enabled' } as const;
  await s3.send(new PutBucketVersioningCommand({ Bucket: 'versioned', VersioningConfiguration }));
});

const put = async (Body: string): Promise<string> =>
  (await s3.send(new PutObjectCommand({ ...object, Body }))).VersionId ?? '';
const read = async (VersionId?: string) => {
  const { Body, ...notices } = await s3.send(new GetObjectCommand({ ...object, VersionId }));
  return { text: await Body?.transformToString(), version: notices.VersionId };
};

test('each version that is put is told of, and read by its id, whatever lies under its key by then', async () => {
  const notices: ObjectNotice[] = [];
  server().onObject((notice) => notices.push(notice));
  const [first, second] = [await put('one'), await put('second')];
  expect(new Set([first, second, '']).size).toBe(3);
  expect(await read(first)).toEqual({ text: 'one', version: first });
  expect(await read()).toEqual({ text: 'second', version: second });
  expect(await s3.send(new HeadObjectCommand({ ...object, VersionId: first }))).toMatchObject({
    ContentLength: 3,
    VersionId: first,
  });
  await expect.poll(() => notices).toHaveLength(2);
  const [one, two] = notices.map(({ s3: { object: each } }) => each);
  expect([one, two]).toMatchObject([
    { versionId: first, size: 3 },
    { versionId: second, size: 6 },
  ]);
  expect(String(one?.sequencer) < String(two?.sequencer)).toBe(true);
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: 'versioned' }));
  expect(Contents.map((each) => each.Key)).toEqual([Key]);
});

test('a deletion leaves the versions, and one of a version ends it', async () => {
  const version = await put('a');
  await s3.send(new DeleteObjectCommand(object));
  await expect(read()).rejects.toMatchObject({ name: 'NoSuchKey' });
  expect(await read(version)).toMatchObject({ text: 'a' });
  await s3.send(new DeleteObjectCommand({ ...object, VersionId: version }));
  await expect(read(version)).rejects.toMatchObject({ name: 'NoSuchVersion' });
});

test('what is completed from parts is a version, and a bucket without versions has none', async () => {
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand(object));
  const part = { ...object, UploadId, PartNumber: 1 };
  const { ETag } = await s3.send(new UploadPartCommand({ ...part, Body: 'part' }));
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] };
  const { VersionId } = await s3.send(
    new CompleteMultipartUploadCommand({ ...object, UploadId, MultipartUpload }),
  );
  expect(await read(VersionId)).toEqual({ text: 'part', version: expect.stringMatching(/./) });
  const plain = await s3.send(new PutObjectCommand({ ...object, Bucket: 'plain', Body: 'a' }));
  expect(plain).not.toHaveProperty('VersionId', expect.any(String));
});

test('who reads without HTTP reads the same', async () => {
  const { files } = server();
  const { VersionId = '' } = await files.send(new PutObjectCommand({ ...object, Body: 'here' }));
  await put('later');
  const { Body, ...notices } = await files.send(new GetObjectCommand({ ...object, VersionId }));
  expect([await Body?.transformToString(), notices.VersionId]).toEqual(['here', VersionId]);
  expect((await files.send(new HeadObjectCommand({ ...object, VersionId }))).ContentLength).toBe(4);
});
