import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadIntegrations } from '../../../../../lib/operate/stage/integrations.ts';
import { openSetEngine } from '../../../../../lib/runtime/files/tables/engine.ts';
import { examine } from '../../../../../lib/sources/snapshots/examine.ts';
import { rowsTold } from '../../../../../lib/sources/snapshots/package/rows.ts';
import { type SnapshotRecord, stateKey } from '../../../../../lib/sources/snapshots/state/record.ts';
import { removeTemporaryFolders } from '../../../../temporary-folder.ts';
import { filled } from '../../../delivery/crosswalk/filled.ts';
import { type Body, dropMs, importDropped, importedOf, newHeld, newImports, startMs } from '../imports.ts';
import { changed, csvOf, enrollment, entriesOfSis, result, type Sis, smallSis, zipOf } from '../sis.ts';

afterAll(removeTemporaryFolders);

const gone = { function: 'enrollment-remove', data: { orgUnitCode: 'COURSE', userName: 'LOGIN' } };
const roleId = { from: 'ROLE', values: { S: 110, T: 109 } };
const message = {
  ...{ function: 'enrollment-create', data: { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId } },
  removed: gone,
};

describe('a table', () => {
  type Told = {
    /** What the platform holds after a night, as `ada 110`. */
    held(night: number): string[];
    bodies(night: number): Body[];
    /** Of its rows, as `3 LOGIN is wrong`, by their places among them. */
    refused(night: number): string[];
  };
  /** Its columns but for the course, which is each case's own: all share one import a night. */
  const columns = 'COURSE,LOGIN,NUMBER,ROLE,AT,BY,TEXT';
  const byTime = { ...message, when: { BY: ['time'] }, time: 'AT', key: ['COURSE', 'LOGIN'] };
  const byRole = { ...message, when: { BY: ['role'] }, key: ['COURSE', 'LOGIN', 'ROLE'] };
  const byName = { ...message, when: { BY: ['name'] }, key: ['COURSE', 'LOGIN'] };
  const byNumber = {
    ...{ ...message, when: { BY: ['number'] }, key: ['COURSE', 'NUMBER'] },
    data: { orgUnitCode: 'COURSE', orgDefinedId: 'NUMBER', roleId },
    removed: { function: 'enrollment-remove', data: { orgUnitCode: 'COURSE', orgDefinedId: 'NUMBER' } },
  };
  const graded = (by: string, more: object = {}) => ({
    ...{ function: 'grade-push', when: { BY: [by] }, time: 'AT', key: ['COURSE', 'LOGIN'] },
    data: {
      ...{ orgUnitCode: 'COURSE', userName: 'LOGIN', gradeObjectName: { value: 'Essay' } },
      ...{ 'grade.type': { value: 'numeric' }, 'grade.points': 'ROLE', ...more },
    },
  });
  const at = '2026-10-30T08:00:00Z';
  const timed = (login: string, time = at) => `${login},,S,${time},time`;
  /** One row with points and text, as `7,Well done`, in each night. */
  const texts = (by: string, ...nights: string[]): Record<number, string[]> =>
    Object.fromEntries(nights.map((each, at) => [at + 1, [`ada,,${each.replace(',', `,,${by},`)}`]]));
  /** What is sent in each night, as `7 Well done`, and the nights in which the report names its empty cell. */
  const textsOf = ({ bodies, refused }: Told) => ({
    sent: allNights.map((night) =>
      bodies(night)
        .map(({ data: { grade, comments } }) => `${(grade as { points: number }).points} ${comments}`)
        .join(),
    ),
    told: allNights.filter((night) => refused(night).includes(isEmpty)),
  });
  const allNights = [1, 2, 3, 4, 5];
  const isEmpty =
    '1 TEXT is empty without quotation marks, so the platform keeps the value that was sent. To clear it, write """" there';

  // Nothing is removed in the last night: then times hold that rows give.
  const cases: { title: string; rows: Record<number, string[]>; expected: (told: Told) => void }[] = [
    {
      title: 'whose user registers again between the export and its drop is enrolled',
      rows: {
        ...{ 1: [timed('ada'), timed('ben')], 4: [timed('ben')] },
        // An hour before the drop that un-enrolls, whose export is older.
        5: [timed('ada', '2026-11-05T01:00:00Z'), timed('ben')],
      },
      expected: ({ held }) => {
        expect([held(4), held(5)]).toEqual([['ben 110'], ['ada 110', 'ben 110']]);
      },
    },
    {
      title:
        'in which a user has a new name enrolls by it after the old one was removed, whatever time the row gives',
      rows: { 1: [timed('ada'), timed('ben')], 2: [timed('ada2', '2026-11-02T20:00:00Z'), timed('ben')] },
      expected: ({ bodies }) => {
        // Both may be one user on the platform: what is older is superseded.
        const newest = bodies(2).sort((one, other) =>
          `${one.time} ${one.sequence}` < `${other.time} ${other.sequence}` ? -1 : 1,
        );
        expect(newest.map(({ type }) => type)).toEqual([
          'sis.enrollment-remove.v1',
          'sis.enrollment-create.v1',
        ]);
      },
    },
    {
      title: 'whose rows that go take nothing away leaves others the times that their rows give',
      rows: { 1: ['ada,,1,,grade', 'ben,,1,,grade'], 2: ['ada,,2,2026-11-02T20:00:00Z,grade'] },
      expected: ({ bodies }) =>
        expect(bodies(2).map(({ time }) => time)).toEqual(['2026-11-02T20:00:00.000Z']),
    },
    {
      title: 'of which a second role comes and goes leaves the first, and names the contradiction',
      rows: {
        ...{ 1: ['ada,,S,,role', 'ben,,S,,role'], 2: ['ada,,S,,role', 'ada,,T,,role', 'ben,,S,,role'] },
        3: ['ada,,S,,role', 'ben,,S,,role'],
      },
      expected: ({ held, refused }) => {
        const problem = 'another row is about the same thing on the platform, but differs';
        expect(refused(2)).toEqual([1, 2].map((row) => `${row} COURSE, LOGIN, ROLE ${problem}`));
        expect(held(3)).toEqual(['ada 110', 'ben 110']);
      },
    },
    {
      title: 'whose messages name one person by user name and by number removes nobody whom the other names',
      rows: { 1: ['ada,#1,S,,name', 'ada,#1,S,,number', 'ben,#2,S,,name'], 4: ['ada,#1,S,,number'] },
      expected: ({ bodies }) =>
        expect(bodies(4).map(({ type, data }) => [type, data.userName ?? data.orgDefinedId])).toEqual([
          ['sis.enrollment-remove.v1', 'ben'],
        ]),
    },
    {
      title: 'whose two names of a person are learnt later to be one has what its rows say from then on',
      rows: {
        1: ['fay,,S,,name', 'gus,,S,,name', ',#3,T,,number', ',#4,T,,number'],
        // They are learnt in night 3.
        4: ['fay,,S,,name', 'gus,,S,,name'],
      },
      expected: ({ bodies, refused }) => {
        expect([refused(2).length, bodies(2)]).toEqual([0, []]);
        expect([refused(3).length, bodies(3)]).toEqual([4, []]);
        expect(bodies(4).map(({ data }) => [data.userName, data.roleId])).toEqual([
          ['fay', 110],
          ['gus', 110],
        ]);
        expect(bodies(5)).toEqual([]);
      },
    },
    {
      title:
        'with a row that cannot be used and names a person by number removes nobody whom another name named',
      rows: {
        1: ['ada,,S,,name', 'ben,,S,,name'],
        2: [',#1,X,,number', 'ben,,S,,name'],
        3: ['ben,,S,,name'],
      },
      expected: ({ bodies, refused, held }) => {
        expect([refused(2).length, bodies(2)]).toEqual([1, []]);
        expect(held(3)).toEqual(['ben 110']);
      },
    },
    {
      title: 'with a slip in a key removes nobody whom the row may mean, until it is gone or right',
      rows: {
        ...{ 1: ['ada,,S,,name', 'u5,,S,,name'], 2: ['ada,,S,,name', '"u5 ",,S,,name'] },
        // It is there still, and hides nobody who goes later.
        ...{ 3: ['"u5 ",,S,,name'], 4: ['eve,,S,,name'] },
      },
      expected: ({ held, refused }) => {
        expect(held(2)).toEqual(['ada 110', 'u5 110']);
        expect(refused(2).join()).toContain('must be one line, without a space at its beginning or end');
        expect([held(3), held(4)]).toEqual([['u5 110'], ['eve 110']]);
      },
    },
    {
      title: 'with a slip in a key removes who is missing in another course',
      rows: { 1: ['ben,,S,,name', 'eve,,S,,name'], 2: ['eve,,S,,name'] },
      expected: ({ held }) => expect(held(2)).toEqual(['eve 110']),
    },
    {
      title:
        'whose cell is emptied without quotation marks sends nothing of its field, and tells it until it is cleared',
      rows: texts('text', '7,Well done', '7,', '8,', '8,""', '8,'),
      expected: (told) =>
        expect(textsOf(told)).toEqual({ sent: ['7 Well done', '', '8 undefined', '8 ', ''], told: [2, 3] }),
    },
    {
      title: 'whose cell has its value again sends nothing, and another value',
      rows: texts('text', '7,Well done', '7,', '7,Well done', '7,Better', '7,Better'),
      expected: (told) =>
        expect(textsOf(told)).toEqual({ sent: ['7 Well done', '', '', '7 Better', ''], told: [2] }),
    },
    {
      title: 'whose cell never had a value does not tell it',
      rows: texts('text', '7,'),
      expected: (told) => expect(textsOf(told)).toEqual({ sent: ['7 undefined', '', '', '', ''], told: [] }),
    },
    {
      title: 'whose row lacks a value that its message needs is refused',
      rows: texts('text', '7,Well done', ',', '7,Well done'),
      expected: (told) => {
        expect(textsOf(told)).toEqual({ sent: ['7 Well done', '', '', '', ''], told: [] });
        expect(told.refused(2)).toEqual([expect.stringMatching(/^1 ROLE /)]);
      },
    },
    {
      title: 'whose cell has a default is cleared by it',
      rows: texts('cleared', '7,Well done', '7,'),
      expected: (told) =>
        expect(textsOf(told)).toEqual({ sent: ['7 Well done', '7 ', '', '', ''], told: [] }),
    },
  ];

  let nightly: Told[];
  let second: SnapshotRecord;
  beforeAll(async () => {
    const { bucket, drop } = newImports({ maxChangesPercent: 100 });
    const messages = [
      ...[byTime, byRole, byName, byNumber, graded('grade')],
      ...[
        graded('text', { comments: 'TEXT' }),
        graded('cleared', { comments: { from: 'TEXT', default: '' } }),
      ],
    ];
    bucket.write('snapshot-mapping.json', JSON.stringify({ messages }));
    const learn = (names: Record<'userName' | 'orgDefinedId', string[]>) => {
      for (const kind of ['userName', 'orgDefinedId'] as const)
        bucket.write(
          ...filled(
            kind,
            names[kind].map((each, at) => [each, 301 + at]),
          ),
        );
    };
    learn({ userName: ['ada', 'ben'], orgDefinedId: ['#1', '#2'] });
    const platform = newHeld();
    const now = cases.map((): string[] => []);
    const after: { held: string[]; bodies: Body[]; report: string[]; owners: number[] }[] = [];
    for (const night of allNights) {
      if (night === 3)
        learn({ userName: ['ada', 'ben', 'fay', 'gus'], orgDefinedId: ['#1', '#2', '#3', '#4'] });
      for (const [place, { rows }] of cases.entries()) now[place] = rows[night] ?? now[place] ?? [];
      const all = now.flatMap((rows, place) =>
        rows.map((row) => `C${place},${row}${row.split(',').length < 6 ? ',' : ''}`),
      );
      const { bodies, report, reasons, record } = await drop(
        [columns, ...all, ''].join('\n'),
        'snapshots/a.csv',
      );
      expect(reasons).toEqual([]);
      if (night === 2) second = record;
      for (const body of bodies) platform.take(body);
      const owners = now.flatMap((rows, place) => rows.map(() => place));
      after[night] = { held: platform.all(), bodies, report, owners };
    }
    const found = (night: number) => {
      const it = after[night];
      if (it === undefined) throw new Error(`nothing is dropped in night ${night}`);
      return it;
    };
    nightly = cases.map((_, place) => ({
      held: (night) =>
        found(night).held.flatMap((each) =>
          each.startsWith(`C${place} `) ? each.slice(`C${place} `.length) : [],
        ),
      bodies: (night) => found(night).bodies.filter(({ data }) => data.orgUnitCode === `C${place}`),
      refused: (night) =>
        found(night).report.flatMap((told) => {
          const [, line, column, problem] = /^"a\.csv","(\d+)","([^"]*)","(.*)"$/.exec(told) ?? [];
          const { owners } = found(night);
          const row = Number(line) - 2;
          return owners[row] === place ? `${row - owners.indexOf(place) + 1} ${column} ${problem}` : [];
        }),
    }));
  });
  test.each(cases.map((each, place) => ({ ...each, place })))('$title', ({ expected, place }) => {
    expected(nightly[place] as Told);
  });

  test('counts rows with emptied cells by themselves, and tells the next step', () => {
    expect(second.rows?.['a.csv']?.emptied).toBe(2);
    expect(rowsTold(second).join(' ')).toMatch(
      /2 used, with an empty cell whose last value stays, .*To clear that, write "" in the cell, or give its field a default/,
    );
  });

  test('says what became of its rows, and what to do if no message is for them', async () => {
    const { bucket, drop } = newImports();
    bucket.write('snapshot-mapping.json', JSON.stringify({ messages: [byName] }));
    const table = (...rows: string[]) =>
      drop([columns, ...rows.map((row) => `B,${row},`), ''].join('\n'), 'snapshots/enrollments.csv');
    const first = await table('ada,,S,,name', 'ben,,S,,name', 'cleo,,X,,name', 'dan', 'eve,,S,,Name');
    expect(first.record.rows).toEqual({
      'enrollments.csv': { used: 2, withoutMessage: 1, refused: 2 },
    });
    expect(rowsTold(first.record)).toEqual([
      'enrollments.csv: 2 used by the mapping, 1 that no message of the mapping is for, 2 refused.',
      expect.stringContaining('correct them or the mapping'),
      'The report lists the rows and the reasons.',
    ]);
    expect((await table('ada,,T,,name', 'ada,,X,,name', 'ben,,S,,name')).record).toMatchObject({
      rows: { 'enrollments.csv': { used: 1, held: 1, refused: 1 } },
      counts: { held: 1, updated: 0 },
    });
  });

  test('whose column of logins, roles or scores slips, or is 0 for all, waits for a person', async () => {
    const { bucket, drop } = newImports({ maxRemovalsPercent: 5 });
    const graded = {
      function: 'grade-push',
      data: {
        ...{ orgUnitCode: 'COURSE', userName: 'LOGIN', gradeObjectName: { value: 'Essay' } },
        ...{ 'grade.type': { value: 'numeric' }, 'grade.points': 'SCORE' },
      },
    };
    const messages = [
      { ...graded, when: { ROLE: ['graded'] }, key: ['ID'] },
      { ...message, when: { ROLE: ['S', 'T'] }, key: ['ID'] },
    ];
    bucket.write('snapshot-mapping.json', JSON.stringify({ messages }));
    /** Of both courses as many rows; in the second, logins do not slip. */
    const table = (shift: number, role: string, score?: number) => {
      const rowsOf = (course: string, shift: number, more: { role: string; score?: number | undefined }) =>
        Array.from({ length: 60 }, (_, at) => {
          const login = (of: number) => `${course}${(at + shift) % of}`;
          const enrolled = at < 30 ? [`e${course}${at},${course}${at},${login(30)},${more.role},`] : [];
          return [`${course}${at},${course},${login(60)},graded,${more.score ?? at + 1}`, ...enrolled];
        }).flat();
      const rows = [...rowsOf('BIO', shift, { role: 'S' }), ...rowsOf('ART', 0, { role, score })];
      return drop(`ID,COURSE,LOGIN,ROLE,SCORE\n${rows.join('\n')}\n`, 'snapshots/a.csv');
    };
    expect((await table(0, 'S')).reasons).toEqual([]);
    expect((await table(1, 'T', 0)).reasons.sort()).toEqual([
      '120 of 120 grade-push would be changed',
      '30 of 60 enrollment-create would be changed',
      '30 of 60 enrollment-create would be removed',
      '30 of 60 enrollment-create would move to other users or org units',
      '60 of 120 grade-push would move to other users or org units',
    ]);
  });
});

