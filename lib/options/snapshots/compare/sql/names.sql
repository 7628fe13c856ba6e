-- The names of classes and users: what they are now, and what they stood for when they were accepted.

-- name: tables
-- In: the state; user_field() and last_user_field(), the platform's field that names users, now and in the accepted messages. Out:
-- names_before; the tables that are filled below. passed_rows: rows that are not used because the name of their user passed.
CREATE TABLE names_before AS
  SELECT record_type, source_id AS id, name, active, coalesce(org_unit_id, user_id) AS platform_id FROM state_names;
CREATE TABLE names_now (record_type VARCHAR, id VARCHAR, name VARCHAR, active BIGINT);
CREATE TABLE accepted_names (name VARCHAR, id VARCHAR, record VARCHAR);
CREATE TABLE renamed (record_type VARCHAR, old_name VARCHAR, new_name VARCHAR, active BIGINT, platform_id VARCHAR);
CREATE TABLE passed_rows (record VARCHAR, source VARCHAR, course VARCHAR, rows BIGINT);
-- The name of an id that has two: no name contains it.
CREATE MACRO ambiguous_name() AS chr(127);
CREATE MACRO field_of(record_type) AS CASE record_type WHEN 'class' THEN 'orgUnitCode' ELSE user_field() END;
CREATE MACRO field_before(record_type) AS CASE record_type WHEN 'class' THEN 'orgUnitCode' ELSE last_user_field() END;
CREATE MACRO file_of(record_type) AS CASE record_type WHEN 'class' THEN 'classes.csv' ELSE 'users.csv' END;
CREATE MACRO row_of_record(id, name) AS CASE WHEN is_id(id) THEN '=' || id ELSE row_without_id(concat_ws(chr(31), id, name)) END;
CREATE MACRO problem_of_record(id, name, column_name) AS
  CASE WHEN NOT is_id(id) THEN ['sourcedId', 'is not an id: it is empty, too long, or has control characters']
    WHEN has_control(name) OR length(name) > 255 THEN [column_name, 'is not a name: it is too long, or has control characters'] END;
-- A user may have several schools, and a class several terms.
CREATE MACRO ids_in(cell, is_list) AS
  CASE WHEN is_list THEN list_filter(string_split(coalesce(cell, ''), ','), lambda each: trimmed(each) <> '')
    ELSE [coalesce(cell, '')] END;

-- name: begin
-- Out: read_rows, which gets the rows of classes or users; linked_names, which gets the parts of their names from other files, by place.
CREATE OR REPLACE TABLE read_rows (line BIGINT, id VARCHAR, name VARCHAR, status VARCHAR, source_row VARCHAR, problem VARCHAR[]);
CREATE OR REPLACE TABLE linked_names (line BIGINT, place BIGINT, value VARCHAR);

-- name: add_linked_names
-- In: linking_rows, with the ids in a cell of the file; linked_rows, of the other file; $1: the place; $2: whether a cell has several ids.
-- Out: linked_names. Several ids are usable in a name if all have the same value.
INSERT INTO linked_names
  SELECT line, CAST($1 AS BIGINT), CASE WHEN min(value) = max(value) THEN min(value) ELSE '' END
  FROM (
    SELECT line, coalesce(l.value, '') AS value
    FROM (SELECT line, trimmed(unnest(ids_in(ids, CAST($2 AS BOOLEAN)))) AS id FROM linking_rows) LEFT JOIN (
      SELECT id, CASE WHEN min(value) = max(value) THEN min(value) ELSE '' END AS value
      FROM (SELECT trimmed(id) AS id, trimmed(value) AS value FROM linked_rows) GROUP BY id) l USING (id))
  GROUP BY line;

-- name: add_names
-- In: read_rows; the variable record_type. Out: names_now.
INSERT INTO names_now
  SELECT getvariable('record_type'), id, CASE WHEN min(name) <> max(name) THEN ambiguous_name() ELSE min(name) END,
    max(CASE WHEN is_gone(status) THEN 0 ELSE 1 END)
  FROM read_rows WHERE problem IS NULL GROUP BY id;

-- name: keep_names
-- In: read_rows, of a delta; names_before; the variable record_type. Out: names_now. What a delta does not name, or names in an unusable way,
-- stays as it was. So does the name of what it deletes by its id alone. Of a record whose name passed, names_before has the former one.
UPDATE names_now SET name = w.name FROM names_before w
  WHERE w.record_type = getvariable('record_type') AND names_now.record_type = w.record_type AND names_now.id = w.id
    AND names_now.name = '' AND names_now.active = 0;
