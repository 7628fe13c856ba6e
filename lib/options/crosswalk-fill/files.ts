import { join } from 'node:path';
import type { CrosswalkKind } from '../../crosswalk/kinds.ts';
import { maxSisIdLength } from '../../message/sis-ids.ts';
import { errorName, isWithheld } from '../../runtime/aws/error.ts';
import { delimiterIn } from '../../runtime/files/tables/delimiter.ts';
import { readTable, rowsOf, type Table } from '../../runtime/files/tables/table.ts';
import { UnusableFile } from '../../runtime/files/tables/unusable-file.ts';
import {
  compare,
  crowdedText,
  type FillOptions,
  type FillResult,
  type Listing,
  noNames,
  type Workspace,
  withWorkspace,
} from './compare.ts';
import { userKinds } from './listings.ts';

/** The university's files, with their columns for the id and for names. Name columns have the names of the kinds. */
export const crosswalkFiles = [
  { key: 'crosswalk/users.csv', id: 'userId', names: userKinds },
  { key: 'crosswalk/org-units.csv', id: 'orgUnitId', names: ['orgUnitCode'] },
] as const satisfies { key: string; id: string; names: readonly CrosswalkKind[] }[];

type CrosswalkFile = (typeof crosswalkFiles)[number];

const folder = 'crosswalk/';
export const reportKey = `${folder}report.csv`;

/** More of them say nothing new. */
const maxUnread = 20;

/** Files beside them, of which nothing is read. */
export const unreadFiles = async ({
  keysUnder,
}: Pick<FillOptions['store'], 'keysUnder'>): Promise<string[]> => {
  const own: string[] = [reportKey, ...crosswalkFiles.map(({ key }) => key)];
  const keys = await keysUnder(folder);
  return keys.filter((key) => !own.includes(key) && !key.endsWith('/')).slice(0, maxUnread);
};

export type FileRead = {
  key: string;
  /** Why the whole file is unusable. Its names stay as they were. */
  problem?: string;
  rows: number;
  badRows: number;
  /** False: a row is illegible, and may contain names that seem to be missing. */
  isWhole: boolean;
  /** The kinds for which it has a column. */
  kinds: CrosswalkKind[];
};

type ComparedFiles = FillOptions & {
  /** By file; a missing file has none. */
  etags: Record<string, string>;
  acceptRemovals: boolean;
};

/**
 * Compares the names in the files with what was filled last, and writes unusable rows to a report.
 * @throws if the bucket cannot be read.
 */
export const compareFiles = (given: ComparedFiles): Promise<{ files: FileRead[]; fills: FillResult[] }> =>
  withWorkspace(async (at) => {
    const { etags, store } = given;
    await at.db.run(schema);
    const files: FileRead[] = [];
    const fills: FillResult[] = [];
    for (const file of crosswalkFiles) {
      const etag = etags[file.key];
      const read = etag === undefined ? undefined : await readFile(file, etag, { ...given, ...at });
      if (read) files.push(read);
      if (read?.problem === undefined) fills.push(...(await compareFile(file, read, { ...given, ...at })));
    }
    if (areUsable({ files, fills }) && etags[crosswalkFiles[0].key] !== undefined)
      fills.push(...(await replaceClasslists(at, given)));
    const report = join(at.folder, 'report');
    await at.db.run(writeReport, [report]);
    await store.uploadFile(reportKey, report, 'text/csv');
    return { files, fills };
  });

/** `read`: undefined if the file does not exist. */
const compareFile = async (
  { key, names }: CrosswalkFile,
  read: FileRead | undefined,
  given: ComparedFiles & Workspace,
): Promise<FillResult[]> => {
  const fills: FillResult[] = [];
  for (const kind of names) {
    const rows = read ? namesOf(kind) : noNames;
    const listing: Listing = { kind, source: 'file', rows, isWhole: read?.isWhole ?? true };
    fills.push(await compare(listing, given, given));
    if (read) await given.db.run(crowdedRows(kind), [key]);
  }
  return fills;
};

/** The names of users from classlists are no longer updated. */
const replaceClasslists = async (at: Workspace, given: FillOptions): Promise<FillResult[]> => {
  const fills: FillResult[] = [];
  for (const kind of userKinds) {
    const listing: Listing = { kind, source: 'platform', rows: noNames, isWhole: true };
    fills.push(await compare(listing, at, { ...given, acceptRemovals: true }));
  }
  return fills;
};

export const isHeld = ({ outcome }: FillResult): boolean => outcome === 'held' || outcome === 'refused';

/** Whether all names of the files are in effect. */
export const areUsable = ({ files, fills }: { files: FileRead[]; fills: FillResult[] }): boolean =>
  files.every(({ problem }) => problem === undefined) && !fills.some(isHeld);

