import {
  type Condition,
  conditionOn,
  listed,
  recordsOf,
  scanned,
} from '../../../delivery/letters/read-records.ts';
import type { IndexRecord, LetterIndexTable, LetterRecord, List } from '../../../delivery/letters/record.ts';
import { type EndOfRecord, endRecord } from '../../../delivery/letters/write-record.ts';
import { awsTroubleIn, errorName } from '../../../runtime/aws/error.ts';
import { inParallel } from '../../../runtime/aws/parallel.ts';
import { readAuditLog } from '../../../stage/audit-log.ts';
import { RefusedError, UsageError } from '../../../stage/command-errors.ts';
import { needsRole } from '../../../stage/roles.ts';
import type { Target } from '../../../stage/target.ts';
import { withRequiredParts } from '../edit/required-parts.ts';
import { type Filter, matches } from './filter.ts';
import { type CauseOf, causesAmong, type Group, groupsOf } from './groups.ts';
import { countsOf } from './queue.ts';

/** @throws RefusedError if the deployment has no such table. */
export const letterIndexOf = ({
  dynamodb,
  deskTable,
}: Pick<Target, 'dynamodb' | 'deskTable'>): LetterIndexTable => {
  if (deskTable === undefined)
    throw new RefusedError(
      'The table of letters is not known. Set DESK_TABLE. If this is the local stack, restart `npm run local`.',
    );
  return { dynamodb, table: deskTable, nowMs: Date.now };
};

/** The records of a list at one time. */
export const listingOf = <Of extends IndexRecord>(records: readonly Of[]) => {
  const all = records.toSorted(
    (one, other) => one.atMs - other.atMs || (one.message < other.message ? -1 : 1),
  );
  let causes: CauseOf | undefined;
  const causeOf: CauseOf = (record) => {
    causes ??= causesAmong(all);
    return causes(record);
  };
  return {
    /** Oldest first. */
    all,
    /** Oldest first. */
    matching: ({ cause, ...filter }: Filter): Of[] =>
      all.filter(
        (record) => matches(filter, record) && (cause === undefined || cause.includes(causeOf(record).id)),
      ),
    /** Groups some of the records by cause. Causes are distinguished among all records. */
    groupsOf: (some: readonly Of[]) => groupsOf(some, causeOf),
  };
};

type ListingOptions = {
  filter: Filter;
  /** Only what matches is wanted: causes are distinguished among all records. */
  isNarrow?: boolean;
  signal: AbortSignal;
};

