-- What is refused, held and counted of the difference before anything is sent.

-- name: refuse_unfit
-- In: unfit_keys; difference; accepted. Out: difference; problems; unfit_claims. What the functions would refuse stays as it was, as if its rows
-- were unusable.
INSERT INTO problems (file, line, column_name, problem)
  SELECT k.file, d.line, coalesce(u.column_name, k.column_name), u.problem
  FROM unfit_keys u JOIN difference d USING (key) JOIN kinds k USING (state_kind);
INSERT INTO unfit_claims SELECT d.kind_name, d.key, d.line, d.is_claimed FROM difference d SEMI JOIN unfit_keys USING (key);
DELETE FROM difference WHERE key IN (SELECT key FROM unfit_keys);
INSERT INTO difference BY NAME
  SELECT w.* EXCLUDE (must_resend, is_learnt, row_standing), false AS is_claimed, w.wanted_value AS accepted_value, w.said_at_ms AS accepted_at_ms,
    w.org_unit_or_object AS accepted_org_unit_or_object, 'kept' AS change, false AS is_resent
  FROM accepted w SEMI JOIN unfit_keys USING (key);

-- name: report_held
-- In: difference; missing_but_kept. Out: problems.
INSERT INTO problems (file, line, column_name, problem, is_refusal)
  SELECT k.file, d.line, k.column_name, 'held: a refused row may be about the same thing on the platform, so what was accepted stays. Correct the refused row, or leave it out',
    false
  FROM difference d JOIN kinds k USING (state_kind)
  WHERE d.is_claimed AND is_withheld(d.withheld_value, d.accepted_value) AND d.line IS NOT NULL;
INSERT INTO problems (file, problem, rows, is_refusal)
  SELECT any_value(k.file), 'missing ' || d.kind_name || ' that stay, because refused rows may be about them: ' || count(*), count(*), false
  FROM difference d JOIN kinds k USING (state_kind) SEMI JOIN missing_but_kept USING (key) GROUP BY d.kind_name;

-- name: find_kept_row_claims
-- In: difference; row_claims; held_keys. Out: kept_row_claims: what no row claims and yet stays, and what rows claim and yet is held.
INSERT INTO kept_row_claims
  SELECT b.* FROM row_claims b JOIN difference d USING (key)
  WHERE d.change <> 'removed' AND (NOT d.is_claimed OR d.key IN (FROM held_keys));

-- name: count_changes
-- In: difference; replacements; claims; what is refused, pending and accepted. Out: numbers by kind. What changes comes first, as kinds are
-- listed in that order.
FROM (
  SELECT what, kind_name, count(*) AS rows FROM (
    SELECT d.kind_name, CASE WHEN v.key IS NULL THEN d.change
        WHEN v.function_name IS NULL THEN CASE WHEN d.change <> 'removed' THEN 'unchanged' END
        WHEN v.function_name = 'enrollment-remove' THEN 'removed' ELSE 'updated' END AS what
    FROM difference d LEFT JOIN replacements v USING (key)
    WHERE d.change <> 'kept' OR key NOT IN (SELECT key FROM pending_results WHERE key IS NOT NULL))
  WHERE what IS NOT NULL GROUP BY kind_name, what
  -- Unchanged claims: counting the others is faster than finding these.
  UNION ALL SELECT 'unchanged', kind_name, CAST(sum(n) AS BIGINT) FROM (
    SELECT kind_name, count(*) AS n FROM claims GROUP BY kind_name
    UNION ALL SELECT kind_name, -count(*) FROM difference WHERE is_claimed GROUP BY kind_name
    UNION ALL SELECT kind_name, -count(*) FROM unfit_claims WHERE is_claimed GROUP BY kind_name) GROUP BY kind_name
  UNION ALL SELECT 'refused', kind_name, count(*) FROM refused_rows WHERE counts GROUP BY kind_name
  UNION ALL SELECT 'refused', * FROM disputed_counts
  UNION ALL SELECT 'refused', kind_name, count(*) FROM (SELECT kind_name FROM older_claims UNION ALL SELECT kind_name FROM unfit_claims)
    GROUP BY kind_name
  UNION ALL SELECT 'pending', 'results', count(DISTINCT source_row) FROM pending_results HAVING count(*) > 0
  UNION ALL SELECT 'accepted', kind_name, count(*) FROM accepted GROUP BY kind_name
  UNION ALL SELECT 'is other', kind_name, count(*) FROM difference WHERE change = 'updated' AND NOT is_resent GROUP BY kind_name
) ORDER BY what IN ('refused', 'pending', 'accepted', 'is other'), kind_name;

-- name: count_moves
-- In: difference; accepted; unchanged_claims; row_claims. Out: by kind, the moves that the rows themselves show: a row no longer claims
-- what it claimed, or claims something else.
SELECT kind_name, CAST(sum(rows) AS BIGINT) FROM (
  SELECT kind_name, count(*) AS rows FROM difference
  WHERE is_resent AND key NOT IN (SELECT key FROM accepted WHERE is_learnt) GROUP BY kind_name
  UNION ALL
  SELECT kind_name, count(DISTINCT source_row) FROM (
    SELECT d.kind_name, d.source_row FROM difference d
      JOIN row_claims b ON b.kind_name = d.kind_name AND b.source_row = d.source_row AND b.key <> d.key
      LEFT JOIN difference x ON x.key = b.key
    WHERE d.is_claimed AND NOT d.is_resent AND (d.change IN ('created', 'updated') OR x.change = 'removed')
    UNION ALL
    SELECT u.kind_name, u.source_row FROM difference x JOIN row_claims b USING (key)
      JOIN unchanged_claims u ON u.kind_name = b.kind_name AND u.source_row = b.source_row AND u.key <> b.key
    WHERE x.change = 'removed') GROUP BY kind_name)
GROUP BY kind_name ORDER BY kind_name;
