import { createHash } from 'node:crypto';
import type { Message } from '@aws-sdk/client-sqs';
import { type DeadLetter, letterOf } from '../../../delivery/letters/dead-letter.ts';
import { kindOf, wordsOf } from '../../../delivery/letters/letter-words.ts';
import type { LetterKind } from '../../../message/letter-kinds.ts';
import { type Bucket, withWhole } from './stored-message.ts';

/** A message of the dead-letter queue as an operator sees it. */
export type Letter = DeadLetter & {
  /** SQS' id of the message that became this letter; of a letter that does not tell, its own. */
  id: string;
  /** SQS' id of the letter itself, and of further copies of it, as of a message that was parked twice. */
  sqsId: string;
  copies: string[];
  /** As SQS handed it out. */
  message: Message;
  kind: LetterKind;
  /** The function whose queue it came from, or the name it gives for it; empty if it gives none. */
  function: string;
  /** URL of the queue that a replay sends it to; undefined: there is none. */
  queueUrl: string | undefined;
  /** What failed, in a few words, without ids and what is personal. */
  error: string;
  /** Who must do what. */
  remedy: string;
  /** When the letter was written; of a redriven one, when its message was sent. */
  sentMs: number;
  /** Why its message could not be fetched; undefined: it is here. */
  missing: string | undefined;
};

/** Reads messages of the dead-letter queue as letters; it never throws for what one holds. */
export const createLetterReader = (
  target: Bucket & { prefix: string; queueUrlOf(functionName: string): Promise<string | undefined> },
) => {
  const urls = new Map<string, Promise<string | undefined>>();
  const urlOf = (name: string): Promise<string | undefined> => {
    // A letter may say anything: only names that a function could have are looked up, and only so many.
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

/** The same for copies of one letter alone: whoever writes a letter by hand may give it the id of another. */
export const sameness = ({ body, source, replays }: Letter): string =>
  `${createHash('md5').update(`${source}\n${body}`).digest('base64').slice(0, 12)} ${replays}`;

/** SQS moved it by its redrive policy: no function wrote it. */
export const isRedriven = ({ Attributes = {} }: Message): boolean => 'DeadLetterQueueSourceArn' in Attributes;
