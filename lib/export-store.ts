import type { CompletedPart, S3Client } from '@aws-sdk/client-s3';

export type Upload = { bytes: number };

/** The bucket that exports go to. */
export type ExportStore = {
  /** Undefined where there is no such object. */
  readJson(key: string): Promise<unknown>;
  writeJson(key: string, value: unknown): Promise<void>;
  remove(key: string): Promise<void>;
  /** The keys that begin so, in their order. */
  list(prefix: string): Promise<string[]>;
  /** Stores what comes as one object: as a whole, or not at all. No more than one part of it is held. */
  upload(key: string, contentType: string, pieces: AsyncIterable<Uint8Array>): Promise<Upload>;
  /** As people write it. */
  addressOf(key: string): string;
};

type StoreOptions = {
  s3: () => Promise<S3Client>;
  bucket: string;
  /** Default: the least that S3 takes for any part but the last, in bytes. */
  partBytes?: number;
};

export const createExportStore = ({ s3, bucket, partBytes = 5 * 1024 ** 2 }: StoreOptions): ExportStore => {
  const aws = async () => ({ client: await s3(), ...(await import('@aws-sdk/client-s3')) });

  const put = async (key: string, Body: Uint8Array, ContentType: string): Promise<void> => {
    const { client, PutObjectCommand } = await aws();
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body, ContentType }));
  };

  /** An upload in parts: nothing of it is seen before its end. */
  const multipart = async (key: string, ContentType: string) => {
    const { client, ...commands } = await aws();
    const object = { Bucket: bucket, Key: key };
    const begin = new commands.CreateMultipartUploadCommand({ ...object, ContentType });
    const upload = { ...object, UploadId: (await client.send(begin)).UploadId };
    const Parts: CompletedPart[] = [];
    return {
      add: async (Body: Uint8Array) => {
        const PartNumber = Parts.length + 1;
        const { ETag } = await client.send(new commands.UploadPartCommand({ ...upload, PartNumber, Body }));
        Parts.push({ ETag, PartNumber });
      },
      end: () =>
        client.send(new commands.CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } })),
      abort: () => client.send(new commands.AbortMultipartUploadCommand(upload)),
    };
  };

  return {
    addressOf: (key) => `s3://${bucket}/${key}`,

    readJson: async (key) => {
      const { client, GetObjectCommand } = await aws();
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
        return JSON.parse((await Body?.transformToString()) ?? '');
      } catch (error) {
        if (error instanceof Error && error.name === 'NoSuchKey') return undefined;
        throw error;
      }
    },

    writeJson: (key, value) => put(key, Buffer.from(JSON.stringify(value, null, 2)), 'application/json'),

    remove: async (key) => {
      const { client, DeleteObjectCommand } = await aws();
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
    },

    list: async (prefix) => {
      const { client, ListObjectsV2Command } = await aws();
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }));
      return Contents.flatMap(({ Key }) => Key ?? []);
    },

    upload: async (key, contentType, pieces) => {
      let parts: Awaited<ReturnType<typeof multipart>> | undefined;
      let held: Uint8Array[] = [];
      let heldBytes = 0;
      let bytes = 0;
      try {
        for await (const piece of pieces) {
          held.push(piece);
          heldBytes += piece.byteLength;
          bytes += piece.byteLength;
          if (heldBytes < partBytes) continue;
          parts ??= await multipart(key, contentType);
          await parts.add(Buffer.concat(held.splice(0)));
          heldBytes = 0;
        }
        if (parts === undefined) await put(key, Buffer.concat(held), contentType);
        else {
          if (heldBytes > 0) await parts.add(Buffer.concat(held));
          await parts.end();
        }
      } catch (error) {
        // What cannot be given up now, the bucket's own rule for unfinished uploads removes.
        await parts?.abort().catch(() => {});
        throw error;
      }
      held = [];
      return { bytes };
    },
  };
};
