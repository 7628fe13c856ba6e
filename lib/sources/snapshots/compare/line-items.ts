import { rowsOf, type Table } from '../../../runtime/files/tables/table.ts';
import { countRows, refusedStill, reportRows } from '../package/rows.ts';
import { type Comparison, countsOf, type EventCheck, type Mode, separator } from './comparison.ts';
import { eventOf } from './wanted.ts';

const name = 'lineItems';
const file = 'lineItems.csv';

/** Until then it counts as the title of the grade object that left it: the platform may have refused the new title. */
type LeftTitle = { name: string; untilMs: number };

/** Longer than a message waits, its letter is kept and the ledger remembers. */
const titleHeldMs = 40 * 24 * 3_600_000;
/** Maximum number of former names in a message. */
const maxLeft = 10;

const columns = {
  ...{ id: 'sourcedId', title: 'title', class: 'classSourcedId', points: 'resultValueMax', status: 'status' },
};

/**
 * Line items are grade objects of org units, which the platform knows by their titles. `items_was`: what was accepted. `wanted`: what
 * each line item is to be, beside what it was (`was_…`). `objects_was`: the grade objects that the platform has, also those without a line
 * item. A grade object is known by its org unit and title, and keeps its id (`object`) while its line item gets another title, or another
 * line item its title: grades are known by it. No two line items have the same one.
 */
export const itemsOfState = `
  CREATE TABLE items_was AS
    SELECT key AS id, thing_of(f.data.orgUnitId, f.data.orgUnitCode) AS org, f.data.orgUnitCode AS code, f.data.name AS title, nfc_normalize(f.data.name) AS norm, f.data.maxPoints AS points,
      f.class, f.left, coalesce(f.object, key) AS object, f.formers, f.outOf AS out_of
    FROM (SELECT key, from_json(data, '{"data": {"orgUnitCode": "VARCHAR", "orgUnitId": "VARCHAR", "name": "VARCHAR", "maxPoints": "DOUBLE"},
        "class": "VARCHAR", "left": "JSON", "object": "VARCHAR", "formers": "VARCHAR", "outOf": "VARCHAR"}') AS f FROM state WHERE kind = '1');
`;

const tables = (number: number, droppedMs: number): string => `
  ${itemsOfState}
  -- An org unit that was known by its code alone.
  UPDATE items_was SET org = thing_of(t.platform_id, code) FROM things_was t
    WHERE t.letter = 'c' AND t.name = items_was.code AND t.platform_id IS NOT NULL AND id_in_thing(items_was.org) IS NULL;
  CREATE TABLE objects_was AS
    SELECT id, object, org, code, title, norm, points, "left" FROM items_was
    UNION ALL
    SELECT NULL, key, thing_of(coalesce(f.data.orgUnitId, t.platform_id), f.data.orgUnitCode), f.data.orgUnitCode, f.data.name, nfc_normalize(f.data.name), f.data.maxPoints,
      CASE WHEN list_max(CAST(f.left ->> '$[*].untilMs' AS BIGINT[])) > ${droppedMs} THEN f.left END
    FROM (SELECT key, from_json(data, '{"data": {"orgUnitCode": "VARCHAR", "orgUnitId": "VARCHAR", "name": "VARCHAR", "maxPoints": "DOUBLE"}, "left": "JSON"}') AS f
      FROM state WHERE kind = 'O') LEFT JOIN things_was t ON t.letter = 'c' AND t.name = f.data.orgUnitCode;
  CREATE TABLE items_read (line BIGINT, id VARCHAR, row VARCHAR, title VARCHAR, class VARCHAR, points DOUBLE, status VARCHAR, org VARCHAR, code VARCHAR, problem VARCHAR[]);
  CREATE TABLE titles (id VARCHAR, object VARCHAR, owner VARCHAR, is_taken BOOLEAN, is_double BOOLEAN, is_left BOOLEAN);
  CREATE TABLE circles (id VARCHAR, owner VARCHAR);
  CREATE TABLE refused_items (id VARCHAR, col VARCHAR, problem VARCHAR);
  CREATE TABLE clashing (id VARCHAR);
  CREATE TABLE told (id VARCHAR, lefts VARCHAR, formers VARCHAR, col VARCHAR, problem VARCHAR, body VARCHAR);
  CREATE MACRO new_object(id) AS id || chr(31) || ${number};
`;

