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

type Named = {
  name: 'classes' | 'users';
  letter: 'c' | 'u';
  /** The column or the template, as in the settings. */
  setting: string;
  key: string;
  parts: NamePart[];
};

/**
 * Fills the tables `names`, `renamed`, `joined` and `things_was`: the names of classes and users, what they stand for on the platform, or
 * why they are unknown; former names without a bearer, with the one name that all former bearers have now; former names of users that
 * other users have now; and what former names stood for. `lastField`: the platform's field that named users when the last snapshot was
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
    INSERT INTO names_was SELECT a, key, value, seen, coalesce(org_unit_id, user_id) FROM state WHERE kind = 'N';
    CREATE MACRO field_of(letter) AS CASE letter WHEN 'c' THEN 'orgUnitCode' ELSE '${user.field}' END;
    CREATE MACRO field_was(letter) AS CASE letter WHEN 'c' THEN 'orgUnitCode' ELSE '${lastField}' END`);
  const classes: Named = {
    ...{ name: 'classes', letter: 'c', setting: orgUnitCode, parts: namePartsIn(orgUnitCode) ?? [] },
    key: '"orgUnitCode": "sourcedId"',
  };
  const users: Named = {
    ...{ name: 'users', letter: 'u', setting: user.column, parts: namePartsIn(user.column) ?? [] },
    key: `"user": { "field": "${user.field}", "column": "sourcedId" }`,
  };
  const tables: Partial<Record<Named['name'], Table>> = {};
  for (const named of [classes, users]) {
    const { name, letter } = named;
    const table = await openFile(reading, name);
    await sets.run(
      `CREATE OR REPLACE TABLE named (line BIGINT, id VARCHAR, name VARCHAR, status VARCHAR, row VARCHAR, col VARCHAR, problem VARCHAR)`,
    );
    if (table) await addNamed(table, named, reading);
    if (table) tables[name] = table;
    await sets.run(`
      INSERT INTO problems SELECT '${name}.csv', line, col, problem FROM named WHERE problem IS NOT NULL;
      INSERT INTO refused (grp, row, a, b) SELECT '${name}', row, NULL, NULL FROM named WHERE problem IS NOT NULL;
      INSERT INTO names_now (letter, id, name, active)
        SELECT '${letter}', id, CASE WHEN min(name) <> max(name) THEN ${ambiguous} ELSE min(name) END,
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
  const problemOf = ({ letter, name }: Named, first: number): string => `
    WHEN n.letter = '${letter}' AND n.name = '' THEN $${first}
    WHEN n.letter = '${letter}' AND n.name = ${ambiguous} THEN 'two rows of ${name}.csv have this sourcedId, but different names'`;
  await sets.run(findFormer);
  await loadSamePeople(comparison);
  await sets.run(findPassed);
  await sets.run(
    `CREATE TABLE names AS
       SELECT n.letter, n.id, n.name, n.active, CASE WHEN p.id IS NULL THEN coalesce(k.id, f.platform_id) ELSE f.platform_id END AS platform_id,
         thing_of(coalesce(k.id, f.platform_id), n.name) AS thing,
         CASE ${problemOf(classes, 1)} ${problemOf(users, 2)}
           WHEN s.name IS NOT NULL THEN 'its row in users.csv has the same ' || $3 || ' as another row'
           WHEN p.id IS NOT NULL THEN ${passedText} END AS problem,
         CASE WHEN n.name = '' THEN 'withoutName' WHEN s.name IS NULL AND p.id IS NOT NULL THEN 'namePassed' END AS fate
       FROM names_now n
         -- Sections of one course have the same code.
         LEFT JOIN (
           SELECT letter, name FROM names_now WHERE letter = 'u' AND active = 1 AND name NOT IN ('', ${ambiguous})
           GROUP BY letter, name HAVING count(*) > 1) s USING (letter, name)
         LEFT JOIN passed p ON n.letter = 'u' AND p.id = n.id
         LEFT JOIN known_names k ON k.field = field_of(n.letter) AND k.name = n.name
         LEFT JOIN former f ON f.letter = n.letter AND f.id = n.id`,
    [namelessText(classes), namelessText(users), users.setting],
  );
  await sets.run(`
    CREATE TABLE things_was AS
      SELECT letter, name, min(platform_id) AS platform_id, bool_or(is_new) AS is_new
      FROM former WHERE platform_id IS NOT NULL GROUP BY letter, name HAVING count(DISTINCT platform_id) = 1;
    CREATE TABLE renamed AS
      SELECT w.letter, w.name AS old, min(n.name) AS new, max(n.active) AS active FROM names_was w JOIN names n USING (letter, id)
      WHERE w.name NOT IN ('', ${ambiguous})
      GROUP BY w.letter, w.name HAVING bool_and(n.problem IS NULL AND n.name <> w.name) AND min(n.name) = max(n.name);
    CREATE TABLE joined AS
      SELECT DISTINCT new AS name FROM renamed WHERE letter = 'u' AND new IN (SELECT name FROM names_was WHERE letter = 'u')`);
  return { users: tables.users };
};

/**
 * What a delta does not name, or names in an unusable way, stays as it was. So does the name of what it deletes by its id alone.
 */
