-- What all accepted files together want of the enrollments that this file is about. An enrollment ends only if no file wants it any
-- more. A row that ends it counts only against an older row of another file about the same section. If files give it different roles,
-- the setting "roleOrder" decides if it names all of them; otherwise the file whose row was changed last, if all rows have times;
-- otherwise both files are reported, and the platform keeps what it has.
--
-- A role of 'absent': the enrollment must not exist. The readers of a file say by macros which claims are about enrollments:
-- is_about_enrollment(kind_name), enrollment_in(kind_name, key), org_unit_token(org_unit_or_object), role_of(wanted_value) and
-- removal_function(state_kind, removal).

-- name: schema
-- role_places: the places of roles in "roleOrder", by the side of a comparison: it may have been another order before.
CREATE TABLE role_places (side VARCHAR, role VARCHAR, place BIGINT);
-- other_kinds: the functions of the other table's rows that are about enrollments.
CREATE TABLE other_kinds (state_kind VARCHAR, function_name VARCHAR);
-- other_claims: what the other files want, by enrollment, such as enrollment/2601/301. is_kept: it stays for a row that cannot be used, which
-- may say otherwise, and later.
CREATE TABLE other_claims (enrollment VARCHAR, org_unit_name VARCHAR, role VARCHAR, said_at_ms BIGINT, is_kept BOOLEAN, source_file VARCHAR);
-- passed_names: user names that passed to another record in an export of OneRoster, while the crosswalk gives the former one's account.
-- user_id: the account that the record had by its own former name.
CREATE TABLE passed_names (token VARCHAR, user_id VARCHAR);
-- repeated_role_claims: all rows of this file about enrollments that more than one is about, as of several sections of one course.
CREATE TABLE repeated_role_claims (key VARCHAR, enrollment VARCHAR, org_unit_name VARCHAR, role VARCHAR, said_at_ms BIGINT,
  row_standing VARCHAR DEFAULT NULL);
-- yielded_removals: rows of this file that end the enrollment of one section, while another row gives that of another one in the org unit.
CREATE TABLE yielded_removals (kind_name VARCHAR, key VARCHAR, org_unit_or_object VARCHAR, said_at_ms BIGINT);
-- undecided_before: enrollments of which the accepted rows of this file gave different roles, which could not be decided.
CREATE TABLE undecided_before (key VARCHAR);
-- endings: what this file no longer says of enrollments whose names the crosswalk does not know.
CREATE TABLE endings (key VARCHAR, org_unit_or_object VARCHAR, was_removal BOOLEAN);
-- replacements: what is sent in place of what this file alone would send. A NULL function: nothing.
CREATE TABLE replacements (key VARCHAR, function_name VARCHAR, data VARCHAR);
CREATE MACRO role_in(wanted_value) AS
  CASE WHEN starts_with(wanted_value, 'enrollment-create') THEN nullif(regexp_extract(wanted_value, '"roleId":([0-9]+)', 1), '')
    WHEN starts_with(wanted_value, 'enrollment-remove') THEN 'absent'
    WHEN regexp_full_match(wanted_value, '[0-9]+') THEN wanted_value END;
CREATE MACRO id_in_token(token) AS CASE WHEN regexp_matches(token, '^(orgUnitId|userId)=') THEN split_part(token, '=', 2) END;
CREATE MACRO enrollment_of(org_unit_id, org_unit_token, user_id, user_token) AS
  'enrollment/' || coalesce(org_unit_id, org_unit_token) || '/' || coalesce(user_id, user_token);
-- A code may have a slash.
CREATE MACRO user_part(enrollment) AS regexp_extract(enrollment, '/((userName|orgDefinedId|userId)=.*|[0-9]+)$', 1);
CREATE MACRO org_unit_part(enrollment) AS enrollment[12:length(enrollment) - length(user_part(enrollment)) - 1];
-- Whether an end is of all sections of an org unit: it names the platform's id.
CREATE MACRO is_whole(org_unit_name) AS starts_with(org_unit_name, 'orgUnitId=');
-- A time at midnight may be a day alone, which orders nothing within it.
CREATE MACRO is_surely_later(one, other) AS
  coalesce(one > other AND NOT ((is_midnight(one) OR is_midnight(other)) AND day_number(one) = day_number(other)), false);
