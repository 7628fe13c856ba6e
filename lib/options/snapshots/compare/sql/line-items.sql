-- Line items are grade objects of org units, which the platform knows by their titles. A grade object is known by its org unit and title, and
-- keeps its id (object) while its line item gets another title, or another line item its title: grades are known by it. No two line items have
-- the same one.

-- name: load_items
-- In: the state. Out: items_before, the line items as they were accepted.
CREATE OR REPLACE MACRO item_in(json) AS
  from_json(json, '{"data": {"orgUnitCode": "VARCHAR", "orgUnitId": "VARCHAR", "name": "VARCHAR", "maxPoints": "DOUBLE"},
    "class": "VARCHAR", "left": "JSON", "object": "VARCHAR", "formers": "VARCHAR", "outOf": "VARCHAR"}');
CREATE OR REPLACE TABLE items_before AS
  SELECT source_id AS id, ref_of(f.data.orgUnitId, f.data.orgUnitCode) AS org_unit_ref, f.data.orgUnitCode AS org_unit_code,
    f.data.name AS title, nfc_normalize(f.data.name) AS normalized_title, f.data.maxPoints AS max_points,
    f.class AS class_source_id, f.left AS left_titles, coalesce(f.object, source_id) AS object, f.formers AS former_titles, f.outOf AS out_of
  FROM (SELECT source_id, item_in(json) AS f FROM state_line_items);

-- name: read
-- In: items_before; former_ids; file_rows; names; refused_rows; dropped_ms(); snapshot_number(); default_maximum(). Out: read_rows; objects_before, the
-- grade objects that the platform has, also those without a line item; and the tables that are filled below. An org unit that was known by its
-- code alone.
UPDATE items_before SET org_unit_ref = ref_of(t.platform_id, org_unit_code) FROM former_ids t
  WHERE t.record_type = 'class' AND t.name = items_before.org_unit_code AND id_in_ref(items_before.org_unit_ref) IS NULL;
CREATE TABLE objects_before AS
  SELECT id, object, org_unit_ref, org_unit_code, title, normalized_title, max_points, left_titles FROM items_before
  UNION ALL
  SELECT NULL, object_id, ref_of(coalesce(f.data.orgUnitId, t.platform_id), f.data.orgUnitCode), f.data.orgUnitCode,
    f.data.name, nfc_normalize(f.data.name), f.data.maxPoints,
    CASE WHEN list_max(CAST(f.left ->> '$[*].untilMs' AS BIGINT[])) > dropped_ms() THEN f.left END
  FROM (SELECT object_id, item_in(json) AS f FROM state_grade_objects)
    LEFT JOIN former_ids t ON t.record_type = 'class' AND t.name = f.data.orgUnitCode;
-- titles: titles that are new for their line items, the grade object that has each (object), and its line item (owner).
CREATE TABLE titles (id VARCHAR, object VARCHAR, owner VARCHAR, is_taken BOOLEAN, is_double BOOLEAN, is_left BOOLEAN);
CREATE TABLE circles (id VARCHAR, owner VARCHAR);
CREATE TABLE refused_items (id VARCHAR, column_name VARCHAR, problem VARCHAR);
CREATE TABLE item_changes (id VARCHAR, left_titles VARCHAR, former_titles VARCHAR, column_name VARCHAR, problem VARCHAR, body VARCHAR);
-- A doubtful name is sent as it is.
CREATE MACRO org_unit_to_send(org_unit_code, org_unit_ref) AS
  CASE WHEN org_unit_code IN (SELECT name FROM doubtful_names WHERE field = 'orgUnitCode') THEN org_unit_code ELSE org_unit_ref END;
CREATE MACRO new_object(id) AS id || chr(31) || snapshot_number();
CREATE OR REPLACE TABLE read_rows AS
  SELECT r.line, r.id, CASE WHEN is_id(r.id) THEN r.id ELSE '#' || r.line END AS source_row, r.title, r.class_source_id,
    number_of(r.max_points) AS max_points, r.status, c.ref AS org_unit_ref, c.name AS org_unit_code,
    CASE WHEN NOT is_id(r.id) THEN ['sourcedId', 'is not an id']
      WHEN is_gone(r.status) THEN NULL
      WHEN r.status NOT IN ('', 'active') THEN problem_of_status()
      WHEN coalesce(r.title, '') = '' OR has_control(r.title) THEN ['title', 'must be one line, and not empty']
      WHEN r.max_points = '' THEN ['resultValueMax',
        'is empty. To give such line items a maximum, set "resultValueMax": 100 in snapshot-settings.json', 'withoutMaximum']
      WHEN number_of(r.max_points) IS NULL THEN problem_of_number('resultValueMax', r.max_points)
      WHEN c.id IS NULL AND '=' || r.class_source_id IN (SELECT source_row FROM refused_rows WHERE kind_name = 'classes')
        THEN ['classSourcedId', 'its row in classes.csv was refused', 'refusedWith']
      WHEN c.id IS NULL THEN ['classSourcedId', 'names no row of classes.csv', 'notInPackage']
      WHEN c.problem IS NOT NULL THEN ['classSourcedId', c.problem, c.row_result] END AS problem
  FROM (
    SELECT line, id, title, class_source_id, coalesce(nullif(trimmed(max_points), ''), default_maximum(), '') AS max_points,
      word_in(status) AS status
    FROM file_rows) r
    LEFT JOIN names c ON c.record_type = 'class' AND c.id = r.class_source_id;

