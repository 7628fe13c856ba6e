import type { SetEngine } from '../../../runtime/files/tables/engine.ts';
import type { Table } from '../../../runtime/files/tables/table.ts';
import { readNames } from '../package/names.ts';
import type { Package } from '../package/package.ts';
import { countPassedRows, passedNamesOf } from '../package/passed.ts';
import { openFile, type Read, type Reading, readAhead, viewRows } from '../package/reading.ts';
import { addUserRoles } from '../package/roles.ts';
import { countClaims, countRows, keepRefused, noteSaid, refuseClaims } from '../package/rows.ts';
import { type UserField, userField } from '../package/settings-file.ts';
import { loadShared } from '../state/accepted.ts';
import type { Comparison, NameMoves } from './comparison.ts';
import { loadItems, settleLineItems } from './line-items.ts';
import { settleEnrollments } from './others.ts';
import { constants, statementsIn } from './statements.ts';
import {
  addKinds,
  type CheckedValue,
  compareWanted,
  countWanted,
  type Kind,
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
  given: Package,
  comparison: Comparison,
  { lastField }: { lastField: UserField },
): Promise<{ read: Read; unknownRoles: UnknownRoles }> => {
  const { sets, settings } = comparison;
  const { modes } = given;
  const { field } = settings.user;
  const reading: Reading = { given, comparison, tables: readAhead(given), read: {} };
  await addKinds(comparison, [enrollments, results]);
  await prepare(comparison, lastField);
  refuseDoubled(await sets.all<[string, number]>(ofAccepted('count_doubled')), comparison);
  await loadShared(comparison);
  const { users } = await readNames(reading);
  const items = await openFile(reading, 'lineItems');
  await settleLineItems(items, modes.lineItems, comparison);
  await loadAccepted(comparison);
  comparison.nameMoves = await nameMovesIn(comparison);
  const unknownRoles = await readEnrollments(reading, users);
  await readResults(reading);
  comparison.passedNames = await passedNamesOf(comparison, modes);
  await yieldToStaying(comparison);
  const [hasDoubtful] = (await sets.row<[number]>('SELECT EXISTS (FROM doubtful_names)')) ?? [];
  await sets.run(ofExport('mean_things'));
  await compareWanted(comparison);
  comparison.effects = await settleEnrollments(comparison, { file: 'enrollments.csv', column: 'role' });
  await sets.run(ofExport('recall_comments'));
  await sets.run(ofExport(hasDoubtful ? 'address_by_doubtful_names' : 'address_by_key'));
  await sets.run(ofExport('write_data'));
  await refuseValues(comparison, checkedValues(field));
  await countWanted(comparison);
  await countClaims(comparison);
  await sets.run(ofExport('move_along'));
  if (comparison.hasBefore)
    for (const name of [modes.results === 'bulk' ? 'find_gone_of_bulk' : 'find_gone_of_delta', 'forget_gone'])
      await sets.run(ofResults(name));
  await writeChanges(comparison);
  await sets.run(ofExport('keep_export'));
  await writeState(comparison, [
    ...(['comments', 'names', 'passed_names', 'deletions'] as const),
    ...(['line_items', 'grade_objects', 'enrollment_rows'] as const),
  ]);
  return { read: reading.read, unknownRoles };
};

const differentRoles = 'two active rows of one class and user have different roles';
const differentResults = 'another row has the same line item and student, but differs';

const enrollments: Kind = {
  ...{ stateKind: '2', name: 'enrollments', function: 'enrollment-create', file: 'enrollments.csv' },
  ...{
    column: 'role',
    timeColumn: 'dateLastModified',
    hasDays: true,
    twice: differentRoles,
    differs: differentRoles,
  },
  older:
    'is before the time of the accepted enrollment, which stays. To send this one, export it with the time of its change',
};
const results: Kind = {
  ...{ stateKind: '3', name: 'results', function: 'grade-push', file: 'results.csv' },
  ...{
    column: 'lineItemSourcedId',
    timeColumn: 'dateLastModified',
    hasDays: true,
    twice: differentResults,
    differs: differentResults,
  },
  older:
    'is before the time of the accepted grade, which stays. To send this one, export it with the time of its change',
};

/** Makes the macros and tables that the readers share. */
const prepare = async ({ sets, settings, droppedMs }: Comparison, lastField: UserField): Promise<void> => {
  await sets.run(
    constants({
      last_user_field: lastField,
      date_order: settings.dateOrder ?? '',
      default_maximum: settings.resultValueMax && String(settings.resultValueMax),
      export_day: new Date(droppedMs).toISOString().slice(0, 10),
    }),
  );
  await prepareData(sets, settings.user.field);
  for (const statement of [ofExport('keys'), ofRows('macros'), ofEnrollments('tables'), ofResults('tables')])
    await sets.run(statement);
  const roles = Object.entries(settings.roles).map(([role, id]) => [role, String(id)]);
  await sets.add('roles', roles);
};

const noUser = JSON.stringify(
  Object.fromEntries(['userId', ...userField.options].map((field) => [field, null])),
);

const prepareData = async (sets: SetEngine, field: UserField): Promise<void> => {
  await sets.run(constants({ user_field: field, no_user: noUser }));
  await sets.run(ofExport('data'));
};

