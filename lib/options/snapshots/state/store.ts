import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { errorName, isWithheld } from '../../../runtime/aws/error.ts';
import { createJobStore } from '../../../runtime/jobs/store.ts';
import type { ImportRequest } from '../import-request.ts';
import { UnusableSnapshot } from '../unusable.ts';

/** A file that was put into the bucket: another file under the same key, or another version of it, is another snapshot. */
export type SourceFile = {
  key: string;
  /** Undefined: that of its key, if the settings name no feeds. */
  feed?: string | undefined;
  /** Undefined: the bucket keeps no versions, so the file may be replaced. */
  versionId?: string | undefined;
  etag: string;
  droppedMs: number;
  /** Of two files that were put in the same second, the later one's is greater. */
  sequencer?: string | undefined;
  /** No file was put: a person ends the feed of this key. */
  isEnd?: true;
};

type FoundFile = SourceFile & { sizeBytes: number };

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

    /** The version, or what lies there now. Undefined: it no longer exists. */
    find: async ({ key, versionId: VersionId, isEnd }: ImportRequest): Promise<FoundFile | undefined> => {
      if (isEnd) return { key, isEnd, etag: '', sizeBytes: 0, droppedMs: Date.now() };
      // A list shows whether there is an object. Of a version, only a deletion of this version would be the answer.
      if (VersionId === undefined && (await store.etagOf(key)) === undefined) return undefined;
      const asked = { Bucket: bucket, Key: key, ...(VersionId !== undefined && { VersionId }) };
      const head = await orNothing(s3.send(new HeadObjectCommand(asked)));
      if (head?.LastModified === undefined) return undefined;
      const { ETag: etag = '', ContentLength: sizeBytes = 0, VersionId: versionId } = head;
      const found = { key, etag, sizeBytes, droppedMs: head.LastModified.getTime() };
      return versionId === undefined ? found : { ...found, versionId };
    },

    /**
     * The SHA-256 of its content; undefined: it was replaced or deleted since.
     * @throws UnusableSnapshot if it is too large, or this role cannot read it.
     */
    download: async ({ key, versionId, etag }: SourceFile, path: string): Promise<string | undefined> => {
      const asked = versionId === undefined ? { IfMatch: etag } : { VersionId: versionId };
      const body = await orNothing(store.open(key, asked)).catch((error: unknown) => {
        if (!isWithheld(error)) throw error;
        throw new UnusableSnapshot(
          `The bucket does not give the file to the function (${errorName(error)}). Put it again in the standard storage class, and without an encryption key of its own`,
          { cause: error },
        );
      });
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

const absent = ['NoSuchKey', 'NoSuchVersion', 'NotFound', 'PreconditionFailed'];

const orNothing = async <FoundFile>(found: Promise<FoundFile>): Promise<FoundFile | undefined> => {
  try {
    return await found;
  } catch (error) {
    if (absent.includes(errorName(error))) return undefined;
    throw error;
  }
};