CREATE MACRO name_in_token(token) AS token[length(split_part(token, '=', 1)) + 2:];
-- An id or a token in an enrollment, as a member of JSON.
CREATE MACRO member_of(part, field) AS
  CASE WHEN regexp_full_match(part, '[0-9]+') THEN '"' || field || '":' || part
    ELSE '"' || split_part(part, '=', 1) || '":' || to_json(name_in_token(part)) END;

-- name: add_passed_names
-- In: the state of another file; $1: the field that names its users; $2: what operators have accepted, as a list of JSON. Out: passed_names.
INSERT INTO passed_names
  SELECT k.field || '=' || k.name, n.user_id FROM other_state_passed_names s
    JOIN known_names k ON k.field = $1 AND k.name = s.name AND k.id = s.user_id
    LEFT JOIN other_state_names n ON n.record_type = 'user' AND n.source_id = s.source_id
  WHERE NOT list_contains(from_json($2, '["VARCHAR"]'), concat_ws(chr(31), s.name, s.user_id, s.source_id));

-- name: rows_of_export
-- In: the state of an export of OneRoster; known_names; the variable other_user_field: the field that names its users. Out: token_ids; other_rows,
-- its rows with what their names stand for: what they stood for when it was accepted, or else what they stand for now.
CREATE OR REPLACE VIEW token_ids AS SELECT field || '=' || name AS token, id FROM known_names;
CREATE OR REPLACE VIEW other_rows AS
  SELECT s.* REPLACE (coalesce(s.org_unit_id, o.id) AS org_unit_id, coalesce(s.user_id, u.id) AS user_id),
    CASE WHEN is_enrollment(s.state_kind) THEN s.wanted_value END AS role
  FROM (
    SELECT *, 'orgUnitCode=' || org_unit_or_object AS org_unit_token, getvariable('other_user_field') || '=' || user_name AS user_token
    FROM other_state_wanted) s
    LEFT JOIN token_ids o ON o.token = s.org_unit_token AND s.org_unit_id IS NULL
    LEFT JOIN token_ids u ON u.token = s.user_token AND s.user_id IS NULL;

-- name: rows_of_table
-- In: the state of a table; known_names; other_kinds; the state of this file; the variable other_user_field: the field that names the users
-- of this file. Out: the same. A name that the crosswalk does not know stands for what this file's record of that name stood for: the SIS
-- gave it a new one.
CREATE OR REPLACE VIEW token_ids AS
  WITH known AS (SELECT field || '=' || name AS token, id FROM known_names),
    names_here AS (
      SELECT CASE record_type WHEN 'class' THEN 'orgUnitCode' ELSE getvariable('other_user_field') END || '=' || name AS token,
        any_value(coalesce(org_unit_id, user_id)) AS id
      FROM state_names WHERE coalesce(org_unit_id, user_id) IS NOT NULL
      GROUP BY token HAVING count(DISTINCT coalesce(org_unit_id, user_id)) = 1)
  FROM known UNION ALL FROM names_here ANTI JOIN known USING (token);
CREATE OR REPLACE VIEW other_rows AS
  SELECT s.* REPLACE (coalesce(s.org_unit_id, id_in_token(s.org_unit_or_object), o.id) AS org_unit_id,
      coalesce(s.user_id, id_in_token(s.user_name), u.id) AS user_id),
    s.org_unit_or_object AS org_unit_token, s.user_name AS user_token, k.function_name,
    CASE k.function_name WHEN 'enrollment-create' THEN CAST(s.data AS JSON) ->> 'roleId' WHEN 'enrollment-remove' THEN 'absent' END AS role
  FROM other_state_wanted s JOIN other_kinds k USING (state_kind)
    LEFT JOIN token_ids o ON o.token = s.org_unit_or_object AND s.org_unit_id IS NULL
    LEFT JOIN token_ids u ON u.token = s.user_name AND s.user_id IS NULL;

