import type { Outcome } from '../../message/failure.ts';
import type { FailureKind } from '../../message/failure-kinds.ts';
import { messageIdText, safe, type Warn } from '../../message/safe-text.ts';
import type { PlatformIds } from '../../message/sis-ids.ts';
import { errorName } from '../../runtime/aws/error.ts';
import { writeInReserve } from '../../runtime/aws/table-items.ts';
import type { DeadLetter } from './dead-letter.ts';
import { type IndexedAttributes, indexedNames } from './letter-attributes.ts';
import { recordsOf } from './read-records.ts';
import type { IndexRecord, LetterIndexTable } from './record.ts';
import type { Subject } from './subject.ts';
import { type RecordUpdate, writeRecord } from './write-record.ts';

type RecordedNote =
  | 'message'
  | 'remedy'
  | 'status'
  | 'operation'
  | 'attempts'
  | 'replays'
  | 'eventId'
  | keyof IndexedAttributes;

/** The outcome of one receipt of a message. */
export type ReceiptOutcome = Pick<IndexRecord, RecordedNote> & {
  outcome: Exclude<Outcome, 'parked'>;
  /** Kind of the failure, or of the wait without a failure. Undefined: it blocks nothing. */
  kind: string | undefined;
  reason: string;
  firstMs: number;
  /** When SQS delivers it again, and the handle to do so earlier. */
  waits: { nextMs: number; handle: string } | undefined;
  /** SQS' id of the message that this one is a copy of. */
  copyOf: string | undefined;
  /**
   * Its key in the ledger. A function, because most outcomes are not written, and the message is parsed for it only if they are.
   */
  resource(): string | undefined;
  body: string;
  /** What its ids of the SIS stood for. */
  ids: PlatformIds | undefined;
  /** Its sender asks for a record in any case. */
  isAsked: boolean;
};

export type LetterIndexWriter = {
  /**
   * Call this before a letter is written, so that every letter in the queue is in a list. It never throws: the letter matters more.
   */
  recordLetter(message: string, letter: DeadLetter, about: { resource: string | undefined }): Promise<void>;
  record(ended: ReceiptOutcome): void;
  /** Call this at the end of an invocation: it writes the recorded outcomes. It never throws. */
  write(): Promise<void>;
};

type Options = LetterIndexTable & { function: string; warn: Warn };

/** A letter waits this long at most for its record, in milliseconds. */
const parkingMs = 2_000;
/** A look at the records takes this long at most, in milliseconds. */
const lookingMs = 1_000;

export const createLetterIndexWriter = ({ function: name, warn, ...table }: Options): LetterIndexWriter => {
  const recorded = new Map<string, ReceiptOutcome>();
  const failed = (message: string, error: unknown): void =>
    warn(safe`the outcome of a message could not be recorded for the operators`, {
      messageId: messageIdText(message),
      error: errorName(error),
    });
  /**
   * Most messages that end with a later receipt have only waited for their turn, and have no record: a read costs a tenth of a
   * write. If it is not known whether a message has one, it is left out: its record shows when it is due.
   */
  const thoseToRecord = async (ended: ReceiptOutcome[]): Promise<ReceiptOutcome[]> => {
    // The rate limiter admits it by itself, and in a flood most messages wait for that.
    const all = ended.filter(({ waits, kind, isAsked }) => !waits || kind !== undefined || isAsked);
    const isRecordedInAnyCase = ({ waits, isAsked }: ReceiptOutcome): boolean =>
      waits !== undefined || isAsked;
    const ids = all.flatMap((ended) => (isRecordedInAnyCase(ended) ? [] : ended.message));
    if (ids.length === 0) return all;
    const look = { isOld: true, signal: AbortSignal.timeout(lookingMs) };
    const known = await recordsOf(table, ids, look).catch(() => new Map());
    return all.filter((ended) => isRecordedInAnyCase(ended) || known.has(ended.message));
  };
  return {
    recordLetter: async (message, letter, { resource }) => {
      recorded.delete(message);
      try {
        // Loaded here: most containers park nothing.
        const { letterChange } = await import('./letter-facts.ts');
        const kind: FailureKind | 'no-details' = letter.failure?.kind ?? 'no-details';
        const about = { function: name, kind, missing: undefined, resource, writtenMs: table.nowMs() };
        const signal = AbortSignal.timeout(parkingMs);
        await writeRecord(table, message, { ...letterChange(letter, about), signal });
      } catch (error) {
        failed(message, error);
      }
    },
    record: (ended) => {
      recorded.set(ended.message, ended);
    },
    write: async () => {
      const ended = [...recorded.values()];
      recorded.clear();
      const all = await thoseToRecord(ended);
      if (all.length === 0) return;
      const { subjectIn } = await import('./subject.ts');
      await writeInReserve(
        all.map((ended) => {
          const change = changeOf(ended, { function: name, ...subjectIn(ended.body, ended.ids) });
          return {
            write: (signal) => writeRecord(table, ended.message, { ...change, signal }),
            failed: (error) => failed(ended.message, error),
          };
        }),
      );
    },
  };
};

const changeOf = (ended: ReceiptOutcome, about: { function: string } & Subject): RecordUpdate => {
  const { outcome, isAsked, waits, kind, reason: error, copyOf: as } = ended;
  const { attempts, replays, firstMs, status, operation, remedy, eventId } = ended;
  const facts = {
    ...about,
    attempts,
    replays,
    firstMs,
    error,
    status,
    operation,
    remedy,
    eventId,
    ...Object.fromEntries(indexedNames.map((name) => [name, ended[name]])),
    resource: ended.resource(),
    kind: kind ?? (waits ? 'pace' : ''),
    as,
  };
  if (waits) {
    return {
      state: 'waiting',
      waits: true,
      facts: { ...facts, ...waits },
      condition: {
        ...notALetter,
        // A message whose letter could not be written waits after all.
        text: `(${notALetter.text} OR #attempts = :attempts) AND (attribute_not_exists(#attempts) OR #attempts <= :attempts)`,
        names: { ...notALetter.names, '#attempts': 'attempts' },
        values: { ...notALetter.values, ':attempts': attempts },
      },
    };
  }
  const text = isAsked ? notALetter.text : `attribute_exists(#state) AND ${notALetter.text}`;
  return { state: outcome, facts, condition: { ...notALetter, text } };
};

/** For a second receipt of a message whose letter is already in the queue: the letter stays. */
const notALetter = {
  text: '(attribute_not_exists(#state) OR #state <> :letter)',
  names: { '#state': 'state' },
  values: { ':letter': 'letter' },
};
