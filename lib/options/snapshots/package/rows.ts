import type { Table } from '../../../runtime/files/tables/table.ts';
import type { Comparison, Mode } from '../compare/comparison.ts';
import { hasRows, statementsIn } from '../compare/statements.ts';
import { countOf } from '../count-of.ts';
import { addDamaged } from '../state/accepted.ts';
import { type RowCounts, type RowResult, rowResults, type SnapshotRecord } from '../state/record.ts';
import { type FileName, type FurtherName, fileNames } from './manifest.ts';

const sql = statementsIn('rows');

export const addRows = (
  { rows }: Comparison,
  file: string,
  { result, count }: { result: RowResult; count: number },
): void => {
  const counts = rows[file] ?? {};
  rows[file] = counts;
  if (count > 0) counts[result] = (counts[result] ?? 0) + count;
};

/** Counts the rows of a file from which only single cells are read. */
export const addReadRows = async (comparison: Comparison, name: FurtherName, table: Table): Promise<void> => {
  const file = `${name}.csv`;
  addRows(comparison, file, { result: 'refused', count: table.damaged.length });
  addRows(comparison, file, { result: 'read', count: table.rows - table.damaged.length });
  await addDamaged(comparison, { file, kindName: name, table });
};

/** Counts rows of a file by a statement that gives each result and its number of rows. */
export const countRows = async (comparison: Comparison, file: string, statement: string): Promise<void> => {
  for (const [result, count] of await comparison.db.all<[RowResult, number]>(statement))
    addRows(comparison, file, { result, count });
};

/** Counts the rows that claim something by their result, after the comparison. */
export const countClaims = async (comparison: Comparison): Promise<void> => {
  // What stays as it was, of a file that the package does not have, is no row of it.
  for (const [kindName, result, count] of await comparison.db.all<[FileName, RowResult, number]>(
    sql('count_claims'),
  ))
    if (count > 0) addRows(comparison, `${kindName}.csv`, { result, count });
};

/**
 * Refuses what cannot be used of `read_rows`, the rows of this file. Rows of names and line items claim nothing, but may be about anything. A
 * refused row that a delta does not name stays refused.
 */
export const refuseRows = async (
  { db }: Comparison,
  { name, mode, how = 'refuse_rows' }: { name: FileName; mode: Mode; how?: 'refuse_rows' | 'refuse_claims' },
): Promise<void> => {
  await db.run('SET VARIABLE kind_name = $1', [name]);
  for (const statement of [how, 'report_rows']) await db.run(sql(statement));
  if (mode !== 'bulk') await db.run(sql('keep_refused'));
};

/**
 * Refuses rows of enrollments or results. Most exports have no unusable ones; then no statement is planned. `contradictions`: a statement that
 * finds further ones of a delta.
 */
export const refuseClaims = async (
  comparison: Comparison,
  { name, mode, contradictions }: { name: FileName; mode: Mode; contradictions: string },
): Promise<boolean> => {
  const { db } = comparison;
  if (mode === 'bulk' && !(await hasRows(db, 'read_rows WHERE problem IS NOT NULL'))) return false;
  await db.run(sql('find_meant'));
  if (mode === 'delta') await db.run(contradictions);
  await refuseRows(comparison, { name, mode, how: 'refuse_claims' });
  return true;
};

/** Rows that are gone count, too: what a delta deletes was said then. */
export const noteSaid = async (comparison: Comparison): Promise<void> => {
  const [latest] =
    (await comparison.db.row<[number | null]>(
      'SELECT max(said_at_ms) FROM read_rows WHERE problem IS NULL',
    )) ?? [];
  if (latest != null) comparison.saidMs = Math.max(comparison.saidMs ?? 0, latest);
};

/** Fates of a row of which nothing was used, though its file is meant to be imported. */
const refusedFates: readonly RowResult[] = [
  'unknownValue',
  'unknownRole',
  'withoutRole',
  'notInPackage',
  'refusedWith',
  'withoutName',
  'withoutMaximum',
  'twoReadings',
  'refused',
];

