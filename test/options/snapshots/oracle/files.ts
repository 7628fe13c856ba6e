import { csvOf, entriesOfSis, type Rows, zipOf } from '../sis.ts';
import type { Slip } from './cells.ts';
import { roleIds, type TableName, tableNames, type University } from './university.ts';

export type FileName = 'export.zip' | TableName;
export const fileNames: readonly FileName[] = ['export.zip', ...tableNames];

/** What a row says, of whom and of what: as people know it, without the names that stand for them. */
export type Said = {
  university: number;
  code?: string;
  person?: number;
  /** Of a line item or a grade. */
  item?: string;
  title?: string;
  score?: string;
  /** Of an enrollment: a role, or none if the row ends it. */
  role?: string | 'none';
  atMs?: number | undefined;
  /** The first and the last day of an enrollment, if it has them. */
  begins?: string;
  ends?: string;
  /** Of a line item. */
  max?: string;
  /** A cell cannot be read. Whom or what the row is about is told as far as other cells say it. */
  isUnusable?: true;
};
export type Row = { id: string; cells: Record<string, string>; said: Said };

const csvNames = ['users.csv', 'classes.csv', 'lineItems.csv', 'enrollments.csv', 'results.csv'] as const;

/** What the SIS writes in a night: the rows of each CSV file. */
export type Export = {
  name: FileName;
  isDelta: boolean;
  rows: ReadonlyMap<string, readonly Row[]>;
};

const msOf = (at: string): number | undefined => (at === '' ? undefined : Date.parse(at));

const userColumns = ['userSourcedId', 'studentSourcedId', 'LOGIN'];
const placeColumns = ['classSourcedId', 'lineItemSourcedId'];

/** A row as it is with something else in a cell. */
const withSlip = ({ id, cells, said }: Row, slip: Slip | undefined): Row => {
  if (slip === undefined) return { id, cells, said };
  const { person, code, item, title, ...others } = said;
  const isUserHidden = userColumns.includes(slip.column);
  const isPlaceHidden = placeColumns.includes(slip.column);
  return {
    id,
    cells: { ...cells, [slip.column]: slip.value },
    said: {
      ...others,
      isUnusable: true,
      ...(!isUserHidden && person !== undefined && { person }),
      ...(!isPlaceHidden && code !== undefined && { code }),
      ...(!isPlaceHidden && item !== undefined && { item }),
      ...(!isPlaceHidden && title !== undefined && { title }),
    },
  };
};

/** As the platform holds it. */
export const gradeText = (points: number | string, comment = ''): string =>
  comment === '' ? `${points}` : `${points} “${comment}”`;

const zipRowsOf = (university: University): [file: string, row: Row][] => {
  const { at: number, users, sections, enrollments, items, results } = university;
  const personOf = (user: string): number => users.get(user)?.person ?? 0;
  const codeOf = (section: string): string => sections.get(section) ?? '';
  const rows: [string, Row][] = [];
  const add = (
    file: (typeof csvNames)[number],
    id: string,
    cells: Row['cells'],
    { slip, ...said }: Omit<Said, 'university'> & { slip?: Slip | undefined },
  ) => {
    const row = { id, cells: { sourcedId: id, ...cells }, said: { university: number, ...said } };
    rows.push([file, withSlip(row, slip)]);
  };
  for (const [id, { username, person }] of users) add('users.csv', id, { username }, { person });
  for (const [id, code] of sections) add('classes.csv', id, { title: 'A class', classCode: code }, { code });
  for (const [id, { section, title, max, slip }] of items) {
    const cells = { title, classSourcedId: section, resultValueMax: max };
    add('lineItems.csv', id, cells, { code: codeOf(section), item: id, title, max, slip });
  }
  for (const [id, { section, user, role, at, begins = '', ends = '', slip }] of enrollments) {
    const dates = { beginDate: begins, endDate: ends };
    const cells = { classSourcedId: section, userSourcedId: user, role, dateLastModified: at, ...dates };
    const said = { code: codeOf(section), person: personOf(user), role, atMs: msOf(at), begins, ends };
    add('enrollments.csv', id, cells, { ...said, slip });
  }
  for (const [id, { item, user, score, at, comment = '', slip }] of results) {
    const cells = { lineItemSourcedId: item, studentSourcedId: user, score, comment, dateLastModified: at };
    const { section = '', title = '' } = items.get(item) ?? {};
    const isLost = !items.has(item) && { column: 'lineItemSourcedId', value: item };
    const said = { code: codeOf(section), person: personOf(user), item, title, atMs: msOf(at) };
    const graded = { ...cells, scoreStatus: 'fully graded' };
    add('results.csv', id, graded, { ...said, score: gradeText(score, comment), slip: isLost || slip });
  }
  return rows;
};

