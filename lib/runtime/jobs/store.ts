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

export const createJobStore = ({ s3, bucket }: { s3: S3Client; bucket: string }) => {
  const put = async (key: string, Body: Uint8Array, ContentType: string): Promise<void> => {
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body, ContentType }));
  };

  /** Stores the pieces as one object, completely or not at all. At most two parts are held in memory. */
  const upload = async (key: string, ContentType: string, pieces: AsyncIterable<Uint8Array>) => {
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
      params: { ...object, ContentType, Body: Readable.from(counted()) },
      queueSize: 1,
      leavePartsOnError: true,
    });
    try {
      await upload.done();
    } catch (error) {
      // By itself, it leaves the parts where the completion fails. If this fails, too, the bucket's rule for unfinished uploads
      // removes them.
      const { uploadId: UploadId } = upload;
      if (UploadId !== undefined)
        await s3.send(new AbortMultipartUploadCommand({ ...object, UploadId })).catch(() => {});
      throw error;
    }
    return { bytes };
  };

  const uploadPacked = (key: string, source: Lines | Readable): Promise<void> =>
    pipeline(source, createGzip({ level: 1 }), async (pieces: AsyncIterable<Uint8Array>) => {
      await upload(key, 'application/gzip', pieces);
    });

  /** @throws if the object does not exist, or no longer has this ETag. */
  const open = async (key: string, request: ObjectRequest = {}): Promise<Readable> => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key, ...request }));
    return Body instanceof Readable ? Body : Readable.from([]);
  };

  const text = async (key: string): Promise<string> => textOf(await open(key));

  const readJson = async (key: string): Promise<unknown> => JSON.parse(await text(key));

  /**
   * Undefined if there is no such object. It uses a list: without the right to list everything, a missing object is answered like a
   * forbidden one.
   */
  const etagOf = async (key: string): Promise<string | undefined> => {
    const list = new ListObjectsV2Command({ Bucket: bucket, Prefix: key, MaxKeys: 1 });
    // The key itself sorts before all keys that start with it.
    const [first] = (await s3.send(list)).Contents ?? [];
    return first?.Key === key ? (first.ETag ?? '') : undefined;
  };

  return {
    /** The address of an object, for people. */
    addressOf: (key: string) => `s3://${bucket}/${key}`,

    etagOf,

    keysUnder: async (prefix: string): Promise<string[]> => {
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
    },

    open,
    upload,
    readJson,

    readJsonIfAny: async (key: string): Promise<unknown> =>
      (await etagOf(key)) === undefined ? undefined : readJson(key),

    textIfAny: async (key: string): Promise<string | undefined> =>
      (await etagOf(key)) === undefined ? undefined : text(key),

    writeJson: (key: string, value: unknown) =>
      put(key, Buffer.from(JSON.stringify(value, null, 2)), 'application/json'),

    /** Nothing happens if there is no such object. */
    remove: async (key: string): Promise<void> => {
      await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
    },

    /** Stores a file, completely or not at all. */
    uploadFile: async (key: string, path: string, contentType: string): Promise<void> => {
      await upload(key, contentType, createReadStream(path, { highWaterMark: 256 * 1024 }));
    },

    uploadCompressed: (key: string, path: string) => uploadPacked(key, createReadStream(path)),

    /** Compresses lines, each of which ends with a line feed, while they are stored. */
    uploadLines: (key: string, lines: Lines) => uploadPacked(key, lines),

    /** Holds all lines in memory. */
    readLines: async (key: string): Promise<string[]> => {
      const text = await pipeline(await open(key), createGunzip(), textOf);
      return text.split('\n').slice(0, -1);
    },
  };
};

export type JobStore = ReturnType<typeof createJobStore>;
