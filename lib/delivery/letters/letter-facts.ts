import type { LetterKind } from '../../message/failure-kinds.ts';
import { eventIdIn } from '../../message/message.ts';
import type { DeadLetter } from './dead-letter.ts';
import { indexedIn } from './letter-attributes.ts';
import { unnamed, wordsOf } from './letter-words.ts';
import { subjectIn } from './subject.ts';
import type { RecordUpdate } from './write-record.ts';

type LetterSource = {
  function: string;
  kind: LetterKind;
  /** Why its message could not be fetched; undefined if it is here. */
  missing: string | undefined;
  /** Its key in the ledger. */
  resource: string | undefined;
  writtenMs: number;
};

/** What the lists need of a letter, and no more: the only personal data are ids of the user and of what it is about. */
export const letterChange = (
  letter: DeadLetter,
  { function: name, kind, missing, resource, writtenMs }: LetterSource,
): RecordUpdate => {
  const { failure, body, replays, attributes } = letter;
  const detail = failure?.kind === kind ? failure.detail : undefined;
  return {
    state: 'letter',
    facts: {
      function: name,
      kind,
      atMs: writtenMs,
      writtenMs,
      ...wordsOf(letter, kind, missing),
      words: detail && unnamed({ kind, missing, body }, detail),
      status: failure?.status,
      required: failure?.required,
      operation: failure?.operation,
      firstMs: failure ? Date.parse(failure.firstAt) || undefined : undefined,
      attempts: failure?.attempts ?? 0,
      replays,
      eventId: eventIdIn(body),
      ...subjectIn(body, failure?.ids),
      resource,
      ...indexedIn(attributes),
    },
  };
};
