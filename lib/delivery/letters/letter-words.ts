import type { LetterKind } from '../../message/failure-kinds.ts';
import { hidden } from '../../message/hidden.ts';
import { readJson, tooDeep } from '../../message/json.ts';
import { withoutFileNames } from '../../runtime/privacy/file-name.ts';
import { maskedText } from '../../runtime/privacy/platform-words.ts';
import { type DeadLetter, notStored } from './dead-letter.ts';

/** What is known of a letter beside its content. */
export type LetterOrigin = {
  /** SQS moved it by its redrive policy: no function wrote it. */
  isRedriven: boolean;
  /** Why its message could not be fetched; undefined if it is here. */
  missing: string | undefined;
  /** It comes from a queue of this deployment. */
  known: boolean;
};

export const kindOf = (
  { failure, body }: DeadLetter,
  { isRedriven, missing, known }: LetterOrigin,
): LetterKind => {
  if (!known) return 'unknown-source';
  if (missing !== undefined) return 'unreadable';
  const kind = failure?.kind ?? (isRedriven ? 'redriven' : 'no-details');
  // A failure of kind `invalid` already states that the message is too deep.
  if (kind === 'invalid') return kind;
  const read = readJson(body);
  return 'flaw' in read && read.flaw === 'too deep' ? 'unreadable' : kind;
};

/** The platform's words, masked. Only the message shows whom they name: if it cannot be read, all words are hidden. */
export const unnamed = (
  { kind, missing, body }: { kind: LetterKind; missing: string | undefined; body: string },
  words: string,
): string => (kind === 'unreadable' || missing !== undefined ? hidden : maskedText(words, body));

export type LetterWords = {
  /** What failed, in a few words, without ids and personal data. */
  error: string;
  /** Who must do what. */
  remedy: string;
};

export const wordsOf = (letter: DeadLetter, kind: LetterKind, missing: string | undefined): LetterWords => {
  const { failure, body } = letter;
  if (failure === null || failure.kind !== kind) return wordsWithoutFailure(letter, kind, missing);
  const masked =
    failure.title === undefined ? failure : { ...failure, title: maskedText(failure.title, body) };
  return { error: errorOf(masked), remedy: failure.remedy };
};

const wordsWithoutFailure = (
  { source, storedAt }: DeadLetter,
  kind: LetterKind,
  missing: string | undefined,
): LetterWords => {
  if (kind === 'unreadable' && missing !== undefined)
    return {
      error: `its message cannot be fetched: ${missing}`,
      remedy:
        storedAt === notStored
          ? 'Have its producer send it again, then discard this letter. Set LETTERS_BUCKET, so that such messages are kept.'
          : `The message is stored as ${storedAt}. Check that this is the bucket of the stage, and that you may read it. Then replay.`,
    };
  if (kind === 'unreadable')
    return {
      error: `its message ${tooDeep}`,
      remedy:
        'No function accepts it. Have its producer send it again, or edit it. If it cannot be corrected, export it and discard it.',
    };
  if (kind === 'redriven')
    return {
      error: 'SQS moved it itself: the function died while it handled the message, or never ran',
      remedy: 'Find the cause in the function’s log, fix it, then replay.',
    };
  if (kind === 'unknown-source')
    return {
      error:
        source === ''
          ? 'not written by sis-relay'
          : 'its queue does not belong to this deployment of sis-relay',
      remedy: 'It cannot be replayed. Export it for its owner, then discard it, and stop its sender.',
    };
  return {
    error: 'the message is so large that the details of its failure were left out',
    remedy: 'Find the message in the function’s log, fix the cause, then replay.',
  };
};

/** If a credential is refused, the failure's message says more than the platform's answer, because it names the secret. */
const errorOf = ({ kind, message, status, title, required }: NonNullable<DeadLetter['failure']>): string =>
  status === undefined || kind === 'credentials'
    ? withoutIds(
        withoutFileNames(message)
          .replace(/^The message is not valid: /, '')
          .replace(/^(.{299}).{2,}$/s, '$1…'),
      )
    : `${[status, withoutIds(title ?? '')].filter(Boolean).join(' ')}${required ? ` (${required})` : ''}`;

/** Letters with the same cause differ in ids and times; the time of an example (`such as …`) stays. */
export const withoutIds = (text: string): string =>
  text
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b/gi, '<id>')
    .replace(/(?<!\b(?:as in|such as) )\d{4}-\d\d-\d\dT[\d:.]+Z?/g, '<time>')
    .replace(/(?:\/[\w-]+){0,8}\/(lp|le)\/\d+\.\d+(?=\/)/g, '/$1')
    .replace(/(?<=\/|#|\b(?:user|folder|unit|object|topic|module|link) )\d+(?![\d.])/g, '<id>');