test('an export of OneRoster whose roles, scores, names, columns, rows or files are lost waits for a person', async () => {
  const { drop } = newImports({ maxRemovalsPercent: 50 });
  const users = Array.from({ length: 60 }, (_, at) => ({ sourcedId: `u-${at}`, username: `user${at}` }));
  const sis = {
    ...smallSis(),
    ...{ users, enrollments: users.map((_, at) => enrollment('bio', `${at}`)) },
    results: users.map((_, at) => result('essay', `${at}`, `${at + 1}`)),
  };
  const dropSis = async (changes: Sis, edit = (text: string, _name: string) => text) => {
    const entries = entriesOfSis({ ...sis, ...changes });
    return drop(
      await zipOf(entries.map(({ name, content }) => ({ name, content: edit(`${content}`, name) }))),
    );
  };
  const { results: _, ...others } = sis;
  // A term begins without results.
  expect((await dropSis({ results: [] })).reasons).toEqual([]);
  expect((await dropSis({})).reasons).toEqual([]);

  const asTeachers = users.map((_, at) => enrollment('bio', `${at}`, { role: 'teacher' }));
  const zeros = users.map((_, at) => result('essay', `${at}`, '0'));
  const lost = await dropSis({ enrollments: asTeachers, results: zeros }, (text, name) =>
    name === 'enrollments.csv' ? text.replace(',endDate', '').replaceAll(/,""\r/g, '\r') : text,
  );
  expect(lost).toMatchObject({
    reasons: [
      'enrollments.csv has lost 1 of its columns',
      ...['60 of 60 enrollments would be changed', '60 of 60 results would be changed'],
    ],
    record: { lostColumns: [{ file: 'enrollments.csv', columns: ['enddate'] }] },
  });
  const slipped = users.map((row, at) => ({ ...row, username: `user${(at + 1) % 60}` }));
  expect((await drop(await zipOf(entriesOfSis({ ...others, users: slipped })))).reasons).toEqual([
    'results.csv is missing; an accepted snapshot had it',
    '60 of 60 enrollments would move to other users or org units',
    '60 of 60 results would move to other users or org units',
  ]);
  expect((await dropSis({ results: [] })).record.why).toBe(
    'results.csv has no rows; 60 of 60 results would be removed',
  );

  // Other files, columns, cases and ends of lines change nothing.
  const disguised = entriesOfSis(sis).map(({ name, content }) => ({
    name,
    content: `\ufeff${
      name === 'manifest.csv'
        ? content
        : `${content}`
            .replaceAll('\r\n', ',"=1+1"\n')
            .replace(/^(.*),"=1\+1"/, (_, header) => `${header.toUpperCase()},metadata.x`)
    }`,
  }));
  const more = [
    { name: 'orgs.csv', content: 'x' },
    { name: 'folder/others.csv', content: 'y' },
  ];
  expect(await drop(await zipOf([...disguised, ...more]))).toMatchObject({
    ...{ reasons: [], report: [], bodies: [] },
    record: { counts: { created: 0, updated: 0, removed: 0, refused: 0, unchanged: 122 } },
  });
});

