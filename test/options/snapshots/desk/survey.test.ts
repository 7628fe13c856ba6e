import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CrosswalkTable, Entries } from '../../../../lib/crosswalk/table.ts';
import { createBar } from '../../../../lib/desk/cli/print/progress.ts';
import { linesOf } from '../../../../lib/desk/cli/print/view.ts';
import { type Survey, surveyPackage } from '../../../../lib/options/snapshots/desk/survey.ts';
import { surveyView } from '../../../../lib/options/snapshots/desk/views/survey.ts';
import { memoize } from '../../../../lib/runtime/aws/memoize.ts';
import { loadIntegrations } from '../../../../lib/stage/integrations.ts';
import { quietTerminal, typed } from '../../../lib/desk/cli/typed.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { enrollment, entriesOfSis, type Rows, smallSis } from '../sis.ts';
import { writeZip, type ZipEntry } from '../zips.ts';

const folder = temporaryFolder();
const integrations = await loadIntegrations();

/** A crosswalk that knows these names, each as one thing. */
const crosswalkOf = (names: Record<string, string[]>) => {
  const known = new Map(
    Object.entries(names).flatMap(([kind, each]) => each.map((name) => [`${kind}/${name}`, name] as const)),
  );
  const asked = new Set<string>();
  const table: Pick<CrosswalkTable, 'namesIn' | 'fills'> = {
    fills: async () =>
      new Map(
        Object.entries(names).map(([kind, each]) => [
          `${kind}/platform`,
          { filledMs: 0, names: each.length },
        ]),
      ),
    namesIn: async (buckets) => {
      for (const bucket of buckets) asked.add(bucket);
      const found: Entries = new Map([...known.values()].map((name) => [name, { ids: [1] }]));
      return new Map(
        buckets.flatMap((bucket) => {
          const [kind = ''] = bucket.split('/');
          const entries = [...found].filter(([name]) => known.has(`${kind}/${name}`));
          return bucket.includes('/platform/') ? [[bucket, new Map(entries)] as const] : [];
        }),
      );
    },
  };
  return { table, asked };
};

const zipped = async (entries: ZipEntry[], name = `package-${randomUUID()}.zip`): Promise<string> => {
  const file = join(folder, name);
  await writeZip(file, entries);
  return file;
};
const look = async (entries: ZipEntry[], known?: Record<string, string[]>, name?: string): Promise<Survey> =>
  surveyPackage(await zipped(entries, name), { integrations, crosswalk: known && crosswalkOf(known).table });

const file = (name: string, columns: string, ...rows: string[]): ZipEntry => ({
  name,
  content: [columns, ...rows, ''].join('\r\n'),
});
const manifest = (version: string, files: string[]): ZipEntry =>
  file(
    'manifest.csv',
    'propertyName,value',
    'manifest.version,1.0',
    `oneroster.version,${version}`,
    ...['academicSessions', 'classes', 'courses', 'enrollments', 'lineItems', 'results', 'users'].map(
      (name) => `file.${name},${files.includes(name) ? 'bulk' : 'absent'}`,
    ),
  );