type RefusedRows = { file: string; refused: number; all: number };

const refusedRowsIn = ({ rows = {} }: Pick<SnapshotRecord, 'rows'>): RefusedRows[] => {
  const sumOf = (counts: RowCounts, results: readonly RowResult[]): number =>
    results.reduce((sum, result) => sum + (counts[result] ?? 0), 0);
  return Object.entries(rows).map(([file, counts]) => ({
    file,
    refused: sumOf(counts, refusedFates),
    all: sumOf(counts, rowResults),
  }));
};

/** As in `of 20 rows of enrollments.csv, 11 were refused`; undefined: there is no such file. */
const refusedText = (files: readonly RefusedRows[]): string | undefined =>
  files
    .map(
      ({ file, refused, all }) =>
        `of ${countOf(all, 'row')} of ${file}, ${countOf(refused, 'was', 'were')} refused`,
    )
    .join('; ') || undefined;

/** Which files had more than half of their rows refused; undefined: none. */
export const mostlyRefused = (snapshot: Pick<SnapshotRecord, 'rows'>, atLeast = 1): string | undefined =>
  refusedText(refusedRowsIn(snapshot).filter(({ refused, all }) => refused >= atLeast && refused > all / 2));

export type AcceptedRefusals = { is: 'refused' | 'partly refused'; why: string };

/** Which rows of an accepted snapshot were refused, with the most frequent reason; undefined: none. */
export const refusalsOf = (
  snapshot: Pick<SnapshotRecord, 'rows' | 'refusals'>,
): AcceptedRefusals | undefined => {
  const most = mostlyRefused(snapshot);
  const some = most ?? refusedText(refusedRowsIn(snapshot).filter(({ refused }) => refused > 0));
  if (some === undefined) return undefined;
  const [reason] = snapshot.refusals ?? [];
  const often = reason && `; most often: ${[reason.column, reason.problem].filter(Boolean).join(': ')}`;
  return { is: most === undefined ? 'partly refused' : 'refused', why: `${some}${often ?? ''}` };
};

/** Whether rows have a code that neither the mapping nor the settings name: such rows are refused until a person names it. */
export const hasUnknownCodes = ({ rows = {} }: Pick<SnapshotRecord, 'rows'>): boolean =>
  Object.values(rows).some(({ unknownValue = 0, unknownRole = 0 }) => unknownValue + unknownRole > 0);

const words: Record<RowResult, string> = {
  sent: 'sent',
  unchanged: 'unchanged',
  held: 'held, because a refused row may be about the same thing on the platform',
  used: 'used by the mapping',
  emptied: 'used, with an empty cell whose last value stays',
  endedNothing: 'that would end what was not accepted: nothing was there for their key',
  keyUsed: 'that end something, or that no message is for, though another row with their key is used',
  withoutMessage: 'that no message of the mapping is for',
  unknownValue: 'with a value that the mapping does not name',
  read: 'read',
  outsideDates: 'outside their dates',
  notActive: 'not active',
  deleted: 'marked as deleted',
  notGraded: 'not fully graded',
  roleNotSent: 'with a role that is not sent, by the settings',
  unknownRole: 'with a role that the settings do not name',
  withoutRole: 'without a role',
  notInPackage: 'whose class, user or line item is not in the package',
  refusedWith: 'whose class, user or line item was refused',
  withoutName: 'whose class or user has no name for the platform',
  namePassed: 'for whose user name the crosswalk gives the account of another record',
  withoutMaximum: 'without a maximum',
  twoReadings: 'with a date that can be read in two ways',
  refused: 'refused',
};

