-- A table, whose rows become messages by a mapping. What a row is about, and names, are texts such as `userName=jane` (tokens).

-- name: add_kind
-- In: a message of the mapping: $1: the sign of its place; $2: its function; $3: the name of the file; $4: the columns of its key; $5: of its
-- time. Out: kinds. Several messages may state what one resource must be; they must agree.
INSERT INTO kinds VALUES ($1, $2, $2, $3, $4, $5, 'another row has the same key, but differs',
  'another row is about the same thing on the platform, but differs', older_problem('row'), false);

-- name: tables
-- In: the state; kinds; snapshot_number(). Out: accepted_rows, what was accepted; the tables that are filled below. key_ids: what tokens in
-- keys stand for. optional: the columns of fields that may have no value. kept_data: the data that were sent, where cells no longer give a
-- value.
CREATE TABLE mapped_rows (state_kind VARCHAR, kind_name VARCHAR, template VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR, data VARCHAR,
  removal VARCHAR, source_row VARCHAR, said_at_ms VARCHAR, line VARCHAR);
CREATE TABLE accepted_rows AS
  SELECT s.* EXCLUDE (key, wanted_value, org_unit_ref, source_id_hash)
      REPLACE (coalesce(last_snapshot_number, snapshot_number()) AS last_snapshot_number), k.kind_name
  FROM state_wanted s JOIN kinds k USING (state_kind);
-- named_rows: the rows of a table of changes, by each message.
CREATE TABLE named_rows (source_row VARCHAR, line VARCHAR, said_at_ms VARCHAR);
-- excluded_rows: rows that no message is for, by each message; drops: those that end what their key had.
CREATE TABLE excluded_rows (source_row VARCHAR, line VARCHAR, drops VARCHAR);
-- renamed_rows: ids of accepted rows, and by what id they are known now.
CREATE TABLE renamed_rows (source_row VARCHAR, accepted_row VARCHAR);
CREATE TABLE unmapped_rows (kind_name VARCHAR, source_row VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR, line VARCHAR);
-- unnamed_rows: those of them that have a value which no condition of the mapping names.
CREATE TABLE unnamed_rows (line VARCHAR, column_name VARCHAR, cell_value VARCHAR);
CREATE TABLE optional (state_kind VARCHAR, field VARCHAR, column_name VARCHAR);
CREATE TABLE kept_data (key VARCHAR, data VARCHAR);
CREATE TABLE same (key VARCHAR);

-- name: macros
-- In: the variable removing_kinds; key_ids. Out: which claims are about enrollments, for the statements over all files; what the state need
-- not keep; value_of: what a row wants, without whom it is about.
CREATE MACRO is_about_enrollment(kind_name) AS starts_with(kind_name, 'enrollment-');
CREATE MACRO enrollment_in(kind_name, key) AS CASE WHEN starts_with(kind_name, 'enrollment-') THEN key END;
CREATE MACRO org_unit_token(org_unit_or_object) AS org_unit_or_object;
CREATE MACRO role_of(wanted_value) AS role_in(wanted_value);
-- Without a message for a removal, the platform keeps what was sent.
CREATE MACRO removal_function(state_kind, removal) AS
  CASE WHEN list_contains(getvariable('removing_kinds'), state_kind) THEN CAST(removal AS JSON) ->> 'function' END;
CREATE MACRO named_by(token, place, template) AS
  CASE WHEN contains(template, place) OR contains(template, '/' || split_part(token, '=', 2))
    THEN '{"' || split_part(token, '=', 1) || '":null}' ELSE '{}' END;
CREATE MACRO value_of(kind_name, template, org_unit_or_object, user_name, data) AS
  kind_name || ' ' || CAST(json_merge_patch(CAST(data AS JSON),
    CAST(named_by(coalesce(org_unit_or_object, ''), chr(1) || 'o', template) AS JSON),
    CAST(named_by(coalesce(user_name, ''), chr(1) || 'u', template) AS JSON)) AS VARCHAR);
CREATE MACRO key_of(template, org_unit_or_object, user_name) AS
  replace(replace(template, chr(1) || 'o', coalesce(org_unit_or_object, '')), chr(1) || 'u', coalesce(user_name, ''));
CREATE MACRO stays(field_value) AS field_value NOT IN ('""', 'null');
CREATE MACRO key_to_keep(key) AS key;
CREATE MACRO wanted_value_to_keep(wanted_value) AS NULL::VARCHAR;