/** As PowerSchool writes them: all cells quoted, statuses and dates of changes empty, numbers in place of logins for some. */
const powerSchool = (): ZipEntry[] => {
  const quoted = (...cells: string[]): string => cells.map((cell) => `"${cell}"`).join(',');
  const people = ['ada', 'ben', 'cleo', 'tess'];
  return [
    manifest('1.1', ['academicSessions', 'classes', 'courses', 'enrollments', 'users']),
    file(
      'academicSessions.csv',
      'sourcedId,status,dateLastModified,title,type,startDate,endDate,parentSourcedId,schoolYear',
      quoted('31', '', '', 'Fall 2026', 'term', '2026-08-17', '2026-12-18', '', '2027'),
    ),
    file(
      'orgs.csv',
      'sourcedId,status,dateLastModified,name,type',
      quoted('s1', '', '', 'College', 'school'),
    ),
    file(
      'courses.csv',
      'sourcedId,status,dateLastModified,schoolYearSourcedId,title,courseCode',
      quoted('k1', '', '', '31', 'Biology', 'BIO'),
      quoted('k2', '', '', '31', 'Art', 'ART'),
    ),
    file(
      'classes.csv',
      'sourcedId,status,dateLastModified,title,grades,courseSourcedId,classCode,classType,schoolSourcedId,termSourcedIds',
      quoted('c1', '', '', 'Biology', '10', 'k1', 'BIO-101', 'scheduled', 's1', '31'),
      quoted('c2', '', '', 'Art', '10', 'k2', 'ART-1', 'scheduled', 's1', '31'),
    ),
    file(
      'users.csv',
      'sourcedId,status,dateLastModified,enabledUser,orgSourcedIds,role,username,userIds,givenName,familyName,identifier,email',
      ...people.map((name, at) =>
        quoted(
          ...[`u${at}`, '', '', 'true', 's1', name === 'tess' ? 'teacher' : 'student', name, '', 'G', 'F'],
          ...[`10${at}`, `${name}@college.example`],
        ),
      ),
    ),
    file(
      'enrollments.csv',
      'sourcedId,status,dateLastModified,classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate',
      ...people.map((name, at) =>
        quoted(
          ...[`e${at}`, '', '', 'c1', 's1', `u${at}`, name === 'tess' ? 'teacher' : 'student', 'false'],
          ...['2026-08-17', '2099-12-18'],
        ),
      ),
      quoted('e9', '', '', 'c2', 's1', 'u-gone', 'student', 'false', '2026-08-17', '2099-12-18'),
    ),
  ];
};

/** As Infinite Campus writes them: statuses and instants filled in, guardians among the users, results beside them. */
const infiniteCampus = (): ZipEntry[] => {
  const sis = smallSis();
  const changed = { status: 'active', dateLastModified: '2026-09-01T06:00:00.000Z' };
  const marked = (rows: Rows): Rows => rows.map((row) => ({ ...row, ...changed }));
  return entriesOfSis({
    users: marked(sis.users.map((row) => ({ ...row, username: '' }))),
    classes: marked(sis.classes),
    lineItems: marked(sis.lineItems),
    enrollments: marked([...sis.enrollments, enrollment('art', 'ben', { role: 'aide' })]),
    results: marked(sis.results),
  });
};

/** As School Data Sync has them: no manifest, no codes of classes, roles in a file of their own alone. */
const schoolDataSync = (): ZipEntry[] => [
  file('orgs.csv', 'sourcedId,name,type,parentSourcedId', 's1,College,school,'),
  file(
    'users.csv',
    'sourcedId,username,givenName,familyName,password,activeDirectoryMatchId,email,phone,sms',
    'u1,ada@college.example,,,,,ada@college.example,,',
    'u2,tess@college.example,,,,,tess@college.example,,',
  ),
  file(
    'roles.csv',
    'userSourcedId,orgSourcedId,role,sessionSourcedId,grade,isPrimary,roleStartDate,roleEndDate',
    'u1,s1,student,,10,,,',
    'u2,s1,teacher,,,,,',
  ),
  file('classes.csv', 'sourcedId,orgSourcedId,title,sessionSourcedIds,courseSourcedId', 'BIO,s1,Biology,,'),
  file('enrollments.csv', 'classSourcedId,userSourcedId', 'BIO,u1', 'BIO,u2'),
];

const evil = `x"); DROP TABLE users; COPY (SELECT 1) TO '/tmp/x'; --`;
const cell = `'); DROP TABLE enrollments; -- "${evil}`;

/** What several tests look at, as it costs as much for one of them as for all: dates and cells of many kinds, and users by the hundred. */
const strange = memoize(async () => {
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const begins = ['1/05/2023', '31/12/2023', '', '', ''];
  const sis = {
    ...smallSis(),
    classes: smallSis().classes.map((row) => ({ ...row, classCode: 'SAME' })),
    users: Array.from({ length: 500 }, (_, at) => ({ sourcedId: `u${at}`, username: `n${at}` })),
    enrollments: smallSis().enrollments.map((row, at) => ({
      ...row,
      role: cell,
      beginDate: begins[at] ?? '',
    })),
  };
  const entries = [
    ...entriesOfSis(sis),
    file('orgs.csv', `sourcedId,${quoted(evil)}`, `s1,${quoted(cell)}`),
    file(`${evil.replaceAll('/', '')}.csv`, 'a', 'b'),
  ];
  const { table, asked } = crosswalkOf({ orgUnitCode: [], userName: [] });
  const survey = await surveyPackage(await zipped(entries), { integrations, crosswalk: table });
  return { survey, asked };
});

