-- What was accepted of an export, by the current names and by what it stood for then: what a name stands for now is something else, unless it
-- was unknown.

-- name: count_doubled
-- In: the state. Out: what it has twice. Each record and line item must be known once.
SELECT what, count(*) FROM (
  SELECT 'names' AS what FROM state_names GROUP BY record_type, source_id HAVING count(*) > 1
  UNION ALL SELECT 'line items' FROM state_line_items GROUP BY source_id HAVING count(*) > 1
  UNION ALL SELECT 'grade objects' FROM state_grade_objects GROUP BY object_id HAVING count(*) > 1) GROUP BY what ORDER BY what;

-- name: find_claims
-- In: the state; renamed; former_ids; merged_names; items; items_before; snapshot_number(); is_state_of_10(). Out:
-- accepted_as_named, a view. data: the data of a grade whose line item is gone. must_resend: it is sent again, as it was sent by a name that
-- stood for nothing, and has another name now; or because its name is known now (is_learnt): the message that waited for that may have
-- overruled what was sent meanwhile, or was overruled. comments_left: while the grade object exists, the platform keeps the comments of
-- grades that the SIS has removed: wanted_value is the last grade.
CREATE TABLE comments_left AS
  SELECT key, any_value(org_unit_or_object) AS org_unit_or_object, any_value(user_name) AS user_name, min(wanted_value) AS wanted_value FROM (
    SELECT d.org_unit_or_object, coalesce(u.new_name, d.user_name) AS user_name,
      grade_key(d.org_unit_or_object, ref_of(coalesce(d.user_id, p.platform_id, u.platform_id), coalesce(u.new_name, d.user_name))) AS key, d.wanted_value
    FROM state_comments d LEFT JOIN renamed u ON u.record_type = 'user' AND u.old_name = d.user_name
      LEFT JOIN former_ids p ON p.record_type = 'user' AND p.name = CASE WHEN d.user_id IS NULL THEN d.user_name END)
  GROUP BY key;
CREATE MACRO org_unit_then(org_unit_ref, platform_id, item_org_unit_ref) AS
  CASE WHEN id_in_ref(org_unit_ref) IS NULL THEN ref_of(platform_id, coalesce(org_unit_ref, item_org_unit_ref)) ELSE org_unit_ref END;
CREATE VIEW accepted_as_named AS
  SELECT * EXCLUDE (was_named, org_unit_id, user_id, new_org_unit_name, new_user_name, is_merged, has_moved)
      REPLACE (is_learnt AND NOT was_named AND is_enrollment(state_kind) AND NOT is_state_of_10() AS is_learnt),
    key_of_kind(state_kind, CASE WHEN is_enrollment(state_kind) THEN ref_of(org_unit_id, org_unit_or_object) ELSE org_unit_or_object END,
      ref_of(user_id, user_name)) AS key,
    was_named OR (is_learnt AND is_enrollment(state_kind) AND NOT is_state_of_10()) AS must_resend
  FROM (SELECT *, (org_unit_id IS NULL AND new_org_unit_name IS NOT NULL)
      OR (user_id IS NULL AND (new_user_name IS NOT NULL OR is_merged OR field_of('user') <> field_before('user'))) OR has_moved AS was_named
  FROM (
    SELECT CASE WHEN is_enrollment(d.state_kind) THEN 'enrollments' ELSE 'results' END AS kind_name, d.state_kind,
      CASE WHEN is_enrollment(d.state_kind) THEN coalesce(c.new_name, d.org_unit_or_object) ELSE d.org_unit_or_object END AS org_unit_or_object,
      coalesce(u.new_name, d.user_name) AS user_name,
      org_unit_then(d.org_unit_ref, q.platform_id, i.org_unit_ref) AS org_unit_ref,
      coalesce(d.org_unit_id, o.platform_id, c.platform_id) AS org_unit_id, coalesce(d.user_id, p.platform_id, u.platform_id) AS user_id,
      (d.org_unit_id IS NULL AND coalesce(o.platform_id, c.platform_id) IS NOT NULL)
        OR (d.user_id IS NULL AND coalesce(p.platform_id, u.platform_id) IS NOT NULL) AS is_learnt,
      c.new_name AS new_org_unit_name, u.new_name AS new_user_name, m.name IS NOT NULL AS is_merged,
      d.wanted_value, d.source_row, d.said_at_ms, d.source_id_hash,
      coalesce(d.last_snapshot_number, snapshot_number()) AS last_snapshot_number,
      CASE WHEN is_grade(d.state_kind) AND n.object IS NULL THEN without_user(coalesce(
        grade_data(i.org_unit_ref, i.title, i.former_titles, i.out_of, d.user_name, d.wanted_value, ''), with_user(d.data, d.user_name)))
      END AS data,
      (is_grade(d.state_kind) AND n.org_unit_ref <> org_unit_then(d.org_unit_ref, q.platform_id, i.org_unit_ref)) IS TRUE AS has_moved,
      d.row_standing,
      coalesce(c.active, 1) = 1 AND coalesce(u.active, 1) = 1 AS stays, key_of_kind(d.state_kind, d.org_unit_or_object, d.user_name) AS old_key
    FROM (FROM state_wanted WHERE state_kind IN ('2', '3')) d
      LEFT JOIN renamed c ON c.record_type = 'class' AND c.old_name = CASE WHEN is_enrollment(d.state_kind) THEN d.org_unit_or_object END
      LEFT JOIN renamed u ON u.record_type = 'user' AND u.old_name = d.user_name LEFT JOIN merged_names m ON m.name = d.user_name
      LEFT JOIN former_ids o ON o.record_type = 'class'
        AND o.name = CASE WHEN is_enrollment(d.state_kind) AND d.org_unit_id IS NULL THEN d.org_unit_or_object END
      LEFT JOIN former_ids p ON p.record_type = 'user' AND p.name = CASE WHEN d.user_id IS NULL THEN d.user_name END
      LEFT JOIN former_ids q ON q.record_type = 'class' AND q.name = d.org_unit_ref
      LEFT JOIN items n ON n.object = CASE WHEN is_grade(d.state_kind) THEN d.org_unit_or_object END
      LEFT JOIN items_before i ON i.object = CASE WHEN is_grade(d.state_kind) THEN d.org_unit_or_object END));

