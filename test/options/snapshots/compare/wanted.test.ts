import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examine } from '../../../../lib/options/snapshots/examine.ts';
import { rowsTold } from '../../../../lib/options/snapshots/package/rows.ts';
import { type SnapshotRecord, stateKey } from '../../../../lib/options/snapshots/state/record.ts';
import { openSqlEngine } from '../../../../lib/runtime/files/tables/engine.ts';
import { loadIntegrations } from '../../../../lib/stage/integrations.ts';
import { filled } from '../../../lib/crosswalk/filled.ts';
import { removeTemporaryFolders } from '../../../temporary-folder.ts';
import { type Body, dropMs, importDropped, importedOf, newHeld, newImports, startMs } from '../imports.ts';
import { changed, enrollment, entriesOfSis, result, smallSis, zipOf } from '../sis.ts';

afterAll(removeTemporaryFolders);

const gone = { function: 'enrollment-remove', data: { orgUnitCode: 'COURSE', userName: 'LOGIN' } };
const roleId = { from: 'ROLE', values: { S: 110, T: 109 } };
const message = {
  function: 'enrollment-create',
  data: { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId },
  removed: gone,
};

describe('a table', () => {
  type NightlyFacts = {
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
    ...message,
    when: { BY: ['number'] },
    key: ['COURSE', 'NUMBER'],
    data: { orgUnitCode: 'COURSE', orgDefinedId: 'NUMBER', roleId },
    removed: { function: 'enrollment-remove', data: { orgUnitCode: 'COURSE', orgDefinedId: 'NUMBER' } },
  };
  const graded = (by: string, more: object = {}) => ({
    function: 'grade-push',
    when: { BY: [by] },
    time: 'AT',
    key: ['COURSE', 'LOGIN'],
    data: {
      orgUnitCode: 'COURSE',
      userName: 'LOGIN',
      gradeObjectName: { value: 'Essay' },
      'grade.type': { value: 'numeric' },
      'grade.points': 'ROLE',
      ...more,
    },
  });
  const at = '2026-10-30T08:00:00Z';
  const timed = (login: string, time = at) => `${login},,S,${time},time`;
  /** One row with points and text, as `7,Well done`, in each night. */
  const texts = (by: string, ...nights: string[]): Record<number, string[]> =>
    Object.fromEntries(nights.map((each, at) => [at + 1, [`ada,,${each.replace(',', `,,${by},`)}`]]));
  /** What is sent in each night, as `7 Well done`, and the nights in which the report names its empty cell. */
  const textsOf = ({ bodies, refused }: NightlyFacts) => ({
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
  const cases: { title: string; rows: Record<number, string[]>; expected: (told: NightlyFacts) => void }[] = [
    {
      title: 'whose user registers again between the export and its drop is enrolled',
      rows: {
        1: [timed('ada'), timed('ben')],
        4: [timed('ben')],
        // An hour before the drop that un-enrolls, whose export is older.
        5: [timed('ada', '2026-11-05T01:00:00Z'), timed('ben')],
      },
      expected: ({ held, bodies }) => {
        expect(bodies(1).map(({ time }) => time)).toEqual(Array(2).fill('2026-10-30T08:00:00.000Z'));
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
        1: ['ada,,S,,role', 'ben,,S,,role'],
        2: ['ada,,S,,role', 'ada,,T,,role', 'ben,,S,,role'],
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
        expect(bodies(4).map(({ type, data }) => [type, data.userId])).toEqual([
          ['sis.enrollment-remove.v1', 302],
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
        expect(bodies(4).map(({ data }) => [data.userId, data.roleId])).toEqual([
          [303, 110],
          [304, 110],
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
      title: 'with a row that cannot be used leaves what was accepted, though another row has its key',
      rows: {
        1: ['ada,,S,,name', 'ben,,S,,name'],
        2: ['ada,,T,,name', 'ada,,X,,name', 'ben,,S,,name', 'eve,,S,,Name'],
      },
      expected: ({ bodies, refused }) => {
        expect([bodies(2), refused(2)]).toEqual([
          [],
          [expect.stringMatching(/^1 COURSE, LOGIN held/), expect.stringMatching(/^2 ROLE has a v/)],
        ]);
      },
    },
    {
      title: 'with a slip in a key removes nobody whom the row may mean, until it is gone or right',
      rows: {
        1: ['ada,,S,,name', 'ben,,S,,name'],
        2: ['ada,,S,,name', '"ben ",,S,,name'],
        // It is there still, and hides nobody who goes later.
        3: ['"ben ",,S,,name'],
        4: ['eve,,S,,name'],
      },
      expected: ({ held, refused }) => {
        expect(held(2)).toEqual(['ada 110', 'ben 110']);
        expect(refused(2).join()).toContain('must be one line, without a space at its beginning or end');
        expect([held(3), held(4)]).toEqual([['ben 110'], ['eve 110']]);
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

  let nightly: NightlyFacts[];
  let second: SnapshotRecord;
  beforeAll(async () => {
    const { bucket, drop } = newImports({ maxChangesPercent: 100 });
    const messages = [
      byTime,
      byRole,
      byName,
      byNumber,
      graded('grade'),
      graded('text', { comments: 'TEXT' }),
      graded('cleared', { comments: { from: 'TEXT', default: '' } }),
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
    const people = new Map(['ada', 'ben', 'fay', 'gus'].map((name, at) => [301 + at, name]));
    const platform = newHeld(people);
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
    expected(nightly[place] as NightlyFacts);
  });

  test('says what became of its rows, and what to do', () => {
    expect(second.rows).toEqual({
      'a.csv': { used: 19, emptied: 2, held: 1, unknownValue: 1, refused: 6 },
    });
    expect(second.counts).toMatchObject({ held: 1 });
    expect(rowsTold(second)).toEqual([
      'a.csv: 1 held, because a refused row may be about the same thing on the platform, 19 used by the mapping, 2 used, with an empty cell whose last value stays, 1 with a value that the mapping does not name, 6 refused.',
      expect.stringMatching(/^What was accepted of held rows stays\. Correct the refused rows/),
      expect.stringMatching(/To clear that, write "" in the cell, or give its field a default/),
      expect.stringContaining('In the mapping, name their values'),
    ]);
  });

  test('that loses a column or all rows, or whose column of logins, roles or scores slips, or is 0 for all, waits for a person', {
    tags: ['long'],
  }, async () => {
    const { bucket, drop } = newImports();
    bucket.write('snapshot-settings.json', '{}');
    const messages = [
      { ...graded('grade'), key: ['NUMBER'], time: undefined },
      { ...byRole, key: ['NUMBER'] },
    ];
    bucket.write('snapshot-mapping.json', JSON.stringify({ messages }));
    const table = (header: string, ...rows: string[]) =>
      drop([header, ...rows, ''].join('\n'), 'snapshots/a.csv');
    /** Of both courses as many rows; in the second, logins do not slip. */
    const rowsOf = (shift: number, role: string, score?: number) => {
      const rowsIn = (course: string, shift: number, more: { role: string; score?: number | undefined }) =>
        Array.from({ length: 60 }, (_, at) => {
          const login = (of: number) => `${course}${(at + shift) % of}`;
          const id = `${course}${at}`;
          const enrolled = at < 30 ? [`${id},${login(30)},e${id},${more.role},,role`] : [];
          return [`${course},${login(60)},${id},${more.score ?? at + 1},,grade`, ...enrolled];
        }).flat();
      return [...rowsIn('BIO', shift, { role: 'S' }), ...rowsIn('ART', 0, { role, score })];
    };
    const whole = await table(columns, ...rowsOf(0, 'S').map((row) => `${row},`));
    expect([whole.reasons, whole.report]).toEqual([[], []]);
    const fewer = columns.replace(',TEXT', '');
    // Nothing reads the column that it has lost.
    expect((await table(fewer, ...rowsOf(1, 'T', 0))).reasons.sort()).toEqual([
      '120 of 120 grades would be changed',
      '30 of 60 enrollments would be changed',
      '30 of 60 enrollments would be removed',
      '30 of 60 enrollments would move to other users or org units',
      '60 of 120 grades would move to other users or org units',
    ]);
    expect((await table(fewer)).reasons).toEqual([
      'a.csv has no rows',
      '60 of 60 enrollments would be removed',
      '120 of 120 grades would be removed',
    ]);
  });
});

describe('an export of OneRoster', () => {
  const { bucket, drop, set } = newImports({ maxRemovalsPercent: 5 });
  const names = Array.from({ length: 12 }, (_, at) => `n${at}`);
  const whole = (sis = smallSis()) => ({
    ...sis,
    users: [...sis.users, ...names.map((username) => ({ sourcedId: `u-${username}`, username }))],
    enrollments: [...sis.enrollments, ...names.map((name) => enrollment('bio', name))],
    results: [...sis.results, ...names.map((name, at) => result('essay', name, `${at + 1}`))],
  });

  const dropAll = async () => {
    const delta = async (course: string, status: string) =>
      zipOf(entriesOfSis({ enrollments: [enrollment(course, 'ada', { status })] }, { enrollments: 'delta' }));
    const before = {
      whole: await drop(await zipOf(entriesOfSis(whole()))),
      lost: await drop(await zipOf(lost())),
      slipped: await drop(await zipOf(slipped())),
      unusable: await drop(await zipOf(entriesOfSis(whole(unusable())))),
      // Nobody approves of it, also when it is dropped again.
      rejected: await drop(await delta('bio', 'tobedeleted')),
      again: await drop(await delta('bio', 'tobedeleted')),
      delta: await drop(await delta('bio', 'active')),
      second: await drop(await delta('art', 'active')),
    };
    set({ user: { field: 'orgDefinedId', column: 'username' }, maxRemovalsPercent: 5 });
    const approved = { content: await zipOf(entriesOfSis(whole())), droppedMs: dropMs(9), isApproved: true };
    return {
      ...before,
      renamed: await importedOf(bucket, { key: 'snapshots/export.zip', ...approved }),
      later: await drop(await delta('bio', 'active'), undefined, 10),
      same: await drop(await zipOf(disguised())),
    };
  };
  let drops: Awaited<ReturnType<typeof dropAll>>;
  beforeAll(async () => {
    drops = await dropAll();
  });

  const lost = () => {
    const { enrollments, results, ...others } = whole();
    return entriesOfSis({
      ...others,
      enrollments: enrollments.map((row) => ({ ...row, role: 'teacher' })),
      results: results.map((row) => ({ ...row, score: '0' })),
    }).map(({ name, content }) =>
      name === 'enrollments.csv'
        ? { name, content: `${content}`.replace(',endDate', '').replaceAll(/,""\r/g, '\r') }
        : { name, content },
    );
  };
  const slipped = () => {
    const { results: _, users, ...others } = { ...whole(), lineItems: [] };
    const slip = users.map((row, at) => ({ ...row, username: users.at(at - 1)?.username ?? '' }));
    return entriesOfSis({ ...others, users: slip });
  };
  test('whose roles, scores, names, columns, rows or files are lost waits for a person', () => {
    expect(drops.whole.reasons).toEqual([]);
    expect(drops.lost).toMatchObject({
      reasons: [
        'enrollments.csv has lost 1 of the columns that are read',
        '16 of 17 enrollments would be changed',
        '13 of 14 results would be changed',
      ],
      record: { lostColumns: [{ file: 'enrollments.csv', columns: ['enddate'] }] },
    });
    const reasons = [
      'lineItems.csv has no rows',
      'results.csv is missing; an accepted snapshot had it',
      '2 of 2 line items would be removed',
      '17 of 17 enrollments would move to other users or org units',
      '14 of 14 results would move to other users or org units',
    ];
    expect(drops.slipped).toMatchObject({ reasons, record: { why: reasons.join('; ') } });
  });

  const disguised = () => [
    ...entriesOfSis(whole()).map(({ name, content }) => ({
      name,
      content: `\ufeff${
        name === 'manifest.csv'
          ? content
          : `${content}`
              .replaceAll('\r\n', ',"=1+1"\n')
              .replace(/^(.*),"=1\+1"/, (_, header) => `${header.toUpperCase()},metadata.x`)
      }`,
    })),
    { name: 'orgs.csv', content: 'x' },
    { name: 'folder/others.csv', content: 'y' },
  ];
  test('with other files, columns, cases and ends of lines changes nothing', () => {
    expect(drops.same).toMatchObject({
      reasons: [],
      report: [],
      bodies: [],
      record: { counts: { created: 0, updated: 0, removed: 0, refused: 0, unchanged: 33 } },
    });
  });

  test('whose users are named by the other field of the platform has all sent again by it', () => {
    const { reasons, bodies } = drops.renamed;
    expect(reasons).toEqual([
      '17 of 17 enrollments would move to other users or org units',
      '14 of 14 results would move to other users or org units',
      expect.stringMatching(/^the same file was accepted before as .*, and others after it$/),
    ]);
    expect(bodies.map(({ data }) => [data.orgDefinedId, data.userName]).sort()).toEqual(
      ['ada', 'ada', 'ada', 'ben', 'ben', 'cleo', 'tess', ...names, ...names]
        .sort()
        .map((name) => [name, undefined]),
    );
  });

  test('of changes waits for a person if it removes too much, and the next ones are compared with what was accepted', () => {
    expect(drops.rejected.reasons).toEqual(['1 of 17 enrollments would be removed']);
    const { again, delta, second, renamed, later } = drops;
    expect([again, delta, second, renamed, later].map(({ report }) => report)).toEqual([[], [], [], [], []]);
  });

  const unusable = () => {
    const sis = smallSis();
    sis.users.push({ sourcedId: 'u-two', username: 'ada' }, { sourcedId: 'u-none' });
    sis.classes.push({ sourcedId: 'c-none', title: 'No code' });
    const more = { classSourcedId: 'c-bio', resultValueMax: '20' };
    sis.lineItems = [
      ...changed(sis.lineItems, 'l-talk', { title: 'a/b' }),
      { sourcedId: 'l-new', title: 'Essay', classSourcedId: 'c-bio', resultValueMax: '5' },
      { sourcedId: 'l-max', title: 'No maximum', classSourcedId: 'c-bio' },
      // They differ in the encoding of the accent alone.
      { sourcedId: 'l-one', title: 'Caf\u00e9', ...more },
      { sourcedId: 'l-two', title: 'Cafe\u0301', ...more },
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
    return sis;
  };
  test('with rows that cannot be used tells them by file, line and column, and leaves what was accepted as it is', () => {
    const { report, bodies, record, reasons } = drops.unusable;
    expect(reasons).toEqual(['1 of 14 results would be removed']);
    expect(report.toSorted()).toMatchInlineSnapshot(`
      [
        ""enrollments.csv","","beginDate","can be two days, as 1/05/2023 can. Set ""dateOrder"" to ""day-month-year"" or ""month-day-year"" in snapshot-settings.json (1 row, in line 3)"",
        ""enrollments.csv","","classSourcedId","its row in classes.csv has no classCode. To use another column, set ""orgUnitCode"": ""sourcedId"" in snapshot-settings.json (1 row, in line 8)"",
        ""enrollments.csv","","role","the role ""=cmd()"" has no id in ""roles"" of snapshot-settings.json: 1 row was refused"",
        ""enrollments.csv","2","userSourcedId","its row in users.csv has the same username as another row"",
        ""enrollments.csv","5","role","two active rows of one class and user have different roles"",
        ""enrollments.csv","6","userSourcedId","its row in users.csv has the same username as another row"",
        ""enrollments.csv","7","role","two active rows of one class and user have different roles"",
        ""enrollments.csv","9","userSourcedId","names no row of users.csv"",
        ""lineItems.csv","","resultValueMax","is empty. To give such line items a maximum, set ""resultValueMax"": 100 in snapshot-settings.json (1 row, in line 5)"",
        ""lineItems.csv","3","title","data.name: must hold none of / "" * < > + = | , %"",
        ""lineItems.csv","4","title","two line items of one org unit have this title"",
        ""lineItems.csv","6","title","two line items of one org unit have this title"",
        ""lineItems.csv","7","title","two line items of one org unit have this title"",
        ""results.csv","3","score","must be a number such as 100 or 7.5"",
        ""results.csv","4","comment","has control characters"",
        ""results.csv","5","lineItemSourcedId","another row has the same line item and student, but differs"",
        ""results.csv","6","lineItemSourcedId","another row has the same line item and student, but differs"",
      ]
    `);
    expect(bodies).toEqual([]);
    const none = { created: 0, updated: 0, removed: 0 };
    expect(record.byKind).toEqual({
      enrollments: { ...none, unchanged: 17, refused: 8 },
      lineItems: { ...none, unchanged: 2, refused: 5 },
      results: { ...none, removed: 1, unchanged: 12, refused: 4, pending: 1 },
    });
    expect(record.unknownRoles).toEqual([['"=cmd()"', 1]]);
  });

  test('after a state that has something twice is refused by what it has', async () => {
    const doubled = [
      [`SELECT * REPLACE ('109' AS value) FROM was WHERE kind = '2' AND b = 'ada'`, '2 enrollments'],
      [
        `SELECT * REPLACE (CASE kind WHEN 'N' THEN 'zoe' ELSE value END AS value) FROM was
         WHERE (kind = 'N' AND key = 'u-ada') OR (kind = '1' AND key = 'l-talk')`,
        '1 line items and 1 names',
      ],
    ];
    const key = stateKey(drops.same.id);
    const path = bucket.at(key);
    await rename(path, `${path}.whole`);
    for (const [more, count = ''] of doubled) {
      {
        using db = await openSqlEngine({ folder: dirname(path), threads: 1 });
        await db.run(`CREATE VIEW was AS FROM read_parquet('${path}.whole');
          COPY (FROM was UNION ALL BY NAME ${more}) TO '${path}' (FORMAT parquet)`);
      }
      const { examined } = await importDropped(bucket, {
        key: 'snapshots/export.zip',
        droppedMs: Date.UTC(2026, 11, 1),
        content: await zipOf([...entriesOfSis(whole()), { name: 'readme.txt', content: count }]),
      });
      expect(examined.is === 'over' && examined.message).toBe(
        `The state of the last accepted snapshot has ${count} twice. Restore the object ${key} from an earlier version`,
      );
    }
  });
});

test('an export that takes too long to compare fails with what to do, and sends nothing', async () => {
  const { bucket } = newImports();
  bucket.write('snapshots/export.zip', await zipOf(entriesOfSis(smallSis())));
  const integrations = await loadIntegrations();
  const services = { store: bucket.store, integrations, limits: { eventsPerPart: 100, compareMs: 0 } };
  const given = { key: 'snapshots/export.zip', etag: '', droppedMs: startMs };
  expect(await examine(given, { services, startedAt: 'now' })).toMatchObject({
    is: 'over',
    outcome: 'failed',
    message:
      'The comparison takes longer than 0 seconds. Nothing was sent. Put an export with fewer rows into the bucket',
  });
  expect(await bucket.store.keysUnder('snapshot-records/')).toEqual([
    expect.stringMatching(/^snapshot-records\/[^/]+$/),
    expect.stringMatching(/record\.json$/),
  ]);
});