-- name: add_claims
-- In: other_rows; $1: the name of the file. Out: other_claims.
INSERT INTO other_claims
  SELECT enrollment_of(org_unit_id, org_unit_token, user_id, user_token), org_unit_token, role,
    said_at_ms, is_kept(row_standing), CAST($1 AS VARCHAR)
  FROM other_rows WHERE role IS NOT NULL AND NOT is_not_weighed(row_standing);

-- name: add_repeated_claims
-- In: the state of another file; token_ids; $1: its name. Out: other_claims, by each of several rows about one enrollment.
INSERT INTO other_claims
  SELECT enrollment_of(o.id, e.org_unit_token, u.id, e.user_token), e.org_unit_name, e.role, e.said_at_ms, is_kept(e.row_standing), CAST($1 AS VARCHAR)
  FROM (
    SELECT *, org_unit_part(enrollment) AS org_unit_token, user_part(enrollment) AS user_token FROM other_state_enrollment_claims) e
    LEFT JOIN token_ids o ON o.token = e.org_unit_token LEFT JOIN token_ids u ON u.token = e.user_token;

-- name: find_roles_before
-- In: the state. Out: role_claims, of accepted rows of this file about one enrollment.
CREATE TABLE role_claims AS
  SELECT 'now' AS side, key, org_unit_name, role, said_at_ms, false AS is_kept FROM state_enrollment_claims WHERE NOT is_kept(row_standing);

-- name: find_undecided
-- In: agreed_roles; claims. Out: undecided_before; differing_keys: if the role is decided now, another file may have lost its row meanwhile.
INSERT INTO undecided_before SELECT key FROM agreed_roles WHERE role IS NULL;
INSERT INTO differing_keys FROM undecided_before SEMI JOIN claims USING (key) ANTI JOIN differing_keys USING (key);

-- name: find_shared_keys
-- In: claims; accepted; other_claims. Out: differing_keys, with all that other files have, too, or had while it stayed for a row that could
-- not be used.
INSERT INTO differing_keys SELECT key FROM accepted WHERE was_weighed(row_standing) AND key NOT IN (SELECT key FROM differing_keys);
INSERT INTO differing_keys
  SELECT key FROM (
    SELECT d.key FROM (FROM claims WHERE is_about_enrollment(kind_name)) d
      SEMI JOIN other_claims o ON o.enrollment = enrollment_in(d.kind_name, d.key)
    UNION
    SELECT d.key FROM (FROM accepted WHERE is_about_enrollment(kind_name)) d
      SEMI JOIN other_claims o ON o.enrollment = enrollment_in(d.kind_name, d.key)) ANTI JOIN differing_keys USING (key);

-- name: agree_on_roles
-- In: role_claims (side, key, org_unit_name, role, said_at_ms, is_kept). Out: agreed_roles, the role of each enrollment on each side. 'absent':
-- no claim stands. NULL: it cannot be decided. What stays for a row that cannot be used is not ended, overrules no row that can, and brings
-- back nothing that was ended.
CREATE TABLE ends AS
  SELECT side, key, org_unit_name, max(said_at_ms) AS ended_ms FROM role_claims WHERE role = 'absent' GROUP BY side, key, org_unit_name;
CREATE TABLE standing_claims AS
  SELECT *, max(said_at_ms) OVER (PARTITION BY side, key) AS latest FROM (
    SELECT c.side, c.key, c.role, bool_or(NOT c.is_kept) OVER (PARTITION BY c.side, c.key) AS has_usable,
      c.is_kept AND (has_usable OR is_surely_later(greatest(e.ended_ms, w.ended_ms), c.said_at_ms)) AS is_only_kept,
      CASE WHEN NOT is_only_kept THEN c.said_at_ms END AS said_at_ms
    FROM role_claims c LEFT JOIN role_places p USING (side, role)
      LEFT JOIN ends e ON e.side = c.side AND e.key = c.key AND e.org_unit_name = c.org_unit_name
      LEFT JOIN (SELECT side, key, max(ended_ms) AS ended_ms FROM ends WHERE is_whole(org_unit_name) GROUP BY side, key) w
        ON w.side = c.side AND w.key = c.key
    WHERE c.role <> 'absent' AND (c.is_kept OR NOT is_surely_later(greatest(e.ended_ms, w.ended_ms), c.said_at_ms))
    -- Of the roles that have a place, the first one.
    QUALIFY p.place IS NULL OR p.place = min(p.place) OVER (PARTITION BY c.side, c.key));