INSERT INTO names_now
  SELECT w.record_type, w.id, coalesce(p.name, w.name), w.active
  FROM names_before w ANTI JOIN (FROM read_rows WHERE problem IS NULL) n USING (id)
    LEFT JOIN state_passed_names p ON w.record_type = 'user' AND p.source_id = w.id
  WHERE w.record_type = getvariable('record_type');

-- name: count_fates
-- In: read_rows. Out: by row_result, the rows of the file.
SELECT result_of_row(problem, status, CASE WHEN name = '' THEN 'withoutName' ELSE 'read' END) AS row_result, count(*) FROM read_rows GROUP BY row_result;

-- name: find_passed
-- In: names_before; names_now; known_names; accepted_names; the state. Out: former: the records of before, and what they stood for: what is
-- known of a name now counts only if it is no other record's name now, and not what it stood for when it passed to this record. same_people:
-- what operators have accepted of the records that have these names now.
CREATE TABLE former AS
  SELECT w.record_type, w.id, w.name, w.active, CASE WHEN p.name IS NULL THEN k.id END AS known_id, coalesce(w.platform_id, known_id) AS platform_id,
    w.platform_id AS last_id
  FROM names_before w
    LEFT JOIN (SELECT record_type, name, min(id) AS lowest, max(id) AS highest FROM names_now GROUP BY record_type, name) x
      ON x.record_type = w.record_type AND x.name = w.name
    LEFT JOIN known_names k
      ON k.field = field_before(w.record_type) AND k.name = w.name AND (x.name IS NULL OR (x.lowest = w.id AND x.highest = w.id))
    LEFT JOIN state_passed_names p ON w.record_type = 'user' AND p.source_id = w.id AND p.name = w.name AND p.user_id = k.id;
CREATE TABLE same_people AS
  SELECT DISTINCT a.name, a.id FROM accepted_names a JOIN names_now n ON n.record_type = 'user' AND n.id = a.record AND n.name = a.name;
-- passed: records whose user name may lead to another person's account. (1) Another active record had this name and has it no more, and the
-- crosswalk still gives that record's account for it. (2) The crosswalk gives for this name the account of another record, and no longer
-- gives that account for that record's own name. Whether they are one person
-- is unknown, so nothing is sent by this name until the crosswalk gives another id or an operator has accepted that they are.
-- bearers: which record had a name, also one that was in doubt.
CREATE TABLE bearers AS
  SELECT id, name, platform_id FROM names_before WHERE record_type = 'user' AND active = 1
  UNION ALL SELECT source_id, name, NULL FROM state_passed_names;
CREATE TABLE passed AS
  SELECT DISTINCT n.id, n.name, k.id AS platform_id
  FROM names_now n JOIN bearers w ON w.name = n.name AND w.id <> n.id
    JOIN known_names k ON k.field = field_of('user') AND k.name = n.name
    LEFT JOIN names_now f ON f.record_type = 'user' AND f.id = w.id AND f.name = n.name AND f.active = 1
    LEFT JOIN names_before b ON b.record_type = 'user' AND b.id = n.id
  WHERE n.record_type = 'user' AND n.active = 1 AND f.id IS NULL AND field_of('user') = field_before('user')
    AND k.id = coalesce(w.platform_id, k.id) AND b.name IS DISTINCT FROM n.name AND b.platform_id IS DISTINCT FROM k.id
    AND (n.name, k.id) NOT IN (SELECT (name, id) FROM same_people)
  UNION
  SELECT n.id, n.name, k.id
  FROM names_now n JOIN known_names k ON k.field = field_of('user') AND k.name = n.name
    JOIN former w ON w.record_type = 'user' AND w.active = 1 AND w.id <> n.id AND w.platform_id = k.id
    JOIN names_now o ON o.record_type = 'user' AND o.id = w.id AND o.active = 1 AND o.name <> n.name
    LEFT JOIN known_names x ON x.field = k.field AND x.name = o.name
    LEFT JOIN names_before b ON b.record_type = 'user' AND b.id = n.id
  WHERE n.record_type = 'user' AND n.active = 1 AND field_of('user') = field_before('user') AND x.id IS NULL
    AND b.name IS DISTINCT FROM n.name AND b.platform_id IS DISTINCT FROM k.id
    AND (n.name, k.id) NOT IN (SELECT (name, id) FROM same_people)
  UNION
  SELECT s.source_id, n.name, k.id FROM state_passed_names s
    JOIN names_now n ON n.record_type = 'user' AND n.id = s.source_id AND n.name = s.name AND n.active = 1
    JOIN known_names k ON k.field = field_of('user') AND k.name = n.name AND k.id = s.user_id
  WHERE (n.name, k.id) NOT IN (SELECT (name, id) FROM same_people);

