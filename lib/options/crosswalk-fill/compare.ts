import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { type CrosswalkKind, type CrosswalkSource, crosswalkKinds } from '../../crosswalk/kinds.ts';
import { filledFolder, filledKey, type MovedCodes, movedIn, movedKey } from '../../crosswalk/moved.ts';
import {
  acceptedBucketOf,
  type BucketItem,
  type CrosswalkTable,
  idsIn,
  isAccepted,
  maxIds,
  meaningIn,
  type NameEntry,
} from '../../crosswalk/table.ts';
import { errorName } from '../../runtime/aws/error.ts';
import { keepMemoryBelow } from '../../runtime/files/memory-limit.ts';
import { type SqlEngine, withSqlEngine } from '../../runtime/files/tables/engine.ts';
import { packedRows } from '../../runtime/files/tables/packed-rows.ts';
import type { JobStore } from '../../runtime/jobs/store.ts';
import { memoryAllowanceMb } from './listings.ts';

export type NameList = { kind: CrosswalkKind; source: CrosswalkSource };

/** The names of a kind from one source. */
export type Listing = NameList & {
  /** A statement with the bucket's digits, a name as JSON, and its id. A NULL id is illegible: the name keeps its earlier ids. */
  rows: string;
  /** False: something could not be read, so no missing name was removed. */
  isWhole: boolean;
};

export type FillResult = NameList & {
  /** Number of names after the fill. */
  names: number;
  added: number;
  changed: number;
  removed: number;
  /** How many names stand for other ids than before, by whichever source. */
  reassigned: number;
  /** Number of codes that stand for another org unit, if no operator has accepted that. */
  moved: number;
  /** Number of names that are left out, as their bucket is full. */
  crowded: number;
  /**
   * `held`: too many names would be removed or stand for others, so all stay as they were. `refused`: AWS does not take them; the next
   * fill compares again.
   */
  outcome: 'changed' | 'same' | 'held' | 'refused';
};

export type FillOptions = {
  store: JobStore;
  table: CrosswalkTable;
  /** If more than this share of the names would be removed, or would stand for others, a person must accept that. */
  maxRemovalsPercent: number;
};

/** The engine of one step, with its own folder. */
export type Workspace = { db: SqlEngine; folder: string };

/** Limits the disk to what a fill needs: less than an export does. */
export const withWorkspace = <Result>(work: (workspace: Workspace) => Promise<Result>): Promise<Result> =>
  withSqlEngine((db, folder) => work({ db, folder }), { spillMb: 1_000 });

/** `state`: what was filled last. */
const keysOf = ({ kind, source }: NameList) => ({
  state: filledKey(kind, source),
  next: `${filledFolder}${kind}-${source}.next.gz`,
  /** A comparison that is not yet completely written to the table. */
  pending: `${filledFolder}${kind}-${source}.json`,
});
type PendingNames = {
  isPending: boolean;
  /** AWS refused a comparison in the midst of it, so the next one writes every bucket. */
  wasRefused?: boolean;
};

/**
 * The lines of a state. Both lists of ids are in ascending order, with commas. A line without `ids` is a code that was removed: it
 * may come back for another org unit.
 */
const state = (path: '$1' | '$2'): string => packedRows(path, ['shard', 'name', 'ids', 'was']);

/**
 * Codes of org units: a code that stands for another org unit is reported, and its messages are parked until an operator accepts
 * that.
 */
const tellsMoves = ({ kind }: NameList): boolean => kind === 'orgUnitCode';

/** What a name stood for before it became ambiguous, was removed or moved, if messages may have been sent by it. */
const stoodFor = (ids: string, was: string): string =>
  `coalesce(${was}, CASE WHEN NOT contains(${ids}, ',') THEN ${ids} END)`;

export const noNames = "SELECT '' AS shard, '' AS name, 0 AS id WHERE false";
const nothing = {
  names: 0,
  added: 0,
  changed: 0,
  removed: 0,
  reassigned: 0,
  moved: 0,
  crowded: 0,
  outcome: 'same',
} as const;