CREATE TABLE agreed_roles AS
  SELECT side, key, CASE WHEN bool_and(is_only_kept) THEN NULL WHEN min(role) = max(role) THEN min(role)
      WHEN count(*) = count(said_at_ms) AND count(DISTINCT CASE WHEN said_at_ms = latest THEN role END) = 1
        THEN arg_max(role, said_at_ms) END AS role
  FROM standing_claims GROUP BY side, key
  UNION ALL SELECT DISTINCT side, key, 'absent' FROM role_claims ANTI JOIN standing_claims USING (side, key);
DROP TABLE standing_claims; DROP TABLE ends;

-- name: forget_roles
-- In: role_claims and agreed_roles of one question. Out: room for the next.
DROP TABLE role_claims;
DROP TABLE agreed_roles;

-- name: find_roles_of_this_file
-- In: claims; repeated_keys; yielded_removals. Out: repeated_role_claims, and the same as role_claims.
INSERT INTO repeated_role_claims (key, enrollment, org_unit_name, role, said_at_ms)
  SELECT d.key, enrollment_in(d.kind_name, d.key), org_unit_token(d.org_unit_or_object), role_of(d.wanted_value), d.said_at_ms
  FROM claims d SEMI JOIN repeated_keys USING (key) WHERE is_about_enrollment(d.kind_name)
  UNION ALL SELECT key, enrollment_in(kind_name, key), org_unit_token(org_unit_or_object), 'absent', said_at_ms FROM yielded_removals;
CREATE TABLE role_claims AS SELECT 'now' AS side, key, org_unit_name, role, said_at_ms, false AS is_kept FROM repeated_role_claims;

-- name: yield_to_agreed_roles
-- In: agreed_roles. Out: claims. Rows of one file give a user different roles in an org unit: those that yield take the role of the
-- others. What cannot be decided is left as it is.
CREATE TABLE winners AS
  SELECT d.key, any_value(d.wanted_value) AS wanted_value, any_value(d.data) AS data, max(d.said_at_ms) AS said_at_ms
  FROM claims d JOIN agreed_roles a ON a.key = d.key AND a.role = role_of(d.wanted_value) GROUP BY d.key;
UPDATE claims SET wanted_value = w.wanted_value, data = w.data, said_at_ms = w.said_at_ms, yields = true
  FROM winners w WHERE w.key = claims.key AND claims.wanted_value <> w.wanted_value;
DROP TABLE winners;

-- name: find_endings
-- In: difference; filled_fields. Out: endings. Whether another row or file wants the same is unknown, and a removal that waits for its name may
-- still be carried out: so they stay until their names are known. If the crosswalk was never filled with names of a field, messages with
-- names are all that can be sent.
INSERT INTO endings
  SELECT key, org_unit_or_object, role_of(accepted_value) = 'absent' AS was_removal FROM difference
  WHERE change = 'removed' AND is_about_enrollment(kind_name) AND (was_removal OR removal_function(state_kind, removal) = 'enrollment-remove')
    AND list_has_any([split_part(part, '=', 1) FOR part IN string_split(enrollment_in(kind_name, key), '/')],
      (SELECT list(field) FROM filled_fields));

-- name: keep_endings
-- In: endings. Out: difference; problems.
UPDATE difference SET change = 'kept' WHERE key IN (SELECT key FROM endings);
INSERT INTO problems (file, problem, rows, is_refusal)
  SELECT $1, CASE WHEN was_removal
      THEN 'removals from ' || org_unit_or_object || ' that are no longer in this file, but may still take effect: ' || count(*)
        || '. The crosswalk does not know the course or the user. Once it does, the next file of this name restores the enrollments that other '
        || 'files want'
      ELSE 'enrollments in ' || org_unit_or_object || ' that are no longer in this file, but stay: ' || count(*)
        || '. The crosswalk does not know the course or the user, so another file may want them. Once it does, the next file of this name '
        || 'removes those that no other file wants' END, count(*), false
  FROM endings GROUP BY org_unit_or_object, was_removal ORDER BY org_unit_or_object, was_removal;

