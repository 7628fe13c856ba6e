import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import { inThousands, ownText, type SafeText, safe } from './safe-text.ts';

/** Bytes of one message with its attributes, and of one batch call. */
export const maxBytes = 1_048_576;
/** Bytes of one message in a queue of sis-relay: the rest is room for the failure in its letter. */
export const maxMessageBytes = 1_032_192;
/** Attributes of one message. */
export const maxAttributes = 10;

export type OutgoingMessage = { body: string; attributes: Record<string, MessageAttributeValue> };

/** As SQS counts them. */
export const bytesOf = ({ body, attributes }: OutgoingMessage): number =>
  Object.entries(attributes).reduce(
    (sum, [name, { DataType = '', StringValue = '', BinaryValue }]) =>
      sum + Buffer.byteLength(name + DataType + StringValue) + (BinaryValue?.byteLength ?? 0),
    Buffer.byteLength(body),
  );

const refused = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/** Replaces each character that SQS refuses. */
export const withoutRefused = (text: string): string => text.replace(refused, '\uFFFD');

/** Why SQS would refuse a message, or a queue with this byte limit would; undefined if neither would. */
export const sqsProblem = (message: OutgoingMessage, most = maxBytes): SafeText | undefined => {
  const { body, attributes } = message;
  if (bytesOf(message) > maxBytes) return safe`is larger than 1 MiB, the most that SQS accepts`;
  if (bytesOf(message) > most)
    return safe`is larger than ${inThousands(most)} bytes, the most that its queue accepts`;
  if (Object.keys(attributes).length > maxAttributes)
    return safe`has more than ${maxAttributes} attributes, the most that SQS accepts`;
  for (const text of [body, ...Object.values(attributes).map(({ StringValue = '' }) => StringValue)]) {
    const [character] = text.match(refused) ?? [];
    if (character !== undefined)
      return safe`holds ${signNameOf(character)}, a character that SQS does not accept`;
  }
  return undefined;
};

/** As in `U+FFFE`. */
const signNameOf = (character: string): SafeText =>
  ownText(`U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`);
