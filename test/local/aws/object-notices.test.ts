import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { queuesAndFilesForTests } from './for-tests.ts';
import type { ObjectNotice } from './object-notices.ts';

const { server, s3, createBucket } = queuesAndFilesForTests();

test('each object that is put is told once, with its name as S3 writes it; what is no object yet is not', async () => {
  const notices: ObjectNotice[] = [];
  server().onObject((notice) => notices.push(notice));
  const Bucket = 'files';
  const Key = 'snapshots/night 1+ä.zip';
  await createBucket(Bucket);
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }));
  await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: 'part' }));
  await s3.send(new PutObjectCommand({ Bucket: 'none', Key, Body: 'x' })).catch(() => {});
  await s3.send(new DeleteObjectCommand({ Bucket, Key }));
  const { ETag } = await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'four' }));
  await expect.poll(() => notices).toHaveLength(1);
  const object = { key: 'snapshots/night+1%2B%C3%A4.zip', size: 4, eTag: ETag?.replaceAll('"', '') };
  expect(notices).toMatchObject([
    { eventName: 'ObjectCreated:Put', s3: { bucket: { name: Bucket }, object } },
  ]);
});