-- name: find_effects
-- In: difference; accepted; other_claims; repeated_role_claims. Out: effects, what this file changes of enrollments, with the role by this
-- file alone and (`before` and `after`, filled in below) by all files; shared_claims, what other files want of the same; role_claims of both
-- sides.
CREATE TABLE effects AS
  SELECT key, enrollment_in(kind_name, key) AS enrollment, org_unit_token(org_unit_or_object) AS org_unit_name,
    org_unit_token(accepted_org_unit_or_object) AS org_unit_name_before, change, is_uncertain,
    CASE WHEN NOT is_uncertain THEN role_of(accepted_value) END AS role_before,
    CASE WHEN change <> 'removed' THEN role_of(wanted_value) END AS role_after,
    said_at_ms, accepted_at_ms, is_kept(accepted_standing) AS was_kept, coalesce(removal_function(state_kind, removal) = 'enrollment-remove', false) AS is_removed,
    NULL::VARCHAR AS before, NULL::VARCHAR AS after, false AS is_undecided
  FROM (SELECT *, key IN (SELECT key FROM accepted WHERE must_resend) AS is_uncertain FROM difference)
  WHERE change IN ('created', 'updated', 'removed', 'unchanged') AND is_about_enrollment(kind_name);
UPDATE effects SET before = role_before, after = role_after;
CREATE TABLE shared_claims AS
  SELECT e.key, o.org_unit_name, o.role, o.said_at_ms, o.is_kept, o.source_file FROM effects e JOIN other_claims o USING (enrollment);
CREATE TABLE repeated_claims_before AS FROM state_enrollment_claims;
CREATE TABLE role_claims AS
  SELECT 'before' AS side, key, org_unit_name, role, said_at_ms, is_kept FROM shared_claims
  UNION ALL SELECT 'after', key, org_unit_name, role, said_at_ms, is_kept FROM shared_claims
  UNION ALL SELECT 'before', key, org_unit_name_before, role_before, accepted_at_ms, was_kept
    FROM effects SEMI JOIN shared_claims USING (key) ANTI JOIN repeated_claims_before USING (key) WHERE role_before IS NOT NULL
  UNION ALL SELECT 'before', key, r.org_unit_name, r.role, r.said_at_ms, is_kept(r.row_standing)
    FROM repeated_claims_before r JOIN effects e USING (key) SEMI JOIN shared_claims USING (key) WHERE e.role_before IS NOT NULL
  UNION ALL SELECT 'after', key, org_unit_name, role_after, said_at_ms, false
    FROM effects SEMI JOIN shared_claims USING (key) ANTI JOIN repeated_role_claims USING (key) WHERE role_after IS NOT NULL
  UNION ALL SELECT 'after', key, r.org_unit_name, r.role, r.said_at_ms, false
    FROM repeated_role_claims r JOIN effects e USING (key) SEMI JOIN shared_claims USING (key) WHERE e.role_after IS NOT NULL;

-- name: weigh_others
-- In: effects; agreed_roles. Out: effects with the roles by all files; replacements.
-- What a message did that waited for its name is unknown, and so is the role that the platform has kept for a row that could not be used.
UPDATE effects SET before = CASE WHEN NOT was_kept AND (change = 'unchanged' OR effects.key NOT IN (SELECT key FROM shared_claims WHERE is_kept)) THEN a.role END
  FROM agreed_roles a WHERE a.key = effects.key AND a.side = 'before' AND NOT is_uncertain;
UPDATE effects SET after = a.role, is_undecided = a.role IS NULL FROM agreed_roles a WHERE a.key = effects.key AND a.side = 'after';
INSERT INTO replacements
  SELECT key,
    CASE WHEN is_undecided OR after = before OR (change = 'removed' AND after = 'absent' AND NOT is_removed) THEN NULL
      WHEN after = 'absent' THEN 'enrollment-remove' ELSE 'enrollment-create' END,
    '{' || member_of(org_unit_part(enrollment), 'orgUnitId') || ',' || member_of(user_part(enrollment), 'userId')
      || CASE WHEN after <> 'absent' THEN ',"roleId":' || after ELSE '' END || '}'
  FROM effects SEMI JOIN shared_claims USING (key)
  WHERE is_undecided OR after IS DISTINCT FROM role_after OR after = before;