-- name: load_claims
-- In: accepted_as_named. Out: accepted; row_claims. Two may be one only if something is known by another name, or was not known: here, nothing
-- is.
INSERT INTO accepted BY NAME SELECT * EXCLUDE (old_key, stays) FROM accepted_as_named;
DROP TABLE row_claims;
CREATE VIEW row_claims AS SELECT kind_name, source_row, key, source_id_hash FROM accepted UNION ALL FROM shared_row_claims;

-- name: load_merged_claims
-- In: accepted_as_named. Out: the same. If two users or classes become one, the state on the platform is unknown: the other may have something
-- there that is no longer wanted. So everything of the remaining name (merged_names) is sent again; the newest grade is held, and the role by
-- the remaining name, or else that of the record that stays. No row is older than a role of which that is unknown.
CREATE TABLE accepted_claims AS FROM accepted_as_named;
CREATE TABLE merged AS SELECT key FROM accepted_claims GROUP BY key HAVING count(*) > 1;
INSERT INTO accepted BY NAME SELECT * EXCLUDE (old_key, stays) FROM accepted_claims ANTI JOIN merged USING (key);
INSERT INTO accepted BY NAME
  SELECT any_value(kind_name) AS kind_name, key, any_value(state_kind) AS state_kind, any_value(org_unit_or_object) AS org_unit_or_object,
    any_value(user_name) AS user_name, any_value(org_unit_ref) AS org_unit_ref, arg_max(wanted_value, newest) AS wanted_value,
    arg_max(source_row, newest) AS source_row, arg_max(source_id_hash, newest) AS source_id_hash,
    CASE WHEN is_grade(any_value(state_kind)) OR min(wanted_value) = max(wanted_value) THEN max(said_at_ms) END AS said_at_ms,
    max(last_snapshot_number) AS last_snapshot_number, arg_max(data, newest) AS data,
    bool_or(must_resend) OR min(wanted_value) <> max(wanted_value) AS must_resend, bool_and(is_learnt OR NOT must_resend) AS is_learnt, standing_of_all(row_standing) AS row_standing
  FROM (
    SELECT *, (CASE WHEN is_grade(state_kind) THEN coalesce(said_at_ms, 0) ELSE 0 END, key = old_key, stays, wanted_value) AS newest
    FROM accepted_claims SEMI JOIN merged USING (key))
  GROUP BY key;
INSERT INTO row_claims SELECT kind_name, source_row, key, source_id_hash FROM accepted_claims;
INSERT INTO row_claims
  SELECT s.kind_name, s.source_row, coalesce(w.key, s.key), s.source_id_hash
  FROM shared_row_claims s LEFT JOIN accepted_claims w ON w.old_key = s.key AND w.key <> s.key;
DROP TABLE accepted_claims; DROP TABLE merged;

-- name: list_messages
-- In: the state; items_before. Out: what was accepted, as the data of its messages.
SELECT d.state_kind AS kind,
  message_data(d.state_kind, ref_of(d.org_unit_id, d.org_unit_or_object), ref_of(d.user_id, d.user_name), d.wanted_value, i.org_unit_ref, i.title,
    i.former_titles, i.out_of, '', d.data) AS data
FROM state_wanted d LEFT JOIN items_before i ON i.object = CASE WHEN is_grade(d.state_kind) THEN d.org_unit_or_object END
WHERE NOT is_unsent(d.row_standing);
