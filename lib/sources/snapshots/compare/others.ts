import { join } from 'node:path';
import { quotedText } from '../../../runtime/files/tables/engine.ts';
import { keepFile } from '../../../runtime/files/tables/packed-rows.ts';
import { stateKey } from '../state/record.ts';
import { type SnapshotNow, snapshotsNow } from '../state/snapshots-now.ts';
import { viewsOfState } from '../state/state-rows.ts';
import type { Comparison } from './comparison.ts';

/**
 * What all accepted files together want of the enrollments that this file is about. An enrollment ends only if no file wants it any
 * more. A row that ends it counts only against a row of another file about the same section that is older. If files give it different roles, the setting `roleOrder` decides if it names all of them; otherwise the file whose row was
 * changed last, if all rows have times; otherwise both files are reported, and the platform keeps what it has.
 *
 * - `other_claims`: what the other files want, by enrollment, such as `enrollment/2601/301`. A role of `absent`: it must not exist.
 * - `endings`: rows of this file that end one enrollment by several sections: each counts against its own section.
 * - `passed_names`: user names that passed to another record in an export of OneRoster, while the crosswalk gives the former one's account.
 * - `effects`: what this file changes, with the role by all files before and after it. NULL: no file wants it, or they are undecided.
 * - `replacements`: what is sent in place of what this file alone would send. A NULL role: nothing.
 */
const schema = `
  CREATE TABLE role_places (role VARCHAR, place BIGINT);
  CREATE TABLE other_claims (enrollment VARCHAR, org_unit_name VARCHAR, role VARCHAR, said_at_ms BIGINT, source_file VARCHAR);
  CREATE TABLE passed_names (token VARCHAR);
  CREATE TABLE endings (key VARCHAR, org_unit_name VARCHAR, said_at_ms BIGINT);
  CREATE TABLE replacements (key VARCHAR, role VARCHAR, data VARCHAR);
  CREATE MACRO role_in(wanted_value) AS
    CASE WHEN starts_with(wanted_value, 'enrollment-create') THEN nullif(regexp_extract(wanted_value, '"roleId":([0-9]+)', 1), '')
      WHEN starts_with(wanted_value, 'enrollment-remove') THEN 'absent' WHEN regexp_full_match(wanted_value, '[0-9]+') THEN wanted_value END;
  CREATE MACRO id_in_token(token) AS CASE WHEN regexp_matches(token, '^(orgUnitId|userId)=') THEN split_part(token, '=', 2) END;
  CREATE MACRO enrollment_of(org_unit_id, org_unit_name, user_id, user_name) AS
    'enrollment/' || coalesce(org_unit_id, org_unit_name) || '/' || coalesce(user_id, user_name);
  -- An id or a name in an enrollment, as a member of JSON.
  CREATE MACRO member_of(part, field) AS
    CASE WHEN regexp_full_match(part, '[0-9]+') THEN '"' || field || '":' || part
      ELSE '"' || split_part(part, '=', 1) || '":' || to_json(part[length(split_part(part, '=', 1)) + 2:]) END;
`;

/** The enrollments among what a comparison has: expressions over `d`, a row of `difference` or `claims`. */
export type EnrollmentForms = {
  isOne: string;
  /** What it is about, as in `other_claims`; NULL: it is no enrollment. */
  enrollment: string;
  /** The org unit as the row names it. */
  orgUnitName: string;
  /** The role by one of these columns. */
  roleIn(column: 'wanted_value' | 'accepted_value'): string;
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
  for (const [at, other] of others.entries()) {
    comparison.lastDroppedMs = Math.max(comparison.lastDroppedMs, other.droppedMs + 999);
    const kinds = [...other.functions].filter(([, name]) => name.startsWith('enrollment-'));
    const path = join(folder, `other-${at}`);
    if (kinds.length === 0 || !(await keepFile(await store.open(stateKey(other.id)), path))) continue;
    await sets.run(viewsOfState('other_state', `FROM read_parquet(${quotedText(path)})`));
    await sets.run(`INSERT INTO passed_names SELECT k.field || '=' || k.name FROM other_state_passed_names s
      JOIN known_names k ON k.field = '${other.userField ?? ''}' AND k.name = s.name AND k.id = s.user_id`);
    await sets.run(`INSERT INTO other_claims ${claimsOf(other)}`, [`${other.name} of ${dayOf(other)}`]);
  }
};

const dayOf = ({ droppedMs }: SnapshotNow): string => new Date(droppedMs).toISOString().slice(0, 10);

