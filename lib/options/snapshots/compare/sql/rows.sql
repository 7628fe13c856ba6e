-- The rows of one file of an export, which its reader puts into read_rows: line, source_row, status, and problem, a list of the column, the
-- words, and the row_result of the row, if that is not `refused`. Rows of enrollments and results also have class_or_item_id, user_source_id,
-- org_unit_or_object, user_name and said_at_ms.

-- name: macros
-- In: date_order(), which of day and month comes first, or ''; dropped_ms(), when the file was put into the bucket. Out: how cells are read.
CREATE MACRO fate_of_gone(status) AS
  CASE status WHEN 'inactive' THEN 'notActive' WHEN not_sent() THEN 'roleNotSent' ELSE 'deleted' END;
CREATE MACRO fate_of_problem(problem) AS coalesce(problem[3], 'refused');
CREATE MACRO result_of_row(problem, status, otherwise) AS
  CASE WHEN problem IS NOT NULL THEN fate_of_problem(problem) WHEN is_gone(status) THEN fate_of_gone(status) ELSE otherwise END;
-- Row results whose rows all have the same problem, which one setting solves: the report has one line for all of them.
CREATE MACRO is_reported_once(row_result) AS coalesce(row_result, '') IN ('withoutName', 'withoutMaximum', 'withoutRole', 'twoReadings');
CREATE MACRO problem_of_status() AS ['status', 'must be active, inactive or tobedeleted'];
-- Testing an id takes longer than joining it, and every known id was tested.
CREATE MACRO is_known_or_id(is_known, id) AS CASE WHEN is_known THEN true ELSE is_id(id) END;
CREATE MACRO slip_of(id) AS lower(trimmed(id));
CREATE MACRO problem_of_slip(column_name) AS
  [column_name, 'differs from an id of the package only by a space, or by upper and lower case'];
CREATE MACRO time_of_day() AS '([T ][0-9:.]+ ?([AaPp][Mm])?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?';
CREATE MACRO can_be_two_days(x) AS regexp_full_match(x, '[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}' || time_of_day());
-- The day in the time zone of an instant that is elsewhere on another day, as 2026-08-31T22:00:00Z is midnight in Berlin. Many systems write
-- midnight in UTC for a day.
CREATE MACRO day_there(x) AS
  CASE WHEN time_zone() <> 'UTC' AND NOT regexp_matches(x, '[T ]00:00(:00([.]0+)?)?[^0-9:.]')
    THEN left(CAST(make_timestamp(clock_ms(instant_in(x)) * 1000) AS VARCHAR), 10) END;
-- Casting a day to and fro is faster than matching it.
CREATE MACRO day_of(x) AS CASE
  WHEN strlen(x) = 10 AND CAST(TRY_CAST(x AS DATE) AS VARCHAR) = x THEN x
  WHEN regexp_full_match(x, '[0-9]{4}-[0-9]{2}-[0-9]{2}' || time_of_day())
    THEN CASE WHEN TRY_CAST(left(x, 10) AS DATE) IS NOT NULL THEN coalesce(day_there(x), left(x, 10)) END
  WHEN date_order() <> '' AND can_be_two_days(x)
    THEN CAST(TRY_CAST(regexp_replace(x, '^([0-9]+)[./-]([0-9]+)[./-]([0-9]{4}).*$',
      CASE WHEN date_order() = 'day-month-year' THEN '\3-\2-\1' ELSE '\3-\1-\2' END) AS DATE) AS VARCHAR) END;
-- The problem of a date that cannot be read, or can be read in two ways.
CREATE MACRO problem_of_day(column_name, x, otherwise) AS
  CASE WHEN date_order() = '' AND can_be_two_days(x) THEN [column_name, 'can be two days, as 1/05/2023 can. '
      || 'Set "dateOrder" to "day-month-year" or "month-day-year" in snapshot-settings.json', 'twoReadings']
    ELSE [column_name, otherwise] END;
