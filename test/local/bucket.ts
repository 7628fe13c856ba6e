import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';

/** What lies in a bucket, such as a stack's, and what a test puts there. Functions are told of it only if it comes by HTTP. */
export function filesIn(stack: () => { s3: S3Client; description: { bucket: string } }) {
  const place = () => ({ s3: stack().s3, Bucket: stack().description.bucket });
  const bytesAt = async (Key: string): Promise<Buffer> => {
    const { s3, Bucket } = place();
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  };
  /** No more than a thousand. */
  const keysUnder = async (Prefix = ''): Promise<string[]> => {
    const { s3, Bucket } = place();
    const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix }));
    return Contents.flatMap(({ Key }) => Key ?? []);
  };
  return {
    bytesAt,
    keysUnder,
    textAt: async (key: string): Promise<string> => `${await bytesAt(key)}`,
    jsonAt: async (key: string) => JSON.parse(`${await bytesAt(key)}`),
    /** By what comes behind the prefix. */
    filesUnder: async (prefix = ''): Promise<Record<string, Buffer>> => {
      const read = async (key: string) => [key.slice(prefix.length), await bytesAt(key)] as const;
      return Object.fromEntries(await Promise.all((await keysUnder(prefix)).map(read)));
    },
    put: async (Key: string, Body: string | Uint8Array): Promise<void> => {
      const { s3, Bucket } = place();
      await s3.send(new PutObjectCommand({ Bucket, Key, Body }));
    },
  };
}

export type Bucket = { s3: S3Client; bucket: string };

export const putText = ({ s3, bucket: Bucket }: Bucket, Key: string, Body: string | Buffer) =>
  s3.send(new PutObjectCommand({ Bucket, Key, Body }));
