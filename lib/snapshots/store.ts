import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GetObjectCommand, HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
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
  return {
    addressOf,
    readJson,
    writeJson,

    /** undefined: it is gone. */
    find: async (key: string): Promise<Dropped | undefined> => {
      const head = await orNothing(s3.send(new HeadObjectCommand({ Bucket: bucket, Key: key })));
      if (head?.LastModified === undefined) return undefined;
      return { key, etag: head.ETag ?? '', droppedMs: head.LastModified.getTime() };
    },

    /** undefined: there is no such object. */
    readJsonIfAny: async (key: string): Promise<unknown> => orNothing(readJson(key)),

    textIfAny: async (key: string): Promise<string | undefined> => {
      const body = await orNothing(open(key));
      if (body === undefined) return undefined;
      const pieces: Buffer[] = [];
      for await (const piece of body) pieces.push(piece as Buffer);
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