-- The time of a cell. It may be a day alone, which stands for its beginning. The standard has times in UTC, and a setting another zone.
-- instant: the result of instant_in; day: its day; clock: its time of day in other notations. They are columns, because an expression that
-- repeats itself takes long to plan.
CREATE MACRO clock_in(x) AS
  regexp_extract(x, '[T ]([0-9]{1,2}):([0-9]{2})(:[0-9]{2}(?:[.][0-9]+)?)? ?([AaPp]?)[Mm]?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?$',
    ['hour', 'minute', 'second', 'half', 'zone']);
CREATE MACRO day_and_clock(day, clock) AS day || 'T' || lpad(CASE WHEN clock['half'] = '' THEN clock['hour']
      ELSE CAST(TRY_CAST(clock['hour'] AS INTEGER) % 12 + CASE WHEN lower(clock['half']) = 'p' THEN 12 ELSE 0 END AS VARCHAR) END, 2, '0')
    || ':' || clock['minute'] || coalesce(nullif(clock['second'], ''), ':00');
CREATE MACRO time_of(instant, day, clock) AS
  coalesce(instant, CASE WHEN clock['zone'] = '' THEN local_ms(day_and_clock(day, clock)) ELSE instant_in(day_and_clock(day, clock) || clock['zone']) END,
    local_ms(day));
-- A number of a cell. With `either`, a comma is that of decimals if it can be no other: three decimals may be thousands.
CREATE MACRO number_of(x) AS CASE
  WHEN decimal_sign() <> '.' AND contains(x, ',') THEN CASE
    WHEN regexp_full_match(x, '[^,.]*,[^,.]*') AND (decimal_sign() = ',' OR NOT regexp_full_match(x, '[+-]?[0-9]{1,3},[0-9]{3}'))
      THEN number_in(replace(x, ',', '.')) END
  WHEN decimal_sign() = ',' AND contains(x, '.') THEN NULL
  ELSE number_in(x) END;
CREATE MACRO problem_of_number(column_name, x) AS [column_name, CASE
  WHEN decimal_sign() <> ',' AND contains(x, ',') THEN 'has a comma. If that is a decimal comma, set "decimal": "," under "cells" in snapshot-settings.json'
  WHEN decimal_sign() = ',' AND contains(x, '.') THEN 'must be a number such as 100 or 7,5, because "decimal" is "," in snapshot-settings.json'
  ELSE 'must be a number such as 100 or 7.5' END];
-- A time later than the file counts as then.
CREATE MACRO no_later(ms) AS CASE WHEN ms > dropped_ms() THEN dropped_ms() ELSE ms END;

-- name: tables
-- unusable_still: accepted rows of one file that a delta does not have, and that cannot be used now. problem: the words, and the row_result of such a
-- row. What was accepted of them stays.
CREATE TABLE unusable_still (source_row VARCHAR, class_or_item_id VARCHAR, user_source_id VARCHAR, problem VARCHAR[]);

-- name: find_meant
-- In: read_rows; known_places; names; names_before; refused_rows. Out: read_rows: what unusable rows may mean. An id that differs from a known one only by
-- surrounding spaces or by case is a slip: the row may mean that one. A known line item may be one that cannot be used.
UPDATE read_rows SET org_unit_or_object = k.name,
    problem = CASE WHEN problem[1] IN ('classSourcedId', 'lineItemSourcedId') AND problem[3] = 'notInPackage' AND k.id <> class_or_item_id
        THEN problem_of_slip(problem[1])
      ELSE problem END
  FROM (SELECT slip_of(id) AS slip, any_value(id) AS id, any_value(name) AS name FROM known_places GROUP BY slip HAVING count(*) = 1) k
  WHERE read_rows.problem IS NOT NULL AND read_rows.org_unit_or_object IS NULL AND k.slip = slip_of(read_rows.class_or_item_id);