-- name: send_replacements
-- In: effects. Out: difference: an unchanged claim whose enrollment changes by another file's is sent.
UPDATE difference SET change = 'updated'
  WHERE change = 'unchanged' AND key IN (
    SELECT key FROM effects WHERE after <> before OR (before IS NULL AND after IS NOT NULL));

-- name: send_weighed
-- In: difference; undecided_before. Out: difference: what another file may have changed while it stayed for rows that could not be used, or
-- contradicted each other, is sent.
UPDATE difference SET change = 'updated'
  WHERE change = 'unchanged' AND is_claimed AND (was_weighed(accepted_standing) OR key IN (FROM undecided_before))
  AND enrollment_in(kind_name, key) NOT IN (SELECT enrollment FROM other_claims);

-- name: find_held_back
-- In: effects; shared_claims. Out: by the file that still has them, how many enrollments this file no longer has.
SELECT s.source_file, count(DISTINCT e.key) FROM effects e JOIN shared_claims s USING (key)
WHERE e.change = 'removed' AND e.is_removed AND s.role <> 'absent' AND coalesce(e.after, '') <> 'absent'
GROUP BY s.source_file ORDER BY 1;

-- name: report_undecided
-- In: effects; shared_claims; $1: the name of this file. Out: problems: what this file no longer has, and other files contradict each other about.
INSERT INTO problems (file, problem, rows, is_refusal)
  SELECT $1, 'enrollments in ' || name_in_token(org_unit_name) || ' that are no longer in this file, and for which other files give '
    || 'different roles, none of which has precedence: ' || count(*) || '. The platform keeps what it has. Correct them, or set "roleOrder" in snapshot-settings.json',
    count(*), false
  FROM effects WHERE change = 'removed' AND is_undecided AND key IN (
    SELECT key FROM shared_claims WHERE role <> 'absent' GROUP BY key HAVING count(DISTINCT role) > 1)
  GROUP BY org_unit_name;

-- name: find_roles_of_all_files
-- In: claims; other_claims; repeated_role_claims. Out: role_claims about enrollments that another file has, too. A row of another file that has not
-- changed may contradict one of this file every night.
CREATE TABLE role_claims AS
  SELECT 'now' AS side, d.key, org_unit_token(d.org_unit_or_object) AS org_unit_name, role_of(d.wanted_value) AS role, d.said_at_ms,
    false AS is_kept, d.line, NULL::VARCHAR AS source_file
  FROM claims d SEMI JOIN (SELECT enrollment FROM other_claims) o ON o.enrollment = enrollment_in(d.kind_name, d.key);
INSERT INTO role_claims
  SELECT 'now', d.key, o.org_unit_name, o.role, o.said_at_ms, o.is_kept, NULL, o.source_file
  FROM claims d JOIN other_claims o ON o.enrollment = enrollment_in(d.kind_name, d.key);
DELETE FROM role_claims WHERE source_file IS NULL AND key IN (SELECT key FROM repeated_role_claims);
INSERT INTO role_claims
  SELECT 'now', key, org_unit_name, role, r.said_at_ms, false, c.line, NULL
  FROM repeated_role_claims r JOIN (SELECT key, line FROM claims) c USING (key) SEMI JOIN role_claims USING (key);