const readItems = (table: Table, maximum: number | undefined): string => `
  INSERT INTO items_read
    SELECT r.line, r.id, CASE WHEN is_id(r.id) THEN r.id ELSE '#' || r.line END, r.title, r.class, number_in(r.points), r.status, c.thing, c.name, CASE
      WHEN NOT is_id(r.id) THEN ['sourcedId', 'is not an id']
      WHEN is_gone(status) THEN NULL
      WHEN status NOT IN ('', 'active') THEN ['status', 'must be active, inactive or tobedeleted']
      WHEN coalesce(title, '') = '' OR has_control(title) THEN ['title', 'must be one line, and not empty']
      WHEN points = '' THEN ['resultValueMax', 'is empty. To give such line items a maximum, set "resultValueMax": 100 in snapshot-settings.json', 'withoutMaximum']
      WHEN number_in(points) IS NULL THEN ['resultValueMax', 'must be a number such as 100 or 7.5']
      WHEN c.id IS NULL THEN ['classSourcedId', 'names no row of classes.csv', 'notInPackage']
      WHEN c.problem IS NOT NULL THEN ['classSourcedId', c.problem, c.fate] END
    FROM (SELECT line, id, title, class, ${maximum === undefined ? 'trimmed(points)' : `coalesce(nullif(trimmed(points), ''), '${maximum}')`} AS points,
        word_in(status) AS status FROM (${rowsOf(table, columns)})) r
      LEFT JOIN names c ON c.letter = 'c' AND c.id = r.class`;

const problemOfSame = `['sourcedId', 'another row has the same sourcedId, but differs']`;

/** Which line items must exist. An unreadable one stays as it was, as does one that a delta does not name. */
const choose = ({ isWhole, isBulk }: { isWhole: boolean; isBulk: boolean }): string => `
  CREATE TABLE items_differ AS
    SELECT id FROM items_read WHERE problem IS NULL GROUP BY id
    HAVING count(DISTINCT CASE WHEN is_gone(status) THEN '' ELSE concat_ws(chr(31), title, class, points) END) > 1;
  UPDATE items_read SET problem = ${problemOfSame} WHERE problem IS NULL AND id IN (FROM items_differ);
  INSERT INTO refused (grp, row, a, b) SELECT '${name}', row, NULL, NULL FROM items_read WHERE problem IS NOT NULL;
  ${reportRows(file, 'items_read')}
  ${isBulk ? '' : refusedStill(name, { read: 'items_read', a: 'NULL' })}
  CREATE TABLE wanted AS
    SELECT w.*, nfc_normalize(w.title) AS norm, b.org AS was_org, b.title AS was_title, b.norm AS was_norm, b.points AS was_points,
      b.left AS was_left, b.object AS was_object, b.id IS NOT NULL AND b.org = w.org AND b.norm = nfc_normalize(w.title) AS stays
    FROM (
      SELECT id, any_value(title) AS title, any_value(class) AS class, any_value(points) AS points, any_value(org) AS org, any_value(code) AS code, min(line) AS line
      FROM items_read WHERE problem IS NULL AND NOT is_gone(status) GROUP BY id
      UNION ALL
      SELECT w.id, w.title, w.class, w.points, CASE WHEN c.problem IS NULL THEN coalesce(c.thing, w.org) ELSE w.org END,
        CASE WHEN c.problem IS NULL THEN coalesce(c.name, w.code) ELSE w.code END, NULL
      FROM items_was w LEFT JOIN names c ON c.letter = 'c' AND c.id = w.class
      -- One that also has a row that can be used is there already.
      WHERE ${isWhole ? 'w.id IN (SELECT id FROM items_read WHERE problem IS NOT NULL) AND' : ''}
        w.id NOT IN (SELECT id FROM items_read WHERE problem IS NULL)
    ) w LEFT JOIN items_was b USING (id);
`;

