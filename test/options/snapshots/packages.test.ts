import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { snapshotNotes } from '../../../lib/options/snapshots/desk/views/snapshots.ts';
import { rowsTold } from '../../../lib/options/snapshots/package/rows.ts';
import { type Random, randomFrom } from '../../fuzz/random.ts';
import { seed } from '../../seed.ts';
import { removeTemporaryFolders } from '../../temporary-folder.ts';
import {
  columnsOf,
  type Dropped,
  filesOf,
  type Mode,
  newImporter,
  sentOfStandard,
  standardTables,
  type TableName,
  tableNames,
  type Version,
} from './packages.ts';
import type { Rows } from './sis.ts';

afterAll(removeTemporaryFolders);

const standard = () => filesOf(standardTables('bulk'), { version: '1.2', mode: 'bulk' });
const lines = (...rows: string[]): string => `${rows.join('\r\n')}\r\n`;

describe('a package as others write it', () => {
  let dropped: Dropped;
  beforeAll(async () => {
    const hostile = `a"); DROP TABLE claims; --'`;
    const files = filesOf(standardTables('bulk'), { version: '1.1', mode: 'bulk' });
    const changed = Object.entries(files).map(([name, text]) => [
      name,
      `\ufeff${text
        .replace('classCode', `"${hostile.replace('"', '""')}"`)
        .replaceAll('"true"', '"TRUE"')
        .replace('2026-01-01', '2026-01-01T00:00:00-05:00')
        .replace('2027-12-31', '2027-12-31 00:00:00.000')
        .replace(/^(.*sourcedId.*)\r/, '$1,metadata.homeroom,Something Else\r')
        .replaceAll(/"\r\n/g, '",x,"two\r\nlines"\r\n')
        .replaceAll(',""', ',')}`,
    ]);
    const { drop } = newImporter({ orgUnitCode: `{${hostile}}` });
    dropped = await drop({ ...Object.fromEntries(changed), "'; DROP TABLE claims; --.csv": 'x' });
  });
  test('has a byte-order mark, TRUE, no status, and full times for dates, as PowerSchool may write', () => {
    expect(dropped.sent).toEqual(sentOfStandard);
    expect(dropped.record.rows).toEqual({
      'classes.csv': { read: 2 },
      'users.csv': { read: 2 },
      'lineItems.csv': { sent: 1 },
      'enrollments.csv': { sent: 2 },
      'results.csv': { sent: 1 },
    });
  });
  test('has names of columns and files that break out of no statement', () => {
    expect(dropped.sent).toContain('BIO ada 110');
  });

  test('lies in a folder, has no class codes and makes names of course, term and school, as Infinite Campus may write', async () => {
    const { classes = [], users = [], enrollments = [] } = standardTables('bulk');
    const [biology, art] = classes;
    const content = {
      // An end without another id is no second term.
      classes: [
        { ...biology, termSourcedIds: 't-1, ' },
        { ...art, courseSourcedId: 'k-9' },
        ...['c-3', 'c-4'].map((sourcedId) => ({ ...art, sourcedId, courseSourcedId: 'k-2' })),
      ],
      users,
      enrollments: [
        ...enrollments,
        ...enrollments.map((row) => ({ ...row, sourcedId: `${row.sourcedId}-3`, classSourcedId: 'c-3' })),
      ],
    };
    const without = (_: string, column: string) => column === 'classCode';
    const files = {
      ...filesOf(content, { version: '1.1', mode: 'bulk', without }),
      'courses.csv': lines(
        ...['sourcedId,orgSourcedId,title,courseCode', 'k-1,o-1,Biology,BIO-1', 'k-2,o-1,Art,ART-1'],
      ),
      'academicSessions.csv': lines('sourcedId,title,type,startDate', 't-1,2026F,term,2026-09-01'),
      'orgs.csv': lines('sourcedId,name,type,identifier', `o-1,College,school,'); DROP TABLE claims; --`),
    };
    const inFolder = Object.fromEntries(
      Object.entries({ ...files, '._users.csv': 'x' }).map(([name, text]) => [`Export 1/${name}`, text]),
    );
    const { drop, set } = newImporter();
    const { refusal } = await drop(inFolder);
    expect(refusal).toBe(
      'classes.csv has no column classCode. To use another column, set "orgUnitCode": "sourcedId" in snapshot-settings.json',
    );
    set({
      orgUnitCode: '{course.courseCode}-{ term.title }-{school.identifier}',
      user: { field: 'orgDefinedId', column: '{identifier}x' },
    });
    const { sent, report, record } = await drop(inFolder);
    const code = `BIO-1-2026F-'); DROP TABLE claims; --`;
    // Two sections of one course.
    const ofArt = code.replace('BIO', 'ART');
    expect(sent).toEqual([ofArt, code].flatMap((each) => [`${each} Iu-1x 110`, `${each} Iu-2x 109`]));
    expect(report).toEqual([]);
    expect(record.rows).toMatchObject({
      'classes.csv': { read: 3, withoutName: 1 },
      'courses.csv': { read: 2 },
      'orgs.csv': { read: 1 },
      'academicSessions.csv': { read: 1 },
    });
  });

  test('has no manifest, no ids of enrollments, and roles in a file of their own, as for School Data Sync', async () => {
    const files = {
      'Orgs.csv': lines('sourcedId,name,type', 'o-1,School,school'),
      'Users.CSV': lines(
        'sourcedId,username,givenName',
        'u-1,ada,Ada',
        'u-2,tess,Tess',
        'u-3,two,Two',
        'u-4,late,Late',
      ),
      'Roles.csv': lines(
        'userSourcedId,orgSourcedId,role,isPrimary,roleStartDate',
        ...['u-1,o-1,student,,2026-01-01', 'u-1,o-1,teacher,TRUE,2027-01-01', 'u-4,o-1,student,,2027-01-01'],
        ...['u-2,o-1,teacher,true,', 'u-2,o-1,student,FALSE,'],
        ...['u-3,o-1,teacher,FALSE,', 'u-3,o-1,student,FALSE,', 'u-3,o-1,aide'],
      ),
      'Classes.csv': lines('sourcedId,orgSourcedId,title,code', 'c-1,o-1,Biology,BIO'),
      'Results.csv': lines('lineItemSourcedId,studentSourcedId,scoreStatus,score'),
      'Enrollments.csv': lines(
        'classSourcedId,userSourcedId,role',
        'c-1,u-1,',
        'c-1,u-2,',
        'c-1,u-3,',
        'c-1,u-4,',
      ),
    };
    const { drop } = newImporter({ orgUnitCode: 'code' });
    const first = await drop(files);
    expect(first.sent).toEqual(['BIO ada 110', 'BIO tess 109']);
    expect(first.report).toEqual([
      '"enrollments.csv","","role","is empty, and neither roles.csv nor users.csv gives the user one that holds today (1 row, in line 5)"',
      '"enrollments.csv","","role","is empty, and roles.csv gives the user several (1 row, in line 4)"',
      '"roles.csv","9","","has 3 cells, but the header has 5"',
    ]);
    expect(first.record.rows).toMatchObject({
      'enrollments.csv': { sent: 2, withoutRole: 2 },
      'roles.csv': { read: 7, refused: 1 },
    });
    const second = await drop({
      ...files,
      'Enrollments.csv': lines('classSourcedId,userSourcedId,role', 'c-1,u-2,'),
    });
    expect(second.sent).toEqual(['no BIO ada']);
    // A term begins without results; that it has none again is nothing to ask a person about.
    expect(second.record.why).toBeUndefined();
    expect((await drop(files)).sent).toEqual(['BIO ada 110']);
  });

  test('has semicolons or tabs and dates as people write them, and line items without a maximum, once the settings say what they mean', async () => {
    const dated = (begin: string, end = '', third = begin) => {
      const content = standardTables('bulk');
      const enrollments = (content.enrollments ?? []).map((row) => ({
        ...row,
        beginDate: begin,
        endDate: end,
      }));
      const more = { ...enrollments[0], sourcedId: 'e-3', classSourcedId: 'c-2', beginDate: third };
      return filesOf(
        { ...content, enrollments: [...enrollments, more] },
        { version: '1.2', mode: 'bulk', without: (_, column) => column === 'resultValueMax' },
      );
    };
    const { drop, set } = newImporter({ dateOrder: 'day-month-year', resultValueMax: 100 });
    const later = await drop(dated('1/12/2026'));
    expect(later.record.rows?.['enrollments.csv']).toEqual({ outsideDates: 3 });
    expect(later.sent).toEqual(['BIO Essay 100', 'BIO Essay ada 17']);
    set({ dateOrder: 'month-day-year', resultValueMax: 100 });
    const files = Object.entries(dated('1/12/2026 12:00:00 AM', '12-31-2026', '13/12/2026')).map(
      ([name, text], at) => [name, text.replaceAll(',', at % 2 === 0 ? ';' : '\t')],
    );
    const read = await drop(Object.fromEntries(files));
    expect(read.sent).toEqual(['BIO ada 110', 'BIO tess 109']);
    expect(read.report).toEqual(['"enrollments.csv","4","beginDate","must be a day such as 2026-09-01"']);
  });

  describe('has days of the university, once the settings name its time zone', () => {
    // It is dropped at 02:00 in UTC: in New York it is still the evening before.
    const days = (begin: string, end: string, more: Rows = []) => {
      const content = standardTables('bulk');
      const enrollments = (content.enrollments ?? []).map((row) => ({
        ...row,
        beginDate: begin,
        endDate: end,
      }));
      return filesOf(
        { ...content, enrollments, ...(more.length > 0 && { results: more }) },
        { version: '1.2', mode: 'bulk' },
      );
    };
    const items = ['BIO Essay 100', 'BIO Essay ada 17'].map((each) => each.replace('100', '20'));
    const roles = ['BIO ada 110', 'BIO tess 109'];
    const there = { cells: { timeZone: 'America/New_York' } };
    const begin = async () => {
      const importer = newImporter(there);
      expect((await importer.drop(days('2026-11-02', ''))).sent).toEqual(items);
      // The same day once more, a night later.
      expect((await importer.drop(days('2026-11-02', ''))).sent).toEqual(roles);
      return importer;
    };

    test('which begin at midnight there', async () => {
      await begin();
    });

    test('which end at midnight there, however programs write them', { tags: ['long'] }, async () => {
      const { drop, set } = await begin();
      set({});
      expect((await drop(days('2026-01-01', '2026-11-03'))).sent).toEqual(
        roles.map((each) => `no ${each.replace(/ \d+$/, '')}`),
      );
      set(there);
      expect((await drop(days('2026-01-01', '2026-11-04'))).sent).toEqual(roles);
      // Midnight in New York as programs write it, and the day that others mean by midnight in UTC.
      expect((await drop(days('2026-11-06T05:00:00Z', ''))).record.rows?.['enrollments.csv']).toEqual({
        outsideDates: 2,
      });
      expect((await drop(days('2026-11-06T05:00:00Z', ''))).sent).toEqual(roles);
      expect((await drop(days('2026-11-07T00:00:00Z', ''))).sent).toEqual([]);
    });
  });

  test('has protected values, decimal commas and names in another case, once the settings say so', async () => {
    const protectedIn = (text: string) =>
      text
        .replaceAll(/"((?:c|u|l|k|e|r)-\d)"/g, '="$1"')
        .replaceAll('"ada"', '="#Ada"')
        .replaceAll('"17"', '"17,5"');
    const files = Object.entries(standard()).map(([name, text]) => [
      name,
      name === 'manifest.csv' ? text : protectedIn(text),
    ]);
    const content = Object.fromEntries(files);
    const { drop, set } = newImporter({ cells: { strip: ['formula'] } });
    const first = await drop(content);
    expect(first.report.join()).toMatch(
      /"score","has a comma\. If that is a decimal comma, set ""decimal"": "",""/,
    );
    set({
      cells: { strip: ['formula'], decimal: ',' },
      orgUnitCode: { from: '{classCode}', case: 'lower' },
      user: { field: 'userName', column: 'username', strip: ['hash'], case: 'lower' },
    });
    const read = await drop(content);
    expect(read.sent.filter((each) => !each.startsWith('no '))).toEqual([
      'bio Essay 20',
      'bio Essay ada 17.5',
      'bio ada 110',
      'bio tess 109',
    ]);
  });
});

test.each<[string, () => Record<string, string | Buffer>, string]>([
  [
    'a delta before any bulk',
    () => filesOf(standardTables('delta'), { version: '1.1', mode: 'delta' }),
    'classes.csv is a delta, but no export was accepted before. First put an export into the bucket whose files are all bulk',
  ],
  [
    'a manifest that says of one file only what the package holds of it',
    () => ({ ...standard(), 'manifest.csv': 'propertyName,value\nfile.users,delta\n' }),
    'manifest.csv has a delta. It must then have file.classes, too, as bulk or delta',
  ],
  [
    'no file of an export',
    () => ({ 'readme.txt': 'x' }),
    'The zip has none of classes.csv, users.csv, lineItems.csv, enrollments.csv, results.csv. Put these files at the top of the zip, or in one folder. If your system writes other CSV files, import each by itself, with a mapping',
  ],
  [
    'a version to come',
    () => ({ ...standard(), 'manifest.csv': 'propertyName,value\noneroster.version,2.0\n' }),
    'manifest.csv must have the oneroster.version 1.0, 1.1 or 1.2. sis-relay reads no other version',
  ],
])('%s is refused with the words that help', async (_, files, words) => {
  expect((await newImporter().drop(files())).refusal).toBe(words);
});

test.each([
  ['without a pair of braces', '{course.courseCode'],
  ['without a column', '{}'],
  ['of text alone', 'a}'],
])('a template %s is refused', async (_, orgUnitCode) => {
  expect((await newImporter({ orgUnitCode }).drop(standard())).refusal).toContain(
    'orgUnitCode: must be a column, or a template such as {course.courseCode}-{term.title}',
  );
});

test.each<[string, string, Record<string, string>, string]>([
  [
    'a file that the package lacks',
    '{course.courseCode}',
    {},
    '{course.courseCode} in snapshot-settings.json needs all rows of courses.csv, but the package has no courses.csv. Put an export into the bucket that has courses.csv as bulk',
  ],
  [
    'several files, one of them a delta',
    '{course.courseCode}-{term.title}',
    {
      'manifest.csv': `${standard()['manifest.csv']}file.academicSessions,delta\r\n`,
      'academicSessions.csv': 'sourcedId,title\n',
    },
    '{course.courseCode}-{term.title} in snapshot-settings.json needs all rows of courses.csv and academicSessions.csv, but the package has no courses.csv and only a delta of academicSessions.csv. Put an export into the bucket that has courses.csv and academicSessions.csv as bulk',
  ],
  [
    'a column that another file lacks',
    '{course.courseCode}',
    { 'courses.csv': 'sourcedId,code\n' },
    'courses.csv has no column courseCode. To use another column, set "orgUnitCode": "sourcedId" in snapshot-settings.json',
  ],
  [
    'a column that its own file lacks',
    '{term.title}',
    { 'academicSessions.csv': 'sourcedId,title\n', 'classes.csv': 'sourcedId,terms\n' },
    'classes.csv has no column termSourcedIds. {term.title} in snapshot-settings.json needs it to find the term. To use another column, set "orgUnitCode": "sourcedId" in snapshot-settings.json',
  ],
])('a template that needs %s is refused with the words that help', async (_, orgUnitCode, files, words) => {
  expect((await newImporter({ orgUnitCode }).drop({ ...standard(), ...files })).refusal).toBe(words);
});

/** Every one of its columns that may be missing is, or only its values are. */
const absences = (version: Version, mode: Mode): [TableName, string][] =>
  tableNames.flatMap((table) =>
    columnsOf(table, version, mode)
      .filter(({ isOptional }) => isOptional)
      .map(({ name }): [TableName, string] => [table, name]),
  );

const kinds: [Version, Mode][] = [
  ['1.1', 'bulk'],
  ['1.1', 'delta'],
  ['1.2', 'bulk'],
  ['1.2', 'delta'],
];
/** What the platform cannot do without, and what the answer says then. */
const needed: Record<string, { words: RegExp; sent: string[] }> = {
  'classes classCode': { words: /"orgUnitCode": "sourcedId"/, sent: [] },
  'lineItems resultValueMax': { words: /"resultValueMax": 100/, sent: ['BIO ada 110', 'BIO tess 109'] },
  'results score': {
    words: /^$/,
    sent: [...sentOfStandard.slice(0, 1), 'BIO Essay ada B', ...sentOfStandard.slice(2)],
  },
};

/** A package without any of these; a delta comes after a bulk of another class. */
const without = async (
  absent: [TableName, string][],
  how: 'column' | 'value',
  [version, mode]: [Version, Mode],
) => {
  const isAbsent = (table: string, column: string) =>
    absent.some(([one, other]) => one === table && other === column);
  const { drop } = newImporter();
  if (mode === 'delta')
    await drop(
      filesOf(
        {
          ...Object.fromEntries(tableNames.map((name) => [name, []])),
          classes: [{ sourcedId: 'other', title: 'Other', classCode: 'OTHER' }],
        },
        { version, mode: 'bulk' },
      ),
    );
  const content = Object.fromEntries(
    Object.entries(standardTables(mode)).map(([name, rows]) => [
      name,
      rows.map((row) =>
        Object.fromEntries(
          Object.entries(row).filter(([column]) => how === 'column' || !isAbsent(name, column)),
        ),
      ),
    ]),
  );
  return drop(
    filesOf(content, {
      version,
      mode,
      without: (table, column) => how === 'column' && isAbsent(table, column),
    }),
  );
};

/** Why something of it is not imported. */
const reasonsIn = ({ refusal, report }: Dropped): string =>
  [refusal, ...report].join('\n').replaceAll('""', '"').trim();

const lacksAll = async (how: 'column' | 'value', [version, mode]: (typeof kinds)[number]): Promise<void> => {
  const absent = absences(version, mode).filter(
    ([table, column]) => needed[`${table} ${column}`] === undefined,
  );
  const found = await without(absent, how, [version, mode]);
  expect([reasonsIn(found), found.sent]).toEqual(['', sentOfStandard]);
};

test('without any column that it need not have, a package is imported', () =>
  lacksAll('column', ['1.1', 'bulk']));

describe.each(kinds)('of %s, a %s package', { tags: ['long'] }, (version, mode) => {
  test.each(['column', 'value'] as const)('without any %s that it need not have is imported', (how) =>
    lacksAll(how, [version, mode]),
  );

  test.each(absences(version, mode))(
    'without %s %s is imported, or the answer says what helps',
    async (...absent) => {
      for (const how of ['column', 'value'] as const) {
        const found = await without([absent], how, [version, mode]);
        const { words, sent } = needed[absent.join(' ')] ?? { words: /^$/, sent: sentOfStandard };
        expect(reasonsIn(found)).toMatch(words);
        expect(found.sent).toEqual(sent);
      }
    },
  );
});

const lineItemsOf = (...titles: string[]): Record<string, string> => ({
  ...standard(),
  'lineItems.csv': lines(
    'sourcedId,title,classSourcedId,resultValueMax,dueDate',
    ...titles.map((title, at) => `l-${at + 1},"${title}",c-1,20,2026-10-0${at + 1}`),
  ),
});

test('a row that names a refused one is counted under that reason, and titles may become names by a template', async () => {
  const { drop, set } = newImporter();
  const files = lineItemsOf('Essay', 'Essay', 'Unit 1/2: cells, 50%');
  const refused = await drop({
    ...files,
    'users.csv': files['users.csv']?.replace(/^.*\bada\b.*$/m, '$&,more') ?? '',
  });
  expect(refused.record.rows).toMatchObject({
    'lineItems.csv': { refused: 3 },
    'results.csv': { refusedWith: 1 },
    'enrollments.csv': { sent: 1, refusedWith: 1 },
  });
  expect(refused.report.filter((row) => /^"(enrollments|results)/.test(row))).toEqual([
    '"enrollments.csv","2","userSourcedId","names no row of users.csv that can be read: 1 of them cannot"',
    '"results.csv","2","lineItemSourcedId","its row in lineItems.csv was refused"',
  ]);
  set({ lineItemName: '{title}, due {dueDate} ({class.classCode})' });
  const { sent, report } = await drop(files);
  expect(report).toEqual([]);
  expect(sent).toEqual([
    'BIO Essay- due 2026-10-01 (BIO) 20',
    'BIO Essay- due 2026-10-01 (BIO) ada 17',
    'BIO Essay- due 2026-10-02 (BIO) 20',
    'BIO Unit 1-2: cells- 50-- due 2026-10-03 (BIO) 20',
    'BIO ada 110',
  ]);
  set({ lineItemName: '{class.room}' });
  expect((await drop(files)).refusal).toBe(
    'classes.csv has no column room, which "lineItemName" in snapshot-settings.json names',
  );
});

test('an export of which most rows cannot be read waits for a person', { tags: ['long'] }, async () => {
  const { drop } = newImporter();
  const files = standard();
  await drop(files);
  const unread = Array.from({ length: 12 }, (_, at) => `e-${at + 3},,,c-1,,u-1,pupil,,,`);
  const { record } = await drop({
    ...files,
    'enrollments.csv': `${files['enrollments.csv']}${lines(...unread)}`,
  });
  expect(record.why).toBe('of 14 rows of enrollments.csv, 12 were refused');
});

test('an export that lost a column which nothing reads waits for nobody, and one that lost another does', async () => {
  const { drop } = newImporter();
  const files = standard();
  await drop(files);
  const lacking = (file: string, column: string) => ({
    ...files,
    [file]: files[file]?.replace(new RegExp(`,"?${column}"?(?=[,\r])`, 'i'), ',"other"') ?? '',
  });
  const unread = await drop(lacking('users.csv', 'identifier'));
  expect(unread.record).toMatchObject({ lostColumns: [{ file: 'users.csv', columns: ['identifier'] }] });
  expect(unread.record.why).toBeUndefined();
  const { record } = await drop(lacking('enrollments.csv', 'endDate'));
  expect(record.why).toBe('enrollments.csv has lost 1 of the columns that are read');
});

/** Rows of all kinds, right and wrong. */
const randomRows = (random: Random, mode: Mode): Record<TableName, Rows> => {
  const some = <Row>(row: (at: number) => Row): Row[] =>
    Array.from({ length: random.below(25) }, (_, at) => row(at));
  const id = (letter: string, most = 8) => `${letter}${random.below(most)}`;
  const status = () => random.one(['', 'active', 'Active', 'tobedeleted', 'inactive', 'gone']);
  const day = () =>
    random.one(['', '', '', '2026-01-01', '2026-10-31T00:00:00Z', '2027-01-01', '1/05/2023', 'soon']);
  return {
    classes: some((at) => ({
      sourcedId: random.one([`c${at}`, id('c'), '']),
      title: 'x',
      classCode: random.one([`C${at}`, id('C'), '']),
      status: status(),
    })),
    users: some((at) => ({
      sourcedId: random.one([`u${at}`, id('u'), '']),
      email: 'x',
      username: random.one([`n${at}`, id('n'), '']),
      status: status(),
    })),
    lineItems: some((at) => ({
      sourcedId: random.one([`l${at}`, id('l')]),
      title: random.one([`T${at}`, id('T'), '', 'a/b']),
      classSourcedId: id('c'),
      status: status(),
      resultValueMax: random.one(['10', '10', '20', '', 'x']),
    })),
    enrollments: some((at) => ({
      sourcedId: random.one([`e${at}`, id('e'), '']),
      classSourcedId: id('c'),
      userSourcedId: id('u'),
      status: mode === 'bulk' ? random.one(['', '', status()]) : status(),
      role: random.one(['student', 'student', 'teacher', 'Guest', '']),
      beginDate: day(),
      endDate: day(),
    })),
    results: some(() => ({
      lineItemSourcedId: id('l'),
      studentSourcedId: id('u'),
      status: status(),
      score: random.one(['1', '2', '', 'x']),
      textScore: '',
      scoreStatus: random.one(['fully graded', 'Fully Graded', 'submitted', 'new']),
      dateLastModified: random.one(['', '2026-10-01', '2026-10-01T10:00:00Z', '2026-10-02T10:00:00', 'x']),
    })),
  };
};

/** Some rows have a cell too few. */
const damage = (text: string, random: Random): string =>
  text.replaceAll('\r\n"', () => (random.happens(0.03) ? '\r\n"x"\r\n"' : '\r\n"'));

const countsTell = async (universities: number, nights: number): Promise<void> => {
  const random = randomFrom(seed);
  for (let university = 0; university < universities; university += 1) {
    const { drop } = newImporter();
    for (let night = 0; night < nights; night += 1) {
      const mode = night > 0 && random.happens(0.4) ? 'delta' : 'bulk';
      const rows = randomRows(random, mode);
      const files = filesOf(rows, { version: '1.2', mode });
      for (const name of tableNames) files[`${name}.csv`] = damage(files[`${name}.csv`] ?? '', random);
      const { record, refusal } = await drop(files);
      expect(refusal).toBe('');
      const sums = Object.fromEntries(
        Object.entries(record.rows ?? {}).map(([file, counts]) => [
          file,
          Object.values(counts).reduce((sum, count) => sum + count, 0),
        ]),
      );
      // Each row is a line here, the header is one too, and the last line ends with a break.
      const wanted = Object.fromEntries(
        tableNames.map((name) => [`${name}.csv`, (files[`${name}.csv`] ?? '').split('\r\n').length - 2]),
      );
      expect([university, night, sums]).toEqual([university, night, wanted]);
      for (const [file, counts] of Object.entries(record.byKind))
        expect(record.rows?.[`${file}.csv`]?.sent ?? 0).toBeGreaterThanOrEqual(
          mode === 'bulk' && file === 'enrollments' ? counts.created : 0,
        );
    }
  }
};

test('every row of random packages is counted once', () => countsTell(1, 2));
test('every row of many random packages is counted once', { tags: ['long'] }, () => countsTell(40, 5));

test('a package that sends nothing says what became of its rows, and what helps', async () => {
  const { results: _, enrollments = [], ...others } = standardTables('bulk');
  const rows = [
    ...enrollments.map((row, at) => ({
      ...row,
      role: at === 0 ? 'Pupil' : 'teacher',
      endDate: '2026-06-30',
    })),
    { ...enrollments[0], sourcedId: 'e-3', status: 'tobedeleted' },
    { ...enrollments[0], sourcedId: 'e-4', status: 'inactive' },
    { ...enrollments[0], sourcedId: 'e-5', userSourcedId: 'u-9' },
    ...['6', '7', '8'].map((id) => ({ ...enrollments[0], sourcedId: `e-${id}`, beginDate: '1/12/2026' })),
  ];
  const { record, report, sent } = await newImporter().drop(
    filesOf(
      { ...others, enrollments: rows },
      { version: '1.2', mode: 'bulk', without: (_, column) => column === 'resultValueMax' },
    ),
  );
  expect(sent).toEqual([]);
  expect(report).toEqual([
    '"enrollments.csv","6","userSourcedId","names no row of users.csv"',
    '"enrollments.csv","","beginDate","can be two days, as 1/05/2023 can. Set ""dateOrder"" to ""day-month-year"" or ""month-day-year"" in snapshot-settings.json (3 rows, the first in line 7)"',
    '"enrollments.csv","","role","the role ""Pupil"" has no id in ""roles"" of snapshot-settings.json: 1 row was refused"',
    '"lineItems.csv","","resultValueMax","is empty. To give such line items a maximum, set ""resultValueMax"": 100 in snapshot-settings.json (1 row, in line 2)"',
  ]);
  expect(rowsTold(record)).toEqual([
    'classes.csv: 2 read.',
    'users.csv: 2 read.',
    'lineItems.csv: 1 without a maximum.',
    'enrollments.csv: 1 outside their dates, 1 not active, 1 marked as deleted, 1 with a role that the settings do not name ("Pupil" 1), 1 whose class, user or line item is not in the package, 3 with a date that can be read in two ways.',
    'Not in the package: results.csv.',
    'An enrollment is sent in the first export from its beginDate on, and removed after its endDate. If it holds today, correct its dates.',
    'In snapshot-settings.json, give these roles the platform’s ids under "roles", or name them under "rolesNotSent".',
    'Export all classes, users and line items that other files name. A refused row is read again once a bulk file or a delta has it.',
    'Fill resultValueMax, or set "resultValueMax" in snapshot-settings.json.',
    'Set "dateOrder" in snapshot-settings.json.',
  ]);
  const notes = snapshotNotes(record).flatMap((each) =>
    each && 'tone' in each && 'text' in each ? each.text : [],
  );
  expect(notes.filter((text) => rowsTold(record).includes(text))).toEqual(rowsTold(record));
});
