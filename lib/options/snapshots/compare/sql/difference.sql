-- How what is wanted differs from what was accepted.

-- name: find_differing_keys
-- In: claims; accepted. Out: differing_keys: a small part.
CREATE TABLE differing_keys AS
  SELECT coalesce(c.key, w.key) AS key
  FROM (SELECT key, wanted_value FROM claims) c FULL JOIN (SELECT key, wanted_value, must_resend FROM accepted) w ON c.key = w.key
  WHERE c.key IS NULL OR w.key IS NULL OR w.must_resend OR c.wanted_value <> w.wanted_value;

-- name: find_older_claims
-- In: claims; accepted; differing_keys; $1: when the last accepted file was put into the bucket; a later time comes from a wrong clock. Out:
-- older_claims. A row that gives a role is compared with itself: another row may have given the accepted one. The id of other rows begins with
-- what the resource was to the SIS: a grade object may belong to another line item now, whose grades have other times. A time at midnight may
-- be a day alone, which orders nothing within it.
INSERT INTO older_claims
  SELECT c.kind_name, c.key, c.line, k.file, k.time_column, k.older_problem
  FROM (FROM claims SEMI JOIN differing_keys USING (key)) c JOIN (FROM accepted SEMI JOIN differing_keys USING (key)) w USING (key)
    JOIN kinds k ON k.state_kind = c.state_kind
  WHERE CASE WHEN is_about_enrollment(c.kind_name) THEN c.source_row = w.source_row
      ELSE split_part(c.source_row, chr(31), 1) = split_part(w.source_row, chr(31), 1) END AND c.wanted_value <> w.wanted_value
    AND c.said_at_ms < w.said_at_ms AND c.said_at_ms <= $1
    AND NOT (k.has_days AND is_midnight(c.said_at_ms) AND day_number(c.said_at_ms) = day_number(w.said_at_ms));

-- name: hold_by_older_claims
-- In: older_claims. Out: held_keys; problems.
INSERT INTO held_keys SELECT key FROM older_claims;
INSERT INTO problems (file, line, column_name, problem)
  SELECT file, line, time_column, older_problem FROM older_claims WHERE line IS NOT NULL;

-- name: find_unusable_rows
-- In: refused_rows; refused_before; row_claims; $1: the number of this snapshot. Out: unusable_rows.
INSERT INTO unusable_rows
  SELECT r.kind_name, r.source_row, r.org_unit_or_object, r.user_name, coalesce(w.refused_since, $1) AS refused_since,
    k.source_row IS NOT NULL AS is_known, r.is_in_file
  FROM (
    -- Aggregates of texts cannot be moved out of memory.
    FROM refused_rows
    QUALIFY row_number() OVER (
      PARTITION BY kind_name, source_row ORDER BY is_in_file DESC, org_unit_or_object NULLS LAST, user_name NULLS LAST) = 1) r
    LEFT JOIN (
      SELECT kind_name, source_row, min(refused_since) AS refused_since FROM refused_before GROUP BY kind_name, source_row) w
      USING (kind_name, source_row)
    LEFT JOIN (SELECT DISTINCT kind_name, source_row FROM row_claims) k USING (kind_name, source_row);

-- name: hold_by_unusable_rows
-- In: unusable_rows; meant_rows; meanings_before; row_claims; outdated_row_claims; accepted_keys; claims; claims_per_key. Out:
-- refused_meanings; held_keys, what unusable rows may mean, but for those of earlier exports if a row of this delta claims it;
-- missing_but_kept, what no row claims, if it is missing for no longer than such a row is refused.
INSERT INTO refused_meanings
  SELECT kind_name, source_row, org_unit_or_object, user_name, refused_since, is_known FROM meant_rows
  UNION SELECT m.kind_name, m.source_row, m.org_unit_or_object, m.user_name, r.refused_since, r.is_known
  FROM meanings_before m JOIN unusable_rows r ON r.kind_name = m.kind_name AND r.source_row = m.source_row
    AND which_of(r.org_unit_or_object) = which_of(m.org_unit_or_object) AND which_of(r.user_name) = which_of(m.user_name);
