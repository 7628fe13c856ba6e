import { rowsOf, type Table } from '../../../runtime/files/tables/table.ts';
import { UnusableSnapshot } from '../unusable.ts';
import type { FurtherName } from './manifest.ts';
import type { Package } from './package.ts';
import { loadSamePeople } from './passed.ts';
import { openFile, type Reading } from './reading.ts';
import { addReadRows, countRows, refusedStill } from './rows.ts';
import { type LinkedRow, linkedRows, type NamePart, namePartsIn, type UserField } from './settings-file.ts';

/** Represents the name of an id that has two: no name contains it. */
const ambiguous = 'chr(127)';

/** A record of the SIS that has a name on the platform. */
export type RecordType = 'class' | 'user';

type Named = {
  name: 'classes' | 'users';
  type: RecordType;
  /** The column or the template, as in the settings. */
  setting: string;
  key: string;
  parts: NamePart[];
};

/**
 * Fills the tables `names`, `renamed`, `merged_names` and `former_ids`: the names of classes and users, what they stand for on the platform, or
 * why they are unknown; former names without a bearer, with the one name that all former bearers have now; former names of users that
 * other users have now; and what is known now of former names. `lastField`: the platform's field that named users when the last snapshot was
 * accepted.
 */
export const readNames = async (
  reading: Reading,
  lastField: UserField,
): Promise<{ users: Table | undefined }> => {
  const { comparison, given } = reading;
  const { sets, settings } = comparison;
  const { orgUnitCode, user } = settings;
  await sets.run(`
    INSERT INTO names_before SELECT record_type, source_id, name, active, coalesce(org_unit_id, user_id) FROM state_names;
    CREATE MACRO field_of(record_type) AS CASE record_type WHEN 'class' THEN 'orgUnitCode' ELSE '${user.field}' END;
    CREATE MACRO field_before(record_type) AS CASE record_type WHEN 'class' THEN 'orgUnitCode' ELSE '${lastField}' END`);
  const classes: Named = {
    ...{ name: 'classes', type: 'class', setting: orgUnitCode, parts: namePartsIn(orgUnitCode) ?? [] },
    key: '"orgUnitCode": "sourcedId"',
  };
  const users: Named = {
    ...{ name: 'users', type: 'user', setting: user.column, parts: namePartsIn(user.column) ?? [] },
    key: `"user": { "field": "${user.field}", "column": "sourcedId" }`,
  };
  const tables: Partial<Record<Named['name'], Table>> = {};
  for (const named of [classes, users]) {
    const { name, type } = named;
    const table = await openFile(reading, name);
    await sets.run(
      `CREATE OR REPLACE TABLE named (line BIGINT, id VARCHAR, name VARCHAR, status VARCHAR, source_row VARCHAR, column_name VARCHAR, problem VARCHAR)`,
    );
    if (table) await addNamed(table, named, reading);
    if (table) tables[name] = table;
    await sets.run(`
      INSERT INTO problems SELECT '${name}.csv', line, column_name, problem FROM named WHERE problem IS NOT NULL;
      INSERT INTO refused_rows (kind_name, source_row, org_unit_or_object, user_name) SELECT '${name}', source_row, NULL, NULL FROM named WHERE problem IS NOT NULL;
      INSERT INTO names_now (record_type, id, name, active)
        SELECT '${type}', id, CASE WHEN min(name) <> max(name) THEN ${ambiguous} ELSE min(name) END,
          max(CASE WHEN is_gone(status) THEN 0 ELSE 1 END)
        FROM named WHERE problem IS NULL GROUP BY id;
      ${given.modes[name] === 'bulk' ? '' : asBefore(named)}`);
    if (table)
      await countRows(
        comparison,
        `${name}.csv`,
        `SELECT CASE WHEN problem IS NOT NULL THEN 'refused' WHEN is_gone(status) THEN fate_of_gone(status)
           WHEN name = '' THEN 'withoutName' ELSE 'read' END AS fate, count(*) FROM named GROUP BY fate`,
      );
  }
  const problemOf = ({ type, name }: Named, first: number): string => `
    WHEN n.record_type = '${type}' AND n.name = '' THEN $${first}
    WHEN n.record_type = '${type}' AND n.name = ${ambiguous} THEN 'two rows of ${name}.csv have this sourcedId, but different names'`;
  await sets.run(findFormer);
  await loadSamePeople(comparison);
  await sets.run(findPassed);
  await sets.run(
    `CREATE TABLE names AS
       SELECT n.record_type, n.id, n.name, n.active, CASE WHEN p.id IS NULL THEN coalesce(k.id, f.platform_id) ELSE f.platform_id END AS platform_id,
         ref_of(coalesce(k.id, f.platform_id), n.name) AS ref,
         CASE ${problemOf(classes, 1)} ${problemOf(users, 2)}
           WHEN s.name IS NOT NULL THEN 'its row in users.csv has the same ' || $3 || ' as another row'
           WHEN p.id IS NOT NULL THEN ${passedText} END AS problem,
         CASE WHEN n.name = '' THEN 'withoutName' WHEN s.name IS NULL AND p.id IS NOT NULL THEN 'namePassed' END AS fate
       FROM names_now n
         -- Sections of one course have the same code.
         LEFT JOIN (
           SELECT record_type, name FROM names_now WHERE record_type = 'user' AND active = 1 AND name NOT IN ('', ${ambiguous})
           GROUP BY record_type, name HAVING count(*) > 1) s USING (record_type, name)
         LEFT JOIN passed p ON n.record_type = 'user' AND p.id = n.id
         LEFT JOIN known_names k ON k.field = field_of(n.record_type) AND k.name = n.name
         LEFT JOIN former f ON f.record_type = n.record_type AND f.id = n.id`,
    [namelessText(classes), namelessText(users), users.setting],
  );
  await sets.run(`
    CREATE TABLE former_ids AS
      SELECT record_type, name, min(known_id) AS platform_id, bool_or(known_id IS DISTINCT FROM last_id) AS is_new
      FROM former WHERE known_id IS NOT NULL GROUP BY record_type, name HAVING count(DISTINCT known_id) = 1;
    CREATE TABLE renamed AS
      SELECT w.record_type, w.name AS old_name, min(n.name) AS new_name, max(n.active) AS active FROM names_before w JOIN names n USING (record_type, id)
      WHERE w.name NOT IN ('', ${ambiguous})
      GROUP BY w.record_type, w.name HAVING bool_and(n.problem IS NULL AND n.name <> w.name) AND min(n.name) = max(n.name);
    CREATE TABLE merged_names AS
      SELECT DISTINCT new_name AS name FROM renamed WHERE record_type = 'user' AND new_name IN (SELECT name FROM names_before WHERE record_type = 'user')`);
  return { users: tables.users };
};