-- name: refuse_differing
-- In: read_rows; refused_rows; the variable is_bulk. Out: read_rows; the variable is_whole: all line items have a row that can be read.
SET VARIABLE is_whole = getvariable('is_bulk') AND NOT EXISTS (FROM refused_rows WHERE kind_name = 'lineItems')
  AND NOT EXISTS (FROM read_rows WHERE problem[1] = 'sourcedId');
UPDATE read_rows SET problem = ['sourcedId', 'another row has the same sourcedId, but differs']
  WHERE problem IS NULL AND id IN (
    SELECT id FROM read_rows WHERE problem IS NULL GROUP BY id
    HAVING count(DISTINCT CASE WHEN is_gone(status) THEN '' ELSE concat_ws(chr(31), title, class_source_id, max_points) END) > 1);

-- name: choose
-- In: read_rows; items_before; names; the variable is_whole. Out: wanted, what each line item is to be, beside what it was (was_…): an
-- unreadable one stays as it was, as does one that a delta does not name. clashing: two line items whose classes were not known to be one org
-- unit. The platform has one grade object of their title.
CREATE TABLE wanted AS
  SELECT w.*, nfc_normalize(w.title) AS normalized_title, b.org_unit_ref AS was_org_unit_ref, b.title AS was_title,
    b.max_points AS was_max_points, b.left_titles AS was_left_titles, b.object AS was_object,
    b.id IS NOT NULL AND b.org_unit_ref = w.org_unit_ref AND b.normalized_title = nfc_normalize(w.title) AS stays
  FROM (
    SELECT id, any_value(title) AS title, any_value(class_source_id) AS class_source_id, any_value(max_points) AS max_points,
      any_value(org_unit_ref) AS org_unit_ref, any_value(org_unit_code) AS org_unit_code, min(line) AS line
    FROM read_rows WHERE problem IS NULL AND NOT is_gone(status) GROUP BY id
    UNION ALL
    SELECT w.id, w.title, w.class_source_id, w.max_points, CASE WHEN c.problem IS NULL THEN coalesce(c.ref, w.org_unit_ref) ELSE w.org_unit_ref END,
      CASE WHEN c.problem IS NULL THEN coalesce(c.name, w.org_unit_code) ELSE w.org_unit_code END, NULL
    FROM items_before w LEFT JOIN names c ON c.record_type = 'class' AND c.id = w.class_source_id
    -- One that also has a row that can be used is there already.
    WHERE (NOT getvariable('is_whole') OR w.id IN (SELECT id FROM read_rows WHERE problem IS NOT NULL))
      AND w.id NOT IN (SELECT id FROM read_rows WHERE problem IS NULL)
  ) w LEFT JOIN items_before b USING (id);
CREATE TABLE clashing AS
  SELECT id FROM wanted SEMI JOIN (
    SELECT org_unit_ref, normalized_title FROM wanted WHERE stays GROUP BY org_unit_ref, normalized_title HAVING count(*) > 1)
    USING (org_unit_ref, normalized_title) WHERE stays;

-- name: judge_titles
-- In: wanted; objects_before; dropped_ms(). Out: titles; circles. A title that is new for its line item may be
-- that of a grade object which the platform has. That grade object is free in three cases: no line item has it; its line item is
-- removed or moves to another org unit; its line item takes another free grade object. Line items that exchange titles in a
-- circle all count as free. Grade objects that are passed on stay as they are, and grades go to the others. It is not free if the
-- line item that has it gets another title for it, as nobody knows whether the platform takes that.
INSERT INTO titles
  SELECT w.id, o.object, o.id AS owner, x.id IS NOT NULL AS is_taken, n.rows > 1 AS is_double, l.org_unit_ref IS NOT NULL AS is_left
  FROM (SELECT * FROM wanted WHERE NOT stays) w
    JOIN (SELECT org_unit_ref, normalized_title, count(*) AS rows FROM wanted GROUP BY org_unit_ref, normalized_title) n
      USING (org_unit_ref, normalized_title)
    LEFT JOIN objects_before o ON o.org_unit_ref = w.org_unit_ref AND o.normalized_title = w.normalized_title
    LEFT JOIN wanted x ON x.id = o.id AND x.org_unit_ref = o.org_unit_ref
    LEFT JOIN (
      SELECT DISTINCT id AS of, org_unit_ref, nfc_normalize(t ->> 'name') AS normalized_title
      FROM (SELECT id, org_unit_ref, unnest(CAST(left_titles AS JSON[])) AS t FROM objects_before WHERE left_titles IS NOT NULL)
      WHERE CAST(t ->> 'untilMs' AS BIGINT) > dropped_ms()) l
      ON l.org_unit_ref = w.org_unit_ref AND l.normalized_title = w.normalized_title AND l.of IS DISTINCT FROM w.id;