CREATE TABLE held_by_rows AS
  SELECT b.key, r.is_in_file FROM row_claims b JOIN unusable_rows r USING (kind_name, source_row)
    ANTI JOIN outdated_row_claims n ON n.kind_name = r.kind_name AND n.source_row = r.source_row AND n.key = b.key
  UNION SELECT w.key, r.is_in_file FROM accepted_keys w JOIN meant_rows r
    ON w.kind_name = r.kind_name AND w.org_unit_or_object = r.org_unit_or_object AND w.user_name = r.user_name;
CREATE TABLE held_by_rows_here AS SELECT DISTINCT key FROM held_by_rows WHERE is_in_file;
INSERT INTO held_keys FROM held_by_rows_here;
INSERT INTO held_keys
  SELECT DISTINCT key FROM held_by_rows SEMI JOIN (FROM claims WHERE line IS NULL) USING (key) ANTI JOIN (FROM claims_per_key WHERE rows > 0) USING (key);
INSERT INTO missing_but_kept
  WITH missing AS (FROM accepted_keys ANTI JOIN claims USING (key) ANTI JOIN held_keys USING (key)),
    incomplete_rows AS (
      SELECT kind_name, org_unit_or_object, user_name, max(refused_since) AS refused_since FROM refused_meanings
      WHERE NOT is_known AND (org_unit_or_object IS NULL OR user_name IS NULL) GROUP BY kind_name, org_unit_or_object, user_name)
  SELECT m.key FROM missing m JOIN row_claims b USING (key)
    JOIN unusable_rows r ON r.kind_name = b.kind_name AND r.source_row = b.source_row
    ANTI JOIN outdated_row_claims n ON n.kind_name = b.kind_name AND n.source_row = b.source_row AND n.key = m.key
  UNION SELECT m.key FROM missing m JOIN refused_meanings r
    ON r.kind_name = m.kind_name AND r.org_unit_or_object = m.org_unit_or_object AND r.user_name = m.user_name
  UNION SELECT m.key FROM missing m JOIN incomplete_rows v ON v.kind_name = m.kind_name
    AND v.org_unit_or_object = m.org_unit_or_object AND v.user_name IS NULL AND v.refused_since > m.last_snapshot_number
  UNION SELECT m.key FROM missing m JOIN incomplete_rows v ON v.kind_name = m.kind_name
    AND v.user_name = m.user_name AND v.org_unit_or_object IS NULL AND v.refused_since > m.last_snapshot_number
  UNION SELECT m.key FROM missing m JOIN incomplete_rows v ON v.kind_name = m.kind_name
    AND v.org_unit_or_object IS NULL AND v.user_name IS NULL AND v.refused_since > m.last_snapshot_number;
-- The row by which it was accepted last is not here: it is not the refused one, or another has claimed it since that is refused.
INSERT INTO missing_but_kept
  SELECT w.key FROM accepted w SEMI JOIN held_by_rows_here USING (key) ANTI JOIN claims USING (key) ANTI JOIN claims_per_key USING (key)
    ANTI JOIN pending_results USING (key)
    ANTI JOIN unusable_rows r ON r.is_in_file AND r.kind_name = w.kind_name AND r.source_row = w.source_row
      AND r.refused_since > w.last_snapshot_number;
INSERT INTO held_keys FROM missing_but_kept;

-- name: compare_what_changed
-- In: claims; accepted; differing_keys; held_keys. Out: what is compared, by views: what differs or is held. unchanged_claims: the rest, which is
-- only in claims.
CREATE TABLE changed_keys AS SELECT key FROM differing_keys UNION SELECT key FROM held_keys;
CREATE VIEW unchanged_claims AS FROM claims ANTI JOIN changed_keys USING (key);
CREATE VIEW compared_claims AS FROM claims SEMI JOIN changed_keys USING (key);
CREATE VIEW compared_accepted AS FROM accepted SEMI JOIN changed_keys USING (key);

-- name: compare_all
-- The same, if nothing was accepted before.
CREATE VIEW unchanged_claims AS FROM claims LIMIT 0;
CREATE VIEW compared_claims AS FROM claims;
CREATE VIEW compared_accepted AS FROM accepted;

