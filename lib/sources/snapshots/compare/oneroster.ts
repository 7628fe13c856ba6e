import type { SetEngine } from '../../../runtime/files/tables/engine.ts';
import { rowsOf, type Table } from '../../../runtime/files/tables/table.ts';
import { type RecordType, readNames, withName } from '../package/names.ts';
import type { Package } from '../package/package.ts';
import { countPassedRows, passedNamesOf } from '../package/passed.ts';
import { openFile, type Read, type Reading, readAhead } from '../package/reading.ts';
import { addUserRoles } from '../package/roles.ts';
import { countClaims, countRows, fateOfProblem, refusedStill, reportRows } from '../package/rows.ts';
import { type SnapshotSettings, type UserField, userField } from '../package/settings-file.ts';
import { loadShared } from '../state/accepted.ts';
import type { Comparison, NameMoves } from './comparison.ts';
import { loadOtherGrades } from './grades.ts';
import { itemsOfState, settleLineItems } from './line-items.ts';
import { settleEnrollments } from './others.ts';
import {
  addKinds,
  type CheckedValue,
  compareWanted,
  countWanted,
  type Forms,
  type Further,
  type Kind,
  refuseDoubled,
  refuseValues,
  writeChanges,
  writeState,
} from './wanted.ts';

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
  const reading: Reading = { given, comparison, tables: readAhead(given), read: {} };
  await addKinds(comparison, [enrollments, results]);
  await sets.run(makers(settings));
  await sets.add(
    'roles',
    Object.entries(settings.roles).map(([role, id]) => [role, String(id)]),
  );
  refuseDoubled(await sets.all<[string, number]>(doubledNames), comparison);
  await loadShared(comparison);
  const { users } = await readNames(reading, lastField);
  const items = await openFile(reading, 'lineItems');
  await settleLineItems(items, modes.lineItems, comparison);
  await load(comparison);
  comparison.nameMoves = await nameMovesIn(comparison);
  const unknownRoles = await readEnrollments(reading, users);
  await readResults(reading);
  comparison.passedNames = await passedNamesOf(comparison, modes);
  await yieldToStaying(comparison);
  const [hasDoubtful] = (await sets.row<[number]>('SELECT EXISTS (FROM doubtful_names)')) ?? [];
  if (hasDoubtful) await sets.run(findDoubtful(settings.user.field));
  const forms = formsOf(Boolean(hasDoubtful));
  await sets.run(`${meantByThings}; ${fileGrades(settings.user.field)}`);
  await loadOtherGrades(comparison);
  await compareWanted(comparison);
  comparison.effects = await settleEnrollments(comparison, {
    file: 'enrollments.csv',
    column: 'role',
  });
  await sets.run(recallComments);
  await refuseValues(comparison, { joins: forms.joins, values: checkedValues(settings.user.field) });
  await countWanted(comparison);
  await countClaims(comparison);
  await sets.run(movedAlong);
  if (comparison.hasBefore) await sets.run(forgetGone(modes.results === 'bulk'));
  await writeChanges(comparison, forms);
  await sets.run(furtherRows);
  await writeState(comparison, { forms, further: furtherState });
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

/**
 * `names`: the names of classes and users, what they stand for, or why they are unknown. `renamed`: names that none of their
 * former bearers has, and the one name that all of those have now. The `wanted_value` of an enrollment is its role, and that of a grade
 * the grade and its comments; `org_unit_or_object` is the org unit's code or the grade object. The key has what these stand for.
 */
const makers = ({ user, dateOrder }: SnapshotSettings): string => `
  ${spoken(user.field)}
  CREATE TABLE roles (role VARCHAR, role_id VARCHAR);
  CREATE TABLE names_before (record_type VARCHAR, id VARCHAR, name VARCHAR, active BIGINT, platform_id VARCHAR);
  CREATE TABLE names_now (record_type VARCHAR, id VARCHAR, name VARCHAR, active BIGINT);
  CREATE TABLE same_people (name VARCHAR, id VARCHAR);
  CREATE MACRO enrollment_key(org_unit_ref, user_ref) AS 'e' || chr(31) || org_unit_ref || chr(31) || user_ref;
  CREATE MACRO grade_key(object, user_ref) AS 'g' || chr(31) || object || chr(31) || user_ref;
  CREATE MACRO key_of_kind(state_kind, org_unit_or_object, user_ref) AS
    CASE WHEN is_enrollment(state_kind) THEN enrollment_key(org_unit_or_object, user_ref) ELSE grade_key(org_unit_or_object, user_ref) END;
  CREATE MACRO org_unit_in(key) AS CASE WHEN key[1] = 'e' THEN split_part(key, chr(31), 2) END;
  CREATE MACRO has_id(key) AS contains(key, chr(2));
  CREATE MACRO user_in(key) AS split_part(key, chr(31), -1);
  CREATE MACRO fate_of_gone(status) AS CASE WHEN status = 'inactive' THEN 'notActive' ELSE 'deleted' END;
  CREATE MACRO can_be_two_days(x) AS regexp_full_match(x, '[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}${timeOfDay}');
  CREATE MACRO day_of(x) AS CASE
    WHEN regexp_full_match(x, '[0-9]{4}-[0-9]{2}-[0-9]{2}${timeOfDay}') THEN CASE WHEN TRY_CAST(left(x, 10) AS DATE) IS NOT NULL THEN left(x, 10) END
    ${dateOrder === undefined ? '' : `WHEN can_be_two_days(x) THEN ${dayInOrder(dateOrder)}`} END;
  ${enrollmentMacros(user.field)}
`;

/**
 * The time of a cell. It may be a day alone, which stands for its beginning. The standard has times in UTC. `instant`: the result
 * of `instant_in`; `day`: its day; `clock`: its time of day in other notations. They are columns, because an expression that
 * repeats itself takes long to plan.
 */
const clockIn = (cell: string): string =>
  `regexp_extract(${cell}, '[T ]([0-9]{1,2}):([0-9]{2})(:[0-9]{2}(?:[.][0-9]+)?)? ?([AaPp]?)[Mm]?(Z|[+-][0-9]{2}:?[0-9]{2})?$',
    ['hour', 'minute', 'second', 'half', 'zone'])`;
const timeOfClock = `
  coalesce(instant, instant_in(day || 'T' || lpad(CASE WHEN clock.half = '' THEN clock.hour
      ELSE CAST(TRY_CAST(clock.hour AS INTEGER) % 12 + CASE WHEN lower(clock.half) = 'p' THEN 12 ELSE 0 END AS VARCHAR) END, 2, '0')
    || ':' || clock.minute || coalesce(nullif(clock.second, ''), ':00') || coalesce(nullif(clock.zone, ''), 'Z')),
    epoch_ms(TRY_CAST(day AS TIMESTAMP)))`;

const noUser = JSON.stringify(
  Object.fromEntries(['userId', ...userField.options].map((field) => [field, null])),
);

/** The parts of events about users and grades. */
const spoken = (userField: UserField): string => `
  CREATE MACRO org_unit_data(ref) AS coalesce('"orgUnitId":' || id_in_ref(ref), '"orgUnitCode":' || to_json(ref));
  CREATE MACRO user_data(ref) AS coalesce(',"userId":' || id_in_ref(ref), ',"${userField}":' || to_json(ref));
  CREATE MACRO without_user(data) AS CAST(json_merge_patch(CAST(data AS JSON), CAST('${noUser}' AS JSON)) AS VARCHAR);
  CREATE MACRO with_user(data, ref) AS left(without_user(data), -1) || user_data(ref) || '}';
  CREATE MACRO numeric_grade(points, comments) AS
    '{"type":"numeric","points":' || number_text(points) || '}' || chr(31) || coalesce(comments, '');
  CREATE MACRO text_grade(words, comments) AS
    '{"type":"text","text":' || to_json(words) || '}' || chr(31) || coalesce(comments, '');
  CREATE MACRO grade_of(wanted_value) AS split_part(wanted_value, chr(31), 1);
  CREATE MACRO comments_of(wanted_value) AS split_part(wanted_value, chr(31), 2);
`;