/**
 * Nearly all names have one id. The others have their own table, so that the engine knows how few they are: otherwise it would hold
 * all names in memory again. Drops the tables of the comparison before, to free their memory.
 */
const listNames = ({ rows }: Listing): string => `
  DROP TABLE IF EXISTS listed;
  DROP TABLE IF EXISTS several;
  DROP TABLE IF EXISTS compared;
  DROP TABLE IF EXISTS crowded;
  CREATE TABLE listed AS
    SELECT name, any_value(shard) AS shard, min(id) AS lowest, max(id) AS highest, bool_or(id IS NULL) AS is_illegible
    FROM (${rows}) GROUP BY name;
  CREATE TABLE several AS
    SELECT name, array_to_string(min(id, ${maxIds}), ',') || CASE WHEN count(*) > ${maxIds} THEN ',+' || (count(*) - ${maxIds}) ELSE '' END AS ids
    FROM (SELECT DISTINCT name, id FROM (${rows}) SEMI JOIN (FROM listed WHERE lowest < highest) USING (name)) GROUP BY name`;

/** As `listNames` lists them: 1.0.0 kept all. */
const boundedIds = (ids: string): string => `
  CASE WHEN contains(${ids}, '+') OR len(string_split(${ids}, ',')) <= ${maxIds} THEN ${ids}
    ELSE array_to_string(string_split(${ids}, ',')[1:${maxIds}], ',') || ',+' || (len(string_split(${ids}, ',')) - ${maxIds}) END`;

/**
 * Joins what is listed with what was filled last (`$1`), and with what the other source knows (`$2`): a name is the same in both
 * sources, and stands for another id also if this source begins to list it.
 */
const compareWithBefore = (listing: Listing): string => `
  CREATE TABLE compared AS
    WITH pairs AS (
      SELECT name, coalesce(w.shard, l.shard) AS shard, ${boundedIds('w.ids')} AS ids_before, w.was AS was_before,
        coalesce(s.ids, CAST(l.lowest AS VARCHAR)) AS ids_listed, coalesce(l.is_illegible, ${!listing.isWhole}) AS stays
      FROM ${state('$1')} w FULL JOIN listed l USING (name) LEFT JOIN several s USING (name)
    )
    SELECT name, pairs.shard, ids_before, was_before, coalesce(ids_before, ${stoodFor('e.ids', 'e.was')}) AS ids_known,
      CASE WHEN stays THEN ids_before ELSE ids_listed END AS ids,
      CASE WHEN stays THEN was_before ${tellsMoves(listing) ? `ELSE ${movedFrom}` : ''} END AS was
    FROM pairs LEFT JOIN ${state('$2')} e USING (name)`;

const movedFrom = `coalesce(
  nullif(${stoodFor('ids_before', 'was_before')}, ids_listed),
  CASE WHEN ids_before IS NULL THEN nullif(${stoodFor('e.ids', 'e.was')}, ids_listed) END)`;

/** DynamoDB takes items of 400 KB. Names have some 50 bytes, so a bucket of a million of them has less than 1 KB. */
const maxBucketBytes = 200_000;

export const crowdedText = `is left out: its bucket of the crosswalk has more than ${maxBucketBytes / 1_000} KB of names`;

/** Leaves out what does not fit into its bucket: new names before those that were filled. */
const makeRoom = (listing: Listing): string => `
  CREATE TABLE crowded AS
    WITH sized AS (
      SELECT name, shard, ids_before, strlen(name) + strlen(ids) + coalesce(strlen(was), 0) + 40 AS bytes
      FROM compared WHERE ids IS NOT NULL
    ), full_buckets AS (SELECT shard FROM sized GROUP BY shard HAVING sum(bytes) > ${maxBucketBytes})
    SELECT name FROM (
      SELECT name, sum(bytes) OVER (PARTITION BY shard ORDER BY ids_before IS NULL, name) AS filled
      FROM sized SEMI JOIN full_buckets USING (shard)
    ) WHERE filled > ${maxBucketBytes};
  UPDATE compared SET ids = NULL, was = ${tellsMoves(listing) ? stoodFor('ids_before', 'was_before') : 'NULL'}
    WHERE name IN (FROM crowded)`;

