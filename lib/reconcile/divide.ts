import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { JobStore } from '../durable/store.ts';
import { keepMemoryBelow } from '../files/memory.ts';
import { packedRows } from '../sets/packed-rows.ts';
import { snapshotsNow } from '../snapshots/snapshots-now.ts';
import { type Chosen, garbageMb, unknownUser, type Written } from './check.ts';
import { inSets, type Saying, takeSaid } from './said.ts';
import { isOrgUnitsTurn, type Reason, type Selection } from './select.ts';

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

/** So many writes are put in order at a time, which takes 2 GB of disk. */
const maxSorted = 3_000_000;

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

/** What was chosen is not held. `$1`: where it lies. */
const chosen = `
  chosen AS (
    SELECT CAST(turn AS INTEGER) AS turn, CAST(org_unit_id AS BIGINT) AS org_unit_id, kind, line FROM ${packedRows('$1', columns)}
  )`;

/** What lies together is in one part: of an org unit the classlist is read once. */
const partsOf = `
  CREATE TABLE parts AS
    WITH ${chosen},
      places AS (SELECT turn, org_unit_id, kind, count(*) AS writes FROM chosen GROUP BY turn, org_unit_id, kind),
      behind AS (
        SELECT turn, org_unit_id, kind, sum(writes) OVER () AS total,
          sum(writes) OVER (ORDER BY turn, org_unit_id, kind) - writes AS before FROM places
      ),
      divided AS (
        SELECT turn, org_unit_id, kind, before, before // greatest(${minPartWrites}, total // ${maxParts} + 1) AS part FROM behind
      )
    SELECT turn, org_unit_id, kind, CAST(part AS INTEGER) AS part,
      CAST(min(before) OVER (PARTITION BY part) // ${maxSorted} AS INTEGER) AS pass FROM divided`;

const inParts = `
  WITH ${chosen} SELECT part, line FROM chosen JOIN parts USING (turn, org_unit_id, kind) WHERE pass = $2
  ORDER BY part, turn, org_unit_id, kind`;

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
      (await Array.fromAsync(sets.rows<[number]>(statement))).flat(2);
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

/** Where to go on, and how many parts there are before it. */
export type Divided = { parts: number; next?: number };

type Dividing = {
  /** Of the objects that hold what was chosen. */
  keys: readonly string[];
  partKey(part: number): string;
  from: Required<Divided>;
  untilMs: number;
};

/** Divides what was chosen into parts, in the order in which it is looked at, until the time is over. */
export const divide = ({ keys, partKey, from, untilMs }: Dividing, store: JobStore): Promise<Divided> =>
  inSets(async (sets, folder) => {
    for (const [at, key] of keys.entries())
      await pipeline(await store.open(key), createWriteStream(join(folder, `chosen-${at}.gz`)));
    const paths = join(folder, 'chosen-*.gz');
    await sets.run(partsOf, [paths]);
    const [last] = (await sets.row<[number | null]>('SELECT max(pass) FROM parts')) ?? [];
    let { parts, next } = from;
    do {
      const before = parts;
      parts += await writeParts(sets.rows<[number, string]>(inParts, [paths, next]), (part, lines) =>
        store.uploadLines(partKey(before + part), lines),
      );
      next += 1;
    } while (next <= (last ?? 0) && Date.now() < untilMs);
    return next <= (last ?? 0) ? { parts, next } : { parts };
  });

/** Answers how many there are. */
const writeParts = async (
  sorted: AsyncIterable<[number, string][]>,
  upload: (part: number, lines: readonly string[]) => Promise<void>,
): Promise<number> => {
  let parts = 0;
  let last: number | undefined;
  let lines: string[] = [];
  const write = async (): Promise<void> => {
    if (lines.length === 0) return;
    await upload(parts, lines);
    parts += 1;
    lines = [];
    keepMemoryBelow(garbageMb);
  };
  for await (const rows of sorted)
    for (const [part, line] of rows) {
      if (part !== last) await write();
      last = part;
      lines.push(`${line}\n`);
    }
  await write();
  return parts;
};

/** What a part holds, in groups: the enrollments of an org unit together, each grade for itself. */
export const groupsIn = async (key: string, store: JobStore): Promise<Chosen[][]> => {
  const groups: Chosen[][] = [];
  let last = '';
  for (const line of await store.readLines(key)) {
    const chosen = JSON.parse(line) as Chosen;
    const { reason, subject } = chosen;
    const place = `${turns[reason]} ${subject.kind} ${subject.orgUnitId}`;
    const before = groups.at(-1);
    if (subject.kind === 'enrollment' && place === last && before) before.push(chosen);
    else groups.push([chosen]);
    last = place;
  }
  return groups;
};
