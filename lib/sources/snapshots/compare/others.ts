import { join } from 'node:path';
import { quotedText } from '../../../runtime/files/tables/engine.ts';
import { keepFile } from '../../../runtime/files/tables/packed-rows.ts';
import { stateKey } from '../state/record.ts';
import { type SnapshotNow, snapshotsNow } from '../state/snapshots-now.ts';
import type { Comparison, Effects, OtherFile } from './comparison.ts';

/**
 * What all accepted files together want of the enrollments that this file is about. An enrollment ends only if no file wants it any
 * more. A row that ends it counts only against a row of another file about the same section that is older. If files give it different roles, the setting `roleOrder` decides if it names all of them; otherwise the file whose row was
 * changed last, if all rows have times; otherwise both files are reported, and the platform keeps what it has.
 *
 * - `other_claims`: what the other files want, by `thing`, such as `enrollment/2601/301`. A role of `absent`: it must not exist.
 * - `several_roles`: all rows of this file about enrollments that more than one is about, as of several sections of one course.
 * - `passed_names`: user names that passed to another record in an export of OneRoster, while the crosswalk gives the former one's account.
 * - `effects`: what this file changes, with the role by all files before and after it. NULL: no file wants it, or they are undecided.
 * - `instead`: what is sent in place of what this file alone would send. A NULL role: nothing.
 */
const schema = `
  CREATE TABLE role_places (role VARCHAR, place BIGINT);
  CREATE TABLE other_claims (thing VARCHAR, code VARCHAR, role VARCHAR, said_at_ms BIGINT, source_file VARCHAR);
  CREATE TABLE passed_names (token VARCHAR);
  CREATE TABLE several_roles (key VARCHAR, thing VARCHAR, code VARCHAR, role VARCHAR, said_at_ms BIGINT);
  CREATE TABLE instead (key VARCHAR, role VARCHAR, data VARCHAR);
  CREATE MACRO role_in(value) AS
    CASE WHEN starts_with(value, 'enrollment-create') THEN nullif(regexp_extract(value, '"roleId":([0-9]+)', 1), '')
      WHEN starts_with(value, 'enrollment-remove') THEN 'absent' WHEN regexp_full_match(value, '[0-9]+') THEN value END;
  CREATE MACRO id_in_token(token) AS CASE WHEN regexp_matches(token, '^(orgUnitId|userId)=') THEN split_part(token, '=', 2) END;
  CREATE MACRO enrollment_of(org_unit_id, code, user_id, name) AS
    'enrollment/' || coalesce(org_unit_id, code) || '/' || coalesce(user_id, name);
  -- An id or a name in a thing, as a member of JSON.
  CREATE MACRO member_of(part, field) AS
    CASE WHEN regexp_full_match(part, '[0-9]+') THEN '"' || field || '":' || part
      ELSE '"' || split_part(part, '=', 1) || '":' || to_json(part[length(split_part(part, '=', 1)) + 2:]) END;
`;

/** The enrollments among what a comparison has: expressions over `d`, a row of `draft` or `claims`. */
export type EnrollmentForms = {
  isOne: string;
  /** What it is about, as in `other_claims`; NULL: it is no enrollment. */
  thing: string;
  /** The org unit as the row names it, by the column. */
  codeIn(column: 'a' | 'before_a'): string;
  /** The role by the column `value` or `before`. */
  roleIn(column: 'value' | 'before'): string;
  /** Its removal is sent if no row wants it. */
  isRemoved: string;
};

