import { join } from 'node:path';
import { quotedText } from '../../../runtime/files/tables/engine.ts';
import { keepFile } from '../../../runtime/files/tables/packed-rows.ts';
import { stateKey } from '../state/record.ts';
import { type SnapshotNow, snapshotsNow } from '../state/snapshots-now.ts';
import type { Comparison, OtherFile } from './comparison.ts';

/**
 * What all accepted files together want of the enrollments that this file is about. An enrollment ends only if no file wants it any
 * more. A row that ends it counts only against a row of another file about the same section that is older. If files give it different roles, the setting `roleOrder` decides if it names all of them; otherwise the file whose row was
 * changed last, if all rows have times; otherwise both files are reported, and the platform keeps what it has.
 *
 * - `other_claims`: what the other files want, by `thing`, such as `enrollment/2601/301`. A role of `absent`: it must not exist.
 * - `passed_names`: user names that passed to another record in an export of OneRoster, while the crosswalk gives the former one's account.
 * - `effects`: what this file changes, with the role by all files before and after it. NULL: no file wants it, or they are undecided.
 * - `instead`: what is sent in place of what this file alone would send. A NULL role: nothing.
 */
const schema = `
  CREATE TABLE role_places (role VARCHAR, place BIGINT);
  CREATE TABLE other_claims (thing VARCHAR, code VARCHAR, role VARCHAR, said_at_ms BIGINT, source_file VARCHAR);
  CREATE TABLE passed_names (token VARCHAR);
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
  /** What it is about, as in `other_claims`; NULL: it is no enrollment. */
  thing: string;
  /** The org unit as the row names it. */
  code: string;
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
    await sets.run(`INSERT INTO other_claims ${claimsOf(other)}`, [sourceOf(other)]);
  }
};

/** How reports name it. */
const sourceOf = ({ name, droppedMs }: OtherFile): string =>
  `${name} of ${new Date(droppedMs).toISOString().slice(0, 10)}`;

/** `$1`: its name. Names stand for what they stood for when it was accepted, or else for what they stand for now. */
const claimsOf = ({ userField, functions }: SnapshotNow): string =>
  userField
    ? `SELECT enrollment_of(coalesce(s.org_unit_id, o.id), 'orgUnitCode=' || s.a, coalesce(s.user_id, u.id), '${userField}=' || s.b),
         'orgUnitCode=' || s.a, s.value, s.at_ms, CAST($1 AS VARCHAR)
       FROM other_state s LEFT JOIN known_names o ON o.field = 'orgUnitCode' AND o.name = s.a AND s.org_unit_id IS NULL
         LEFT JOIN known_names u ON u.field = '${userField}' AND u.name = s.b AND s.user_id IS NULL
       WHERE s.kind = '2'`
    : [...functions]
        .filter(([, name]) => name.startsWith('enrollment-'))
        .map(
          ([kind, name]) =>
            `SELECT enrollment_of(coalesce(s.org_unit_id, id_in_token(s.a), o.id), s.a, coalesce(s.user_id, id_in_token(s.b), u.id), s.b), s.a,
               ${name === 'enrollment-create' ? `CAST(s.data AS JSON) ->> 'roleId'` : `'absent'`}, s.at_ms, CAST($1 AS VARCHAR)
             FROM other_state s LEFT JOIN known_names o ON o.field || '=' || o.name = s.a AND s.org_unit_id IS NULL
               LEFT JOIN known_names u ON u.field || '=' || u.name = s.b AND s.user_id IS NULL
             WHERE s.kind = '${kind}'`,
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
const agreeWithin = ({ thing, code, roleIn }: EnrollmentForms): string => `
  CREATE TABLE claimed AS
    SELECT 'now' AS side, d.key, ${code} AS code, ${roleIn('value')} AS role, d.at_ms AS said_at_ms FROM claims d SEMI JOIN several USING (key) WHERE ${thing} IS NOT NULL;
  ${agree};
  CREATE TABLE winners AS
    SELECT d.key, any_value(d.value) AS value, any_value(d.data) AS data, max(d.at_ms) AS at_ms
    FROM claims d JOIN agreed a ON a.key = d.key AND a.role = ${roleIn('value')} GROUP BY d.key;
  UPDATE claims SET value = w.value, data = w.data, at_ms = w.at_ms FROM winners w WHERE w.key = claims.key AND claims.value <> w.value;
  DROP TABLE claimed; DROP TABLE agreed; DROP TABLE winners;