test('an export whose users are named by the other field of the platform has all sent again by it', async () => {
  const column = 'identifier';
  const { bucket, drop, set } = newImports({ user: { field: 'userName', column } });
  const zip = await zipOf(entriesOfSis(smallSis()));
  await drop(zip);
  set({ user: { field: 'orgDefinedId', column }, maxRemovalsPercent: 5 });
  const key = 'snapshots/export.zip';
  const second = await importedOf(bucket, { key, content: zip, droppedMs: dropMs(2), isApproved: true });
  expect(second.reasons).toEqual([
    '5 of 5 enrollments would move to other users or org units',
    '2 of 2 results would move to other users or org units',
  ]);
  expect(second.bodies.map(({ data }) => [data.orgDefinedId, data.userName]).sort()).toEqual(
    ['ada', 'ada', 'ada', 'ben', 'ben', 'cleo', 'tess'].map((name) => [`id-${name}`, undefined]),
  );
  expect((await drop(zip, key, 3)).bodies).toEqual([]);
});

test('a delta after one that was not accepted says until the next bulk export that changes are missing', async () => {
  const { drop } = newImports({ maxRemovalsPercent: 5 });
  const bulk = await zipOf(entriesOfSis({ ...smallSis(), results: [] }));
  const delta = async (course: string, status: string) =>
    drop(
      await zipOf(
        entriesOfSis({ enrollments: [enrollment(course, 'ada', { status })] }, { enrollments: 'delta' }),
      ),
    );
  await drop(bulk);
  // Nobody approves of it, also when it is dropped again.
  expect((await delta('bio', 'tobedeleted')).reasons).toEqual(['1 of 5 enrollments would be removed']);
  const rejected = await delta('bio', 'tobedeleted');
  expect(rejected.report).toEqual([]);
  const told = [
    `"manifest.csv","","","the changes of ${rejected.id}, a delta that was not accepted, are missing. Put a bulk export into the bucket"`,
  ];
  expect((await delta('bio', 'active')).report).toEqual(told);
  expect((await delta('art', 'active')).report).toEqual(told);
  // That it has no results again is nothing to ask a person about.
  expect(await drop(bulk)).toMatchObject({ reasons: [], report: [] });
  expect((await delta('bio', 'active')).report).toEqual([]);
});