/** Reads what the other accepted files want of enrollments. */
export const loadOthers = async (comparison: Comparison): Promise<void> => {
  const { sets, store, folder, acceptedKey, settings } = comparison;
  await sets.run(schema);
  const places = settings.roleOrder.map((role, place) => [String(settings.roles[role]), String(place)]);
  if (places.length > 0) await sets.add('role_places', places);
  const others = (await snapshotsNow(store)).filter((each) => each.acceptedKey !== acceptedKey);
  comparison.others = others;
  for (const [at, other] of others.entries()) {
    comparison.lastDroppedMs = Math.max(comparison.lastDroppedMs, other.droppedMs + 999);
    const kinds = [...other.functions].filter(([, name]) => name.startsWith('enrollment-'));
    const path = join(folder, `other-${at}`);
    if (kinds.length === 0 || !(await keepFile(await store.open(stateKey(other.id)), path))) continue;
    await sets.run(`CREATE OR REPLACE VIEW other_state AS
      (FROM carried WHERE false) UNION ALL BY NAME FROM read_parquet(${quotedText(path)})`);
    await sets.run(`INSERT INTO passed_names SELECT k.field || '=' || k.name FROM other_state s
      JOIN known_names k ON s.kind = 'P' AND k.field = '${other.userField ?? ''}' AND k.name = s.value AND k.id = s.user_id`);
    await sets.run(
      `INSERT INTO other_claims ${claimsOf(other)} UNION ALL SELECT s.data, s.a, s.value, s.at_ms, CAST($1 AS VARCHAR) FROM other_state s WHERE s.kind = 'A'`,
      [sourceOf(other)],
    );
  }
};

/** How reports name it. */
const sourceOf = ({ name, droppedMs }: OtherFile): string =>
  `${name} of ${new Date(droppedMs).toISOString().slice(0, 10)}`;

/** `$1`: its name. Names stand for what they stood for when it was accepted, or else for what they stand for now. */
const claimsOf = ({ userField, functions }: SnapshotNow): string =>
  userField
    ? `SELECT enrollment_of(coalesce(s.org_unit_id, o.id), 'orgUnitCode=' || s.a, coalesce(s.user_id, u.id), '${userField}=' || s.b),
         'orgUnitCode=' || s.a, s.value, CASE WHEN s.begins IS NULL THEN s.at_ms END, CAST($1 AS VARCHAR)
       FROM other_state s LEFT JOIN known_names o ON o.field = 'orgUnitCode' AND o.name = s.a AND s.org_unit_id IS NULL
         LEFT JOIN known_names u ON u.field = '${userField}' AND u.name = s.b AND s.user_id IS NULL
       WHERE s.kind = '2' AND s.begins IS DISTINCT FROM 'several'`
    : [...functions]
        .filter(([, name]) => name.startsWith('enrollment-'))
        .map(
          ([kind, name]) =>
            `SELECT enrollment_of(coalesce(s.org_unit_id, id_in_token(s.a), o.id), s.a, coalesce(s.user_id, id_in_token(s.b), u.id), s.b), s.a,
               ${name === 'enrollment-create' ? `CAST(s.data AS JSON) ->> 'roleId'` : `'absent'`}, CASE WHEN s.begins IS NULL THEN s.at_ms END, CAST($1 AS VARCHAR)
             FROM other_state s LEFT JOIN known_names o ON o.field || '=' || o.name = s.a AND s.org_unit_id IS NULL
               LEFT JOIN known_names u ON u.field || '=' || u.name = s.b AND s.user_id IS NULL
             WHERE s.kind = '${kind}' AND s.begins IS DISTINCT FROM 'several'`,
        )
        .join(' UNION ALL ');

/**
 * The role by several claims about one enrollment (`claimed`: `side`, `key`, `code`, `role`, `said_at_ms`), as `agreed`. `absent`: no
 * claim stands. NULL: it cannot be decided.
 */