/**
 * What a delta does not name, or names in an unusable way, stays as it was. So does the name of what it deletes by its id alone. Of a
 * record whose name passed, `names_before` has the former one.
 */
const asBefore = ({ name, type }: Named): string => `
  UPDATE names_now SET name = w.name FROM names_before w
    WHERE w.record_type = '${type}' AND names_now.record_type = w.record_type AND names_now.id = w.id AND names_now.name = '' AND names_now.active = 0;
  INSERT INTO names_now
    SELECT w.record_type, w.id, coalesce(p.name, w.name), w.active FROM names_before w ANTI JOIN (FROM named WHERE problem IS NULL) n USING (id)
      LEFT JOIN state_passed_names p ON w.record_type = 'user' AND p.source_id = w.id WHERE w.record_type = '${type}';
  ${refusedStill(name, { read: 'named' })}`;

/** The records of before, and what they stood for: what is known of a name now counts only if it is no other record's name now. */
const findFormer = `
  CREATE TABLE former AS
    SELECT w.record_type, w.id, w.name, w.active, coalesce(w.platform_id, k.id) AS platform_id, w.platform_id AS last_id, k.id AS known_id
    FROM names_before w
      LEFT JOIN (SELECT record_type, name, min(id) AS lowest, max(id) AS highest FROM names_now GROUP BY record_type, name) x
        ON x.record_type = w.record_type AND x.name = w.name
      LEFT JOIN known_names k ON k.field = field_before(w.record_type) AND k.name = w.name AND (x.name IS NULL OR (x.lowest = w.id AND x.highest = w.id))`;

/**
 * Records whose user name was that of another active record, which has it no more, while the crosswalk still gives what that one stood
 * for. Whether they are one person is unknown, so nothing is sent by this name until the crosswalk gives another id or an operator has
 * accepted that they are.
 */
