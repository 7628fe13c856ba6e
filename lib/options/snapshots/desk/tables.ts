import { createReadStream } from 'node:fs';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { type CrosswalkKind, crosswalkSources } from '../../../crosswalk/kinds.ts';
import { bucketOf, type CrosswalkTable } from '../../../crosswalk/table.ts';
import {
  type FileRules,
  protectionsOf,
  stripped,
  usualBlanks,
} from '../../../delivery/mapping/cell-rules.ts';
import { templateParts } from '../../../delivery/mapping/template.ts';
import { inFolder } from '../../../runtime/files/folder.ts';
import { delimiterIn } from '../../../runtime/files/tables/delimiter.ts';
import { openSqlEngine, type SqlEngine } from '../../../runtime/files/tables/engine.ts';
import { readTable, rowsOf, type Table } from '../../../runtime/files/tables/table.ts';
import { UnusableFile } from '../../../runtime/files/tables/unusable-file.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import { isTable } from '../feed.ts';
import {
  type Changes,
  changesIn,
  codeColumnsOf,
  formatOf,
  isOfOneRoster,
  type KnownNames,
  mappingToStartFrom,
  moodleColumns,
  nameColumnsOf,
} from '../package/formats.ts';
import { firstRowOf } from '../package/manifest.ts';
import { openZip } from '../package/zip.ts';
import { checkPackage } from './compare-here.ts';

/** What a table holds, and a mapping to start from. */
export type TableSurvey = {
  name: string;
  /** Undefined: it is of none of the known formats. */
  format: string | undefined;
  columns: string[];
  rows: number;
  /** Undefined: it is not about enrollments, by the names of its columns. */
  mapping: object | undefined;
  /** It needs a first row that names its columns. */
  header?: string;
};

export type TablesSurvey = { file: string; isZip: boolean; tables: TableSurvey[] };

/** A table, or a zip of tables that are not OneRoster's. Undefined: it is a zip of OneRoster. @throws RefusedError if it cannot be read. */
export const surveyTables = async (
  file: string,
  crosswalk?: Crosswalk,
): Promise<TablesSurvey | undefined> => {
  try {
    return await inFolder(async (folder) => {
      if (isTable(file))
        return {
          file: basename(file),
          isZip: false,
          tables: [await surveyOf(createReadStream(file), { name: basename(file), folder, crosswalk })],
        };
      await checkPackage(file);
      const files = await openZip(file, isTable);
      try {
        const names = files.names.filter(isTable);
        const headers = await Promise.all(names.map((name) => firstRowOf(files, name)));
        const isPackage = names.includes('manifest.csv') || headers.some(isOfOneRoster) || names.length === 0;
        if (isPackage) return undefined;
        const tables: TableSurvey[] = [];
        for (const name of names) tables.push(await surveyOf(files.open(name), { name, folder, crosswalk }));
        return { file: basename(file), isZip: true, tables };
      } finally {
        files.close();
      }
    });
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    throw new RefusedError(`${basename(file)} cannot be imported: ${error.message}.`);
  }
};

/** A column with more values has no codes. */
const maxCodes = 30;

const surveyOf = async (
  pieces: Readable | AsyncIterable<Buffer>,
  { name, folder, crosswalk }: { name: string; folder: string; crosswalk: Crosswalk | undefined },
): Promise<TableSurvey> => {
  const table = await readTable(pieces as AsyncIterable<Buffer>, join(folder, 'table'), {
    file: name,
    delimiterIn,
  });
  const format = formatOf(table.columns);
  const isHeaderless = format === 'Moodle, without a header';
  const columns = isHeaderless ? [...moodleColumns] : table.columns;
  const named = codeColumnsOf(columns);
  const source = isHeaderless ? table.columns[1] : named.role;
  using db = await openSqlEngine({ folder, threads: 1 });
  const cells = isHeaderless ? undefined : await cellsOf(db, table);
  const valuesOf = async (column: string | undefined): Promise<string[]> => {
    const found = await codesIn(db, table, column);
    return [...new Set(found.map((code) => stripped(code, cells ?? {})))].filter(
      (code) => !cells?.empty?.includes(code),
    );
  };
  const found = await valuesOf(source);
  const roles = [...new Set([...(isHeaderless && source ? [source] : []), ...found])].slice(0, maxCodes);
  const seen = isHeaderless ? [] : await valuesOf(named.status);
  const statuses = seen.length > maxCodes ? [] : seen;
  let changes: Changes | undefined;
  if (!isHeaderless && format === undefined)
    for (const column of columns.slice(0, maxSought)) changes ??= changesIn(column, await valuesOf(column));
  const names = crosswalk && !isHeaderless ? await knownNames({ db, table, cells, crosswalk }) : undefined;
  const mapping = mappingToStartFrom(columns, { roles, statuses, changes, cells, names });
  return {
    name,
    format,
    columns: table.columns,
    rows: table.rows,
    mapping,
    ...(isHeaderless && { header: columns.join(table.delimiter) }),
  };
};