const agree = `
  CREATE TABLE standing AS
    SELECT *, max(said_at_ms) OVER (PARTITION BY side, key) AS latest FROM (
      SELECT c.side, c.key, c.role, c.said_at_ms
      FROM claimed c LEFT JOIN role_places p USING (role) LEFT JOIN (
        SELECT side, key, code, CASE WHEN count(*) = count(said_at_ms) THEN max(said_at_ms) END AS ended_ms
        FROM claimed WHERE role = 'absent' GROUP BY side, key, code) e ON e.side = c.side AND e.key = c.key AND e.code = c.code
      WHERE c.role <> 'absent' AND (e.ended_ms > c.said_at_ms) IS NOT TRUE
      -- Of the roles that have a place, the first one.
      QUALIFY p.place IS NULL OR p.place = min(p.place) OVER (PARTITION BY c.side, c.key));
  CREATE TABLE agreed AS
    SELECT side, key, CASE WHEN min(role) = max(role) THEN min(role)
        WHEN count(*) = count(said_at_ms) AND count(DISTINCT CASE WHEN said_at_ms = latest THEN role END) = 1 THEN arg_max(role, said_at_ms) END AS role
    FROM standing GROUP BY side, key
    UNION ALL SELECT DISTINCT side, key, 'absent' FROM claimed ANTI JOIN standing USING (side, key);
  DROP TABLE standing;
`;

/**
 * Rows of one file that give a user different roles in an org unit: those that yield take the role of the others. What cannot be decided
 * is left as it is.
 */
const agreeWithin = ({ thing, codeIn, roleIn }: EnrollmentForms): string => `
  INSERT INTO several_roles
    SELECT d.key, ${thing}, ${codeIn('a')}, ${roleIn('value')}, d.at_ms FROM claims d SEMI JOIN several USING (key) WHERE ${thing} IS NOT NULL;
  CREATE TABLE claimed AS
    SELECT 'now' AS side, key, code, role, said_at_ms FROM several_roles;
  ${agree};
  CREATE TABLE winners AS
    SELECT d.key, any_value(d.value) AS value, any_value(d.data) AS data, max(d.at_ms) AS at_ms
    FROM claims d JOIN agreed a ON a.key = d.key AND a.role = ${roleIn('value')} GROUP BY d.key;
  UPDATE claims SET value = w.value, data = w.data, at_ms = w.at_ms FROM winners w WHERE w.key = claims.key AND claims.value <> w.value;
  DROP TABLE claimed; DROP TABLE agreed; DROP TABLE winners;
`;

/** What other files speak of is compared, too, if the rows of this file are as before: it may be by another section that they hold it. */
export const findShared = async ({ sets }: Comparison, { isOne, thing }: EnrollmentForms): Promise<void> => {
  const [hasOthers] = (await sets.row<[number]>('SELECT EXISTS (FROM other_claims)')) ?? [];
  if (!hasOthers) return;
  const shared = (table: string): string =>
    `SELECT d.key FROM (FROM ${table} d WHERE ${isOne}) d SEMI JOIN other_claims o ON o.thing = ${thing}`;
  await sets.run(
    `INSERT INTO differing SELECT key FROM (${shared('claims')} UNION ${shared('was')}) ANTI JOIN differing USING (key)`,
  );
};

export const agreeOnRoles = ({ sets }: Comparison, forms: EnrollmentForms): Promise<void> =>
  sets.run(agreeWithin(forms));

const findEffects = ({ isOne, thing, codeIn, roleIn, isRemoved }: EnrollmentForms): string => `
  CREATE TABLE effects AS
    SELECT key, ${thing} AS thing, ${codeIn('a')} AS code, ${codeIn('before_a')} AS code_before, change, CASE WHEN NOT is_renamed THEN ${roleIn('before')} END AS role_before, is_renamed, CASE WHEN change <> 'removed' THEN ${roleIn('value')} END AS role_after,
      at_ms, before_at_ms, ${isRemoved} AS is_removed, NULL::VARCHAR AS before, NULL::VARCHAR AS after, false AS is_undecided
    FROM draft d WHERE change IN ('created', 'updated', 'removed', 'unchanged') AND ${isOne};
  UPDATE effects SET before = role_before, after = role_after;
`;

