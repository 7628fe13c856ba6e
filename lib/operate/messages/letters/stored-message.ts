import type { S3Client } from '@aws-sdk/client-s3';
import { carriedOf, type DeadLetter, nowhere } from '../../../delivery/letters/dead-letter.ts';
import { wholeIn } from '../../../delivery/letters/letter-file.ts';
import { errorName } from '../../../runtime/aws/error.ts';

/** Holds the messages that SQS refuses as letters. */
export type Bucket = {
  bucket?(): Promise<string | undefined>;
  s3?(): Promise<S3Client>;
};

/** The letter with its message from the bucket, if SQS has only a pointer to it. `missing`: why it cannot be fetched. */
export const withWhole = async (
  letter: DeadLetter,
  target: Bucket,
): Promise<{ letter: DeadLetter; missing?: string }> => {
  if (letter.whole === undefined) return { letter };
  if (letter.whole === nowhere)
    return { letter, missing: 'it was not kept, because LETTERS_BUCKET was not set' };
  const read = await readIn(target, letter.whole, 'letters');
  if ('missing' in read) return { letter, missing: read.missing };
  try {
    const { body, attributes } = wholeIn(read.text);
    return { letter: { ...letter, body, attributes: carriedOf(attributes) } };
  } catch (error) {
    // One missing message must not stop the reading of other letters.
    return { letter, missing: errorName(error) };
  }
};

/** Security: a letter may contain any address, and must not reach other objects of the bucket. */
const folders = {
  letters: { key: /^letters\/[\w-]+\/[\w-]+\.jsonl$/, name: 'letters' },
  edited: { key: /^edited\/\d{4}-\d\d-\d\d\/[\w-]+\.jsonl$/, name: 'originals of edited letters' },
};

/** The text at an address that a letter names. `missing`: why it cannot be fetched. */
export const readIn = async (
  { bucket: bucketName, s3 }: Bucket,
  address: string,
  folder: keyof typeof folders,
): Promise<{ text: string } | { missing: string }> => {
  const bucket = await bucketName?.();
  if (bucket === undefined || s3 === undefined) return { missing: 'the bucket is not known: pass --bucket' };
  const root = `s3://${bucket}/`;
  const key = address.startsWith(root) ? address.slice(root.length) : '';
  if (!folders[folder].key.test(key))
    return { missing: `it is not among the ${folders[folder].name} in the bucket ${bucket}` };
  try {
    const { GetObjectCommand } = await import('@aws-sdk/client-s3');
    const { Body } = await (await s3()).send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    return { text: (await Body?.transformToString()) ?? '' };
  } catch (error) {
    return { missing: errorName(error) };
  }
};
