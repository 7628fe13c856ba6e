import { quotedName, quotedText, type SqlEngine } from '../../../runtime/files/tables/engine.ts';
import { rowsOf } from '../../../runtime/files/tables/table.ts';
import { cellMacros } from '../compare/wanted.ts';
import type { OneRosterExport } from '../package/oneroster-export.ts';
import type { SnapshotSettings } from '../package/settings-file.ts';

/** The columns of a OneRoster file that the survey reads. */
type SurveyedColumns = {
  /** Columns that an import reads or that a setting may name. */
  columns: readonly string[];
  /** Columns of few values, which are counted. */
  values?: readonly string[];
  dates?: readonly string[];
  /** Columns that only templates of names use. */
  links?: readonly string[];
};

const surveyedColumns = {
  orgs: { columns: ['sourcedId', 'name', 'identifier'] },
  academicSessions: {
    columns: ['sourcedId', 'title', 'startDate', 'endDate'],
    dates: ['startDate', 'endDate'],
  },
  courses: { columns: ['sourcedId', 'status', 'title', 'courseCode'], values: ['status'] },
  classes: {
    columns: ['sourcedId', 'status', 'title', 'classCode', 'courseSourcedId'],
    values: ['status'],
    links: ['schoolSourcedId', 'termSourcedIds'],
  },
  users: {
    columns: ['sourcedId', 'status', 'username', 'identifier', 'email', 'role'],
    values: ['status', 'role'],
  },
  roles: { columns: ['userSourcedId', 'status', 'role'], values: ['role'] },
  enrollments: {
    columns: ['sourcedId', 'status', 'classSourcedId', 'userSourcedId', 'role', 'beginDate', 'endDate'],
    values: ['status', 'role'],
    dates: ['beginDate', 'endDate'],
  },
  lineItems: {
    columns: ['sourcedId', 'status', 'title', 'classSourcedId', 'resultValueMax'],
    values: ['status'],
  },
  results: {
    columns: [
      'lineItemSourcedId',
      'studentSourcedId',
      'status',
      'scoreStatus',
      'score',
      'textScore',
      'comment',
      'dateLastModified',
    ],
    values: ['status', 'scoreStatus'],
    dates: ['dateLastModified'],
  },
} as const satisfies Record<string, SurveyedColumns>;

export type LookedFile = keyof typeof surveyedColumns;
export const lookedFiles = Object.keys(surveyedColumns) as LookedFile[];

export type ValueCounts = {
  column: string;
  /** The most frequent ones; an empty cell is `''`. */
  counts: { value: string; rows: number }[];
  /** Rows with other values than these. */
  others: number;
};

export type DateOrder = NonNullable<SnapshotSettings['cells']['dateOrder']>;

export type DateForm = {
  column: string;
  /** The form of the cells, shown for the 31st of January. */
  form: string;
  rows: number;
  /** A cell of this form. */
  example: string;
  /** Days; absent if the form does not show them. */
  earliest?: string;
  latest?: string;
  /** Which number comes first, if both are possible; `unknown`: no cell decides it. */
  order?: DateOrder | 'unknown';
};

export type FileFacts = {
  rows: number;
  /** Rows with too few or too many cells. */
  damaged: number;
  columns: string[];
  /** Columns that an import would read, or that a setting could name, and that the file lacks. */
  missing: string[];
  values: ValueCounts[];
  dates: DateForm[];
};

/** Macros that the other statements use. No statement contains a cell. */
const macros = `
  ${cellMacros};
  CREATE MACRO date_form(x) AS CASE
    WHEN regexp_full_match(x, '[0-9]{4}-[0-9]{2}-[0-9]{2}') THEN 'day'
    WHEN regexp_full_match(x, '[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+(Z|[+-][0-9]{2}:?[0-9]{2})') THEN 'instant'
    WHEN regexp_full_match(x, '[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+') THEN 'local'
    WHEN regexp_full_match(x, '[0-9]{8}') THEN 'digits'
    WHEN regexp_matches(x, '^[0-9]{1,2}([/.-])[0-9]{1,2}[/.-][0-9]{4}') THEN 'parts' || regexp_extract(x, '[/.-]')
    ELSE 'other' END;
  CREATE MACRO part(x, n) AS TRY_CAST(regexp_extract(x, '^([0-9]{1,2})[/.-]([0-9]{1,2})[/.-]([0-9]{4})', n) AS INTEGER);
  CREATE MACRO day_text(y, m, d) AS format('{:04d}-{:02d}-{:02d}', y, m, d);
`;