const schema = `
  CREATE TABLE problems (file VARCHAR, line VARCHAR, "column" VARCHAR, problem VARCHAR);
  CREATE MACRO id_in(x) AS
    CASE WHEN regexp_full_match(x, '[1-9][0-9]{0,15}') AND TRY_CAST(x AS BIGINT) <= ${Number.MAX_SAFE_INTEGER} THEN TRY_CAST(x AS BIGINT) END;
  CREATE MACRO is_name(x) AS length(x) <= ${maxSisIdLength} AND NOT regexp_matches(x, '[\\x00-\\x1f\\x7f]')`;

/** The rows of a file as they are written. A cell without text is NULL. */
const rowsIn = ({ id, names }: CrosswalkFile, table: Table): string => `
  CREATE OR REPLACE TABLE rows AS
    SELECT line, id_in(id) AS id, ${names.map((name) => `nullif(${name}, '') AS ${name}`).join(', ')}
    FROM (${rowsOf(table, { id, ...Object.fromEntries(names.map((name) => [name, name])) })})`;

/** Rows with an unusable id or name; the first of them is reported. `$1`: the file. */
const badRows = ({ id, names }: CrosswalkFile): string => `
  INSERT INTO problems
    SELECT $1, line, bad, CASE WHEN id IS NULL THEN 'is not a positive whole number' ELSE 'is too long or has control characters' END
    FROM (SELECT line, id, CASE WHEN id IS NULL THEN '${id}' ${names.map((name) => `WHEN NOT is_name(${name}) THEN '${name}'`).join(' ')} END AS bad
      FROM rows) WHERE bad IS NOT NULL`;

/** A row with a bad id still has its names, so that they stay as they were. */
const namesOf = (kind: CrosswalkKind): string =>
  `SELECT left(sha256(${kind}), 4) AS shard, CAST(to_json(${kind}) AS VARCHAR) AS name, id FROM rows WHERE is_name(${kind})`;

/** `$1`: the file. */
const crowdedRows = (kind: CrosswalkKind): string => `
  INSERT INTO problems
    SELECT $1, line, '${kind}', '${crowdedText}'
    FROM rows WHERE CAST(to_json(${kind}) AS VARCHAR) IN (FROM crowded)`;

const writeReport = `
  COPY (FROM problems ORDER BY file, CAST(line AS BIGINT), "column") TO $1 (FORMAT csv, HEADER)`;

const readFile = async (
  file: CrosswalkFile,
  etag: string,
  given: ComparedFiles & Workspace,
): Promise<FileRead> => {
  const { key } = file;
  const { db, folder } = given;
  const read: FileRead = { key, rows: 0, badRows: 0, isWhole: true, kinds: [] };
  try {
    const path = join(folder, 'rows');
    const table = await readTable(atMost(maxBytes, await opened(file, etag, given), key), path, {
      file: key,
      delimiterIn,
    });
    read.kinds = kindsIn(table, file);
    await db.run(rowsIn(file, table), [path]);
    await db.add(
      'problems',
      table.damaged.map(({ line, problem }) => [key, String(line), null, problem]),
    );
    await db.run(badRows(file), [key]);
    const [bad = 0] = (await db.row<[number]>('SELECT count(*) FROM problems WHERE file = $1', [key])) ?? [];
    Object.assign(read, { rows: table.rows, badRows: bad, isWhole: table.damaged.length === 0 });
    const lost = await lostKinds(read, file, given);
    if (lost.length > 0) read.problem = `has lost the column ${lost.join(' and the column ')}`;
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    read.problem = error.message.replace(`${key} `, '');
    await db.add('problems', [[key, '1', null, read.problem]]);
  }
  return read;
};

/** A million users have less than a fifth. A file that fills the disk would end each fill, also that of org units. */
const maxBytes = 512 * 1024 ** 2;

export async function* atMost(most: number, pieces: AsyncIterable<Buffer>, key: string) {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > most) throw new UnusableFile(`${key} is larger than ${most} bytes`);
    yield piece;
  }
}

const opened = (
  { key }: CrosswalkFile,
  etag: string,
  { store }: ComparedFiles,
): Promise<AsyncIterable<Buffer>> =>
  store.open(key, { IfMatch: etag }).catch((error: unknown) => {
    throw isWithheld(error) ? new UnusableFile(`${key} cannot be read (${errorName(error)})`) : error;
  });

const kindsIn = (table: Table, { key, id, names }: CrosswalkFile): CrosswalkKind[] => {
  if (table.at(id) < 0) throw new UnusableFile(`${key} has no column ${id}`);
  const found = names.filter((name) => table.at(name) >= 0);
  if (found.length === 0) throw new UnusableFile(`${key} has no column ${names.join(' or ')}`);
  return found;
};

/** A file that has lost a column is treated as broken. */
const lostKinds = async (
  { kinds }: FileRead,
  { names }: CrosswalkFile,
  { acceptRemovals, table }: ComparedFiles,
): Promise<CrosswalkKind[]> => {
  const missing = names.filter((name) => !kinds.includes(name));
  if (acceptRemovals || missing.length === 0) return [];
  const fills = await table.fills();
  return missing.filter((kind) => (fills.get(`${kind}/file`)?.names ?? 0) > 0);
};
