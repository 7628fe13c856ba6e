import { dayAt } from '../../../delivery/mapping/times.ts';
import type { SqlEngine } from '../../../runtime/files/tables/engine.ts';
import type { Table } from '../../../runtime/files/tables/table.ts';
import { countOf } from '../count-of.ts';
import { readNames } from '../package/names.ts';
import type { OneRosterExport } from '../package/oneroster-export.ts';
import { type FilesRead, openFile, type PackageReading, readAhead, viewRows } from '../package/reading.ts';
import { countReassignedRows, reassignedNamesOf } from '../package/reassigned-names.ts';
import { addUserRoles } from '../package/roles.ts';
import { countClaims, countRows, noteSaid, refuseClaims } from '../package/rows.ts';
import { type UserField, userField } from '../package/settings-file.ts';
import { type Comparison, nameMovesBy } from './comparison.ts';
import { loadItems, settleLineItems } from './line-items.ts';
import { settleEnrollments } from './others.ts';
import { sampleOfExport } from './sample.ts';
import { constants, hasRows, statementsIn, timeZoneOf } from './statements.ts';
import {
  type CheckedValue,
  compareWanted,
  countWanted,
  refuseDoubled,
  refuseValues,
  writeChanges,
  writeState,
} from './wanted.ts';

const ofExport = statementsIn('export');
const ofAccepted = statementsIn('accepted');
const ofNames = statementsIn('names');
const ofRows = statementsIn('rows');
const ofEnrollments = statementsIn('enrollments');
const ofResults = statementsIn('results');

/** Roles without an id on the platform, and the number of rows with each. */
export type UnknownRoles = Map<string, number>;

/**
 * Reads an export of OneRoster, and compares it with the last accepted state. `lastField`: the platform's field by which the accepted
 * messages named users.
 */
export const compareExport = async (
  given: OneRosterExport,
  comparison: Comparison,
  { lastField }: { lastField: UserField },
): Promise<{ read: FilesRead; unknownRoles: UnknownRoles }> => {
  const { db, settings } = comparison;
  const { modes } = given;
  const { field } = settings.user;
  const reading: PackageReading = { given, comparison, tables: readAhead(given), read: {} };
  await prepare(comparison, lastField);
  refuseDoubled(await db.all<[string, number]>(ofAccepted('count_doubled')), comparison);
  const users = await readNames(reading);
  const items = await openFile(reading, 'lineItems');
  await readNumbersOf(items, comparison);
  await settleLineItems(items, reading);
  await loadAccepted(comparison);
  await db.run(ofNames('find_moves'));
  if (await hasRows(db, 'name_moves')) comparison.nameMoves = await nameMovesBy(db, ofNames('count_moves'));
  const unknownRoles = await readEnrollments(reading, users);
  await readResults(reading);
  comparison.takeSample?.(await sampleOfExport(db, field));
  comparison.passedNames = await reassignedNamesOf(comparison, modes);
  if (await hasRows(db, 'formers')) await db.run(ofExport('yield_to_staying'));
  if (await hasRows(db, 'doubtful_names')) await db.run(ofExport('find_doubtful'));
  await db.run(ofExport('mean_things'));
  await compareWanted(comparison);
  comparison.effects = await settleEnrollments(comparison, { file: 'enrollments.csv', column: 'role' });
  await db.run(ofExport('recall_comments'));
  await db.run(ofExport('write_data'));
  await refuseValues(comparison, checkedValues(field));
  await countWanted(comparison);
  await countClaims(comparison);
  await db.run(ofExport('move_along'));
  if (comparison.hasBefore && !comparison.isTrial) await db.run(ofResults('forget_gone'));
  await writeChanges(comparison);
  await db.run(ofExport('keep_export'));
  await writeState(comparison, [
    ...(['comments', 'names', 'passed_names', 'deletions'] as const),
    ...(['line_items', 'grade_objects', 'enrollment_rows'] as const),
  ]);
  return { read: reading.read, unknownRoles };
};

