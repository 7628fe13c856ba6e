import type { SetEngine } from '../../../runtime/files/tables/engine.ts';
import { rowsOf, type Table } from '../../../runtime/files/tables/table.ts';
import { readNames, withName } from '../package/names.ts';
import type { Package } from '../package/package.ts';
import { countPassedRows, passedNamesOf } from '../package/passed.ts';
import { openFile, type Read, type Reading, readAhead } from '../package/reading.ts';
import { addUserRoles } from '../package/roles.ts';
import { countClaims, countRows, fateOfProblem, refusedStill, reportRows } from '../package/rows.ts';
import { type SnapshotSettings, type UserField, userField } from '../package/settings-file.ts';
import { loadShared } from '../state/accepted.ts';
import type { Comparison, NameMoves } from './comparison.ts';
import { itemsOfState, settleLineItems } from './line-items.ts';
import { type EnrollmentForms, settleEnrollments } from './others.ts';
import {
  addKinds,
  type CheckedValue,
  compareWanted,
  countWanted,
  type Forms,
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
  const ofEnrollments = enrollmentForms(settings.user.field);
  const [hasDoubtful] = (await sets.row<[number]>('SELECT EXISTS (FROM doubtful_names)')) ?? [];
  const forms = formsOf(settings.user.field, Boolean(hasDoubtful));
  await compareWanted(comparison, forms, ofEnrollments);
  comparison.effects = await settleEnrollments(comparison, ofEnrollments, {
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
  await writeState(comparison, { forms, further: furtherLines });
  return { read: reading.read, unknownRoles };
};

const differentRoles = 'two active rows of one class and user have different roles';
const differentResults = 'another row has the same line item and student, but differs';

const enrollments: Kind = {
  ...{ kind: '2', grp: 'enrollments', function: 'enrollment-create', file: 'enrollments.csv' },
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
  ...{ kind: '3', grp: 'results', function: 'grade-push', file: 'results.csv' },
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
 * `names`: the names of classes (`c`) and users (`u`), what they stand for, or why they are unknown. `renamed`: names that none of their
 * former bearers has, and the one name that all of those have now. The `value` of an enrollment is its role, and that of a grade
 * the grade and its comments; `a` is the org unit's code or the grade object, `b` the user's name. The key has what these stand for.
 */
const makers = ({ user, dateOrder }: SnapshotSettings): string => `
  ${spoken(user.field)}
  CREATE TABLE roles (role VARCHAR, role_id VARCHAR);
  CREATE TABLE names_was (letter VARCHAR, id VARCHAR, name VARCHAR, active BIGINT, platform_id VARCHAR);
  CREATE TABLE names_now (letter VARCHAR, id VARCHAR, name VARCHAR, active BIGINT);
  CREATE TABLE same_people (name VARCHAR, id VARCHAR);
  CREATE MACRO enrollment_key(a, b) AS 'e' || chr(31) || a || chr(31) || b;
  CREATE MACRO grade_key(a, b) AS 'g' || chr(31) || a || chr(31) || b;
  CREATE MACRO keyed(kind, a, b) AS CASE WHEN kind = '2' THEN enrollment_key(a, b) ELSE grade_key(a, b) END;
  CREATE MACRO org_unit_in(key) AS CASE WHEN key[1] = 'e' THEN split_part(key, chr(31), 2) END;
  CREATE MACRO has_id(key) AS contains(key, chr(2));
  CREATE MACRO user_in(key) AS split_part(key, chr(31), -1);
  CREATE MACRO fate_of_gone(status) AS CASE WHEN status = 'inactive' THEN 'notActive' ELSE 'deleted' END;
  CREATE MACRO can_be_two_days(x) AS regexp_full_match(x, '[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}${timeOfDay}');
  CREATE MACRO day_of(x) AS CASE
    WHEN regexp_full_match(x, '[0-9]{4}-[0-9]{2}-[0-9]{2}${timeOfDay}') THEN CASE WHEN TRY_CAST(left(x, 10) AS DATE) IS NOT NULL THEN left(x, 10) END
    ${dateOrder === undefined ? '' : `WHEN can_be_two_days(x) THEN ${dayInOrder(dateOrder)}`} END;
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
  CREATE MACRO org_unit_data(thing) AS coalesce('"orgUnitId":' || id_in_thing(thing), '"orgUnitCode":' || to_json(thing));
  CREATE MACRO user_data(thing) AS coalesce(',"userId":' || id_in_thing(thing), ',"${userField}":' || to_json(thing));
  CREATE MACRO without_user(data) AS CAST(json_merge_patch(CAST(data AS JSON), CAST('${noUser}' AS JSON)) AS VARCHAR);
  CREATE MACRO with_user(data, thing) AS left(without_user(data), -1) || user_data(thing) || '}';
  CREATE MACRO numeric_grade(points, comments) AS
    '{"type":"numeric","points":' || number_text(points) || '}' || chr(31) || coalesce(comments, '');
  CREATE MACRO text_grade(words, comments) AS
    '{"type":"text","text":' || to_json(words) || '}' || chr(31) || coalesce(comments, '');
  CREATE MACRO grade_of(value) AS split_part(value, chr(31), 1);
  CREATE MACRO comments_of(value) AS split_part(value, chr(31), 2);
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

/** Expressions for what a row is about, as `thing_of` gives it. */
type Things = { orgUnit: string; user: string; ofItem?: string };

const gradeData = (withoutComments: string, { user }: Pick<Things, 'user'>, orgUnit = 'i.org'): string => `
  coalesce('{' || org_unit_data(${orgUnit}) || ',"gradeObjectName":' || to_json(i.title)
    || CASE WHEN i.formers IS NULL THEN '' ELSE ',"gradeObjectFormerNames":' || i.formers END || user_data(${user}) || ',"grade":'
    || CASE WHEN i.out_of IS NOT NULL AND starts_with(d.value, '{"type":"numeric"')
         THEN left(grade_of(d.value), -1) || ',"outOf":' || i.out_of || '}' ELSE grade_of(d.value) END
    || CASE WHEN comments_of(d.value) <> '' THEN ',"comments":' || to_json(comments_of(d.value)) ELSE ${withoutComments} END || '}',
    with_user(d.data, ${user}))`;

const dataOf = (withoutComments: string, things: Things): string => `
  CASE WHEN d.kind = '2' THEN '{' || org_unit_data(${things.orgUnit}) || user_data(${things.user}) || ',"roleId":' || d.value || '}'
    ELSE ${gradeData(withoutComments, things, things.ofItem)} END`;

/** Most exports are of names that are all known, or none is: then the key need not be taken apart. */
const ofKey: Things = {
  orgUnit: 'CASE WHEN has_id(d.key) THEN org_unit_in(d.key) ELSE d.a END',
  user: 'CASE WHEN has_id(d.key) THEN user_in(d.key) ELSE d.b END',
};
/** By the name, if it is doubtful. */
const ofMessage: Things = {
  orgUnit: `CASE WHEN x.name IS NULL THEN ${ofKey.orgUnit} ELSE d.a END`,
  user: `CASE WHEN y.name IS NULL THEN ${ofKey.user} ELSE d.b END`,
  ofItem: 'CASE WHEN x.name IS NULL THEN i.org ELSE i.code END',
};
const ofState: Things = { orgUnit: 'thing_of(d.org_unit_id, d.a)', user: 'thing_of(d.user_id, d.b)' };

const doubtfulNames = (userField: UserField): string => `
  LEFT JOIN doubtful_names x ON x.field = 'orgUnitCode' AND x.name = CASE WHEN d.kind = '3' THEN i.code ELSE d.a END
  LEFT JOIN doubtful_names y ON y.field = '${userField}' AND y.name = d.b`;

const formsOf = (userField: UserField, hasDoubtful: boolean): Forms => ({
  joins: `LEFT JOIN items i ON i.object = CASE WHEN d.kind = '3' THEN d.a END
    ${hasDoubtful ? doubtfulNames(userField) : ''}`,
  // A comment that the SIS has removed is cleared.
  sent: dataOf(
    `CASE WHEN comments_of(d.before) <> '' THEN ',"comments":""' ELSE '' END`,
    hasDoubtful ? ofMessage : ofKey,
  ),
  // The platform cannot clear a grade.
  removal: `CASE WHEN d.kind = '2' THEN 'enrollment-remove' END`,
  removalData: `'{' || org_unit_data(${ofKey.orgUnit}) || user_data(${ofKey.user}) || '}'`,
  derived: 'NULL AS key',
  things: `CASE WHEN has_id(d.key) THEN id_in_thing(org_unit_in(d.key)) END AS org_unit_id,
    CASE WHEN has_id(d.key) THEN id_in_thing(user_in(d.key)) END AS user_id`,
});

/** What was accepted as the data of its messages: `data` is that of `d`, a row of the state. */
export const acceptedData = (userField: UserField) => ({
  tables: `${spoken(userField)} ${itemsOfState}`,
  data: dataOf(`''`, ofState),
  joins: `LEFT JOIN items_was i ON i.object = CASE WHEN d.kind = '3' THEN d.a END`,
});

const enrollmentForms = (userField: UserField): EnrollmentForms => ({
  isOne: `d.kind = '2'`,
  thing: `CASE WHEN d.kind = '2' THEN enrollment_of(id_in_thing(org_unit_in(d.key)), 'orgUnitCode=' || org_unit_in(d.key),
    id_in_thing(user_in(d.key)), '${userField}=' || user_in(d.key)) END`,
  codeIn: (column) => `'orgUnitCode=' || d.${column}`,
  roleIn: (column) => `d.${column}`,
  isRemoved: 'true',
});

const checkedValues = (userField: string): CheckedValue[] => {
  const enrolled = { orgUnitCode: 'x', [userField]: 'x', roleId: 1 };
  const graded = {
    orgUnitCode: 'x',
    gradeObjectName: 'x',
    [userField]: 'x',
    grade: { type: 'text', text: 'x' },
  };
  const checked =
    ({ grp, function: name }: Kind, others: object) =>
    (value: string, column: string, dataOf: (text: string) => object): CheckedValue => ({
      ...{ grp, function: name, value, column },
      data: (text) => ({ ...others, ...dataOf(text) }),
    });
  const ofEnrollment = checked(enrollments, enrolled);
  const ofGrade = checked(results, graded);
  return [
    ofEnrollment('d.a', 'classSourcedId', (text) => ({ orgUnitCode: text })),
    ofEnrollment('d.b', 'userSourcedId', (text) => ({ [userField]: text })),
    ofGrade('i.org', 'lineItemSourcedId', (text) => ({ orgUnitCode: text })),
    ofGrade('i.title', 'lineItemSourcedId', (text) => ({ gradeObjectName: text })),
    ofGrade('d.b', 'studentSourcedId', (text) => ({ [userField]: text })),
    ofGrade('grade_of(d.value)', 'score', (text) => ({ grade: JSON.parse(text) })),
    ofGrade('comments_of(d.value)', 'comment', (text) => ({ comments: text })),
  ];
};

/**
 * What was accepted, by the current names and by what it stood for then: what a name stands for now is another thing, unless it was
 * unknown. `data`: the data of a grade whose line item is gone. `renamed`: it is sent again, as it was sent by a name that stood for
 * nothing, and has another name now; or because its name is known now, and a message that waited for that may have overruled another
 * file.
 */
type Loaded = Pick<Comparison, 'number' | 'isOf10'>;

const orgUnitWas =
  'CASE WHEN id_in_thing(d.org) IS NULL THEN thing_of(q.platform_id, coalesce(d.org, i.org)) ELSE d.org END';
const wasNow = ({ number, isOf10 }: Loaded): string => `
  SELECT * EXCLUDE (org_unit_id, user_id, new_code, new_name, is_joined, has_moved, is_learnt),
    keyed(kind, CASE WHEN kind = '2' THEN thing_of(org_unit_id, a) ELSE a END, thing_of(user_id, b)) AS key,
    (org_unit_id IS NULL AND new_code IS NOT NULL) OR (user_id IS NULL AND (new_name IS NOT NULL OR is_joined OR field_of('u') <> field_was('u'))) OR has_moved
      OR (is_learnt AND ${!isOf10} AND kind = '2' AND enrollment_of(org_unit_id, 'orgUnitCode=' || a, user_id, field_was('u') || '=' || b) IN (SELECT thing FROM other_claims)) AS renamed
  FROM (
    SELECT CASE WHEN d.kind = '2' THEN 'enrollments' ELSE 'results' END AS grp, d.kind,
      CASE WHEN d.kind = '2' THEN coalesce(c.new, d.a) ELSE d.a END AS a, coalesce(u.new, d.b) AS b, ${orgUnitWas} AS org,
      coalesce(d.org_unit_id, o.platform_id) AS org_unit_id, coalesce(d.user_id, p.platform_id) AS user_id,
      (d.org_unit_id IS NULL AND o.platform_id IS NOT NULL) OR (d.user_id IS NULL AND p.platform_id IS NOT NULL) AS is_learnt,
      c.new AS new_code, u.new AS new_name, m.name IS NOT NULL AS is_joined,
      d.value, d.row, d.at_ms, d.mark, coalesce(d.seen, ${number}) AS seen,
      CASE WHEN d.kind = '3' AND n.object IS NULL THEN without_user(${gradeData(`''`, { user: 'd.b' })}) END AS data,
      (d.kind = '3' AND n.org <> ${orgUnitWas}) IS TRUE AS has_moved,
      coalesce(c.active, 1) = 1 AND coalesce(u.active, 1) = 1 AS stays, keyed(d.kind, d.a, d.b) AS old_key
    FROM (FROM state WHERE kind IN ('2', '3')) d
      LEFT JOIN renamed c ON c.letter = 'c' AND c.old = CASE WHEN d.kind = '2' THEN d.a END
      LEFT JOIN renamed u ON u.letter = 'u' AND u.old = d.b LEFT JOIN joined m ON m.name = d.b
      LEFT JOIN things_was o ON o.letter = 'c' AND o.name = CASE WHEN d.kind = '2' AND d.org_unit_id IS NULL THEN d.a END
      LEFT JOIN things_was p ON p.letter = 'u' AND p.name = CASE WHEN d.user_id IS NULL THEN d.b END
      LEFT JOIN things_was q ON q.letter = 'c' AND q.name = d.org
      LEFT JOIN items n ON n.object = CASE WHEN d.kind = '3' THEN d.a END
      LEFT JOIN items_was i ON i.object = CASE WHEN d.kind = '3' THEN d.a END)`;

const loadAsNamed = (loaded: Loaded): string => `
  INSERT INTO was BY NAME SELECT * EXCLUDE (old_key, stays) FROM (${wasNow(loaded)});
  DROP TABLE backs;
  CREATE VIEW backs AS SELECT grp, row, key, mark FROM was UNION ALL FROM shared_backs;
`;

/**
 * If two users or classes become one, the state on the platform is unknown: the other may have something there that is no longer
 * wanted. So everything of the remaining name (`joined`) is sent again; the newest grade is held, and the role by the remaining
 * name, or else that of the record that stays.
 */
const loadRenamed = (loaded: Loaded): string => `
  CREATE TABLE was_now AS ${wasNow(loaded)};
  CREATE TABLE merged AS SELECT key FROM was_now GROUP BY key HAVING count(*) > 1;
  INSERT INTO was BY NAME SELECT * EXCLUDE (old_key, stays) FROM was_now ANTI JOIN merged USING (key);
  INSERT INTO was BY NAME
    SELECT any_value(grp) AS grp, key, any_value(kind) AS kind, any_value(a) AS a,
      any_value(b) AS b, any_value(org) AS org, arg_max(value, newest) AS value, arg_max(row, newest) AS row, arg_max(mark, newest) AS mark,
      max(at_ms) AS at_ms, max(seen) AS seen, arg_max(data, newest) AS data, bool_or(renamed) OR min(value) <> max(value) AS renamed
    FROM (SELECT *, (CASE WHEN kind = '3' THEN coalesce(at_ms, 0) ELSE 0 END, key = old_key, stays, value) AS newest FROM was_now SEMI JOIN merged USING (key))
    GROUP BY key;
  INSERT INTO backs SELECT grp, row, key, mark FROM was_now;
  INSERT INTO backs SELECT s.grp, s.row, coalesce(w.key, s.key), s.mark FROM shared_backs s LEFT JOIN was_now w ON w.old_key = s.key AND w.key <> s.key;
  DROP TABLE was_now; DROP TABLE merged;
`;

/** While the grade object exists, the platform keeps the comments of grades that the SIS has removed: `value` is the last grade. */
const loadComments = `
  CREATE TABLE comments_left AS
    SELECT key, any_value(a) AS a, any_value(b) AS b, min(value) AS value FROM (
      SELECT d.a, coalesce(u.new, d.b) AS b, grade_key(d.a, thing_of(coalesce(d.user_id, p.platform_id), coalesce(u.new, d.b))) AS key, d.value
      FROM (FROM state WHERE kind = 'C') d LEFT JOIN renamed u ON u.letter = 'u' AND u.old = d.b
        LEFT JOIN things_was p ON p.letter = 'u' AND p.name = CASE WHEN d.user_id IS NULL THEN d.b END)
    GROUP BY key`;

/** Which results a whole export has, in little memory, and which a delta deletes. */
const resultsHere =
  'CREATE TABLE results_here AS SELECT hash(row) AS hash FROM results WHERE NOT is_gone(status)';
const resultsDeleted =
  'CREATE TABLE results_deleted AS SELECT row FROM results WHERE is_gone(status) AND problem IS NULL';

/**
 * Results that the SIS has no more, and whose grades stay. A later delta would take them for rows that it does not name, and send what
 * they claimed. Only their line item is kept, which no row has as its id: by that, times can be compared.
 */
const forgetGone = (isWhole: boolean): string => `
  CREATE TABLE gone AS
    WITH kept AS MATERIALIZED (SELECT DISTINCT row, hash(row) AS hash FROM kept_backs WHERE grp = 'results')
    SELECT row, split_part(row, chr(31), 1) || chr(31) AS rest FROM kept
      ${isWhole ? 'ANTI JOIN (FROM results_here SEMI JOIN kept USING (hash)) USING (hash)' : 'SEMI JOIN results_deleted USING (row)'};
  UPDATE kept_backs SET row = g.rest FROM gone g WHERE kept_backs.grp = 'results' AND kept_backs.row = g.row;
  UPDATE draft SET row = g.rest FROM gone g WHERE draft.grp = 'results' AND draft.row = g.row;
`;

/** What is sent for a grade that is held is sent to where its line item is now: from there that may move back. */
const movedAlong = `
  UPDATE draft SET org = i.org FROM items i WHERE draft.kind = '3' AND draft.change = 'updated' AND i.object = draft.a AND draft.org <> i.org`;

/** A grade that comes back knows the comments on the platform, which it may clear. */
const recallComments = `
  UPDATE draft SET before = l.value FROM comments_left l WHERE draft.key = l.key AND draft.change = 'created'`;

const load = async ({ sets, hasBefore, number, isOf10 }: Comparison): Promise<void> => {
  await sets.run(
    `CREATE TABLE enrolled_was AS SELECT key AS id, a AS class, b AS usr, value AS role, begins, ends, at_ms FROM state WHERE kind = 'E'`,
  );
  await sets.run(loadComments);
  if (!hasBefore) return;
  // Two may be one only if something is known by another name, or was not known.
  const [isOther] =
    (await sets.row<[number]>('SELECT EXISTS (FROM renamed) OR EXISTS (FROM things_was WHERE is_new)')) ?? [];
  await sets.run((isOther ? loadRenamed : loadAsNamed)({ number, isOf10 }));
};

const nameMovesIn = async ({ sets }: Comparison): Promise<NameMoves> => {
  await sets.run(`
    CREATE TABLE name_moves AS
      SELECT n.letter, n.name, n.id, f.platform_id AS former_id, n.platform_id FROM names n JOIN former f USING (letter, id)
      WHERE n.problem IS NULL AND f.platform_id <> n.platform_id;
    INSERT INTO problems
      SELECT CASE letter WHEN 'c' THEN 'classes.csv' ELSE 'users.csv' END, NULL, NULL, 'the name of the record ' || id || ' stands for '
        || platform_id || ' on the platform, and stood for ' || former_id || ' when it was accepted' FROM name_moves`);
  const [names = 0, claims = 0, people = 0, orgUnits = 0] =
    (await sets.row<[number, number, number, number]>(`
      WITH moved AS (
        FROM was w WHERE EXISTS (FROM name_moves) AND (
          id_in_thing(user_in(w.key)) IN (SELECT former_id FROM name_moves WHERE letter = 'u')
          OR id_in_thing(CASE WHEN w.kind = '2' THEN org_unit_in(w.key) ELSE w.org END) IN (SELECT former_id FROM name_moves WHERE letter = 'c')))
      SELECT (SELECT count(*) FROM name_moves), count(*), count(DISTINCT b), count(DISTINCT CASE WHEN kind = '2' THEN a ELSE org END) FROM moved`)) ??
    [];
  return { names, claims, people, orgUnits };
};

/** Testing an id takes longer than joining it, and every known id was tested. */
const isKnownOrId = (isKnown: string, id: string): string =>
  `CASE WHEN ${isKnown} THEN true ELSE is_id(${id}) END`;

/** Whom an unusable row may mean: no known one, if neither of two ids is known. */
const whoOf = (where: 'class' | 'item'): string => {
  const isForeign = `a IS NULL AND b IS NULL AND is_id(${where}) AND is_id(usr)`;
  return `CASE WHEN ${isForeign} THEN '' ELSE a END, CASE WHEN ${isForeign} THEN '' ELSE b END`;
};

/** A grade object that has passed to another line item has only that one's grades. */
const passedOn = `
  INSERT INTO not_meant
    SELECT DISTINCT r.grp, r.row, b.key FROM refused r JOIN backs b USING (grp, row) JOIN was w USING (key) JOIN items i ON i.object = w.a
    WHERE r.grp = 'results' AND i.id <> split_part(r.row, chr(31), 1)`;

/** An id that differs from a known one only by surrounding spaces or by case is a slip: the row may mean that one. */
const takeSlips = (
  table: 'enrolled' | 'results',
  { id, as, column, known }: { id: string; as: 'a' | 'b'; column: string; known: string },
): string => `
  UPDATE ${table} SET ${as} = k.name, problem = CASE WHEN problem[1] = '${column}' AND problem[3] = 'notInPackage'
      THEN ['${column}', 'differs from an id of the package by a space or by upper and lower case alone'] ELSE problem END
    FROM (SELECT ${slipOf('id')} AS slip, any_value(name) AS name FROM (${known}) GROUP BY slip HAVING count(*) = 1) k
    WHERE ${table}.problem IS NOT NULL AND ${table}.${as} IS NULL AND k.slip = ${slipOf(`${table}.${id}`)};`;

/** The row of a record whose name passed to it may mean what the former one had. */
const takePassed = (table: 'enrolled' | 'results'): string => `
  UPDATE ${table} SET b = n.name FROM names n
    WHERE ${table}.problem[3] = 'namePassed' AND ${table}.b IS NULL AND n.letter = 'u' AND n.id = ${table}.usr;`;

const slipOf = (id: string): string => `lower(trimmed(${id}))`;
const knownNames = (letter: 'c' | 'u'): string =>
  `SELECT id, CASE WHEN problem IS NULL THEN name END AS name FROM names WHERE letter = '${letter}'`;

/**
 * What is said in a delta must be newer than what was accepted: also a deletion, and a row that comes back after a deletion. An export
 * that has all enrollments ends what is known of deletions.
 */
const refuseOlder = `
  UPDATE enrolled SET problem = ['dateLastModified', 'is before the time of the accepted enrollment, which stays']
    FROM backs k JOIN was w USING (key)
    WHERE enrolled.problem IS NULL AND is_gone(enrolled.status) AND k.grp = 'enrollments' AND k.row = enrolled.row AND enrolled.at_ms < w.at_ms;
  UPDATE enrolled SET problem = ['dateLastModified', 'is before the time at which the enrollment was deleted']
    FROM state t WHERE enrolled.problem IS NULL AND NOT is_gone(enrolled.status) AND t.kind = 'T' AND t.key = enrolled.id AND enrolled.at_ms < t.at_ms;`;

/** Longer than a file is put again. */
const deletionKeptMs = 40 * 24 * 3_600_000;

/** The rows of a delta with one id must agree; if several rows were accepted by this id, it is unknown which one is meant. */
const refuseUnclear = `
  UPDATE enrolled SET problem = ['sourcedId', 'another row has the same sourcedId, but differs']
    WHERE problem IS NULL AND id IN (SELECT id FROM enrolled WHERE problem IS NULL GROUP BY id
      HAVING count(DISTINCT CASE WHEN is_gone(status) THEN '' ELSE concat_ws(chr(31), class, usr, role, begins, ends) END) > 1);
  UPDATE enrolled SET problem = ['sourcedId', 'several accepted rows have this sourcedId. Give each enrollment its own, and export all as bulk']
    WHERE problem IS NULL AND id IN (SELECT id FROM enrolled_was SEMI JOIN enrolled USING (id) GROUP BY id
      HAVING min(class) <> max(class) OR min(usr) <> max(usr));`;

/** A delta may delete a result by its \`sourcedId\` alone. Earlier versions did not keep those. */
const findDeleted = `
  UPDATE results SET row = b.row FROM backs b
    WHERE starts_with(results.row, '#') AND is_gone(results.status) AND problem IS NULL AND b.grp = 'results' AND b.mark = results.mark;
  UPDATE results
    SET problem = ['sourcedId', 'is not known of all accepted results. To delete this one, give lineItemSourcedId and studentSourcedId, too']
    WHERE starts_with(row, '#') AND is_gone(status) AND problem IS NULL AND EXISTS (FROM was WHERE kind = '3' AND mark IS NULL);`;

const refuseContradictions = `
  UPDATE results SET problem = ['lineItemSourcedId', '${differentResults}'], value = NULL
    WHERE problem IS NULL AND row IN (SELECT row FROM results WHERE problem IS NULL GROUP BY row
      HAVING bool_or(is_gone(status)) AND NOT bool_and(is_gone(status)));`;

type Refusing = {
  table: 'enrolled' | 'results';
  grp: 'enrollments' | 'results';
  where: 'class' | 'item';
  slips: string;
  /** Only for a delta. */
  contradictions: string | undefined;
};

/** Reports unusable rows. Most exports have none; then no statement is planned. */
const refuseRows = async (
  sets: SetEngine,
  { table, grp, where, slips, contradictions }: Refusing,
): Promise<boolean> => {
  const anyRefused = `SELECT EXISTS (FROM ${table} WHERE problem IS NOT NULL)`;
  if (contradictions === undefined && !(await sets.row<[number]>(anyRefused))?.[0]) return false;
  await sets.run(`
    ${slips}
    ${takePassed(table)}
    ${contradictions ?? ''}
    INSERT INTO refused (grp, row, a, b) SELECT '${grp}', row, ${whoOf(where)} FROM ${table} WHERE problem IS NOT NULL;
    ${reportRows(`${grp}.csv`, table)}`);
  return true;
};

/** Each record and line item must be known once. */
const doubledNames = `
  SELECT what, count(*) FROM (
    SELECT any_value(CASE kind WHEN 'N' THEN 'names' WHEN '1' THEN 'line items' ELSE 'grade objects' END) AS what
    FROM state WHERE kind IN ('N', '1', 'O') GROUP BY kind, a, key HAVING count(*) > 1) GROUP BY what ORDER BY what`;

/**
 * If two records have become one person or class, one is marked as deleted and the other stays. If their rows contradict each
 * other, those of the remaining record count.
 */
const yieldToStaying = async ({ sets }: Comparison): Promise<void> => {
  await sets.run(`
    CREATE TABLE formers AS
      SELECT letter, id FROM names WHERE active = 0 AND problem IS NULL
        AND (letter, name) IN (SELECT (letter, name) FROM names WHERE active = 1)`);
  const [hasFormers] = (await sets.row<[number]>('SELECT EXISTS (FROM formers)')) ?? [];
  if (!hasFormers) return;
  const isFormer = (letter: 'c' | 'u', id: string): string =>
    `${id} IN (SELECT id FROM formers WHERE letter = '${letter}')`;
  await sets.run(`
    CREATE TABLE of_formers AS
      SELECT c.key, c.row, c.value, c.kind, c.grp, c.line FROM claims c JOIN (
        SELECT enrollment_key(a_thing, b_thing) AS key, id AS row FROM enrolled_now WHERE ${isFormer('c', 'class')} OR ${isFormer('u', 'usr')}
        UNION SELECT key, row FROM claims WHERE kind = '3' AND ${isFormer('u', `split_part(row, chr(31), 2)`)}) USING (key, row);
    CREATE TABLE yielding AS
      SELECT * FROM of_formers f WHERE EXISTS (
        FROM claims c ANTI JOIN of_formers o ON o.key = c.key AND o.row = c.row WHERE c.key = f.key AND c.value <> f.value);
    INSERT INTO problems
      SELECT k.file, y.line, k.col, 'is not used, because its class or user is marked as deleted, and a row of the one that stays says otherwise'
      FROM yielding y JOIN kinds k USING (kind) WHERE y.line IS NOT NULL;
    INSERT INTO disputed_rows SELECT grp, count(*) FROM yielding WHERE line IS NOT NULL GROUP BY grp;
    DELETE FROM claims USING yielding y WHERE claims.key = y.key AND claims.row = y.row`);
};

const enrollmentColumns = {
  ...{ id: 'sourcedId', class: 'classSourcedId', usr: 'userSourcedId', role: 'role', status: 'status' },
  ...{ begins: 'beginDate', ends: 'endDate', changed: 'dateLastModified' },
};

/** Enrollments hold through their last day, in UTC. */
const readEnrollments = async (reading: Reading, users: Table | undefined): Promise<UnknownRoles> => {
  const { comparison, given } = reading;
  const { modes } = given;
  const { sets, droppedMs, settings } = comparison;
  const day = new Date(droppedMs).toISOString().slice(0, 10);
  const table = await openFile(reading, 'enrollments');
  await sets.run(`CREATE TABLE enrolled_read (line BIGINT, id VARCHAR, class VARCHAR, usr VARCHAR, role VARCHAR, status VARCHAR,
    begins VARCHAR, ends VARCHAR, begin_day VARCHAR, end_day VARCHAR, at_ms BIGINT)`);
  if (table) {
    // If the file has no ids, class, user and role together are the id.
    const id =
      table.at('sourcedId') < 0
        ? `left(sha256(concat_ws(chr(31), class, usr, role)), 40)`
        : `coalesce(id, '')`;
    await sets.run(
      `INSERT INTO enrolled_read
         SELECT line, ${id}, coalesce(class, ''), coalesce(usr, ''), trimmed(role), word_in(status), begins, ends, day_of(begins), day_of(ends),
           CASE WHEN ${timeOfClock} > ${droppedMs} THEN ${droppedMs} ELSE ${timeOfClock} END
         FROM (SELECT *, CASE WHEN instant IS NULL THEN day_of(changed) END AS day, CASE WHEN changed <> '' AND instant IS NULL THEN ${clockIn('changed')} END AS clock
           FROM (SELECT *, instant_in(changed) AS instant
             FROM (SELECT * REPLACE (trimmed(begins) AS begins, trimmed(ends) AS ends, trimmed(changed) AS changed) FROM (${rowsOf(table, enrollmentColumns)}))))`,
      [table.path],
    );
  }
  await addUserRoles(reading, { users, day });
  const isWithin = `(coalesce(begins, '') = '' OR begins <= '${day}') AND (coalesce(ends, '') = '' OR ends >= '${day}')`;
  const named = (of: string): string =>
    withName('u', { of: withName('c', { of, as: 'a', file: 'classes.csv' }), as: 'b', file: 'users.csv' });
  await sets.run(`
    CREATE TABLE enrolled AS
      SELECT r.* EXCLUDE (a_problem, b_problem, a_fate, b_fate, begin_day, end_day, has_id)
          REPLACE (coalesce(begin_day, begins) AS begins, coalesce(end_day, ends) AS ends), o.role_id, CASE WHEN has_id THEN r.id ELSE row_without_id(concat_ws(chr(31), r.id, r.class, r.usr, r.role)) END AS row,
        CASE WHEN is_gone(r.status) AND has_id THEN NULL
          WHEN NOT ${isKnownOrId('a_problem IS NULL', 'r.class')} THEN ['classSourcedId', 'is not an id']
          WHEN NOT ${isKnownOrId('b_problem IS NULL', 'r.usr')} THEN ['userSourcedId', 'is not an id']
          WHEN NOT has_id THEN ['sourcedId', 'is not an id']
          WHEN r.status NOT IN ('', 'active') THEN ${badStatus}
          WHEN r.begins <> '' AND r.begin_day IS NULL THEN ${unread('beginDate', 'r.begins', { otherwise: 'must be a day such as 2026-09-01', settings })}
          WHEN r.ends <> '' AND r.end_day IS NULL THEN ${unread('endDate', 'r.ends', { otherwise: 'must be a day such as 2026-12-20', settings })}
          WHEN a_problem IS NOT NULL THEN ['classSourcedId', a_problem, a_fate]
          WHEN b_problem IS NOT NULL THEN ['userSourcedId', b_problem, b_fate]
          WHEN r.role = '' THEN ['role', CASE WHEN r.usr IN (SELECT usr FROM user_roles) THEN 'is empty, and roles.csv gives the user several'
            ELSE 'is empty, and neither roles.csv nor users.csv gives the user one that holds today' END, 'withoutRole']
          WHEN o.role_id IS NULL THEN ['role', 'has no id in "roles" of snapshot-settings.json', 'unknownRole'] END AS problem
      FROM ${named('(SELECT *, is_id(id) AS has_id FROM enrolled_read)')} r LEFT JOIN roles o ON o.role = r.role;
    DROP TABLE enrolled_read`);
  const hasRefused = await refuseRows(sets, {
    ...{ table: 'enrolled', grp: 'enrollments', where: 'class' },
    slips: `
      ${takeSlips('enrolled', { id: 'class', as: 'a', column: 'classSourcedId', known: knownNames('c') })}
      ${takeSlips('enrolled', { id: 'usr', as: 'b', column: 'userSourcedId', known: knownNames('u') })}`,
    contradictions: modes.enrollments === 'delta' ? `${refuseUnclear} ${refuseOlder}` : undefined,
  });
  await sets.run(`
    -- What is not named by a delta stands as it was, and what cannot be read, too.
    CREATE TABLE enrolled_still AS
      SELECT r.*, o.role_id FROM ${named(
        `(SELECT * FROM enrolled_was ${
          modes.enrollments === 'bulk'
            ? 'SEMI JOIN (SELECT id FROM enrolled WHERE problem IS NOT NULL)'
            : 'ANTI JOIN (SELECT id FROM enrolled WHERE problem IS NULL)'
        } USING (id))`,
      )} r LEFT JOIN roles o ON o.role = r.role;
    CREATE TABLE enrolled_now AS
      SELECT line, id, class, usr, role, begins, ends, a, b, a_thing, b_thing, role_id, at_ms FROM enrolled WHERE problem IS NULL AND NOT is_gone(status)
      ${modes.enrollments === 'bulk' ? '' : 'UNION ALL SELECT NULL, id, class, usr, role, begins, ends, a, b, a_thing, b_thing, role_id, at_ms FROM enrolled_still WHERE a IS NOT NULL AND b IS NOT NULL AND role_id IS NOT NULL'};
    ${
      modes.enrollments === 'bulk'
        ? ''
        : `INSERT INTO held SELECT k.key FROM backs k JOIN enrolled_still s ON k.grp = 'enrollments' AND k.row = s.id
      WHERE s.a IS NULL OR s.b IS NULL OR s.role_id IS NULL;`
    }
    INSERT INTO claims BY NAME
      SELECT 'enrollments' AS grp, '2' AS kind, enrollment_key(a_thing, b_thing) AS key, a, b, role_id AS value, id AS row, at_ms, line
      FROM enrolled_now WHERE ${isWithin};
    ${
      modes.enrollments === 'bulk'
        ? ''
        : refusedStill('enrollments', { read: 'enrolled', a: 'coalesce(c.new, r.a)' })
    }
    DROP TABLE enrolled_was;
    DELETE FROM enrolled_now WHERE ends <> '' AND ends < '${day}';
    DELETE FROM enrolled_still WHERE ends <> '' AND ends < '${day}'`);
  // A file may have another role in each of its rows.
  const roles = !hasRefused
    ? []
    : await sets.all<[string | null, number]>(`
    SELECT CASE WHEN place <= ${maxUnknownRoles} THEN left(role, 50) END AS told, CAST(sum(rows) AS BIGINT) FROM (
      SELECT role, count(*) AS rows, row_number() OVER (ORDER BY min(line)) AS place FROM enrolled
      WHERE problem[3] = 'unknownRole' GROUP BY role)
    GROUP BY told ORDER BY min(place)`);
  const unknown: UnknownRoles = new Map(
    roles.map(([role, rows]) => [role === null ? 'and others' : JSON.stringify(role), rows]),
  );
  for (const [role, rows] of unknown) {
    const problem = `the role ${role} has no id in "roles" of snapshot-settings.json: ${rows} rows were refused`;
    await sets.run(`INSERT INTO problems VALUES ('enrollments.csv', NULL, 'role', $1)`, [problem]);
  }
  await countPassedRows(comparison, 'enrolled');
  await countRows(
    comparison,
    'enrollments.csv',
    `SELECT CASE WHEN problem IS NOT NULL THEN ${fateOfProblem} WHEN is_gone(status) THEN fate_of_gone(status) ELSE 'outsideDates' END AS fate,
       count(*) FROM enrolled WHERE problem IS NOT NULL OR is_gone(status) OR NOT (${isWithin}) GROUP BY fate`,
  );
  await noteSaid(comparison, 'enrolled');
  await sets.run(`
    CREATE TABLE deletions AS SELECT 'T' AS kind, id AS key, at_ms FROM enrolled WHERE ${modes.enrollments === 'delta'} AND problem IS NULL AND is_gone(status) AND at_ms IS NOT NULL;
    INSERT INTO deletions SELECT t.kind, t.key, t.at_ms FROM (FROM state WHERE kind = 'T') t ANTI JOIN enrolled e ON e.id = t.key AND e.problem IS NULL
      WHERE ${modes.enrollments !== 'bulk'} AND t.at_ms > ${droppedMs - deletionKeptMs}`);
  await sets.run('DROP TABLE enrolled');
  return unknown;
};

/** Rows that are gone count, too: what a delta deletes was said then. */
const noteSaid = async (comparison: Comparison, table: 'enrolled' | 'results'): Promise<void> => {
  const [latest] =
    (await comparison.sets.row<[number | null]>(`SELECT max(at_ms) FROM ${table} WHERE problem IS NULL`)) ??
    [];
  if (latest != null) comparison.saidMs = Math.max(comparison.saidMs ?? 0, latest);
};

const maxUnknownRoles = 20;

const resultColumns = {
  ...{
    id: 'sourcedId',
    item: 'lineItemSourcedId',
    usr: 'studentSourcedId',
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
  await sets.run(`CREATE TABLE results_read (line BIGINT, mark UBIGINT, item VARCHAR, usr VARCHAR, status VARCHAR, graded VARCHAR, score VARCHAR,
    words VARCHAR, comments VARCHAR, changed VARCHAR)`);
  if (table)
    await sets.run(
      `INSERT INTO results_read SELECT line, md5_number_lower(nullif(id, '')), coalesce(item, ''), coalesce(usr, ''), word_in(status), word_in(graded),
         trimmed(score), coalesce(words, ''), coalesce(comments, ''), trimmed(changed) FROM (${rowsOf(table, resultColumns)})`,
      [table.path],
    );
  const texts = scoreStatuses.map((each) => `'${each}'`).join(', ');
  await sets.run(`
    CREATE TABLE results AS
      SELECT line, mark, item, usr, status, graded, row, object AS a, b, b_thing, problem,
        CASE WHEN changed_ms > ${droppedMs} THEN ${droppedMs} ELSE changed_ms END AS at_ms, changed_ms > ${droppedMs + farthestZoneMs} AS is_future,
        CASE WHEN problem IS NULL AND NOT is_gone(status) AND graded = 'fully graded' THEN
          CASE WHEN points IS NOT NULL THEN numeric_grade(points, comments) ELSE text_grade(words, comments) END END AS value
      FROM (SELECT *, ${timeOfClock} AS changed_ms,
          CASE WHEN has_item AND has_user THEN r.item || chr(31) || r.usr
            ELSE row_without_id(concat_ws(chr(31), r.item, r.usr, r.score)) END AS row,
          CASE WHEN is_gone(r.status) AND r.mark IS NOT NULL THEN NULL
            WHEN NOT has_item THEN ['lineItemSourcedId', 'is not an id']
            WHEN NOT has_user THEN ['studentSourcedId', 'is not an id']
            WHEN is_gone(r.status) THEN NULL
            WHEN r.status NOT IN ('', 'active') THEN ${badStatus}
            WHEN r.graded NOT IN (${texts}) THEN ['scoreStatus', 'must be one of ${scoreStatuses.join(', ')}']
            WHEN r.graded <> 'fully graded' THEN NULL
            WHEN r.changed <> '' AND instant IS NULL AND day IS NULL
              THEN ${unread('dateLastModified', 'r.changed', { otherwise: 'must be a time such as 2026-01-31T09:30:00Z', settings })}
            WHEN r.object IS NULL THEN ['lineItemSourcedId', 'names no line item that can be used', 'notInPackage']
            WHEN b_problem IS NOT NULL THEN ['studentSourcedId', b_problem, b_fate]
            WHEN points IS NULL AND r.score <> '' THEN ['score', 'must be a number such as 100 or 7.5']
            WHEN r.score = '' AND r.words = '' THEN ['score', 'is empty, and textScore is empty, too']
            WHEN r.score = '' AND has_control_in_text(r.words) THEN ['textScore', 'has control characters']
            WHEN has_control_in_text(r.comments) THEN ['comment', 'has control characters'] END AS problem
        FROM (SELECT *, CASE WHEN instant IS NULL THEN day_of(changed) END AS day,
            CASE WHEN changed <> '' AND instant IS NULL THEN ${clockIn('changed')} END AS clock
          FROM (SELECT r.*, i.object, ${isKnownOrId('i.id IS NOT NULL', 'r.item')} AS has_item, ${isKnownOrId('b_problem IS NULL', 'r.usr')} AS has_user,
              number_in(score) AS points, instant_in(changed) AS instant
            FROM ${withName('u', { of: 'results_read', as: 'b', file: 'users.csv' })} r LEFT JOIN items i ON i.id = r.item AND NOT i.clashes)) r);
    DROP TABLE results_read`);
  const items = 'SELECT id, object AS name FROM items';
  await refuseRows(sets, {
    ...{ table: 'results', grp: 'results', where: 'item' },
    slips: `
      ${takeSlips('results', { id: 'item', as: 'a', column: 'lineItemSourcedId', known: items })}
      ${takeSlips('results', { id: 'usr', as: 'b', column: 'studentSourcedId', known: knownNames('u') })}`,
    contradictions: modes.results === 'delta' ? `${findDeleted} ${refuseContradictions}` : undefined,
  });
  await sets.run(`
    INSERT INTO problems
      SELECT 'results.csv', NULL, 'dateLastModified', 'is later than when the file was put into the bucket, and counts as then ('
        || count(*) || CASE WHEN count(*) = 1 THEN ' row, in line ' ELSE ' rows, the first in line ' END || min(line) || ')'
      FROM results WHERE is_future AND value IS NOT NULL HAVING count(*) > 0;
    INSERT INTO pending
      SELECT coalesce(k.key, grade_key(r.a, r.b_thing)), r.row FROM results r LEFT JOIN backs k ON k.grp = 'results' AND k.row = r.row
      WHERE r.problem IS NULL AND NOT is_gone(r.status) AND r.graded <> 'fully graded';
    INSERT INTO claims BY NAME
      SELECT 'results' AS grp, '3' AS kind, grade_key(a, b_thing) AS key, a, b, value, row, at_ms, mark, line FROM results WHERE value IS NOT NULL;
    -- Beside a score that is fully graded, that one counts.
    INSERT INTO held SELECT p.key FROM pending p ANTI JOIN claims c ON c.key = p.key WHERE p.key IS NOT NULL`);
  await countPassedRows(comparison, 'results');
  await countRows(
    comparison,
    'results.csv',
    `SELECT CASE WHEN problem IS NOT NULL THEN ${fateOfProblem} WHEN is_gone(status) THEN fate_of_gone(status) ELSE 'notGraded' END AS fate,
       count(*) FROM results WHERE value IS NULL GROUP BY fate`,
  );
  await noteSaid(comparison, 'results');
  const isWhole = modes.results === 'bulk';
  if (comparison.hasBefore) await sets.run(isWhole ? resultsHere : resultsDeleted);
  if (!isWhole) await sets.run(refusedStill('results', { read: 'results', a: 'r.a' }));
  const [hasRefused] = (await sets.row<[number]>(`SELECT EXISTS (FROM refused WHERE grp = 'results')`)) ?? [];
  if (hasRefused) await sets.run(passedOn);
  if (isWhole) {
    await sets.run('DROP TABLE results');
    return;
  }
  // What a delta does not name stays as it was. A row says what is known of its line item and user as they were accepted last: what it
  // said before may be held for another row.
  await sets.run(`
    CREATE VIEW last_keys AS
      SELECT k.row, grade_key(i.object, thing_of(n.platform_id, coalesce(m.new, n.name))) AS key
      FROM (SELECT DISTINCT row FROM backs WHERE grp = 'results') k JOIN items_was i ON i.id = split_part(k.row, chr(31), 1)
        JOIN former n ON n.letter = 'u' AND n.id = split_part(k.row, chr(31), 2)
        LEFT JOIN renamed m ON m.letter = 'u' AND m.old = n.name;
    CREATE TABLE results_still AS
      SELECT r.*, i.object AS a FROM ${withName('u', {
        of: `(SELECT k.key, k.row, w.value, w.at_ms, k.mark, split_part(k.row, chr(31), 1) AS item, split_part(k.row, chr(31), 2) AS usr
          FROM backs k JOIN was w USING (key) ANTI JOIN (SELECT row FROM results WHERE problem IS NULL) x ON x.row = k.row
            LEFT JOIN last_keys o ON o.row = k.row
          WHERE k.grp = 'results'
          QUALIFY k.key = o.key OR NOT coalesce(bool_or(k.key = o.key) OVER (PARTITION BY k.row), false))`,
        ...{ as: 'b', file: 'users.csv' },
      })} r LEFT JOIN items i ON i.id = r.item AND NOT i.clashes;
    INSERT INTO claims BY NAME
      SELECT 'results' AS grp, '3' AS kind, grade_key(a, b_thing) AS key, a, b, value, row, at_ms, mark FROM results_still
      WHERE a IS NOT NULL AND b IS NOT NULL;
    -- They may be gone since a whole export, and so hold only what no row claims.
    INSERT INTO held SELECT s.key FROM results_still s ANTI JOIN claims c ON c.key = s.key WHERE s.a IS NULL OR s.b IS NULL`);
};

const furtherLines = [
  `SELECT 'C' AS kind, key, a, b, value, id_in_thing(user_in(key)) AS user_id FROM (
     SELECT key, a, b, value FROM draft WHERE change = 'removed' AND kind = '3' AND comments_of(value) <> ''
     UNION ALL FROM comments_left ANTI JOIN draft USING (key)) SEMI JOIN items ON items.object = a`,
  `SELECT 'N' AS kind, id AS key, letter AS a, name AS value, active AS seen,
     CASE WHEN letter = 'c' THEN platform_id END AS org_unit_id, CASE WHEN letter = 'u' THEN platform_id END AS user_id
   FROM names`,
  `SELECT 'P' AS kind, id AS key, name AS value, platform_id AS user_id FROM passed`,
  'SELECT * FROM deletions',
  `SELECT '1' AS kind, id AS key, json AS data FROM item_lines`,
  `SELECT 'O' AS kind, object AS key, json AS data FROM object_lines`,
  `SELECT 'E' AS kind, id AS key, class AS a, usr AS b, role AS value, begins, ends, at_ms FROM enrolled_now`,
  `SELECT 'E' AS kind, id AS key, class AS a, usr AS b, role AS value, begins, ends, at_ms FROM enrolled_still ANTI JOIN enrolled_now USING (id)`,
];