-- name: find_names
-- In: names_now; passed; known_names; former; $1 and $2: why a class or a user has no name; $3: the setting of users' names. Out: names: what
-- they stand for on the platform, or why they are unknown. Sections of one course have the same code.
CREATE TABLE names AS
  SELECT n.record_type, n.id, n.name, n.active, CASE WHEN p.id IS NULL THEN coalesce(k.id, f.platform_id) ELSE f.platform_id END AS platform_id,
    ref_of(coalesce(k.id, f.platform_id), n.name) AS ref,
    CASE WHEN n.name = '' THEN CASE n.record_type WHEN 'class' THEN $1 ELSE $2 END
      WHEN n.name = ambiguous_name() THEN 'two rows of ' || file_of(n.record_type) || ' have this sourcedId, but different names'
      WHEN s.name IS NOT NULL THEN 'its row in users.csv has the same ' || $3 || ' as another row'
      WHEN p.id IS NOT NULL THEN 'the crosswalk gives for its user name the account of another record. '
        || 'If both records are one person, accept the name: sis-relay crosswalk accept <name>. '
        || 'If not, wait: its rows are used once the crosswalk gives another account' END AS problem,
    CASE WHEN n.name = '' THEN 'withoutName' WHEN s.name IS NULL AND p.id IS NOT NULL THEN 'namePassed' END AS row_result
  FROM names_now n
    LEFT JOIN (
      SELECT record_type, name FROM names_now WHERE record_type = 'user' AND active = 1 AND name NOT IN ('', ambiguous_name())
      GROUP BY record_type, name HAVING count(*) > 1) s USING (record_type, name)
    LEFT JOIN passed p ON n.record_type = 'user' AND p.id = n.id
    LEFT JOIN known_names k ON k.field = field_of(n.record_type) AND k.name = n.name
    LEFT JOIN former f ON f.record_type = n.record_type AND f.id = n.id;

-- name: find_renamed
-- In: names; names_before; former. Out: former_ids: what is known now of former names. renamed: names that none of their former bearers has,
-- and the one name that all of those have now, with what it stands for. merged_names: former names of users that other users have now.
-- with_user_names, with_names: rows of a table or view with the names of their users, or of their users and classes, or the reason why
-- these are not known.
CREATE TABLE former_ids AS
  SELECT record_type, name, min(known_id) AS platform_id, bool_or(known_id IS DISTINCT FROM last_id) AS is_new
  FROM former WHERE known_id IS NOT NULL GROUP BY record_type, name HAVING count(DISTINCT known_id) = 1;
INSERT INTO renamed
  SELECT w.record_type, w.name AS old_name, min(n.name) AS new_name, max(n.active) AS active,
    CASE WHEN min(n.platform_id) = max(n.platform_id) THEN min(n.platform_id) END AS platform_id
  FROM names_before w JOIN names n USING (record_type, id)
  WHERE w.name NOT IN ('', ambiguous_name())
  GROUP BY w.record_type, w.name HAVING bool_and(n.problem IS NULL AND n.name <> w.name) AND min(n.name) = max(n.name);
CREATE TABLE merged_names AS
  SELECT DISTINCT new_name AS name FROM renamed
  WHERE record_type = 'user' AND new_name IN (SELECT name FROM names_before WHERE record_type = 'user');
-- formers: if two records have become one person or class, one is marked as deleted and the other stays.
CREATE TABLE formers AS
  SELECT record_type, id FROM names WHERE active = 0 AND problem IS NULL
    AND (record_type, name) IN (SELECT (record_type, name) FROM names WHERE active = 1);
CREATE VIEW class_names AS
  SELECT id, CASE WHEN problem IS NULL THEN name END AS org_unit_or_object, CASE WHEN problem IS NULL THEN ref END AS org_unit_ref, problem, row_result
  FROM names WHERE record_type = 'class';
CREATE VIEW user_names AS
  SELECT id, CASE WHEN problem IS NULL THEN name END AS user_name, CASE WHEN problem IS NULL THEN ref END AS user_ref, problem, row_result
  FROM names WHERE record_type = 'user';
