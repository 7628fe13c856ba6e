-- What an export of OneRoster wants: who has which role in which org unit (a class by its code), and which grade of which grade object. The
-- wanted_value of an enrollment is its role, and that of a grade the grade and its comments. org_unit_or_object is the org unit's code or the
-- grade object; the key has what that and the user's name stand for.

-- name: data
-- In: user_field(), the platform's field that names users; no_user(), a JSON of all such fields with NULL. Out: how data of messages are
-- written.
CREATE OR REPLACE MACRO org_unit_data(ref) AS coalesce('"orgUnitId":' || id_in_ref(ref), '"orgUnitCode":' || to_json(ref));
CREATE OR REPLACE MACRO user_data(ref) AS coalesce(',"userId":' || id_in_ref(ref), ',"' || user_field() || '":' || to_json(ref));
CREATE OR REPLACE MACRO without_user(data) AS CAST(json_merge_patch(CAST(data AS JSON), CAST(no_user() AS JSON)) AS VARCHAR);
CREATE OR REPLACE MACRO with_user(data, ref) AS left(without_user(data), -1) || user_data(ref) || '}';
CREATE OR REPLACE MACRO numeric_grade(points, comments) AS
  '{"type":"numeric","points":' || number_text(points) || '}' || chr(31) || coalesce(comments, '');
CREATE OR REPLACE MACRO text_grade(words, comments) AS
  '{"type":"text","text":' || to_json(words) || '}' || chr(31) || coalesce(comments, '');
CREATE OR REPLACE MACRO grade_of(wanted_value) AS split_part(wanted_value, chr(31), 1);
CREATE OR REPLACE MACRO comments_of(wanted_value) AS split_part(wanted_value, chr(31), 2);
CREATE OR REPLACE MACRO grade_data(org_unit_ref, title, former_titles, out_of, user_ref, wanted_value, without_comments) AS
  CASE WHEN title IS NOT NULL THEN concat(
    '{', org_unit_data(org_unit_ref), ',"gradeObjectName":', to_json(title), ',"gradeObjectFormerNames":' || former_titles, user_data(user_ref),
    ',"grade":', grade_out_of(grade_of(wanted_value), out_of),
    CASE WHEN comments_of(wanted_value) <> '' THEN ',"comments":' || to_json(comments_of(wanted_value)) ELSE without_comments END, '}') END;
-- data: those of a grade whose line item is gone.
CREATE OR REPLACE MACRO message_data(state_kind, org_unit_ref, user_ref, wanted_value, item_org_unit_ref, title, former_titles, out_of, without_comments,
    data) AS
  CASE WHEN is_enrollment(state_kind) THEN concat('{', org_unit_data(org_unit_ref), user_data(user_ref), ',"roleId":', wanted_value, '}')
    ELSE coalesce(grade_data(item_org_unit_ref, title, former_titles, out_of, user_ref, wanted_value, without_comments), with_user(data, user_ref))
  END;

-- name: kinds
-- Out: kinds.
INSERT INTO kinds
  SELECT kind, name, function, name || '.csv', column_name, 'dateLastModified', differs, differs, older_problem(what), true
  FROM (VALUES
    ('2', 'enrollments', 'enrollment-create', 'role', 'two active rows of one class and user have different roles', 'enrollment'),
    ('3', 'results', 'grade-push', 'lineItemSourcedId', 'another row has the same line item and student, but differs', 'grade'))
    kinds (kind, name, function, column_name, differs, what);

-- name: keys
-- Out: what keys are made of; which claims are about enrollments, for the statements over all files; what the state need not keep, because it
-- follows from the rest. Most exports are of names that are all known, or none is: then the key need not be taken apart.
CREATE MACRO enrollment_key(org_unit_ref, user_ref) AS 'e' || chr(31) || org_unit_ref || chr(31) || user_ref;
CREATE MACRO grade_key(object, user_ref) AS 'g' || chr(31) || object || chr(31) || user_ref;
CREATE MACRO key_of_kind(state_kind, org_unit_or_object, user_ref) AS
  CASE WHEN is_enrollment(state_kind) THEN enrollment_key(org_unit_or_object, user_ref) ELSE grade_key(org_unit_or_object, user_ref) END;