export const prepareFacts = (db: SqlEngine): Promise<void> => db.run(macros);

/** Reads a file into a table of the same name, and counts its content. @throws UnusableSnapshot if it is not CSV in UTF-8. */
export const readFacts = async (
  { given, db }: { given: OneRosterExport; db: SqlEngine },
  name: LookedFile,
): Promise<FileFacts> => {
  const { columns, values = [], dates = [], links = [] }: SurveyedColumns = surveyedColumns[name];
  const table = await given.read(name);
  const names = Object.fromEntries([...columns, ...links].map((column) => [column, column]));
  await db.run(`CREATE TABLE ${quotedName(name)} AS ${rowsOf(table, names)}`, [table.path]);
  const has = (column: string): boolean => table.at(column) >= 0;
  return {
    rows: table.rows,
    damaged: table.damaged.length,
    columns: table.columns,
    missing: columns.filter((column) => !has(column)),
    values: await all(values.filter(has), (column) => countsOf(db, name, column)),
    dates: (await all(dates.filter(has), (column) => formsOf(db, name, column))).flat(),
  };
};

/** Runs one at a time, so that each has all the memory of the engine. */
const all = async <Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> => {
  const results: Result[] = [];
  for (const item of items) results.push(await work(item));
  return results;
};

const maxValues = 20;
const maxShownLength = 100;

const countsOf = async (db: SqlEngine, name: LookedFile, column: string): Promise<ValueCounts> => {
  const counts: ValueCounts['counts'] = [];
  let others = 0;
  const statement = `SELECT left(trimmed(${quotedName(column)}), ${maxShownLength}) AS value, count(*) AS n
    FROM ${quotedName(name)} GROUP BY value`;
  const kept = `SELECT CASE WHEN place <= ${maxValues} THEN value END AS value, sum(n)::BIGINT, min(place) AS first
    FROM (SELECT *, row_number() OVER (ORDER BY n DESC, value) AS place FROM (${statement})) GROUP BY 1 ORDER BY first`;
  for (const [value, rows] of await db.all<[string | null, number, number]>(kept))
    if (value === null) others = rows;
    else counts.push({ value, rows });
  return { column, counts, others };
};

type FormRow = readonly [
  form: string,
  rows: number,
  example: string,
  least: string | null,
  most: string | null,
  dayFirst: number,
  monthFirst: number,
  ...days: (string | null)[],
];

const formsOf = async (db: SqlEngine, name: LookedFile, column: string): Promise<DateForm[]> => {
  const byDay = 'day_text(part(x, 3), part(x, 2), part(x, 1))';
  const byMonth = 'day_text(part(x, 3), part(x, 1), part(x, 2))';
  const statement = `
    SELECT date_form(x) AS form, count(*) AS n, left(min(x), 40), left(min(x), 10), left(max(x), 10),
      coalesce(bool_or(part(x, 1) > 12), false)::INTEGER, coalesce(bool_or(part(x, 2) > 12), false)::INTEGER,
      min(${byDay}), max(${byDay}), min(${byMonth}), max(${byMonth})
    FROM (SELECT trimmed(${quotedName(column)}) AS x FROM ${quotedName(name)}) WHERE x <> '' GROUP BY form ORDER BY n DESC, form`;
  const rows = await db.all<FormRow>(statement);
  return rows.map((row) => ({ column, ...formOf(row) }));
};

const written: Record<string, string> = {
  day: '2026-01-31',
  instant: '2026-01-31T09:30:00Z',
  local: '2026-01-31T09:30:00',
  digits: '20260131',
};

