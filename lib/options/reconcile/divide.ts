import { appendFileSync, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import type { ExportsQuery, ReadAcceptedExports } from '../../option.ts';
import { keepMemoryBelow } from '../../runtime/files/memory-limit.ts';
import { withSqlEngine } from '../../runtime/files/tables/engine.ts';
import { packedRows } from '../../runtime/files/tables/packed-rows.ts';
import type { JobStore } from '../../runtime/jobs/store.ts';
import { memoryAllowanceMb, type SelectedWrite, unknownUser, type Written } from './check.ts';
import { isOrgUnitDueTonight, type Reason, type Selection } from './selection.ts';

/** Minimum number of writes in a part, so that an execution has enough operations for all parts. */
const minPartWrites = 1_000;
const maxParts = 1_000;

/** The order, in case the night is too short: recent writes come first, then the sample, because a part of a sample means little. */
const turns: Record<Reason, number> = { recent: 0, sample: 1, slice: 2, snapshot: 2 };

const columns = ['turn', 'org_unit_id', 'kind', 'line'];
/** A line for a selected write, with `columns`. JSON contains no raw tab or line feed. */
export const chosenLine = ({ fields, ...chosen }: Written): string => {
  const { reason, subject } = chosen;
  const compared = Object.fromEntries(
    Object.entries(fields).map(([name, { messageId, outcome, begunMs, digest }]) => [
      name,
      { messageId, outcome, begunMs, digest },
    ]),
  );
  const line = JSON.stringify({ ...chosen, fields: compared });
  return `${turns[reason]}\t${subject.orgUnitId}\t${subject.kind}\t${line}\n`;
};

const tables = `
  CREATE TABLE enrolled (told_ms BIGINT, org_unit_id BIGINT, user_id BIGINT, role_id BIGINT);
  CREATE TABLE org_units (org_unit_id BIGINT);
`;

/**
 * The enrollments in snapshots of all selected org units. All of an org unit are needed: a user who is not among them is not in the SIS.
 * An unknown user may be any user on the platform.
 */
const enrollmentLines = `
  SELECT ${turns.snapshot} AS turn, org_unit_id, 'enrollment' AS kind, to_json({
    'resource': 'enrollment/' || org_unit_id || '/' || user_id,
    'subject': {'kind': 'enrollment', 'orgUnitId': org_unit_id, 'userId': user_id},
    'reason': 'snapshot', 'roleId': role_id, 'toldMs': told_ms}) AS line
  FROM (SELECT * REPLACE (coalesce(user_id, ${unknownUser}) AS user_id) FROM enrolled) SEMI JOIN org_units USING (org_unit_id)`;

const unknownEnrolled = `
  SELECT count(*) FROM enrolled
  WHERE org_unit_id IS NULL OR (user_id IS NULL AND org_unit_id IN (SELECT org_unit_id FROM org_units))`;

/** The selected writes, from a file: `$1`. */
const chosen = packedRows('$1', columns);

/** Enrollments of one org unit are in one part, so that the classlist is read once. */
const partsOf = `
  WITH places AS (
      SELECT CAST(turn AS INTEGER) AS turn, CAST(org_unit_id AS BIGINT) AS org_unit_id, kind, count(*) AS writes
      FROM ${chosen} GROUP BY ALL
    ),
    behind AS (
      SELECT *, sum(writes) OVER () AS total, sum(writes) OVER (ORDER BY turn, org_unit_id, kind) - writes AS before FROM places
    )
  SELECT turn || ' ' || org_unit_id || ' ' || kind, CAST(before // greatest(${minPartWrites}, total // ${maxParts} + 1) AS INTEGER)
  FROM behind`;

/** Unordered and joined with no table: otherwise the engine would hold these lines. */
const placed = `SELECT turn || ' ' || org_unit_id || ' ' || kind, line FROM ${chosen}`;

export type ExportsInput = Pick<ExportsQuery, 'store' | 'crosswalk' | 'platform'> & {
  /** Undefined: there are no exports. */
  readExports: ReadAcceptedExports | undefined;
};

export type SnapshotSelection = {
  /** How many enrollments of snapshots are selected. */
  enrolled: number;
  /** The snapshots that were read. */
  snapshots: string[];
  /** The roles that they give; none if another snapshot is still being sent. */
  roles: number[];
  /** How many of their enrollments name an org unit or user that the crosswalk does not know, or not for sure. */
  unknown: number;
};

/** Keeps the selected enrollments of snapshots. `isWhole`: of all org units, not only of those whose turn it is. */
export const chooseEnrollments = (
  { key, isWhole }: { key: string; isWhole: boolean },
  selection: Selection,
  telling: ExportsInput,
): Promise<SnapshotSelection> =>
  withSqlEngine(
    async (db, folder) => {
      const { store, readExports, ...names } = telling;
      await db.run(tables);
      const all =
        (await readExports?.({
          ...names,
          store,
          db,
          folder,
          functions: ['enrollment-create'],
          insert: 'INSERT INTO enrolled SELECT $1, org_unit_id, user_id, role_id FROM said',
          settledOnly: true,
        })) ?? [];
      const snapshots = all.filter(({ isSending }) => !isSending);
      const numbers = async (statement: string): Promise<number[]> =>
        (await db.all<[number]>(statement)).flat();
      const orgUnits = await numbers(
        'SELECT DISTINCT org_unit_id FROM enrolled WHERE org_unit_id IS NOT NULL',
      );
      await db.add(
        'org_units',
        orgUnits
          .filter((orgUnitId) => isWhole || isOrgUnitDueTonight(orgUnitId, selection))
          .map((orgUnitId) => [String(orgUnitId)]),
      );
      let enrolled = 0;
      const lines = async function* (): AsyncGenerator<string> {
        for await (const rows of db.rows<[number, number, string, string]>(enrollmentLines)) {
          enrolled += rows.length;
          yield rows.map((row) => `${row.join('\t')}\n`).join('');
        }
      };
      await store.uploadLines(key, lines());
      const [unknown = 0] = await numbers(unknownEnrolled);
      const roles = await numbers(
        'SELECT DISTINCT role_id FROM enrolled WHERE role_id IS NOT NULL ORDER BY role_id',
      );
      return {
        enrolled,
        unknown,
        snapshots: snapshots.map(({ id }) => id),
        // If one of them is missing, surplus users cannot be recognized.
        roles: all.length === snapshots.length ? roles : [],
      };
    },
    { memoryMb: exportsMemoryMb },
  );

/** Memory of the engine. With 384 MB the function came to 939 of its 1,024 MB, and was no faster. */
const exportsMemoryMb = 288;

type DivideOptions = {
  /** The objects that hold the selected writes. */
  keys: readonly string[];
  partKey(part: number): string;
};

/** Divides the selected writes into parts, in the order of checking. Returns the number of parts. */
export const divide = ({ keys, partKey }: DivideOptions, store: JobStore): Promise<number> =>
  withSqlEngine(
    async (db, folder) => {
      // Concatenated gzip files are one file: of many files the engine would hold a piece each.
      const path = join(folder, 'chosen.gz');
      for (const key of keys) await pipeline(await store.open(key), createWriteStream(path, { flags: 'a' }));
      const partOf = new Map((await Array.fromAsync(db.rows<[string, number]>(partsOf, [path]))).flat());
      const parts = createParts(folder);
      for await (const rows of db.rows<[string, string]>(placed, [path])) {
        for (const [place, line] of rows) parts.add(partOf.get(place) ?? 0, line);
        keepMemoryBelow(memoryAllowanceMb);
      }
      const files = parts.end();
      for (const [part, path] of files.entries())
        await store.uploadFile(partKey(part), path, 'application/gzip');
      return files.length;
    },
    { memoryMb: divideMb },
  );

/** Memory of the engine, which holds only positions and a piece of a file. */
const divideMb = 192;
/** Maximum size of a part's buffer in memory: there are a thousand parts. */
const maxBuffered = 32 * 1024;

/** Files of packed lines, one a part. */
const createParts = (folder: string) => {
  const buffered = new Map<number, string>();
  const pathOf = (part: number): string => join(folder, `part-${part}.gz`);
  const write = (part: number, text: string): void => {
    appendFileSync(pathOf(part), gzipSync(text, { level: 1 }));
    buffered.set(part, '');
  };
  return {
    add: (part: number, line: string): void => {
      const text = `${buffered.get(part) ?? ''}${line}\n`;
      if (text.length < maxBuffered) buffered.set(part, text);
      else write(part, text);
    },
    /** Returns their paths in the order of the parts. */
    end: (): string[] => {
      for (const [part, text] of buffered) if (text !== '') write(part, text);
      return [...buffered.keys()].sort((one, other) => one - other).map(pathOf);
    },
  };
};

/** The groups of a part, in the order of checking: the enrollments of an org unit together, each grade by itself. */
export const groupsIn = async (key: string, store: JobStore): Promise<SelectedWrite[][]> => {
  const all = (await store.readLines(key)).map((line): SelectedWrite => JSON.parse(line));
  const places = Map.groupBy(all, placeOf);
  return [...places.keys()].sort().flatMap((place) => {
    const group = places.get(place) ?? [];
    return place.endsWith('enrollment') ? [group] : group.map((each) => [each]);
  });
};

const placeOf = ({ reason, subject }: SelectedWrite): string =>
  `${turns[reason]} ${String(subject.orgUnitId).padStart(16, '0')} ${subject.kind}`;