CREATE MACRO org_unit_in(key) AS CASE WHEN key[1] = 'e' THEN split_part(key, chr(31), 2) END;
CREATE MACRO has_id(key) AS contains(key, chr(2));
CREATE MACRO user_in(key) AS split_part(key, chr(31), -1);
CREATE MACRO is_about_enrollment(kind_name) AS kind_name = 'enrollments';
CREATE MACRO enrollment_in(kind_name, key) AS
  CASE WHEN kind_name = 'enrollments' THEN enrollment_of(id_in_ref(org_unit_in(key)), 'orgUnitCode=' || org_unit_in(key),
    id_in_ref(user_in(key)), user_field() || '=' || user_in(key)) END;
CREATE MACRO org_unit_token(org_unit_or_object) AS 'orgUnitCode=' || org_unit_or_object;
CREATE MACRO role_of(wanted_value) AS wanted_value;
-- The platform cannot clear a grade.
CREATE MACRO removal_function(state_kind, removal) AS CASE WHEN is_enrollment(state_kind) THEN 'enrollment-remove' END;
CREATE MACRO key_to_keep(key) AS NULL::VARCHAR;
CREATE MACRO wanted_value_to_keep(wanted_value) AS wanted_value;
CREATE MACRO org_unit_id_to_keep(claim_key) AS CASE WHEN has_id(claim_key) THEN id_in_ref(org_unit_in(claim_key)) END;
CREATE MACRO user_id_to_keep(claim_key) AS CASE WHEN has_id(claim_key) THEN id_in_ref(user_in(claim_key)) END;

-- name: yield_to_staying
-- In: formers; claims; enrollments_now. Out: claims; problems; disputed_counts. If their rows contradict each other, those of the record that
-- stays count.
CREATE MACRO is_former(type, source_id) AS source_id IN (SELECT id FROM formers WHERE record_type = type);
CREATE TABLE of_formers AS
  SELECT c.key, c.source_row, c.wanted_value, c.state_kind, c.kind_name, c.line FROM claims c JOIN (
    SELECT enrollment_key(org_unit_ref, user_ref) AS key, id AS source_row FROM enrollments_now
    WHERE is_former('class', class_source_id) OR is_former('user', user_source_id)
    UNION SELECT key, source_row FROM claims WHERE is_grade(state_kind) AND is_former('user', split_part(source_row, chr(31), 2)))
    USING (key, source_row);
CREATE TABLE yielding AS
  SELECT * FROM of_formers f WHERE EXISTS (
    FROM claims c ANTI JOIN of_formers o ON o.key = c.key AND o.source_row = c.source_row WHERE c.key = f.key AND c.wanted_value <> f.wanted_value);
INSERT INTO problems (file, line, column_name, problem)
  SELECT k.file, y.line, k.column_name,
    'is not used, because its class or user is marked as deleted, and a row of the class or user that stays contradicts it'
  FROM yielding y JOIN kinds k USING (state_kind) WHERE y.line IS NOT NULL;
INSERT INTO disputed_counts SELECT kind_name, count(*) FROM yielding WHERE line IS NOT NULL GROUP BY kind_name;
DELETE FROM claims USING yielding y WHERE claims.key = y.key AND claims.source_row = y.source_row;