/** The same of what no import takes: UTF-16, two readings of a date, and a delta. */
const blocked = memoize(() => {
  const others = [
    { name: 'users.csv', content: Buffer.from('\ufeffsourcedId,username\r\nu0,ada\r\n', 'utf16le') },
    file(
      'enrollments.csv',
      'classSourcedId,userSourcedId,role,status,beginDate',
      'c1,u0,student,,1/05/2023',
      'c1,u1,student,,3/04/2023',
    ),
  ];
  const entries = powerSchool().map(({ name, content }) => ({
    name,
    content: `${content}`.replace('file.enrollments,bulk', 'file.enrollments,delta'),
    ...others.find((other) => other.name === name),
  }));
  return look(entries, { orgUnitCode: ['BIO', 'ART'] });
});

const candidate = (survey: Survey, column: string) =>
  survey.candidates.find((each) => each.column === column);

describe('a package whose settings nobody has written', () => {
  test('as PowerSchool writes it has its files, roles, dates and codes told as the producers’ guide shows, and settings are proposed', async () => {
    const known = { orgUnitCode: ['BIO-101', 'ART-1'], userName: ['ada', 'ben', 'cleo', 'tess'] };
    const survey = await look(powerSchool(), known, 'first.zip');
    expect(survey).toMatchObject({
      version: '1.1',
      others: [],
      blocks: [],
      settings: {
        roles: { student: null, teacher: null },
        orgUnitCode: 'classCode',
        user: { field: 'userName', column: 'username' },
      },
      trial: {
        of: 4,
        counts: { created: 4, refused: 1 },
        refusals: [{ file: 'enrollments.csv', column: 'userSourcedId', rows: 1, line: '6' }],
      },
    });
    const enrollments = survey.files.find(({ name }) => name === 'enrollments');
    expect(enrollments).toMatchObject({
      mode: 'bulk',
      rows: 5,
      missing: [],
      values: expect.arrayContaining([
        {
          column: 'role',
          others: 0,
          counts: [
            { value: 'student', rows: 4 },
            { value: 'teacher', rows: 1 },
          ],
        },
      ]),
      dates: expect.arrayContaining([
        expect.objectContaining({
          column: 'beginDate',
          form: '2026-01-31',
          rows: 5,
          earliest: '2026-08-17',
          latest: '2026-08-17',
        }),
      ]),
    });
    expect(candidate(survey, 'classCode')).toMatchObject({ filled: 2, empty: 0, known: { orgUnitCode: 2 } });
    expect(candidate(survey, 'courseCode')).toMatchObject({ filled: 2, known: { orgUnitCode: 0 } });
    expect(candidate(survey, 'username')).toMatchObject({ known: { userName: 4, orgDefinedId: 0 } });

    const terminal = { ...quietTerminal, command: (words: string) => `npx sis-relay ${words} --stage prod` };
    const lines = linesOf(surveyView(survey, { given: 'first.zip', writeSettings: undefined }), terminal);
    const printed = `${lines.join('\n')}\n`;
    expect(printed).toBe(readFileSync(join(import.meta.dirname, 'survey.txt'), 'utf8').replaceAll('\r', ''));
  });

  test('as Infinite Campus writes it names users by what the platform knows', async () => {
    const survey = await look(infiniteCampus(), {
      orgUnitCode: ['Biology'],
      orgDefinedId: ['id-ada', 'id-ben', 'id-cleo'],
    });
    expect(survey.settings).toEqual({
      roles: { student: null, aide: null, teacher: null },
      orgUnitCode: 'title',
      user: { field: 'orgDefinedId', column: 'identifier' },
    });
    expect(candidate(survey, 'username')).toMatchObject({ filled: 0, empty: 4, samples: [] });
    const results = survey.files.find(({ name }) => name === 'results');
    expect(results).toMatchObject({ dates: [{ form: '2026-01-31T09:30:00Z', rows: 2 }] });
    expect(survey.trial).toMatchObject({ counts: { refused: 0 } });
  });

  test('as School Data Sync has it is looked at without a manifest, its classes are named by their ids, and the roles of its users count', async () => {
    const survey = await look(schoolDataSync());
    expect(survey).toMatchObject({
      version: undefined,
      crosswalk: undefined,
      settings: {
        roles: { student: null, teacher: null },
        orgUnitCode: 'sourcedId',
        user: { field: 'userName', column: 'username' },
      },
      blocks: [],
      trial: { of: 2 },
    });
    const facts = Object.fromEntries(survey.files.map((each) => [each.name, each]));
    expect(facts.classes).toMatchObject({ mode: 'bulk', missing: ['status', 'classCode'] });
    expect(facts.roles).toMatchObject({
      values: [
        {
          column: 'role',
          counts: [
            { value: 'student', rows: 1 },
            { value: 'teacher', rows: 1 },
          ],
        },
      ],
    });
  });

  test('is chosen by what is filled in where the platform knows nothing of it, which is asked for a bounded number of names', async () => {
    const { survey, asked } = await strange();
    expect(candidate(survey, 'classCode')).toMatchObject({ doubles: 2, known: { orgUnitCode: 0 } });
    expect(survey.settings).toMatchObject({ orgUnitCode: 'sourcedId' });
    expect(asked.size).toBeGreaterThan(80);
    expect(asked.size).toBeLessThan(1_000);
  });

  test('has its classes named by their courses where those are what the platform knows', async () => {
    expect((await blocked()).settings).toMatchObject({ orgUnitCode: '{course.courseCode}' });
  });

  test('has UTF-16, two readings of a date, and a delta before any bulk each told with the next step', async () => {
    const { blocks, files } = await blocked();
    expect(blocks.toSorted()).toEqual([
      expect.stringMatching(
        /^beginDate of enrollments\.csv has dates that can be two days \(31\/1\/2026 or 1\/31\/2026\), such as 1\/05\/2023\. Set "dateOrder" to "day-month-year"/,
      ),
      expect.stringMatching(
        /^enrollments\.csv is a delta, .* put an export into the bucket whose files are all bulk$/,
      ),
      'users.csv is UTF-16. Export it as UTF-8',
    ]);
    expect(files).toHaveLength(6);
  });

  test('has its days told from months where one cell does, and the range is that of the days', async () => {
    const { files, settings } = (await strange()).survey;
    expect(settings).toMatchObject({ dateOrder: 'day-month-year' });
    expect(files.find(({ name }) => name === 'enrollments')).toMatchObject({
      dates: [
        { form: '31/1/2026', rows: 2, earliest: '2023-05-01', latest: '2023-12-31', order: 'day-month-year' },
      ],
    });
  });
});