/** A statement that gives kind and data of what was accepted, as messages. */
export const acceptedData = async (sets: SetEngine, field: UserField): Promise<string> => {
  await prepareData(sets, field);
  await sets.run(loadItems);
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
    ({ name: kindName, function: name }: Kind, others: object) =>
    (value: string, column: string, dataOf: (text: string) => object): CheckedValue => ({
      ...{ kindName, function: name, value, column },
      data: (text) => ({ ...others, ...dataOf(text) }),
    });
  const ofEnrollment = checked(enrollments, enrolled);
  const ofGrade = checked(results, graded);
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

const loadAccepted = async ({ sets, hasBefore }: Comparison): Promise<void> => {
  await sets.run(ofAccepted('load_comments'));
  if (!hasBefore) return;
  await sets.run(ofAccepted('find_claims'));
  const [isOther] =
    (await sets.row<[number]>('SELECT EXISTS (FROM renamed) OR EXISTS (FROM former_ids WHERE is_new)')) ?? [];
  await sets.run(ofAccepted(isOther ? 'load_merged_claims' : 'load_claims'));
};

const nameMovesIn = async ({ sets }: Comparison): Promise<NameMoves> => {
  await sets.run(ofNames('find_moves'));
  const [names = 0, claims = 0, people = 0, orgUnits = 0] =
    (await sets.row<[number, number, number, number]>(ofNames('count_moves'))) ?? [];
  return { names, claims, people, orgUnits };
};

const yieldToStaying = async ({ sets }: Comparison): Promise<void> => {
  await sets.run(ofExport('find_formers'));
  const [hasFormers] = (await sets.row<[number]>('SELECT EXISTS (FROM formers)')) ?? [];
  if (hasFormers) await sets.run(ofExport('yield_to_staying'));
};

const enrollmentColumns = {
  ...{
    id: 'sourcedId',
    class_source_id: 'classSourcedId',
    user_source_id: 'userSourcedId',
    role: 'role',
    status: 'status',
  },
  ...{ begins: 'beginDate', ends: 'endDate', changed: 'dateLastModified' },
};

const readEnrollments = async (reading: Reading, users: Table | undefined): Promise<UnknownRoles> => {
  const { comparison, given } = reading;
  const { sets } = comparison;
  const isBulk = given.modes.enrollments === 'bulk';
  const table = await openFile(reading, 'enrollments');
  if (table) {
    await viewRows(sets, table, { columns: enrollmentColumns });
    await sets.run('SET VARIABLE has_ids = CAST($1 AS BOOLEAN)', [String(table.at('sourcedId') >= 0)]);
    await sets.run(ofEnrollments('read'));
  }
  await addUserRoles(reading, users);
  await sets.run(ofEnrollments('judge'));
  const contradictions =
    given.modes.enrollments === 'delta' ? ofEnrollments('refuse_contradictions') : undefined;
  const hasRefused = await refuseClaims(comparison, 'enrollments', contradictions);
  await sets.run('SET VARIABLE is_bulk = CAST($1 AS BOOLEAN)', [String(isBulk)]);
  await sets.run(ofEnrollments('claim'));
  if (!isBulk) await keepRefused(comparison, 'enrollments');
  const unknown = hasRefused ? await unknownRolesIn(sets) : new Map<string, number>();
  await countPassedRows(comparison, 'enrollments');
  await countRows(comparison, 'enrollments.csv', ofEnrollments('count_fates'));
  await noteSaid(comparison);
  await sets.run('DROP TABLE read_rows');
  return unknown;
};

const unknownRolesIn = async (sets: SetEngine): Promise<UnknownRoles> => {
  const roles = await sets.all<[string | null, number]>(ofEnrollments('list_unknown_roles'));
  const unknown: UnknownRoles = new Map(
    roles.map(([role, rows]) => [role === null ? 'and others' : JSON.stringify(role), rows]),
  );
  for (const [role, rows] of unknown) {
    const problem = `the role ${role} has no id in "roles" of snapshot-settings.json: ${rows} rows were refused`;
    await sets.run(`INSERT INTO problems VALUES ('enrollments.csv', NULL, 'role', $1)`, [problem]);
  }
  return unknown;
};

const resultColumns = {
  ...{
    id: 'sourcedId',
    item_source_id: 'lineItemSourcedId',
    user_source_id: 'studentSourcedId',
    status: 'status',
    graded: 'scoreStatus',
    score: 'score',
  },
  ...{ words: 'textScore', comments: 'comment', changed: 'dateLastModified' },
};

const readResults = async (reading: Reading): Promise<void> => {
  const { comparison, given } = reading;
  const { sets } = comparison;
  const isBulk = given.modes.results === 'bulk';
  const table = await openFile(reading, 'results');
  if (table) {
    await viewRows(sets, table, { columns: resultColumns });
    await sets.run(ofResults('read'));
  }
  await sets.run(ofResults('judge'));
  const contradictions = given.modes.results === 'delta' ? ofResults('refuse_contradictions') : undefined;
  await refuseClaims(comparison, 'results', contradictions);
  await sets.run(ofResults('claim'));
  await countPassedRows(comparison, 'results');
  await countRows(comparison, 'results.csv', ofResults('count_fates'));
  await noteSaid(comparison);
  if (comparison.hasBefore)
    await sets.run(ofResults(isBulk ? 'remember_rows_of_bulk' : 'remember_rows_of_delta'));
  if (!isBulk) await keepRefused(comparison, 'results');
  const [hasRefused] =
    (await sets.row<[number]>(`SELECT EXISTS (FROM refused_rows WHERE kind_name = 'results')`)) ?? [];
  if (hasRefused) await sets.run(ofResults('find_outdated'));
  if (!isBulk) await sets.run(ofResults('claim_still'));
  await sets.run('DROP TABLE read_rows');
};
