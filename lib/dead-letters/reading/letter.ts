import type { Message, MessageAttributeValue } from '@aws-sdk/client-sqs';
import { type DeadLetter, letterOf, nowhere, ownOf } from '../../dead-letter.ts';
import { dispositions, type FailureKind } from '../../failure.ts';
import { readJson, tooDeep } from '../../json.ts';
import { withoutFileNames } from '../../redaction/file-name.ts';
import { hidden } from '../../redaction/hidden.ts';
import { maskedText } from '../../redaction/platform-words.ts';
import { type Bucket, withWhole } from './whole.ts';

/**
 * Letters whose kind no failure tells: moved by SQS itself, written by us with no room for it, not ours at all; or of a message
 * that cannot be read, whatever its failure was.
 */
export const otherKinds = ['native', 'untold', 'foreign', 'unreadable'] as const;

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
  /** SQS moved it by itself. */
  moved: boolean;
  /** Why its message is not here; undefined: it is. */
  missing: string | undefined;
};

/** From so many replays on, a letter is called out. */
export const replayedOften = 5;

/** Reads messages of the dead-letter queue as letters; it never throws for what one holds. */
export const createLetterReader = (
  target: Bucket & { prefix: string; queueUrlOf(functionName: string): Promise<string | undefined> },
) => {
  const urls = new Map<string, Promise<string | undefined>>();
  const urlOf = (name: string): Promise<string | undefined> => {
    // A letter may say anything: only names that could be a function's are looked up, and not without end.
    if (!/^[a-z][a-z0-9-]{0,60}$/.test(name) || name === 'dead-letters') return Promise.resolve(undefined);
    const url = urls.get(name) ?? (urls.size < 200 ? target.queueUrlOf(name) : Promise.resolve(undefined));
    urls.set(name, url);
    return url;
  };

  return async (message: Message): Promise<Letter> => {
    const moved = 'DeadLetterQueueSourceArn' in (message.Attributes ?? {});
    const { letter, missing } = await withWhole(letterOf(message), target);
    const queueName = letter.source.split(':').at(-1) ?? '';
    const known = queueName.startsWith(target.prefix) ? queueName.slice(target.prefix.length) : '';
    const queueUrl = known === '' ? undefined : await urlOf(known);
    const kind = kindOf(letter, { moved, missing, known: queueUrl !== undefined });
    return {
      ...letter,
      id: message.MessageId ?? '',
      receiptHandle: message.ReceiptHandle ?? '',
      kind,
      function: known || letter.failure?.function || '',
      queueUrl,
      ...wordsOf(letter, kind, missing),
      sentMs: Number(message.Attributes?.SentTimestamp) || 0,
      raw: { ...letter.attributes, ...ownAttributes(message, moved) },
      moved,
      missing,
    };
  };
};

export type LetterReader = ReturnType<typeof createLetterReader>;

/** Of what SQS moved, all but the count of replays would be its producer's. */
const ownAttributes = ({ MessageAttributes = {} }: Message, moved: boolean) =>
  Object.fromEntries(
    Object.entries(ownOf(MessageAttributes)).filter(([name]) => !moved || name === 'replays'),
  );

type About = { moved: boolean; missing: string | undefined; known: boolean };

const kindOf = ({ failure, body }: DeadLetter, { moved, missing, known }: About): LetterKind => {
  if (!known) return 'foreign';
  if (missing !== undefined) return 'unreadable';
  const kind = failure?.kind ?? (moved ? 'native' : 'untold');
  // What was refused for that says so itself.
  return kind !== 'invalid' && isTooDeep(body) ? 'unreadable' : kind;
};

const isTooDeep = (body: string): boolean => {
  const read = readJson(body);
  return 'flaw' in read && read.flaw === 'too deep';
};

/** The platform's own words as anybody may read them: where the message cannot be read, nobody can tell whom they name. */
export const unnamed = (
  { kind, missing, body }: Pick<Letter, 'kind' | 'missing' | 'body'>,
  words: string,
): string => (kind === 'unreadable' || missing !== undefined ? hidden : maskedText(words, body));

type Words = Pick<Letter, 'cause' | 'error' | 'remedy'>;

const wordsOf = (letter: DeadLetter, kind: LetterKind, missing: string | undefined): Words => {
  const { failure, body } = letter;
  if (failure === null || kind === 'native' || kind === 'foreign' || kind === 'unreadable') {
    const { error, remedy } = wordsWithoutFailure(letter, kind, missing);
    return { cause: error, error, remedy };
  }
  // Words of the message differ from letter to letter, and so would a cause without them.
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
      error: `its message is not to be had: ${missing}`,
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
    .replace(/(?:\/[\w-]+){0,8}\/(lp|le)\/\d+\.\d+(?=\/)/g, '/$1')
    .replace(/(?<=\/|#|\b(?:user|folder|unit|object|topic|module|link) )\d+(?![\d.])/g, '<id>');