-- name: find_doubtful
-- In: claims; doubtful_names. Out: doubtful_claims. A grade is known by its grade object: the org unit of that is named as it was accepted.
INSERT INTO doubtful_claims
  SELECT key, source_row, key_of_kind(state_kind,
      CASE WHEN is_grade(state_kind) OR x.name IS NOT NULL THEN org_unit_or_object ELSE org_unit_in(key) END,
      CASE WHEN y.name IS NULL THEN user_in(key) ELSE user_name END) AS key_by_name
  FROM claims LEFT JOIN doubtful_names x ON x.field = 'orgUnitCode' AND is_enrollment(state_kind) AND x.name = org_unit_or_object
    LEFT JOIN doubtful_names y ON y.field = user_field() AND y.name = user_name
  WHERE (x.name IS NOT NULL OR y.name IS NOT NULL) AND key_by_name <> key;

-- name: mean_things
-- In: unusable_rows; names; former; passed; accepted; claims; items; items_before. Out: meant_rows; accepted_keys; file_grades and gone_grades. An
-- unusable row means what its names stand for, or stood for: two names may stand for one thing.
CREATE VIEW name_refs AS
  SELECT record_type, name, ref FROM names WHERE problem IS NULL UNION SELECT record_type, name, ref_of(platform_id, name) FROM former
  UNION SELECT 'user', name, ref_of(platform_id, name) FROM passed;
CREATE OR REPLACE VIEW meant_rows AS
  SELECT r.* REPLACE (coalesce(o.ref, r.org_unit_or_object) AS org_unit_or_object, coalesce(u.ref, r.user_name) AS user_name)
  FROM unusable_rows r
    LEFT JOIN name_refs o ON o.record_type = 'class' AND r.kind_name = 'enrollments' AND o.name = r.org_unit_or_object
    LEFT JOIN name_refs u ON u.record_type = 'user' AND u.name = r.user_name;
CREATE OR REPLACE VIEW accepted_keys AS
  SELECT kind_name, key, CASE WHEN is_enrollment(state_kind) THEN org_unit_in(key) ELSE org_unit_or_object END AS org_unit_or_object,
    user_in(key) AS user_name, last_snapshot_number
  FROM accepted;
CREATE VIEW all_items AS
  SELECT object, org_unit_ref, title, former_titles, true AS is_now FROM items
  UNION ALL SELECT object, org_unit_ref, title, former_titles, false FROM items_before ANTI JOIN items USING (object, org_unit_ref);
CREATE VIEW item_names AS SELECT *, unnest(objects_named(title, former_titles)) AS object_name FROM all_items;
CREATE VIEW file_grades AS
  SELECT c.key, c.state_kind, grade_named(coalesce(id_in_ref(i.org_unit_ref), 'orgUnitCode=' || i.org_unit_ref), i.object_name,
      coalesce(id_in_ref(user_in(c.key)), user_field() || '=' || user_in(c.key))) AS grade,
    said_in_value(c.wanted_value) AS said, c.said_at_ms, c.line
  FROM claims c JOIN item_names i ON i.object = c.org_unit_or_object AND i.is_now WHERE is_grade(c.state_kind);
CREATE VIEW gone_grades AS
  SELECT w.key, grade_named(coalesce(id_in_ref(w.org_unit_ref), 'orgUnitCode=' || w.org_unit_ref), i.object_name,
      coalesce(id_in_ref(user_in(w.key)), user_field() || '=' || user_in(w.key))) AS grade,
    said_in_value(w.wanted_value) AS said, '{' || named_object(i.title, i.former_titles) || '}' AS object
  FROM (FROM accepted ANTI JOIN claims USING (key)) w
    JOIN item_names i ON i.object = w.org_unit_or_object AND i.org_unit_ref = w.org_unit_ref
  WHERE is_grade(w.state_kind);

-- name: recall_comments
-- In: comments_left. Out: difference. A grade that comes back knows the comments on the platform, which it may clear.
UPDATE difference SET accepted_value = l.wanted_value FROM comments_left l WHERE difference.key = l.key AND difference.change = 'created';

