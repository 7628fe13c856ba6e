-- The rows of enrollments.csv: which of them claim something, and what a delta does not name.

-- name: tables
-- In: the state; export_day(), the day of the export, in UTC. Out: enrollments_before; the tables that are filled below. roles: the ids of
-- roles on the platform. roles_not_sent: those whose rows are as if they were deleted.
CREATE TABLE roles (role VARCHAR, role_id VARCHAR);
CREATE TABLE roles_not_sent (role VARCHAR);
CREATE TABLE enrollments_before AS SELECT source_id AS id, * EXCLUDE (source_id) FROM state_enrollment_rows;
CREATE TABLE user_roles (user_source_id VARCHAR, role VARCHAR);
CREATE MACRO problem_of_role() AS 'has no id in "roles" of snapshot-settings.json';
-- An enrollment holds through its last day.
CREATE MACRO is_over(ends) AS ends <> '' AND ends < export_day();
CREATE MACRO is_within(begins, ends) AS
  (coalesce(begins, '') = '' OR begins <= export_day()) AND (coalesce(ends, '') = '' OR ends >= export_day());

-- name: read
-- In: file_rows; the variable has_ids: otherwise class, user and role together are the id. Out: enrollments_read.
CREATE TABLE enrollments_read AS
  SELECT * EXCLUDE (changed, instant, day, clock), day_of(begins) AS begin_day, day_of(ends) AS end_day, is_id(id) AS has_id,
    no_later(time_of(instant, day, clock)) AS said_at_ms
  FROM (
    SELECT *, CASE WHEN instant IS NULL THEN day_of(changed) END AS day,
      CASE WHEN changed <> '' AND instant IS NULL THEN clock_in(changed) END AS clock
    FROM (
      SELECT *, instant_in(changed) AS instant
      FROM (
        SELECT line, CASE WHEN getvariable('has_ids') THEN coalesce(id, '')
            ELSE left(sha256(concat_ws(chr(31), class_source_id, user_source_id, role)), 40) END AS id,
          coalesce(class_source_id, '') AS class_source_id, coalesce(user_source_id, '') AS user_source_id, trimmed(role) AS role,
          word_in(status) AS status, trimmed(begins) AS begins, trimmed(ends) AS ends, trimmed(changed) AS changed
        FROM file_rows)));

-- name: read_roles
-- In: file_rows, of roles.csv; export_day(). Out: user_roles, the users that have a role: primary roles first.
INSERT INTO user_roles
  SELECT user_source_id, CASE WHEN count(DISTINCT role) FILTER (is_prime) = 1 THEN min(role) FILTER (is_prime)
      WHEN count(DISTINCT role) = 1 THEN min(role) END
  FROM (
    SELECT user_source_id, trimmed(role) AS role, word_in(type) = 'primary' OR word_in(prime) = 'true' AS is_prime
    FROM file_rows
    WHERE NOT is_gone(word_in(status)) AND trimmed(role) <> ''
      AND coalesce(day_of(trimmed(coalesce(begins, starts))), '') <= export_day()
      AND coalesce(day_of(trimmed(coalesce(ends, stops))), '9') >= export_day())
  GROUP BY user_source_id;

-- name: read_roles_of_users
-- In: file_rows, of users.csv. Out: user_roles.
INSERT INTO user_roles
  SELECT id, CASE WHEN count(DISTINCT role) = 1 THEN min(role) END
  FROM (SELECT id, trimmed(role) AS role FROM file_rows) WHERE role <> '' GROUP BY id;

-- name: give_roles
-- In: user_roles. Out: enrollments_read.
UPDATE enrollments_read SET role = u.role FROM user_roles u
  WHERE enrollments_read.role = '' AND u.user_source_id = enrollments_read.user_source_id AND u.role IS NOT NULL;

-- name: end_roles_not_sent
-- In: roles_not_sent. Out: enrollments_read.
UPDATE enrollments_read SET status = not_sent() WHERE role IN (SELECT role FROM roles_not_sent) AND NOT is_gone(status);