const timeOfDay = '([T ][0-9:.]+ ?([AaPp][Mm])?(Z|[+-][0-9]{2}:?[0-9]{2})?)?';

const dayInOrder = (order: NonNullable<SnapshotSettings['dateOrder']>): string => {
  const number = (place: number): string =>
    `regexp_extract(x, '^([0-9]+)[./-]([0-9]+)[./-]([0-9]{4})', ${place})`;
  const [day, month] = order === 'day-month-year' ? [1, 2] : [2, 1];
  const text = [number(3), ...[month, day].map((place) => `lpad(${number(place)}, 2, '0')`)].join(
    ` || '-' || `,
  );
  return `CAST(TRY_CAST(${text} AS DATE) AS VARCHAR)`;
};

const badStatus = `['status', 'must be active, inactive or tobedeleted']`;

/** The problem of a date that cannot be read, or can be read in two ways. */
const unread = (
  column: string,
  value: string,
  { otherwise, settings }: { otherwise: string; settings: SnapshotSettings },
): string => `
  CASE WHEN ${settings.dateOrder === undefined} AND can_be_two_days(${value}) THEN ['${column}', 'can be two days, as 1/05/2023 can. Set "dateOrder" to "day-month-year" or "month-day-year" in snapshot-settings.json', 'twoReadings']
    ELSE ['${column}', '${otherwise}'] END`;

/** Expressions for what a row is about, as `ref_of` gives it. */
type Things = { orgUnit: string; user: string; ofItem?: string };

const gradeData = (
  withoutComments: string,
  { user }: Pick<Things, 'user'>,
  orgUnit = 'i.org_unit_ref',
): string => `
  coalesce('{' || org_unit_data(${orgUnit}) || ',"gradeObjectName":' || to_json(i.title)
    || CASE WHEN i.former_titles IS NULL THEN '' ELSE ',"gradeObjectFormerNames":' || i.former_titles END || user_data(${user}) || ',"grade":'
    || CASE WHEN i.out_of IS NOT NULL AND starts_with(d.wanted_value, '{"type":"numeric"')
         THEN left(grade_of(d.wanted_value), -1) || ',"outOf":' || i.out_of || '}' ELSE grade_of(d.wanted_value) END
    || CASE WHEN comments_of(d.wanted_value) <> '' THEN ',"comments":' || to_json(comments_of(d.wanted_value)) ELSE ${withoutComments} END || '}',
    with_user(d.data, ${user}))`;

const dataOf = (withoutComments: string, things: Things): string => `
  CASE WHEN is_enrollment(d.state_kind) THEN '{' || org_unit_data(${things.orgUnit}) || user_data(${things.user}) || ',"roleId":' || d.wanted_value || '}'
    ELSE ${gradeData(withoutComments, things, things.ofItem)} END`;

/** Most exports are of names that are all known, or none is: then the key need not be taken apart. */
const ofKey: Things = {
  orgUnit: 'CASE WHEN has_id(d.key) THEN org_unit_in(d.key) ELSE d.org_unit_or_object END',
  user: 'CASE WHEN has_id(d.key) THEN user_in(d.key) ELSE d.user_name END',
};
/** A grade is known by its grade object: the org unit of that is named as it was accepted, unless its name is doubtful. */
const ofMessage: Things = {
  ...ofKey,
  ofItem: 'CASE WHEN x.name IS NULL THEN i.org_unit_ref ELSE i.org_unit_code END',
};
const ofState: Things = {
  orgUnit: 'ref_of(d.org_unit_id, d.org_unit_or_object)',
  user: 'ref_of(d.user_id, d.user_name)',
};

const findDoubtful = (userField: UserField): string => `
  INSERT INTO doubtful_claims
    SELECT key, source_row, key_of_kind(state_kind, CASE WHEN is_grade(state_kind) OR x.name IS NOT NULL THEN org_unit_or_object ELSE org_unit_in(key) END,
      CASE WHEN y.name IS NULL THEN user_in(key) ELSE user_name END) AS key_by_name
    FROM claims LEFT JOIN doubtful_names x ON x.field = 'orgUnitCode' AND is_enrollment(state_kind) AND x.name = org_unit_or_object
      LEFT JOIN doubtful_names y ON y.field = '${userField}' AND y.name = user_name
    WHERE (x.name IS NOT NULL OR y.name IS NOT NULL) AND key_by_name <> key`;

const formsOf = (hasDoubtful: boolean): Forms => ({
  joins: `LEFT JOIN items i ON i.object = CASE WHEN is_grade(d.state_kind) THEN d.org_unit_or_object END
    ${hasDoubtful ? `LEFT JOIN doubtful_names x ON x.field = 'orgUnitCode' AND x.name = i.org_unit_code` : ''}`,
  // A comment that the SIS has removed is cleared.
  sent: dataOf(
    `CASE WHEN comments_of(d.accepted_value) <> '' THEN ',"comments":""' ELSE '' END`,
    hasDoubtful ? ofMessage : ofKey,
  ),
  removalData: `'{' || org_unit_data(${ofKey.orgUnit}) || user_data(${ofKey.user}) || '}'`,
  derived: 'NULL AS key',
  ids: `CASE WHEN has_id(d.key) THEN id_in_ref(org_unit_in(d.key)) END AS org_unit_id,
    CASE WHEN has_id(d.key) THEN id_in_ref(user_in(d.key)) END AS user_id`,
});

/** What was accepted as the data of its messages: `data` is that of `d`, a row of the state. */
export const acceptedData = (userField: UserField) => ({
  tables: `${spoken(userField)} ${itemsOfState}`,
  data: dataOf(`''`, ofState),
  joins: `LEFT JOIN items_before i ON i.object = CASE WHEN is_grade(d.state_kind) THEN d.org_unit_or_object END`,
});

/** Which claims are about enrollments, for the statements over all files. */
const enrollmentMacros = (userField: UserField): string => `
  CREATE MACRO is_about_enrollment(kind_name) AS kind_name = 'enrollments';
  CREATE MACRO enrollment_in(kind_name, key) AS
    CASE WHEN kind_name = 'enrollments' THEN enrollment_of(id_in_ref(org_unit_in(key)), 'orgUnitCode=' || org_unit_in(key),
      id_in_ref(user_in(key)), '${userField}=' || user_in(key)) END;
  CREATE MACRO org_unit_token(org_unit_or_object) AS 'orgUnitCode=' || org_unit_or_object;
  CREATE MACRO role_of(wanted_value) AS wanted_value;
  -- The platform cannot clear a grade.
  CREATE MACRO removal_function(state_kind, removal) AS CASE WHEN is_enrollment(state_kind) THEN 'enrollment-remove' END;
`;

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
    ofEnrollment('d.org_unit_or_object', 'classSourcedId', (text) => ({ orgUnitCode: text })),
    ofEnrollment('d.user_name', 'userSourcedId', (text) => ({ [userField]: text })),
    ofGrade('i.org_unit_ref', 'lineItemSourcedId', (text) => ({ orgUnitCode: text })),
    ofGrade('i.title', 'lineItemSourcedId', (text) => ({ gradeObjectName: text })),
    ofGrade('d.user_name', 'studentSourcedId', (text) => ({ [userField]: text })),
    ofGrade('grade_of(d.wanted_value)', 'score', (text) => ({ grade: JSON.parse(text) })),
    ofGrade('comments_of(d.wanted_value)', 'comment', (text) => ({ comments: text })),
  ];
};

