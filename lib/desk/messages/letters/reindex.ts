import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { resourceIn } from '../../../delivery/handle/ledger-message.ts';
import {
  type IndexedAttributes,
  indexedIn,
  indexedNames,
} from '../../../delivery/letters/letter-attributes.ts';
import { letterChange } from '../../../delivery/letters/letter-facts.ts';
import { listed } from '../../../delivery/letters/read-records.ts';
import type { IndexRecord, LetterIndexTable } from '../../../delivery/letters/record.ts';
import { putRecords, type RecordUpdate, writeRecord } from '../../../delivery/letters/write-record.ts';
import { attribute, undefinedIfConditionFails } from '../../../runtime/aws/dynamodb.ts';
import { inParallel } from '../../../runtime/aws/parallel.ts';
import { integrationNamed } from '../../../stage/integrations.ts';
import type { Target } from '../../../stage/target.ts';
import { type Letter, sameness } from './letter.ts';
import { letterIndexOf } from './list.ts';
import { countsOf } from './queue.ts';
import { type ReadOptions, withSession } from './session.ts';

export type ReindexResult = {
  /** Letters that were read from the queue. */
  letters: number;
  /** Letters whose entry was missing or wrong. */
  added: number;
  /** Entries whose letters have left the queue. */
  removed: number;
  /** Entries that stay: their letters were not read, but somebody else may have leased them. */
  kept: number;
  /** Further copies of these letters that were deleted: a message may be parked twice. */
  copies: number;
  /** When the oldest letter was written; undefined: none was read. */
  oldestMs: number | undefined;
  whole: boolean;
};

/** A letter is sent at most this many milliseconds after its entry is written. */
const onItsWayMs = 10_000;

type ReindexOptions = ReadOptions & { settleMs?: number };

/**
 * Makes the lists of letters match the dead-letter queue, which is the truth. It changes no letter, and deletes what is there twice: else
 * SQS would count more letters than the lists for ever.
 */
export const reindexLetters = async (
  target: Target,
  { settleMs = onItsWayMs, ...options }: ReindexOptions,
): Promise<ReindexResult> => {
  const letterIndex = letterIndexOf(target);
  /** Entries whose letters were not read yet. */
  const unread = new Map(
    (await listed(letterIndex, 'letter')).map((record) => [
      record.message,
      { fingerprint: fingerprintOf(record), atMs: record.atMs },
    ]),
  );
  const result: ReindexResult = {
    letters: 0,
    added: 0,
    removed: 0,
    kept: 0,
    copies: 0,
    oldestMs: undefined,
    whole: false,
  };
  /** Distinguishes letters with the same id. */
  const seen = new Map<string, string>();

  const sweep = (): Promise<void> =>
    withSession(target, async (session) => {
      let unwritten: Letter[] = [];
      /** SQS' ids of the first copies in this session: what another session has read may be gone. */
      const firsts = new Map<string, string>();
      const copies: { sqsId: string; of: string }[] = [];
      const write = async (): Promise<void> => {
        const letters = unwritten;
        unwritten = [];
        const changes = await Promise.all(
          letters.map(async (each) => [each.id, await changeOf(each)] as const),
        );
        await putRecords(letterIndex, new Map(changes));
        result.added += letters.length;
      };
      for await (const received of session.letters(options)) {
        const same = sameness(received);
        const isOther = (seen.get(received.id) ?? same) !== same;
        const letter = isOther ? { ...received, id: received.sqsId } : received;
        const { id, sqsId } = letter;
        const first = firsts.get(id);
        if (first === undefined) firsts.set(id, sqsId);
        else copies.push({ sqsId, of: first });
        if (seen.has(id)) continue;
        seen.set(id, same);
        result.letters += 1;
        const fingerprint = unread.get(id)?.fingerprint;
        unread.delete(id);
        if (fingerprint === fingerprintOf({ ...letter, ...indexedIn(letter.attributes) })) continue;
        unwritten.push(letter);
        if (unwritten.length >= 500) await write();
      }
      await write();
      const going = copies.flatMap((copy) => (session.lease.isCurrent(copy.of) ? copy.sqsId : []));
      result.copies += going.length - (await session.lease.deleteLetters(going)).size;
      const { whole, hidden, oldestMs } = session.summary();
      result.oldestMs = oldestMs ?? result.oldestMs;
      // Somebody else may have leased some meanwhile.
      const { visible, inFlight } = await countsOf(session.queue);
      result.whole = whole && hidden === 0 && visible === 0 && inFlight <= session.lease.size();
    });

  await sweep();
  if (unread.size > 0) {
    // Its letter may be on its way, or was leased for a moment: an entry is removed only if its letter is missed twice.
    await sleep(settleMs, undefined, options).catch(() => {});
    await sweep();
  }
  if (result.whole)
    await inParallel([...unread], async ([message, { atMs }]) => {
      if (await removed(letterIndex, { message, atMs })) result.removed += 1;
    });
  else result.kept = unread.size;
  return result;
};

/** Equal if an entry says the same of a letter. Short, because there may be very many. */
const fingerprintOf = (entry: Pick<IndexRecord, 'kind' | 'error' | 'replays'> & IndexedAttributes): string =>
  createHash('md5')
    .update(JSON.stringify([entry.kind, entry.replays, entry.error.slice(0, 100)]))
    .update(JSON.stringify(indexedNames.map((name) => entry[name])))
    .digest('base64url')
    .slice(0, 12);

const changeOf = async (letter: Letter): Promise<RecordUpdate> => {
  const integration = await integrationNamed(letter.function);
  const resource =
    integration && resourceIn(integration, letter.body, { nowMs: Date.now(), ids: letter.failure?.ids });
  const { facts, state } = letterChange(letter, { ...letter, resource, writtenMs: letter.sentMs });
  // If the letter came back from a file, what an operator did to it before has ended.
  return { state, facts: { ...facts, by: undefined, why: undefined, as: undefined } };
};

/** Puts a letter into the lists. */
export const listLetter = async (letterIndex: LetterIndexTable, letter: Letter): Promise<boolean> =>
  writeRecord(letterIndex, letter.id, await changeOf(letter));

/** Puts a letter that comes back from a file into the lists, with the time when it failed; false: the condition did not hold. */
export const listImported = async (
  letterIndex: LetterIndexTable,
  letter: Letter,
  condition: NonNullable<RecordUpdate['condition']>,
): Promise<boolean> => {
  const { facts, state } = await changeOf(letter);
  const writtenMs = Date.parse(letter.failure?.lastAt ?? '') || letter.sentMs;
  return writeRecord(letterIndex, letter.id, { state, facts: { ...facts, writtenMs }, condition });
};

/** False if the record changed meanwhile. */
const removed = async (
  { dynamodb, table }: LetterIndexTable,
  { message, atMs }: { message: string; atMs: number },
): Promise<boolean> => {
  const input = {
    TableName: table,
    Key: { message: { S: message } },
    ConditionExpression: '#state = :letter AND #atMs = :atMs',
    ExpressionAttributeNames: { '#state': 'state', '#atMs': 'atMs' },
    ExpressionAttributeValues: { ':letter': attribute('letter'), ':atMs': attribute(atMs) },
  };
  return (await undefinedIfConditionFails(() => dynamodb.call('DeleteItem', input))) !== undefined;
};