/** By which columns its tables name a row. */
const wayOf = ({ at }: University): 'id' | 'names' | 'role' => {
  if (at % 10 === 7) return 'role';
  return at % 2 === 0 ? 'id' : 'names';
};

const tableRowsOf = (university: University, name: TableName): Row[] =>
  [...university.tables[name]].map(([key, { section, user, role, status, at, slip }]) => {
    const { username = '', person = 0 } = university.users.get(user) ?? {};
    const code = university.sections.get(section) ?? '';
    const cells = { KEY: key, COURSE: code, LOGIN: username, ROLE: role, STATUS: status, AT: at };
    const BY = wayOf(university);
    const ids = { id: key, names: `${code} ${username}`, role: `${code} ${username} ${role}` };
    const said = { university: university.at, code, person, atMs: msOf(at) };
    const row = {
      id: `${ids[BY]} ${status}`,
      cells: { ...cells, BY },
      said: { ...said, role: status === 'active' ? role : 'none' },
    };
    // Who withdraws needs no role.
    return withSlip(row, slip?.column === 'ROLE' && status === 'withdrawn' ? undefined : slip);
  });

/** The rows of a file by its CSV files, and what they are about. */
export const wholeOf = (universities: readonly University[], name: FileName): Export => {
  const rows = new Map<string, Row[]>((name === 'export.zip' ? csvNames : [name]).map((each) => [each, []]));
  for (const university of universities)
    if (name === 'export.zip') for (const [file, row] of zipRowsOf(university)) rows.get(file)?.push(row);
    else rows.get(name)?.push(...tableRowsOf(university, name));
  return { name, isDelta: false, rows };
};

const isSame = (one: Row, other: Row | undefined): boolean =>
  JSON.stringify(one.cells) === JSON.stringify(other?.cells);

/** What has changed since an export. */
export const deltaOf = (whole: Export, base: ReadonlyMap<string, ReadonlyMap<string, Row>>): Export => {
  const rows = [...whole.rows].map(([file, all]): [string, Row[]] => {
    const before = base.get(file) ?? new Map<string, Row>();
    const here = new Set(all.map(({ id }) => id));
    const changed = all.filter((row) => !isSame(row, before.get(row.id)));
    const gone = [...before.values()].filter(({ id }) => !here.has(id));
    const withStatus = (row: Row, status: string): Row => ({ ...row, cells: { ...row.cells, status } });
    return [
      file,
      [
        ...changed.map((row) => withStatus(row, 'active')),
        ...gone.map((row) => withStatus(row, 'tobedeleted')),
      ],
    ];
  });
  return { ...whole, isDelta: true, rows: new Map(rows) };
};

export const contentOf = ({ name, isDelta, rows }: Export): Promise<Buffer> | string => {
  const cellsOf = (file: string): Rows => (rows.get(file) ?? []).map(({ cells }) => cells);
  if (name !== 'export.zip')
    return csvOf(['KEY', 'COURSE', 'LOGIN', 'ROLE', 'STATUS', 'AT', 'BY'], cellsOf(name));
  const names = csvNames.map((file) => file.replace('.csv', ''));
  const sis = Object.fromEntries(names.map((each) => [each, cellsOf(`${each}.csv`)]));
  return zipOf(entriesOfSis(sis, isDelta ? Object.fromEntries(names.map((each) => [each, 'delta'])) : {}));
};

const who = { orgUnitCode: 'COURSE', userName: 'LOGIN' };
const ways: [by: string, key: string[]][] = [
  ['id', ['KEY']],
  ['names', ['COURSE', 'LOGIN']],
  ['role', ['COURSE', 'LOGIN', 'ROLE']],
];
/** Of all tables. */
export const mapping = {
  messages: ways.flatMap(([by, key]) => [
    {
      function: 'enrollment-create',
      when: { BY: [by], STATUS: ['active'] },
      key,
      time: 'AT',
      data: { ...who, roleId: { from: 'ROLE', values: roleIds } },
      removed: { function: 'enrollment-remove', data: who },
    },
    { function: 'enrollment-remove', when: { BY: [by], STATUS: ['withdrawn'] }, key, time: 'AT', data: who },
  ]),
};