test('rows that cannot be used are told by file, line and column, and leave what was accepted as it is', async () => {
  const { drop } = newImports({ maxRemovalsPercent: 60 });
  const sis = smallSis();
  await drop(await zipOf(entriesOfSis(sis)));
  sis.users.push({ sourcedId: 'u-two', username: 'ada' }, { sourcedId: 'u-none' });
  sis.classes.push({ sourcedId: 'c-none', title: 'No code' });
  const more = { classSourcedId: 'c-bio', resultValueMax: '20' };
  sis.lineItems = [
    ...changed(sis.lineItems, 'l-talk', { title: 'a/b' }),
    { sourcedId: 'l-new', title: 'Essay', classSourcedId: 'c-bio', resultValueMax: '5' },
    { sourcedId: 'l-max', title: 'No maximum', classSourcedId: 'c-bio' },
    // They differ in the encoding of the accent alone.
    ...[
      { sourcedId: 'l-one', title: 'Caf\u00e9', ...more },
      { sourcedId: 'l-two', title: 'Cafe\u0301', ...more },
    ],
  ];
  sis.enrollments = [
    ...changed(changed(sis.enrollments, 'e-bio-ben', { beginDate: '31.1.2026' }), 'e-bio-cleo', {
      role: '=cmd()',
    }),
    enrollment('bio', 'tess', { sourcedId: 'second', role: 'student' }),
    enrollment('none', 'ben'),
    enrollment('art', 'nobody'),
  ];
  sis.results = [
    result('essay', 'ben', '1', { scoreStatus: 'submitted' }),
    result('essay', 'cleo', '1e3'),
    result('talk', 'cleo', '1', { comment: 'zero\0byte' }),
    result('talk', 'ben', '2'),
    result('talk', 'ben', '3'),
  ];
  const { report, bodies, record } = await drop(await zipOf(entriesOfSis(sis)));
  expect(report.toSorted()).toMatchInlineSnapshot(`
    [
      ""enrollments.csv","","beginDate","can be two days, as 1/05/2023 can. Set ""dateOrder"" to ""day-month-year"" or ""month-day-year"" in snapshot-settings.json (1 row, in line 3)"",
      ""enrollments.csv","","classSourcedId","its row in classes.csv has no classCode. To use another column, set ""orgUnitCode"": ""sourcedId"" in snapshot-settings.json (1 row, in line 8)"",
      ""enrollments.csv","","role","the role ""=cmd()"" has no id in ""roles"" of snapshot-settings.json: 1 rows were refused"",
      ""enrollments.csv","2","userSourcedId","its row in users.csv has the same username as another row"",
      ""enrollments.csv","5","role","two active rows of one class and user have different roles"",
      ""enrollments.csv","6","userSourcedId","its row in users.csv has the same username as another row"",
      ""enrollments.csv","7","role","two active rows of one class and user have different roles"",
      ""enrollments.csv","9","userSourcedId","names no row of users.csv"",
      ""lineItems.csv","","resultValueMax","is empty. To give such line items a maximum, set ""resultValueMax"": 100 in snapshot-settings.json (1 row, in line 5)"",
      ""lineItems.csv","3","title","data.name: must hold none of / "" * < > + = | , %"",
      ""lineItems.csv","4","title","two line items of one class have this title"",
      ""lineItems.csv","6","title","two line items of one class have this title"",
      ""lineItems.csv","7","title","two line items of one class have this title"",
      ""results.csv","3","score","must be a number such as 100 or 7.5"",
      ""results.csv","4","comment","has control characters"",
      ""results.csv","5","lineItemSourcedId","another row has the same line item and student, but differs"",
      ""results.csv","6","lineItemSourcedId","another row has the same line item and student, but differs"",
    ]
  `);
  expect(bodies).toEqual([]);
  const none = { created: 0, updated: 0, removed: 0 };
  expect(record.byKind).toEqual({
    enrollments: { ...none, unchanged: 5, refused: 8 },
    lineItems: { ...none, unchanged: 2, refused: 5 },
    results: { ...none, removed: 1, unchanged: 0, refused: 4, pending: 1 },
  });
  expect(record.unknownRoles).toEqual([['"=cmd()"', 1]]);
});