const formOf = ([form, rows, example, least, most, dayFirst, monthFirst, ...days]: FormRow): Omit<
  DateForm,
  'column'
> => {
  const known = written[form];
  const [earliestByDay, latestByDay, earliestByMonth, latestByMonth] = days;
  const dateFormOf = (
    form: string,
    [earliest, latest]: readonly (string | null | undefined)[],
    order?: DateForm['order'],
  ) => ({ form, rows, example, ...(earliest && latest && { earliest, latest }), ...(order && { order }) });
  if (known !== undefined) return dateFormOf(known, form === 'digits' ? [] : [least, most]);
  const sign = form.replace('parts', '');
  if (form === 'other' || dayFirst + monthFirst === 2) return dateFormOf('other', []);
  const [dayForm, monthForm] = [['31', '1', '2026'].join(sign), ['1', '31', '2026'].join(sign)];
  if (dayFirst) return dateFormOf(dayForm, [earliestByDay, latestByDay], 'day-month-year');
  if (monthFirst) return dateFormOf(monthForm, [earliestByMonth, latestByMonth], 'month-day-year');
  return dateFormOf(`${dayForm} or ${monthForm}`, [], 'unknown');
};

/** A column, or a template over several, that may name org units or users. */
export type Candidate = {
  file: 'classes.csv' | 'users.csv' | 'courses.csv';
  column: string;
  /** The value to write in the settings. */
  setting: string;
  filled: number;
  empty: number;
  /** How many share their value with another one. */
  doubles: number;
  /** Some of its values, spread over the file. */
  samples: string[];
  /** It is tried because no column tells all classes apart; by the character between its parts, the usual one first. */
  isTemplate?: true;
};

const maxSamples = 40;

/** A row that is deleted or inactive names nothing. */
const isActive = (status = 'status'): string => `NOT is_gone(word_in(${status}))`;

const classes = (column: string): string =>
  `SELECT trimmed(${quotedName(column)}) AS x FROM classes WHERE ${isActive()}`;
const users = (column: string): string =>
  `SELECT trimmed(${quotedName(column)}) AS x FROM users WHERE ${isActive()}`;
const coursesOfClasses = `SELECT trimmed(code) AS x FROM classes c
  LEFT JOIN (SELECT sourcedId AS id, min(courseCode) AS code FROM courses GROUP BY sourcedId) k ON k.id = c.courseSourcedId
  WHERE ${isActive('c.status')}`;

const candidatesOf: readonly [file: Candidate['file'], column: string, values: string][] = [
  ['classes.csv', 'classCode', classes('classCode')],
  ['courses.csv', 'courseCode', coursesOfClasses],
  ['classes.csv', 'title', classes('title')],
  ['classes.csv', 'sourcedId', classes('sourcedId')],
  ['users.csv', 'username', users('username')],
  ['users.csv', 'identifier', users('identifier')],
  ['users.csv', 'email', users('email')],
  ['users.csv', 'sourcedId', users('sourcedId')],
];

/** The columns of the files that may name org units and users. The code of a course counts once for each of its classes. */
export const candidatesIn = async (
  db: SqlEngine,
  facts: Partial<Record<LookedFile, FileFacts>>,
): Promise<Candidate[]> => {
  const has = (file: Candidate['file'], column: string): boolean => {
    const read = facts[file.replace('.csv', '') as LookedFile];
    return read !== undefined && read.rows > 0 && !read.missing.includes(column);
  };
  const there = candidatesOf.filter(
    ([file, column]) =>
      has(file, column) && (file !== 'courses.csv' || has('classes.csv', 'courseSourcedId')),
  );
  const candidates = await all(there, (each) => countedOf(db, each));
  const isApart = ({ file, filled, empty, doubles }: Candidate): boolean =>
    file === 'classes.csv' && filled > 0 && empty + doubles === 0;
  // A record's own id is seldom what the platform has.
  if (candidates.some((each) => isApart(each) && each.column === 'classCode')) return candidates;
  const templates = templatesOf(facts).filter(([, ...files]) =>
    files.every((file) => (facts[file]?.rows ?? 0) > 0),
  );
  const tried = await all(templates, async ([template]) => ({
    ...(await countedOf(db, ['classes.csv', template, valuesOf(template)])),
    isTemplate: true as const,
  }));
  return [...candidates, ...tried.filter(isApart)];
};