/**
 * A title that is new for its line item may be that of a grade object which the platform has. Then that is free if no line item has it, if
 * the one that has it goes or moves to another org unit, or if that one takes a free grade object itself: in a circle, all pass on theirs.
 * Grade objects that are passed on stay as they are, and grades go to the others. It is not free if the line item that has it gets another
 * title for it, as nobody knows whether the platform takes that.
 */
const judgeTitles = (droppedMs: number): string => `
  INSERT INTO titles
    SELECT w.id, o.object, o.id AS owner, x.id IS NOT NULL AS is_taken, n.rows > 1 AS is_double, l.org IS NOT NULL AS is_left
    FROM (SELECT * FROM wanted WHERE NOT stays) w
      JOIN (SELECT org, norm, count(*) AS rows FROM wanted GROUP BY org, norm) n USING (org, norm)
      LEFT JOIN objects_was o ON o.org = w.org AND o.norm = w.norm
      LEFT JOIN wanted x ON x.id = o.id AND x.org = o.org
      LEFT JOIN (SELECT DISTINCT id AS of, org, nfc_normalize(t ->> 'name') AS norm
        FROM (SELECT id, org, unnest(CAST("left" AS JSON[])) AS t FROM objects_was WHERE "left" IS NOT NULL)
        WHERE CAST(t ->> 'untilMs' AS BIGINT) > ${droppedMs}) l
        ON l.org = w.org AND l.norm = w.norm AND l.of IS DISTINCT FROM w.id;
  INSERT INTO circles SELECT id, owner FROM titles WHERE is_taken AND NOT is_double AND NOT is_left`;

/** A line item that is neither in a circle nor takes something free leads out of it eventually; it is removed. */
const narrow = `
  DELETE FROM circles WHERE owner NOT IN (
    SELECT id FROM circles UNION ALL SELECT id FROM titles WHERE object IS NOT NULL AND NOT is_taken AND NOT is_double AND NOT is_left)`;
const maxCircle = 100;

const sameTitle = `'two line items of one org unit have this title'`;

/** Two line items whose classes were not known to be one org unit. The platform has one grade object of their title. */
const findClashing = `
  INSERT INTO clashing
    SELECT id FROM wanted SEMI JOIN (SELECT org, norm FROM wanted WHERE stays GROUP BY org, norm HAVING count(*) > 1) USING (org, norm) WHERE stays`;

const refuseTitles = `
  INSERT INTO refused_items SELECT id, 'title', ${sameTitle} FROM clashing;
  INSERT INTO refused_items
    SELECT DISTINCT id, 'title', CASE WHEN is_double THEN ${sameTitle}
      ELSE 'another line item of the class had this title in the last 40 days. Give this one another title' END
    FROM titles ANTI JOIN clashing USING (id) WHERE is_double OR is_left OR (is_taken AND id NOT IN (SELECT id FROM circles))`;