-- name: judge
-- In: enrollments_read; names; roles; user_roles. Out: read_rows; known_places, which unusable rows may mean.
CREATE OR REPLACE TABLE read_rows AS
  SELECT r.* EXCLUDE (class_source_id, org_unit_problem, user_problem, org_unit_result, user_result, begin_day, end_day, has_id)
      REPLACE (coalesce(begin_day, begins) AS begins, coalesce(end_day, ends) AS ends),
    r.class_source_id AS class_or_item_id, o.role_id,
    CASE WHEN has_id THEN r.id ELSE row_without_id(concat_ws(chr(31), r.id, r.class_source_id, r.user_source_id, r.role)) END AS source_row,
    CASE WHEN is_gone(r.status) AND has_id THEN NULL
      WHEN NOT is_known_or_id(org_unit_problem IS NULL, r.class_source_id) THEN ['classSourcedId', 'is not an id']
      WHEN NOT is_known_or_id(user_problem IS NULL, r.user_source_id) THEN ['userSourcedId', 'is not an id']
      WHEN NOT has_id THEN ['sourcedId', 'is not an id']
      WHEN r.status NOT IN ('', 'active') THEN problem_of_status()
      WHEN r.begins <> '' AND r.begin_day IS NULL THEN problem_of_day('beginDate', r.begins, 'must be a day such as 2026-09-01')
      WHEN r.ends <> '' AND r.end_day IS NULL THEN problem_of_day('endDate', r.ends, 'must be a day such as 2026-12-20')
      WHEN org_unit_problem IS NOT NULL THEN ['classSourcedId', org_unit_problem, org_unit_result]
      WHEN user_problem IS NOT NULL THEN ['userSourcedId', user_problem, user_result]
      WHEN r.role = '' THEN ['role', CASE WHEN r.user_source_id IN (SELECT user_source_id FROM user_roles)
          THEN 'is empty, and roles.csv gives the user several'
          ELSE 'is empty, and neither roles.csv nor users.csv gives the user one that holds today' END, 'withoutRole']
      WHEN o.role_id IS NULL THEN ['role', problem_of_role(), 'unknownRole'] END AS problem
  FROM with_names('enrollments_read') r LEFT JOIN roles o ON o.role = r.role;
DROP TABLE enrollments_read;
CREATE OR REPLACE VIEW known_places AS SELECT id, org_unit_or_object AS name, org_unit_or_object AS course FROM class_names;

-- name: refuse_contradictions
-- In: read_rows, of a delta; enrollments_before; the state. Out: read_rows. The rows with one id must agree; if several rows were accepted by
-- this id, it is unknown which one is meant. What is said in a delta must be newer than what was accepted: also a deletion, and a row that
-- comes back after a deletion. An export that has all enrollments ends what is known of deletions.
UPDATE read_rows SET problem = ['sourcedId', 'another row has the same sourcedId, but differs']
  WHERE problem IS NULL AND id IN (
    SELECT id FROM read_rows WHERE problem IS NULL GROUP BY id
    HAVING count(DISTINCT CASE WHEN is_gone(status) THEN ''
      ELSE concat_ws(chr(31), class_or_item_id, user_source_id, role, begins, ends) END) > 1);
UPDATE read_rows
  SET problem = ['sourcedId', 'several accepted rows have this sourcedId. Give each enrollment its own, and export all as bulk']
  WHERE problem IS NULL AND id IN (
    SELECT id FROM enrollments_before SEMI JOIN read_rows USING (id) GROUP BY id
    HAVING min(class_source_id) <> max(class_source_id) OR min(user_source_id) <> max(user_source_id));
UPDATE read_rows SET problem = ['dateLastModified', 'is before the time of the accepted enrollment, which stays']
  FROM enrollments_before b
  WHERE read_rows.problem IS NULL AND is_gone(read_rows.status) AND b.id = read_rows.id AND read_rows.said_at_ms < b.said_at_ms;
UPDATE read_rows SET problem = ['dateLastModified', 'is before the time at which the enrollment was deleted']
  FROM state_deletions t
  WHERE read_rows.problem IS NULL AND NOT is_gone(read_rows.status) AND t.source_id = read_rows.id AND read_rows.said_at_ms < t.said_at_ms;

