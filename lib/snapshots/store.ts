import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GetObjectCommand, HeadObjectCommand, ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3';
import { errorName } from '../aws/error.ts';
import { createJobStore } from '../durable/store.ts';
import { UnusableSnapshot } from './unusable.ts';

/** A file as it was dropped: another one under the same key is another snapshot. */
export type Dropped = { key: string; etag: string; droppedMs: number };

export type SnapshotStore = ReturnType<typeof createSnapshotStore>;

/** Nothing can be said of larger ones. */
const maxBytes = 2 * 1024 ** 3;

/** The bucket that files are dropped into, and that keeps the records. */
export const createSnapshotStore = ({ s3, bucket }: { s3: S3Client; bucket: string }) => {
  const { readJson, writeJson, upload, addressOf } = createJobStore({ s3, bucket });
  const open = async (key: string, more: { IfMatch?: string; Range?: string } = {}): Promise<Readable> => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key, ...more }));
    return Body as Readable;
  };
  /** By a list: who may list by some prefixes alone is refused what is not there, as if it were there. */
  const isThere = async (key: string): Promise<boolean> => {
    const list = new ListObjectsV2Command({ Bucket: bucket, Prefix: key, MaxKeys: 1 });
    const { Contents = [] } = await s3.send(list);
    // The key itself sorts before all that it begins.
    return Contents[0]?.Key === key;
  };
  return {
    addressOf,
    readJson,
    writeJson,
    isThere,

    /** undefined: it is gone. */
    find: async (key: string): Promise<Dropped | undefined> => {
      if (!(await isThere(key))) return undefined;
      const head = await s3.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
      if (head.LastModified === undefined) return undefined;
      return { key, etag: head.ETag ?? '', droppedMs: head.LastModified.getTime() };
    },

    /** undefined: there is no such object. */
    readJsonIfAny: async (key: string): Promise<unknown> =>
      (await isThere(key)) ? readJson(key) : undefined,

    textIfAny: async (key: string): Promise<string | undefined> => {
      if (!(await isThere(key))) return undefined;
      const pieces: Buffer[] = [];
      for await (const piece of await open(key)) pieces.push(piece as Buffer);
      return Buffer.concat(pieces).toString();
    },

    /** The SHA-256 of its content; undefined: it was replaced or deleted since. */
    download: async ({ key, etag }: Dropped, path: string): Promise<string | undefined> => {
      const body = await orNothing(open(key, { IfMatch: etag }));
      if (body === undefined) return undefined;
      const hash = createHash('sha256');
      let bytes = 0;
      await pipeline(
        body,
        async function* (pieces: AsyncIterable<Buffer>) {
          for await (const piece of pieces) {
            bytes += piece.length;
            if (bytes > maxBytes) throw new UnusableSnapshot(`The file is larger than ${maxBytes} bytes`);
            hash.update(piece);
            yield piece;
          }
        },
        createWriteStream(path),
      );
      return hash.digest('hex');
    },

    open: (key: string): Promise<Readable> => open(key),

    /** So many bytes from there on. */
    range: async (key: string, from: number, bytes: number): Promise<Buffer> => {
      const pieces: Buffer[] = [];
      for await (const piece of await open(key, { Range: `bytes=${from}-${from + bytes - 1}` }))
        pieces.push(piece as Buffer);
      return Buffer.concat(pieces);
    },

    put: async (key: string, path: string, contentType: string): Promise<void> => {
      await upload(key, contentType, createReadStream(path, { highWaterMark: 256 * 1024 }));
    },
  };
};

const absent = ['NoSuchKey', 'NotFound', 'PreconditionFailed'];

const orNothing = async <Found>(found: Promise<Found>): Promise<Found | undefined> => {
  try {
    return await found;
  } catch (error) {
    if (absent.includes(errorName(error))) return undefined;
    throw error;
  }
};
