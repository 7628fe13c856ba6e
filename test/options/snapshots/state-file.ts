import { mkdirSync } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createTables } from '../../../lib/options/snapshots/compare/wanted.ts';
import { kindOf } from '../../../lib/options/snapshots/state/record.ts';
import { inFolder } from '../../../lib/runtime/files/folder.ts';
import { quotedText, type SqlValue, withSqlEngine } from '../../../lib/runtime/files/tables/engine.ts';

export type StateRow = {
  kind: string;
  key?: string;
  a?: string;
  b?: string;
  value?: string;
  data?: string;
  org_unit_id?: string;
  user_id?: string;
};

/** With the platform's ids, if they are known. */
type Enrolled = {
  orgUnitCode: string;
  userName: string;
  roleId: number;
  orgUnitId?: number;
  userId?: number;
};
type Graded = {
  orgUnitCode: string;
  gradeObjectName: string;
  userName: string;
  grade: { type: 'numeric'; points: number; outOf: number };
  comments?: string;
};

/** The rows of a zip for an enrollment. */
export const enrollmentRows = ({
  orgUnitCode,
  userName,
  roleId,
  orgUnitId,
  userId,
}: Enrolled): StateRow[] => [
  {
    kind: '2',
    a: orgUnitCode,
    b: userName,
    value: String(roleId),
    ...(orgUnitId !== undefined && { org_unit_id: String(orgUnitId) }),
    ...(userId !== undefined && { user_id: String(userId) }),
  },
];

/** The rows of a zip for a grade: its line item, and the grade. */
export const gradeRows = ({
  orgUnitCode,
  gradeObjectName: name,
  userName,
  grade: { outOf, ...grade },
  comments = '',
}: Graded): StateRow[] => {
  const id = `${orgUnitCode} ${name}`;
  const item = { data: { orgUnitCode, name, maxPoints: outOf }, outOf: String(outOf) };
  return [
    { kind: '1', key: id, data: JSON.stringify(item) },
    { kind: '3', a: id, b: userName, value: `${JSON.stringify(grade)}\u001f${comments}` },
  ];
};

/** The row of a table for a message of its mapping. */
export const tableRow = (data: object, at = 0): StateRow => ({
  kind: kindOf(at),
  data: JSON.stringify(data),
});

/** Writes a state with the rows of a statement, which has any of a state's columns. */
export const writeStateOf = (path: string, rows: string, values?: readonly SqlValue[]): Promise<void> =>
  withSqlEngine(async (db, folder) => {
    const made = join(folder, 'state');
    await createTables(db);
    await db.run(
      `COPY ((FROM state_columns LIMIT 0) UNION ALL BY NAME (${rows}))
       TO ${quotedText(made)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960)`,
      values,
    );
    mkdirSync(dirname(path), { recursive: true });
    await copyFile(made, path);
  });

const names = ['kind', 'key', 'a', 'b', 'value', 'data', 'org_unit_id', 'user_id'];
const columns = JSON.stringify([Object.fromEntries(names.map((name) => [name, 'VARCHAR']))]);

/** The file of a state with these rows. Grades of one line item repeat it: it is there once. */
export const stateFile = (rows: readonly StateRow[]): Promise<Buffer> =>
  inFolder(async (folder) => {
    const path = join(folder, 'state.parquet');
    const all = `SELECT DISTINCT * FROM (SELECT unnest(from_json($1, '${columns}'), recursive := true))`;
    await writeStateOf(path, all, [JSON.stringify(rows)]);
    return readFile(path);
  });
