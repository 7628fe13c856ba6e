import { quotedText, type SqlEngine } from '../../../runtime/files/tables/engine.ts';
import { rowsOf, type Table } from '../../../runtime/files/tables/table.ts';
import type { Comparison, Mode } from '../compare/comparison.ts';
import { addDamaged, type FileRead } from '../state/accepted.ts';
import { type FileName, fileNames } from './manifest.ts';
import type { OneRosterExport } from './oneroster-export.ts';
import { addRows } from './rows.ts';

export type FilesRead = Partial<Record<FileName, FileRead>>;

/** An export of OneRoster, its tables, and the files that were read so far. */
export type PackageReading = {
  given: OneRosterExport;
  comparison: Comparison;
  tables: Tables;
  read: FilesRead;
};
type Tables = Partial<Record<FileName, Promise<Table>>>;

const required: Record<FileName, readonly string[]> = {
  classes: ['sourcedId'],
  users: ['sourcedId'],
  lineItems: ['sourcedId', 'title', 'classSourcedId'],
  enrollments: ['classSourcedId', 'userSourcedId'],
  results: ['lineItemSourcedId', 'studentSourcedId', 'scoreStatus'],
};
/** Without a status, a row of a delta is ambiguous. */
const requiredInDelta: Partial<typeof required> = {
  lineItems: ['status'],
  enrollments: ['sourcedId', 'status'],
  results: ['status'],
};

const requiredIn = (name: FileName, mode: Mode): readonly string[] => [
  ...required[name],
  ...((mode === 'delta' && requiredInDelta[name]) || []),
];

/** Reads one file after the other, in the order in which they are needed, while the engine works on those before. */
export const readAhead = (given: OneRosterExport): Tables => {
  const tables: Tables = {};
  let before: Promise<unknown> = Promise.resolve();
  for (const name of fileNames) {
    const mode = given.modes[name];
    if (mode === 'absent') continue;
    const table = before.then(() => given.read(name, requiredIn(name, mode)));
    // Whoever needs the table gets the error.
    table.catch(() => undefined);
    tables[name] = table;
    before = table;
  }
  return tables;
};

/** Opens a file of the package for the engine; undefined if it is absent. */
export const openFile = async (
  { comparison, read, tables }: PackageReading,
  name: FileName,
): Promise<Table | undefined> => {
  const table = await tables[name];
  if (table === undefined) return undefined;
  read[name] = { columns: table.columns, rows: table.rows, used: table.used };
  addRows(comparison, `${name}.csv`, { result: 'refused', count: table.damaged.length });
  await addDamaged(comparison, { file: `${name}.csv`, kindName: name, table });
  return table;
};

/** Makes the view `file_rows`, or another: the rows of a table, if there is one, with columns by the names that are given here. */
export const viewRows = (
  db: SqlEngine,
  table: Table | undefined,
  { view = 'file_rows', columns }: { view?: string; columns: Readonly<Record<string, string>> },
): Promise<void> => {
  const cells = Object.keys(columns).map((name) => `NULL::VARCHAR AS ${name}`);
  const rows = table
    ? rowsOf(table, columns, quotedText(table.path))
    : `SELECT NULL::BIGINT AS line, ${cells.join(', ')} WHERE false`;
  return db.run(`CREATE OR REPLACE VIEW ${view} AS ${rows}`);
};