/** The records of a list, of the filter's kinds. Nothing is received from a queue. @throws if the table cannot be read. */
export const readListing = async (
  target: Target,
  list: List,
  { filter, isNarrow = false, signal }: ListingOptions,
) => {
  const condition = isNarrow && filter.cause === undefined ? conditionOf(filter) : undefined;
  const options = { kinds: filter.kind, condition, signal };
  return listingOf(await listed(letterIndexOf(target), list, options).catch(refusedReading));
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

/** States what a person must do if the lists cannot be read. The command itself reports problems of the operator's credentials. @throws */
const refusedReading = (error: unknown): never => {
  const trouble = awsTroubleIn(error);
  if (trouble === undefined || !/ResourceNotFound|AccessDenied|Throughput|Throttling/.test(errorName(error)))
    throw error;
  throw new RefusedError(
    `The lists of letters and of what waits cannot be read: ${trouble.message}. ${/AccessDenied/.test(errorName(error)) ? `${needsRole('reader')} ` : ''}Nothing is lost: letters stay in the queue, and messages are still handled.`,
  );
};

export type ListCounts = {
  /** Letters in the lists; undefined: a filter was given. */
  listed: number | undefined;
  /** As `queuedLetters` counts them. */
  queued: number;
};

export type LetterSearch = ListCounts &
  ReturnType<typeof listingOf<LetterRecord>> & {
    /** Those that match, oldest first. */
    letters: LetterRecord[];
  };

/** Finds letters in the lists, without touching the queue. @throws if the table cannot be read. */
export const findLetters = async (
  target: Target,
  filter: Filter,
  signal: AbortSignal,
  isNarrow = false,
): Promise<LetterSearch> => {
  const [listing, queued] = await Promise.all([
    readListing(target, 'letter', { filter, isNarrow, signal }),
    queuedLetters(target),
  ]);
  const found = listing as ReturnType<typeof listingOf<LetterRecord>>;
  const letters = found.matching(filter);
  return { ...found, letters, listed: Object.keys(filter).length === 0 ? letters.length : undefined, queued };
};

/** SQS' approximate count of letters, including leased ones. */
export const queuedLetters = async (target: Target): Promise<number> => {
  const url = await target.deadLetterQueueUrl();
  const { visible, inFlight, delayed } = await countsOf({ sqs: await target.sqs(), url });
  return visible + inFlight + delayed;
};

export type LetterFacts = ReturnType<typeof factsOf>;

export const factsOf = (letter: LetterRecord) => {
  const { message: id, atMs: sentMs, function: name, kind, error, words, remedy, status } = letter;
  const { replays, attempts, eventId, resource, user, orgUnit, thing, named } = letter;
  return {
    id,
    sentMs,
    function: name,
    kind,
    error,
    words,
    remedy,
    status,
    replays,
    attempts,
    eventId,
    resource,
    user,
    orgUnit,
    thing,
    named,
  };
};

export type LetterList = ListCounts & {
  /** Oldest first, at most as many as requested. */
  letters: LetterFacts[];
  matching: number;
};

/** Lists the letters that match. */
export const listLetters = async (
  target: Target,
  { filter, limit }: { filter: Filter; limit: number },
  { signal }: { signal: AbortSignal },
): Promise<LetterList> => {
  const { letters, listed, queued } = await findLetters(target, filter, signal, true);
  return { listed, queued, letters: letters.slice(0, limit).map(factsOf), matching: letters.length };
};

export type Groups = ListCounts & { groups: Group[]; matching: number };

/** Groups the letters by cause. Each cause has an id that a filter accepts. */
export const groupLetters = async (
  target: Target,
  filter: Filter,
  { signal }: { signal: AbortSignal },
): Promise<Groups> => {
  const { letters, listed, queued, groupsOf } = await findLetters(target, filter, signal);
  const groups = await withRequiredParts(groupsOf(letters).groups);
  return { listed, queued, groups, matching: letters.length };
};

/** A listed letter that an operator selected. */
export type SelectedLetter = { id: string; record: LetterRecord; group: Group };

export type Selection = ListCounts & {
  /** Oldest first. */
  letters: SelectedLetter[];
  groups: Group[];
  limitReached: boolean;
};

/** Selects the letters that match, oldest first and at most `limit`. */
export const selectLetters = async (
  target: Target,
  { filter, limit = Number.POSITIVE_INFINITY }: { filter: Filter; limit?: number | undefined },
  signal: AbortSignal,
): Promise<Selection> => {
  const { letters, listed, queued, ...found } = await findLetters(target, filter, signal);
  const records = letters.slice(0, limit);
  const { groups, groupOf } = found.groupsOf(records);
  return {
    listed,
    queued,
    groups,
    limitReached: letters.length > limit,
    letters: records.map((record) => ({ id: record.message, record, group: groupOf(record) })),
  };
};

/** What was done to the letters of a cause of which none is left. They are compared with one another. @throws if the table cannot be read. */
export const endedLettersOf = async (
  target: Target,
  cause: readonly string[],
  signal: AbortSignal,
): Promise<IndexRecord[]> => {
  const condition = {
    text: '#state IN (:replayed, :edited, :discarded)',
    names: { '#state': 'state' },
    values: { ':replayed': 'replayed', ':edited': 'edited', ':discarded': 'discarded' },
  };
  const ended = await scanned(letterIndexOf(target), condition, { signal }).catch(refusedReading);
  return listingOf(ended).matching({ cause: [...cause] });
};

export class NoLetterError extends RefusedError {}

/** SQS' ids are this long; an imported letter may have a longer one. */
const wholeId = /^[\w-]{36,100}$/;

/**
 * Finds one letter in the lists, by its id, the beginning of its id, or the whole id of its event.
 * @throws NoLetterError if none matches. @throws RefusedError if more than one matches.
 */
export const findLetter = async (
  target: Target,
  id: string,
  signal: AbortSignal,
): Promise<{ id: string; record: LetterRecord }> => {
  if (id.length < 4)
    throw new UsageError(`${id} is too short for an id. Give at least its first 4 characters.`);
  // A whole id names one letter, though it may also be the beginning of other ids; all records need not be read for it.
  const whole = wholeId.test(id) ? [id] : [];
  const named = (await recordsOf(letterIndexOf(target), whole, { signal }).catch(refusedReading)).get(id);
  if (named?.state === 'letter') return { id, record: named as LetterRecord };
  const { letters } = await findLetters(target, { id: [id] }, signal);
  const record = letters.find((each) => each.message === id) ?? letters[0];
  if (record === undefined)
    throw new NoLetterError(
      `There is no letter ${id}. \`letters list\` shows the letters, and \`trace ${id}\` what is known about this one.`,
    );
  if (record.message !== id && letters.length > 1)
    throw new RefusedError(
      `${id} is the beginning of several ids: ${letters
        .slice(0, 10)
        .map((each) => each.message)
        .join(', ')}. Give more characters.`,
    );
  return { id: record.message, record };
};

/**
 * Ends the records of letters that have left the queue. A failed write is left to the next rebuild of the lists: the queue is the truth.
 */
export const endRecords = async (
  letterIndex: LetterIndexTable,
  letters: readonly { id: string; function: string; kind: string }[],
  actionOf: (letter: { id: string }) => EndOfRecord,
): Promise<void> => {
  await inParallel(letters, (letter) =>
    endRecord(letterIndex, { ...letter, message: letter.id }, actionOf(letter)).catch(() => {}),
  );
};

/** When letters were written, whether or not they are still letters, and when people sent or discarded how many. */
type Flow = {
  arrived: { atMs: number }[];
  left: { atMs: number; count: number }[];
};

/** `letters`: those that there are now. @throws if the audit log or the table cannot be read. */
export const readFlow = async (
  target: Target,
  letters: readonly LetterRecord[],
  options: { sinceMs: number; signal: AbortSignal },
): Promise<Flow> => {
  const { commands } = await readAuditLog(target, options);
  const deeds = commands.filter(({ command }) => command.startsWith('letters '));
  const still = new Set(letters.map(({ message }) => message));
  const touched = new Set(deeds.flatMap(({ meant, did }) => [...meant, ...did]));
  const look = { isOld: true, signal: options.signal };
  const gone = await recordsOf(letterIndexOf(target), [...touched.difference(still)], look);
  return {
    arrived: [...letters.map(({ atMs }) => atMs), ...[...gone.values()].map(({ writtenMs = 0 }) => writtenMs)]
      .filter((atMs) => atMs >= options.sinceMs)
      .map((atMs) => ({ atMs })),
    left: deeds.map(({ at, counts: { sent = 0, discarded = 0 } }) => ({
      atMs: Date.parse(at),
      count: sent + discarded,
    })),
  };
};
