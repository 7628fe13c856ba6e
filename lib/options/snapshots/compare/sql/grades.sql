-- What the other accepted files say of the grades of this file. The later said counts, which the messages' own times see to. If a grade
-- of this file is the older one, or if it is unknown which one is, the platform keeps what it has, and the report names the other file.
-- Such a grade is disputed: it is weighed again each time, and sent once no other file says otherwise. Comments are weighed, too, if both
-- files give them. In place of a grade that this file no longer has, the one that the others still want is sent.
--
-- A grade is known by its org unit, the name or id of its grade object, and its user, such as grade/2601/name=Quiz/301: a grade object whose
-- line item was renamed by its former titles, too, by which another file may still name it. The readers of a file have a view file_grades
-- (key, state_kind, grade, said, said_at_ms, line) of its claims, with a row for each name, and a view
-- gone_grades (key, grade, said, object) of what was accepted and no row claims; object: how a message names its grade object, if not as the
-- other file does.

-- name: schema
-- said: the grade without its maximum, and the comments; NULL: none are given.
CREATE TYPE said AS STRUCT(grade VARCHAR, comments VARCHAR, private_comments VARCHAR);
-- data: of a message.
CREATE TABLE other_grades (grade VARCHAR, said said, said_at_ms BIGINT, source_file VARCHAR, data VARCHAR);
-- what: what the files say otherwise.
CREATE TABLE disputed_grades (key VARCHAR, state_kind VARCHAR, line BIGINT, what VARCHAR, is_older BOOLEAN, source_file VARCHAR);
CREATE MACRO grade_named(org_unit, object, user) AS 'grade/' || org_unit || '/' || object || '/' || user;
CREATE MACRO object_named(title) AS 'name=' || nfc_normalize(title);
CREATE MACRO objects_named(title, former_titles) AS
  list_transform(list_prepend(title, coalesce(CAST(CAST(former_titles AS JSON) AS VARCHAR[]), [])), lambda each: object_named(each));
CREATE MACRO named_object(title, former_titles) AS
  '"gradeObjectName":' || to_json(title) || coalesce(',"gradeObjectFormerNames":' || former_titles, '');
CREATE MACRO object_in(data) AS coalesce('id=' || (data ->> 'gradeObjectId'), object_named(data ->> 'gradeObjectName'));
CREATE MACRO bare_grade_in(json) AS
  (json ->> 'type') || ' ' || coalesce(number_text(CAST(json ->> 'points' AS DOUBLE)), json ->> 'text', json ->> 'value', json ->> 'pass', '');
-- Of an export, which gives no comments by an empty cell; and of a table.
CREATE MACRO said_in_value(wanted_value) AS
  CAST(row(bare_grade_in(CAST(split_part(wanted_value, chr(31), 1) AS JSON)), nullif(split_part(wanted_value, chr(31), 2), ''), NULL) AS said);
CREATE MACRO said_in_data(data) AS
  CAST(row(bare_grade_in(CAST(data AS JSON) -> 'grade'), CAST(data AS JSON) ->> 'comments', CAST(data AS JSON) ->> 'privateComments') AS said);
CREATE MACRO contradicts(one, other) AS
  one.grade <> other.grade OR coalesce(one.comments <> other.comments OR one.private_comments <> other.private_comments, false);

-- name: add_grades_of_export
-- In: other_rows and the line items of an export of OneRoster; $1: its name; file_grades; gone_grades. Out: other_grades, those that this
-- file gives or gave, too.
INSERT INTO other_grades
  SELECT grade_named(org_unit, object_name, user_or_name) AS grade, said_in_value(wanted_value), said_at_ms, CAST($1 AS VARCHAR),
    '{' || member_of(org_unit, 'orgUnitId') || ',' || named_object(title, former_titles) || ',' || member_of(user_or_name, 'userId')
      || ',"grade":' || grade_out_of(split_part(wanted_value, chr(31), 1), out_of)
      || coalesce(',"comments":' || to_json(nullif(split_part(wanted_value, chr(31), 2), '')), '') || '}'
  FROM (
    SELECT coalesce(id_in_ref(i.org_unit_ref), o.id, 'orgUnitCode=' || i.org_unit_ref) AS org_unit, i.title, i.former_titles, i.out_of,
      unnest(objects_named(i.title, i.former_titles)) AS object_name, coalesce(s.user_id, s.user_token) AS user_or_name, s.wanted_value, s.said_at_ms
    FROM other_rows s JOIN (
        SELECT coalesce(json ->> '$.object', source_id) AS object, json ->> '$.data.name' AS title, json ->> '$.formers' AS former_titles,
          json ->> '$.outOf' AS out_of, ref_of(json ->> '$.data.orgUnitId', json ->> '$.data.orgUnitCode') AS org_unit_ref
        FROM (SELECT source_id, CAST(json AS JSON) AS json FROM other_state_line_items)) i ON i.object = s.org_unit_or_object
      LEFT JOIN known_names o ON o.field = 'orgUnitCode' AND o.name = i.org_unit_ref
    WHERE is_grade(s.state_kind))
  WHERE grade IN (SELECT grade FROM file_grades UNION ALL SELECT grade FROM gone_grades);