-- name: compare
-- In: compared_claims; compared_accepted; held_keys; older_claims; $1: when the file was put into the bucket; $2: from when on a time of the SIS
-- counts. It must be later than everything sent before, for any resource: a name may have been another person's, or the person had another
-- name. Out: difference. withheld_value: what a row wants although the accepted value stays.
CREATE TABLE difference AS
  SELECT * EXCLUDE (was_accepted, is_held, must_resend, is_as_before),
    CASE WHEN was_accepted AND is_held
        THEN CASE WHEN must_resend THEN 'updated' WHEN is_withheld(withheld_value, accepted_value) THEN 'held' ELSE 'kept' END
      WHEN NOT is_claimed THEN 'removed'
      WHEN NOT was_accepted THEN 'created'
      WHEN must_resend OR wanted_value <> accepted_value THEN 'updated'
      ELSE 'unchanged' END AS change,
    was_accepted AND must_resend AND (is_claimed OR is_held) AS is_resent,
    CASE WHEN is_claimed AND said_at_ms BETWEEN $2 AND $1 AND NOT must_resend
        AND NOT (is_midnight(said_at_ms) AND state_kind IN (SELECT state_kind FROM kinds WHERE has_days))
      THEN said_at_ms ELSE $1 END AS time_ms
  FROM (
    SELECT coalesce(c.key, w.key) AS key, coalesce(c.kind_name, w.kind_name) AS kind_name,
      -- What is held or gone stays as it was.
      c.key IS NULL OR (w.key IS NOT NULL AND h.key IS NOT NULL) AS is_as_before,
      CASE WHEN is_as_before THEN w.state_kind ELSE c.state_kind END AS state_kind,
      CASE WHEN is_as_before THEN w.org_unit_or_object ELSE c.org_unit_or_object END AS org_unit_or_object,
      CASE WHEN is_as_before THEN w.user_name ELSE c.user_name END AS user_name,
      CASE WHEN is_as_before THEN w.org_unit_ref ELSE c.org_unit_ref END AS org_unit_ref,
      CASE WHEN is_as_before THEN w.wanted_value ELSE c.wanted_value END AS wanted_value,
      CASE WHEN is_as_before THEN w.data ELSE c.data END AS data,
      CASE WHEN is_as_before THEN w.removal ELSE c.removal END AS removal,
      CASE WHEN is_as_before THEN w.template ELSE c.template END AS template,
      CASE WHEN is_as_before THEN w.source_row ELSE c.source_row END AS source_row,
      CASE WHEN is_as_before THEN w.said_at_ms ELSE c.said_at_ms END AS said_at_ms,
      CASE WHEN is_as_before THEN w.source_id_hash ELSE c.source_id_hash END AS source_id_hash,
      c.key IS NOT NULL AS is_claimed, w.key IS NOT NULL AS was_accepted, h.key IS NOT NULL AS is_held,
      coalesce(w.must_resend, false) AS must_resend,
      w.wanted_value AS accepted_value, w.said_at_ms AS accepted_at_ms, w.row_standing AS accepted_standing,
      w.org_unit_or_object AS accepted_org_unit_or_object, w.last_snapshot_number, c.line,
      CASE WHEN w.key IS NOT NULL AND h.key IS NOT NULL AND o.key IS NULL THEN c.wanted_value END AS withheld_value
    FROM compared_claims c FULL JOIN compared_accepted w ON c.key = w.key
      LEFT JOIN (SELECT DISTINCT key FROM held_keys) h ON h.key = coalesce(c.key, w.key)
      LEFT JOIN (SELECT DISTINCT key FROM older_claims) o ON o.key = c.key);

-- name: count_doubled_keys
-- In: difference. Out: by kind, the resources that were accepted twice. Claims are unique, and an unchanged one was written twice.
SELECT kind_name, count(*) FROM (SELECT any_value(kind_name) AS kind_name FROM difference GROUP BY key HAVING count(*) > 1)
GROUP BY kind_name ORDER BY kind_name;

-- name: put_removals_first
-- In: difference; $1: when the file was put into the bucket. Out: difference. A removal and a creation may concern one user by two names: the
-- removal must not be the newer one.
UPDATE difference SET time_ms = $1
  WHERE change <> 'removed' AND kind_name IN (
    SELECT d.kind_name FROM difference d WHERE d.change = 'removed' AND removal_function(d.state_kind, d.removal) IS NOT NULL);
