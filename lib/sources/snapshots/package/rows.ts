import type { Table } from '../../../runtime/files/tables/table.ts';
import type { Comparison } from '../compare/comparison.ts';
import { addDamaged } from '../state/accepted.ts';
import { type RowCounts, type RowFate, rowFates, type SnapshotRecord } from '../state/record.ts';
import { type FileName, type FurtherName, fileNames } from './manifest.ts';

export const addRows = (
  { rows }: Comparison,
  file: string,
  { fate, count }: { fate: RowFate; count: number },
): void => {
  const counts = rows[file] ?? {};
  rows[file] = counts;
  if (count > 0) counts[fate] = (counts[fate] ?? 0) + count;
};

/** Counts the rows of a file from which only single cells are read. */
export const addReadRows = async (comparison: Comparison, name: FurtherName, table: Table): Promise<void> => {
  const file = `${name}.csv`;
  addRows(comparison, file, { fate: 'refused', count: table.damaged.length });
  addRows(comparison, file, { fate: 'read', count: table.rows - table.damaged.length });
  await addDamaged(comparison, { file, kindName: name, table });
};

/** Counts rows of a file by a statement that gives each fate and its number of rows. */
export const countRows = async (comparison: Comparison, file: string, statement: string): Promise<void> => {
  for (const [fate, count] of await comparison.sets.all<[RowFate, number]>(statement))
    addRows(comparison, file, { fate, count });
};

/** Counts the rows that claim something by their fate, after the comparison. */
export const countClaims = async (comparison: Comparison): Promise<void> => {
  const rows = 'coalesce(s.rows, CASE WHEN d.line IS NULL THEN 0 ELSE 1 END)';
  const statement = `
    SELECT kind_name, fate, CAST(sum(rows) AS BIGINT) FROM (
      SELECT d.kind_name, CASE WHEN o.key IS NOT NULL THEN 'refused' WHEN is_withheld(d.withheld_value, d.accepted_value) THEN 'held' WHEN d.change IN ('created', 'updated') AND (v.key IS NULL OR v.role IS NOT NULL) THEN 'sent'
          ELSE 'unchanged' END AS fate, ${rows} AS rows
        FROM difference d LEFT JOIN claims_per_key s USING (key) LEFT JOIN (SELECT DISTINCT key FROM older_claims) o USING (key) LEFT JOIN replacements v USING (key) WHERE d.is_claimed
      UNION ALL SELECT d.kind_name, 'refused', ${rows} FROM unfit_claims d LEFT JOIN claims_per_key s USING (key) WHERE d.is_claimed
      -- All claims but these.
      UNION ALL SELECT d.kind_name, 'unchanged', ${rows} FROM claims d LEFT JOIN claims_per_key s USING (key)
      UNION ALL SELECT d.kind_name, 'unchanged', -${rows} FROM difference d LEFT JOIN claims_per_key s USING (key) WHERE d.is_claimed
      UNION ALL SELECT d.kind_name, 'unchanged', -${rows} FROM unfit_claims d LEFT JOIN claims_per_key s USING (key) WHERE d.is_claimed
      UNION ALL SELECT kind_name, 'refused', rows FROM disputed_counts)
    GROUP BY kind_name, fate`;
  // What stays as it was, of a file that the package does not have, is no row of it.
  for (const [kindName, fate, count] of await comparison.sets.all<[FileName, RowFate, number]>(statement))
    if (count > 0) addRows(comparison, `${kindName}.csv`, { fate, count });
};

/**
 * Counts the rows of a table by fate, after the comparison. Each unusable row is reported by its line, as is a row with a cell that
 * no longer gives a value.
 */
export const countTableRows = async (
  comparison: Comparison,
  { file, table, withoutMessage }: { file: string; table: Table; withoutMessage: number },
): Promise<void> => {
  const statement = `
    SELECT count(*) FILTER (h.line IS NULL), count(h.line)
    FROM (SELECT DISTINCT line FROM problems WHERE line IS NOT NULL)
      LEFT JOIN (SELECT DISTINCT line FROM difference WHERE is_claimed AND is_withheld(withheld_value, accepted_value)) h USING (line)`;
  const [refused = 0, held = 0] = (await comparison.sets.row<[number, number]>(statement)) ?? [];
  const stays = `field_value NOT IN ('""', 'null')`;
  const [emptied = 0] =
    (await comparison.sets.row<[number]>(`
      SELECT count(DISTINCT line) FROM last_values WHERE ${stays} AND line NOT IN (SELECT line FROM problems WHERE line IS NOT NULL)`)) ??
    [];
  await comparison.sets.run(
    `INSERT INTO problems
       SELECT $1, line, column_name, 'is empty without quotation marks, so the platform keeps the value that was sent. To clear it, write "" there'
       FROM last_values WHERE ${stays}`,
    [file],
  );
  comparison.rows[file] = { used: table.rows - refused - held - emptied - withoutMessage };
  addRows(comparison, file, { fate: 'emptied', count: emptied });
  addRows(comparison, file, { fate: 'held', count: held });
  addRows(comparison, file, { fate: 'withoutMessage', count: withoutMessage });
  addRows(comparison, file, { fate: 'refused', count: refused });
};