/** The rows of a message, with further ones that end an enrollment. */
const rowsOfKind = (kind: string, name: string): string => {
  const rows = `FROM other_state_wanted WHERE state_kind = '${kind}'`;
  return name === 'enrollment-remove' ? `(${rows} UNION ALL BY NAME FROM other_state_endings)` : `(${rows})`;
};

/** `$1`: its name. Names stand for what they stood for when it was accepted, or else for what they stand for now. */
const claimsOf = ({ userField, functions }: SnapshotNow): string =>
  userField
    ? `SELECT enrollment_of(coalesce(s.org_unit_id, o.id), 'orgUnitCode=' || s.org_unit_or_object, coalesce(s.user_id, u.id), '${userField}=' || s.user_name),
         'orgUnitCode=' || s.org_unit_or_object, s.wanted_value, s.said_at_ms, CAST($1 AS VARCHAR)
       FROM other_state_wanted s LEFT JOIN known_names o ON o.field = 'orgUnitCode' AND o.name = s.org_unit_or_object AND s.org_unit_id IS NULL
         LEFT JOIN known_names u ON u.field = '${userField}' AND u.name = s.user_name AND s.user_id IS NULL
       WHERE is_enrollment(s.state_kind)`
    : [...functions]
        .filter(([, name]) => name.startsWith('enrollment-'))
        .map(
          ([kind, name]) =>
            `SELECT enrollment_of(coalesce(s.org_unit_id, id_in_token(s.org_unit_or_object), o.id), s.org_unit_or_object, coalesce(s.user_id, id_in_token(s.user_name), u.id), s.user_name), s.org_unit_or_object,
               ${name === 'enrollment-create' ? `CAST(s.data AS JSON) ->> 'roleId'` : `'absent'`}, s.said_at_ms, CAST($1 AS VARCHAR)
             FROM ${rowsOfKind(kind, name)} s LEFT JOIN known_names o ON o.field || '=' || o.name = s.org_unit_or_object AND s.org_unit_id IS NULL
               LEFT JOIN known_names u ON u.field || '=' || u.name = s.user_name AND s.user_id IS NULL
             `,
        )
        .join(' UNION ALL ');

/**
 * The role by several claims about one enrollment (`role_claims`: `side`, `key`, `org_unit_name`, `role`, `said_at_ms`), as `agreed_roles`. `absent`: no
 * claim stands. NULL: it cannot be decided.
 */
const agree = `
  CREATE TABLE standing_claims AS
    SELECT *, max(said_at_ms) OVER (PARTITION BY side, key) AS latest FROM (
      SELECT c.side, c.key, c.role, c.said_at_ms
      FROM role_claims c LEFT JOIN role_places p USING (role) LEFT JOIN (
        SELECT side, key, org_unit_name, CASE WHEN count(*) = count(said_at_ms) THEN max(said_at_ms) END AS ended_ms
        FROM role_claims WHERE role = 'absent' GROUP BY side, key, org_unit_name) e ON e.side = c.side AND e.key = c.key AND e.org_unit_name = c.org_unit_name
      WHERE c.role <> 'absent' AND (e.ended_ms > c.said_at_ms) IS NOT TRUE
      -- Of the roles that have a place, the first one.
      QUALIFY p.place IS NULL OR p.place = min(p.place) OVER (PARTITION BY c.side, c.key));
  CREATE TABLE agreed_roles AS
    SELECT side, key, CASE WHEN min(role) = max(role) THEN min(role)
        WHEN count(*) = count(said_at_ms) AND count(DISTINCT CASE WHEN said_at_ms = latest THEN role END) = 1 THEN arg_max(role, said_at_ms) END AS role
    FROM standing_claims GROUP BY side, key
    UNION ALL SELECT DISTINCT side, key, 'absent' FROM role_claims ANTI JOIN standing_claims USING (side, key);
  DROP TABLE standing_claims;
`;

/**
 * Rows of one file that give a user different roles in an org unit: those that yield take the role of the others. What cannot be decided
 * is left as it is.
 */
const agreeWithin = ({ enrollment, orgUnitName, roleIn }: EnrollmentForms): string => `
  INSERT INTO endings SELECT d.key, ${orgUnitName}, d.said_at_ms FROM claims d SEMI JOIN repeated_keys USING (key) WHERE ${enrollment} IS NOT NULL AND ${roleIn('wanted_value')} = 'absent';
  CREATE TABLE role_claims AS
    SELECT 'now' AS side, d.key, ${orgUnitName} AS org_unit_name, ${roleIn('wanted_value')} AS role, d.said_at_ms FROM claims d SEMI JOIN repeated_keys USING (key) WHERE ${enrollment} IS NOT NULL;
  ${agree};
  CREATE TABLE winners AS
    SELECT d.key, any_value(d.wanted_value) AS wanted_value, any_value(d.data) AS data, max(d.said_at_ms) AS said_at_ms
    FROM claims d JOIN agreed_roles a ON a.key = d.key AND a.role = ${roleIn('wanted_value')} GROUP BY d.key;
  UPDATE claims SET wanted_value = w.wanted_value, data = w.data, said_at_ms = w.said_at_ms FROM winners w WHERE w.key = claims.key AND claims.wanted_value <> w.wanted_value;
  DROP TABLE role_claims; DROP TABLE agreed_roles; DROP TABLE winners;
`;