/** The next step for a result; the other results need none. */
const steps: Partial<Record<RowResult, string>> = {
  held: 'What was accepted of held rows stays. Correct the refused rows, or leave them out: then the held rows are used.',
  emptied:
    'A cell that is empty without quotation marks leaves the platform’s value as it is. To clear that, write "" in the cell, or give its field a default in the mapping.',
  withoutMessage:
    'A message is for a row whose cells have the values of its "when", letter by letter. If these rows are to be sent, correct them or the mapping.',
  endedNothing:
    'If these rows are to end something, compare how their key is written with how it was when it was accepted.',
  keyUsed:
    'A key that has rows of both kinds counts as there. If it is not, correct the file, or make it a table of changes.',
  unknownValue:
    'What was accepted of these rows stays. In the mapping, name their values: those that are wanted under "when", and others beside them, as in { "is": ["A"], "not": ["W", "D"] }, or "not": "others" for all.',
  outsideDates:
    'An enrollment is sent in the first export from its beginDate on, and removed after its endDate. If it holds today, correct its dates.',
  notGraded: 'A result is sent when its scoreStatus is “fully graded”.',
  unknownRole:
    'In snapshot-settings.json, give these roles the platform’s ids under "roles", or name them under "rolesNotSent".',
  withoutRole: 'Export the column role of enrollments.csv, or roles.csv with roles that hold today.',
  notInPackage:
    'Export all classes, users and line items that other files name. A refused row is read again once a bulk file or a delta has it.',
  refusedWith:
    'Correct the refused rows of these classes, users and line items. For titles that repeat, or have signs that the platform refuses, set "lineItemName" in snapshot-settings.json.',
  withoutName:
    'Fill the column of their names, or name another one under "orgUnitCode" or "user" in snapshot-settings.json.',
  namePassed:
    'Find out whether both records are one person. If so, accept the name (`sis-relay crosswalk accept <name>`). If not, wait: the rows are used once the crosswalk gives another account.',
  withoutMaximum: 'Fill resultValueMax, or set "resultValueMax" in snapshot-settings.json.',
  twoReadings: 'Set "dateOrder" in snapshot-settings.json.',
};

type Account = Pick<SnapshotRecord, 'rows' | 'unknownRoles' | 'excluded'>;

const resultsIn = (counts: RowCounts): (readonly [RowResult, number])[] =>
  rowResults.flatMap((result) => {
    const count = counts[result] ?? 0;
    return count > 0 ? [[result, count] as const] : [];
  });

/** The results of each file's rows, one sentence for each file, then the next steps. `plain` makes text from a file safe to show. */
export const rowsTold = (
  { rows = {}, unknownRoles = [], excluded = [] }: Account,
  plain: (text: string) => string = (text) => text,
): string[] => {
  const roles = unknownRoles.map(([role, count]) => `${plain(role)} ${count}`).join(', ');
  const codes = excluded.map(([column, value, count], at) => {
    const isFirst = excluded[at - 1]?.[0] !== column;
    return `${isFirst ? `${plain(column)}: ` : ''}${plain(value) || '(empty)'} ${count}`;
  });
  const named: Partial<Record<RowResult, string>> = { unknownRole: roles, withoutMessage: codes.join(', ') };
  const files = Object.entries(rows).map(([file, counts]) => {
    const results = resultsIn(counts).map(
      ([result, count]) => `${count} ${words[result]}${named[result] ? ` (${named[result]})` : ''}`,
    );
    return `${file}: ${results.length === 0 ? 'no rows' : results.join(', ')}.`;
  });
  const isTable = Object.values(rows).some((counts) => counts.used !== undefined);
  const absent = (isTable ? [] : fileNames)
    .filter((name) => rows[`${name}.csv`] === undefined)
    .map((name) => `${name}.csv`);
  const all = new Set(Object.values(rows).flatMap((counts) => resultsIn(counts).map(([result]) => result)));
  // Whoever sees the codes sees whether they are right.
  if (codes.length > 0) all.delete('withoutMessage');
  return [
    ...files,
    ...(absent.length > 0 && files.length > 0 ? [`Not in the package: ${absent.join(', ')}.`] : []),
    ...rowResults.flatMap((result) => (all.has(result) ? (steps[result] ?? []) : [])),
  ];
};
