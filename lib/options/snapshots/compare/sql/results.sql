-- The rows of results.csv: which of them give a grade, and what a delta does not name.

-- name: judge
-- In: file_rows; names; items; dropped_ms(). Out: read_rows; known_places, which unusable rows may mean. Only a score that is fully graded is
-- sent; the others are the values of OneRoster. A time without a zone may be of any place: that it is later than the file is not reported.
-- Reading and joining in one statement needs more memory than there is for 5,000,000 rows.
CREATE TABLE results_read AS
  SELECT line, hash_of_id(nullif(id, '')) AS source_id_hash, coalesce(item_source_id, '') AS item_source_id,
    coalesce(user_source_id, '') AS user_source_id, word_in(status) AS status, word_in(graded) AS graded, trimmed(score) AS score,
    coalesce(words, '') AS words, coalesce(comments, '') AS comments, trimmed(changed) AS changed
  FROM file_rows;
CREATE TABLE read_rows AS
  SELECT line, source_id_hash, item_source_id AS class_or_item_id, user_source_id, status, graded, source_row, object AS org_unit_or_object,
    user_name, user_ref, problem, no_later(changed_ms) AS said_at_ms, changed_ms > dropped_ms() + 14 * 3600000 AS is_future,
    CASE WHEN problem IS NULL AND NOT is_gone(status) AND graded = 'fully graded' THEN
      CASE WHEN points IS NOT NULL THEN numeric_grade(points, comments) ELSE text_grade(words, comments) END END AS wanted_value
  FROM (
    SELECT *, time_of(instant, day, clock) AS changed_ms,
      CASE WHEN has_item AND has_user THEN r.item_source_id || chr(31) || r.user_source_id
        ELSE row_without_id(concat_ws(chr(31), r.item_source_id, r.user_source_id, r.score)) END AS source_row,
      CASE WHEN is_gone(r.status) AND r.source_id_hash IS NOT NULL THEN NULL
        WHEN NOT has_item THEN ['lineItemSourcedId', 'is not an id']
        WHEN NOT has_user THEN ['studentSourcedId', 'is not an id']
        WHEN is_gone(r.status) THEN NULL
        WHEN r.status NOT IN ('', 'active') THEN problem_of_status()
        WHEN r.graded NOT IN ('exempt', 'fully graded', 'not submitted', 'partially graded', 'submitted')
          THEN ['scoreStatus', 'must be one of exempt, fully graded, not submitted, partially graded, submitted']
        WHEN r.graded <> 'fully graded' THEN NULL
        WHEN r.changed <> '' AND instant IS NULL AND day IS NULL
          THEN problem_of_day('dateLastModified', r.changed, 'must be a time such as 2026-01-31T09:30:00Z')
        WHEN r.object IS NULL THEN ['lineItemSourcedId', 'names no line item that can be used', 'notInPackage']
        WHEN user_problem IS NOT NULL THEN ['studentSourcedId', user_problem, user_result]
        WHEN points IS NULL AND r.score <> '' THEN problem_of_number('score', r.score)
        WHEN r.score = '' AND r.words = '' THEN ['score', 'is empty, and textScore is empty, too']
        WHEN r.score = '' AND has_control_in_text(r.words) THEN ['textScore', 'has control characters']
        WHEN has_control_in_text(r.comments) THEN ['comment', 'has control characters'] END AS problem
    FROM (
      SELECT *, CASE WHEN instant IS NULL THEN day_of(changed) END AS day,
        CASE WHEN changed <> '' AND instant IS NULL THEN clock_in(changed) END AS clock
      FROM (
        SELECT r.*, i.object, is_known_or_id(i.id IS NOT NULL, r.item_source_id) AS has_item,
          is_known_or_id(user_problem IS NULL, r.user_source_id) AS has_user, number_of(score) AS points, instant_in(changed) AS instant
        FROM with_user_names('results_read') r LEFT JOIN items i ON i.id = r.item_source_id AND NOT i.is_in_doubt)) r);
DROP TABLE results_read;
CREATE OR REPLACE VIEW known_places AS SELECT id, object AS name, org_unit_code AS course FROM items;

