import type { Message } from '@aws-sdk/client-sqs';
import { type DeadLetter, letterOf, nowhere } from '../../dead-letter.ts';
import { dispositions, type FailureKind } from '../../failure.ts';
import { readJson, tooDeep } from '../../json.ts';
import { withoutFileNames } from '../../redaction/file-name.ts';
import { hidden } from '../../redaction/hidden.ts';
import { maskedText } from '../../redaction/platform-words.ts';
import { type Bucket, withWhole } from './whole.ts';

/**
 * Kinds of letters that are no kinds of failures. `redriven`: SQS moved it by its redrive policy, so there is no failure.
 * `no-details`: we wrote it, but the failure did not fit beside the message. `unknown-source`: no function of this deployment
 * wrote it. `unreadable`: its message cannot be read, whatever the failure was.
 */
export const otherKinds = ['redriven', 'no-details', 'unknown-source', 'unreadable'] as const;

export type LetterKind = FailureKind | (typeof otherKinds)[number];

export const letterKinds: LetterKind[] = [...(Object.keys(dispositions) as FailureKind[]), ...otherKinds];

/** A message of the dead-letter queue as an operator sees it. */
export type Letter = DeadLetter & {
  /** SQS' id of the letter. */
  id: string;
  /** As SQS handed it out. */
  message: Message;
  kind: LetterKind;
  /** The function whose queue it came from, or the name it gives for it; empty if it gives none. */
  function: string;
  /** URL of the queue that a replay sends it to; undefined: there is none. */
  queueUrl: string | undefined;
  /** What failed, in a few words and without ids, so that it is equal for letters with the same cause; it may name a person. */
  cause: string;
  /** The same without what is personal. */
  error: string;
  /** Who must do what. */
  remedy: string;
  /** When the letter was written; of a redriven one, when its message was sent. */
  sentMs: number;
  /** Why its message could not be fetched; undefined: it is here. */
  missing: string | undefined;
};

/** The attribute of a message that says who edited it, when and why, and where its original is. */
export const editedAttribute = 'edited';

/** From so many replays on, a letter is marked. */
export const replayedOften = 5;

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
      id: message.MessageId ?? '',
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

/** SQS moved it by its redrive policy: no function wrote it. */
export const isRedriven = ({ Attributes = {} }: Message): boolean => 'DeadLetterQueueSourceArn' in Attributes;

type About = { isRedriven: boolean; missing: string | undefined; known: boolean };

const kindOf = ({ failure, body }: DeadLetter, { isRedriven, missing, known }: About): LetterKind => {
  if (!known) return 'unknown-source';
  if (missing !== undefined) return 'unreadable';
  const kind = failure?.kind ?? (isRedriven ? 'redriven' : 'no-details');
  // A failure of kind `invalid` says already that the message is too deep.
  if (kind === 'invalid') return kind;
  const read = readJson(body);
  return 'flaw' in read && read.flaw === 'too deep' ? 'unreadable' : kind;
};

/** The platform's own words, masked. Only the message tells whom they name: where it cannot be read, all words are hidden. */
export const unnamed = (
  { kind, missing, body }: Pick<Letter, 'kind' | 'missing' | 'body'>,
  words: string,
): string => (kind === 'unreadable' || missing !== undefined ? hidden : maskedText(words, body));

type Words = Pick<Letter, 'cause' | 'error' | 'remedy'>;

const wordsOf = (letter: DeadLetter, kind: LetterKind, missing: string | undefined): Words => {
  const { failure, body } = letter;
  if (failure === null || failure.kind !== kind) {
    const { error, remedy } = wordsWithoutFailure(letter, kind, missing);
    return { cause: error, error, remedy };
  }
  // Masked words differ from letter to letter, so the cause keeps the words as they are.
  const masked =
    failure.title === undefined ? failure : { ...failure, title: maskedText(failure.title, body) };
  return { cause: errorOf(failure), error: errorOf(masked), remedy: failure.remedy };
};

const wordsWithoutFailure = (
  { source, whole }: DeadLetter,
  kind: LetterKind,
  missing: string | undefined,
): Pick<Words, 'error' | 'remedy'> => {
  if (kind === 'unreadable' && missing !== undefined)
    return {
      error: `its message cannot be fetched: ${missing}`,
      remedy:
        whole === nowhere
          ? 'Have its producer send it again, then discard this letter. Set LETTERS_BUCKET.'
          : `Look for ${whole}: is that the --bucket, and may you read there? Once it can be read, replay.`,
    };
  if (kind === 'unreadable')
    return {
      error: `its message ${tooDeep}`,
      remedy:
        'No function takes it. Have its producer send it again, or edit it; export and discard what is not to be mended.',
    };
  if (kind === 'redriven')
    return {
      error: 'moved by SQS itself: the function died on it, or never ran',
      remedy: 'Look for the cause in the function’s log, mend it, then replay.',
    };
  if (kind === 'unknown-source')
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

/** Letters with the same cause differ in ids and times; the time of an example (`as in …`) stays. */
export const withoutIds = (text: string): string =>
  text
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b/gi, '<id>')
    .replace(/(?<!\bas in )\d{4}-\d\d-\d\dT[\d:.]+Z?/g, '<time>')
    .replace(/(?:\/[\w-]+){0,8}\/(lp|le)\/\d+\.\d+(?=\/)/g, '/$1')
    .replace(/(?<=\/|#|\b(?:user|folder|unit|object|topic|module|link) )\d+(?![\d.])/g, '<id>');
