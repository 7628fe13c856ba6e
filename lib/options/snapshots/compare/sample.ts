import { differenceText, nearestOf } from '../../../crosswalk/near-names.ts';
import { protectionsOf } from '../../../delivery/mapping/cell-rules.ts';
import { quotedText, type SqlEngine } from '../../../runtime/files/tables/engine.ts';
import type { Table } from '../../../runtime/files/tables/table.ts';

/** What the settings make of the first rows of a file, and of the names in all of them. */
export type Sample = {
  rows: { file: string; line: number; gives: string }[];
  unknown: UnknownNames[];
  /** Of a table: columns that the mapping does not read, and rows that have the key of another row. */
  notRead?: string[];
  sharedKeys?: number;
};

/** Names of one field that the crosswalk does not have; it was asked only if it was ever filled with such names. */
export type UnknownNames = {
  field: string;
  count: number;
  examples: { name: string; nearest?: string; differs?: string }[];
  /** Those that have signs around them: a spreadsheet or a person is protected from them. */
  guarded: { name: string; by: string[]; count: number }[];
};

/** Whom a file would remove: the first ones, as in `ada in BIO-101`, and how many of each course. */
export type RemovedNames = { names: string[]; courses: [course: string, count: number][] };

const maxRows = 3;
const maxExamples = 3;
const maxNames = 2_000;

/** Of a table: `mapped_rows`, before names become what they stand for. */
export const sampleOfTable = async (
  db: SqlEngine,
  file: string,
  { columns, used }: Pick<Table, 'columns' | 'used'>,
): Promise<Sample> => {
  const rows = await db.all<[string, string, string]>(
    `SELECT line, kind_name, data FROM mapped_rows ORDER BY CAST(line AS BIGINT), state_kind LIMIT ${maxRows}`,
  );
  const names = `SELECT DISTINCT split_part(token, '=', 1) AS field, substr(token, strpos(token, '=') + 1) AS name
    FROM (SELECT org_unit_or_object AS token FROM mapped_rows UNION SELECT user_name FROM mapped_rows)`;
  const shared = await db.row<[number]>(
    'SELECT count(DISTINCT line) FROM (FROM mapped_rows QUALIFY row_number() OVER (PARTITION BY source_row ORDER BY CAST(line AS BIGINT)) > 1)',
  );
  return {
    notRead: columns.filter((column) => column !== '' && !used.has(column.toLowerCase())),
    sharedKeys: shared?.[0] ?? 0,
    rows: rows.map(([line, name, data]) => ({
      file,
      line: Number(line),
      gives: `${name}: ${valuesIn(JSON.parse(data) as object).join(', ')}`,
    })),
    unknown: await unknownIn(db, names),
  };
};

/** Of an export of OneRoster: `claims`, so that users without messages, such as guardians, are left out. */
export const sampleOfExport = async (db: SqlEngine, userField: string): Promise<Sample> => {
  const rows = await db.all<[number, string, string, string]>(
    `SELECT line, org_unit_or_object, user_name, wanted_value FROM claims
     WHERE is_enrollment(state_kind) AND line IS NOT NULL ORDER BY line LIMIT ${maxRows}`,
  );
  const names = `SELECT 'orgUnitCode' AS field, org_unit_or_object AS name FROM claims WHERE is_enrollment(state_kind)
    UNION SELECT ${quotedText(userField)}, user_name FROM claims`;
  return {
    rows: rows.map(([line, code, user, roleId]) => ({
      file: 'enrollments.csv',
      line,
      gives: `enrollment-create: orgUnitCode ${code}, ${userField} ${user}, roleId ${roleId}`,
    })),
    unknown: await unknownIn(db, names),
  };
};

/** As `grade.points 8.5`. */
const valuesIn = (data: object, prefix = ''): string[] =>
  Object.entries(data).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null
      ? valuesIn(value, `${prefix}${name}.`)
      : `${prefix}${name} ${String(value)}`,
  );