/** Makes the macros and tables that the readers share. */
const prepare = async ({ db, settings, droppedMs }: Comparison, lastField: UserField): Promise<void> => {
  await db.run(
    constants({
      last_user_field: lastField,
      date_order: settings.cells.dateOrder ?? '',
      default_maximum: settings.resultValueMax && String(settings.resultValueMax),
      export_day: dayAt(droppedMs, settings.cells.timeZone),
    }),
  );
  await db.run(timeZoneOf(settings.cells));
  await prepareData(db, settings.user.field);
  for (const statement of [
    ofExport('kinds'),
    ofExport('keys'),
    ofRows('macros'),
    ofRows('tables'),
    ofEnrollments('tables'),
  ])
    await db.run(statement);
  const roles = Object.entries(settings.roles);
  await db.add(
    'roles',
    roles.map(([role, id]) => [role, String(id)]),
  );
  await db.add(
    'roles_not_sent',
    settings.rolesNotSent.map((role) => [role]),
  );
};

/** Programs that write semicolons write a decimal comma. */
const readNumbersOf = async (
  table: Table | undefined,
  { db, settings: { cells } }: Comparison,
): Promise<void> => {
  const sign = cells.decimal ?? (table?.delimiter === ';' ? 'either' : '.');
  await db.run(`CREATE OR REPLACE MACRO decimal_sign() AS '${sign}'`);
};

const noUser = JSON.stringify(
  Object.fromEntries(['userId', ...userField.options].map((field) => [field, null])),
);

const prepareData = async (db: SqlEngine, field: UserField): Promise<void> => {
  await db.run(constants({ user_field: field, no_user: noUser }));
  await db.run(ofExport('data'));
};

/** A statement that gives kind and data of what was accepted, as messages. */
export const acceptedData = async (db: SqlEngine, field: UserField): Promise<string> => {
  await prepareData(db, field);
  await db.run(loadItems);
  return ofAccepted('list_messages');
};

const checkedValues = (userField: string): CheckedValue[] => {
  const enrolled = { orgUnitCode: 'x', [userField]: 'x', roleId: 1 };
  const graded = {
    orgUnitCode: 'x',
    gradeObjectName: 'x',
    [userField]: 'x',
    grade: { type: 'text', text: 'x' },
  };
  const checked =
    (kindName: string, name: string, others: object) =>
    (value: string, column: string, dataOf: (text: string) => object): CheckedValue => ({
      kindName,
      function: name,
      value,
      column,
      data: (text) => ({ ...others, ...dataOf(text) }),
    });
  const ofEnrollment = checked('enrollments', 'enrollment-create', enrolled);
  const ofGrade = checked('results', 'grade-push', graded);
  return [
    ofEnrollment('org_unit_or_object', 'classSourcedId', (text) => ({ orgUnitCode: text })),
    ofEnrollment('user_name', 'userSourcedId', (text) => ({ [userField]: text })),
    ofGrade('item_org_unit_ref', 'lineItemSourcedId', (text) => ({ orgUnitCode: text })),
    ofGrade('title', 'lineItemSourcedId', (text) => ({ gradeObjectName: text })),
    ofGrade('user_name', 'studentSourcedId', (text) => ({ [userField]: text })),
    ofGrade('grade_of(wanted_value)', 'score', (text) => ({ grade: JSON.parse(text) })),
    ofGrade('comments_of(wanted_value)', 'comment', (text) => ({ comments: text })),
  ];
};

/** What was accepted by a name that is known: the same may have been accepted by what the name stands for. */
const keptByName = `state_wanted WHERE (user_id IS NULL AND user_name IN (SELECT name FROM former_ids WHERE record_type = 'user'))
  OR (org_unit_id IS NULL AND is_enrollment(state_kind)
    AND org_unit_or_object IN (SELECT name FROM former_ids WHERE record_type = 'class'))`;

const loadAccepted = async ({ db, hasBefore }: Comparison): Promise<void> => {
  await db.run(ofAccepted('find_claims'));
  if (!hasBefore) return;
  const isOther =
    (await hasRows(db, 'renamed')) ||
    (await hasRows(db, 'former_ids WHERE is_new')) ||
    (await hasRows(db, keptByName));
  await db.run(ofAccepted(isOther ? 'load_merged_claims' : 'load_claims'));
};