-- name: refuse_contradictions
-- In: read_rows, of a delta; row_claims; accepted. Out: read_rows. A delta may delete a result by its sourcedId alone. A file need not give
-- that.
UPDATE read_rows SET source_row = b.source_row FROM row_claims b
  WHERE starts_with(read_rows.source_row, '#') AND is_gone(read_rows.status) AND problem IS NULL AND b.kind_name = 'results'
    AND b.source_id_hash = read_rows.source_id_hash;
UPDATE read_rows
  SET problem = ['sourcedId', 'was not given for all accepted results. To delete this one, give lineItemSourcedId and studentSourcedId, too']
  WHERE starts_with(source_row, '#') AND is_gone(status) AND problem IS NULL
    AND EXISTS (FROM accepted WHERE is_grade(state_kind) AND source_id_hash IS NULL);
UPDATE read_rows
  SET problem = ['lineItemSourcedId', (SELECT any_value(twice) FROM kinds WHERE kind_name = 'results')], wanted_value = NULL
  WHERE problem IS NULL AND source_row IN (
    SELECT source_row FROM read_rows WHERE problem IS NULL GROUP BY source_row
    HAVING bool_or(is_gone(status)) AND NOT bool_and(is_gone(status)));

-- name: claim
-- In: read_rows; row_claims. Out: claims; pending_results; held_keys; problems. Beside a score that is fully graded, that one counts.
INSERT INTO problems (file, column_name, problem, rows, is_refusal)
  SELECT 'results.csv', 'dateLastModified',
    'is later than when the file was put into the bucket, and is replaced by that time' || count_text(count(*), min(line)), count(*), false
  FROM read_rows WHERE is_future AND wanted_value IS NOT NULL HAVING count(*) > 0;
INSERT INTO pending_results
  SELECT coalesce(k.key, grade_key(r.org_unit_or_object, r.user_ref)), r.source_row
  FROM read_rows r LEFT JOIN row_claims k ON k.kind_name = 'results' AND k.source_row = r.source_row
  WHERE r.problem IS NULL AND NOT is_gone(r.status) AND r.graded <> 'fully graded';
INSERT INTO claims BY NAME
  SELECT 'results' AS kind_name, '3' AS state_kind, grade_key(org_unit_or_object, user_ref) AS key, org_unit_or_object, user_name, wanted_value,
    source_row, said_at_ms, source_id_hash, line
  FROM read_rows WHERE wanted_value IS NOT NULL;
INSERT INTO held_keys SELECT p.key FROM pending_results p ANTI JOIN claims c ON c.key = p.key WHERE p.key IS NOT NULL;

-- name: count_fates
-- In: read_rows. Out: by row_result, the rows that claim nothing.
-- Few rows end something: those that have their key are looked for by them.
WITH used_keys AS (
  SELECT DISTINCT source_row FROM (FROM read_rows WHERE problem IS NULL AND NOT is_gone(status))
    SEMI JOIN (FROM read_rows WHERE problem IS NULL AND is_gone(status)) USING (source_row))
SELECT CASE WHEN problem IS NULL AND is_gone(status) AND source_row IN (FROM used_keys) THEN 'keyUsed'
    ELSE result_of_row(problem, status, 'notGraded') END AS row_result, count(*)
FROM read_rows WHERE wanted_value IS NULL GROUP BY row_result;

-- name: remember_rows
-- In: read_rows; the variable is_bulk. Out: results_seen, in little memory: results that a whole export has, or that a delta deletes.
CREATE TABLE results_seen AS
  SELECT hash(source_row) AS hash FROM read_rows
  WHERE CASE WHEN getvariable('is_bulk') THEN NOT is_gone(status) ELSE is_gone(status) AND problem IS NULL END;

-- name: find_outdated
-- In: refused_rows; row_claims; accepted; items. Out: outdated_row_claims. A grade object that has passed to another line item has only that
-- one's grades.
INSERT INTO outdated_row_claims
  SELECT DISTINCT r.kind_name, r.source_row, b.key FROM refused_rows r JOIN row_claims b USING (kind_name, source_row) JOIN accepted w USING (key)
    JOIN items i ON i.object = w.org_unit_or_object
  WHERE r.kind_name = 'results' AND i.id <> split_part(r.source_row, chr(31), 1);

