-- What every comparison has. The import is one flow: rows of files become claims (package and the readers), what is wanted is what claims
-- agree on (claims.sql) over all files (others.sql), the difference is against what was accepted (difference.sql), guards look at the
-- difference (guards.sql), and the difference becomes messages (messages.sql).
--
-- What is compared is what is wanted of each resource on the platform: who has which role in which org unit, or which grade. Each row that
-- can be used is a claim about one resource (key). So a row that goes takes nothing away that another row claims.

-- name: cell_macros
-- How all readers of a package read a cell: its text without surrounding white space, with NULL as an empty text; its word; and whether that
-- is the status of a removed row. Most cells are empty or have no such space, and testing for that is faster than trimming.
CREATE MACRO trimmed(x) AS
  CASE WHEN coalesce(x, '') = '' THEN ''
    WHEN ascii(x) BETWEEN 33 AND 126 AND ascii(x[-1]) BETWEEN 33 AND 126 THEN x
    ELSE trim(x, ' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13) || chr(160) || chr(65279)) END;
CREATE MACRO word_in(x) AS lower(trimmed(x));
-- The status of a row whose role is not sent. No status of a file is the same: their words have no such sign.
CREATE MACRO not_sent() AS chr(31) || 'not sent';
CREATE MACRO is_gone(status) AS status IN ('tobedeleted', 'inactive', not_sent());

-- name: tables
-- kinds: the kinds of wanted values. kind_name: by which they are counted. state_kind: the sign of their rows in the state.
CREATE TABLE kinds (state_kind VARCHAR, kind_name VARCHAR, function_name VARCHAR, file VARCHAR, column_name VARCHAR, time_column VARCHAR,
  twice VARCHAR, differs VARCHAR, older_problem VARCHAR, has_days BOOLEAN);
CREATE MACRO older_problem(what) AS
  'is before the time of the accepted ' || what || ', which stays. To send this one, export it with the time of its change';
-- claims: what the rows of this file want. wanted_value: in a form that can be compared. source_row: by what the row is known again.
-- source_id_hash: of a result, the sourcedId as a number, as a delta may delete it by that alone. org_unit_or_object, user_name: by what a
-- row is likely to mean a resource: an org unit or a grade object, and a user. yields: another row gives the value.
CREATE TABLE claims (kind_name VARCHAR, state_kind VARCHAR, key VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR, org_unit_ref VARCHAR,
  wanted_value VARCHAR, data VARCHAR, removal VARCHAR, template VARCHAR, source_row VARCHAR, said_at_ms BIGINT, source_id_hash UBIGINT,
  line BIGINT, yields BOOLEAN DEFAULT false);
-- accepted: what was wanted when the last snapshot was accepted. must_resend: it is sent again, whatever is wanted now. is_learnt: for no other
-- reason than that its name is known since, which moves nothing. row_standing: as the state has it.
CREATE TABLE accepted (kind_name VARCHAR, state_kind VARCHAR, key VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR,
  org_unit_ref VARCHAR, wanted_value VARCHAR, data VARCHAR, removal VARCHAR, template VARCHAR, source_row VARCHAR, said_at_ms BIGINT,
  source_id_hash UBIGINT, last_snapshot_number BIGINT, must_resend BOOLEAN, is_learnt BOOLEAN DEFAULT false, row_standing VARCHAR);
-- accepted_keys: the same, with org_unit_or_object and user_name in the form that those of meant_rows have.
CREATE VIEW accepted_keys AS SELECT kind_name, key, org_unit_or_object, user_name, last_snapshot_number FROM accepted;
-- doubtful_claims: claims by a name that the crosswalk gives two ids, or whose move no operator has accepted, with the key by that name.
CREATE TABLE doubtful_claims (key VARCHAR, source_row VARCHAR, key_by_name VARCHAR);
-- row_claims: which row claimed which resource when it was accepted. shared_row_claims: those that the state lists beside what is wanted;
-- further_row_claims: other rows that claim the same now; kept_row_claims: those whose resource stays as it was; outdated_row_claims: what a
-- refused row claimed, but cannot mean any more.
CREATE TABLE row_claims (kind_name VARCHAR, source_row VARCHAR, key VARCHAR, source_id_hash UBIGINT);
CREATE TABLE further_row_claims (kind_name VARCHAR, source_row VARCHAR, key VARCHAR, source_id_hash UBIGINT);
CREATE TABLE kept_row_claims (kind_name VARCHAR, source_row VARCHAR, key VARCHAR, source_id_hash UBIGINT);
CREATE TABLE outdated_row_claims (kind_name VARCHAR, source_row VARCHAR, key VARCHAR);
-- refused_rows: rows that cannot be used. Such a row may be meant for a resource that no other claims, which then stays as it was: that
-- which the row claimed before; that of its org unit or grade object and its user; and where one of them is not legible, whatever is missing
-- since the row is refused (refused_since, the number of the snapshot). One that an earlier snapshot refused, and a delta does not name, is
-- not in this one (is_in_file): it holds only what no row claims.
CREATE TABLE refused_rows (kind_name VARCHAR, source_row VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR,
  counts BOOLEAN DEFAULT true, is_in_file BOOLEAN DEFAULT true);
-- unusable_rows: the same rows, each once. is_known: it claimed something when it was accepted.
CREATE TABLE unusable_rows (kind_name VARCHAR, source_row VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR, refused_since BIGINT,
  is_known BOOLEAN, is_in_file BOOLEAN);
-- meant_rows: the same, by what their names stand for. refused_meanings: by what they stood for, too, since the row is refused: what is
-- missing and stays for a refused row stays until the row is used, is gone or leaves open something else, whatever becomes unknown meanwhile.
CREATE VIEW meant_rows AS FROM unusable_rows;
CREATE MACRO which_of(name) AS CASE WHEN name IS NULL THEN 'any' WHEN name = '' THEN 'none' ELSE 'one' END;
CREATE TABLE refused_meanings (kind_name VARCHAR, source_row VARCHAR, org_unit_or_object VARCHAR, user_name VARCHAR, refused_since BIGINT,
  is_known BOOLEAN);
-- pending_results: results that are not fully graded.
CREATE TABLE pending_results (key VARCHAR, source_row VARCHAR);
-- held_keys: what stays as it was. missing_but_kept: those of them that no row claims.
CREATE TABLE held_keys (key VARCHAR);
CREATE TABLE missing_but_kept (key VARCHAR);
-- older_claims: what was said before what was accepted. unfit_keys: what the functions would refuse. unfit_claims: their claims.
CREATE TABLE older_claims (kind_name VARCHAR, key VARCHAR, line BIGINT, file VARCHAR, time_column VARCHAR, older_problem VARCHAR);
CREATE TABLE unfit_keys (key VARCHAR, column_name VARCHAR, problem VARCHAR);
CREATE TABLE unfit_claims (kind_name VARCHAR, key VARCHAR, line BIGINT, is_claimed BOOLEAN);
-- claims_per_key, disputed_counts: numbers of rows, by resource and of rows that contradict each other.
CREATE TABLE claims_per_key (key VARCHAR, rows BIGINT);
CREATE TABLE disputed_counts (kind_name VARCHAR, rows BIGINT);
-- problems: the report. rows: how many rows a line is about, or how many enrollments or grades that this file does not have. is_refusal: rows
-- of this file are refused. Other lines are about rows that are used or held, about what this file does not have, or about no row.
CREATE TABLE problems (file VARCHAR, line BIGINT, column_name VARCHAR, problem VARCHAR, rows BIGINT DEFAULT 1, is_refusal BOOLEAN DEFAULT true);

-- name: macros
-- What a zip wants, by the kind of its rows in a state.
CREATE MACRO is_enrollment(state_kind) AS state_kind = '2';
CREATE MACRO is_grade(state_kind) AS state_kind = '3';
-- What the row_standing of a state means: nothing was sent for the row; other files do not weigh it, or weigh each of its rows by itself; it
-- stays for a row that cannot be used; and another file has, or had since, the same.
CREATE MACRO is_unsent(row_standing) AS coalesce(row_standing, '') IN ('ending', 'disputed');
-- Of several that have become one.
CREATE MACRO standing_of_all(row_standing) AS CASE WHEN bool_or(row_standing = 'disputed') THEN 'disputed' ELSE max(row_standing) END;
CREATE MACRO is_kept(row_standing) AS coalesce(row_standing, '') IN ('kept', 'weighed');
CREATE MACRO was_weighed(row_standing) AS coalesce(row_standing, '') = 'weighed';
CREATE MACRO is_not_weighed(row_standing) AS coalesce(row_standing, '') IN ('ending', 'several');
-- An org unit or a user: by the platform's id, if it is known, or else by the name of the SIS. No name has the sign before an id.
CREATE MACRO ref_of(platform_id, name) AS CASE WHEN platform_id IS NOT NULL THEN chr(2) || platform_id ELSE name END;
CREATE MACRO id_in_ref(ref) AS CASE WHEN ref[1] = chr(2) THEN ref[2:] END;
CREATE MACRO has_control(x) AS regexp_matches(x, '[\x00-\x1f\x7f]');
CREATE MACRO has_control_in_text(x) AS regexp_matches(x, '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]');
CREATE MACRO is_id(x) AS coalesce(x, '') <> '' AND length(x) <= 255 AND NOT has_control(x);
-- Data of a table's message with the platform's ids in place of the names of the SIS, which are texts such as `userName=jane`.
CREATE MACRO id_for(token, field, id) AS
  CASE WHEN id IS NULL OR token IS NULL OR starts_with(token, field || '=') THEN '{}'
    ELSE '{"' || split_part(token, '=', 1) || '":null,"' || field || '":' || id || '}' END;
CREATE MACRO with_ids(data, org_unit_or_object, user_name, org_unit_id, user_id) AS
  CASE WHEN org_unit_id IS NULL AND user_id IS NULL THEN data
    ELSE CAST(json_merge_patch(CAST(data AS JSON), CAST(id_for(org_unit_or_object, 'orgUnitId', org_unit_id) AS JSON),
      CAST(id_for(user_name, 'userId', user_id) AS JSON)) AS VARCHAR) END;
-- A grade out of the maximum of its line item.
CREATE MACRO grade_out_of(grade, out_of) AS
  CASE WHEN out_of IS NOT NULL AND starts_with(grade, '{"type":"numeric"') THEN left(grade, -1) || ',"outOf":' || out_of || '}' ELSE grade END;
-- A row that has no id that can be used is known again by its cells.
CREATE MACRO row_without_id(cells) AS '#' || left(sha256(cells), 20);
-- In a report, one line for all rows of which the same is to be said.
CREATE MACRO count_text(rows, first_line) AS
  ' (' || rows || CASE WHEN rows = 1 THEN ' row, in line ' ELSE ' rows, the first in line ' END || first_line || ')';
-- What a row wants, but what was accepted stays.
CREATE MACRO is_withheld(withheld_value, accepted_value) AS withheld_value <> accepted_value;
-- As md5_number_lower, in a quarter of its time.
CREATE MACRO hash_of_id(id) AS CAST(md5_number(id) >> 64 AS UBIGINT);
CREATE MACRO number_in(x) AS
  CASE WHEN length(x) <= 30 AND regexp_full_match(x, '[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)') THEN TRY_CAST(x AS DOUBLE) END;
CREATE MACRO number_text(x) AS
  CASE WHEN abs(x) < 1e15 AND x = trunc(x) THEN CAST(CAST(x AS BIGINT) AS VARCHAR) ELSE CAST(x AS VARCHAR) END;
-- Where days and times without an offset from UTC are meant, and the sign before decimals: the readers replace them by the settings.
CREATE MACRO time_zone() AS 'UTC';
CREATE MACRO decimal_sign() AS '.';
-- When a clock there shows the time x; what it shows then, as if that were in UTC.
CREATE MACRO local_ms(x) AS
  CASE WHEN time_zone() = 'UTC' THEN epoch_ms(TRY_CAST(x AS TIMESTAMP)) ELSE epoch_ms(timezone(time_zone(), TRY_CAST(x AS TIMESTAMP))) END;
CREATE MACRO clock_ms(ms) AS
  CASE WHEN time_zone() = 'UTC' THEN ms ELSE epoch_ms(timezone(time_zone(), to_timestamp(ms / 1000.0))) END;
CREATE MACRO day_number(ms) AS clock_ms(ms) // 86400000;
CREATE MACRO is_midnight(ms) AS clock_ms(ms) % 86400000 = 0;
CREATE MACRO instant_in(x) AS
  CASE WHEN regexp_full_match(x, '[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)')
      THEN epoch_ms(TRY_CAST(x AS TIMESTAMPTZ))
    WHEN regexp_full_match(x, '[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}(:?[0-9]{2})?)')
      THEN epoch_ms(TRY_CAST(left(x, 16) || ':00' || x[17:] AS TIMESTAMPTZ)) END;