-- name: add_grades_of_table
-- In: other_rows of a table; $1: its name; file_grades; gone_grades. Out: the same.
INSERT INTO other_grades
  SELECT grade_named(coalesce(org_unit_id, org_unit_token), object_in(CAST(data AS JSON)), coalesce(user_id, user_token)) AS grade,
    said_in_data(data), said_at_ms, CAST($1 AS VARCHAR), with_ids(data, org_unit_token, user_token, org_unit_id, user_id)
  FROM other_rows
  WHERE function_name = 'grade-push' AND grade IN (SELECT grade FROM file_grades UNION ALL SELECT grade FROM gone_grades);

-- name: find_disputed
-- In: file_grades; other_grades. Out: disputed_grades.
INSERT INTO disputed_grades
  SELECT g.key, g.state_kind, g.line, CASE WHEN g.said.grade <> o.said.grade THEN 'grade' ELSE 'comment' END, g.said_at_ms < o.said_at_ms,
    o.source_file
  FROM file_grades g JOIN other_grades o USING (grade)
  WHERE contradicts(g.said, o.said) AND (g.said_at_ms > o.said_at_ms) IS NOT TRUE
  QUALIFY row_number() OVER (PARTITION BY g.key ORDER BY o.said_at_ms DESC NULLS FIRST, o.source_file) = 1;

-- name: weigh_disputed
-- In: disputed_grades; accepted. Out: differing_keys, as an unchanged grade may be disputed now, or no longer.
INSERT INTO differing_keys
  SELECT key FROM (SELECT key FROM disputed_grades UNION SELECT key FROM accepted WHERE row_standing = 'disputed') ANTI JOIN differing_keys USING (key);

-- name: send_undisputed
-- In: disputed_grades; accepted; $1: when the file was put into the bucket, which is later than what another file said. Out: difference: what
-- is disputed no longer is sent.
UPDATE difference SET change = 'updated', time_ms = $1
  WHERE change = 'unchanged' AND key IN (SELECT key FROM accepted WHERE row_standing = 'disputed') AND key NOT IN (SELECT key FROM disputed_grades);

-- name: hold_disputed
-- In: disputed_grades. Out: replacements; problems.
INSERT INTO replacements SELECT key, NULL, NULL FROM disputed_grades;
INSERT INTO problems (file, line, column_name, problem)
  SELECT k.file, d.line, k.column_name, CASE WHEN d.is_older THEN 'is older than another ' || d.what || ' in ' || d.source_file || ', which counts'
    ELSE 'differs from the ' || d.what || ' in ' || d.source_file || ', and it is unknown which one is later: the platform keeps what it has. Correct one of them, or give both files the times of their changes' END
  FROM disputed_grades d JOIN kinds k USING (state_kind) WHERE d.line IS NOT NULL;

-- name: replace_gone
-- In: difference; gone_grades; other_grades. Out: replacements; undecided_gone. Of what the other files want, that counts which is later than
-- everything that contradicts it. If nothing is, the platform keeps what it has.
CREATE TABLE wanted_by_others AS
  SELECT DISTINCT g.key, g.said AS said_here, o.said, o.said_at_ms, o.source_file,
    CASE WHEN g.object IS NULL THEN o.data ELSE CAST(json_merge_patch(CAST(o.data AS JSON), CAST(g.object AS JSON)) AS VARCHAR) END AS data
  FROM gone_grades g JOIN other_grades o USING (grade) SEMI JOIN (FROM difference WHERE change = 'removed') d ON d.key = g.key;
INSERT INTO replacements
  SELECT key, CASE WHEN contradicts(said_here, said) THEN 'grade-push' END, data FROM wanted_by_others w
  WHERE NOT EXISTS (
    FROM wanted_by_others x WHERE x.key = w.key AND contradicts(x.said, w.said) AND (w.said_at_ms > x.said_at_ms) IS NOT TRUE)
  QUALIFY row_number() OVER (PARTITION BY key ORDER BY said_at_ms DESC NULLS LAST, source_file) = 1;
CREATE TABLE undecided_gone AS
  SELECT key, string_agg(DISTINCT source_file, ' and ' ORDER BY source_file) AS source_files
  FROM wanted_by_others ANTI JOIN replacements USING (key) GROUP BY key;
INSERT INTO replacements SELECT key, NULL, NULL FROM undecided_gone;
DROP TABLE wanted_by_others;

-- name: count_undecided
-- In: undecided_gone; kinds. Out: how many are gone, by the files that contradict each other about them.
SELECT (SELECT any_value(file) FROM kinds WHERE function_name = 'grade-push'), source_files, count(*)
FROM undecided_gone GROUP BY source_files ORDER BY source_files;