/** Columns in which orders to add and drop are sought. */
const maxSought = 40;
const maxSamples = 40;

/** How the cells are to be read: without what protects values, and words that stand for nothing. Undefined: as they are written. */
const cellsOf = async (db: SqlEngine, table: Table): Promise<Cells | undefined> => {
  const strip = new Set<ReturnType<typeof protectionsOf>[number]>();
  const { codes, users } = nameColumnsOf(table.columns);
  for (const column of [...codes, ...users])
    for (const value of await samplesIn(db, table, [column]))
      for (const each of protectionsOf(value[0])) strip.add(each);
  const empty = new Set<string>();
  for (const column of table.columns.slice(0, maxSought)) {
    const found = await db.all<[string]>(
      `SELECT DISTINCT cell FROM (${rowsOf(table, { cell: column })}) WHERE cell IN (SELECT unnest(from_json($2, '["VARCHAR"]')))`,
      [table.path, JSON.stringify(usualBlanks)],
    );
    for (const [word] of found) empty.add(word);
  }
  if (strip.size + empty.size === 0) return undefined;
  return { ...(strip.size > 0 && { strip: [...strip] }), ...(empty.size > 0 && { empty: [...empty] }) };
};

type Cells = Pick<FileRules, 'strip' | 'empty'>;

/** Some rows, spread over the file, by the columns. */
const samplesIn = async (
  db: SqlEngine,
  table: Table,
  columns: readonly string[],
): Promise<[string, ...string[]][]> => {
  const names = Object.fromEntries(columns.map((column, at) => [`s${at}`, column]));
  const cells = Object.keys(names).map((each) => `coalesce(${each}, '') AS ${each}`);
  return db.all<[string, ...string[]]>(
    `SELECT * FROM (SELECT DISTINCT ${cells.join(', ')} FROM (${rowsOf(table, names)})) ORDER BY hash(${Object.keys(names).join(', ')}) LIMIT ${maxSamples}`,
    [table.path],
  );
};

type Crosswalk = Pick<CrosswalkTable, 'namesIn'>;
type NamesInput = { db: SqlEngine; table: Table; cells: Cells | undefined; crosswalk: Crosswalk };

const maxJoined = 4;
const between = ['.', '-', '_', ' ', ''];

/** Of columns, and of pairs of them if no column alone is known, those of which the crosswalk knows most samples. The first one counts. */
const knownNames = async (input: NamesInput): Promise<KnownNames> => {
  const { codes, users } = nameColumnsOf(input.table.columns);
  const first = codes.slice(0, maxJoined);
  const pairs = first.flatMap((one) => first.filter((each) => each !== one).map((other) => [one, other]));
  const joined = between.flatMap((sign) =>
    pairs.map((pair) => pair.map((column) => `{${column}}`).join(sign)),
  );
  const code =
    (await mostKnown('orgUnitCode', codes, input)) ?? (await mostKnown('orgUnitCode', joined, input));
  const login = await mostKnown('userName', users, input);
  const id = await mostKnown('orgDefinedId', users, input);
  const isLogin = (login?.known ?? 0) >= (id?.known ?? 0);
  const user = isLogin ? login : id;
  return {
    orgUnitCode: code?.name,
    ...(user && { user: user.name, field: isLogin ? 'userName' : 'orgDefinedId' }),
  };
};

const mostKnown = async (
  kind: CrosswalkKind,
  names: readonly string[],
  { db, table, cells = {}, crosswalk }: NamesInput,
): Promise<{ name: string; known: number } | undefined> => {
  let best: { name: string; known: number } | undefined;
  for (const name of names) {
    const parts = templateParts(name) ?? [];
    const columns = parts.flatMap((part) => ('column' in part ? part.column : []));
    const samples = (await samplesIn(db, table, columns)).map((row) => {
      const values = row.map((cell) => stripped(cell, cells));
      return parts.map((part) => ('column' in part ? (values.shift() ?? '') : part.text)).join('');
    });
    const bucketsOf = (each: string): string[] =>
      crosswalkSources.map((source) => bucketOf(kind, source, each));
    const found = await crosswalk.namesIn(samples.flatMap(bucketsOf));
    const isKnown = (each: string): boolean =>
      bucketsOf(each).some((bucket) => found.get(bucket)?.get(each)?.ids.length === 1);
    const known = samples.filter(isKnown).length;
    if (known > (best?.known ?? 0)) best = { name, known };
  }
  return best;
};

/** The values of a column, the most frequent ones first, and one more than can be codes. */
const codesIn = async (db: SqlEngine, table: Table, column: string | undefined): Promise<string[]> => {
  if (column === undefined) return [];
  const found = await db.all<[string]>(
    `SELECT code FROM (${rowsOf(table, { code: column })}) WHERE coalesce(code, '') <> '' GROUP BY code ORDER BY count(*) DESC, code LIMIT ${maxCodes + 1}`,
    [table.path],
  );
  return found.map(([code]) => code);
};