UPDATE read_rows SET user_name = k.name,
    problem = CASE WHEN problem[1] IN ('userSourcedId', 'studentSourcedId') AND problem[3] = 'notInPackage' THEN problem_of_slip(problem[1])
      ELSE problem END
  FROM (SELECT slip_of(id) AS slip, any_value(user_name) AS name FROM user_names GROUP BY slip HAVING count(*) = 1) k
  WHERE read_rows.problem IS NOT NULL AND read_rows.user_name IS NULL AND k.slip = slip_of(read_rows.user_source_id);
-- What names a row that was refused is no fault of its own.
UPDATE read_rows SET problem = [problem[1], 'its row in ' || f.file || ' was refused', 'refusedWith']
  FROM (SELECT DISTINCT source_row, kind_name || '.csv' AS file FROM refused_rows WHERE kind_name IN ('classes', 'users', 'lineItems')) f
  WHERE read_rows.problem[3] = 'notInPackage' AND f.source_row = CASE f.file WHEN 'lineItems.csv' THEN '' ELSE '=' END
      || CASE WHEN read_rows.problem[1] IN ('userSourcedId', 'studentSourcedId') THEN read_rows.user_source_id ELSE read_rows.class_or_item_id END
    AND f.file = CASE read_rows.problem[1] WHEN 'classSourcedId' THEN 'classes.csv' WHEN 'lineItemSourcedId' THEN 'lineItems.csv' ELSE 'users.csv' END;
UPDATE read_rows SET problem = [problem[1], problem[2] || ' that can be read: ' || f.rows || ' of them cannot', 'refusedWith']
  FROM (SELECT kind_name || '.csv' AS file, count(*) AS rows FROM refused_rows WHERE starts_with(source_row, '#') GROUP BY kind_name) f
  WHERE read_rows.problem[3] = 'notInPackage'
    AND f.file = CASE read_rows.problem[1] WHEN 'classSourcedId' THEN 'classes.csv' WHEN 'lineItemSourcedId' THEN 'lineItems.csv' ELSE 'users.csv' END;
-- The row of a record whose name passed to it means what the record had by its own former name, or if it is new, what the former bearer had.
UPDATE read_rows SET user_name = coalesce(w.name, n.name) FROM names n LEFT JOIN names_before w USING (record_type, id)
  WHERE read_rows.problem[3] = 'namePassed' AND read_rows.user_name IS NULL AND n.record_type = 'user' AND n.id = read_rows.user_source_id;

-- name: refuse_claims
-- In: read_rows; the variable kind_name. Out: refused_rows. If neither of two ids is known, a row means no known resource.
INSERT INTO refused_rows (kind_name, source_row, org_unit_or_object, user_name)
  SELECT getvariable('kind_name'), source_row, CASE WHEN is_foreign THEN '' ELSE org_unit_or_object END, CASE WHEN is_foreign THEN '' ELSE user_name END
  FROM (
    SELECT *, org_unit_or_object IS NULL AND user_name IS NULL AND is_id(class_or_item_id) AND is_id(user_source_id) AS is_foreign
    FROM read_rows WHERE problem IS NOT NULL);

-- name: refuse_rows
-- In: read_rows; the variable kind_name. Out: refused_rows, of rows that claim nothing.
INSERT INTO refused_rows (kind_name, source_row, org_unit_or_object, user_name)
  SELECT getvariable('kind_name'), source_row, NULL, NULL FROM read_rows WHERE problem IS NOT NULL;

-- name: report_rows
-- In: read_rows; the variable kind_name. Out: problems. Rows with an unknown role are reported with the roles.
INSERT INTO problems (file, line, column_name, problem, rows)
  SELECT getvariable('kind_name') || '.csv', line, problem[1], problem[2], 1 FROM read_rows
  WHERE problem IS NOT NULL AND NOT is_reported_once(problem[3]) AND fate_of_problem(problem) <> 'unknownRole'
  UNION ALL SELECT getvariable('kind_name') || '.csv', NULL, problem[1], problem[2] || count_text(count(*), min(line)), count(*)
  FROM read_rows
  WHERE problem IS NOT NULL AND is_reported_once(problem[3]) GROUP BY problem[1], problem[2];