/**
 * What was accepted, by the current names and by what it stood for then: what a name stands for now is something else, unless it was
 * unknown. `data`: the data of a grade whose line item is gone. `must_resend`: it is sent again, as it was sent by a name that stood for
 * nothing, and has another name now; or because its name is known now, and a message that waited for that may have overruled another
 * file.
 */
type Loaded = Pick<Comparison, 'number' | 'isOf10'>;

const orgUnitWas =
  'CASE WHEN id_in_ref(d.org_unit_ref) IS NULL THEN ref_of(q.platform_id, coalesce(d.org_unit_ref, i.org_unit_ref)) ELSE d.org_unit_ref END';
const wasNow = ({ number, isOf10 }: Loaded): string => `
  SELECT * EXCLUDE (org_unit_id, user_id, new_org_unit_name, new_user_name, is_merged, has_moved, is_learnt),
    key_of_kind(state_kind, CASE WHEN is_enrollment(state_kind) THEN ref_of(org_unit_id, org_unit_or_object) ELSE org_unit_or_object END, ref_of(user_id, user_name)) AS key,
    (org_unit_id IS NULL AND new_org_unit_name IS NOT NULL) OR (user_id IS NULL AND (new_user_name IS NOT NULL OR is_merged OR field_of('user') <> field_before('user'))) OR has_moved
      OR (is_learnt AND ${!isOf10} AND is_enrollment(state_kind) AND enrollment_of(org_unit_id, 'orgUnitCode=' || org_unit_or_object, user_id, field_before('user') || '=' || user_name) IN (SELECT enrollment FROM other_claims)) AS must_resend
  FROM (
    SELECT CASE WHEN is_enrollment(d.state_kind) THEN 'enrollments' ELSE 'results' END AS kind_name, d.state_kind,
      CASE WHEN is_enrollment(d.state_kind) THEN coalesce(c.new_name, d.org_unit_or_object) ELSE d.org_unit_or_object END AS org_unit_or_object, coalesce(u.new_name, d.user_name) AS user_name, ${orgUnitWas} AS org_unit_ref,
      coalesce(d.org_unit_id, o.platform_id) AS org_unit_id, coalesce(d.user_id, p.platform_id) AS user_id,
      (d.org_unit_id IS NULL AND o.platform_id IS NOT NULL) OR (d.user_id IS NULL AND p.platform_id IS NOT NULL) AS is_learnt,
      c.new_name AS new_org_unit_name, u.new_name AS new_user_name, m.name IS NOT NULL AS is_merged,
      d.wanted_value, d.source_row, d.said_at_ms, d.source_id_hash, coalesce(d.last_snapshot_number, ${number}) AS last_snapshot_number,
      CASE WHEN is_grade(d.state_kind) AND n.object IS NULL THEN without_user(${gradeData(`''`, { user: 'd.user_name' })}) END AS data,
      (is_grade(d.state_kind) AND n.org_unit_ref <> ${orgUnitWas}) IS TRUE AS has_moved, d.row_standing IS NOT DISTINCT FROM 'disputed' AS was_disputed,
      coalesce(c.active, 1) = 1 AND coalesce(u.active, 1) = 1 AS stays, key_of_kind(d.state_kind, d.org_unit_or_object, d.user_name) AS old_key
    FROM (FROM state_wanted WHERE state_kind IN ('2', '3')) d
      LEFT JOIN renamed c ON c.record_type = 'class' AND c.old_name = CASE WHEN is_enrollment(d.state_kind) THEN d.org_unit_or_object END
      LEFT JOIN renamed u ON u.record_type = 'user' AND u.old_name = d.user_name LEFT JOIN merged_names m ON m.name = d.user_name
      LEFT JOIN former_ids o ON o.record_type = 'class' AND o.name = CASE WHEN is_enrollment(d.state_kind) AND d.org_unit_id IS NULL THEN d.org_unit_or_object END
      LEFT JOIN former_ids p ON p.record_type = 'user' AND p.name = CASE WHEN d.user_id IS NULL THEN d.user_name END
      LEFT JOIN former_ids q ON q.record_type = 'class' AND q.name = d.org_unit_ref
      LEFT JOIN items n ON n.object = CASE WHEN is_grade(d.state_kind) THEN d.org_unit_or_object END
      LEFT JOIN items_before i ON i.object = CASE WHEN is_grade(d.state_kind) THEN d.org_unit_or_object END)`;

const loadAsNamed = (loaded: Loaded): string => `
  INSERT INTO accepted BY NAME SELECT * EXCLUDE (old_key, stays) FROM (${wasNow(loaded)});
  DROP TABLE row_claims;
  CREATE VIEW row_claims AS SELECT kind_name, source_row, key, source_id_hash FROM accepted UNION ALL FROM shared_row_claims;
`;

/**
 * If two users or classes become one, the state on the platform is unknown: the other may have something there that is no longer
 * wanted. So everything of the remaining name (`merged_names`) is sent again; the newest grade is held, and the role by the remaining
 * name, or else that of the record that stays.
 */
const loadRenamed = (loaded: Loaded): string => `
  CREATE TABLE accepted_claims AS ${wasNow(loaded)};
  CREATE TABLE merged AS SELECT key FROM accepted_claims GROUP BY key HAVING count(*) > 1;
  INSERT INTO accepted BY NAME SELECT * EXCLUDE (old_key, stays) FROM accepted_claims ANTI JOIN merged USING (key);
  INSERT INTO accepted BY NAME
    SELECT any_value(kind_name) AS kind_name, key, any_value(state_kind) AS state_kind, any_value(org_unit_or_object) AS org_unit_or_object,
      any_value(user_name) AS user_name, any_value(org_unit_ref) AS org_unit_ref, arg_max(wanted_value, newest) AS wanted_value, arg_max(source_row, newest) AS source_row, arg_max(source_id_hash, newest) AS source_id_hash,
      max(said_at_ms) AS said_at_ms, max(last_snapshot_number) AS last_snapshot_number, arg_max(data, newest) AS data, bool_or(must_resend) OR min(wanted_value) <> max(wanted_value) AS must_resend, bool_or(was_disputed) AS was_disputed
    FROM (SELECT *, (CASE WHEN is_grade(state_kind) THEN coalesce(said_at_ms, 0) ELSE 0 END, key = old_key, stays, wanted_value) AS newest FROM accepted_claims SEMI JOIN merged USING (key))
    GROUP BY key;
  INSERT INTO row_claims SELECT kind_name, source_row, key, source_id_hash FROM accepted_claims;
  INSERT INTO row_claims SELECT s.kind_name, s.source_row, coalesce(w.key, s.key), s.source_id_hash FROM shared_row_claims s LEFT JOIN accepted_claims w ON w.old_key = s.key AND w.key <> s.key;
  DROP TABLE accepted_claims; DROP TABLE merged;
`;