/** A refused line item keeps its grade object, so the line item that was to take that is refused, too. */
const settle = `
  INSERT INTO refused_items
    WITH RECURSIVE staying AS (
      SELECT id FROM refused_items UNION SELECT t.id FROM titles t JOIN staying s ON t.owner = s.id)
    SELECT id, 'title', 'another line item of the class keeps this title, as its row was refused. Correct that row, or give this one another title'
    FROM staying ANTI JOIN refused_items USING (id);
  CREATE OR REPLACE TABLE taken AS
    SELECT t.id AS taker, o.* FROM titles t JOIN objects_was o USING (object) ANTI JOIN refused_items r ON r.id = t.id;
  -- Each as it is to be, with what its grade object was. One without a line item may have been deleted: it is created again, which changes
  -- nothing if it is there.
  CREATE OR REPLACE TABLE settled AS
    SELECT w.id, w.line, w.class, w.org, w.code, w.title, w.points,
      CASE WHEN o.object IS NOT NULL THEN o.object WHEN w.was_object IS NULL OR w.was_object IN (SELECT object FROM taken) THEN new_object(w.id)
        ELSE w.was_object END AS object,
      CASE WHEN o.id IS NULL AND o.left IS NULL AND o.title = w.title AND o.points = w.points THEN NULL WHEN o.object IS NOT NULL THEN o.title
        WHEN w.was_org = w.org THEN w.was_title END AS former,
      CASE WHEN o.object IS NOT NULL THEN o.points WHEN w.was_org = w.org THEN w.was_points END AS former_points,
      CASE WHEN o.object IS NOT NULL THEN o.left WHEN w.was_org = w.org THEN w.was_left END AS lefts, w.was_object IS NOT NULL AS had
    FROM wanted w LEFT JOIN taken o ON o.taker = w.id ANTI JOIN refused_items r ON r.id = w.id
    UNION ALL
    SELECT b.id, NULL, b.class, b.org, b.code, b.title, b.points, b.object, b.title, b.points, b.left, true
    FROM items_was b SEMI JOIN refused_items r ON r.id = b.id`;

const report = `
  INSERT INTO problems SELECT '${file}', w.line, r.col, r.problem FROM refused_items r JOIN wanted w USING (id);
  INSERT INTO refused (grp, row, a, b) SELECT '${name}', CASE WHEN w.line IS NULL THEN chr(31) || id ELSE id END, NULL, NULL FROM refused_items JOIN wanted w USING (id)`;

/**
 * `items`: what grades state about their grade objects, as that is to be: a grade waits until the platform shows the maximum out of
 * which it is. A grade object without a line item stays on the platform, and is known until a line item takes it. The id of a grade object whose line
 * item moved went with it.
 */
const finish = `
  CREATE TABLE items (id VARCHAR, object VARCHAR, org VARCHAR, code VARCHAR, title VARCHAR, formers VARCHAR, out_of VARCHAR, clashes BOOLEAN);
  INSERT INTO items
    SELECT s.id, s.object, s.org, s.code, s.title, t.formers, number_text(s.points) AS out_of, s.id IN (FROM clashing) AS clashes
    FROM settled s LEFT JOIN told t USING (id);
  -- Otherwise grades would be joined with the other's, too. A constraint would keep an index in memory.
  SELECT CASE WHEN count(object) <> count(DISTINCT object) THEN error('two line items have one grade object') END FROM items;
  CREATE MACRO object_json(org, code, title, points) AS
    '"data":{"orgUnitCode":' || to_json(code) || coalesce(',"orgUnitId":' || id_in_thing(org), '') || ',"name":' || to_json(title)
      || ',"maxPoints":' || number_text(points) || '}';
  CREATE TABLE item_lines AS
    SELECT s.id, '{' || object_json(s.org, s.code, s.title, s.points) || ',"class":' || to_json(s.class) || ',"object":' || to_json(s.object)
      || CASE WHEN t.lefts IS NULL THEN '' ELSE ',"left":' || t.lefts END || coalesce(',"outOf":' || i.out_of, '')
      || coalesce(',"formers":' || to_json(i.formers), '') || '}' AS json
    FROM settled s LEFT JOIN told t USING (id) JOIN items i USING (id);
  CREATE TABLE object_lines AS
    SELECT CASE WHEN i.object IS NULL THEN o.object ELSE new_object(o.id) END AS object,
      '{' || object_json(o.org, o.code, o.title, o.points) || coalesce(',"left":' || CAST(o.left AS VARCHAR), '') || '}' AS json
    FROM objects_was o LEFT JOIN items i USING (object) WHERE i.object IS NULL OR i.org <> o.org;
`;