-- name: add_damaged
-- In: refused_rows of the file; kinds; $1: the name of the file. Out: refused_rows. An illegible row may be about each of its kinds.
INSERT INTO refused_rows (kind_name, source_row, org_unit_or_object, user_name, counts)
  SELECT k.kind_name, r.source_row, NULL, NULL, false
  FROM refused_rows r, (SELECT DISTINCT kind_name FROM kinds) k WHERE r.kind_name = $1 AND k.kind_name <> $1;

-- name: list_accepted_ids
-- In: the state. Out: the ids of its rows.
SELECT source_row FROM accepted_rows WHERE source_row IS NOT NULL UNION SELECT source_row FROM shared_row_claims
UNION SELECT source_row FROM refused_before ORDER BY source_row;

-- name: rename_rows
-- In: renamed_rows. Out: accepted_rows; shared_row_claims; refused_before; meanings_before.
UPDATE accepted_rows SET source_row = r.accepted_row FROM renamed_rows r WHERE r.source_row = accepted_rows.source_row;
UPDATE shared_row_claims SET source_row = r.accepted_row FROM renamed_rows r WHERE r.source_row = shared_row_claims.source_row;
UPDATE refused_before SET source_row = r.accepted_row FROM renamed_rows r WHERE r.source_row = refused_before.source_row;
UPDATE meanings_before SET source_row = r.accepted_row FROM renamed_rows r WHERE r.source_row = meanings_before.source_row;

-- name: take_latest
-- In: named_rows; mapped_rows, of a table of changes. Out: mapped_rows, of several rows with one key only the latest: by their times, if all have
-- one, or else the last one in the file.
CREATE MACRO key_cells_of(source_row) AS source_row[3:];
CREATE TABLE latest_rows AS
  SELECT key_cells, line FROM (
    SELECT key_cells, line, said, count(said) OVER each_key = count(*) OVER each_key AS are_timed
    FROM (
      SELECT key_cells_of(source_row) AS key_cells, CAST(line AS BIGINT) AS line, max(CAST(said_at_ms AS BIGINT)) AS said
      FROM named_rows GROUP BY key_cells, line)
    WINDOW each_key AS (PARTITION BY key_cells))
  QUALIFY row_number() OVER (PARTITION BY key_cells ORDER BY CASE WHEN are_timed THEN said END DESC NULLS LAST, line DESC) = 1;
DELETE FROM mapped_rows WHERE (key_cells_of(source_row), CAST(line AS BIGINT)) NOT IN (SELECT (key_cells, line) FROM latest_rows);

-- name: claim_still
-- In: named_rows; accepted; row_claims; claims, of a table of changes. Out: claims: what no row names stands as it was.
INSERT INTO claims BY NAME
  SELECT w.kind_name, w.state_kind, w.key, w.org_unit_or_object, w.user_name, w.org_unit_ref, w.wanted_value, w.data, w.removal, w.template,
    b.source_row, w.said_at_ms, w.source_id_hash
  FROM accepted w JOIN row_claims b USING (key)
    ANTI JOIN (SELECT DISTINCT source_row FROM named_rows) n ON n.source_row = b.source_row
    ANTI JOIN (SELECT DISTINCT key FROM claims) c ON c.key = w.key;

-- name: name_claims
-- In: mapped_rows; unmapped_rows; accepted_rows; known_names; doubtful_names; passed_names; shared_row_claims. Out: claims; accepted;
-- row_claims; accepted_keys; refused_rows; problems; stands_for; key_ids and key_ids_before; doubtful_claims; file_grades and gone_grades. Names
-- become what they stand for: what was accepted, what it stood for then; a row, what its name stands for now, or if that is unknown, stood
-- for. Of two accepted rows about one thing that differ, it is unknown which one the platform has. Then there is no data, from which every
-- intended value differs. A removal yields to a row that is present.
INSERT INTO problems (file, line, column_name, problem)
  SELECT k.file, CAST(m.line AS BIGINT), k.column_name, 'the crosswalk gives for its user name the account of another record of an '
    || 'export. If both records are one person, accept the name: sis-relay crosswalk accept <name>. If not, wait: the row is used once the '
    || 'crosswalk gives another account'
  FROM mapped_rows m JOIN kinds k USING (state_kind) WHERE m.user_name IN (SELECT token FROM passed_names);