const isChanged = '(ids, was) IS DISTINCT FROM (ids_before, was_before)';

type Tally = Record<
  'had' | 'known' | 'names' | 'added' | 'changed' | 'removed' | 'reassigned' | 'crowded' | 'differing',
  number
>;

const tally = `
  SELECT to_json({
    had: count(ids_before),
    names: count(ids),
    added: count(*) FILTER (ids_before IS NULL AND ids IS NOT NULL),
    changed: count(*) FILTER (ids_before IS NOT NULL AND ids IS NOT NULL AND ${isChanged}),
    removed: count(*) FILTER (ids_before IS NOT NULL AND ids IS NULL),
    known: count(*) FILTER (ids IS NOT NULL AND ids_known IS NOT NULL),
    reassigned: count(*) FILTER (ids <> ids_known),
    crowded: (SELECT count(*) FROM crowded),
    differing: count(*) FILTER (${isChanged})
  }) FROM compared`;

const moves = `SELECT name, ids, was FROM compared WHERE was IS NOT NULL AND NOT contains(ids, ',')`;

/** Sorted, for older versions that did not join by the engine. */
const writeNext = `
  COPY (
    SELECT shard, name, ids, was FROM compared
    WHERE ids IS NOT NULL OR was IS NOT NULL ORDER BY shard, name
  ) TO $1 (FORMAT csv, DELIMITER '\t', QUOTE '', ESCAPE '', HEADER false)`;

/** The buckets that differ between two states (`$1`, `$2`), starting with one (`$3`). */
const findChanged = `
  CREATE TABLE changed AS
    SELECT DISTINCT shard FROM ${state('$1')} w FULL JOIN ${state('$2')} n USING (shard, name)
    WHERE (w.ids IS NOT NULL OR n.ids IS NOT NULL) AND (w.ids, w.was) IS DISTINCT FROM (n.ids, n.was) AND shard >= $3`;

/** Every bucket there may be, starting with one (`$1`). */
const everyBucket = `
  CREATE TABLE changed AS SELECT shard FROM (SELECT printf('%04x', range) AS shard FROM range(65536)) WHERE shard >= $1`;

/** All names of the changed buckets (`$1`); a bucket without names has one row. */
const changedBuckets = `
  SELECT shard, name, ids, was FROM changed LEFT JOIN (FROM ${state('$1')} WHERE ids IS NOT NULL) USING (shard) ORDER BY shard, name`;

/**
 * Compares what is listed with what was filled last, and keeps the result in the bucket: this fixes what will be written, even if
 * the function dies. May be repeated until writing begins.
 */
