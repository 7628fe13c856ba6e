import { createHash } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import type { Message } from '@aws-sdk/client-sqs';
import { type DeadLetter, letterOf, notStored } from '../../../delivery/letters/dead-letter.ts';
import { carriedOf } from '../../../delivery/letters/letter-attributes.ts';
import { wholeIn } from '../../../delivery/letters/letter-file.ts';
import { kindOf, wordsOf } from '../../../delivery/letters/letter-words.ts';
import type { LetterKind } from '../../../message/failure-kinds.ts';
import { errorName } from '../../../runtime/aws/error.ts';

/** A message of the dead-letter queue as an operator sees it. */
export type Letter = DeadLetter & {
  /** SQS' id of the message that became this letter. If the letter does not contain it, the letter's own id. */
  id: string;
  /** SQS' id of the letter itself, and of further copies of it, for example if a message was parked twice. */
  sqsId: string;
  copies: string[];
  /** As SQS returned it. */
  message: Message;
  kind: LetterKind;
  /** The function of its source queue, or the name that the letter gives; empty if it gives none. */
  function: string;
  /** URL of the queue that a replay sends it to; undefined: there is none. */
  queueUrl: string | undefined;
  /** A short description of the failure, without ids and personal data. */
  error: string;
  remedy: string;
  /** When the letter was written. For a redriven letter, when its message was sent. */
  sentMs: number;
  /** Why its message could not be fetched; undefined: it was fetched. */
  missing: string | undefined;
};

/** Reads messages of the dead-letter queue as letters. Never throws because of a message's content. */
export const createLetterReader = (
  target: Bucket & { prefix: string; queueUrlOf(functionName: string): Promise<string | undefined> },
) => {
  const urls = new Map<string, Promise<string | undefined>>();
  const urlOf = (name: string): Promise<string | undefined> => {
    // A letter may contain anything: only possible function names are looked up, and only a bounded number of them.
    if (!/^[a-z][a-z0-9-]{0,60}$/.test(name) || name === 'dead-letters') return Promise.resolve(undefined);
    const url = urls.get(name) ?? (urls.size < 200 ? target.queueUrlOf(name) : Promise.resolve(undefined));
    urls.set(name, url);
    return url;
  };

  return async (message: Message): Promise<Letter> => {
    const { letter, missing } = await withWhole(letterOf(message), target);
    const queueName = letter.source.split(':').at(-1) ?? '';
    const known = queueName.startsWith(target.prefix) ? queueName.slice(target.prefix.length) : '';
    const queueUrl = known === '' ? undefined : await urlOf(known);
    const kind = kindOf(letter, { isRedriven: isRedriven(message), missing, known: queueUrl !== undefined });
    return {
      ...letter,
      id: letter.letterId ?? message.MessageId ?? '',
      sqsId: message.MessageId ?? '',
      copies: [],
      message,
      kind,
      function: known || letter.failure?.function || '',
      queueUrl,
      ...wordsOf(letter, kind, missing),
      sentMs: Number(message.Attributes?.SentTimestamp) || 0,
      missing,
    };
  };
};

/** Equal for copies of one letter only. An id is not enough: a letter written by hand may repeat the id of another. */
export const sameness = ({ body, source, replays }: Letter): string =>
  createHash('md5').update(`${replays} ${source}\n${body}`).digest('base64url').slice(0, 12);

/** SQS moved it by its redrive policy; no function wrote it. */
export const isRedriven = ({ Attributes = {} }: Message): boolean => 'DeadLetterQueueSourceArn' in Attributes;

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
  if (letter.storedAt === undefined) return { letter };
  if (letter.storedAt === notStored)
    return { letter, missing: 'it was not kept, because LETTERS_BUCKET was not set' };
  const read = await readIn(target, letter.storedAt, 'letters');
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
  if (bucket === undefined || s3 === undefined)
    return { missing: 'the bucket is not known: set SIS_RELAY_BUCKET' };
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