describe('a package that means harm', () => {
  test('changes no statement by the names of its columns and files, or by its cells', async () => {
    const { survey } = await strange();
    expect(survey.others).toContain(`${evil.replaceAll('/', '')}.csv`);
    expect(survey.files.find(({ name }) => name === 'enrollments')).toMatchObject({
      values: expect.arrayContaining([{ column: 'role', counts: [{ value: cell, rows: 5 }], others: 0 }]),
    });
    // The settings could not be read back with such a name.
    expect(survey.proposal).toMatchObject({ roles: [], otherRoles: 5 });
  });

  test('ends with a clear error where it grows beyond measure', async () => {
    const users = file('users.csv', 'sourcedId,username', 'u,'.repeat(2 * 1024 ** 2));
    await expect(look([users])).rejects.toThrow(/^package-\S+\.zip .*grows to more than 200 times its size/);
  });
});

describe('the command', () => {
  test.each<[string, () => Promise<string>, number, RegExp]>([
    [
      'text by the name of a zip',
      async () => written('text.zip', 'sourcedId,username\n'),
      2,
      /text\.zip is not a zip. Pass the package as the student system exports it/,
    ],
    ['a file without a byte', async () => written('none.zip', ''), 2, /none\.zip is empty\. Copy it again/],
    ['a zip that holds nothing', () => zipped([], 'void.zip'), 1, /void\.zip .*has none of classes\.csv/],
    [
      'half of a zip',
      async () => written('half.zip', readFileSync(await zipped(powerSchool())).subarray(0, 300)),
      1,
      /half\.zip cannot be imported: The zip cannot be read/,
    ],
    [
      'a table without a mapping',
      async () => written('users.csv', 'sourcedId,username\n'),
      2,
      /users\.csv is a table, and nothing says what its columns mean: give --map/,
    ],
    ['a folder', async () => folderHere('unpacked'), 2, /is a folder\. Zip the CSV files in it/],
    ['nothing', async () => join(folder, 'no.zip'), 2, /There is no file/],
  ])('refuses %s with the remedy', async (_, given, status, expected) => {
    const said = await typed(`snapshots diff ${await given()}`);
    expect(said).toMatchObject({ status, out: '' });
    expect(said.err.replace(/\s+/g, ' ')).toMatch(expected);
  });
  const written = (name: string, content: string | Buffer): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const folderHere = (name: string): string => {
    mkdirSync(join(folder, name), { recursive: true });
    return join(folder, name);
  };

  test('writes settings to start from, which count when a person has filled in the roles', async () => {
    const first = await zipped(powerSchool(), 'first.zip');
    const settings = join(folder, 'settings.json');
    expect(await typed(`snapshots diff ${first} --write-settings ${settings}`)).toMatchObject({
      status: 0,
      out: expect.stringMatching(/Replace\s+each\s+null/),
    });
    const delta = await zipped(entriesOfSis(smallSis(), { users: 'delta' }));
    expect(await typed(`snapshots diff ${delta} --write-settings ${settings}`)).toMatchObject({
      status: 1,
      err: expect.stringMatching(/already\s+exists/),
    });

    const compare = () => typed(`snapshots diff ${first} --settings ${settings} --json`);
    const open = await compare();
    expect(open.status).toBe(1);
    expect(open.err.replace(/\s+/g, ' ')).toMatch(
      /settings\.json is not valid: roles\.student: must be a positive whole number/,
    );
    writeFileSync(settings, readFileSync(settings, 'utf8').replaceAll('null', '110'));
    expect(JSON.parse((await compare()).out)).toMatchObject({ of: 4, counts: { created: 4, refused: 1 } });
  });

  test('prints one document with --json, and fails where an import would', async () => {
    const delta = await zipped(entriesOfSis(smallSis(), { users: 'delta' }));
    const { status, out } = await typed(`snapshots diff ${delta} --json`);
    expect(status).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ blocks: [expect.any(String)], settings: { roles: {} } });
    const settings = join(folder, 'blocked.json');
    expect(await typed(`snapshots diff ${delta} --write-settings ${settings}`)).toMatchObject({
      status: 1,
      out: expect.stringMatching(/Written\s+to\s+\S+blocked\.json\.\s+Next:\s+remove\s+what\s+blocks/),
    });
  });
});

describe('a bar', () => {
  const bar = (isLive: boolean) => {
    const lines: string[] = [];
    const show = createBar({ isLive, line: (text) => lines.push(text) }, 'Comparing');
    for (const share of [0, 0.5, 0.4, 1.2]) show(share);
    return lines;
  };
  test('is drawn in one line on a terminal, and never falls', () => {
    expect(bar(true)).toEqual([
      `Comparing  [${' '.repeat(30)}]   0 %`,
      `Comparing  [${'='.repeat(15)}${' '.repeat(15)}]  50 %`,
      `Comparing  [${'='.repeat(30)}] 100 %`,
    ]);
  });
  test('is not shown elsewhere', () => expect(bar(false)).toEqual([]));
});