/** While the grade object exists, the platform keeps the comments of grades that the SIS has removed: `wanted_value` is the last grade. */
const loadComments = `
  CREATE TABLE comments_left AS
    SELECT key, any_value(org_unit_or_object) AS org_unit_or_object, any_value(user_name) AS user_name, min(wanted_value) AS wanted_value FROM (
      SELECT d.org_unit_or_object, coalesce(u.new_name, d.user_name) AS user_name, grade_key(d.org_unit_or_object, ref_of(coalesce(d.user_id, p.platform_id), coalesce(u.new_name, d.user_name))) AS key, d.wanted_value
      FROM state_comments d LEFT JOIN renamed u ON u.record_type = 'user' AND u.old_name = d.user_name
        LEFT JOIN former_ids p ON p.record_type = 'user' AND p.name = CASE WHEN d.user_id IS NULL THEN d.user_name END)
    GROUP BY key`;

/** Which results a whole export has, in little memory, and which a delta deletes. */
const resultsHere =
  'CREATE TABLE results_here AS SELECT hash(source_row) AS hash FROM result_rows WHERE NOT is_gone(status)';
const resultsDeleted =
  'CREATE TABLE results_deleted AS SELECT source_row FROM result_rows WHERE is_gone(status) AND problem IS NULL';

/**
 * Results that the SIS has no more, and whose grades stay. A later delta would take them for rows that it does not name, and send what
 * they claimed. Only their line item is kept, which no row has as its id: by that, times can be compared.
 */
const forgetGone = (isWhole: boolean): string => `
  CREATE TABLE gone AS
    WITH kept AS MATERIALIZED (SELECT DISTINCT source_row, hash(source_row) AS hash FROM kept_row_claims WHERE kind_name = 'results')
    SELECT source_row, split_part(source_row, chr(31), 1) || chr(31) AS rest FROM kept
      ${isWhole ? 'ANTI JOIN (FROM results_here SEMI JOIN kept USING (hash)) USING (hash)' : 'SEMI JOIN results_deleted USING (source_row)'};
  UPDATE kept_row_claims SET source_row = g.rest FROM gone g WHERE kept_row_claims.kind_name = 'results' AND kept_row_claims.source_row = g.source_row;
  UPDATE difference SET source_row = g.rest FROM gone g WHERE difference.kind_name = 'results' AND difference.source_row = g.source_row;
`;

/** What is sent for a grade that is held is sent to where its line item is now: from there that may move back. */
const movedAlong = `
  UPDATE difference SET org_unit_ref = i.org_unit_ref FROM items i WHERE is_grade(difference.state_kind) AND difference.change = 'updated' AND i.object = difference.org_unit_or_object AND difference.org_unit_ref <> i.org_unit_ref`;

/** A grade that comes back knows the comments on the platform, which it may clear. */
const recallComments = `
  UPDATE difference SET accepted_value = l.wanted_value FROM comments_left l WHERE difference.key = l.key AND difference.change = 'created'`;

const load = async ({ sets, hasBefore, number, isOf10 }: Comparison): Promise<void> => {
  await sets.run(
    'CREATE TABLE enrollments_before AS SELECT source_id AS id, * EXCLUDE (source_id) FROM state_enrollment_rows',
  );
  await sets.run(loadComments);
  if (!hasBefore) return;
  // Two may be one only if something is known by another name, or was not known.
  const [isOther] =
    (await sets.row<[number]>('SELECT EXISTS (FROM renamed) OR EXISTS (FROM former_ids WHERE is_new)')) ?? [];
  await sets.run((isOther ? loadRenamed : loadAsNamed)({ number, isOf10 }));
};

const nameMovesIn = async ({ sets }: Comparison): Promise<NameMoves> => {
  await sets.run(`
    CREATE TABLE name_moves AS
      SELECT n.record_type, n.name, n.id, f.platform_id AS former_id, n.platform_id FROM names n JOIN former f USING (record_type, id)
      WHERE n.problem IS NULL AND f.platform_id <> n.platform_id;
    INSERT INTO problems
      SELECT CASE record_type WHEN 'class' THEN 'classes.csv' ELSE 'users.csv' END, NULL, NULL, 'the name of the record ' || id || ' stands for '
        || platform_id || ' on the platform, and stood for ' || former_id || ' when it was accepted' FROM name_moves`);
  const [names = 0, claims = 0, people = 0, orgUnits = 0] =
    (await sets.row<[number, number, number, number]>(`
      WITH moved AS (
        FROM accepted w WHERE EXISTS (FROM name_moves) AND (
          id_in_ref(user_in(w.key)) IN (SELECT former_id FROM name_moves WHERE record_type = 'user')
          OR id_in_ref(CASE WHEN is_enrollment(w.state_kind) THEN org_unit_in(w.key) ELSE w.org_unit_ref END) IN (SELECT former_id FROM name_moves WHERE record_type = 'class')))
      SELECT (SELECT count(*) FROM name_moves), count(*), count(DISTINCT user_name), count(DISTINCT CASE WHEN is_enrollment(state_kind) THEN org_unit_or_object ELSE org_unit_ref END) FROM moved`)) ??
    [];
  return { names, claims, people, orgUnits };
};

/** Testing an id takes longer than joining it, and every known id was tested. */
const isKnownOrId = (isKnown: string, id: string): string =>
  `CASE WHEN ${isKnown} THEN true ELSE is_id(${id}) END`;

/** Whom an unusable row may mean: no known one, if neither of two ids is known. */
const whoOf = (where: 'class_source_id' | 'item_source_id'): string => {
  const isForeign = `org_unit_or_object IS NULL AND user_name IS NULL AND is_id(${where}) AND is_id(user_source_id)`;
  return `CASE WHEN ${isForeign} THEN '' ELSE org_unit_or_object END, CASE WHEN ${isForeign} THEN '' ELSE user_name END`;
};

/** For the statements over all files. */
const fileGrades = (userField: UserField): string => `
  CREATE VIEW file_grades AS
    SELECT c.key, c.state_kind, grade_named(coalesce(id_in_ref(i.org_unit_ref), 'orgUnitCode=' || i.org_unit_ref), object_named(i.title),
        coalesce(id_in_ref(user_in(c.key)), '${userField}=' || user_in(c.key))) AS grade,
      bare_grade_in(CAST(grade_of(c.wanted_value) AS JSON)) AS bare_grade, c.said_at_ms, c.line
    FROM claims c JOIN items i ON i.object = c.org_unit_or_object WHERE is_grade(c.state_kind)`;

/** An unusable row means what its names stand for, or stood for: two names may stand for one thing. */
const meantByThings = `
  CREATE VIEW name_refs AS
    SELECT record_type, name, ref FROM names WHERE problem IS NULL UNION SELECT record_type, name, ref_of(platform_id, name) FROM former;
  CREATE OR REPLACE VIEW meant_rows AS
    SELECT r.* REPLACE (coalesce(o.ref, r.org_unit_or_object) AS org_unit_or_object, coalesce(u.ref, r.user_name) AS user_name) FROM unusable_rows r
      LEFT JOIN name_refs o ON o.record_type = 'class' AND r.kind_name = 'enrollments' AND o.name = r.org_unit_or_object
      LEFT JOIN name_refs u ON u.record_type = 'user' AND u.name = r.user_name;
  CREATE OR REPLACE VIEW accepted_keys AS
    SELECT kind_name, key, CASE WHEN is_enrollment(state_kind) THEN org_unit_in(key) ELSE org_unit_or_object END AS org_unit_or_object, user_in(key) AS user_name, last_snapshot_number
    FROM accepted`;