-- name: write_data
-- In: difference; items. Out: messages. A comment that the SIS has removed is cleared.
CREATE VIEW messages AS
  SELECT *, message_data(state_kind, sent_org_unit, sent_user, wanted_value, item_sent_org_unit, title, former_titles, out_of,
      CASE WHEN comments_of(accepted_value) <> '' THEN ',"comments":""' ELSE '' END, data) AS sent_data,
    CASE WHEN change = 'removed' THEN '{' || org_unit_data(sent_org_unit) || user_data(sent_user) || '}' END AS removal_data
  FROM (
    SELECT d.*, i.title, i.former_titles, i.out_of, i.org_unit_ref AS item_org_unit_ref, i.sent_org_unit AS item_sent_org_unit,
      CASE WHEN has_id(d.key) THEN org_unit_in(d.key) ELSE d.org_unit_or_object END AS sent_org_unit,
      CASE WHEN has_id(d.key) THEN user_in(d.key) ELSE d.user_name END AS sent_user
    FROM difference d LEFT JOIN items i ON i.object = CASE WHEN is_grade(d.state_kind) THEN d.org_unit_or_object END);

-- name: move_along
-- In: items. Out: difference. What is sent for a grade that is held is sent to where its line item is now: from there that may move back.
UPDATE difference SET org_unit_ref = i.org_unit_ref FROM items i
  WHERE is_grade(difference.state_kind) AND difference.change = 'updated' AND i.object = difference.org_unit_or_object
    AND difference.org_unit_ref <> i.org_unit_ref;

-- name: keep_export
-- In: the comparison. Out: what the next state has beside claims, by views. A record whose name is in doubt keeps its former one: by that it
-- was sent.
-- The id of a grade object goes with its line item: the one that stays behind has a new id, and so have the comments on it.
CREATE VIEW objects_left AS
  SELECT o.object, new_object(o.id) AS object_left FROM objects_before o JOIN items i USING (object)
  WHERE i.org_unit_ref <> o.org_unit_ref;
CREATE VIEW comments_to_keep AS
  WITH comments AS (
    SELECT key, org_unit_or_object, user_name, wanted_value FROM difference
    WHERE change = 'removed' AND is_grade(state_kind) AND comments_of(wanted_value) <> ''
      AND key NOT IN (SELECT key FROM replacements WHERE function_name IS NOT NULL AND (data ->> '$.comments') IS NOT NULL)
    UNION ALL
    FROM comments_left ANTI JOIN difference USING (key) ANTI JOIN objects_left ON objects_left.object = org_unit_or_object
    UNION ALL
    SELECT grade_key(o.object_left, user_in(c.key)), o.object_left, c.user_name, c.wanted_value
    FROM (
      SELECT key, org_unit_or_object, user_name, wanted_value FROM accepted
      WHERE is_grade(state_kind) AND comments_of(wanted_value) <> ''
      UNION ALL FROM comments_left) c
      JOIN objects_left o ON o.object = c.org_unit_or_object)
  SELECT *, id_in_ref(user_in(key)) AS user_id FROM comments
  WHERE org_unit_or_object IN (SELECT object FROM items UNION ALL SELECT object_id FROM grade_objects_to_keep);
CREATE VIEW names_to_keep AS
  SELECT id AS source_id, record_type, active, CASE WHEN row_result = 'namePassed' THEN coalesce((
      SELECT any_value(w.name) FROM names_before w WHERE w.record_type = names.record_type AND w.id = names.id), name) ELSE name END AS name,
    CASE WHEN record_type = 'class' THEN platform_id END AS org_unit_id, CASE WHEN record_type = 'user' THEN platform_id END AS user_id
  FROM names;
CREATE VIEW passed_names_to_keep AS SELECT id AS source_id, name, platform_id AS user_id FROM passed;
CREATE VIEW enrollment_rows_to_keep AS
  SELECT id AS source_id, * FROM (
    SELECT id, class_source_id, user_source_id, role, begins, ends, said_at_ms FROM enrollments_now
    UNION ALL
    SELECT id, class_source_id, user_source_id, role, begins, ends, said_at_ms FROM enrollments_still ANTI JOIN enrollments_now USING (id));
