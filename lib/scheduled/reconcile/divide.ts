import { appendFileSync, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import type { JobStore } from '../../delivery/durable/store.ts';
import { keepMemoryBelow } from '../../runtime/files/memory-limit.ts';
import { inSets } from '../../runtime/files/tables/engine.ts';
import { packedRows } from '../../runtime/files/tables/packed-rows.ts';
import { snapshotsNow } from '../../sources/snapshots/state/snapshots-now.ts';
import { type Chosen, garbageMb, unknownUser, type Written } from './check.ts';
import { isOrgUnitsTurn, type Reason, type Selection } from './selection.ts';
import { type Saying, takeSaid } from './sis-values.ts';

/** A part of the work: of so many writes at least, so that an execution has operations enough for all of them. */
const minPartWrites = 1_000;
const maxParts = 1_000;

/** Should the night be too short: what is recent comes first, then the sample, as a part of it says nothing. */
const turns: Record<Reason, number> = { recent: 0, sample: 1, slice: 2, snapshot: 2 };

const columns = ['turn', 'org_unit_id', 'kind', 'line'];
/** Of a write that was chosen: `columns`. No JSON has a tab or a line feed. */
export const chosenLine = ({ fields, ...chosen }: Written): string => {
  const { reason, subject } = chosen;
  const compared = Object.fromEntries(
    Object.entries(fields).map(([name, { messageId, outcome, claimedMs, digest }]) => [
      name,
      { messageId, outcome, claimedMs, digest },
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
 * The enrollments that snapshots say of the org units whose turn it is: of each of them all, as who is not among them is not in the SIS. Whom
 * nobody knows may be anybody who is there.
 */
const told = `
  SELECT ${turns.snapshot} AS turn, org_unit_id, 'enrollment' AS kind, to_json({
    'resource': 'enrollment/' || org_unit_id || '/' || user_id,
    'subject': {'kind': 'enrollment', 'orgUnitId': org_unit_id, 'userId': user_id},
    'reason': 'snapshot', 'roleId': role_id, 'toldMs': told_ms}) AS line
  FROM (SELECT * REPLACE (coalesce(user_id, ${unknownUser}) AS user_id) FROM enrolled) SEMI JOIN org_units USING (org_unit_id)`;

const unknownEnrolled = `
  SELECT count(*) FROM enrolled
  WHERE org_unit_id IS NULL OR (user_id IS NULL AND org_unit_id IN (SELECT org_unit_id FROM org_units))`;

/** What was chosen, as it lies in a file: `$1`. */
const chosen = packedRows('$1', columns);

/** What lies together is in one part: of an org unit the classlist is read once. */
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

/** In no order, and joined with no table: the engine would hold these lines. */
const placed = `SELECT turn || ' ' || org_unit_id || ' ' || kind, line FROM ${chosen}`;

export type Telling = Omit<Saying, 'sets' | 'folder' | 'store'> & { store: JobStore };

export type Told = {
  /** How many enrollments of snapshots are to be looked at. */
  enrolled: number;
  /** The snapshots that were read. */
  snapshots: string[];
  /** The roles that they give; none where another one is still being sent. */
  roles: number[];
  /** How many of their enrollments name an org unit or user that the crosswalk does not know, or not for sure. */
  unknown: number;
};

/** Keeps the enrollments of snapshots that are to be looked at. `isWhole`: of all org units, whose turn it is or not. */
export const chooseTold = (
  { key, isWhole }: { key: string; isWhole: boolean },
  selection: Selection,
  telling: Telling,
): Promise<Told> =>
  inSets(async (sets, folder) => {
    const { store } = telling;
    const all = await snapshotsNow(store);
    // What a snapshot says that is being sent need not be on the platform yet.
    const snapshots = all.filter(({ isSending }) => !isSending);
    await sets.run(tables);
    await takeSaid({ ...telling, sets, folder }, snapshots, {
      functions: ['enrollment-create'],
      insert: 'INSERT INTO enrolled SELECT $1, org_unit_id, user_id, role_id FROM said',
    });
    const numbers = async (statement: string): Promise<number[]> =>
      (await sets.all<[number]>(statement)).flat();
    const orgUnits = await numbers('SELECT DISTINCT org_unit_id FROM enrolled WHERE org_unit_id IS NOT NULL');
    await sets.add(
      'org_units',
      orgUnits
        .filter((orgUnitId) => isWhole || isOrgUnitsTurn(orgUnitId, selection))
        .map((orgUnitId) => [String(orgUnitId)]),
    );
    let enrolled = 0;
    const lines = async function* (): AsyncGenerator<string> {
      for await (const rows of sets.rows<[number, number, string, string]>(told)) {
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
      ...{ enrolled, unknown, snapshots: snapshots.map(({ id }) => id) },
      // Without one of them nobody knows who is too many.
      roles: all.length === snapshots.length ? roles : [],
    };
  });

type Dividing = {
  /** Of the objects that hold what was chosen. */
  keys: readonly string[];
  partKey(part: number): string;
};

/** Divides what was chosen into parts, in the order in which it is looked at. Answers how many there are. */
export const divide = ({ keys, partKey }: Dividing, store: JobStore): Promise<number> =>
  inSets(
    async (sets, folder) => {
      // Packed files one after the other are one: of many the engine would hold a piece each.
      const path = join(folder, 'chosen.gz');
      for (const key of keys) await pipeline(await store.open(key), createWriteStream(path, { flags: 'a' }));
      const partOf = new Map((await Array.fromAsync(sets.rows<[string, number]>(partsOf, [path]))).flat());
      const parts = createParts(folder);
      for await (const rows of sets.rows<[string, string]>(placed, [path])) {
        for (const [place, line] of rows) parts.add(partOf.get(place) ?? 0, line);
        keepMemoryBelow(garbageMb);
      }
      const files = parts.end();
      for (const [part, path] of files.entries())
        await store.uploadFile(partKey(part), path, 'application/gzip');
      return files.length;
    },
    { memoryMb: divideMb },
  );

/** Of the engine, which holds no more than places and a piece of a file. */
const divideMb = 192;
/** Of each part is held in memory: there are a thousand. */
const maxHeld = 32 * 1024;

/** Files of packed lines, one a part. */
const createParts = (folder: string) => {
  const held = new Map<number, string>();
  const pathOf = (part: number): string => join(folder, `part-${part}.gz`);
  const write = (part: number, text: string): void => {
    appendFileSync(pathOf(part), gzipSync(text, { level: 1 }));
    held.set(part, '');
  };
  return {
    add: (part: number, line: string): void => {
      const text = `${held.get(part) ?? ''}${line}\n`;
      if (text.length < maxHeld) held.set(part, text);
      else write(part, text);
    },
    /** Answers their paths in the order of the parts. */
    end: (): string[] => {
      for (const [part, text] of held) if (text !== '') write(part, text);
      return [...held.keys()].sort((one, other) => one - other).map(pathOf);
    },
  };
};

/** What a part holds, in groups and in the order in which they are looked at: the enrollments of an org unit together, each grade for itself. */
export const groupsIn = async (key: string, store: JobStore): Promise<Chosen[][]> => {
  const all = (await store.readLines(key)).map((line): Chosen => JSON.parse(line));
  const places = Map.groupBy(all, placeOf);
  return [...places.keys()].sort().flatMap((place) => {
    const group = places.get(place) ?? [];
    return place.endsWith('enrollment') ? [group] : group.map((each) => [each]);
  });
};

const placeOf = ({ reason, subject }: Chosen): string =>
  `${turns[reason]} ${String(subject.orgUnitId).padStart(16, '0')} ${subject.kind}`;
