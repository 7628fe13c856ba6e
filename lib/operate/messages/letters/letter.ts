import { createHash } from 'node:crypto';
import type { Message } from '@aws-sdk/client-sqs';
import { type DeadLetter, letterOf } from '../../../delivery/letters/dead-letter.ts';
import { kindOf, wordsOf } from '../../../delivery/letters/letter-words.ts';
import type { LetterKind } from '../../../message/letter-kinds.ts';
import { type Bucket, withWhole } from './stored-message.ts';

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
  `${createHash('md5').update(`${source}\n${body}`).digest('base64').slice(0, 12)} ${replays}`;

/** SQS moved it by its redrive policy; no function wrote it. */
export const isRedriven = ({ Attributes = {} }: Message): boolean => 'DeadLetterQueueSourceArn' in Attributes;