-- name: claim
-- In: read_rows; enrollments_before; names; roles; the variable is_bulk. Out: claims; held_keys; enrollments_now, the rows that can be used;
-- enrollments_still: what is not named by a delta stands as it was, and what cannot be read, too; unusable_still; deletions_to_keep, which
-- stay known for longer than a file is put again.
CREATE VIEW enrollments_kept AS
  FROM enrollments_before SEMI JOIN (SELECT id FROM read_rows WHERE problem IS NOT NULL) USING (id) WHERE getvariable('is_bulk')
  UNION ALL
  FROM enrollments_before ANTI JOIN (SELECT id FROM read_rows WHERE problem IS NULL) USING (id)
  WHERE NOT getvariable('is_bulk') AND role NOT IN (SELECT role FROM roles_not_sent);
CREATE TABLE enrollments_still AS
  SELECT r.* EXCLUDE (org_unit_problem, user_problem, org_unit_result, user_result), o.role_id,
    CASE WHEN org_unit_problem IS NOT NULL THEN [org_unit_problem, org_unit_result] WHEN user_problem IS NOT NULL THEN [user_problem, user_result]
      WHEN o.role_id IS NULL THEN [problem_of_role(), 'unknownRole'] END AS problem
  FROM with_names('enrollments_kept') r LEFT JOIN roles o ON o.role = r.role;
DROP VIEW enrollments_kept; DROP TABLE enrollments_before;
CREATE TABLE enrollments_now AS
  SELECT line, id, class_or_item_id AS class_source_id, user_source_id, role, begins, ends, org_unit_or_object, user_name, org_unit_ref, user_ref,
    role_id, said_at_ms
  FROM read_rows WHERE problem IS NULL AND NOT is_gone(status);
INSERT INTO enrollments_now BY NAME
  SELECT * EXCLUDE (problem) FROM enrollments_still WHERE NOT getvariable('is_bulk') AND problem IS NULL;
INSERT INTO unusable_still
  SELECT id, class_source_id, user_source_id, problem FROM enrollments_still WHERE NOT getvariable('is_bulk') AND problem IS NOT NULL;
INSERT INTO held_keys
  SELECT k.key FROM row_claims k JOIN unusable_still s USING (source_row) WHERE k.kind_name = 'enrollments';
INSERT INTO claims BY NAME
  SELECT 'enrollments' AS kind_name, '2' AS state_kind, enrollment_key(org_unit_ref, user_ref) AS key, org_unit_or_object, user_name,
    role_id AS wanted_value, id AS source_row, said_at_ms, line
  FROM enrollments_now WHERE is_within(begins, ends);
DELETE FROM enrollments_now WHERE is_over(ends);
DELETE FROM enrollments_still WHERE is_over(ends);
CREATE TABLE deletions_to_keep AS
  SELECT id AS source_id, said_at_ms FROM read_rows
  WHERE NOT getvariable('is_bulk') AND problem IS NULL AND is_gone(status) AND said_at_ms IS NOT NULL
  UNION ALL
  SELECT source_id, said_at_ms FROM state_deletions t ANTI JOIN read_rows e ON e.id = t.source_id AND e.problem IS NULL
  WHERE NOT getvariable('is_bulk') AND t.said_at_ms > dropped_ms() - 40 * 86400000::BIGINT;

-- name: list_unknown_roles
-- In: read_rows. Out: unknown roles, and their rows. A file may have another role in each of its rows: after 20, they are counted together.
SELECT CASE WHEN place <= 20 THEN left(role, 50) END AS role_name, CAST(sum(rows) AS BIGINT) FROM (
  SELECT role, count(*) AS rows, row_number() OVER (ORDER BY min(line)) AS place FROM read_rows
  WHERE problem[3] = 'unknownRole' GROUP BY role)
GROUP BY role_name ORDER BY min(place);

-- name: count_fates
-- In: read_rows. Out: by row_result, the rows that claim nothing.
-- Few rows end something: those that have their key are looked for by them.
WITH used_keys AS (
  SELECT DISTINCT source_row FROM (FROM read_rows WHERE problem IS NULL AND NOT is_gone(status))
    SEMI JOIN (FROM read_rows WHERE problem IS NULL AND is_gone(status)) USING (source_row))
SELECT CASE WHEN problem IS NULL AND is_gone(status) AND status <> not_sent() AND source_row IN (FROM used_keys) THEN 'keyUsed'
    ELSE result_of_row(problem, status, 'outsideDates') END AS row_result, count(*)
FROM read_rows WHERE problem IS NOT NULL OR is_gone(status) OR NOT is_within(begins, ends) GROUP BY row_result;
