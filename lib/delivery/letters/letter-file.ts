import { createHash } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { readJson } from '../../message/json.ts';
import type { OutgoingMessage } from '../../message/sqs-limits.ts';
import { printableJson } from '../../runtime/privacy/printable.ts';
import { type DeadLetter, sqsMessageOf } from './dead-letter.ts';
import { carriedOf } from './letter-attributes.ts';

const attributeSchema = z.union([
  z.strictObject({ type: z.string(), text: z.string() }),
  z.strictObject({ type: z.string(), base64: z.base64() }),
]);

/** A letter as one line of a file, with comments for the file's readers. */
const lineSchema = z.looseObject({
  body: z.string().min(1),
  attributes: z.record(z.string(), attributeSchema),
  source: z.string(),
});

/** A complete letter, its attributes in SQS' form. */
export type WholeLetter = OutgoingMessage & { source: string };

/** `about` is only for the file's readers. */
export const lineOf = (about: object, { source, body, attributes }: WholeLetter): string =>
  `${printableJson({
    ...about,
    source,
    body,
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [name, attributeOf(value)]),
    ),
  })}\n`;

const attributeOf = ({ DataType: type, StringValue: text, BinaryValue }: MessageAttributeValue) =>
  BinaryValue === undefined ? { type, text } : { type, base64: Buffer.from(BinaryValue).toString('base64') };

/** @throws Error that states what is wrong with the line. */
export const wholeIn = (line: string): WholeLetter => {
  const read = readJson(line);
  if ('problem' in read) throw new Error(read.problem);
  const parsed = lineSchema.safeParse(read.json);
  if (!parsed.success)
    throw new Error(
      `is not a letter: ${parsed.error.issues.map(({ path }) => path.join('.') || 'the whole').join(', ')}`,
    );
  const { body, source } = parsed.data;
  const attributes = Object.fromEntries(
    Object.entries(parsed.data.attributes).map(([name, value]): [string, MessageAttributeValue] => [
      name,
      'text' in value
        ? { DataType: value.type, StringValue: value.text }
        : { DataType: value.type, BinaryValue: Buffer.from(value.base64, 'base64') },
    ]),
  );
  return { body, source, attributes };
};

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