-- name: claim_still
-- In: read_rows, of a delta; row_claims; accepted; items; names. Out: claims; held_keys; unusable_still. What a delta does not name stays
-- as it was. A row says what is known of its line item and user as they were accepted last: what it said before may be held for another
-- row. Rows without a claim may be gone since a whole export, and so hold only what no row claims.
CREATE VIEW last_keys AS
  SELECT k.source_row, grade_key(i.object, ref_of(n.platform_id, coalesce(m.new_name, n.name))) AS key
  FROM (SELECT DISTINCT source_row FROM row_claims WHERE kind_name = 'results') k
    JOIN items_before i ON i.id = split_part(k.source_row, chr(31), 1)
    JOIN former n ON n.record_type = 'user' AND n.id = split_part(k.source_row, chr(31), 2)
    LEFT JOIN renamed m ON m.record_type = 'user' AND m.old_name = n.name;
CREATE VIEW results_kept AS
  SELECT k.key, k.source_row, w.wanted_value, w.said_at_ms, k.source_id_hash, split_part(k.source_row, chr(31), 1) AS item_source_id,
    split_part(k.source_row, chr(31), 2) AS user_source_id
  FROM row_claims k JOIN accepted w USING (key)
    ANTI JOIN (SELECT source_row FROM read_rows WHERE problem IS NULL) x ON x.source_row = k.source_row
    LEFT JOIN last_keys o ON o.source_row = k.source_row
  WHERE k.kind_name = 'results'
  QUALIFY k.key = o.key OR NOT coalesce(bool_or(k.key = o.key) OVER (PARTITION BY k.source_row), false);
CREATE TABLE results_still AS
  SELECT r.*, i.object AS org_unit_or_object
  FROM with_user_names('results_kept') r LEFT JOIN items i ON i.id = r.item_source_id AND NOT i.is_in_doubt;
INSERT INTO claims BY NAME
  SELECT 'results' AS kind_name, '3' AS state_kind, grade_key(org_unit_or_object, user_ref) AS key, org_unit_or_object, user_name, wanted_value,
    source_row, said_at_ms, source_id_hash
  FROM results_still WHERE org_unit_or_object IS NOT NULL AND user_name IS NOT NULL;
INSERT INTO held_keys
  SELECT s.key FROM results_still s ANTI JOIN claims c ON c.key = s.key WHERE s.org_unit_or_object IS NULL OR s.user_name IS NULL;
-- The grades of a user who is gone stay.
INSERT INTO unusable_still
  SELECT source_row, item_source_id, user_source_id, [user_problem, user_result] FROM results_still
  WHERE org_unit_or_object IS NOT NULL AND user_name IS NULL AND user_result IS DISTINCT FROM 'notInPackage';

-- name: forget_gone
-- In: results_seen; the variable is_bulk. Out: kept_row_claims; difference. A later delta would take results that the SIS has no more, and whose
-- grades stay (gone), for rows that it does not name, and send what they claimed. Only their line item is kept, which no row has as its id:
-- by that, times can be compared.
CREATE TABLE gone AS
  WITH kept AS MATERIALIZED (SELECT DISTINCT source_row, hash(source_row) AS hash FROM kept_row_claims WHERE kind_name = 'results')
  SELECT source_row FROM kept WHERE (hash IN (FROM results_seen SEMI JOIN kept USING (hash))) <> getvariable('is_bulk');
UPDATE kept_row_claims SET source_row = split_part(g.source_row, chr(31), 1) || chr(31) FROM gone g
  WHERE kept_row_claims.kind_name = 'results' AND kept_row_claims.source_row = g.source_row;
UPDATE difference SET source_row = split_part(g.source_row, chr(31), 1) || chr(31) FROM gone g
  WHERE difference.kind_name = 'results' AND difference.source_row = g.source_row;