/** Sends the changes of line items, and makes the table `items`. */
export const settleLineItems = async (
  table: Table | undefined,
  mode: Mode,
  comparison: Comparison,
): Promise<void> => {
  const { sets, number, droppedMs, settings } = comparison;
  await sets.run(tables(number, droppedMs));
  if (table) await sets.run(readItems(table, settings.resultValueMax), [table.path]);
  const [illegible = 0] =
    (await sets.row<[number]>(`
      SELECT (SELECT count(*) FROM refused WHERE grp = '${name}')
        + (SELECT count(*) FROM items_read WHERE problem[1] = 'sourcedId')`)) ?? [];
  const isBulk = mode === 'bulk';
  await sets.run(choose({ isWhole: isBulk && illegible === 0, isBulk }));
  await sets.run(findClashing);
  const [hasTitles] = (await sets.row<[number]>('SELECT EXISTS (FROM wanted WHERE NOT stays)')) ?? [];
  if (hasTitles) await sets.run(judgeTitles(droppedMs));
  const circles = async (): Promise<number> =>
    (await sets.row<[number]>('SELECT count(*) FROM circles'))?.[0] ?? 0;
  let left = hasTitles ? await circles() : 0;
  for (let round = 0; left > 0; round += 1) {
    await sets.run(round < maxCircle ? narrow : 'DELETE FROM circles');
    const now = await circles();
    if (now === left) break;
    left = now;
  }
  await sets.run(`${refuseTitles}; ${settle}`);
  const mayChange = 'former IS NULL OR former <> title OR former_points <> points OR lefts IS NOT NULL';
  if (await tell(mayChange, comparison)) {
    await sets.run(`${refuseUnfit}; ${settle}; DELETE FROM told WHERE id IN (SELECT id FROM refused_items)`);
    await tell('id IN (SELECT id FROM refused_items)', comparison);
  }
  await sets.run(report);
  await sets.run(finish);
  await send(comparison);
  await count(comparison);
  await countRows(comparison, file, fatesOfRows);
};

const fatesOfRows = `
  SELECT CASE WHEN r.problem IS NOT NULL THEN coalesce(r.problem[3], 'refused') WHEN is_gone(r.status) THEN fate_of_gone(r.status)
      WHEN t.id IS NOT NULL THEN 'refused' WHEN d.body IS NOT NULL THEN 'sent' ELSE 'unchanged' END AS fate, count(*)
  FROM items_read r LEFT JOIN refused_items t USING (id) LEFT JOIN told d USING (id) GROUP BY ALL`;

/** What the function would refuse. */
const refuseUnfit = `INSERT INTO refused_items SELECT id, col, problem FROM told WHERE problem IS NOT NULL`;

type Changed = [
  id: string,
  org: string,
  title: string,
  points: number,
  former: string | null,
  formerPoints: number | null,
  lefts: string | null,
];

/**
 * Fills the table `told` with the titles that grade objects have left, and with the events. Returns whether the function would
 * refuse some.
 */
const tell = async (which: string, comparison: Comparison): Promise<boolean> => {
  const { sets, check, droppedMs } = comparison;
  const fits = byParts(check);
  let isRefused = false;
  const statement = `SELECT id, CASE WHEN code IN (SELECT name FROM doubtful_names WHERE field = 'orgUnitCode') THEN code ELSE org END, title, points, former,
    former_points, CAST(lefts AS VARCHAR) FROM settled WHERE ${which}`;
  for await (const batch of sets.rows<Changed>(statement)) {
    const told = batch.map((item) => {
      const [id] = item;
      const left = leftOf(item, droppedMs);
      const event = changeOf(item, left);
      const body = event && eventOf(comparison, { ...event, kind: '1', key: id });
      const problem = event && fits(event, body ?? '');
      const names = left.map((each) => each.name);
      const texts = left.length === 0 ? [null, null] : [JSON.stringify(left), JSON.stringify(names)];
      isRefused ||= problem !== undefined;
      return [id, ...texts, problem ? columnOf(problem) : null, problem ?? null, body ?? null];
    });
    await sets.add('told', told);
  }
  return isRefused;
};

