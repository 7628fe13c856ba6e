import type { S3Client } from '@aws-sdk/client-s3';
import { errorName } from '../../aws/error.ts';
import { carriedOf, type DeadLetter, nowhere } from '../../dead-letter.ts';
import { wholeIn } from '../../delivery/letter-file.ts';

/** Holds the messages that SQS did not take as letters. */
export type Bucket = {
  bucket?(): Promise<string | undefined>;
  s3?(): Promise<S3Client>;
};

/** The letter with its message from the bucket, where SQS has only a pointer to it; `missing`: why it cannot be fetched. */
export const withWhole = async (
  letter: DeadLetter,
  target: Bucket,
): Promise<{ letter: DeadLetter; missing?: string }> => {
  if (letter.whole === undefined) return { letter };
  if (letter.whole === nowhere) return { letter, missing: 'it was not kept, as there was no LETTERS_BUCKET' };
  const { s3 } = target;
  const bucket = await target.bucket?.();
  if (bucket === undefined || s3 === undefined) return { letter, missing: 'no --bucket is given' };
  // A letter may say anything: it must not name other objects of the bucket.
  const key = keyIn(letter.whole, bucket);
  if (key === undefined) return { letter, missing: `it does not lie among the letters of ${bucket}` };
  try {
    const { GetObjectCommand } = await import('@aws-sdk/client-s3');
    const { Body } = await (await s3()).send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    const { body, attributes } = wholeIn((await Body?.transformToString()) ?? '');
    return { letter: { ...letter, body, attributes: carriedOf(attributes) } };
  } catch (error) {
    // One missing message must not stop the reading of other letters.
    return { letter, missing: errorName(error) };
  }
};

const keyIn = (address: string, bucket: string): string | undefined => {
  const folder = `s3://${bucket}/`;
  const key = address.startsWith(folder) ? address.slice(folder.length) : '';
  return /^letters\/[\w-]+\/[\w-]+\.jsonl$/.test(key) ? key : undefined;
};