describe('what was accepted by a version that compared rows', () => {
  const { bucket, drop } = newImports();
  const accepted = (lines: [string, string, object | unknown[]][], more: object) => {
    const id = '20261025T020000Z-0a1b2c3d';
    const text = lines.map(([kind, key, value]) => `${kind}\t${key}\t${JSON.stringify(value)}\n`).join('');
    bucket.write(`snapshot-records/${id}/state.gz`, gzipSync(text));
    return JSON.stringify({ id, number: 7, columns: {}, ...more });
  };

  test('is carried over for a zip: nothing is sent anew, and what changes is', async () => {
    const sis = smallSis();
    const placed = (code: string, userName: string) => ({ orgUnitCode: code, userName });
    const row = (course: string, name: string, roleId: number) => ({
      ...{ data: { ...placed(course === 'bio' ? 'BIO-101' : 'ART-1', name), roleId } },
      ...{ id: `e-${course}-${name}`, role: roleId === 110 ? 'student' : 'teacher' },
    });
    const item = (name: string, code: string, maxPoints: number) => ({
      ...{ data: { orgUnitCode: code, name, maxPoints }, class: code === 'BIO-101' ? 'c-bio' : 'c-art' },
    });
    const times = {
      atMs: Date.parse('2026-01-31T09:30:00.000Z'),
      sentMs: Date.parse('2026-10-25T02:00:00Z'),
    };
    const grade = (userName: string, points: number) => ({
      data: {
        ...placed('BIO-101', userName),
        gradeObjectName: 'Essay',
        grade: { type: 'numeric', points, outOf: 20 },
      },
      ...times,
    });
    const by = JSON.stringify(['classCode', 'userName', 'username']);
    bucket.write(
      'snapshot-records/accepted.json',
      accepted(
        [
          ...sis.classes.map(({ sourcedId, classCode }): [string, string, unknown[]] => [
            '0',
            `c\u001f${sourcedId}`,
            [classCode, 1],
          ]),
          ...sis.users.map(({ sourcedId, username }): [string, string, unknown[]] => [
            '0',
            `u\u001f${sourcedId}`,
            [username, 1],
          ]),
          ['1', 'l-essay', item('Essay', 'BIO-101', 20)],
          ['1', 'l-talk', item('Talk', 'ART-1', 10)],
          ['2', 'c-art\u001fu-ada', row('art', 'ada', 110)],
          ...['ada', 'ben', 'cleo'].map((name): [string, string, object] => [
            '2',
            `c-bio\u001fu-${name}`,
            row('bio', name, 110),
          ]),
          ['2', 'c-bio\u001fu-tess', row('bio', 'tess', 109)],
          ['3', 'l-essay\u001fu-ada', grade('ada', 17.5)],
          [
            '3',
            'l-essay\u001fu-ben',
            { ...grade('ben', 0), data: { ...grade('ben', 0).data, comments: 'See me' } },
          ],
        ],
        { by },
      ),
    );
    expect((await drop(await zipOf(entriesOfSis(sis)))).bodies).toEqual([]);
    const next = { ...sis, enrollments: sis.enrollments.slice(1) };
    const { bodies } = await drop(await zipOf(entriesOfSis(next)));
    expect(bodies.map(({ type, data }) => [type, data.userName])).toEqual([
      ['sis.enrollment-remove.v1', 'ada'],
    ]);
  });

  test('is carried over for a table, and what it took away is not known to be older', async () => {
    const timed = { ...message, data: { ...gone.data, roleId: { value: 110 } }, time: 'AT' };
    const messages = [{ ...timed, key: ['COURSE', 'LOGIN'] }];
    bucket.write('snapshot-mapping.json', JSON.stringify({ messages }));
    const was = (userName: string) => ({
      ...{ data: { orgUnitCode: 'BIO', userName, roleId: 110 }, sentMs: Date.parse('2026-10-20T02:00:00Z') },
      removed: { function: 'enrollment-remove', data: { orgUnitCode: 'BIO', userName } },
    });
    bucket.write(
      'snapshot-records/accepted/a.csv.json',
      accepted(
        [
          ['0', 'BIO\u001fada', was('ada')],
          ['0', 'BIO\u001fben', was('ben')],
        ],
        { by: '[["enrollment-create","COURSE","LOGIN"]]' },
      ),
    );
    const columns = ['COURSE', 'LOGIN', 'AT'];
    const row = (LOGIN: string) => ({ COURSE: 'BIO', LOGIN, AT: '2026-10-21T02:00:00Z' });
    const { bodies } = await drop(csvOf(columns, [row('ada'), row('cleo')]), 'snapshots/a.csv', 1);
    // Whether cleo was removed before, nobody knows.
    expect(bodies.map(({ type, time, data: { userName } }) => [type, userName, time]).sort()).toEqual([
      ['sis.enrollment-create.v1', 'cleo', '2026-11-02T02:00:00.000Z'],
      ['sis.enrollment-remove.v1', 'ben', '2026-11-02T02:00:00.000Z'],
    ]);
  });
});