-- name: report_contradictions
-- In: role_claims; agreed_roles; $1: the name of this file; $2: its column of roles. Out: problems: rows that give another role than another file;
-- and rows that another file ends, perhaps before they were said. Rows that this delta does not have are counted.
INSERT INTO problems (file, line, column_name, problem, rows, is_refusal)
  SELECT $1, line, $2, CASE WHEN line IS NULL
      THEN 'a row of ' || name_in_token(org_unit_name) || ' that was accepted before, and is not in this delta (rows: ' || count(*) || '), '
      ELSE '' END || what, CASE WHEN line IS NULL THEN count(*) ELSE 1 END, line IS NOT NULL
  FROM (
    SELECT c.line, CASE WHEN c.line IS NULL THEN c.org_unit_name END AS org_unit_name, CASE WHEN c.role = 'absent'
        THEN 'does not end the enrollment: ' || o.source_file || ' wants it. It ends once no other file wants it, or once all rows that want it are of this section and older than this row'
        WHEN o.is_kept THEN 'gives another role than was accepted of ' || o.source_file || '. A row of that file was refused and may be about the same enrollment, so the platform keeps what it has. Correct the refused row'
        ELSE 'gives another role than ' || o.source_file || ', and neither has precedence: the platform keeps what it has. Correct one of them, or set "roleOrder" in snapshot-settings.json' END AS what
    FROM role_claims c JOIN agreed_roles a ON a.key = c.key JOIN (
        SELECT key, min(source_file) AS source_file, bool_and(is_kept) AS is_kept FROM role_claims
        WHERE source_file IS NOT NULL AND role <> 'absent' GROUP BY key) o ON o.key = c.key
    WHERE c.source_file IS NULL AND (a.role IS NULL OR (c.role = 'absent' AND a.role <> 'absent'))
    UNION ALL
    SELECT c.line, CASE WHEN c.line IS NULL THEN c.org_unit_name END, 'keeps the enrollment, which a row of ' || e.source_file || ' is to end: neither row is known to be later. '
      || 'Take one of them out, or give both files the times of their changes'
    FROM role_claims c JOIN (
        SELECT key, org_unit_name, said_at_ms, min(source_file) AS source_file FROM role_claims
        WHERE source_file IS NOT NULL AND role = 'absent' GROUP BY ALL) e
      ON e.key = c.key AND (e.org_unit_name = c.org_unit_name OR is_whole(e.org_unit_name))
    WHERE c.source_file IS NULL AND c.role <> 'absent' AND NOT is_surely_later(c.said_at_ms, e.said_at_ms)
      AND NOT is_surely_later(e.said_at_ms, c.said_at_ms))
  GROUP BY line, what, org_unit_name;

-- name: count_effects
-- In: effects; accepted; other_claims. Out: how many enrollments all files want, how many end, and how many get another role; and the same of
-- those that this feed wanted.
WITH own AS (
    SELECT DISTINCT enrollment_in(kind_name, key) AS enrollment FROM accepted WHERE is_about_enrollment(kind_name) AND role_of(wanted_value) <> 'absent'),
  counted AS (
    SELECT enrollment IN (FROM own) AS is_own, (change = 'removed' AND is_removed AND after IS NULL AND NOT is_undecided)
        OR (after = 'absent' AND before IS DISTINCT FROM 'absent') AS ends,
      before <> after AND after <> 'absent' AS changes
    FROM effects)
SELECT (SELECT count(*) FROM (SELECT enrollment FROM other_claims WHERE role <> 'absent' UNION FROM own)),
  count(*) FILTER (ends), count(*) FILTER (changes), (SELECT count(*) FROM own), count(*) FILTER (ends AND is_own), count(*) FILTER (changes AND is_own)
FROM counted;

-- name: count_effects_alone
-- In: difference; accepted. Out: the same, if there is no other file: all is of this feed.
SELECT accepted, ended, changed, accepted, ended, changed FROM (SELECT
  (SELECT count(*) FROM accepted WHERE is_about_enrollment(kind_name) AND role_of(wanted_value) <> 'absent') AS accepted,
  count(*) FILTER (
    (change = 'removed' AND coalesce(removal_function(state_kind, removal) = 'enrollment-remove', false)
      AND role_of(accepted_value) <> 'absent')
    OR (change <> 'removed' AND role_of(wanted_value) = 'absent' AND role_of(accepted_value) IS DISTINCT FROM 'absent')) AS ended,
  count(*) FILTER (change = 'updated' AND NOT is_resent AND role_of(wanted_value) <> 'absent'
    AND role_of(accepted_value) <> 'absent' AND role_of(accepted_value) <> role_of(wanted_value)) AS changed
FROM difference WHERE is_about_enrollment(kind_name) AND change IN ('created', 'updated', 'removed'));
