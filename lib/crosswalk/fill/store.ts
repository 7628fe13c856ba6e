import { createReadStream, createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { GetObjectCommand, paginateListObjectsV2, type S3Client } from '@aws-sdk/client-s3';
import { createJobStore } from '../../durable/store.ts';
import { keepMemoryBelow } from '../../files/memory.ts';

/** Beside what a container has that has just started. */
export const garbageMb = 40;

/** The bucket: the files of the university, and what was filled last. */
export const createFillStore = ({ s3, bucket }: { s3: S3Client; bucket: string }) => {
  const { readJson, writeJson, upload } = createJobStore({ s3, bucket });

  /** @throws where the object is not there, or is no longer the one of this ETag. */
  const open = async (key: string, etag?: string): Promise<Readable> => {
    const asked = { Bucket: bucket, Key: key, ...(etag !== undefined && { IfMatch: etag }) };
    const { Body } = await s3.send(new GetObjectCommand(asked));
    return Body instanceof Readable ? Body : Readable.from([]);
  };

  /** Undefined where there is no such object. By the list of its folder: to be told that by a read needs a right to the names of all objects. */
  const etagOf = async (key: string): Promise<string | undefined> => {
    const Prefix = key.slice(0, key.lastIndexOf('/') + 1);
    for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, { Bucket: bucket, Prefix })) {
      const found = Contents.find(({ Key }) => Key === key);
      if (found) return found.ETag;
    }
    return undefined;
  };

  return {
    readJson,
    writeJson,
    open,

    etagOf,

    readJsonIfAny: async (key: string): Promise<unknown> =>
      (await etagOf(key)) === undefined ? undefined : readJson(key),

    /** Stores a file compressed, completely or not at all. */
    uploadCompressed: (key: string, path: string): Promise<void> =>
      pipeline(
        createReadStream(path),
        createGzip({ level: 1 }),
        async (pieces: AsyncIterable<Uint8Array>) => {
          await upload(key, 'application/gzip', pieces);
        },
      ),

    uploadPlain: async (key: string, path: string, contentType: string): Promise<void> => {
      await upload(key, contentType, createReadStream(path));
    },

    /** Unpacks an object into a file, which is empty where there is no object. */
    downloadUnpacked: async (key: string, path: string): Promise<void> => {
      if ((await etagOf(key)) === undefined) await writeFile(path, '');
      else await pipeline(await open(key), createGunzip(), withLittleGarbage, createWriteStream(path));
    },
  };
};

async function* withLittleGarbage(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    keepMemoryBelow(garbageMb);
    yield piece;
  }
}

export type FillStore = ReturnType<typeof createFillStore>;