const weighOthers = `
  CREATE TABLE shared AS
    SELECT e.key, o.code, o.role, o.said_at_ms, o.source_file FROM effects e JOIN other_claims o USING (thing);
  CREATE TABLE several_before AS SELECT key, a AS code, value AS role, at_ms AS said_at_ms FROM state WHERE kind = 'A';
  CREATE TABLE claimed AS
    SELECT 'before' AS side, key, code, role, said_at_ms FROM shared
    UNION ALL SELECT 'after', key, code, role, said_at_ms FROM shared
    UNION ALL SELECT 'before', key, code_before, role_before, before_at_ms FROM effects SEMI JOIN shared USING (key) ANTI JOIN several_before USING (key)
      WHERE role_before IS NOT NULL
    UNION ALL SELECT 'before', key, s.code, s.role, s.said_at_ms FROM several_before s JOIN effects e USING (key) SEMI JOIN shared USING (key)
      WHERE e.role_before IS NOT NULL
    UNION ALL SELECT 'after', key, code, role_after, at_ms FROM effects SEMI JOIN shared USING (key) ANTI JOIN several_roles USING (key)
      WHERE role_after IS NOT NULL
    UNION ALL SELECT 'after', key, s.code, s.role, s.said_at_ms FROM several_roles s JOIN effects e USING (key) SEMI JOIN shared USING (key)
      WHERE e.role_after IS NOT NULL;
  ${agree};
  -- What a message did that waited for its name is unknown.
  UPDATE effects SET before = a.role FROM agreed a WHERE a.key = effects.key AND a.side = 'before' AND NOT is_renamed;
  UPDATE effects SET after = a.role, is_undecided = a.role IS NULL FROM agreed a WHERE a.key = effects.key AND a.side = 'after';
  INSERT INTO instead
    SELECT key, CASE WHEN is_undecided OR after = before OR (change = 'removed' AND after = 'absent' AND NOT is_removed) THEN NULL ELSE after END,
      '{' || member_of(split_part(thing, '/', 2), 'orgUnitId') || ',' || member_of(thing[length(split_part(thing, '/', 2)) + 13:], 'userId')
        || CASE WHEN after <> 'absent' THEN ',"roleId":' || after ELSE '' END || '}'
    FROM effects SEMI JOIN shared USING (key) WHERE is_undecided OR after IS DISTINCT FROM role_after OR after = before;
`;

/** A row of another file that has not changed may contradict one of this file every night. */
const contradictions = ({ thing, codeIn, roleIn }: EnrollmentForms): string[] => [
  `
  CREATE TABLE claimed AS
    SELECT 'now' AS side, d.key, ${codeIn('a')} AS code, ${roleIn('value')} AS role, d.at_ms AS said_at_ms, d.line, NULL::VARCHAR AS source_file
    FROM claims d SEMI JOIN (SELECT thing FROM other_claims) o ON o.thing = ${thing};
  INSERT INTO claimed
    SELECT 'now', d.key, o.code, o.role, o.said_at_ms, NULL, o.source_file FROM claims d JOIN other_claims o ON o.thing = ${thing};
  DELETE FROM claimed WHERE source_file IS NULL AND key IN (SELECT key FROM several_roles);
  INSERT INTO claimed SELECT 'now', key, code, role, said_at_ms, c.line, NULL FROM several_roles s JOIN (SELECT key, line FROM claims) c USING (key) SEMI JOIN claimed USING (key);
  ${agree}`,
  `
  INSERT INTO problems
    SELECT $1, c.line, $2, CASE WHEN c.role = 'absent' THEN 'does not end the enrollment, because ' || o.source_file || ' has it, and no older row of this section'
        ELSE 'gives another role than ' || o.source_file || ', and neither has precedence: the platform keeps what it has. Correct one of them, or set "roleOrder" in snapshot-settings.json' END
    FROM claimed c JOIN agreed a ON a.key = c.key
      JOIN (SELECT key, min(source_file) AS source_file FROM claimed WHERE source_file IS NOT NULL AND role <> 'absent' GROUP BY key) o ON o.key = c.key
    WHERE c.line IS NOT NULL AND (a.role IS NULL OR (c.role = 'absent' AND a.role <> 'absent'))`,
];

/** Who still wants what this file no longer has. */
const findHeldBack = `
  SELECT s.source_file, count(DISTINCT e.key) FROM effects e JOIN shared s USING (key)
  WHERE e.change = 'removed' AND e.is_removed AND s.role <> 'absent' AND coalesce(e.after, '') <> 'absent' GROUP BY s.source_file ORDER BY 1`;