INSERT INTO unmapped_rows SELECT kind_name, source_row, org_unit_or_object, user_name, line FROM mapped_rows WHERE user_name IN (SELECT token FROM passed_names);
DELETE FROM mapped_rows WHERE user_name IN (SELECT token FROM passed_names);
CREATE TABLE stands_for AS SELECT field || '=' || name AS token, id FROM known_names;
CREATE TABLE accepted_claims AS
  SELECT *, key_of(template, coalesce(org_unit_id_now, org_unit_or_object), coalesce(user_id_now, user_name)) AS key
  FROM (
    SELECT m.*, coalesce(value_of(kind_name, template, org_unit_or_object, user_name, data), kind_name || ' null') AS wanted_value,
      coalesce(m.org_unit_id, id_in_token(org_unit_or_object), o.id) AS org_unit_id_now,
      coalesce(m.user_id, id_in_token(user_name), u.id) AS user_id_now,
      (m.org_unit_id IS NULL AND o.id IS NOT NULL) OR (m.user_id IS NULL AND u.id IS NOT NULL) AS is_learnt
    FROM accepted_rows m LEFT JOIN stands_for o ON o.token = m.org_unit_or_object LEFT JOIN stands_for u ON u.token = m.user_name);
-- A name that the crosswalk no longer knows stands for what it stood for.
INSERT INTO stands_for
  SELECT token, any_value(id)
  FROM (SELECT org_unit_or_object AS token, org_unit_id_now AS id FROM accepted_claims UNION SELECT user_name, user_id_now FROM accepted_claims)
  WHERE id IS NOT NULL AND token NOT IN (SELECT token FROM stands_for) AND id_in_token(token) IS NULL
  GROUP BY token HAVING count(*) = 1;
CREATE TABLE mapped_claims AS
  SELECT *, key_of(template, coalesce(org_unit_id_now, org_unit_or_object), coalesce(user_id_now, user_name)) AS key
  FROM (
    SELECT m.*, coalesce(id_in_token(org_unit_or_object), o.id) AS org_unit_id_now, coalesce(id_in_token(user_name), u.id) AS user_id_now
    FROM mapped_rows m LEFT JOIN stands_for o ON o.token = m.org_unit_or_object LEFT JOIN stands_for u ON u.token = m.user_name);
CREATE TABLE key_ids_before AS
  SELECT key, any_value(org_unit_id_now) AS org_unit_id, any_value(user_id_now) AS user_id FROM accepted_claims GROUP BY key;
CREATE TABLE key_ids AS
  SELECT key, any_value(org_unit_id_now) AS org_unit_id, any_value(user_id_now) AS user_id FROM mapped_claims GROUP BY key;
INSERT INTO key_ids FROM key_ids_before ANTI JOIN key_ids USING (key);
CREATE MACRO org_unit_id_to_keep(claim_key) AS (SELECT any_value(i.org_unit_id) FROM key_ids i WHERE i.key = claim_key);
CREATE MACRO user_id_to_keep(claim_key) AS (SELECT any_value(i.user_id) FROM key_ids i WHERE i.key = claim_key);
CREATE OR REPLACE VIEW accepted_keys AS
  SELECT w.kind_name, w.key, coalesce(i.org_unit_id, id_in_token(w.org_unit_or_object), o.id, w.org_unit_or_object) AS org_unit_or_object,
    -- A user's name may be somebody else's now.
    coalesce(i.user_id, id_in_token(w.user_name), u.id, w.user_name) AS user_name, w.last_snapshot_number
  FROM accepted w LEFT JOIN key_ids_before i USING (key)
    LEFT JOIN stands_for o ON o.token = w.org_unit_or_object LEFT JOIN stands_for u ON u.token = w.user_name;
-- A message that waited until its name was known may have overruled what was sent meanwhile, or was overruled.
INSERT INTO accepted BY NAME
  SELECT unnest(w), is_learnt AND is_about_enrollment(w.kind_name) AND NOT is_state_of_10() AS must_resend, is_learnt, row_standing FROM (
    SELECT any_value({'kind_name': kind_name, 'state_kind': state_kind, 'key': key, 'org_unit_or_object': org_unit_or_object,
        'user_name': user_name, 'wanted_value': wanted_value, 'data': data, 'removal': removal, 'template': template, 'source_row': source_row,
        'said_at_ms': said_at_ms, 'last_snapshot_number': last_snapshot_number}) AS w,
      bool_or(is_learnt) AS is_learnt, standing_of_all(row_standing) AS row_standing
    FROM accepted_claims GROUP BY key);
