import type { Message, MessageAttributeValue } from '@aws-sdk/client-sqs';
import { type DeadLetter, letterOf } from '../dead-letter.ts';
import { dispositions, type FailureKind } from '../failure.ts';
import { withoutFileNames } from '../file-uri.ts';
import { maskedText } from './mask.ts';

/** Letters without a failure that we wrote: moved by SQS itself, written by us with no room for it, or not ours at all. */
export const otherKinds = ['native', 'untold', 'foreign'] as const;

export type LetterKind = FailureKind | (typeof otherKinds)[number];

export const letterKinds: LetterKind[] = [...(Object.keys(dispositions) as FailureKind[]), ...otherKinds];

/** A message of the dead-letter queue as an operator sees it. */
export type Letter = DeadLetter & {
  /** SQS' id of the letter. */
  id: string;
  receiptHandle: string;
  kind: LetterKind;
  /** The function whose queue it came from, or the name it gives for it; empty if it gives none. */
  function: string;
  /** URL of the queue that a replay sends it to; undefined: there is none. */
  queueUrl: string | undefined;
  /** What failed, in a few words without ids, so that letters with the same cause have the same; it may name somebody. */
  cause: string;
  /** The same without what is personal. */
  error: string;
  /** Who must do what. */
  remedy: string;
  /** When the letter was written, or its message sent, if SQS moved it by itself. */
  sentMs: number;
  /** All attributes, ours included, as SQS keeps them. */
  raw: Record<string, MessageAttributeValue>;
};

/** From so many replays on, a letter is called out. */
export const replayedOften = 5;

/** Reads messages of the dead-letter queue as letters; it never throws for what one holds. */
export const createLetterReader = (target: {
  prefix: string;
  queueUrlOf(functionName: string): Promise<string | undefined>;
}) => {
  const urls = new Map<string, Promise<string | undefined>>();
  const urlOf = (name: string): Promise<string | undefined> => {
    // A letter may say anything: only names that could be a function's are looked up, and not without end.
    if (!/^[a-z][a-z0-9-]{0,60}$/.test(name) || name === 'dead-letters') return Promise.resolve(undefined);
    const url = urls.get(name) ?? (urls.size < 200 ? target.queueUrlOf(name) : Promise.resolve(undefined));
    urls.set(name, url);
    return url;
  };

  return async (message: Message): Promise<Letter> => {
    const letter = letterOf(message);
    const raw = message.MessageAttributes ?? {};
    const queueName = letter.source.split(':').at(-1) ?? '';
    const known = queueName.startsWith(target.prefix) ? queueName.slice(target.prefix.length) : '';
    const queueUrl = known === '' ? undefined : await urlOf(known);
    const kind = kindOf(letter, {
      moved: 'DeadLetterQueueSourceArn' in (message.Attributes ?? {}),
      known: queueUrl !== undefined,
    });
    return {
      ...letter,
      id: message.MessageId ?? '',
      receiptHandle: message.ReceiptHandle ?? '',
      kind,
      function: known || letter.failure?.function || '',
      queueUrl,
      ...wordsOf(letter, kind),
      sentMs: Number(message.Attributes?.SentTimestamp) || 0,
      raw,
    };
  };
};

export type LetterReader = ReturnType<typeof createLetterReader>;

const kindOf = (letter: DeadLetter, { moved, known }: { moved: boolean; known: boolean }): LetterKind => {
  if (!known) return 'foreign';
  return letter.failure?.kind ?? (moved ? 'native' : 'untold');
};

type Words = Pick<Letter, 'cause' | 'error' | 'remedy'>;

const wordsOf = (letter: DeadLetter, kind: LetterKind): Words => {
  const { failure, body } = letter;
  if (failure === null || kind === 'native' || kind === 'foreign') {
    const { error, remedy } = wordsWithoutFailure(letter, kind);
    return { cause: error, error, remedy };
  }
  // Words of the message differ from letter to letter, and so would a cause without them.
  const masked =
    failure.title === undefined ? failure : { ...failure, title: maskedText(failure.title, body) };
  return { cause: errorOf(failure), error: errorOf(masked), remedy: failure.remedy };
};

const wordsWithoutFailure = ({ source }: DeadLetter, kind: LetterKind): Pick<Words, 'error' | 'remedy'> => {
  if (kind === 'native')
    return {
      error: 'moved by SQS itself: the function died on it, or never ran',
      remedy: 'Look for the cause in the function’s log, mend it, then replay.',
    };
  if (kind === 'foreign')
    return {
      error: source === '' ? 'not written by sis-relay' : 'its queue is not one of this sis-relay',
      remedy: 'It cannot be replayed. Export it for its owner, then discard it, and stop its sender.',
    };
  return {
    error: 'no room for its failure beside the message',
    remedy: 'Look for the message in the function’s log, mend the cause, then replay.',
  };
};

const errorOf = ({ message, status, title, required }: NonNullable<DeadLetter['failure']>): string =>
  status === undefined
    ? withoutIds(
        withoutFileNames(message)
          .replace(/^The message is not valid: /, '')
          .replace(/^(.{299}).{2,}$/s, '$1…'),
      )
    : `${[status, withoutIds(title ?? '')].filter(Boolean).join(' ')}${required ? ` (${required})` : ''}`;

/** Ids and times differ from letter to letter, and their cause does not; an example's time is no letter's. */
export const withoutIds = (text: string): string =>
  text
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b/gi, '<id>')
    .replace(/(?<!\bas in )\d{4}-\d\d-\d\dT[\d:.]+Z?/g, '<time>')
    .replace(/(?:\/[\w-]+)*\/(lp|le)\/\d+\.\d+(?=\/)/g, '/$1')
    .replace(/(?<=\/|#|\b(?:user|folder|unit|object|topic|module|link) )\d+(?![\d.])/g, '<id>');