/** `names`: a statement that gives field and name. */
const unknownIn = async (db: SqlEngine, names: string): Promise<UnknownNames[]> => {
  await db.run(`CREATE OR REPLACE TEMP TABLE unknown_names AS
    SELECT field, name FROM (${names}) WHERE field IN ('orgUnitCode', 'userName', 'orgDefinedId')
      AND (field, name) NOT IN (SELECT (field, name) FROM known_names) AND (field, name) NOT IN (SELECT (field, name) FROM doubtful_names)`);
  const counts = await db.all<[string, number, number]>(
    `SELECT field, count(*), CAST(field IN (SELECT field FROM known_names) AS INTEGER) FROM unknown_names GROUP BY field ORDER BY field`,
  );
  const found: UnknownNames[] = [];
  for (const [field, count, isFilled] of counts) {
    const all = await db.all<[string]>(
      `SELECT name FROM unknown_names WHERE field = $1 ORDER BY name LIMIT ${maxNames}`,
      [field],
    );
    const guarded = guardedIn(all.map(([name]) => name));
    const examples = isFilled === 1 ? await examplesOf(db, field) : [];
    if (examples.length > 0 || guarded.length > 0)
      found.push({ field, count: isFilled === 1 ? count : 0, examples, guarded });
  }
  return found;
};

const guardedIn = (names: readonly string[]): UnknownNames['guarded'] => {
  const each = names.map((name) => ({ name, by: protectionsOf(name) })).filter(({ by }) => by.length > 0);
  return [...Map.groupBy(each, ({ by }) => by.join(' ')).values()].flatMap((alike) =>
    alike.slice(0, 1).map((first) => ({ ...first, count: alike.length })),
  );
};

/** Those with a near name first. What is near is sought for some of them: it is compared with every name. */
const examplesOf = async (db: SqlEngine, field: string): Promise<UnknownNames['examples']> => {
  const near = await db.all<[string, string]>(
    `WITH sought AS (SELECT name FROM unknown_names WHERE field = $1 ORDER BY name LIMIT 20),
       bare AS (SELECT name, lower(regexp_replace(name, '\\s|^0+', '', 'g')) AS plain FROM sought),
       known AS (SELECT name, lower(regexp_replace(name, '\\s|^0+', '', 'g')) AS plain FROM known_names WHERE field = $1)
     SELECT b.name, k.name FROM bare b JOIN known k
       ON k.plain = b.plain OR (abs(length(k.plain) - length(b.plain)) <= 1 AND damerau_levenshtein(k.plain, b.plain) = 1)
     LIMIT 1000`,
    [field],
  );
  const byName = Map.groupBy(near, ([name]) => name);
  const examples = [...byName].flatMap(([name, pairs]) => {
    const nearest = nearestOf(
      name,
      pairs.map(([, known]) => known),
    );
    return nearest ? [{ name, nearest: nearest.name, differs: differenceText(nearest.differs) }] : [];
  });
  const others = await db.all<[string]>(
    `SELECT name FROM unknown_names WHERE field = $1 ORDER BY name LIMIT ${maxExamples}`,
    [field],
  );
  const rest = others.flatMap(([name]) => (examples.some((each) => each.name === name) ? [] : [{ name }]));
  return [...examples, ...rest].slice(0, maxExamples);
};

const maxRemoved = 10;

/** Of `difference`, before it is sent. What another file wants otherwise is no removal. */
export const removedNamesIn = async (db: SqlEngine): Promise<RemovedNames> => {
  const nameIn = (token: string): string =>
    `regexp_replace(${token}, '^(orgUnitCode|orgUnitId|userName|orgDefinedId|userId)=', '')`;
  const removed = `SELECT ${nameIn('org_unit_or_object')} AS course, ${nameIn('user_name')} AS person
    FROM difference ANTI JOIN replacements USING (key) WHERE change = 'removed'`;
  const people = await db.all<[string | null, string | null]>(
    `SELECT person, course FROM (${removed}) ORDER BY course, person LIMIT ${maxRemoved}`,
  );
  const courses = await db.all<[string, number]>(
    `SELECT coalesce(course, ''), count(*) FROM (${removed}) GROUP BY course ORDER BY count(*) DESC, course LIMIT ${maxRemoved}`,
  );
  return { names: people.map((each) => each.filter((name) => name !== null).join(' in ')), courses };
};
