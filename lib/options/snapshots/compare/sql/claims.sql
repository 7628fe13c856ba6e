-- What claims about one resource agree on.

-- name: name_doubtful_claims
-- In: claims; accepted; doubtful_claims. Out: claims; held_keys. What was accepted stays as it was. Anything else by a doubtful name is of that name
-- alone: its message waits until the name is known, and nobody knows where it will arrive. All rows of the same by this name go along, as
-- they are to agree.
CREATE TABLE claims_by_name AS
  SELECT d.*, w.key IS NOT NULL AS was_accepted
  FROM doubtful_claims d JOIN claims c USING (key, source_row) LEFT JOIN accepted w USING (key)
  QUALIFY bool_or(c.wanted_value IS DISTINCT FROM w.wanted_value) OVER (PARTITION BY d.key, d.key_by_name);
UPDATE claims SET key = n.key_by_name FROM claims_by_name n WHERE n.key = claims.key AND n.source_row = claims.source_row;
INSERT INTO held_keys SELECT key FROM (SELECT DISTINCT key FROM claims_by_name WHERE was_accepted) ANTI JOIN claims USING (key);
DROP TABLE claims_by_name;

-- name: find_repeated_keys
-- In: claims; yielded_removals. Out: repeated_keys, the resources that several rows claim.
CREATE TABLE repeated_keys AS SELECT key FROM claims GROUP BY key HAVING count(*) > 1 UNION SELECT key FROM yielded_removals;

-- name: agree
-- In: claims; repeated_keys; kinds. Out: claims, one of each resource; problems, held_keys and disputed_counts of claims that contradict each
-- other, of which none is used; claims_per_key; further_row_claims.
CREATE TABLE disputed_keys AS
  SELECT c.key, count(DISTINCT c.source_row) = 1 AS is_one FROM claims c SEMI JOIN repeated_keys USING (key)
  GROUP BY c.key HAVING min(c.wanted_value) <> max(c.wanted_value);
INSERT INTO problems (file, line, column_name, problem)
  SELECT k.file, c.line, k.column_name, CASE WHEN d.is_one THEN k.twice ELSE k.differs END
  FROM claims c JOIN disputed_keys d USING (key) JOIN kinds k USING (state_kind) WHERE c.line IS NOT NULL;
INSERT INTO problems (file, column_name, problem, rows, is_refusal)
  SELECT k.file, k.column_name, 'rows contradict each other about ' || count(DISTINCT c.key) || ' ' || k.kind_name
    || ', which stay as they were accepted. This delta does not have all of these rows; a bulk file names them', count(*), false
  FROM claims c JOIN disputed_keys USING (key) JOIN kinds k USING (state_kind) WHERE c.line IS NULL
  GROUP BY k.file, k.column_name, k.kind_name;
INSERT INTO disputed_counts
  SELECT c.kind_name, count(*) AS rows FROM claims c JOIN disputed_keys USING (key) WHERE c.line IS NOT NULL GROUP BY c.kind_name;
INSERT INTO held_keys SELECT key FROM disputed_keys;
INSERT INTO claims_per_key SELECT key, count(c.line) AS rows FROM claims c SEMI JOIN repeated_keys USING (key) GROUP BY key;
-- Others that claim what was accepted are known again, too.
INSERT INTO further_row_claims
  SELECT c.kind_name, c.source_row, c.key, c.source_id_hash
  FROM claims c SEMI JOIN repeated_keys USING (key) ANTI JOIN disputed_keys USING (key);
CREATE TABLE agreed_claims AS
  SELECT unnest(chosen), latest FROM (
    SELECT arg_min(c, (c.yields, coalesce(c.line, 0), c.source_id_hash IS NULL, c.source_row)) AS chosen, max(c.said_at_ms) AS latest
    FROM claims c SEMI JOIN repeated_keys USING (key) ANTI JOIN disputed_keys USING (key) GROUP BY c.key);
DELETE FROM claims WHERE key IN (SELECT key FROM repeated_keys);
INSERT INTO claims BY NAME
  SELECT * EXCLUDE (latest) REPLACE (CASE WHEN is_about_enrollment(kind_name) THEN said_at_ms ELSE latest END AS said_at_ms)
  FROM agreed_claims;