export const agreeOnRoles = ({ sets }: Comparison, forms: EnrollmentForms): Promise<void> =>
  sets.run(agreeWithin(forms));

const findEffects = ({ isOne, enrollment, orgUnitName, roleIn, isRemoved }: EnrollmentForms): string => `
  CREATE TABLE effects AS
    SELECT key, ${enrollment} AS enrollment, ${orgUnitName} AS org_unit_name, change, CASE WHEN NOT is_resent THEN ${roleIn('accepted_value')} END AS role_before, is_resent, CASE WHEN change <> 'removed' THEN ${roleIn('wanted_value')} END AS role_after,
      said_at_ms, accepted_at_ms, ${isRemoved} AS is_removed, NULL::VARCHAR AS before, NULL::VARCHAR AS after, false AS is_undecided
    FROM difference d WHERE change IN ('created', 'updated', 'removed') AND ${isOne};
  UPDATE effects SET before = role_before, after = role_after;
`;

const weighOthers = `
  CREATE TABLE shared_claims AS
    SELECT e.key, o.org_unit_name, o.role, o.said_at_ms, o.source_file FROM effects e JOIN other_claims o USING (enrollment);
  CREATE TABLE role_claims AS
    SELECT 'before' AS side, key, org_unit_name, role, said_at_ms FROM shared_claims
    UNION ALL SELECT 'after', key, org_unit_name, role, said_at_ms FROM shared_claims
    UNION ALL SELECT 'before', key, org_unit_name, role_before, accepted_at_ms FROM effects SEMI JOIN shared_claims USING (key) WHERE role_before IS NOT NULL
    UNION ALL SELECT 'after', key, org_unit_name, role_after, said_at_ms FROM effects SEMI JOIN shared_claims USING (key) WHERE role_after IS NOT NULL
    UNION ALL SELECT 'after', n.key, n.org_unit_name, 'absent', n.said_at_ms FROM endings n JOIN effects e USING (key) WHERE e.role_after = 'absent'
    UNION ALL SELECT 'before', n.key, n.org_unit_or_object, 'absent', n.said_at_ms FROM state_endings n JOIN effects e USING (key) WHERE e.role_before = 'absent';
  ${agree};
  -- What a message did that waited for its name is unknown.
  UPDATE effects SET before = a.role FROM agreed_roles a WHERE a.key = effects.key AND a.side = 'before' AND NOT is_resent;
  UPDATE effects SET after = a.role, is_undecided = a.role IS NULL FROM agreed_roles a WHERE a.key = effects.key AND a.side = 'after';
  INSERT INTO replacements
    SELECT key, CASE WHEN is_undecided OR after = before OR (change = 'removed' AND after = 'absent' AND NOT is_removed) THEN NULL ELSE after END,
      '{' || member_of(split_part(enrollment, '/', 2), 'orgUnitId') || ',' || member_of(enrollment[length(split_part(enrollment, '/', 2)) + 13:], 'userId')
        || CASE WHEN after <> 'absent' THEN ',"roleId":' || after ELSE '' END || '}'
    FROM effects SEMI JOIN shared_claims USING (key) WHERE is_undecided OR after IS DISTINCT FROM role_after OR after = before;
`;