export const compare = async (
  listing: Listing,
  { db, folder }: Workspace,
  { acceptRemovals, ...services }: FillOptions & { acceptRemovals: boolean },
): Promise<FillResult> => {
  const { kind, source, rows } = listing;
  const { store, table, maxRemovalsPercent } = services;
  const keys = keysOf(listing);
  const { wasRefused = false } = await pendingAt(keys.pending, store);
  if (rows === noNames && !wasRefused && (await store.etagOf(keys.state)) === undefined) {
    await db.run('CREATE OR REPLACE TABLE crowded (name VARCHAR)');
    return { kind, source, ...nothing };
  }
  const [old, other, path] = [join(folder, 'old'), join(folder, 'other'), join(folder, 'next')];
  await download([keys.state], old, store);
  await download([keysOf({ kind, source: source === 'file' ? 'platform' : 'file' }).state], other, store);
  await db.run(listNames(listing));
  await db.run(compareWithBefore(listing), [old, other]);
  await db.run(makeRoom(listing));
  const [counted] = (await db.row<[string]>(tally)) ?? [];
  const { had, known, differing, ...counts }: Tally = JSON.parse(counted ?? '');
  const limitOf = (names: number): number => (names * maxRemovalsPercent) / 100;
  // Codes that stand for others are held one by one: each is parked until an operator accepts its move.
  const isMassChange =
    counts.removed > limitOf(had) || (counts.reassigned > limitOf(known) && !tellsMoves(listing));
  if (isMassChange && !acceptRemovals)
    return { kind, source, ...counts, names: had, moved: 0, outcome: 'held' };

  const { open, accepted } = tellsMoves(listing) ? await movesIn(db, table) : noMoves;
  if (tellsMoves(listing)) await noteMoved(source, open, store);
  const filled = { kind, source, ...counts, changed: counts.changed + accepted.length, moved: open.length };
  if (differing + accepted.length === 0 && !wasRefused) return { ...filled, outcome: 'same' };
  if (accepted.length > 0) await applyAccepted(accepted, db);
  await db.run(writeNext, [path]);
  await store.uploadCompressed(keys.next, path);
  await store.writeJson(keys.pending, { isPending: true, wasRefused } satisfies PendingNames);
  return { ...filled, outcome: 'changed' };
};

/** Joins objects into a single file that can be unpacked; without an object, into a file without lines. */
const download = async (keys: readonly string[], path: string, store: JobStore): Promise<void> => {
  await pipeline(async function* () {
    yield gzipSync('');
    for (const key of keys) if ((await store.etagOf(key)) !== undefined) yield* await store.open(key);
  }, createWriteStream(path));
};

type MovedCode = { code: string; ids: number[]; was: number[] };

/** As JSON: codes that stand for another org unit, and those of them whose move an operator has accepted. */
type Moves = { open: MovedCode[]; accepted: string[] };
const noMoves: Moves = { open: [], accepted: [] };

const movesIn = async (db: SqlEngine, table: CrosswalkTable): Promise<Moves> => {
  const rows = await db.all<[string, string, string]>(moves);
  const moved = rows.map(([name, ids, was]) => ({
    name,
    code: JSON.parse(name) as string,
    ids: idsIn(ids),
    was: idsIn(was),
  }));
  const buckets = await table.namesIn(moved.map(({ code }) => acceptedBucketOf(code)));
  const isSettled = (move: MovedCode): boolean =>
    isAccepted(move, buckets.get(acceptedBucketOf(move.code))?.get(move.code));
  return {
    open: moved.filter((move) => !isSettled(move)).map(({ code, ids, was }) => ({ code, ids, was })),
    accepted: moved.filter(isSettled).map(({ name }) => name),
  };
};

const applyAccepted = async (accepted: readonly string[], db: SqlEngine): Promise<void> => {
  await db.run('CREATE TABLE accepted (name VARCHAR)');
  await db.add(
    'accepted',
    accepted.map((name) => [name]),
  );
  await db.run('UPDATE compared SET was = NULL WHERE name IN (FROM accepted)');
};

/** Records since when each move is known. */
const noteMoved = async (
  source: CrosswalkSource,
  moved: readonly MovedCode[],
  store: JobStore,
): Promise<void> => {
  const key = movedKey(source);
  const before = movedIn(await store.readJsonIfAny(key));
  if (moved.length === 0 && before.codes.length === 0) return;
  const textOf = ({ code, ids, was }: MovedCode): string => JSON.stringify([code, ids, was]);
  const known = new Map(before.codes.map((each) => [textOf(each), each.sinceMs]));
  const nowMs = Date.now();
  const codes = moved.map((each) => ({ ...each, sinceMs: known.get(textOf(each)) ?? nowMs }));
  await store.writeJson(key, { codes } satisfies MovedCodes);
};

/** Compares names that were listed in parts. */
export const compareListed = (
  listings: readonly (NameList & { parts: readonly string[]; isWhole: boolean })[],
  given: FillOptions & { acceptRemovals: boolean },
): Promise<FillResult[]> =>
  withWorkspace(async (at) => {
    const fills: FillResult[] = [];
    for (const { parts, ...listing } of listings) {
      const path = join(at.folder, 'listed');
      await download(parts, path, given.store);
      await at.db.run(listedParts, [path]);
      fills.push(await compare({ ...listing, rows: 'FROM parts' }, at, given));
    }
    return fills;
  });