/** A grade object that has passed to another line item has only that one's grades. */
const passedOn = `
  INSERT INTO outdated_row_claims
    SELECT DISTINCT r.kind_name, r.source_row, b.key FROM refused_rows r JOIN row_claims b USING (kind_name, source_row) JOIN accepted w USING (key) JOIN items i ON i.object = w.org_unit_or_object
    WHERE r.kind_name = 'results' AND i.id <> split_part(r.source_row, chr(31), 1)`;

/** An id that differs from a known one only by surrounding spaces or by case is a slip: the row may mean that one. */
const takeSlips = (
  table: 'enrollment_rows' | 'result_rows',
  {
    id,
    as,
    column,
    known,
  }: { id: string; as: 'org_unit_or_object' | 'user_name'; column: string; known: string },
): string => `
  UPDATE ${table} SET ${as} = k.name, problem = CASE WHEN problem[1] = '${column}' AND problem[3] = 'notInPackage'
      THEN ['${column}', 'differs from an id of the package by a space or by upper and lower case alone'] ELSE problem END
    FROM (SELECT ${slipOf('id')} AS slip, any_value(name) AS name FROM (${known}) GROUP BY slip HAVING count(*) = 1) k
    WHERE ${table}.problem IS NOT NULL AND ${table}.${as} IS NULL AND k.slip = ${slipOf(`${table}.${id}`)};`;

/** The row of a record whose name passed to it means what the record had by its own former name, or if it is new, what the former bearer had. */
const takePassed = (table: 'enrollment_rows' | 'result_rows'): string => `
  UPDATE ${table} SET user_name = coalesce(w.name, n.name) FROM names n LEFT JOIN names_before w USING (record_type, id)
    WHERE ${table}.problem[3] = 'namePassed' AND ${table}.user_name IS NULL AND n.record_type = 'user' AND n.id = ${table}.user_source_id;`;

const slipOf = (id: string): string => `lower(trimmed(${id}))`;
const knownNames = (type: RecordType): string =>
  `SELECT id, CASE WHEN problem IS NULL THEN name END AS name FROM names WHERE record_type = '${type}'`;

/**
 * What is said in a delta must be newer than what was accepted: also a deletion, and a row that comes back after a deletion. An export
 * that has all enrollments ends what is known of deletions.
 */
const refuseOlder = `
  UPDATE enrollment_rows SET problem = ['dateLastModified', 'is before the time of the accepted enrollment, which stays']
    FROM row_claims k JOIN accepted w USING (key)
    WHERE enrollment_rows.problem IS NULL AND is_gone(enrollment_rows.status) AND k.kind_name = 'enrollments' AND k.source_row = enrollment_rows.source_row AND enrollment_rows.said_at_ms < w.said_at_ms;
  UPDATE enrollment_rows SET problem = ['dateLastModified', 'is before the time at which the enrollment was deleted']
    FROM state_deletions t WHERE enrollment_rows.problem IS NULL AND NOT is_gone(enrollment_rows.status) AND t.source_id = enrollment_rows.id AND enrollment_rows.said_at_ms < t.said_at_ms;`;

/** Longer than a file is put again. */
const deletionKeptMs = 40 * 24 * 3_600_000;

/** The rows of a delta with one id must agree; if several rows were accepted by this id, it is unknown which one is meant. */
const refuseUnclear = `
  UPDATE enrollment_rows SET problem = ['sourcedId', 'another row has the same sourcedId, but differs']
    WHERE problem IS NULL AND id IN (SELECT id FROM enrollment_rows WHERE problem IS NULL GROUP BY id
      HAVING count(DISTINCT CASE WHEN is_gone(status) THEN '' ELSE concat_ws(chr(31), class_source_id, user_source_id, role, begins, ends) END) > 1);
  UPDATE enrollment_rows SET problem = ['sourcedId', 'several accepted rows have this sourcedId. Give each enrollment its own, and export all as bulk']
    WHERE problem IS NULL AND id IN (SELECT id FROM enrollments_before SEMI JOIN enrollment_rows USING (id) GROUP BY id
      HAVING min(class_source_id) <> max(class_source_id) OR min(user_source_id) <> max(user_source_id));`;

/** A delta may delete a result by its \`sourcedId\` alone. Earlier versions did not keep those. */
const findDeleted = `
  UPDATE result_rows SET source_row = b.source_row FROM row_claims b
    WHERE starts_with(result_rows.source_row, '#') AND is_gone(result_rows.status) AND problem IS NULL AND b.kind_name = 'results' AND b.source_id_hash = result_rows.source_id_hash;
  UPDATE result_rows
    SET problem = ['sourcedId', 'is not known of all accepted results. To delete this one, give lineItemSourcedId and studentSourcedId, too']
    WHERE starts_with(source_row, '#') AND is_gone(status) AND problem IS NULL AND EXISTS (FROM accepted WHERE is_grade(state_kind) AND source_id_hash IS NULL);`;

const refuseContradictions = `
  UPDATE result_rows SET problem = ['lineItemSourcedId', '${differentResults}'], wanted_value = NULL
    WHERE problem IS NULL AND source_row IN (SELECT source_row FROM result_rows WHERE problem IS NULL GROUP BY source_row
      HAVING bool_or(is_gone(status)) AND NOT bool_and(is_gone(status)));`;

type Refusing = {
  table: 'enrollment_rows' | 'result_rows';
  kindName: 'enrollments' | 'results';
  where: 'class_source_id' | 'item_source_id';
  slips: string;
  /** Only for a delta. */
  contradictions: string | undefined;
};

/** Reports unusable rows. Most exports have none; then no statement is planned. */
const refuseRows = async (
  sets: SetEngine,
  { table, kindName, where, slips, contradictions }: Refusing,
): Promise<boolean> => {
  const anyRefused = `SELECT EXISTS (FROM ${table} WHERE problem IS NOT NULL)`;
  if (contradictions === undefined && !(await sets.row<[number]>(anyRefused))?.[0]) return false;
  await sets.run(`
    ${slips}
    ${takePassed(table)}
    ${contradictions ?? ''}
    INSERT INTO refused_rows (kind_name, source_row, org_unit_or_object, user_name) SELECT '${kindName}', source_row, ${whoOf(where)} FROM ${table} WHERE problem IS NOT NULL;
    ${reportRows(`${kindName}.csv`, table)}`);
  return true;
};

/** Each record and line item must be known once. */
const doubledNames = `
  SELECT what, count(*) FROM (
    SELECT 'names' AS what FROM state_names GROUP BY record_type, source_id HAVING count(*) > 1
    UNION ALL SELECT 'line items' FROM state_line_items GROUP BY source_id HAVING count(*) > 1
    UNION ALL SELECT 'grade objects' FROM state_grade_objects GROUP BY object_id HAVING count(*) > 1) GROUP BY what ORDER BY what`;

/**
 * If two records have become one person or class, one is marked as deleted and the other stays. If their rows contradict each
 * other, those of the remaining record count.
 */