INSERT INTO circles SELECT id, owner FROM titles WHERE is_taken AND NOT is_double AND NOT is_left;

-- name: narrow
-- In: titles; circles. Out: circles. A line item that is neither in a circle nor takes something free leads out of it eventually; it is
-- removed.
DELETE FROM circles WHERE owner NOT IN (
  SELECT id FROM circles UNION ALL SELECT id FROM titles WHERE object IS NOT NULL AND NOT is_taken AND NOT is_double AND NOT is_left);

-- name: refuse_titles
-- In: titles; circles; clashing. Out: refused_items.
CREATE MACRO same_title() AS 'two line items of one org unit have this title';
INSERT INTO refused_items SELECT id, 'title', same_title() FROM clashing;
INSERT INTO refused_items
  SELECT DISTINCT id, 'title', CASE WHEN is_double THEN same_title()
    ELSE 'another line item of the class had this title in the last 40 days. Give this one another title' END
  FROM titles ANTI JOIN clashing USING (id) WHERE is_double OR is_left OR (is_taken AND id NOT IN (SELECT id FROM circles));

-- name: settle
-- In: wanted; titles; refused_items; item_changes, if some were made that the function would refuse. Out: settled, each as it is to be, with
-- what its grade object was; no item_changes, which are made of that. A refused line item keeps its grade object, so the line item that was to
-- take that is refused, too.
INSERT INTO refused_items SELECT id, column_name, problem FROM item_changes WHERE problem IS NOT NULL;
DELETE FROM item_changes;
INSERT INTO refused_items
  WITH RECURSIVE staying AS (
    SELECT id FROM refused_items UNION SELECT t.id FROM titles t JOIN staying s ON t.owner = s.id)
  SELECT id, 'title', 'another line item of the class keeps this title, because its row was refused. Correct the refused row, or give this line item another title'
  FROM staying ANTI JOIN refused_items USING (id);
CREATE OR REPLACE TABLE taken AS
  SELECT t.id AS taker, o.* FROM titles t JOIN objects_before o USING (object) ANTI JOIN refused_items r ON r.id = t.id;
-- One without a line item may have been deleted: it is created again, which changes nothing if it is there.
CREATE OR REPLACE TABLE settled AS
  SELECT w.id, w.line, w.class_source_id, w.org_unit_ref, w.org_unit_code, w.title, w.max_points,
    CASE WHEN o.object IS NOT NULL THEN o.object
      WHEN w.was_object IS NULL OR w.was_object IN (SELECT object FROM taken) THEN new_object(w.id) ELSE w.was_object END AS object,
    CASE WHEN o.id IS NULL AND o.left_titles IS NULL AND o.title = w.title AND o.max_points = w.max_points THEN NULL
      WHEN o.object IS NOT NULL THEN o.title WHEN w.was_org_unit_ref = w.org_unit_ref THEN w.was_title END AS former_title,
    CASE WHEN o.object IS NOT NULL THEN o.max_points WHEN w.was_org_unit_ref = w.org_unit_ref THEN w.was_max_points END AS former_max_points,
    CASE WHEN o.object IS NOT NULL THEN o.left_titles WHEN w.was_org_unit_ref = w.org_unit_ref THEN w.was_left_titles END AS left_titles,
    w.was_object IS NOT NULL AS was_accepted
  FROM wanted w LEFT JOIN taken o ON o.taker = w.id ANTI JOIN refused_items r ON r.id = w.id
  UNION ALL
  SELECT b.id, NULL, b.class_source_id, b.org_unit_ref, b.org_unit_code, b.title, b.max_points, b.object, b.title, b.max_points, b.left_titles,
    true
  FROM items_before b SEMI JOIN refused_items r ON r.id = b.id;

