import { createHash } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import { carriedOf, type DeadLetter, sqsMessageOf } from './dead-letter.ts';
import { lineOf } from './letter-file.ts';

/** Keeps a letter whole that SQS does not accept; returns its address. @throws if the bucket does not accept it either. */
export type KeepWhole = (letter: DeadLetter) => Promise<string>;

export const createLetterStore =
  ({ s3, bucket }: { s3: () => Promise<S3Client>; bucket: string }): KeepWhole =>
  async (letter) => {
    const { body, source, failure, attributes } = letter;
    // The same message, tried again, is the same object.
    const same = lineOf({}, { body, source, attributes: carriedOf(attributes) });
    const name = createHash('sha256').update(same).digest('hex').slice(0, 32);
    const Key = `letters/${failure?.function ?? 'unknown'}/${name}.jsonl`;
    const { MessageAttributes } = sqsMessageOf({ ...letter, body: '' });
    const about = { function: failure?.function, kind: failure?.kind };
    const line = lineOf(about, { body, source, attributes: MessageAttributes });
    const { PutObjectCommand } = await import('@aws-sdk/client-s3');
    const client = await s3();
    await client.send(
      new PutObjectCommand({ Bucket: bucket, Key, Body: line, ContentType: 'application/json' }),
    );
    return `s3://${bucket}/${Key}`;
  };
