import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { createJobStore } from '../../../delivery/durable/store.ts';
import { errorName } from '../../../runtime/aws/error.ts';
import { UnusableSnapshot } from '../unusable.ts';

/** A file in the bucket: another file under the same key is another snapshot. */
export type Dropped = { key: string; etag: string; droppedMs: number };

export type SnapshotStore = ReturnType<typeof createSnapshotStore>;

export type ComparisonStore = Pick<
  SnapshotStore,
  | 'download'
  | 'open'
  | 'etagOf'
  | 'keysUnder'
  | 'textIfAny'
  | 'readJson'
  | 'readJsonIfAny'
  | 'writeJson'
  | 'uploadFile'
>;

const maxBytes = 2 * 1024 ** 3;

/** The bucket that receives the files and keeps the records. */
export const createSnapshotStore = ({ s3, bucket }: { s3: S3Client; bucket: string }) => {
  const store = createJobStore({ s3, bucket });
  return {
    ...store,

    /** Undefined: it no longer exists. */
    find: async (key: string): Promise<Dropped | undefined> => {
      if ((await store.etagOf(key)) === undefined) return undefined;
      const head = await s3.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
      if (head.LastModified === undefined) return undefined;
      return { key, etag: head.ETag ?? '', droppedMs: head.LastModified.getTime() };
    },

    /** The SHA-256 of its content; undefined: it was replaced or deleted since. */
    download: async ({ key, etag }: Dropped, path: string): Promise<string | undefined> => {
      const body = await orNothing(store.open(key, { IfMatch: etag }));
      if (body === undefined) return undefined;
      const hash = createHash('sha256');
      let bytes = 0;
      await pipeline(
        body,
        async function* (pieces: AsyncIterable<Buffer>) {
          for await (const piece of pieces) {
            bytes += piece.length;
            if (bytes > maxBytes)
              throw new UnusableSnapshot(
                `The file is larger than ${maxBytes} bytes. Export fewer rows, such as those of the current terms`,
              );
            hash.update(piece);
            yield piece;
          }
        },
        createWriteStream(path),
      );
      return hash.digest('hex');
    },

    range: async (key: string, from: number, bytes: number): Promise<Buffer> => {
      const pieces: Buffer[] = [];
      for await (const piece of await store.open(key, { Range: `bytes=${from}-${from + bytes - 1}` }))
        pieces.push(piece as Buffer);
      return Buffer.concat(pieces);
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