-- name: list_changed
-- In: settled; doubtful_names. Out: what may have changed, by the names of its messages.
SELECT id, org_unit_to_send(org_unit_code, org_unit_ref), title, max_points, former_title, former_max_points, CAST(left_titles AS VARCHAR)
FROM settled WHERE former_title IS NULL OR former_title <> title OR former_max_points <> max_points OR left_titles IS NOT NULL;

-- name: finish
-- In: settled; item_changes; refused_items; clashing; objects_before. Out: problems; refused_rows; items, what grades state about their grade
-- objects, as that is to be: a grade waits until the platform shows the maximum out of which it is. line_items_to_keep, grade_objects_to_keep:
-- the same for the state. A grade object without a line item stays on the platform, and is known until a line item takes it. The id of a grade
-- object whose line item moved went with it.
INSERT INTO problems (file, line, column_name, problem)
  SELECT 'lineItems.csv', w.line, r.column_name, r.problem || CASE WHEN w.line IS NULL THEN '. It is the record ' || id || ' of an earlier file' ELSE '' END
  FROM refused_items r JOIN wanted w USING (id);
INSERT INTO refused_rows (kind_name, source_row, org_unit_or_object, user_name)
  SELECT 'lineItems', CASE WHEN w.line IS NULL THEN chr(31) || id ELSE id END, NULL, NULL FROM refused_items JOIN wanted w USING (id);
CREATE TABLE items AS
  SELECT s.id, s.object, s.org_unit_ref, s.org_unit_code, org_unit_to_send(s.org_unit_code, s.org_unit_ref) AS sent_org_unit, s.title,
    t.former_titles, number_text(s.max_points) AS out_of,
    -- Of a refused one that has moved to another org unit, nobody knows where its new grades belong.
    s.id IN (FROM clashing) OR coalesce(id_in_ref(w.org_unit_ref) <> id_in_ref(s.org_unit_ref), false) AS is_in_doubt
  FROM settled s LEFT JOIN item_changes t USING (id) LEFT JOIN (FROM wanted SEMI JOIN refused_items USING (id)) w ON w.id = s.id;
-- Otherwise grades would be joined with the other's, too. A constraint would keep an index in memory.
SELECT CASE WHEN count(object) <> count(DISTINCT object) THEN error('two line items have one grade object') END FROM items;
CREATE MACRO object_json(org_unit_ref, org_unit_code, title, max_points) AS
  '"data":{"orgUnitCode":' || to_json(org_unit_code) || coalesce(',"orgUnitId":' || id_in_ref(org_unit_ref), '')
    || ',"name":' || to_json(title) || ',"maxPoints":' || number_text(max_points) || '}';
CREATE TABLE line_items_to_keep AS
  SELECT s.id AS source_id, '{' || object_json(s.org_unit_ref, s.org_unit_code, s.title, s.max_points) || ',"class":' || to_json(s.class_source_id)
    || ',"object":' || to_json(s.object) || CASE WHEN t.left_titles IS NULL THEN '' ELSE ',"left":' || t.left_titles END
    || coalesce(',"outOf":' || i.out_of, '') || coalesce(',"formers":' || to_json(i.former_titles), '') || '}' AS json
  FROM settled s LEFT JOIN item_changes t USING (id) JOIN items i USING (id);
CREATE TABLE grade_objects_to_keep AS
  SELECT CASE WHEN i.object IS NULL THEN o.object ELSE new_object(o.id) END AS object_id,
    '{' || object_json(o.org_unit_ref, o.org_unit_code, o.title, o.max_points)
      || coalesce(',"left":' || CAST(o.left_titles AS VARCHAR), '') || '}' AS json
  FROM objects_before o LEFT JOIN items i USING (object) WHERE i.object IS NULL OR i.org_unit_ref <> o.org_unit_ref;

-- name: list_messages
-- In: item_changes; settled. Out: the messages, and whether each is about an accepted line item.
SELECT body, CAST(was_accepted AS INTEGER) FROM item_changes JOIN settled USING (id) WHERE body IS NOT NULL ORDER BY id;

-- name: count
-- In: items_before; settled. Out: how many were accepted, how many of them are gone, and how many there are.
SELECT (SELECT count(*) FROM items_before),
  (SELECT count(*) FROM items_before ANTI JOIN settled USING (object) ANTI JOIN settled USING (id)), (SELECT count(*) FROM settled);

-- name: count_fates
-- In: read_rows; refused_items; item_changes. Out: by row_result, the rows of the file.
SELECT result_of_row(r.problem, r.status,
  CASE WHEN t.id IS NOT NULL THEN 'refused' WHEN d.body IS NOT NULL THEN 'sent' ELSE 'unchanged' END) AS row_result, count(*)
FROM read_rows r LEFT JOIN refused_items t USING (id) LEFT JOIN item_changes d USING (id) GROUP BY ALL;
