import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { keepMemoryBelow } from '../files/memory-limit.ts';

/** Beside the 120 MB of a container that has just started. With it, 2,000 org units take less than 200 MB instead of 340. */
const memoryAllowanceMb = 64;

type ObjectRequest = {
  /** An ETag: another object under the same key is refused. */
  IfMatch?: string | undefined;
  VersionId?: string;
  /** As in `bytes=0-99`. */
  Range?: string;
};

type Lines = Iterable<string> | AsyncIterable<string>;

type Bucket = { s3: S3Client; bucket: string };

export type JobStore = ReturnType<typeof createJobStore>;

/** The objects of a bucket. Its functions are bound: other stores are made of it by spreading it. */
export const createJobStore = (at: Bucket) => ({
  /** The address of an object, for people. */
  addressOf: (key: string) => `s3://${at.bucket}/${key}`,

  /** Undefined if there is no such object. */
  etagOf: (key: string) => etagOf(at, key),

  keysUnder: (prefix: string) => keysUnder(at, prefix),

  /** @throws if the object does not exist, or no longer has this ETag. */
  open: (key: string, request?: ObjectRequest) => open(at, key, request),

  readJson: async (key: string): Promise<unknown> => JSON.parse(await textOf(await open(at, key))),

  readJsonIfAny: async (key: string): Promise<unknown> => {
    const text = await textIfAny(at, key);
    return text === undefined ? undefined : JSON.parse(text);
  },

  textIfAny: (key: string) => textIfAny(at, key),

  writeJson: async (key: string, value: unknown): Promise<void> => {
    const Body = Buffer.from(JSON.stringify(value, null, 2));
    const object = { Bucket: at.bucket, Key: key, Body, ContentType: 'application/json' };
    await at.s3.send(new PutObjectCommand(object));
  },

  /** Nothing happens if there is no such object. */
  remove: async (key: string): Promise<void> => {
    await at.s3.send(new DeleteObjectCommand({ Bucket: at.bucket, Key: key }));
  },

  /** Stores the pieces as one object, completely or not at all. At most two parts are held in memory. */
  upload: async (key: string, contentType: string, pieces: AsyncIterable<Uint8Array>) => ({
    bytes: await upload(at, { key, contentType }, pieces),
  }),

  /** Stores a file, completely or not at all. */
  uploadFile: async (key: string, path: string, contentType: string): Promise<void> => {
    await upload(at, { key, contentType }, createReadStream(path, { highWaterMark: 256 * 1024 }));
  },

  uploadCompressed: (key: string, path: string) => uploadPacked(at, key, createReadStream(path)),

  /** Compresses lines, each of which ends with a line feed, while they are stored. */
  uploadLines: (key: string, lines: Lines) => uploadPacked(at, key, lines),

  /** Holds all lines in memory. */
  readLines: async (key: string): Promise<string[]> => {
    const text = await pipeline(await open(at, key), createGunzip(), textOf);
    return text.split('\n').slice(0, -1);
  },
});

const open = async ({ s3, bucket }: Bucket, key: string, request: ObjectRequest = {}): Promise<Readable> => {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key, ...request }));
  return Body instanceof Readable ? Body : Readable.from([]);
};

const textIfAny = async (at: Bucket, key: string): Promise<string | undefined> =>
  (await etagOf(at, key)) === undefined ? undefined : textOf(await open(at, key));

/** It uses a list: without the right to list everything, a missing object is answered like a forbidden one. */
const etagOf = async ({ s3, bucket }: Bucket, key: string): Promise<string | undefined> => {
  const list = new ListObjectsV2Command({ Bucket: bucket, Prefix: key, MaxKeys: 1 });
  // The key itself sorts before all keys that start with it.
  const [first] = (await s3.send(list)).Contents ?? [];
  return first?.Key === key ? (first.ETag ?? '') : undefined;
};

const keysUnder = async ({ s3, bucket }: Bucket, prefix: string): Promise<string[]> => {
  const keys: string[] = [];
  let ContinuationToken: string | undefined;
  do {
    const page: ListObjectsV2CommandOutput = await s3.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken }),
    );
    keys.push(...(page.Contents ?? []).flatMap(({ Key }) => Key ?? []));
    ContinuationToken = page.NextContinuationToken;
  } while (ContinuationToken !== undefined);
  return keys;
};

/** Returns the number of bytes. */
const upload = async (
  { s3, bucket }: Bucket,
  { key, contentType }: { key: string; contentType: string },
  pieces: AsyncIterable<Uint8Array>,
): Promise<number> => {
  let bytes = 0;
  const counted = async function* () {
    for await (const piece of pieces) {
      keepMemoryBelow(memoryAllowanceMb);
      bytes += piece.byteLength;
      yield piece;
    }
  };
  const object = { Bucket: bucket, Key: key };
  const upload = new Upload({
    client: s3,
    params: { ...object, ContentType: contentType, Body: Readable.from(counted()) },
    queueSize: 1,
    leavePartsOnError: true,
  });
  try {
    await upload.done();
  } catch (error) {
    // `Upload` itself leaves the parts in the bucket if the completion fails. If this fails, too, the bucket's rule for unfinished uploads
    // removes them.
    const { uploadId: UploadId } = upload;
    if (UploadId !== undefined)
      await s3.send(new AbortMultipartUploadCommand({ ...object, UploadId })).catch(() => {});
    throw error;
  }
  return bytes;
};

const uploadPacked = (at: Bucket, key: string, source: Lines | Readable): Promise<void> =>
  pipeline(source, createGzip({ level: 1 }), async (pieces: AsyncIterable<Uint8Array>) => {
    await upload(at, { key, contentType: 'application/gzip' }, pieces);
  });