const findPassed = `
  CREATE TABLE passed AS
    SELECT DISTINCT n.id, n.name, k.id AS platform_id FROM names_now n JOIN names_before w ON w.record_type = 'user' AND w.name = n.name AND w.id <> n.id AND w.active = 1
      JOIN known_names k ON k.field = field_of('user') AND k.name = n.name
      LEFT JOIN names_now f ON f.record_type = 'user' AND f.id = w.id AND f.name = n.name AND f.active = 1
      LEFT JOIN names_before b ON b.record_type = 'user' AND b.id = n.id
    WHERE n.record_type = 'user' AND n.active = 1 AND f.id IS NULL AND field_of('user') = field_before('user') AND k.id = coalesce(w.platform_id, k.id)
      AND b.name IS DISTINCT FROM n.name AND b.platform_id IS DISTINCT FROM k.id
      AND (n.name, k.id) NOT IN (SELECT (name, id) FROM same_people)
    UNION
    SELECT s.source_id, n.name, k.id FROM state_passed_names s
      JOIN names_now n ON n.record_type = 'user' AND n.id = s.source_id AND n.name = s.name AND n.active = 1
      JOIN known_names k ON k.field = field_of('user') AND k.name = n.name AND k.id = s.user_id
    WHERE (n.name, k.id) NOT IN (SELECT (name, id) FROM same_people)`;

const passedText =
  `'its user name was that of another record, and the crosswalk still gives that one''s account. If both are one person,
  accept the name by sis-relay crosswalk accept. Otherwise its rows are used when the crosswalk gives another account'`.replace(
    /\n */,
    ' ',
  );

const helpOf = ({ key }: Named): string => `To use another column, set ${key} in snapshot-settings.json`;

const namelessText = (named: Named): string =>
  named.parts.length === 1
    ? `its row in ${named.name}.csv has no ${named.setting}. ${helpOf(named)}`
    : `its row in ${named.name}.csv has no name by ${named.setting}: a part is empty, is not in the package, or has two values. ${helpOf(named)}`;

/** By the record: its file, the columns of a row that identify it, and those of its name and of what that stands for. */
const joinedNames: Record<RecordType, { file: string; id: string; name: string; of: string }> = {
  class: { file: 'classes.csv', id: 'class_source_id', name: 'org_unit_or_object', of: 'org_unit' },
  user: { file: 'users.csv', id: 'user_source_id', name: 'user_name', of: 'user' },
};

/** Joins the name of the class or user to each row, or the reason why the name is not known. */
export const withName = (type: RecordType, rows: string): string => {
  const { file, id, name, of } = joinedNames[type];
  return `(SELECT r.*, CASE WHEN n.problem IS NULL THEN n.name END AS ${name}, CASE WHEN n.problem IS NULL THEN n.ref END AS ${of}_ref,
      CASE WHEN n.id IS NULL THEN 'names no row of ${file}' ELSE n.problem END AS ${of}_problem,
      CASE WHEN n.id IS NULL THEN 'notInPackage' ELSE n.fate END AS ${of}_fate
    FROM ${rows} r LEFT JOIN names n ON n.record_type = '${type}' AND n.id = r.${id})`;
};

/** By the column names of versions 1.0 to 1.2, and of Microsoft’s School Data Sync. */
const links: Record<LinkedRow, { file: FurtherName; columns: readonly string[] }> = {
  course: { file: 'courses', columns: ['courseSourcedId'] },
  term: { file: 'academicSessions', columns: ['termSourcedIds', 'termSourcedId', 'sessionSourcedIds'] },
  school: {
    file: 'orgs',
    columns: ['schoolSourcedId', 'primaryOrgSourcedId', 'orgSourcedIds', 'orgSourcedId'],
  },
};

