import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import type { Failure } from '../../message/failure.ts';
import { failureKindNames } from '../../message/failure-kinds.ts';
import { jsonIn } from '../../message/json.ts';
import { eventIdIn } from '../../message/message.ts';
import { bytesOf, maxBytes, withoutRefused } from '../../message/sqs-limits.ts';
import { type Attributes, carriedOf, keptOf, mergedWithinLimit } from './letter-attributes.ts';

/** Its texts are read back: that they are safe for logs is not known of them any more. */
export type LetterFailure = Omit<Failure, 'message' | 'operation'> & {
  message: string;
  operation?: string;
  function: string;
  /** Number of receipts. */
  attempts: number;
  firstAt: string;
  lastAt: string;
};

/** A parked message: its body byte for byte, and the reason. */
export type DeadLetter = {
  body: string;
  /** ARN of the queue it came from; a replay sends it back there. */
  source: string;
  /** Null if the letter has none: SQS moved it itself, or another program wrote it. */
  failure: LetterFailure | null;
  /** Number of earlier replays. */
  replays: number;
  /** What the message carried beside its body. */
  attributes: Attributes;
  /** Address of the whole message if SQS did not accept it as a letter: then the body states only that. */
  storedAt?: string;
  /** SQS' id of the message that became this letter, which also names the letter; undefined if the letter has none. */
  letterId?: string;
};

/** The letter in SQS' form: its details are cut if they do not fit, never the body. */
export const sqsMessageOf = (letter: DeadLetter) => {
  const { body } = letter;
  return { MessageBody: body, MessageAttributes: fitting(body, attributeSets(letter), maxBytes) };
};

/**
 * The first choice that fits beside the body. A body that leaves no room is sent without any, and is still a letter: SQS' own would
 * carry no more.
 */
export const fitting = (body: string, choices: Attributes[], most: number): Attributes => {
  // Counted once: it may be large.
  const room = most - Buffer.byteLength(body);
  return choices.find((attributes) => bytesOf({ body: '', attributes }) <= room) ?? {};
};

/** Parses a message of the dead-letter queue; it never throws, whatever program wrote the message. */
export const letterOf = (message: {
  Body?: string | undefined;
  MessageAttributes?: Attributes | undefined;
  Attributes?: Partial<Record<string, string>> | undefined;
}): DeadLetter => {
  const given = message.MessageAttributes ?? {};
  // A message that SQS moved itself is the producer's, who decides neither why it failed nor where it goes. It may be a replay all
  // the same: the ledger must not take the next one for a copy of it.
  const movedFrom = message.Attributes?.DeadLetterQueueSourceArn;
  const own = movedFrom === undefined ? given : {};
  const storedAt = own.whole?.StringValue;
  const letterId = own.letterId?.StringValue;
  return {
    body: message.Body ?? '',
    source: movedFrom ?? own.source?.StringValue ?? '',
    failure: failureIn(own.failure?.StringValue),
    replays: replaysIn(given.replays?.StringValue),
    attributes: carriedOf(given),
    ...(storedAt === undefined ? {} : { storedAt }),
    ...(letterId === undefined ? {} : { letterId }),
  };
};

/** Address of a message that was not kept: only its letter is left. */
export const notStored = 'nowhere';

/** The letter of a message that SQS does not accept as one: it states where the whole message lies. */
export const pointerTo = ({ body, attributes, ...letter }: DeadLetter, storedAt: string): DeadLetter => ({
  ...letter,
  storedAt,
  body: pointerBody(body, storedAt),
  // The others may be what SQS refuses, and are in the whole message.
  attributes: Object.fromEntries(
    Object.entries(keptOf(attributes)).flatMap(([name, { StringValue }]) =>
      StringValue ? [[name, text(StringValue)]] : [],
    ),
  ),
});

export const pointerBody = (body: string, storedAt: string): string =>
  JSON.stringify({
    whole: storedAt,
    ...(storedAt === notStored && {
      why: 'SQS does not accept the message as a letter, and it cannot be stored because LETTERS_BUCKET is not set',
    }),
    bytes: Buffer.byteLength(body),
    id: eventIdIn(body),
  });

/** A producer may set an attribute of this name: a value that SQS would not accept as a number counts as none. */
export const replaysIn = (value: unknown): number => {
  const replays = typeof value === 'string' ? Number(value) : 0;
  return Number.isSafeInteger(replays) && replays > 0 ? replays : 0;
};

/** Every set of details that a letter may have, best first. The reason is worth more than what the message carried along. */
const attributeSets = ({
  source,
  replays,
  failure,
  attributes,
  storedAt,
  letterId,
}: DeadLetter): Attributes[] => {
  const address = {
    ...(source === '' ? {} : { source: text(source) }),
    ...(storedAt === undefined ? {} : { whole: text(storedAt) }),
    ...(letterId === undefined ? {} : { letterId: text(letterId) }),
    replays: { DataType: 'Number', StringValue: String(replays) },
  };
  const withoutFailure = { ...address, ...(failure && { kind: text(failure.kind) }) };
  const withFailure = [failure ?? [], failure ? truncated(failure) : []]
    .flat()
    .map((each) => ({ ...withoutFailure, failure: text(JSON.stringify(each)) }));
  const withCarried = (own: Attributes): Attributes => mergedWithinLimit(carriedOf(attributes), own);
  const withKept = (own: Attributes): Attributes => mergedWithinLimit(keptOf(attributes), own);
  return [
    ...withFailure.map(withCarried),
    ...withFailure.slice(1).flatMap((each) => [withKept(each), each]),
    withCarried(withoutFailure),
    withKept(withoutFailure),
    withoutFailure,
    withKept(address),
    address,
  ];
};

/** What every failure in a letter must contain, and the types of its optional parts. */
export const failureSchema: z.ZodType<LetterFailure> = z.looseObject({
  kind: z.enum(failureKindNames),
  message: z.string(),
  remedy: z.string(),
  function: z.string(),
  attempts: z.number(),
  firstAt: z.string(),
  lastAt: z.string(),
  status: z.exactOptional(z.number()),
  type: z.exactOptional(z.string()),
  title: z.exactOptional(z.string()),
  detail: z.exactOptional(z.string()),
  required: z.exactOptional(z.string()),
  operation: z.exactOptional(z.string()),
  requestId: z.exactOptional(z.string()),
  retryAfterSeconds: z.exactOptional(z.number()),
  ids: z.exactOptional(z.record(z.string(), z.number())),
});

const failureIn = (json = ''): LetterFailure | null => {
  const parsed = jsonIn(json);
  if (typeof parsed !== 'object' || parsed === null) return null;
  // JSON has null for a value that is no finite number, such as a Retry-After beyond all numbers: it is ignored.
  const given = Object.entries(parsed).filter(([, value]) => value !== null);
  return failureSchema.safeParse(Object.fromEntries(given)).data ?? null;
};

/** A queue of sis-relay leaves room for the whole failure; another queue may not. */
const truncated = (failure: LetterFailure): object =>
  Object.fromEntries(
    Object.entries(failure).map(([name, value]) => [
      name,
      typeof value === 'string' ? start(value, maxBrief) : value,
    ]),
  );

const maxBrief = 200;

/** Never ends in half of a character. */
const start = (text: string, length: number): string => text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');

/** Replaces characters that SQS refuses: the platform's words may hold any. */
const text = (value: string): MessageAttributeValue => ({
  DataType: 'String',
  StringValue: withoutRefused(value),
});
