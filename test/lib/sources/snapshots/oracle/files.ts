import { csvOf, entriesOfSis, type Rows, zipOf } from '../sis.ts';
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

const zipRowsOf = (university: University): [file: string, row: Row][] => {
  const { at: number, users, sections, enrollments, items, results } = university;
  const personOf = (user: string): number => users.get(user)?.person ?? 0;
  const codeOf = (section: string): string => sections.get(section) ?? '';
  const rows: [string, Row][] = [];
  const add = (
    file: (typeof csvNames)[number],
    id: string,
    cells: Row['cells'],
    said: Omit<Said, 'university'>,
  ) => rows.push([file, { id, cells: { sourcedId: id, ...cells }, said: { university: number, ...said } }]);
  for (const [id, { username, person }] of users) add('users.csv', id, { username }, { person });
  for (const [id, code] of sections) add('classes.csv', id, { title: 'A class', classCode: code }, { code });
  for (const [id, { section, title }] of items) {
    const cells = { title, classSourcedId: section, resultValueMax: '20' };
    add('lineItems.csv', id, cells, { code: codeOf(section), item: id, title });
  }
  for (const [id, { section, user, role, at }] of enrollments) {
    const cells = { classSourcedId: section, userSourcedId: user, role, dateLastModified: at };
    const said = { code: codeOf(section), person: personOf(user), role, atMs: msOf(at) };
    add('enrollments.csv', id, cells, said);
  }
  for (const [id, { item, user, score, at }] of results) {
    const cells = { lineItemSourcedId: item, studentSourcedId: user, score, dateLastModified: at };
    const { section = '', title = '' } = items.get(item) ?? {};
    const said = { code: codeOf(section), person: personOf(user), item, title, score, atMs: msOf(at) };
    add('results.csv', id, { ...cells, scoreStatus: 'fully graded' }, said);
  }
  return rows;
};

const tableRowsOf = (university: University, name: TableName): Row[] =>
  [...university.tables[name]].map(([key, { section, user, role, status, at }]) => {
    const { username = '', person = 0 } = university.users.get(user) ?? {};
    const code = university.sections.get(section) ?? '';
    const cells = { KEY: key, COURSE: code, LOGIN: username, ROLE: role, STATUS: status, AT: at };
    const BY = university.at % 2 === 0 ? 'id' : 'names';
    const said = { university: university.at, code, person, atMs: msOf(at) };
    return {
      ...{ id: BY === 'id' ? `${key} ${status}` : `${code} ${username} ${status}`, cells: { ...cells, BY } },
      said: { ...said, role: status === 'active' ? role : 'none' },
    };
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
];
/** Of all tables. */
export const mapping = {
  messages: ways.flatMap(([by, key]) => [
    {
      ...{ function: 'enrollment-create', when: { BY: [by], STATUS: ['active'] }, key, time: 'AT' },
      data: { ...who, roleId: { from: 'ROLE', values: roleIds } },
      removed: { function: 'enrollment-remove', data: who },
    },
    {
      ...{ function: 'enrollment-remove', when: { BY: [by], STATUS: ['withdrawn'] }, key, time: 'AT' },
      data: who,
    },
  ]),
};