/** A row of another file that has not changed may contradict one of this file every night. */
const contradictions = ({ enrollment, orgUnitName, roleIn }: EnrollmentForms): string[] => [
  `
  CREATE TABLE role_claims AS
    SELECT 'now' AS side, d.key, ${orgUnitName} AS org_unit_name, ${roleIn('wanted_value')} AS role, d.said_at_ms, d.line, NULL::VARCHAR AS source_file
    FROM claims d SEMI JOIN (SELECT enrollment FROM other_claims) o ON o.enrollment = ${enrollment};
  INSERT INTO role_claims
    SELECT 'now', d.key, o.org_unit_name, o.role, o.said_at_ms, NULL, o.source_file FROM claims d JOIN other_claims o ON o.enrollment = ${enrollment};
  INSERT INTO role_claims SELECT 'now', n.key, n.org_unit_name, 'absent', n.said_at_ms, NULL, NULL FROM endings n SEMI JOIN role_claims USING (key);
  ${agree}`,
  `
  INSERT INTO problems
    SELECT $1, c.line, $2, CASE WHEN c.role = 'absent' THEN 'does not end the enrollment, because ' || o.source_file || ' has it, and no older row of this section'
        ELSE 'gives another role than ' || o.source_file || ', and neither has precedence: the platform keeps what it has. Correct one of them, or set "roleOrder" in snapshot-settings.json' END
    FROM role_claims c JOIN agreed_roles a ON a.key = c.key
      JOIN (SELECT key, min(source_file) AS source_file FROM role_claims WHERE source_file IS NOT NULL AND role <> 'absent' GROUP BY key) o ON o.key = c.key
    WHERE c.line IS NOT NULL AND (a.role IS NULL OR (c.role = 'absent' AND a.role <> 'absent'))`,
];

/** Who still wants what this file no longer has. */
const heldBack = `
  INSERT INTO problems
    SELECT $1, NULL, NULL, count(DISTINCT e.key) || CASE WHEN count(DISTINCT e.key) = 1 THEN ' enrollment is' ELSE ' enrollments are' END
      || ' no longer in this file, but not removed: ' || s.source_file || ' has '
      || CASE WHEN count(DISTINCT e.key) = 1 THEN 'it' ELSE 'them' END || '. If that file comes no more, end it by sis-relay snapshots end'
    FROM effects e JOIN shared_claims s USING (key)
    WHERE e.change = 'removed' AND e.is_removed AND s.role <> 'absent' AND coalesce(e.after, '') <> 'absent' GROUP BY s.source_file`;

const wasEnrolled = ({ isOne, roleIn }: EnrollmentForms): string =>
  `FROM accepted d WHERE ${isOne} AND ${roleIn('wanted_value')} <> 'absent'`;
/** The same as of `effects`, if there is no other file. */
const effectsAlone = (forms: EnrollmentForms): string => {
  const { isOne, roleIn, isRemoved } = forms;
  const [before, after] = [roleIn('accepted_value'), roleIn('wanted_value')];
  return `
    SELECT (SELECT count(*) ${wasEnrolled(forms)}),
      count(*) FILTER ((change = 'removed' AND ${isRemoved} AND ${before} <> 'absent') OR (change <> 'removed' AND ${after} = 'absent' AND ${before} IS DISTINCT FROM 'absent')),
      count(*) FILTER (change = 'updated' AND NOT is_resent AND ${after} <> 'absent' AND ${before} <> 'absent' AND ${before} <> ${after})
    FROM difference d WHERE ${isOne} AND change IN ('created', 'updated', 'removed')`;
};
const acceptedByAll = (forms: EnrollmentForms): string => `
  (SELECT count(*) FROM (SELECT enrollment FROM other_claims WHERE role <> 'absent' UNION SELECT ${forms.enrollment} ${wasEnrolled(forms)}))`;

export type Effects = {
  /** Enrollments that all accepted files want, without what this one changes. */
  accepted: number;
  /** Enrollments that end, and those that get another role. */
  ended: number;
  changed: number;
};

/** Decides by all files what this one changes. `file`: its name in reports. */
export const settleEnrollments = async (
  { sets }: Comparison,
  forms: EnrollmentForms,
  { file, column }: { file: string; column: string },
): Promise<Effects> => {
  const [hasOthers] = (await sets.row<[number]>('SELECT EXISTS (FROM other_claims)')) ?? [];
  if (!hasOthers) {
    const [accepted = 0, ended = 0, changed = 0] =
      (await sets.row<[number, number, number]>(effectsAlone(forms))) ?? [];
    return { accepted, ended, changed };
  }
  await sets.run(findEffects(forms));
  await sets.run(weighOthers);
  await sets.run(heldBack, [file]);
  await sets.run('DROP TABLE role_claims; DROP TABLE agreed_roles');
  const [compared = '', reported = ''] = contradictions(forms);
  await sets.run(compared);
  await sets.run(reported, [file, column]);
  await sets.run('DROP TABLE role_claims; DROP TABLE agreed_roles');
  const [accepted = 0, ended = 0, changed = 0] =
    (await sets.row<[number, number, number]>(`
      SELECT ${acceptedByAll(forms)},
        count(*) FILTER ((change = 'removed' AND is_removed AND after IS NULL AND NOT is_undecided) OR (after = 'absent' AND before IS DISTINCT FROM 'absent')),
        count(*) FILTER (before <> after AND after <> 'absent')
      FROM effects`)) ?? [];
  return { accepted, ended, changed };
};