UPDATE accepted SET wanted_value = kind_name || ' null', data = NULL, must_resend = false
  WHERE key IN (SELECT key FROM accepted_claims GROUP BY key HAVING min(wanted_value) <> max(wanted_value));
INSERT INTO row_claims BY NAME
  SELECT kind_name, source_row, key FROM accepted_claims UNION SELECT kind_name, source_row, key FROM shared_row_claims;
INSERT INTO claims BY NAME
  SELECT kind_name, state_kind, key, org_unit_or_object, user_name, value_of(kind_name, template, org_unit_or_object, user_name, data) AS wanted_value,
    data, removal, template, source_row, CAST(said_at_ms AS BIGINT) AS said_at_ms, CAST(line AS BIGINT) AS line
  FROM mapped_claims;
CREATE TABLE present AS SELECT DISTINCT key, org_unit_or_object FROM claims WHERE kind_name NOT LIKE '%-remove';
INSERT INTO yielded_removals
  SELECT DISTINCT kind_name, key, org_unit_or_object, said_at_ms FROM claims SEMI JOIN present USING (key) ANTI JOIN present USING (key, org_unit_or_object)
  WHERE kind_name LIKE '%-remove' AND is_about_enrollment(kind_name);
DELETE FROM claims WHERE kind_name LIKE '%-remove' AND key IN (SELECT key FROM present);
DROP TABLE present;
-- Several messages of a kind may have been for one row.
INSERT INTO refused_rows (kind_name, source_row, org_unit_or_object, user_name, counts)
  SELECT m.kind_name, m.source_row, coalesce(id_in_token(m.org_unit_or_object), o.id, m.org_unit_or_object),
    coalesce(p.user_id, id_in_token(m.user_name), u.id, m.user_name), row_number() OVER (PARTITION BY m.kind_name, m.line) = 1
  FROM unmapped_rows m LEFT JOIN stands_for o ON o.token = m.org_unit_or_object LEFT JOIN stands_for u ON u.token = m.user_name
    LEFT JOIN (SELECT token, any_value(user_id) AS user_id FROM passed_names GROUP BY token) p ON p.token = m.user_name;
-- Whoever has the name of an accepted row since may be another user than the one who had it then, as the row itself cannot be used now.
UPDATE accepted SET must_resend = false
  WHERE is_learnt AND (kind_name, source_row) IN (SELECT (kind_name, source_row) FROM unmapped_rows) AND key NOT IN (SELECT key FROM claims);
CREATE TABLE doubtful_rows AS
  SELECT c.key, c.source_row, CASE WHEN x.name IS NULL THEN k.org_unit_id END AS undoubted_org_unit_id,
    CASE WHEN y.name IS NULL THEN k.user_id END AS undoubted_user_id,
    key_of(c.template, coalesce(undoubted_org_unit_id, c.org_unit_or_object), coalesce(undoubted_user_id, c.user_name)) AS key_by_name
  FROM claims c LEFT JOIN key_ids k USING (key)
    LEFT JOIN doubtful_names x ON x.field || '=' || x.name = c.org_unit_or_object
    LEFT JOIN doubtful_names y ON y.field || '=' || y.name = c.user_name
  WHERE (x.name IS NOT NULL OR y.name IS NOT NULL) AND key_by_name <> c.key;
INSERT INTO doubtful_claims SELECT key, source_row, key_by_name FROM doubtful_rows;
INSERT INTO key_ids SELECT DISTINCT key_by_name, undoubted_org_unit_id, undoubted_user_id FROM doubtful_rows;
CREATE VIEW file_grades AS
  SELECT c.key, c.state_kind, grade_named(coalesce(k.org_unit_id, c.org_unit_or_object), object_in(CAST(c.data AS JSON)),
      coalesce(k.user_id, c.user_name)) AS grade, said_in_data(c.data) AS said, c.said_at_ms, c.line
  FROM claims c LEFT JOIN key_ids k USING (key) WHERE c.kind_name = 'grade-push';