-- name: keep_refused
-- In: refused_before; read_rows, those that a delta names; renamed; the variable kind_name. Out: problems; refused_rows, with those that it
-- does not name. A row that was in no file is judged again each time.
INSERT INTO refused_rows
  SELECT r.kind_name, r.source_row, coalesce(c.new_name, r.org_unit_or_object), coalesce(u.new_name, r.user_name), false, false
  FROM refused_before r
    ANTI JOIN read_rows e ON e.source_row = r.source_row
    ANTI JOIN refused_rows x ON x.kind_name = r.kind_name AND x.source_row = r.source_row
    LEFT JOIN renamed c ON c.record_type = 'class' AND r.kind_name = 'enrollments' AND c.old_name = r.org_unit_or_object
    LEFT JOIN renamed u ON u.record_type = 'user' AND u.old_name = r.user_name
  WHERE r.kind_name = getvariable('kind_name') AND NOT starts_with(r.source_row, chr(31));
INSERT INTO problems (file, problem, rows, is_refusal)
  SELECT kind_name || '.csv',
    'rows of earlier exports that are refused still: ' || count(*) || '. Each is read again once a bulk file or a delta has it', count(*), false
  FROM refused_rows WHERE kind_name = getvariable('kind_name') AND NOT is_in_file GROUP BY kind_name;

-- name: report_still
-- In: unusable_still; known_places; the variable kind_name. Out: problems; passed_rows; unusable_still, which is empty again.
INSERT INTO problems (file, problem, rows, is_refusal)
  SELECT getvariable('kind_name') || '.csv', 'rows of ' || coalesce(p.course, s.class_or_item_id)
    || ' that this delta does not have, and that cannot be used now: ' || count(*) || '. What was accepted of them stays. The reason: ' || s.problem[1],
    count(*), false
  FROM unusable_still s LEFT JOIN known_places p ON p.id = s.class_or_item_id GROUP BY coalesce(p.course, s.class_or_item_id), s.problem[1];
INSERT INTO passed_rows
  SELECT s.user_source_id, getvariable('kind_name'), p.course, count(*) FROM unusable_still s LEFT JOIN known_places p ON p.id = s.class_or_item_id
  WHERE s.problem[2] = 'namePassed' GROUP BY ALL;
DELETE FROM unusable_still;

-- name: count_claims
-- In: the comparison. Out: by kind and row_result, the rows that claim something.
SELECT kind_name, row_result, CAST(sum(times * coalesce(s.rows, CASE WHEN line IS NULL THEN 0 ELSE 1 END)) AS BIGINT)
FROM (
  SELECT d.kind_name, d.key, d.line, 1 AS times,
    CASE WHEN o.key IS NOT NULL THEN 'refused' WHEN is_withheld(d.withheld_value, d.accepted_value) THEN 'held'
      WHEN d.change IN ('created', 'updated') AND (v.key IS NULL OR v.function_name IS NOT NULL) THEN 'sent' ELSE 'unchanged' END AS row_result
    FROM difference d LEFT JOIN (SELECT DISTINCT key FROM older_claims) o USING (key) LEFT JOIN replacements v USING (key) WHERE d.is_claimed
  UNION ALL SELECT kind_name, key, line, 1, 'refused' FROM unfit_claims WHERE is_claimed
  -- All claims but these.
  UNION ALL SELECT kind_name, key, line, 1, 'unchanged' FROM claims
  UNION ALL SELECT kind_name, key, line, -1, 'unchanged' FROM difference WHERE is_claimed
  UNION ALL SELECT kind_name, key, line, -1, 'unchanged' FROM unfit_claims WHERE is_claimed) LEFT JOIN claims_per_key s USING (key)
GROUP BY kind_name, row_result
UNION ALL SELECT kind_name, 'refused', rows FROM disputed_counts;