const heldBackText = (source: string, { count, feed }: { count: number; feed: string }): string =>
  `${count} ${count === 1 ? 'enrollment is' : 'enrollments are'} no longer in this file, but not removed: ${source} has ${count === 1 ? 'it' : 'them'}. If that file comes no more, end it by sis-relay snapshots end ${/^[\w.-]+$/.test(feed) ? feed : `"${feed}"`}`;

const reportHeldBack = async ({ sets, others, heldBack }: Comparison, file: string): Promise<void> => {
  for (const [source, count] of await sets.all<[string, number]>(findHeldBack)) {
    const other = others.find((each) => sourceOf(each) === source);
    if (other === undefined) continue;
    heldBack[other.id] = count;
    const text = heldBackText(source, { count, feed: other.feed });
    await sets.run('INSERT INTO problems VALUES ($1, NULL, NULL, $2)', [file, text]);
  }
};

const wasEnrolled = ({ isOne, roleIn }: EnrollmentForms): string =>
  `FROM was d WHERE ${isOne} AND ${roleIn('value')} <> 'absent'`;
/** The same as of `effects`, if there is no other file. */
const effectsAlone = (forms: EnrollmentForms): string => {
  const { isOne, roleIn, isRemoved } = forms;
  const [before, after] = [roleIn('before'), roleIn('value')];
  return `
    SELECT (SELECT count(*) ${wasEnrolled(forms)}),
      count(*) FILTER ((change = 'removed' AND ${isRemoved} AND ${before} <> 'absent') OR (change <> 'removed' AND ${after} = 'absent' AND ${before} IS DISTINCT FROM 'absent')),
      count(*) FILTER (change = 'updated' AND NOT is_renamed AND ${after} <> 'absent' AND ${before} <> 'absent' AND ${before} <> ${after})
    FROM draft d WHERE ${isOne} AND change IN ('created', 'updated', 'removed')`;
};
const acceptedByAll = (forms: EnrollmentForms): string => `
  (SELECT count(*) FROM (SELECT thing FROM other_claims WHERE role <> 'absent' UNION SELECT ${forms.thing} ${wasEnrolled(forms)}))`;

/** Decides by all files what this one changes. `file`: its name in reports. */
export const settleEnrollments = async (
  comparison: Comparison,
  forms: EnrollmentForms,
  { file, column }: { file: string; column: string },
): Promise<Effects> => {
  const { sets } = comparison;
  const [hasOthers] = (await sets.row<[number]>('SELECT EXISTS (FROM other_claims)')) ?? [];
  // An end counts what it does by `effects`.
  if (!hasOthers && !comparison.isEnd) {
    const [accepted = 0, ended = 0, changed = 0] =
      (await sets.row<[number, number, number]>(effectsAlone(forms))) ?? [];
    return { accepted, ended, changed };
  }
  await sets.run(findEffects(forms));
  await sets.run(weighOthers);
  await reportHeldBack(comparison, file);
  await sets.run(
    "UPDATE draft SET change = 'updated' WHERE change = 'unchanged' AND key IN (SELECT key FROM effects WHERE after <> before OR (before IS NULL AND after IS NOT NULL))",
  );
  await sets.run('DROP TABLE claimed; DROP TABLE agreed');
  const [compared = '', reported = ''] = contradictions(forms);
  await sets.run(compared);
  await sets.run(reported, [file, column]);
  await sets.run('DROP TABLE claimed; DROP TABLE agreed');
  const [accepted = 0, ended = 0, changed = 0] =
    (await sets.row<[number, number, number]>(`
      SELECT ${acceptedByAll(forms)},
        count(*) FILTER ((change = 'removed' AND is_removed AND after IS NULL AND NOT is_undecided) OR (after = 'absent' AND before IS DISTINCT FROM 'absent')),
        count(*) FILTER (before <> after AND after <> 'absent')
      FROM effects`)) ?? [];
  return { accepted, ended, changed };
};