const addNamed = async (table: Table, named: Named, reading: Reading): Promise<void> => {
  const { name, parts, setting } = named;
  const { sets } = reading.comparison;
  const own: Record<string, string> = {};
  for (const [place, part] of parts.entries())
    if ('of' in part && part.of === 'itself') {
      if (table.at(part.column) < 0)
        throw new UnusableSnapshot(`${name}.csv has no column ${part.column}. ${helpOf(named)}`);
      own[`v${place}`] = part.column;
    }
  const linked = await addLinked(table, named, reading);
  const joins = linked.map(
    (place) => `LEFT JOIN linked_names l${place} ON l${place}.line = r.line AND l${place}.place = ${place}`,
  );
  const texts: string[] = [];
  const cells: string[] = [];
  const pieces = parts.map((part, place) => {
    if ('text' in part) return `$${texts.push(part.text) + 2}`;
    const cell = part.of === 'itself' ? `trimmed(r.v${place})` : `coalesce(l${place}.value, '')`;
    cells.push(cell);
    return cell;
  });
  // Two names that lack different parts could look the same.
  const whole =
    pieces.length === 1
      ? pieces[0]
      : `CASE WHEN ${cells.map((cell) => `${cell} = ''`).join(' OR ')} THEN '' ELSE ${pieces.join(' || ')} END`;
  await sets.run(
    `INSERT INTO named SELECT line, id, name, status, CASE WHEN is_id(id) THEN '=' || id ELSE row_without_id(concat_ws(chr(31), id, name)) END,
       CASE WHEN NOT is_id(id) THEN 'sourcedId' ELSE $2 END,
       CASE WHEN NOT is_id(id) THEN 'is not an id: it is empty, too long, or has control characters'
         WHEN has_control(name) OR length(name) > 255 THEN 'is not a name: it is too long, or has control characters' END
     FROM (SELECT r.line, r.id, word_in(r.status) AS status, ${whole} AS name
       FROM (${rowsOf(table, { id: 'sourcedId', status: 'status', ...own })}) r ${joins.join(' ')})`,
    [table.path, setting, ...texts],
  );
};

/** Reads the parts of names from other files into the table `linked_names`. Returns the places of those parts. */
const addLinked = async (table: Table, named: Named, { comparison, given }: Reading): Promise<number[]> => {
  const { name, parts, setting } = named;
  const { sets } = comparison;
  const settingName = `${setting} in snapshot-settings.json`;
  refuseParts(given, { parts, settingName });
  const places: number[] = [];
  for (const row of linkedRows) {
    const wanted = parts.flatMap((part, place) =>
      'of' in part && part.of === row ? { column: part.column, place } : [],
    );
    if (wanted.length === 0) continue;
    const { file, columns } = links[row];
    const link = columns.find((column) => table.at(column) >= 0);
    if (link === undefined)
      throw new UnusableSnapshot(
        `${name}.csv has no column ${columns[0]}. ${settingName} needs it to find the ${row}. ${helpOf(named)}`,
      );
    const others = await given.read(file, ['sourcedId']);
    const lacking = wanted.find(({ column }) => others.at(column) < 0);
    if (lacking) throw new UnusableSnapshot(`${file}.csv has no column ${lacking.column}. ${helpOf(named)}`);
    if (comparison.rows[`${file}.csv`] === undefined) await addReadRows(comparison, file, others);
    // A user may have several schools, and a class several terms: they are usable in a name if all have the same value.
    const ids = /s$/.test(link)
      ? `list_filter(string_split(coalesce(ids, ''), ','), lambda each: trimmed(each) <> '')`
      : `[coalesce(ids, '')]`;
    if (places.length === 0)
      await sets.run('CREATE OR REPLACE TABLE linked_names (line BIGINT, place BIGINT, value VARCHAR)');
    for (const { column, place } of wanted) {
      places.push(place);
      await sets.run(
        `CREATE OR REPLACE TABLE linked AS
           SELECT id, CASE WHEN min(value) = max(value) THEN min(value) ELSE '' END AS value
           FROM (SELECT trimmed(id) AS id, trimmed(value) AS value FROM (${rowsOf(others, { id: 'sourcedId', value: column })})) GROUP BY id`,
        [others.path],
      );
      await sets.run(
        `INSERT INTO linked_names
           SELECT line, ${place}, CASE WHEN min(value) = max(value) THEN min(value) ELSE '' END
           FROM (SELECT line, coalesce(l.value, '') AS value
             FROM (SELECT line, trimmed(unnest(${ids})) AS id FROM (${rowsOf(table, { ids: link })})) LEFT JOIN linked l USING (id))
           GROUP BY line`,
        [table.path],
      );
    }
  }
  return places;
};

/** A name needs all rows of the other files: a part that a delta leaves out would look empty. */
const refuseParts = (
  { modes }: Package,
  { parts, settingName }: { parts: NamePart[]; settingName: string },
): void => {
  const files = linkedRows
    .filter((row) => parts.some((part) => 'of' in part && part.of === row))
    .map((row) => links[row].file)
    .filter((file) => modes[file] !== 'bulk');
  if (files.length === 0) return;
  const all = files.map((file) => `${file}.csv`).join(' and ');
  const here = files.map((file) => `${modes[file] === 'delta' ? 'only a delta of' : 'no'} ${file}.csv`);
  throw new UnusableSnapshot(
    `${settingName} needs all rows of ${all}, but the package has ${here.join(' and ')}. Put an export into the bucket that has ${all} as bulk`,
  );
};