type Facts = Partial<Record<LookedFile, FileFacts>>;

const between = ['-', '.', '_', ' ', ''];

/** Names of two parts, of which one is likely to be a code, and the files that they need. */
const templatesOf = (facts: Facts): [template: string, ...files: LookedFile[]][] =>
  between.flatMap((sign): [string, ...LookedFile[]][] => {
    const hasCode = facts.classes?.missing.includes('classCode') === false;
    const schools: string[] = ['school.identifier', 'school.name'].filter(
      (each) => facts.orgs?.missing.includes(each.slice(7)) === false,
    );
    const codes: [string, ...LookedFile[]][] = [
      ...(hasCode ? [['classCode'] as [string]] : []),
      ['course.courseCode', 'courses'],
    ];
    return codes.flatMap(([code, ...files]) => [
      ...schools.map((school): [string, ...LookedFile[]] => [
        `{${school}}${sign}{${code}}`,
        'orgs',
        ...files,
      ]),
      [`{${code}}${sign}{term.title}`, 'academicSessions', ...files],
      [`{term.title}${sign}{${code}}`, 'academicSessions', ...files],
    ]);
  });

const linkedTables = {
  course: `(SELECT trimmed(sourcedId) AS id, min(courseCode) AS "courseCode" FROM courses GROUP BY id) course ON course.id = trimmed(c.courseSourcedId)`,
  school: `(SELECT trimmed(sourcedId) AS id, min(name) AS name, min(identifier) AS identifier FROM orgs GROUP BY id) school ON school.id = trimmed(c.schoolSourcedId)`,
  term: `(SELECT trimmed(sourcedId) AS id, min(title) AS title FROM academicSessions GROUP BY id) term ON term.id = trimmed(c.termSourcedIds)`,
};

/** A statement that gives the names by a template, as an import makes them. */
const valuesOf = (template: string): string => {
  const parts = template.split(/\{([^{}]*)\}/);
  const cells = parts.flatMap((part, at) =>
    at % 2 === 1 ? [`trimmed(${part.includes('.') ? part : `c.${part}`})`] : [],
  );
  const joins = Object.entries(linkedTables).flatMap(([row, join]) =>
    template.includes(`{${row}.`) ? [`LEFT JOIN ${join}`] : [],
  );
  const pieces = parts.map((part, at) => (at % 2 === 1 ? cells[(at - 1) / 2] : quotedText(part)));
  return `SELECT CASE WHEN ${cells.map((cell) => `${cell} = ''`).join(' OR ')} THEN '' ELSE ${pieces.join(' || ')} END AS x
    FROM classes c ${joins.join(' ')} WHERE ${isActive('c.status')}`;
};

const countedOf = async (
  db: SqlEngine,
  [file, column, values]: readonly [file: Candidate['file'], column: string, values: string],
): Promise<Candidate> => {
  const counted = await db.row<[number, number, number]>(
    `SELECT coalesce(sum(n) FILTER (WHERE x <> ''), 0)::BIGINT, coalesce(sum(n) FILTER (WHERE x = ''), 0)::BIGINT,
         coalesce(sum(n) FILTER (WHERE x <> '' AND n > 1), 0)::BIGINT
       FROM (SELECT x, count(*) AS n FROM (${values}) GROUP BY x)`,
  );
  const sampled = `SELECT x FROM (${values}) WHERE x <> '' AND length(x) <= 255 GROUP BY x ORDER BY md5(x) LIMIT ${maxSamples}`;
  const samples = (await db.all<[string]>(sampled)).map(([value]) => value);
  const [filled = 0, empty = 0, doubles = 0] = counted ?? [];
  const setting = file === 'courses.csv' ? `{course.${column}}` : column;
  return { file, column, setting, filled, empty, doubles, samples };
};
