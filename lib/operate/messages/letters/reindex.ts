import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { resourceIn } from '../../../delivery/handle/ledger-entry.ts';
import { letterChange } from '../../../delivery/letters/letter-facts.ts';
import { listed } from '../../../delivery/letters/read.ts';
import type { DeskRecord, DeskTable } from '../../../delivery/letters/record.ts';
import { type Change, putRecords, writeRecord } from '../../../delivery/letters/write.ts';
import { attribute, unlessRefused } from '../../../runtime/aws/dynamodb.ts';
import { inParallel } from '../../../runtime/aws/parallel.ts';
import { integrationNamed } from '../../stage/integrations.ts';
import type { Target } from '../../stage/target.ts';
import { type Letter, sameness } from './letter.ts';
import { countsOf } from './queue.ts';
import { deskOf } from './records.ts';
import { type ReadOptions, withSession } from './session.ts';

export type Reindexed = {
  /** Letters that were read from the queue. */
  letters: number;
  /** Of them, how many the lists lacked, or told wrongly. */
  added: number;
  /** Entries whose letters are in the queue no longer. */
  removed: number;
  /** Entries whose letters were not read, but may be in somebody else's hands: they stay. */
  kept: number;
  /** When the oldest letter was written; undefined: none was read. */
  oldestMs: number | undefined;
  /** Whether all letters were read. */
  whole: boolean;
};

/** A letter is written after its entry, within this time in milliseconds. */
const onItsWayMs = 10_000;

type ReindexOptions = ReadOptions & { settleMs?: number };

/** Makes the lists of letters equal to what lies in the dead-letter queue, which is the truth. Nothing is done to a letter. */
export const reindexLetters = async (
  target: Target,
  { settleMs = onItsWayMs, ...options }: ReindexOptions,
): Promise<Reindexed> => {
  const desk = deskOf(target);
  const before = new Map(
    (await listed(desk, 'letter')).map((record) => [
      record.message,
      { told: toldOf(record), atMs: record.atMs },
    ]),
  );
  const result: Reindexed = { letters: 0, added: 0, removed: 0, kept: 0, oldestMs: undefined, whole: false };
  /** By id, which letter it is. */
  const seen = new Map<string, string>();
  const unseen = () => [...before].filter(([message]) => !seen.has(message));

  const sweep = (): Promise<void> =>
    withSession(target, async (session) => {
      let untold: Letter[] = [];
      const tell = async (): Promise<void> => {
        const letters = untold;
        untold = [];
        const changes = await Promise.all(
          letters.map(async (each) => [each.id, await changeOf(each)] as const),
        );
        await putRecords(desk, new Map(changes));
        result.added += letters.length;
      };
      for await (const received of session.letters(options)) {
        const same = sameness(received);
        const isOther = (seen.get(received.id) ?? same) !== same;
        const letter = isOther ? { ...received, id: received.sqsId } : received;
        if (seen.has(letter.id)) continue;
        seen.set(letter.id, same);
        result.letters += 1;
        if (before.get(letter.id)?.told === toldOf(letter)) continue;
        untold.push(letter);
        if (untold.length >= 500) await tell();
      }
      await tell();
      const { whole, hidden, oldestMs } = session.summary();
      result.oldestMs = oldestMs ?? result.oldestMs;
      // Somebody else may have taken some meanwhile.
      const { visible, inFlight } = await countsOf(session.queue);
      result.whole = whole && hidden === 0 && visible === 0 && inFlight <= session.lease.size();
    });

  await sweep();
  if (unseen().length > 0) {
    // Its letter may be on its way, or was in somebody's hands for a moment: only what is missed twice is gone.
    await sleep(settleMs, undefined, options).catch(() => {});
    await sweep();
  }
  const gone = result.whole ? unseen() : [];
  result.kept = result.whole ? 0 : unseen().length;
  await inParallel(gone, async ([message, { atMs }]) => {
    if (await removed(desk, { message, atMs })) result.removed += 1;
  });
  return result;
};

/** The same where an entry tells the same of a letter; short, as there may be very many. */
const toldOf = ({ kind, error, replays }: Pick<DeskRecord, 'kind' | 'error' | 'replays'>): string =>
  createHash('md5')
    .update(`${kind} ${replays} ${error.slice(0, 100)}`)
    .digest('base64');

const changeOf = async (letter: Letter): Promise<Change> => {
  const integration = await integrationNamed(letter.function);
  const resource =
    integration && resourceIn(integration, letter.body, { nowMs: Date.now(), ids: letter.failure?.ids });
  const { facts, state } = letterChange(letter, { ...letter, resource, writtenMs: letter.sentMs });
  // What an operator did to it before, if it has come back from a file, is over.
  return { state, facts: { ...facts, by: undefined, why: undefined, as: undefined } };
};

/** Puts a letter into the lists; false: the condition did not hold. */
export const listLetter = async (
  desk: DeskTable,
  letter: Letter,
  condition?: Change['condition'],
): Promise<boolean> =>
  writeRecord(desk, letter.id, { ...(await changeOf(letter)), ...(condition && { condition }) });

/** False where something has become of it meanwhile. */
const removed = async (
  { dynamodb, table }: DeskTable,
  { message, atMs }: { message: string; atMs: number },
): Promise<boolean> => {
  const input = {
    TableName: table,
    Key: { message: { S: message } },
    ConditionExpression: '#state = :letter AND #atMs = :atMs',
    ExpressionAttributeNames: { '#state': 'state', '#atMs': 'atMs' },
    ExpressionAttributeValues: { ':letter': attribute('letter'), ':atMs': attribute(atMs) },
  };
  return (await unlessRefused(() => dynamodb.call('DeleteItem', input))) !== undefined;
};