/** Fates whose rows all have the same problem, which one setting solves: the report has one line for all of them. */
const toldOnce: readonly RowFate[] = ['withoutName', 'withoutMaximum', 'withoutRole', 'twoReadings'];

/**
 * Reports the problems of a table's rows: `problem` is a list of the column, the words, and the fate of the row, if that is not
 * `refused`. Rows with an unknown role are reported with the roles.
 */
export const reportRows = (file: string, table: string): string => {
  const once = `coalesce(problem[3], '') IN (${toldOnce.map((fate) => `'${fate}'`).join(', ')})`;
  return `
    INSERT INTO problems SELECT '${file}', line, problem[1], problem[2] FROM ${table}
      WHERE problem IS NOT NULL AND NOT ${once} AND coalesce(problem[3], '') <> 'unknownRole';
    INSERT INTO problems
      SELECT '${file}', NULL, problem[1], problem[2] || ' (' || count(*) || CASE WHEN count(*) = 1 THEN ' row, in line ' ELSE ' rows, the first in line ' END || min(line) || ')'
      FROM ${table} WHERE problem IS NOT NULL AND ${once} GROUP BY problem[1], problem[2];`;
};

/**
 * A refused row that a delta does not name (`read`) stays refused. `orgUnitOrObject`: its org unit or grade object, as it is known now; without it,
 * the row is that of a class or user itself. A row that was in no file is judged again each time.
 */
export const refusedStill = (
  kindName: FileName,
  { read, orgUnitOrObject }: { read: string; orgUnitOrObject?: string },
): string => `
  INSERT INTO refused_rows
    SELECT r.kind_name, r.source_row, ${orgUnitOrObject === undefined ? 'NULL, NULL' : `${orgUnitOrObject}, coalesce(u.new_name, r.user_name)`}, false, false FROM refused_before r
      ANTI JOIN ${read} e ON e.source_row = r.source_row ANTI JOIN refused_rows x ON x.kind_name = r.kind_name AND x.source_row = r.source_row
      ${orgUnitOrObject === undefined ? '' : `LEFT JOIN renamed c ON c.record_type = 'class' AND c.old_name = r.org_unit_or_object LEFT JOIN renamed u ON u.record_type = 'user' AND u.old_name = r.user_name`}
    WHERE r.kind_name = '${kindName}' AND NOT starts_with(r.source_row, chr(31))${
      // Earlier versions kept the number of a line.
      orgUnitOrObject === undefined ? ` AND r.source_row[1] IN ('=', '#')` : ''
    };
  INSERT INTO problems
    SELECT '${kindName}.csv', NULL, NULL, 'rows of earlier exports that are refused still: ' || count(*) || '. Each is read again once a bulk file or a delta has it'
    FROM refused_rows WHERE kind_name = '${kindName}' AND NOT is_in_file HAVING count(*) > 0;`;

export const fateOfProblem = `coalesce(problem[3], 'refused')`;

/** Fates of a row of which nothing was used, though its file is meant to be imported. */
const refusedFates: readonly RowFate[] = [
  'unknownRole',
  'withoutRole',
  'notInPackage',
  'withoutName',
  'withoutMaximum',
  'twoReadings',
  'refused',
];

/** Which files had more than half of their rows refused, as in `of 20 rows of enrollments.csv, 11 were refused`; undefined: none. */
export const mostlyRefused = ({ rows = {} }: Pick<SnapshotRecord, 'rows'>): string | undefined => {
  const sumOf = (counts: RowCounts, fates: readonly RowFate[]): number =>
    fates.reduce((sum, fate) => sum + (counts[fate] ?? 0), 0);
  const told = Object.entries(rows).flatMap(([file, counts]) => {
    const [refused, all] = [sumOf(counts, refusedFates), sumOf(counts, rowFates)];
    return refused > all / 2 ? [`of ${all} rows of ${file}, ${refused} were refused`] : [];
  });
  return told.length === 0 ? undefined : told.join('; ');
};