const asBefore = ({ name, letter }: Named): string => `
  UPDATE names_now SET name = w.name FROM names_was w
    WHERE w.letter = '${letter}' AND names_now.letter = w.letter AND names_now.id = w.id AND names_now.name = '' AND names_now.active = 0;
  INSERT INTO names_now
    SELECT w.letter, w.id, w.name, w.active FROM names_was w ANTI JOIN (FROM named WHERE problem IS NULL) n USING (id) WHERE w.letter = '${letter}';
  ${refusedStill(name, { read: 'named' })}`;

/** The records of before, and what they stood for: what is known of a name now counts only if it is no other record's name now. */
const findFormer = `
  CREATE TABLE former AS
    SELECT w.letter, w.id, w.name, w.active, coalesce(w.platform_id, k.id) AS platform_id, w.platform_id IS NULL AND k.id IS NOT NULL AS is_new
    FROM names_was w
      LEFT JOIN (SELECT letter, name, min(id) AS lowest, max(id) AS highest FROM names_now GROUP BY letter, name) x
        ON x.letter = w.letter AND x.name = w.name
      LEFT JOIN known_names k ON k.field = field_was(w.letter) AND k.name = w.name AND (x.name IS NULL OR (x.lowest = w.id AND x.highest = w.id))`;

/**
 * Records whose user name was that of another active record, which has it no more, while the crosswalk still gives what that one stood
 * for. Whether they are one person is unknown, so nothing is sent by this name until the crosswalk gives another id or an operator has
 * accepted that they are.
 */
const findPassed = `
  CREATE TABLE passed AS
    SELECT DISTINCT n.id, n.name, k.id AS platform_id FROM names_now n JOIN names_was w ON w.letter = 'u' AND w.name = n.name AND w.id <> n.id AND w.active = 1
      JOIN known_names k ON k.field = field_of('u') AND k.name = n.name
      LEFT JOIN names_now f ON f.letter = 'u' AND f.id = w.id AND f.name = n.name AND f.active = 1
      LEFT JOIN names_was b ON b.letter = 'u' AND b.id = n.id
    WHERE n.letter = 'u' AND n.active = 1 AND f.id IS NULL AND field_of('u') = field_was('u') AND k.id = coalesce(w.platform_id, k.id)
      AND b.name IS DISTINCT FROM n.name AND b.platform_id IS DISTINCT FROM k.id
      AND (n.name, k.id) NOT IN (SELECT (name, id) FROM same_people)
    UNION
    SELECT s.key, n.name, k.id FROM (FROM state WHERE kind = 'P') s
      JOIN names_now n ON n.letter = 'u' AND n.id = s.key AND n.name = s.value AND n.active = 1
      JOIN known_names k ON k.field = field_of('u') AND k.name = n.name AND k.id = s.user_id
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

/** Joins the name of the class or user to each row, or the reason why the name is not known. */
export const withName = (
  letter: 'c' | 'u',
  { of, as, file }: { of: string; as: string; file: string },
): string =>
  `(SELECT r.*, CASE WHEN n.problem IS NULL THEN n.name END AS ${as}, CASE WHEN n.problem IS NULL THEN n.thing END AS ${as}_thing,
      CASE WHEN n.id IS NULL THEN 'names no row of ${file}' ELSE n.problem END AS ${as}_problem,
      CASE WHEN n.id IS NULL THEN 'notInPackage' ELSE n.fate END AS ${as}_fate
    FROM ${of} r LEFT JOIN names n ON n.letter = '${letter}' AND n.id = r.${letter === 'c' ? 'class' : 'usr'})`;

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
  const told = `${setting} in snapshot-settings.json`;
  refuseParts(given, { parts, told });
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
        `${name}.csv has no column ${columns[0]}. ${told} needs it to find the ${row}. ${helpOf(named)}`,
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
const refuseParts = ({ modes }: Package, { parts, told }: { parts: NamePart[]; told: string }): void => {
  const files = linkedRows
    .filter((row) => parts.some((part) => 'of' in part && part.of === row))
    .map((row) => links[row].file)
    .filter((file) => modes[file] !== 'bulk');
  if (files.length === 0) return;
  const all = files.map((file) => `${file}.csv`).join(' and ');
  const here = files.map((file) => `${modes[file] === 'delta' ? 'only a delta of' : 'no'} ${file}.csv`);
  throw new UnusableSnapshot(
    `${told} needs all rows of ${all}, but the package has ${here.join(' and ')}. Put an export into the bucket that has ${all} as bulk`,
  );
};