const enrollmentColumns = {
  id: 'sourcedId',
  class_source_id: 'classSourcedId',
  user_source_id: 'userSourcedId',
  role: 'role',
  status: 'status',
  begins: 'beginDate',
  ends: 'endDate',
  changed: 'dateLastModified',
};

const readEnrollments = async (reading: PackageReading, users: Table | undefined): Promise<UnknownRoles> => {
  const { db } = reading.comparison;
  const table = await openFile(reading, 'enrollments');
  await viewRows(db, table, { columns: enrollmentColumns });
  await db.run('SET VARIABLE has_ids = CAST($1 AS BOOLEAN)', [String((table?.at('sourcedId') ?? -1) >= 0)]);
  await db.run(ofEnrollments('read'));
  await addUserRoles(reading, users);
  await db.run(ofEnrollments('end_roles_not_sent'));
  const hasRefused = await claim(reading, 'enrollments', ofEnrollments);
  await reportStill(reading, 'enrollments');
  const unknown = hasRefused ? await unknownRolesIn(db) : new Map<string, number>();
  await db.run('DROP TABLE read_rows');
  return unknown;
};

/** Makes claims of the rows that were read. Returns whether it refused some. */
const claim = async (
  { comparison, given }: PackageReading,
  name: 'enrollments' | 'results',
  sql: (name: string) => string,
): Promise<boolean> => {
  const { db } = comparison;
  const mode = given.modes[name];
  await db.run(sql('judge'));
  const contradictions = sql('refuse_contradictions');
  const hasRefused = await refuseClaims(comparison, { name, mode, contradictions });
  await db.run('SET VARIABLE is_bulk = CAST($1 AS BOOLEAN)', [String(mode === 'bulk')]);
  await db.run(sql('claim'));
  await countReassignedRows(comparison, name);
  await countRows(comparison, `${name}.csv`, sql('count_fates'));
  await noteSaid(comparison);
  return hasRefused;
};

/** Tells which accepted rows a delta does not have, and cannot use. */
const reportStill = async (
  { comparison }: PackageReading,
  name: 'enrollments' | 'results',
): Promise<void> => {
  const { db } = comparison;
  if (!(await hasRows(db, 'unusable_still'))) return;
  await db.run('SET VARIABLE kind_name = $1', [name]);
  await db.run(ofRows('report_still'));
};

const unknownRolesIn = async (db: SqlEngine): Promise<UnknownRoles> => {
  const roles = await db.all<[string | null, number]>(ofEnrollments('list_unknown_roles'));
  const unknown: UnknownRoles = new Map(
    roles.map(([role, rows]) => [role === null ? 'and others' : JSON.stringify(role), rows]),
  );
  for (const [role, rows] of unknown) {
    const problem = `the role ${role} has no id in "roles" of snapshot-settings.json: ${countOf(rows, 'row was', 'rows were')} refused`;
    await db.run(
      `INSERT INTO problems (file, column_name, problem, rows) VALUES ('enrollments.csv', 'role', $1, CAST($2 AS BIGINT))`,
      [problem, rows],
    );
  }
  return unknown;
};

const resultColumns = {
  id: 'sourcedId',
  item_source_id: 'lineItemSourcedId',
  user_source_id: 'studentSourcedId',
  status: 'status',
  graded: 'scoreStatus',
  score: 'score',
  words: 'textScore',
  comments: 'comment',
  changed: 'dateLastModified',
};

const readResults = async (reading: PackageReading): Promise<void> => {
  const { comparison, given } = reading;
  const { db } = comparison;
  const table = await openFile(reading, 'results');
  await readNumbersOf(table, comparison);
  await viewRows(db, table, { columns: resultColumns });
  await claim(reading, 'results', ofResults);
  if (comparison.hasBefore) await db.run(ofResults('remember_rows'));
  if (await hasRows(db, `refused_rows WHERE kind_name = 'results'`)) await db.run(ofResults('find_outdated'));
  if (given.modes.results !== 'bulk') await db.run(ofResults('claim_still'));
  await reportStill(reading, 'results');
  await db.run('DROP TABLE read_rows');
};