const columnOf = (problem: string): string => {
  if (problem.includes('data.maxPoints')) return 'resultValueMax';
  return problem.includes('data.orgUnit') ? 'classSourcedId' : 'title';
};

const send = async (comparison: Comparison): Promise<void> => {
  const { sets, changes } = comparison;
  const counts = countsOf(comparison, name);
  const statement = `SELECT body, CAST(had AS INTEGER) FROM told JOIN settled USING (id) WHERE body IS NOT NULL ORDER BY id`;
  for await (const batch of sets.rows<[string, number]>(statement)) {
    for (const [, had] of batch) counts[had === 1 ? 'updated' : 'created'] += 1;
    await changes.add(batch.map(([body]) => body));
  }
};

/** A creation is checked once for each code, title and maximum, however many line items have it. */
const byParts = (check: EventCheck) => {
  const seen = new Set<string>();
  return ({ function: name, data }: { function: string; data: object }, body: string): string | undefined => {
    const parts = Object.entries(data).map((part) => part.join(separator));
    if (name === 'grade-object-create' && parts.every((part) => seen.has(part))) return undefined;
    const problem = check(name, body);
    if (problem === undefined && name === 'grade-object-create') for (const part of parts) seen.add(part);
    return problem;
  };
};

/** The change to send; undefined: none. */
const changeOf = (
  [, org, title, maxPoints, former, formerPoints]: Changed,
  left: readonly LeftTitle[],
): { function: string; data: object } | undefined => {
  // As `thing_of` writes it.
  const orgUnit = org.startsWith('\u0002') ? { orgUnitId: Number(org.slice(1)) } : { orgUnitCode: org };
  if (former === null)
    return {
      function: 'grade-object-create',
      data: { ...orgUnit, type: 'numeric', name: title, maxPoints },
    };
  const change = {
    ...(former !== title && { name: title }),
    ...(formerPoints !== maxPoints && { maxPoints }),
  };
  if (Object.keys(change).length === 0) return undefined;
  // A copy that comes after a rename must find the grade object, too.
  const which = {
    ...{ ...orgUnit, gradeObjectName: title, type: 'numeric' },
    ...(left.length > 0 && { gradeObjectFormerNames: left.map((each) => each.name) }),
  };
  return { function: 'grade-object-update', data: { ...which, ...change } };
};

/** The titles that its grade object has left. */
const leftOf = ([, , title, , former, , lefts]: Changed, nowMs: number): LeftTitle[] => {
  if (former === null) return [];
  const before = lefts === null ? [] : (JSON.parse(lefts) as LeftTitle[]);
  return [...before.filter((each) => each.name !== former), { name: former, untilMs: nowMs + titleHeldMs }]
    .filter((each) => each.untilMs > nowMs && each.name.normalize() !== title.normalize())
    .slice(-maxLeft);
};

const count = async (comparison: Comparison): Promise<void> => {
  const { sets, acceptedCounts, changedCounts } = comparison;
  const [was = 0, left = 0, all = 0] =
    (await sets.row<[number, number, number]>(`
      SELECT (SELECT count(*) FROM items_was), (SELECT count(*) FROM items_was ANTI JOIN settled USING (object) ANTI JOIN settled USING (id)),
        (SELECT count(*) FROM settled)`)) ?? [];
  if (was + all === 0) return;
  const counts = countsOf(comparison, name);
  counts.removed += left;
  counts.unchanged += all - counts.created - counts.updated;
  acceptedCounts[name] = was;
  changedCounts[name] = counts.updated;
};