test('an export that takes too long to compare fails with what to do, and sends nothing', async () => {
  const { bucket } = newImports();
  bucket.write('snapshots/export.zip', await zipOf(entriesOfSis(smallSis())));
  const integrations = await loadIntegrations();
  const services = { store: bucket.store, integrations, limits: { eventsPerPart: 100, compareMs: 0 } };
  const given = { key: 'snapshots/export.zip', etag: '', droppedMs: startMs };
  expect(await examine(given, { services, startedAt: 'now' })).toMatchObject({
    ...{ is: 'over', outcome: 'failed' },
    message:
      'The comparison takes longer than 0 seconds. Nothing was sent. Put an export with fewer rows into the bucket',
  });
  expect(await bucket.store.keysUnder('snapshot-records/')).toEqual([
    expect.stringMatching(/^snapshot-records\/[^/]+$/),
    expect.stringMatching(/record\.json$/),
  ]);
});

const doubled: [string, string, string][] = [
  [
    'enrollments',
    `SELECT * REPLACE ('109' AS value) FROM was WHERE kind = '2' AND b = 'ada'`,
    '2 enrollments',
  ],
  ['names', `SELECT * REPLACE ('zoe' AS value) FROM was WHERE kind = 'N' AND key = 'u-ada'`, '1 names'],
  ['line items', `FROM was WHERE kind = '1' AND key = 'l-talk'`, '1 line items'],
];

test('a state that has something twice is refused by what it has', async () => {
  const { drop, bucket } = newImports();
  const zip = await zipOf(entriesOfSis(smallSis()));
  const { id } = await drop(zip);
  const path = bucket.at(stateKey(id));
  await rename(path, `${path}.whole`);
  for (const [what, more, count] of doubled) {
    {
      using sets = await openSetEngine({ folder: dirname(path), threads: 1 });
      await sets.run(`CREATE VIEW was AS FROM read_parquet('${path}.whole');
        COPY (FROM was UNION ALL BY NAME ${more}) TO '${path}' (FORMAT parquet)`);
    }
    const { examined } = await importDropped(bucket, {
      ...{ key: 'snapshots/export.zip', droppedMs: Date.UTC(2026, 11, 1) },
      content: await zipOf([...entriesOfSis(smallSis()), { name: 'readme.txt', content: what }]),
    });
    expect(examined.is === 'over' && examined.message).toBe(
      `The state of the last accepted snapshot has ${count} twice. Restore the object ${stateKey(id)} from an earlier version`,
    );
  }
});
