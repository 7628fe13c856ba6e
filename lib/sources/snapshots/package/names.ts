import { rowsOf, type Table } from '../../../runtime/files/tables/table.ts';
import { UnusableSnapshot } from '../unusable.ts';
import type { FurtherName } from './manifest.ts';
import type { Package } from './package.ts';
import { openFile, type Reading } from './reading.ts';
import { addReadRows, countRows, refusedStill } from './rows.ts';
import { type LinkedRow, linkedRows, type NamePart, namePartsIn } from './settings-file.ts';

/** Represents the name of an id that has two: no name contains it. */
const ambiguous = 'chr(127)';

type Named = {
  name: 'classes' | 'users';
  letter: 'c' | 'u';
  /** The column or the template, as in the settings. */
  setting: string;
  /** The setting that an error proposes. */
  key: string;
  parts: NamePart[];
};

/**
 * Fills the tables `names`, `renamed` and `joined`: the names of classes and users on the platform, or why a name is unknown;
 * former names without a bearer, with the one name that all former bearers have now; and former names of users that other users
 * have now.
 */
export const readNames = async (reading: Reading): Promise<{ users: Table | undefined }> => {
  const { comparison, given } = reading;
  const { sets, settings } = comparison;
  const { orgUnitCode, user } = settings;
  await sets.run(`INSERT INTO names_was SELECT a, key, value, seen FROM state WHERE kind = 'N'`);
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
      INSERT INTO names_now
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
    WHEN n.letter = '${letter}' AND n.name = ${ambiguous} THEN 'two rows of ${name}.csv have this sourcedId, but different names'
    WHEN n.letter = '${letter}' AND s.name IS NOT NULL THEN 'its row in ${name}.csv has the same ' || $${first + 1} || ' as another row'`;
  await sets.run(
    `CREATE TABLE names AS
       SELECT n.letter, n.id, n.name, n.active, CASE ${problemOf(classes, 1)} ${problemOf(users, 3)} END AS problem,
         CASE WHEN n.name = '' THEN 'withoutName' END AS fate
       FROM names_now n LEFT JOIN (
         SELECT letter, name FROM names_now WHERE active = 1 AND name NOT IN ('', ${ambiguous}) GROUP BY letter, name HAVING count(*) > 1
       ) s USING (letter, name)`,
    [namelessText(classes), classes.setting, namelessText(users), users.setting],
  );
  await sets.run(`
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
    SELECT w.* FROM names_was w ANTI JOIN (FROM named WHERE problem IS NULL) n USING (id) WHERE w.letter = '${letter}';
  ${refusedStill(name, { read: 'named' })}`;

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
  `(SELECT r.*, CASE WHEN n.problem IS NULL THEN n.name END AS ${as},
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
