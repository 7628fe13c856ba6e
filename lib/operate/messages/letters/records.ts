import { type Condition, conditionOn, listed } from '../../../delivery/letters/read-records.ts';
import type { DeskRecord, DeskTable, LetterRecord, List } from '../../../delivery/letters/record.ts';
import { type Ending, endRecord } from '../../../delivery/letters/write-record.ts';
import { awsTroubleIn, errorName } from '../../../runtime/aws/error.ts';
import { inParallel } from '../../../runtime/aws/parallel.ts';
import { RefusedError } from '../../stage/command-errors.ts';
import type { Target } from '../../stage/target.ts';
import type { Filter } from './filter.ts';
import { lettersMatching, scopeOf } from './filter-letters.ts';
import { countsOf, type ListCounts } from './queue.ts';

/** @throws RefusedError if the deployment has no such table. */
export const deskOf = ({ dynamodb, deskTable }: Pick<Target, 'dynamodb' | 'deskTable'>): DeskTable => {
  if (deskTable === undefined)
    throw new RefusedError(
      'The table of letters is not known. Set DESK_TABLE. If this is the local stack, restart `npm run local`.',
    );
  return { dynamodb, table: deskTable, nowMs: Date.now };
};

export type Found = ListCounts & {
  /** Oldest first. */
  letters: LetterRecord[];
  /** The letters among which causes are distinguished. If the filter has a cause: all letters of the same functions and kinds. */
  among: LetterRecord[];
};

/** Finds letters in the desk's table, without touching the queue. @throws if the table cannot be read. */
export const findLetters = async (target: Target, filter: Filter, signal: AbortSignal): Promise<Found> => {
  const isAll = Object.keys(filter).length === 0;
  const desk = deskOf(target);
  const [{ records, among }, counts] = await Promise.all([
    recordsMatching(desk, 'letter', { filter, signal }),
    target.deadLetterQueueUrl().then(async (url) => countsOf({ sqs: await target.sqs(), url })),
  ]);
  const letters = records as LetterRecord[];
  return {
    letters,
    among: among as LetterRecord[],
    listed: isAll ? letters.length : undefined,
    queued: counts.visible + counts.inFlight + counts.delayed,
  };
};

/**
 * The records of a list that match, oldest first, and the records among which their causes are distinguished. @throws if the table cannot
 * be read.
 */
export const recordsMatching = async (
  desk: DeskTable,
  list: List,
  { filter, signal }: { filter: Filter; signal: AbortSignal },
): Promise<{ records: DeskRecord[]; among: DeskRecord[] }> => {
  const asked = filter.cause === undefined ? filter : scopeOf(filter);
  const options = { kinds: filter.kind, condition: conditionOf(asked), signal };
  const among = lettersMatching(await listed(desk, list, options).catch(refusedReading), asked);
  return { records: filter.cause === undefined ? among : lettersMatching(among, filter), among };
};

/** Says what a person must do if the lists cannot be read. The command itself reports problems of the operator's credentials. @throws */
const refusedReading = (error: unknown): never => {
  const trouble = awsTroubleIn(error);
  if (trouble === undefined || !/ResourceNotFound|AccessDenied|Throughput|Throttling/.test(errorName(error)))
    throw error;
  throw new RefusedError(
    `The lists of letters and of what waits cannot be read: ${trouble.message}. Nothing is lost: letters stay in the queue, and messages are still handled.`,
  );
};

/** The conditions that DynamoDB can check by itself; `matches` decides. */
const conditionOf = (filter: Filter): Condition | undefined => {
  const { function: functions, since, until, minReplays, maxReplays } = filter;
  const about = conditionOn(filter);
  const values: Condition['values'] = { ...about?.values };
  const names: Condition['names'] = { ...about?.names };
  const texts = about === undefined ? [] : [about.text];
  const compare = (name: string, operator: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    const at = texts.length;
    names[`#f${at}`] = name;
    values[`:f${at}`] = value;
    texts.push(`#f${at} ${operator} :f${at}`);
  };
  compare('atMs', '>=', since);
  compare('atMs', '<=', until);
  compare('replays', '>=', minReplays);
  compare('replays', '<=', maxReplays);
  if (functions) {
    names['#function'] = 'function';
    for (const [at, each] of functions.entries()) values[`:function${at}`] = each;
    texts.push(`#function IN (${functions.map((_, at) => `:function${at}`).join(', ')})`);
  }
  return texts.length === 0 ? undefined : { text: texts.join(' AND '), names, values };
};

/**
 * Ends the records of letters that have left the queue. A failed write is left to the next rebuild of the lists: the queue is the truth.
 */
export const endRecords = async (
  desk: DeskTable,
  letters: readonly { id: string; function: string; kind: string }[],
  deedOf: (letter: { id: string }) => Ending,
): Promise<void> => {
  await inParallel(letters, (letter) =>
    endRecord(desk, { ...letter, message: letter.id }, deedOf(letter)).catch(() => {}),
  );
};