CREATE VIEW gone_grades AS
  SELECT w.key, grade_named(coalesce(k.org_unit_id, w.org_unit_or_object), object_in(CAST(w.data AS JSON)), coalesce(k.user_id, w.user_name)) AS grade,
    said_in_data(w.data) AS said, NULL::VARCHAR AS object
  FROM (FROM accepted ANTI JOIN claims USING (key)) w LEFT JOIN key_ids k USING (key) WHERE w.kind_name = 'grade-push';
DROP TABLE unmapped_rows; DROP TABLE mapped_rows; DROP TABLE mapped_claims; DROP TABLE accepted_rows; DROP TABLE accepted_claims;

-- name: count_moves
-- In: accepted; key_ids_before; stands_for. Out: names that stand for another thing than when they were accepted, and what was accepted by
-- them: claims, people and org units.
WITH moved AS (
  SELECT w.org_unit_or_object, w.user_name, coalesce(i.org_unit_id, w.org_unit_or_object) AS org_unit, coalesce(i.user_id, w.user_name) AS person,
    o.id AS org_unit_id_now, u.id AS user_id_now
  FROM accepted w JOIN key_ids_before i USING (key)
    LEFT JOIN stands_for o ON o.token = w.org_unit_or_object AND o.id <> i.org_unit_id
    LEFT JOIN stands_for u ON u.token = w.user_name AND u.id <> i.user_id
  WHERE o.id IS NOT NULL OR u.id IS NOT NULL)
SELECT count(DISTINCT CASE WHEN org_unit_id_now IS NOT NULL THEN org_unit_or_object END)
    + count(DISTINCT CASE WHEN user_id_now IS NOT NULL THEN user_name END),
  count(*), count(DISTINCT person), count(DISTINCT org_unit)
FROM moved;

-- name: find_last_values
-- In: claims; accepted; optional. Out: last_values, of fields to which a row gives no value any more. An update is identified by the first
-- setting that it changes: without that setting, its row is about the same.
CREATE TABLE last_values AS
  SELECT l.*, o.column_name, CAST(accepted_data AS JSON) -> ('$."' || field || '"') AS field_value FROM (
    SELECT c.key, c.state_kind, c.line, c.data, w.key AS accepted_key, w.template AS accepted_template, w.data AS accepted_data,
      unnest(json_keys(w.data)) AS field
    FROM claims c JOIN accepted w USING (kind_name, state_kind, key) WHERE c.wanted_value <> w.wanted_value AND w.data IS NOT NULL
    UNION ALL
    SELECT c.key, c.state_kind, c.line, c.data, w.key, w.template, w.data, unnest(json_keys(w.data)) AS field
    FROM (FROM claims ANTI JOIN accepted USING (key)) c JOIN accepted w USING (kind_name, state_kind, source_row)
    WHERE w.data IS NOT NULL AND c.org_unit_or_object IS NOT DISTINCT FROM w.org_unit_or_object
      AND c.user_name IS NOT DISTINCT FROM w.user_name AND split_part(c.template, '#', 1) = split_part(w.template, '#', 1)) l
    JOIN optional o USING (state_kind, field)
  WHERE NOT list_contains(json_keys(l.data), field);

-- name: list_emptied_fields
-- In: last_values. Out: of each field, data without and with it.
SELECT state_kind, field, any_value(data), any_value(accepted_data) FROM last_values GROUP BY state_kind, field;

-- name: keep_last_values
-- In: last_values. Out: claims; kept_data.
INSERT INTO kept_data SELECT accepted_key, any_value(data) FROM last_values GROUP BY accepted_key;
UPDATE claims SET key = accepted_key, template = accepted_template, data = left(data, -1) || more || '}',
    wanted_value = value_of(kind_name, template, org_unit_or_object, user_name, left(data, -1) || more || '}')
  FROM (
    SELECT key, line, any_value(accepted_key) AS accepted_key, any_value(accepted_template) AS accepted_template,
      string_agg(',' || to_json(field) || ':' || field_value, '' ORDER BY field) AS more
    FROM last_values GROUP BY key, line) l
  WHERE claims.key = l.key AND claims.line = l.line;

