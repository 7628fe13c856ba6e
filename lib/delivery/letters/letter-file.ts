import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { readJson } from '../../message/json.ts';
import type { Outgoing } from '../../message/sqs-limits.ts';
import { printableJson } from '../../runtime/privacy/printable.ts';

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
export type WholeLetter = Outgoing & { source: string };

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