CREATE MACRO with_user_names(source) AS TABLE
  SELECT r.*, n.user_name, n.user_ref, CASE WHEN n.id IS NULL THEN 'names no row of users.csv' ELSE n.problem END AS user_problem,
    CASE WHEN n.id IS NULL THEN 'notInPackage' ELSE n.row_result END AS user_result
  FROM query_table(source) r LEFT JOIN user_names n ON n.id = r.user_source_id;
CREATE MACRO with_names(source) AS TABLE
  SELECT r.*, n.org_unit_or_object, n.org_unit_ref, CASE WHEN n.id IS NULL THEN 'names no row of classes.csv' ELSE n.problem END AS org_unit_problem,
    CASE WHEN n.id IS NULL THEN 'notInPackage' ELSE n.row_result END AS org_unit_result
  FROM with_user_names(source) r LEFT JOIN class_names n ON n.id = r.class_source_id;

-- name: count_passed
-- In: read_rows; known_places; $1: the kind. Out: passed_rows.
INSERT INTO passed_rows
  SELECT r.user_source_id, $1, p.course, count(*) FROM read_rows r LEFT JOIN known_places p ON p.id = r.class_or_item_id
  WHERE r.problem[3] = 'namePassed' GROUP BY ALL;

-- name: list_passed
-- In: passed; passed_rows; bearers. Out: the names that passed, with the record that had each, if this export tells, and what waits.
SELECT p.name, p.platform_id, p.id,
  (SELECT min(w.id) FROM bearers w WHERE (w.name = p.name OR w.platform_id = p.platform_id) AND w.id <> p.id),
  CAST(coalesce(any_value(r.enrollments), 0) AS INTEGER), CAST(coalesce(any_value(r.results), 0) AS INTEGER), any_value(r.courses)
FROM passed p LEFT JOIN (
  SELECT record, sum(rows) FILTER (source = 'enrollments') AS enrollments, sum(rows) FILTER (source = 'results') AS results,
    to_json(list_sort(list(DISTINCT course) FILTER (course IS NOT NULL))) AS courses
  FROM passed_rows GROUP BY record) r ON r.record = p.id
GROUP BY p.name, p.platform_id, p.id ORDER BY p.name, p.id;

-- name: find_moves
-- In: names; former. Out: name_moves: names that stand for another thing than when they were accepted; problems.
CREATE TABLE name_moves AS
  SELECT n.record_type, n.name, n.id, f.platform_id AS former_id, n.platform_id FROM names n JOIN former f USING (record_type, id)
  WHERE n.problem IS NULL AND f.platform_id <> n.platform_id;
INSERT INTO problems (file, problem, is_refusal)
  SELECT file_of(record_type), 'the name of the record ' || id || ' stands for ' || platform_id
    || ' on the platform, and stood for ' || former_id || ' when it was accepted', false
  FROM name_moves;

-- name: count_moves
-- In: name_moves; accepted; row_claims; enrollments_before; items_before. Out: the names, and what rows of their records claim by them: claims,
-- people and org units. Another row may claim what is the same on the platform by another name.
WITH rows_before AS (
    SELECT b.key, e.class_source_id, e.user_source_id FROM row_claims b JOIN enrollments_before e ON e.id = b.source_row
    WHERE b.kind_name = 'enrollments'
    UNION ALL
    SELECT b.key, i.class_source_id, split_part(b.source_row, chr(31), 2)
    FROM row_claims b JOIN items_before i ON i.id = split_part(b.source_row, chr(31), 1) WHERE b.kind_name = 'results'),
  claims_before AS (
    SELECT key, user_in(key) AS user_ref, CASE WHEN is_enrollment(state_kind) THEN org_unit_in(key) ELSE org_unit_ref END AS org_unit_ref
    FROM accepted)
SELECT (SELECT count(*) FROM name_moves), count(DISTINCT w.key), count(DISTINCT w.user_ref), count(DISTINCT w.org_unit_ref)
FROM claims_before w JOIN rows_before r USING (key)
  LEFT JOIN name_moves c ON c.record_type = 'class' AND c.id = r.class_source_id AND c.former_id = id_in_ref(w.org_unit_ref)
  LEFT JOIN name_moves u ON u.record_type = 'user' AND u.id = r.user_source_id AND u.former_id = id_in_ref(w.user_ref)
WHERE c.id IS NOT NULL OR u.id IS NOT NULL;
