import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { mostAttributes, type Outgoing } from '../sqs-limits.ts';
import type { Letter } from './letter.ts';

const attributeSchema = z.union([
  z.strictObject({ type: z.string(), text: z.string() }),
  z.strictObject({ type: z.string(), base64: z.base64() }),
]);

/** A letter as one line of a file: all that it is, and what is only for those who read the file. */
const lineSchema = z.looseObject({
  body: z.string().min(1),
  attributes: z.record(z.string(), attributeSchema),
  source: z.string(),
});

export const lineOf = (letter: Letter): string =>
  `${JSON.stringify({
    id: letter.id,
    sentAt: new Date(letter.sentMs).toISOString(),
    function: letter.function,
    kind: letter.kind,
    error: letter.error,
    replays: letter.replays,
    source: letter.source,
    body: letter.body,
    attributes: Object.fromEntries(
      Object.entries(letter.raw).map(([name, value]) => [name, attributeOf(value)]),
    ),
  })}\n`;

const attributeOf = ({ DataType: type, StringValue: text, BinaryValue }: MessageAttributeValue) =>
  BinaryValue === undefined ? { type, text } : { type, base64: Buffer.from(BinaryValue).toString('base64') };

/** The letter that a line tells of, as SQS takes it. @throws Error which says what is wrong with the line. */
export const letterIn = (line: string): Outgoing => {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    throw new Error('is not JSON');
  }
  const parsed = lineSchema.safeParse(json);
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
  if (source === '' || attributes.source?.StringValue === source) return { body, attributes };
  // SQS tells the source of a letter that it moved by itself, and will not tell it of one that is sent. Without it there would
  // be no replay, which has no room for a tenth attribute of the producer either.
  const { source: _, ...others } = attributes;
  const carried = Object.entries(others).slice(0, mostAttributes - 1);
  return {
    body,
    attributes: { ...Object.fromEntries(carried), source: { DataType: 'String', StringValue: source } },
  };
};