`;

export const agreeOnRoles = ({ sets }: Comparison, forms: EnrollmentForms): Promise<void> =>
  sets.run(agreeWithin(forms));

const findEffects = ({ thing, code, roleIn, isRemoved }: EnrollmentForms): string => `
  CREATE TABLE effects AS
    SELECT key, ${thing} AS thing, ${code} AS code, change, CASE WHEN NOT is_renamed THEN ${roleIn('before')} END AS role_before, is_renamed, CASE WHEN change <> 'removed' THEN ${roleIn('value')} END AS role_after,
      at_ms, before_at_ms, ${isRemoved} AS is_removed, NULL::VARCHAR AS before, NULL::VARCHAR AS after, false AS is_undecided
    FROM draft d WHERE change IN ('created', 'updated', 'removed') AND ${thing} IS NOT NULL;
  UPDATE effects SET before = role_before, after = role_after;
`;

const weighOthers = `
  CREATE TABLE shared AS
    SELECT e.key, o.code, o.role, o.said_at_ms, o.source_file FROM effects e JOIN other_claims o USING (thing);
  CREATE TABLE claimed AS
    SELECT 'before' AS side, key, code, role, said_at_ms FROM shared
    UNION ALL SELECT 'after', key, code, role, said_at_ms FROM shared
    UNION ALL SELECT 'before', key, code, role_before, before_at_ms FROM effects SEMI JOIN shared USING (key) WHERE role_before IS NOT NULL
    UNION ALL SELECT 'after', key, code, role_after, at_ms FROM effects SEMI JOIN shared USING (key) WHERE role_after IS NOT NULL;
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
const contradictions = ({ thing, code, roleIn }: EnrollmentForms): string[] => [
  `
  CREATE TABLE claimed AS
    SELECT 'now' AS side, d.key, ${code} AS code, ${roleIn('value')} AS role, d.at_ms AS said_at_ms, d.line, NULL::VARCHAR AS source_file
    FROM claims d SEMI JOIN (SELECT thing FROM other_claims) o ON o.thing = ${thing};
  INSERT INTO claimed
    SELECT 'now', d.key, o.code, o.role, o.said_at_ms, NULL, o.source_file FROM claims d JOIN other_claims o ON o.thing = ${thing};
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

const wasEnrolled = ({ thing, roleIn }: EnrollmentForms): string =>
  `FROM was d WHERE ${thing} IS NOT NULL AND ${roleIn('value')} <> 'absent'`;
const acceptedHere = (forms: EnrollmentForms): string => `(SELECT count(*) ${wasEnrolled(forms)})`;
const acceptedByAll = (forms: EnrollmentForms): string => `
  (SELECT count(*) FROM (SELECT thing FROM other_claims WHERE role <> 'absent' UNION SELECT ${forms.thing} ${wasEnrolled(forms)}))`;

export type Effects = {
  /** Enrollments that all accepted files want, without what this one changes. */
  accepted: number;
  /** Enrollments that end, and those that get another role. */
  ended: number;
  changed: number;
};

/** Decides by all files what this one changes. `file`: its name in reports. */
export const settleEnrollments = async (
  comparison: Comparison,
  forms: EnrollmentForms,
  { file, column }: { file: string; column: string },
): Promise<Effects> => {
  const { sets } = comparison;
  await sets.run(findEffects(forms));
  const [hasOthers] = (await sets.row<[number]>('SELECT EXISTS (FROM other_claims)')) ?? [];
  if (hasOthers) {
    await sets.run(weighOthers);
    await reportHeldBack(comparison, file);
    await sets.run('DROP TABLE claimed; DROP TABLE agreed');
    const [compared = '', reported = ''] = contradictions(forms);
    await sets.run(compared);
    await sets.run(reported, [file, column]);
    await sets.run('DROP TABLE claimed; DROP TABLE agreed');
  }
  const [accepted = 0, ended = 0, changed = 0] =
    (await sets.row<[number, number, number]>(`
      SELECT ${hasOthers ? acceptedByAll(forms) : acceptedHere(forms)},
        count(*) FILTER ((change = 'removed' AND is_removed AND after IS NULL AND NOT is_undecided) OR (after = 'absent' AND before IS DISTINCT FROM 'absent')),
        count(*) FILTER (before <> after AND after <> 'absent')
      FROM effects`)) ?? [];
  return { accepted, ended, changed };
};
