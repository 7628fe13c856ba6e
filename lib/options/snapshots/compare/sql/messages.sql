-- The messages of the difference, and what the next comparison must know.

-- name: list_kinds
-- In: difference. Out: the kinds that have messages, in their order.
SELECT DISTINCT state_kind FROM difference WHERE change IN ('created', 'updated', 'removed') ORDER BY state_kind;

-- name: write_events
-- In: messages, the difference with the data of its messages; kinds; replacements; the variables state_kind, snapshot_id, first_sequence,
-- is_trial and events_path. Out: a file with one event of this kind in each line; JSON text holds no line break. Its id is that of its kind
-- and key. Removals are older than creations of the same snapshot: two names may be one user.
COPY (
  SELECT CASE WHEN getvariable('is_trial') THEN '-' ELSE
      concat('{"specversion":"1.0","id":"', getvariable('snapshot_id'), '/', left(sha256(state_kind || chr(9) || key), 20),
        '","source":"/sis-relay/snapshots","type":"sis.', function_name,
        '.v1","time":"', strftime(make_timestamp(time_ms * 1000), '%Y-%m-%dT%H:%M:%S.%gZ'),
        '","sequence":"', CASE WHEN is_first THEN getvariable('first_sequence') ELSE getvariable('first_sequence') + 1 END,
        '","data":', data, '}') END
  FROM (
    SELECT m.state_kind, m.key, m.change = 'removed' AND coalesce(v.function_name, 'enrollment-remove') = 'enrollment-remove' AS is_first,
      m.time_ms,
      CASE WHEN v.key IS NOT NULL THEN v.function_name
        WHEN m.change = 'removed' THEN removal_function(m.state_kind, m.removal) ELSE k.function_name END AS function_name,
      CASE WHEN v.key IS NOT NULL THEN v.data WHEN m.change = 'removed' THEN m.removal_data ELSE m.sent_data END AS data
    FROM messages m JOIN kinds k USING (state_kind) LEFT JOIN replacements v ON v.key = m.key
    WHERE m.state_kind = getvariable('state_kind') AND m.change IN ('created', 'updated', 'removed'))
  WHERE function_name IS NOT NULL
) TO (getvariable('events_path')) (FORMAT csv, DELIMITER '\t', QUOTE '', ESCAPE '', HEADER false);

-- name: keep_claims
-- In: difference; unchanged_claims; row claims; repeated_role_claims; disputed_grades; endings; unusable_rows; the state before. Out: what the next
-- state has of claims, by views. The reader of a file says by macros what follows from the rest, and which of the platform's ids are in a key:
-- key_to_keep(key), wanted_value_to_keep(wanted_value), org_unit_id_to_keep(claim_key) and user_id_to_keep(claim_key). Other files are
-- compared with each row by itself; what stays for a row that cannot be used is ended by no other file, and is sent again afterwards if another
-- file had it, too.
UPDATE difference SET accepted_standing = 'weighed'
  WHERE change IN ('kept', 'held') AND enrollment_in(kind_name, key) IN (SELECT enrollment FROM other_claims);
CREATE VIEW wanted_to_keep AS
  SELECT d.* REPLACE (key_to_keep(key) AS key, wanted_value_to_keep(wanted_value) AS wanted_value),
    org_unit_id_to_keep(d.key) AS org_unit_id, user_id_to_keep(d.key) AS user_id,
    CASE WHEN d.key IN (SELECT key FROM repeated_role_claims) THEN 'several' WHEN d.key IN (SELECT key FROM endings) THEN 'ending'
      WHEN d.change IN ('kept', 'held') THEN CASE WHEN was_weighed(d.accepted_standing) THEN 'weighed' ELSE 'kept' END
      WHEN d.key IN (SELECT key FROM disputed_grades) THEN 'disputed' END AS row_standing
  FROM (
    SELECT * REPLACE (CASE WHEN NOT is_claimed THEN last_snapshot_number END AS last_snapshot_number) FROM difference WHERE change <> 'removed'
    UNION ALL BY NAME FROM unchanged_claims) d;
CREATE VIEW refused_rows_to_keep AS FROM unusable_rows;
CREATE VIEW refused_meanings_to_keep AS FROM refused_meanings;
CREATE VIEW enrollment_claims_to_keep AS
  SELECT s.* REPLACE ('kept' AS row_standing) FROM state_enrollment_claims s
    ANTI JOIN repeated_role_claims USING (key) SEMI JOIN (FROM difference WHERE NOT is_claimed AND change <> 'removed') USING (key);
-- Other rows that claim the same. A held resource may have another name now, and be listed again by it.
CREATE VIEW row_claims_to_keep AS
  SELECT b.* FROM (
      SELECT kind_name, source_row, key, any_value(source_id_hash) AS source_id_hash
      FROM (FROM further_row_claims UNION ALL FROM kept_row_claims) GROUP BY kind_name, source_row, key) b
    JOIN (SELECT key, source_row FROM difference WHERE change <> 'removed' UNION ALL SELECT key, source_row FROM unchanged_claims) d
      ON d.key = b.key AND d.source_row <> b.source_row;