const yieldToStaying = async ({ sets }: Comparison): Promise<void> => {
  await sets.run(`
    CREATE TABLE formers AS
      SELECT record_type, id FROM names WHERE active = 0 AND problem IS NULL
        AND (record_type, name) IN (SELECT (record_type, name) FROM names WHERE active = 1)`);
  const [hasFormers] = (await sets.row<[number]>('SELECT EXISTS (FROM formers)')) ?? [];
  if (!hasFormers) return;
  const isFormer = (type: RecordType, id: string): string =>
    `${id} IN (SELECT id FROM formers WHERE record_type = '${type}')`;
  await sets.run(`
    CREATE TABLE of_formers AS
      SELECT c.key, c.source_row, c.wanted_value, c.state_kind, c.kind_name, c.line FROM claims c JOIN (
        SELECT enrollment_key(org_unit_ref, user_ref) AS key, id AS source_row FROM enrollments_now WHERE ${isFormer('class', 'class_source_id')} OR ${isFormer('user', 'user_source_id')}
        UNION SELECT key, source_row FROM claims WHERE is_grade(state_kind) AND ${isFormer('user', `split_part(source_row, chr(31), 2)`)}) USING (key, source_row);
    CREATE TABLE yielding AS
      SELECT * FROM of_formers f WHERE EXISTS (
        FROM claims c ANTI JOIN of_formers o ON o.key = c.key AND o.source_row = c.source_row WHERE c.key = f.key AND c.wanted_value <> f.wanted_value);
    INSERT INTO problems
      SELECT k.file, y.line, k.column_name, 'is not used, because its class or user is marked as deleted, and a row of the one that stays says otherwise'
      FROM yielding y JOIN kinds k USING (state_kind) WHERE y.line IS NOT NULL;
    INSERT INTO disputed_counts SELECT kind_name, count(*) FROM yielding WHERE line IS NOT NULL GROUP BY kind_name;
    DELETE FROM claims USING yielding y WHERE claims.key = y.key AND claims.source_row = y.source_row`);
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

/** Enrollments hold through their last day, in UTC. */
const readEnrollments = async (reading: Reading, users: Table | undefined): Promise<UnknownRoles> => {
  const { comparison, given } = reading;
  const { modes } = given;
  const { sets, droppedMs, settings } = comparison;
  const day = new Date(droppedMs).toISOString().slice(0, 10);
  const table = await openFile(reading, 'enrollments');
  await sets.run(`CREATE TABLE enrollments_read (line BIGINT, id VARCHAR, class_source_id VARCHAR, user_source_id VARCHAR, role VARCHAR, status VARCHAR,
    begins VARCHAR, ends VARCHAR, begin_day VARCHAR, end_day VARCHAR, said_at_ms BIGINT)`);
  if (table) {
    // If the file has no ids, class, user and role together are the id.
    const id =
      table.at('sourcedId') < 0
        ? `left(sha256(concat_ws(chr(31), class_source_id, user_source_id, role)), 40)`
        : `coalesce(id, '')`;
    await sets.run(
      `INSERT INTO enrollments_read
         SELECT line, ${id}, coalesce(class_source_id, ''), coalesce(user_source_id, ''), trimmed(role), word_in(status), begins, ends, day_of(begins), day_of(ends),
           CASE WHEN ${timeOfClock} > ${droppedMs} THEN ${droppedMs} ELSE ${timeOfClock} END
         FROM (SELECT *, CASE WHEN instant IS NULL THEN day_of(changed) END AS day, CASE WHEN changed <> '' AND instant IS NULL THEN ${clockIn('changed')} END AS clock
           FROM (SELECT *, instant_in(changed) AS instant
             FROM (SELECT * REPLACE (trimmed(begins) AS begins, trimmed(ends) AS ends, trimmed(changed) AS changed) FROM (${rowsOf(table, enrollmentColumns)}))))`,
      [table.path],
    );
  }
  await addUserRoles(reading, { users, day });
  const isWithin = `(coalesce(begins, '') = '' OR begins <= '${day}') AND (coalesce(ends, '') = '' OR ends >= '${day}')`;
  const named = (of: string): string => withName('user', withName('class', of));
  await sets.run(`
    CREATE TABLE enrollment_rows AS
      SELECT r.* EXCLUDE (org_unit_problem, user_problem, org_unit_fate, user_fate, begin_day, end_day, has_id)
          REPLACE (coalesce(begin_day, begins) AS begins, coalesce(end_day, ends) AS ends), o.role_id, CASE WHEN has_id THEN r.id ELSE row_without_id(concat_ws(chr(31), r.id, r.class_source_id, r.user_source_id, r.role)) END AS source_row,
        CASE WHEN is_gone(r.status) AND has_id THEN NULL
          WHEN NOT ${isKnownOrId('org_unit_problem IS NULL', 'r.class_source_id')} THEN ['classSourcedId', 'is not an id']
          WHEN NOT ${isKnownOrId('user_problem IS NULL', 'r.user_source_id')} THEN ['userSourcedId', 'is not an id']
          WHEN NOT has_id THEN ['sourcedId', 'is not an id']
          WHEN r.status NOT IN ('', 'active') THEN ${badStatus}
          WHEN r.begins <> '' AND r.begin_day IS NULL THEN ${unread('beginDate', 'r.begins', { otherwise: 'must be a day such as 2026-09-01', settings })}
          WHEN r.ends <> '' AND r.end_day IS NULL THEN ${unread('endDate', 'r.ends', { otherwise: 'must be a day such as 2026-12-20', settings })}
          WHEN org_unit_problem IS NOT NULL THEN ['classSourcedId', org_unit_problem, org_unit_fate]
          WHEN user_problem IS NOT NULL THEN ['userSourcedId', user_problem, user_fate]
          WHEN r.role = '' THEN ['role', CASE WHEN r.user_source_id IN (SELECT user_source_id FROM user_roles) THEN 'is empty, and roles.csv gives the user several'
            ELSE 'is empty, and neither roles.csv nor users.csv gives the user one that holds today' END, 'withoutRole']
          WHEN o.role_id IS NULL THEN ['role', 'has no id in "roles" of snapshot-settings.json', 'unknownRole'] END AS problem
      FROM ${named('(SELECT *, is_id(id) AS has_id FROM enrollments_read)')} r LEFT JOIN roles o ON o.role = r.role;
    DROP TABLE enrollments_read`);
  const hasRefused = await refuseRows(sets, {
    ...{ table: 'enrollment_rows', kindName: 'enrollments', where: 'class_source_id' },
    slips: `
      ${takeSlips('enrollment_rows', { id: 'class_source_id', as: 'org_unit_or_object', column: 'classSourcedId', known: knownNames('class') })}
      ${takeSlips('enrollment_rows', { id: 'user_source_id', as: 'user_name', column: 'userSourcedId', known: knownNames('user') })}`,
    contradictions: modes.enrollments === 'delta' ? `${refuseUnclear} ${refuseOlder}` : undefined,
  });
  await sets.run(`
    -- What is not named by a delta stands as it was, and what cannot be read, too.
    CREATE TABLE enrollments_still AS
      SELECT r.*, o.role_id FROM ${named(
        `(SELECT * FROM enrollments_before ${
          modes.enrollments === 'bulk'
            ? 'SEMI JOIN (SELECT id FROM enrollment_rows WHERE problem IS NOT NULL)'
            : 'ANTI JOIN (SELECT id FROM enrollment_rows WHERE problem IS NULL)'
        } USING (id))`,
      )} r LEFT JOIN roles o ON o.role = r.role;
    CREATE TABLE enrollments_now AS
      SELECT line, id, class_source_id, user_source_id, role, begins, ends, org_unit_or_object, user_name, org_unit_ref, user_ref, role_id, said_at_ms FROM enrollment_rows WHERE problem IS NULL AND NOT is_gone(status)
      ${modes.enrollments === 'bulk' ? '' : 'UNION ALL SELECT NULL, id, class_source_id, user_source_id, role, begins, ends, org_unit_or_object, user_name, org_unit_ref, user_ref, role_id, said_at_ms FROM enrollments_still WHERE org_unit_or_object IS NOT NULL AND user_name IS NOT NULL AND role_id IS NOT NULL'};
    ${
      modes.enrollments === 'bulk'
        ? ''
        : `INSERT INTO held_keys SELECT k.key FROM row_claims k JOIN enrollments_still s ON k.kind_name = 'enrollments' AND k.source_row = s.id
      WHERE s.org_unit_or_object IS NULL OR s.user_name IS NULL OR s.role_id IS NULL;`
    }
    INSERT INTO claims BY NAME
      SELECT 'enrollments' AS kind_name, '2' AS state_kind, enrollment_key(org_unit_ref, user_ref) AS key, org_unit_or_object, user_name, role_id AS wanted_value, id AS source_row, said_at_ms, line
      FROM enrollments_now WHERE ${isWithin};
    ${
      modes.enrollments === 'bulk'
        ? ''
        : refusedStill('enrollments', {
            read: 'enrollment_rows',
            orgUnitOrObject: 'coalesce(c.new_name, r.org_unit_or_object)',
          })
    }
    DROP TABLE enrollments_before;
    DELETE FROM enrollments_now WHERE ends <> '' AND ends < '${day}';
    DELETE FROM enrollments_still WHERE ends <> '' AND ends < '${day}'`);
  // A file may have another role in each of its rows.
  const roles = !hasRefused
    ? []
    : await sets.all<[string | null, number]>(`
    SELECT CASE WHEN place <= ${maxUnknownRoles} THEN left(role, 50) END AS role_name, CAST(sum(rows) AS BIGINT) FROM (
      SELECT role, count(*) AS rows, row_number() OVER (ORDER BY min(line)) AS place FROM enrollment_rows
      WHERE problem[3] = 'unknownRole' GROUP BY role)
    GROUP BY role_name ORDER BY min(place)`);
  const unknown: UnknownRoles = new Map(
    roles.map(([role, rows]) => [role === null ? 'and others' : JSON.stringify(role), rows]),
  );
  for (const [role, rows] of unknown) {
    const problem = `the role ${role} has no id in "roles" of snapshot-settings.json: ${rows} rows were refused`;
    await sets.run(`INSERT INTO problems VALUES ('enrollments.csv', NULL, 'role', $1)`, [problem]);
  }
  await countPassedRows(comparison, 'enrollments');
  await countRows(
    comparison,
    'enrollments.csv',
    `SELECT CASE WHEN problem IS NOT NULL THEN ${fateOfProblem} WHEN is_gone(status) THEN fate_of_gone(status) ELSE 'outsideDates' END AS fate,
       count(*) FROM enrollment_rows WHERE problem IS NOT NULL OR is_gone(status) OR NOT (${isWithin}) GROUP BY fate`,
  );
  await noteSaid(comparison, 'enrollment_rows');
  await sets.run(`
    CREATE TABLE deletions AS SELECT id AS source_id, said_at_ms FROM enrollment_rows WHERE ${modes.enrollments === 'delta'} AND problem IS NULL AND is_gone(status) AND said_at_ms IS NOT NULL;
    INSERT INTO deletions FROM state_deletions t ANTI JOIN enrollment_rows e ON e.id = t.source_id AND e.problem IS NULL
      WHERE ${modes.enrollments !== 'bulk'} AND t.said_at_ms > ${droppedMs - deletionKeptMs}`);
  await sets.run('DROP TABLE enrollment_rows');
  return unknown;
};

/** Rows that are gone count, too: what a delta deletes was said then. */
const noteSaid = async (comparison: Comparison, table: 'enrollment_rows' | 'result_rows'): Promise<void> => {
  const [latest] =
    (await comparison.sets.row<[number | null]>(
      `SELECT max(said_at_ms) FROM ${table} WHERE problem IS NULL`,
    )) ?? [];
  if (latest != null) comparison.saidMs = Math.max(comparison.saidMs ?? 0, latest);
};

const maxUnknownRoles = 20;

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

/** A time without a zone may be of any place; that is not reported. */
const farthestZoneMs = 14 * 3_600_000;

/** The values of OneRoster. Only a score that is fully graded is sent. */
const scoreStatuses = ['exempt', 'fully graded', 'not submitted', 'partially graded', 'submitted'];

const readResults = async (reading: Reading): Promise<void> => {
  const { comparison, given } = reading;
  const { modes } = given;
  const { sets, settings, droppedMs } = comparison;
  const table = await openFile(reading, 'results');
  // Reading and joining in one statement needs more memory than there is for 5,000,000 rows.
  await sets.run(`CREATE TABLE results_read (line BIGINT, source_id_hash UBIGINT, item_source_id VARCHAR, user_source_id VARCHAR, status VARCHAR, graded VARCHAR, score VARCHAR,
    words VARCHAR, comments VARCHAR, changed VARCHAR)`);
  if (table)
    await sets.run(
      `INSERT INTO results_read SELECT line, md5_number_lower(nullif(id, '')), coalesce(item_source_id, ''), coalesce(user_source_id, ''), word_in(status), word_in(graded),
         trimmed(score), coalesce(words, ''), coalesce(comments, ''), trimmed(changed) FROM (${rowsOf(table, resultColumns)})`,
      [table.path],
    );
  const texts = scoreStatuses.map((each) => `'${each}'`).join(', ');
  await sets.run(`
    CREATE TABLE result_rows AS
      SELECT line, source_id_hash, item_source_id, user_source_id, status, graded, source_row, object AS org_unit_or_object, user_name, user_ref, problem,
        CASE WHEN changed_ms > ${droppedMs} THEN ${droppedMs} ELSE changed_ms END AS said_at_ms, changed_ms > ${droppedMs + farthestZoneMs} AS is_future,
        CASE WHEN problem IS NULL AND NOT is_gone(status) AND graded = 'fully graded' THEN
          CASE WHEN points IS NOT NULL THEN numeric_grade(points, comments) ELSE text_grade(words, comments) END END AS wanted_value
      FROM (SELECT *, ${timeOfClock} AS changed_ms,
          CASE WHEN has_item AND has_user THEN r.item_source_id || chr(31) || r.user_source_id
            ELSE row_without_id(concat_ws(chr(31), r.item_source_id, r.user_source_id, r.score)) END AS source_row,
          CASE WHEN is_gone(r.status) AND r.source_id_hash IS NOT NULL THEN NULL
            WHEN NOT has_item THEN ['lineItemSourcedId', 'is not an id']
            WHEN NOT has_user THEN ['studentSourcedId', 'is not an id']
            WHEN is_gone(r.status) THEN NULL
            WHEN r.status NOT IN ('', 'active') THEN ${badStatus}
            WHEN r.graded NOT IN (${texts}) THEN ['scoreStatus', 'must be one of ${scoreStatuses.join(', ')}']
            WHEN r.graded <> 'fully graded' THEN NULL
            WHEN r.changed <> '' AND instant IS NULL AND day IS NULL
              THEN ${unread('dateLastModified', 'r.changed', { otherwise: 'must be a time such as 2026-01-31T09:30:00Z', settings })}
            WHEN r.object IS NULL THEN ['lineItemSourcedId', 'names no line item that can be used', 'notInPackage']
            WHEN user_problem IS NOT NULL THEN ['studentSourcedId', user_problem, user_fate]
            WHEN points IS NULL AND r.score <> '' THEN ['score', 'must be a number such as 100 or 7.5']
            WHEN r.score = '' AND r.words = '' THEN ['score', 'is empty, and textScore is empty, too']
            WHEN r.score = '' AND has_control_in_text(r.words) THEN ['textScore', 'has control characters']
            WHEN has_control_in_text(r.comments) THEN ['comment', 'has control characters'] END AS problem
        FROM (SELECT *, CASE WHEN instant IS NULL THEN day_of(changed) END AS day,
            CASE WHEN changed <> '' AND instant IS NULL THEN ${clockIn('changed')} END AS clock
          FROM (SELECT r.*, i.object, ${isKnownOrId('i.id IS NOT NULL', 'r.item_source_id')} AS has_item, ${isKnownOrId('user_problem IS NULL', 'r.user_source_id')} AS has_user,
              number_in(score) AS points, instant_in(changed) AS instant
            FROM ${withName('user', 'results_read')} r LEFT JOIN items i ON i.id = r.item_source_id AND NOT i.clashes)) r);
    DROP TABLE results_read`);
  const items = 'SELECT id, object AS name FROM items';
  await refuseRows(sets, {
    ...{ table: 'result_rows', kindName: 'results', where: 'item_source_id' },
    slips: `
      ${takeSlips('result_rows', { id: 'item_source_id', as: 'org_unit_or_object', column: 'lineItemSourcedId', known: items })}
      ${takeSlips('result_rows', { id: 'user_source_id', as: 'user_name', column: 'studentSourcedId', known: knownNames('user') })}`,
    contradictions: modes.results === 'delta' ? `${findDeleted} ${refuseContradictions}` : undefined,
  });
  await sets.run(`
    INSERT INTO problems
      SELECT 'results.csv', NULL, 'dateLastModified', 'is later than when the file was put into the bucket, and counts as then ('
        || count(*) || CASE WHEN count(*) = 1 THEN ' row, in line ' ELSE ' rows, the first in line ' END || min(line) || ')'
      FROM result_rows WHERE is_future AND wanted_value IS NOT NULL HAVING count(*) > 0;
    INSERT INTO pending_results
      SELECT coalesce(k.key, grade_key(r.org_unit_or_object, r.user_ref)), r.source_row FROM result_rows r LEFT JOIN row_claims k ON k.kind_name = 'results' AND k.source_row = r.source_row
      WHERE r.problem IS NULL AND NOT is_gone(r.status) AND r.graded <> 'fully graded';
    INSERT INTO claims BY NAME
      SELECT 'results' AS kind_name, '3' AS state_kind, grade_key(org_unit_or_object, user_ref) AS key, org_unit_or_object, user_name, wanted_value, source_row, said_at_ms, source_id_hash, line FROM result_rows WHERE wanted_value IS NOT NULL;
    -- Beside a score that is fully graded, that one counts.
    INSERT INTO held_keys SELECT p.key FROM pending_results p ANTI JOIN claims c ON c.key = p.key WHERE p.key IS NOT NULL`);
  await countPassedRows(comparison, 'results');
  await countRows(
    comparison,
    'results.csv',
    `SELECT CASE WHEN problem IS NOT NULL THEN ${fateOfProblem} WHEN is_gone(status) THEN fate_of_gone(status) ELSE 'notGraded' END AS fate,
       count(*) FROM result_rows WHERE wanted_value IS NULL GROUP BY fate`,
  );
  await noteSaid(comparison, 'result_rows');
  const isWhole = modes.results === 'bulk';
  if (comparison.hasBefore) await sets.run(isWhole ? resultsHere : resultsDeleted);
  if (!isWhole)
    await sets.run(refusedStill('results', { read: 'result_rows', orgUnitOrObject: 'r.org_unit_or_object' }));
  const [hasRefused] =
    (await sets.row<[number]>(`SELECT EXISTS (FROM refused_rows WHERE kind_name = 'results')`)) ?? [];
  if (hasRefused) await sets.run(passedOn);
  if (isWhole) {
    await sets.run('DROP TABLE result_rows');
    return;
  }
  // What a delta does not name stays as it was. A row says what is known of its line item and user as they were accepted last: what it
  // said before may be held for another row.
  await sets.run(`
    CREATE VIEW last_keys AS
      SELECT k.source_row, grade_key(i.object, ref_of(n.platform_id, coalesce(m.new_name, n.name))) AS key
      FROM (SELECT DISTINCT source_row FROM row_claims WHERE kind_name = 'results') k JOIN items_before i ON i.id = split_part(k.source_row, chr(31), 1)
        JOIN former n ON n.record_type = 'user' AND n.id = split_part(k.source_row, chr(31), 2)
        LEFT JOIN renamed m ON m.record_type = 'user' AND m.old_name = n.name;
    CREATE TABLE results_still AS
      SELECT r.*, i.object AS org_unit_or_object FROM ${withName(
        'user',
        `(SELECT k.key, k.source_row, w.wanted_value, w.said_at_ms, k.source_id_hash, split_part(k.source_row, chr(31), 1) AS item_source_id, split_part(k.source_row, chr(31), 2) AS user_source_id
          FROM row_claims k JOIN accepted w USING (key) ANTI JOIN (SELECT source_row FROM result_rows WHERE problem IS NULL) x ON x.source_row = k.source_row
            LEFT JOIN last_keys o ON o.source_row = k.source_row
          WHERE k.kind_name = 'results'
          QUALIFY k.key = o.key OR NOT coalesce(bool_or(k.key = o.key) OVER (PARTITION BY k.source_row), false))`,
      )} r LEFT JOIN items i ON i.id = r.item_source_id AND NOT i.clashes;
    INSERT INTO claims BY NAME
      SELECT 'results' AS kind_name, '3' AS state_kind, grade_key(org_unit_or_object, user_ref) AS key, org_unit_or_object, user_name, wanted_value, source_row, said_at_ms, source_id_hash FROM results_still
      WHERE org_unit_or_object IS NOT NULL AND user_name IS NOT NULL;
    -- They may be gone since a whole export, and so hold only what no row claims.
    INSERT INTO held_keys SELECT s.key FROM results_still s ANTI JOIN claims c ON c.key = s.key WHERE s.org_unit_or_object IS NULL OR s.user_name IS NULL`);
};

/** What the next comparison must know beside what is wanted. */
const furtherRows = `
  CREATE VIEW comments_kept AS
    FROM (
      SELECT key, org_unit_or_object, user_name, wanted_value FROM difference WHERE change = 'removed' AND is_grade(state_kind) AND comments_of(wanted_value) <> ''
      UNION ALL FROM comments_left ANTI JOIN difference USING (key))
    SEMI JOIN items ON items.object = org_unit_or_object;
`;

const furtherState: Further = {
  comments: `(SELECT *, id_in_ref(user_in(key)) AS user_id FROM comments_kept)`,
  names: `(SELECT id AS source_id, *, CASE WHEN record_type = 'class' THEN platform_id END AS org_unit_id, CASE WHEN record_type = 'user' THEN platform_id END AS user_id
     -- A record whose name is in doubt keeps its former one: by that it was sent.
     FROM (SELECT * REPLACE (CASE WHEN fate = 'namePassed' THEN coalesce((SELECT any_value(w.name) FROM names_before w
         WHERE w.record_type = names.record_type AND w.id = names.id), name) ELSE name END AS name) FROM names))`,
  passed_names: '(SELECT id AS source_id, name, platform_id AS user_id FROM passed)',
  deletions: 'deletions',
  line_items: '(SELECT id AS source_id, json FROM item_lines)',
  grade_objects: '(SELECT object AS object_id, json FROM object_lines)',
  enrollment_rows: `(SELECT id AS source_id, * FROM (
     SELECT id, class_source_id, user_source_id, role, begins, ends, said_at_ms FROM enrollments_now
     UNION ALL SELECT id, class_source_id, user_source_id, role, begins, ends, said_at_ms FROM enrollments_still ANTI JOIN enrollments_now USING (id)))`,
};
