import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import type { Failure } from './failure.ts';

/** A failure with the story of its message. */
export type LetterFailure = Failure & {
  function: string;
  /** How often SQS has handed the message to the function. */
  attempts: number;
  firstAt: string;
  lastAt: string;
};

/** A parked message: its body byte for byte, and why it lies here. */
export type DeadLetter = {
  body: string;
  /** ARN of the queue it came from, which a replay sends it back to. */
  source: string;
  /** Null where the letter does not tell: SQS moved it by itself, or it is not ours. */
  failure: LetterFailure | null;
  /** How often it was replayed before. */
  replays: number;
  /** What the message carried beside its body. */
  attributes: Record<string, MessageAttributeValue>;
};

/** The names of the attributes that are ours; a replayed message carries `replays` alone. */
export const letterAttributes = ['failure', 'kind', 'source', 'replays'] as const;

/** SQS' limits: bytes of a message, its attributes included, and attributes of a message. */
const maximumBytes = 1_048_576;
const maximumAttributes = 10;

/** The letter as SQS takes it. The failure is cut until the whole fits, never the body. */
export const sqsMessageOf = (letter: DeadLetter) => {
  const carried = Object.entries(letter.attributes)
    .filter(([name]) => !(letterAttributes as readonly string[]).includes(name))
    .slice(0, maximumAttributes - letterAttributes.length);
  const base = {
    ...Object.fromEntries(carried),
    source: text(letter.source),
    replays: { DataType: 'Number', StringValue: String(letter.replays) },
  };
  const room = maximumBytes - Buffer.byteLength(letter.body);
  const kind = letter.failure ? { kind: text(letter.failure.kind) } : {};
  const fitting = failureTexts(letter.failure)
    .map((failure) => ({ ...base, ...kind, ...(failure === undefined ? {} : { failure: text(failure) }) }))
    .find((attributes) => bytesOf(attributes) <= room);
  // A body that leaves no room for its story is still a letter: SQS' own would carry no more.
  return { MessageBody: letter.body, MessageAttributes: fitting ?? (bytesOf(base) <= room ? base : {}) };
};

/** What SQS gives back, read as a letter; it never throws, whoever wrote the message. */
export const letterOf = (message: {
  Body?: string | undefined;
  MessageAttributes?: Record<string, MessageAttributeValue> | undefined;
  Attributes?: Partial<Record<string, string>> | undefined;
}): DeadLetter => {
  const given = message.MessageAttributes ?? {};
  const own = new Set<string>(letterAttributes);
  return {
    body: message.Body ?? '',
    source: given.source?.StringValue ?? message.Attributes?.DeadLetterQueueSourceArn ?? '',
    failure: failureIn(given.failure?.StringValue),
    replays: Math.max(0, Math.trunc(Number(given.replays?.StringValue ?? 0))) || 0,
    attributes: Object.fromEntries(Object.entries(given).filter(([name]) => !own.has(name))),
  };
};

const failureIn = (json: string | undefined): LetterFailure | null => {
  try {
    const failure = JSON.parse(json ?? 'null');
    return typeof failure?.kind === 'string' && typeof failure.message === 'string' ? failure : null;
  } catch {
    return null;
  }
};

/** The failure as JSON, from the whole to the least, and at last none. */
const failureTexts = (failure: LetterFailure | null): (string | undefined)[] => {
  if (failure === null) return [undefined];
  const { detail, title, ...rest } = failure;
  const briefly = { ...rest, message: failure.message.slice(0, 200), remedy: failure.remedy.slice(0, 200) };
  const shorter = [1_000, 200].map((length) => ({ ...failure, detail: detail?.slice(0, length) }));
  const least = { kind: failure.kind, message: failure.message.slice(0, 100), function: failure.function };
  return [
    ...[failure, ...shorter, { ...rest, title }, briefly, least].map((each) => JSON.stringify(each)),
    undefined,
  ];
};

/** Characters that SQS refuses are replaced: the platform's own words may hold any. */
const text = (value: string): MessageAttributeValue => ({
  DataType: 'String',
  StringValue:
    value.toWellFormed().replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD') ||
    ' ',
});

const bytesOf = (attributes: Record<string, MessageAttributeValue>): number =>
  Object.entries(attributes).reduce(
    (sum, [name, { DataType = '', StringValue = '', BinaryValue }]) =>
      sum + Buffer.byteLength(name + DataType + StringValue) + (BinaryValue?.byteLength ?? 0),
    0,
  );