-- name: list_other_values
-- In: difference. Out: values that differ from the accepted ones: perhaps only in the order of their fields.
SELECT key, coalesce(withheld_value, wanted_value), accepted_value FROM difference
WHERE change IN ('updated', 'held') AND coalesce(withheld_value, wanted_value) <> accepted_value;

-- name: leave_same
-- In: same. Out: difference.
UPDATE difference SET change = CASE WHEN change = 'held' THEN 'kept' ELSE 'unchanged' END, withheld_value = NULL WHERE key IN (FROM same);

-- name: list_removals
-- In: difference. Out: messages that remove something.
SELECT key, removal FROM difference WHERE change = 'removed' AND removal IS NOT NULL;

-- name: count_rows
-- In: problems; difference; last_values; unnamed_rows; excluded_rows; row_claims; named_rows; claims. Out: the lines of a table that are
-- refused, held, emptied, and those whose values nothing names; drops for whose key nothing was there, in the file or before; lines that no
-- message is for though another row with their key is used. Every other unusable row is reported by its line, as is a row with a cell that no longer gives a value.
WITH told AS (SELECT DISTINCT line FROM problems WHERE line IS NOT NULL),
  withheld AS (SELECT DISTINCT line FROM difference WHERE is_claimed AND is_withheld(withheld_value, accepted_value)),
  unnamed AS (SELECT DISTINCT CAST(line AS BIGINT) AS line FROM unnamed_rows ANTI JOIN told ON told.line = CAST(unnamed_rows.line AS BIGINT)),
  drops AS (SELECT DISTINCT line FROM excluded_rows WHERE drops IS NOT NULL),
  ending AS (
    SELECT line FROM excluded_rows SEMI JOIN row_claims USING (source_row)
    UNION SELECT e.line FROM excluded_rows e JOIN named_rows n ON n.source_row = e.source_row AND n.line <> e.line),
  used AS (FROM claims WHERE line IS NOT NULL)
SELECT (SELECT count(*) FROM told ANTI JOIN withheld USING (line)), (SELECT count(*) FROM told SEMI JOIN withheld USING (line)),
  (SELECT count(DISTINCT line) FROM last_values ANTI JOIN told USING (line) ANTI JOIN unnamed USING (line) WHERE stays(field_value)),
  (SELECT count(*) FROM unnamed), (SELECT count(*) FROM drops ANTI JOIN ending USING (line)),
  (SELECT count(DISTINCT line) FROM (FROM excluded_rows WHERE drops IS NULL) SEMI JOIN used USING (source_row));

-- name: report_unnamed
-- In: unnamed_rows; $1: the name of the file. Out: problems: one line for each value, as one word in the mapping solves it. Values that are
-- many or long are no codes, and may be about people: they are not named.
INSERT INTO problems (file, column_name, problem, rows)
  SELECT $1, column_name, coalesce('"' || code || '" is named by no "when" of the mapping', 'has a value that no "when" of the mapping names')
    || count_text(count(DISTINCT line), min(CAST(line AS BIGINT)))
    || CASE WHEN code IS NULL THEN '' ELSE '. Add it to "is" or "not" there' END || ': what was accepted of these rows stays',
    count(DISTINCT line)
  FROM (
    SELECT *, CASE WHEN count(DISTINCT cell_value) OVER (PARTITION BY column_name) <= 30 AND length(cell_value) <= 40 THEN cell_value END AS code
    FROM unnamed_rows)
  GROUP BY column_name, code;

-- name: report_emptied
-- In: last_values; $1: the name of the file. Out: problems.
INSERT INTO problems (file, line, column_name, problem, is_refusal)
  SELECT $1, line, column_name,
    'is empty without quotation marks, so the platform keeps the value that was sent. To clear it, write "" there', false
  FROM last_values WHERE stays(field_value);

-- name: write_data
-- In: difference; key_ids; kept_data. Out: messages. What the platform keeps is not sent again.
CREATE VIEW messages AS
  SELECT d.*,
    with_ids(coalesce(t.data, d.data), d.org_unit_or_object, d.user_name, i.org_unit_id, i.user_id) AS sent_data,
    with_ids(CAST(CAST(d.removal AS JSON) -> 'data' AS VARCHAR), d.org_unit_or_object, d.user_name, i.org_unit_id, i.user_id) AS removal_data
  FROM difference d LEFT JOIN kept_data t ON t.key = d.key LEFT JOIN key_ids i ON i.key = d.key;