/** A user is listed once for each course. */
const listedParts = `
  CREATE OR REPLACE TABLE parts AS
    SELECT DISTINCT shard, name, CAST(id AS BIGINT) AS id FROM ${packedRows('$1', ['shard', 'name', 'id'])}`;

const pendingAt = async (key: string, store: JobStore): Promise<PendingNames> =>
  ((await store.readJsonIfAny(key)) as PendingNames | undefined) ?? { isPending: false };

/** Comparisons of an earlier fill that were not completely written. Those without `isPending` are compared again. */
export const unwritten = async (store: JobStore): Promise<(NameList & Pick<PendingNames, 'isPending'>)[]> => {
  const found: (NameList & Pick<PendingNames, 'isPending'>)[] = [];
  // In this order, names that pass from one source to the other are never missing.
  for (const source of ['file', 'platform'] as const)
    for (const kind of crosswalkKinds) {
      const { isPending, wasRefused } = await pendingAt(keysOf({ kind, source }).pending, store);
      if (isPending || wasRefused) found.push({ kind, source, isPending });
    }
  return found;
};

/** Where to continue if the time did not suffice; or AWS refuses an item, which waiting does not heal. */
export type Written = { following?: string; isRefused?: true };

/**
 * Writes the changed buckets, starting with one, and then stores the comparison as what was filled last. May be repeated. What AWS
 * refuses is not pending any more: otherwise no later fill could begin.
 */
export const writeBuckets = (
  of: NameList,
  { from, untilMs }: { from: string; untilMs: number },
  { store, table }: FillOptions,
): Promise<Written> =>
  withWorkspace(async ({ db, folder }) => {
    const keys = keysOf(of);
    const [old, next] = [join(folder, 'old'), join(folder, 'next')];
    await download([keys.next], next, store);
    if ((await pendingAt(keys.pending, store)).wasRefused) await db.run(everyBucket, [from]);
    else {
      await download([keys.state], old, store);
      await db.run(findChanged, [old, next, from]);
    }
    let following: string | undefined;
    const inTime = async function* (): AsyncGenerator<BucketItem> {
      for await (const item of bucketsOf(of, db.rows(changedBuckets, [next]))) {
        if (Date.now() >= untilMs) {
          following = item.bucket.split('/').at(-1);
          return;
        }
        yield item;
      }
    };
    try {
      await table.put(inTime());
    } catch (error) {
      if (errorName(error) !== 'ValidationException') throw error;
      await store.writeJson(keys.pending, { isPending: false, wasRefused: true } satisfies PendingNames);
      return { isRefused: true };
    }
    if (following !== undefined) return { following };
    await store.uploadFile(keys.state, next, 'application/gzip');
    await store.writeJson(keys.pending, { isPending: false } satisfies PendingNames);
    return {};
  });

type BucketRow = [shard: string, name: string | null, ids: string, was: string | null];

async function* bucketsOf(
  { kind, source }: NameList,
  rows: AsyncIterable<BucketRow[]>,
): AsyncGenerator<BucketItem> {
  let shard: string | undefined;
  let entries = new Map<string, NameEntry>();
  for await (const batch of rows) {
    keepMemoryBelow(memoryAllowanceMb);
    for (const [next, name, ids, was] of batch) {
      if (shard !== undefined && shard !== next) yield { bucket: `${kind}/${source}/${shard}`, entries };
      if (shard !== next) entries = new Map();
      shard = next;
      if (name !== null)
        entries.set(JSON.parse(name), { ...meaningIn(ids), ...(was !== null && { was: idsIn(was) }) });
    }
  }
  if (shard !== undefined) yield { bucket: `${kind}/${source}/${shard}`, entries };
}
