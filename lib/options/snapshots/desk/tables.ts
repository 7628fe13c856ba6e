import { createReadStream } from 'node:fs';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { inFolder } from '../../../runtime/files/folder.ts';
import { delimiterIn } from '../../../runtime/files/tables/delimiter.ts';
import { openSqlEngine, type SqlEngine } from '../../../runtime/files/tables/engine.ts';
import { readTable, rowsOf, type Table } from '../../../runtime/files/tables/table.ts';
import { UnusableFile } from '../../../runtime/files/tables/unusable-file.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import { isTable } from '../feed.ts';
import {
  codeColumnsOf,
  formatOf,
  isOfOneRoster,
  mappingToStartFrom,
  moodleColumns,
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
export const surveyTables = async (file: string): Promise<TablesSurvey | undefined> => {
  try {
    return await inFolder(async (folder) => {
      if (isTable(file))
        return {
          file: basename(file),
          isZip: false,
          tables: [await surveyOf(createReadStream(file), { name: basename(file), folder })],
        };
      await checkPackage(file);
      const files = await openZip(file, isTable);
      try {
        const names = files.names.filter(isTable);
        const headers = await Promise.all(names.map((name) => firstRowOf(files, name)));
        const isPackage = names.includes('manifest.csv') || headers.some(isOfOneRoster) || names.length === 0;
        if (isPackage) return undefined;
        const tables: TableSurvey[] = [];
        for (const name of names) tables.push(await surveyOf(files.open(name), { name, folder }));
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
  { name, folder }: { name: string; folder: string },
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
  const found = await codesIn(db, table, source);
  const roles = [...new Set([...(isHeaderless && source ? [source] : []), ...found])].slice(0, maxCodes);
  const seen = isHeaderless ? [] : await codesIn(db, table, named.status);
  const statuses = seen.length > maxCodes ? [] : seen;
  return {
    name,
    format,
    columns: table.columns,
    rows: table.rows,
    mapping: mappingToStartFrom(columns, { roles, statuses }),
    ...(isHeaderless && { header: columns.join(table.delimiter) }),
  };
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