const words: Record<RowFate, string> = {
  sent: 'sent',
  unchanged: 'unchanged',
  held: 'not used, because a row that cannot be used may be about the same',
  used: 'used by the mapping',
  emptied: 'used, with an empty cell whose last value stays',
  withoutMessage: 'that no message of the mapping is for',
  read: 'read',
  outsideDates: 'outside their dates',
  notActive: 'not active',
  deleted: 'marked as deleted',
  notGraded: 'not fully graded',
  unknownRole: 'with a role that the settings do not name',
  withoutRole: 'without a role',
  notInPackage: 'whose class, user or line item is not in the package',
  withoutName: 'whose class or user has no name for the platform',
  namePassed: 'whose user name was another record’s',
  withoutMaximum: 'without a maximum',
  twoReadings: 'with a date that can be read in two ways',
  refused: 'refused',
};

/** The next step for a fate; the other fates need none. */
const steps: Partial<Record<RowFate, string>> = {
  held: 'What was accepted stays. Correct the rows that cannot be used, or leave them out: then the others are used.',
  emptied:
    'A cell that is empty without quotation marks leaves the platform’s value as it is. To clear that, write "" in the cell, or give its field a default in the mapping.',
  withoutMessage:
    'A message is for a row whose cells have the values of its "when", letter by letter. If these rows are to be sent, correct them or the mapping.',
  outsideDates:
    'An enrollment is sent in the first export from its beginDate on, and removed after its endDate. If it holds today, correct its dates.',
  notGraded: 'A result is sent when its scoreStatus is “fully graded”.',
  unknownRole: 'Give these roles the platform’s ids under "roles" in snapshot-settings.json.',
  withoutRole: 'Export the column role of enrollments.csv, or roles.csv with roles that hold today.',
  notInPackage:
    'Export all classes, users and line items that other files name. A refused row is read again once a bulk file or a delta has it.',
  withoutName:
    'Fill the column of their names, or name another one under "orgUnitCode" or "user" in snapshot-settings.json.',
  namePassed:
    'Find out whether both records are one person. If so, accept the name: `sis-relay crosswalk accept <name>`. If not, wait until the crosswalk gives the other account.',
  withoutMaximum: 'Fill resultValueMax, or set "resultValueMax" in snapshot-settings.json.',
  twoReadings: 'Set "dateOrder" in snapshot-settings.json.',
  refused: 'The report lists the rows and the reasons.',
};

type Account = Pick<SnapshotRecord, 'rows' | 'unknownRoles'>;

const fatesIn = (counts: RowCounts): (readonly [RowFate, number])[] =>
  rowFates.flatMap((fate) => {
    const count = counts[fate] ?? 0;
    return count > 0 ? [[fate, count] as const] : [];
  });

/** The fates of each file's rows, one sentence for each file, then the next steps. `plain` makes text from a file safe to show. */
export const rowsTold = (
  { rows = {}, unknownRoles = [] }: Account,
  plain: (text: string) => string = (text) => text,
): string[] => {
  const roles = unknownRoles.map(([role, count]) => `${plain(role)} ${count}`).join(', ');
  const files = Object.entries(rows).map(([file, counts]) => {
    const fates = fatesIn(counts).map(
      ([fate, count]) =>
        `${count} ${words[fate]}${fate === 'unknownRole' && roles !== '' ? ` (${roles})` : ''}`,
    );
    return `${file}: ${fates.length === 0 ? 'no rows' : fates.join(', ')}.`;
  });
  const isTable = Object.values(rows).some((counts) => counts.used !== undefined);
  const absent = (isTable ? [] : fileNames)
    .filter((name) => rows[`${name}.csv`] === undefined)
    .map((name) => `${name}.csv`);
  const all = new Set(Object.values(rows).flatMap((counts) => fatesIn(counts).map(([fate]) => fate)));
  return [
    ...files,
    ...(absent.length > 0 && files.length > 0 ? [`Not in the package: ${absent.join(', ')}.`] : []),
    ...rowFates.flatMap((fate) => (all.has(fate) ? (steps[fate] ?? []) : [])),
  ];
};
