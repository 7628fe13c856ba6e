import { blankedSql, ruledSql, usualBlanks, type ValueRules } from '../../../delivery/mapping/cell-rules.ts';
import { rowsOf, type Table } from '../../../runtime/files/tables/table.ts';
import { statementsIn } from '../compare/statements.ts';
import { UnusableSnapshot } from '../unusable.ts';
import type { FurtherName } from './manifest.ts';
import type { OneRosterExport } from './oneroster-export.ts';
import { openFile, type PackageReading, viewRows } from './reading.ts';
import { loadAcceptedNames } from './reassigned-names.ts';
import { addReadRows, countRows, refuseRows } from './rows.ts';
import { type LinkedRow, linkedRows, type NamePart, namePartsIn } from './settings-file.ts';

const sql = statementsIn('names');

type NameFilter = {
  name: 'classes' | 'users';
  type: 'class' | 'user';
  /** The column or the template, as in the settings. */
  setting: string;
  key: string;
  parts: NamePart[];
  rules: ValueRules;
};

/** Fills the table `names`, and what else `names.sql` makes of it. Returns the table of users. */
export const readNames = async (reading: PackageReading): Promise<Table | undefined> => {
  const { comparison, given } = reading;
  const { db, settings } = comparison;
  const { orgUnitCode, user } = settings;
  await db.run(sql('tables'));
  const classes: NameFilter = {
    name: 'classes',
    type: 'class',
    setting: orgUnitCode,
    parts: namePartsIn(orgUnitCode) ?? [],
    key: '"orgUnitCode": "sourcedId"',
    rules: settings.orgUnitRules,
  };
  const users: NameFilter = {
    name: 'users',
    type: 'user',
    setting: user.column,
    parts: namePartsIn(user.column) ?? [],
    key: `"user": { "field": "${user.field}", "column": "sourcedId" }`,
    rules: user,
  };
  let table: Table | undefined;
  for (const named of [classes, users]) {
    const { name, type } = named;
    const mode = given.modes[name];
    table = await openFile(reading, name);
    await db.run(sql('begin'));
    await db.run('SET VARIABLE record_type = $1', [type]);
    if (table) await addNamed(table, named, reading);
    await refuseRows(comparison, { name, mode });
    await db.run(sql('add_names'));
    if (mode !== 'bulk') await db.run(sql('keep_names'));
    if (table) await countRows(comparison, `${name}.csv`, sql('count_fates'));
  }
  await loadAcceptedNames(comparison);
  await db.run(sql('find_passed'));
  await db.run(sql('find_names'), [namelessText(classes), namelessText(users), users.setting]);
  await db.run(sql('find_renamed'));
  return table;
};

const helpOf = ({ key }: NameFilter): string => `To use another column, set ${key} in snapshot-settings.json`;

const namelessText = (named: NameFilter): string =>
  named.parts.length === 1
    ? `its row in ${named.name}.csv has no ${named.setting}. ${helpOf(named)}`
    : `its row in ${named.name}.csv has no name by ${named.setting}: a part is empty, is not in the package, or has two values. ${helpOf(named)}`;

/** By the column names of versions 1.0 to 1.2, and of Microsoft’s School Data Sync. */
const links: Record<LinkedRow, { file: FurtherName; columns: readonly string[] }> = {
  course: { file: 'courses', columns: ['courseSourcedId'] },
  term: { file: 'academicSessions', columns: ['termSourcedIds', 'termSourcedId', 'sessionSourcedIds'] },
  school: {
    file: 'orgs',
    columns: ['schoolSourcedId', 'primaryOrgSourcedId', 'orgSourcedIds', 'orgSourcedId'],
  },
};

const addNamed = async (table: Table, named: NameFilter, reading: PackageReading): Promise<void> => {
  const { name, parts, setting, rules } = named;
  const { db } = reading.comparison;
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
    const written = part.of === 'itself' ? `trimmed(r.v${place})` : `coalesce(l${place}.value, '')`;
    const cell = blankedSql(ruledSql(written, rules), reading.comparison.settings.cells.empty ?? usualBlanks);
    cells.push(cell);
    return cell;
  });
  // Two names that lack different parts could look the same.
  const whole =
    pieces.length === 1
      ? pieces[0]
      : `CASE WHEN ${cells.map((cell) => `${cell} = ''`).join(' OR ')} THEN '' ELSE ${pieces.join(' || ')} END`;
  await db.run(
    `INSERT INTO read_rows
     SELECT line, id, name, status, row_of_record(id, name), problem_of_record(id, name, $2)
     FROM (SELECT r.line, r.id, word_in(r.status) AS status, ${whole} AS name
       FROM (${rowsOf(table, { id: 'sourcedId', status: 'status', ...own })}) r ${joins.join(' ')})`,
    [table.path, setting, ...texts],
  );
};

/** Reads the parts of names from other files into the table `linked_names`. Returns the places of those parts. */
const addLinked = async (
  table: Table,
  named: NameFilter,
  { comparison, given }: PackageReading,
): Promise<number[]> => {
  const { name, parts, setting } = named;
  const { db } = comparison;
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
    await viewRows(db, table, { view: 'linking_rows', columns: { ids: link } });
    for (const { column, place } of wanted) {
      places.push(place);
      await viewRows(db, others, { view: 'linked_rows', columns: { id: 'sourcedId', value: column } });
      await db.run(sql('add_linked_names'), [place, String(link.endsWith('s'))]);
    }
  }
  return places;
};

/** A name needs all rows of the other files: a part that a delta leaves out would look empty. */
const refuseParts = (
  { modes }: OneRosterExport,
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
