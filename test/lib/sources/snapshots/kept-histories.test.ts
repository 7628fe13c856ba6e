import { afterAll, describe, expect, test } from 'vitest';
import { touchedIn } from '../../../../lib/operate/reviews/crosswalk/touched.ts';
import { acceptedNamesPrefix, passedKey } from '../../../../lib/sources/snapshots/state/passed-names.ts';
import { removeTemporaryFolders } from '../../../temporary-folder.ts';
import { dropMs } from './imports.ts';
import { newStage } from './oracle/stage.ts';
import { csvOf, entriesOfSis, type Rows, type Sis, zipOf } from './sis.ts';

// What universities did, in which names and things are not the same, and several files speak of one thing. The platform holds
// enrollments as `2601 101 110`: org unit, user, role; and grades as `2601/Quiz 101 18`.

afterAll(removeTemporaryFolders);

const at = (night: number): string => new Date(dropMs(night) - 3_600_000).toISOString();

/** Users by their names; each record is named for its first name. */
const users = (...names: string[]): Rows =>
  names.map((username) => ({ sourcedId: `u-${username}`, username }));
const classes = (...codes: string[]): Rows =>
  codes.map((classCode) => ({ sourcedId: `c-${classCode}`, title: 'A class', classCode }));
/** Rows such as `BIO-LAB ada student`. */
const enrollments = (...rows: string[]): Rows =>
  rows.map((row) => {
    const [code = '', user = '', role = 'student', dateLastModified = ''] = row.split(' ');
    return {
      ...{ sourcedId: `e-${code}-${user}`, classSourcedId: `c-${code}`, userSourcedId: `u-${user}` },
      ...{ role, dateLastModified },
    };
  });
const lineItems = (...items: string[]): Rows =>
  items.map((item) => {
    const [code = '', title = ''] = item.split(' ');
    return { sourcedId: `l-${code}-${title}`, title, classSourcedId: `c-${code}`, resultValueMax: '20' };
  });
/** Rows such as `BIO-LAB Quiz ada 18`. */
const results = (...rows: string[]): Rows =>
  rows.map((row) => {
    const [code = '', title = '', user = '', score = '', dateLastModified = at(0)] = row.split(' ');
    return {
      ...{ sourcedId: `r-${code}-${title}-${user}`, lineItemSourcedId: `l-${code}-${title}` },
      ...{ studentSourcedId: `u-${user}`, scoreStatus: 'fully graded', score, dateLastModified },
    };
  });

const zip = (sis: Sis): Promise<Buffer> =>
  zipOf(entriesOfSis({ users: [], classes: [], lineItems: [], enrollments: [], results: [], ...sis }));
const deltaOf = (sis: Sis): Promise<Buffer> =>
  zipOf(entriesOfSis(sis, Object.fromEntries(Object.keys(sis).map((name) => [name, 'delta']))));

const who = { orgUnitCode: 'COURSE', userName: 'LOGIN' };
const enrolling = (more: object = {}) => ({
  ...{ function: 'enrollment-create', key: ['COURSE', 'LOGIN'] },
  data: { ...who, roleId: { from: 'ROLE', values: { S: 110, T: 109 } } },
  removed: { function: 'enrollment-remove', data: who },
  ...more,
});
const removing = (more: object = {}) => ({
  ...{ function: 'enrollment-remove', key: ['COURSE', 'LOGIN'], data: who },
  ...more,
});
const mapping = (...messages: object[]): string => JSON.stringify({ messages });

/** A table of rows such as `BIO ada S`. */
const table = (columns: string[], ...rows: string[]): string =>
  csvOf(
    columns,
    rows.map((row) => Object.fromEntries(row.split(' ').map((cell, place) => [columns[place], cell]))),
  );
const roster = (...rows: string[]): string => table(['COURSE', 'LOGIN', 'ROLE'], ...rows);

const people = { ada: 101, ben: 102, cleo: 103, dan: 104, tess: 109 };
const many = (count: number): string[] => Array.from({ length: count }, (_, number) => `s${number}`);
const manyIds = (names: string[]): Record<string, number> =>
  Object.fromEntries(names.map((name, number) => [name, 1_000 + number]));

describe('two sections share one course of the platform', () => {
  const codes = { 'BIO-LECTURE': 2601, 'BIO-LAB': 2601 };
  const both = { users: users('ada', 'ben', 'tess'), classes: classes('BIO-LECTURE', 'BIO-LAB') };
  const lecture = ['BIO-LECTURE ada student', 'BIO-LECTURE ben student', 'BIO-LECTURE tess teacher'];

  test('whoever drops one of them, or gives it away, stays in the course, with the role of the other', async () => {
    const { crosswalk, platform, put } = newStage();
    crosswalk.fill('orgUnitCode', codes);
    crosswalk.fill('userName', people);
    const lab = ['BIO-LAB ada student', 'BIO-LAB ben teacher', 'BIO-LAB tess teacher'];
    await put('export.zip', await zip({ ...both, enrollments: enrollments(...lecture, ...lab) }));
    expect(platform.all()).toEqual(['2601 101 110', '2601 102 109', '2601 109 109']);
    await put('export.zip', await zip({ ...both, enrollments: enrollments(...lecture) }));
    expect(platform.all()).toEqual(['2601 101 110', '2601 102 110', '2601 109 109']);
    await put('export.zip', await zip({ ...both, enrollments: enrollments(...lecture.slice(1)) }));
    expect(platform.all()).toEqual(['2601 102 110', '2601 109 109']);
  });

  test('the grades of two line items with one title are never mixed', async () => {
    const { crosswalk, platform, put } = newStage();
    crosswalk.fill('orgUnitCode', codes);
    crosswalk.fill('userName', people);
    const rows = {
      enrollments: enrollments(...lecture),
      lineItems: lineItems('BIO-LECTURE Quiz', 'BIO-LAB Quiz'),
    };
    const graded = results('BIO-LECTURE Quiz ada 18', 'BIO-LAB Quiz ada 3');
    const { report } = await put('export.zip', await zip({ ...both, ...rows, results: graded }));
    expect(platform.writtenTo('2601/Quiz 101').length).toBeLessThan(2);
    if (platform.objects().length < 2) {
      // Both are named, as nobody knows which of them the teachers mean.
      expect(report.filter((line) => /^"lineItems.csv","[23]"/.test(line)).length).toBe(2);
      expect(platform.valueOf('2601/Quiz 101')).toBeUndefined();
    }
  });

  test('a line item whose title another one has already leaves the grades of that one alone', async () => {
    const { crosswalk, platform, put } = newStage();
    crosswalk.fill('orgUnitCode', codes);
    crosswalk.fill('userName', people);
    const rows = { ...both, enrollments: enrollments(...lecture) };
    const first = { lineItems: lineItems('BIO-LECTURE Quiz'), results: results('BIO-LECTURE Quiz ada 18') };
    await put('export.zip', await zip({ ...rows, ...first }));
    const second = {
      lineItems: lineItems('BIO-LECTURE Quiz', 'BIO-LAB Quiz'),
      results: results('BIO-LECTURE Quiz ada 18', 'BIO-LAB Quiz ada 3'),
    };
    const { report } = await put('export.zip', await zip({ ...rows, ...second }));
    expect(platform.valueOf('2601/Quiz 101')).toBe('18');
    if (platform.objects().length < 2) expect(report.join('\n')).toMatch(/^"lineItems.csv","3"/m);
  });
});

test('who has two user names for a night stays enrolled', async () => {
  const { crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601, ART: 2602 });
  crosswalk.fill('userName', { ...people, 'ada.b': 101 });
  const rows = { classes: classes('BIO', 'ART'), users: users('ada', 'ben') };
  const one = enrollments('BIO ada', 'ART ada', 'BIO ben');
  const held = ['2601 101 110', '2601 102 110', '2602 101 110'];
  await put('export.zip', await zip({ ...rows, enrollments: one }));
  expect(platform.all()).toEqual(held);
  const two = [...one, ...enrollments('BIO ada.b', 'ART ada.b')];
  await put('export.zip', await zip({ ...rows, users: users('ada', 'ben', 'ada.b'), enrollments: two }));
  expect(platform.all()).toEqual(held);
  await put('export.zip', await zip({ ...rows, enrollments: one }));
  expect(platform.all()).toEqual(held);
});

describe('somebody moves from one file to another', () => {
  const stage = (roles: object = { teacher: 109, student: 110 }) => {
    const { crosswalk, ...others } = newStage({ roles });
    crosswalk.fill('orgUnitCode', { BIO: 2601 });
    crosswalk.fill('userName', people);
    others.bucket.write('snapshot-mapping.json', mapping(enrolling()));
    return { crosswalk, ...others };
  };
  const before = ['2601 101 110', '2601 102 110', '2601 109 109'];
  const after = ['2601 101 110', '2601 102 109', '2601 109 109'];

  describe.each([
    ['the role that the settings name first', { teacher: 109, student: 110 }],
    ['the role that the settings name last', { student: 110, teacher: 109 }],
  ])('to %s', (_, roles) => {
    const files = {
      'students.csv': [roster('BIO ada S', 'BIO ben S'), roster('BIO ada S')],
      'instructors.csv': [roster('BIO tess T'), roster('BIO tess T', 'BIO ben T')],
    };
    test.each([[['students.csv', 'instructors.csv']], [['instructors.csv', 'students.csv']]] as const)(
      'in the order %s',
      async (order) => {
        const { platform, put } = stage(roles);
        for (const name of order) await put(name, files[name][0] ?? '');
        expect(platform.all()).toEqual(before);
        for (const name of order) await put(name, files[name][1] ?? '');
        expect(platform.all()).toEqual(after);
      },
    );
  });

  test.each([[['export.zip', 'staff.csv']], [['staff.csv', 'export.zip']]] as const)(
    'from a zip to a table, in the order %s',
    async (order) => {
      const { platform, put } = stage();
      const sis = { users: users('ada', 'ben'), classes: classes('BIO') };
      const files = {
        'export.zip': [
          await zip({ ...sis, enrollments: enrollments('BIO ada', 'BIO ben') }),
          await zip({ ...sis, enrollments: enrollments('BIO ada') }),
        ],
        'staff.csv': [roster('BIO tess T'), roster('BIO tess T', 'BIO ben T')],
      };
      for (const name of order) await put(name, files[name][0] ?? '');
      expect(platform.all()).toEqual(before);
      for (const name of order) await put(name, files[name][1] ?? '');
      expect(platform.all()).toEqual(after);
    },
  );

  test.each([[['a.csv', 'A.csv']], [['A.csv', 'a.csv']]] as const)(
    'from a.csv to A.csv, in the order %s',
    async (order) => {
      const { platform, put } = stage();
      await put('a.csv', roster('BIO ada S', 'BIO ben S', 'BIO tess T'));
      expect(platform.all()).toEqual(before);
      const files = { 'a.csv': roster('BIO ada S'), 'A.csv': roster('BIO tess T', 'BIO ben T') };
      for (const name of order) await put(name, files[name]);
      expect(platform.all()).toEqual(after);
    },
  );
});

describe('a file that comes for the first time changes the roles of all people that another one has: nobody is changed unasked', () => {
  const names = many(40);
  const stage = () => {
    const { crosswalk, ...others } = newStage({ maxRemovalsPercent: 5, maxChangesPercent: 5 });
    crosswalk.fill('orgUnitCode', { BIO: 2601 });
    crosswalk.fill('userName', manyIds(names));
    others.bucket.write('snapshot-mappings/students.json', mapping(enrolling()));
    others.bucket.write('snapshot-mappings/copy.json', mapping(enrolling()));
    return others;
  };
  const rosterAs = (role: string): string => roster(...names.map((name) => `BIO ${name} ${role}`));
  const exportAs = (role: string): Promise<Buffer> =>
    zip({
      users: users(...names),
      classes: classes('BIO'),
      enrollments: enrollments(...names.map((name) => `BIO ${name} ${role}`)),
    });

  test.each([
    ['an export, by an export under a new name', 'export.zip', 'export-2.zip'],
    ['an export, by a table', 'export.zip', 'copy.csv'],
    ['a table, by a table', 'students.csv', 'copy.csv'],
  ])('of %s', async (_, first, second) => {
    const { platform, put } = stage();
    const fileOf = (name: string, isTeacher: boolean) =>
      name.endsWith('zip')
        ? exportAs(isTeacher ? 'teacher' : 'student')
        : Promise.resolve(rosterAs(isTeacher ? 'T' : 'S'));
    await put(first, await fileOf(first, false));
    const before = platform.all();
    expect(before.length).toBe(40);
    const { reasons, isSent } = await put(second, await fileOf(second, true));
    expect([isSent, platform.all()]).toEqual([false, before]);
    expect(reasons.join()).toMatch(/\b40 of 40\b/);
    await put(second, await fileOf(second, true), { isApproved: true });
    expect(platform.all()).not.toEqual(before);
  });
});

describe('a user name passes to another person', () => {
  const sis = (more: Sis) => ({ classes: classes('BIO', 'ART'), lineItems: lineItems('ART Essay'), ...more });
  const named = (names: Record<string, string>): Rows =>
    Object.entries(names).map(([person, username]) => ({ sourcedId: `u-${person}`, username }));
  const later = {
    users: named({ ada: 'ada.smith', bea: 'smith' }),
    enrollments: enrollments('BIO ada', 'ART bea'),
    results: results('ART Essay bea 7'),
  };

  test('and the crosswalk learns it after the export: nothing goes to the former bearer', async () => {
    const { crosswalk, platform, put } = newStage();
    crosswalk.fill('orgUnitCode', { BIO: 2601, ART: 2602 });
    crosswalk.fill('userName', { smith: 101 });
    await put(
      'export.zip',
      await zip(sis({ users: named({ ada: 'smith' }), enrollments: enrollments('BIO ada') })),
    );
    expect(platform.all()).toEqual(['2601 101 110']);
    const { report } = await put('export.zip', await zip(sis(later)));
    expect(platform.all()).toEqual(['2601 101 110']);
    // Rows of the new bearer wait, and are named: her user, or her enrollment and her grade.
    const told = report.join('\n');
    expect(told).toMatch(/^"users.csv","3"|^"enrollments.csv","3"/m);
    crosswalk.fill('userName', { smith: 102, 'ada.smith': 101 });
    await put('export.zip', await zip(sis(later)));
    platform.replay();
    expect(platform.all()).toEqual(['2601 101 110', '2602 102 110', '2602/Essay 102 7']);
  });

  test('who was known by another name: both keep what they have until the crosswalk knows', async () => {
    const { crosswalk, platform, put } = newStage();
    crosswalk.fill('orgUnitCode', { BIO: 2601, ART: 2602 });
    crosswalk.fill('userName', { smith: 101, bea: 102 });
    const first = {
      users: named({ ada: 'smith', bea: 'bea' }),
      enrollments: enrollments('BIO ada', 'BIO bea'),
    };
    await put('export.zip', await zip(sis(first)));
    const { report } = await put(
      'export.zip',
      await zip(sis({ ...later, enrollments: enrollments('BIO ada', 'BIO bea', 'ART bea') })),
    );
    const told = report.join('\n');
    // What bea has newly may go to her account, as her record is known, or wait.
    expect(platform.keys()).toEqual(expect.arrayContaining(['2601 101', '2601 102']));
    expect(platform.keys().filter((key) => key.endsWith(' 101'))).toEqual(['2601 101']);
    if (platform.valueOf('2602 102') === undefined)
      expect(told).toMatch(/^"users.csv","3"|^"enrollments.csv","4"/m);
    crosswalk.fill('userName', { smith: 102, 'ada.smith': 101 });
    await put(
      'export.zip',
      await zip(sis({ ...later, enrollments: enrollments('BIO ada', 'BIO bea', 'ART bea') })),
    );
    platform.replay();
    expect(platform.all()).toEqual(['2601 101 110', '2601 102 110', '2602 102 110', '2602/Essay 102 7']);
  });
});

describe('a user name passes to another record of the same person', () => {
  const named = (names: Record<string, string>): Rows =>
    Object.entries(names).map(([person, username]) => ({ sourcedId: `u-${person}`, username }));
  const sis = (more: Sis) => ({ classes: classes('BIO', 'ART'), lineItems: lineItems('ART Essay'), ...more });
  const before = sis({ users: named({ ada: 'smith' }), enrollments: enrollments('BIO ada') });
  const after = sis({
    users: named({ ada2: 'smith' }),
    enrollments: enrollments('BIO ada2', 'ART ada2'),
    results: results('ART Essay ada2 7'),
  });
  const names = [{ name: 'smith', userId: 101, record: 'u-ada2' }];
  const ofAda = {
    ...{ ...names[0], former: 'u-ada', sinceMs: dropMs(2) },
    ...{ enrollments: 2, results: 1, courses: ['ART', 'BIO'] },
  };
  const newUniversity = async () => {
    const stage = newStage();
    stage.crosswalk.fill('orgUnitCode', { BIO: 2601, ART: 2602 });
    stage.crosswalk.fill('userName', { smith: 101 });
    await stage.put('export.zip', await zip(before));
    await stage.put('export.zip', await zip(after));
    const accept = (accepted: object[], field = 'userName'): void =>
      stage.bucket.write(
        `${acceptedNamesPrefix}one.json`,
        JSON.stringify({ field, names: accepted, by: 'lee', at: 'now' }),
      );
    const open = (): unknown => (stage.bucket.json(passedKey) as { names: unknown }).names;
    return { ...stage, accept, open };
  };

  test('which the bucket lists with its rows, since the first night, until an operator accepts it', async () => {
    const { platform, put, accept, open } = await newUniversity();
    expect(open()).toEqual([ofAda]);
    await put('export.zip', await zip(after));
    expect(open()).toEqual([ofAda]);
    expect(platform.all()).toEqual(['2601 101 110']);
    accept(names);
    await put('export.zip', await zip(after));
    expect(platform.all()).toEqual(['2601 101 110', '2602 101 110', '2602/Essay 101 7']);
    expect(open()).toEqual([]);
    // A later person of this name is somebody else, until that is accepted, too.
    const later = {
      ...after,
      users: named({ bea: 'smith' }),
      enrollments: enrollments('ART bea'),
      results: [],
    };
    await put('export.zip', await zip(later), { isApproved: true });
    expect(open()).toMatchObject([{ name: 'smith', userId: 101, record: 'u-bea', former: 'u-ada2' }]);
  });

  test.each<[string, object, string?]>([
    ['another account', { userId: 102 }],
    ['another name', { name: 'smit' }],
    ['another record', { record: 'u-ada3' }],
    ['another field of users', {}, 'orgDefinedId'],
  ])('and an acceptance for %s changes nothing', async (_, other, field) => {
    const { platform, put, accept, open } = await newUniversity();
    accept([{ ...names[0], ...other }], field);
    await put('export.zip', await zip(after));
    expect(open()).toEqual([ofAda]);
    expect(platform.all()).toEqual(['2601 101 110']);
  });

  test('and a delta leaves what it does not name in the list', async () => {
    const { put, open } = await newUniversity();
    await put('export.zip', await deltaOf({ enrollments: enrollments('BIO ada2') }));
    expect(open()).toEqual([ofAda]);
  });

  test('and nothing is open once the crosswalk gives another account', async () => {
    const { crosswalk, put, open } = await newUniversity();
    crosswalk.fill('userName', { smith: 102 });
    await put('export.zip', await zip(after));
    expect(open()).toEqual([]);
  });
});

test('a course is copied to a new org unit: after the move is accepted, and a person has seen how many, all are there', async () => {
  const { bucket, crosswalk, platform, put } = newStage({ maxRemovalsPercent: 5 });
  const names = many(30);
  crosswalk.fill('orgUnitCode', { 'MATH-101': 2001, BIO: 2601 });
  crosswalk.fill('userName', { ...manyIds(names), newcomer: 1_999 });
  const sis = { classes: classes('MATH-101', 'BIO'), lineItems: lineItems('MATH-101 Quiz') };
  const rows = {
    users: users(...names),
    enrollments: enrollments(...names.map((name) => `MATH-101 ${name}`)),
    results: results(...names.map((name) => `MATH-101 Quiz ${name} 12`)),
  };
  await put('export.zip', await zip({ ...sis, ...rows }));
  const before = platform.all();
  expect(before.length).toBe(60);
  // One registers while the move is open: nothing else changes.
  crosswalk.fill('orgUnitCode', { 'MATH-101': 2002, BIO: 2601 });
  const joined = {
    ...{ users: users(...names, 'newcomer'), results: rows.results },
    enrollments: [...rows.enrollments, ...enrollments('MATH-101 newcomer')],
  };
  const open = await put('export.zip', await zip({ ...sis, ...joined }), { isApproved: true });
  expect(platform.all()).toEqual(before);
  expect(platform.letters().length + open.report.length).toBeGreaterThan(0);
  expect(await touchedIn(bucket.store, 'MATH-101')).toEqual([
    { file: 'the export of OneRoster', rows: 61, people: 31 },
  ]);
  crosswalk.accept('MATH-101');
  crosswalk.fill('orgUnitCode', { 'MATH-101': 2002, BIO: 2601 });
  platform.replay();
  const content = await zip({ ...sis, ...joined, classes: classes('MATH-101', 'BIO', 'ART') });
  const asked = await put('export.zip', content);
  expect(asked.isSent).toBe(false);
  expect(asked.reasons.join()).toMatch(/\b3[01]\b/);
  await put('export.zip', content, { isApproved: true });
  const there = platform.all().filter((each) => each.startsWith('2002'));
  expect(there.filter((each) => !each.includes('Quiz')).length).toBe(31);
  expect(there.filter((each) => each.includes('Quiz')).length).toBe(30);
  // Nobody wants the former ones any more. The platform cannot clear grades.
  expect(platform.keys().filter((key) => key.startsWith('2001 '))).toEqual([]);
});

test('who registers while the move of a code is open, and leaves before or after it is accepted, is in neither org unit', async () => {
  const { crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { 'MATH-101': 2001 });
  crosswalk.fill('userName', people);
  const sis = { users: users('ada', 'ben', 'cleo'), classes: classes('MATH-101') };
  const night = async (...names: string[]) =>
    put(
      'export.zip',
      await zip({ ...sis, enrollments: enrollments(...names.map((name) => `MATH-101 ${name}`)) }),
      {
        isApproved: true,
      },
    );
  await night('ada');
  crosswalk.fill('orgUnitCode', { 'MATH-101': 2002 });
  await night('ada', 'ben', 'cleo');
  await night('ada', 'cleo');
  expect(platform.all()).toEqual(['2001 101 110']);
  crosswalk.accept('MATH-101');
  crosswalk.fill('orgUnitCode', { 'MATH-101': 2002 });
  platform.replay();
  await night('ada');
  expect(platform.all()).toEqual(['2002 101 110']);
});

test('a delta deletes both rows of one enrollment, of which one is older than the other', async () => {
  const { crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { LEC: 2601, LAB: 2601 });
  crosswalk.fill('userName', people);
  const rows = [`LEC ada student ${at(0)}`, `LAB ada student ${at(1)}`];
  await put(
    'export.zip',
    await zip({ users: users('ada'), classes: classes('LEC', 'LAB'), enrollments: enrollments(...rows) }),
  );
  const deleted = enrollments(...rows).map((row) => ({ ...row, status: 'tobedeleted' }));
  await put('export.zip', await deltaOf({ enrollments: deleted }), { isApproved: true });
  expect(platform.keys()).toEqual([]);
});

test.each(['bulk', 'delta'])(
  'of two rows with different roles the newer one is gone: the role of the older one counts again, by a %s export',
  async (mode) => {
    const { crosswalk, platform, put } = newStage();
    crosswalk.fill('orgUnitCode', { LEC: 2601, LAB: 2601 });
    crosswalk.fill('userName', people);
    const [older, newer] = enrollments(`LEC ada student ${at(0)}`, `LAB ada teacher ${at(1)}`);
    const sis = { users: users('ada', 'ben'), classes: classes('LEC', 'LAB') };
    // Its latest time is older than that of the one before, so a person is asked.
    const night = async (...rows: Rows) =>
      put('export.zip', await zip({ ...sis, enrollments: rows }), { isApproved: true });
    await night(older ?? {}, newer ?? {});
    expect(platform.all()).toEqual(['2601 101 109']);
    if (mode === 'bulk') await night(older ?? {});
    else await put('export.zip', await deltaOf({ enrollments: [{ ...newer, status: 'tobedeleted' }] }));
    expect(platform.all()).toEqual(['2601 101 110']);
  },
);

describe('who leaves one of two rows while its names are unknown stays by the other, once they are known', () => {
  test('of two sections, whose codes the platform did not know', async () => {
    const { crosswalk, platform, put } = newStage();
    crosswalk.fill('orgUnitCode', {});
    crosswalk.fill('userName', people);
    const both = { users: users('ada', 'ben', 'cleo'), classes: classes('LEC', 'LAB') };
    const night = async (...rows: string[]) =>
      put('export.zip', await zip({ ...both, enrollments: enrollments(...rows) }), { isApproved: true });
    await night('LEC ada', 'LAB ada', 'LAB ben');
    const { report } = await night('LEC ada');
    expect(report.join()).toContain(
      'enrollments in LAB that ended, but stay, as the crosswalk does not know who or what is meant: 2',
    );
    crosswalk.fill('orgUnitCode', { LEC: 2601, LAB: 2601 });
    platform.replay();
    await night('LEC ada', 'LEC cleo');
    expect(platform.keys()).toEqual(['2601 101', '2601 103']);
  });

  test('of two tables, which name a user in two ways', async () => {
    const { bucket, crosswalk, platform, put } = newStage();
    const { ada: _, ...others } = people;
    crosswalk.fill('orgUnitCode', { BIO: 2601 });
    crosswalk.fill('userName', others);
    crosswalk.fill('orgDefinedId', others);
    const data = { orgUnitCode: 'COURSE', orgDefinedId: 'LOGIN' };
    const removed = { function: 'enrollment-remove', data };
    bucket.write('snapshot-mappings/a.json', mapping(enrolling()));
    bucket.write(
      'snapshot-mappings/b.json',
      mapping(enrolling({ data: { ...data, roleId: { value: 110 } }, removed })),
    );
    await put('a.csv', roster('BIO ada S', 'BIO ben S'));
    await put('b.csv', roster('BIO ada S'));
    await put('a.csv', roster('BIO ben S'), { isApproved: true });
    crosswalk.fill('userName', people);
    crosswalk.fill('orgDefinedId', people);
    platform.replay();
    await put('a.csv', roster('BIO ben S', 'BIO cleo S'));
    expect(platform.keys()).toContain('2601 101');
  });

  test('of a user whose name has two ids for a while', async () => {
    const { bucket, crosswalk, platform, put } = newStage();
    crosswalk.fill('orgUnitCode', { BIO: 2601 });
    crosswalk.fill('userName', people);
    bucket.write('snapshot-mapping.json', mapping(enrolling()));
    await put('a.csv', roster('BIO ada S', 'BIO ben S'));
    await put('b.csv', roster('BIO ada S'));
    crosswalk.fill('userName', { ...people, ada: [101, 105] });
    await put('a.csv', roster('BIO ada T', 'BIO ben S'));
    await put('a.csv', roster('BIO ben S'), { isApproved: true });
    crosswalk.fill('userName', people);
    platform.replay();
    await put('a.csv', roster('BIO ben S', 'BIO cleo S'));
    expect(platform.all()).toContain('2601 101 110');
  });
});

test('a changed roleOrder reaches what several files want, and what one of them alone wants later', async () => {
  const { bucket, crosswalk, platform, put, set } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', people);
  bucket.write('snapshot-mapping.json', mapping(enrolling()));
  await put('a.csv', roster('BIO ada S'));
  await put('b.csv', roster('BIO ada T'));
  expect(platform.all()).toEqual(['2601 101 109']);
  set({ roleOrder: ['student', 'teacher'] });
  await put('a.csv', roster('BIO ada S', 'BIO ben S'));
  expect(platform.all()).toContain('2601 101 110');
  set({ roleOrder: ['teacher', 'student'] });
  await put('b.csv', roster('BIO cleo T'), { isApproved: true });
  expect(platform.all()).toContain('2601 101 110');
});

test('two rows about one enrollment agree on its role while the code of their section moves', async () => {
  const { crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { LECTURE: 2601, LAB: 2601 });
  crosswalk.fill('userName', people);
  const named = { users: users('ada', 'ben'), classes: classes('LECTURE', 'LAB') };
  const rows = enrollments(
    `LECTURE ada teacher ${at(0)}`,
    `LAB ada student ${at(0.5)}`,
    `LAB ada teacher ${at(0.25)}`,
  ).map((row, place) => ({ ...row, sourcedId: `e-${place}` }));
  await put('export.zip', await zip({ ...named, enrollments: rows }));
  crosswalk.fill('orgUnitCode', { LECTURE: 2601, LAB: 2602 });
  await put('export.zip', await zip({ ...named, enrollments: rows }));
  crosswalk.accept('LAB');
  crosswalk.fill('orgUnitCode', { LECTURE: 2601, LAB: 2602 });
  platform.replay();
  const delta = { ...named, enrollments: enrollments('LECTURE ben') };
  await put('export.zip', await deltaOf(delta), { isApproved: true });
  expect(platform.valueOf('2602 101')).toBe('109');
});

test('a row that withdraws from one section ends its role there, though another row gives the other section', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { LECTURE: 2601, LAB: 2601 });
  crosswalk.fill('userName', people);
  const messages = [
    enrolling({ when: { STATUS: ['active'] }, time: 'AT' }),
    removing({ when: { STATUS: ['withdrawn'] }, time: 'AT' }),
  ];
  bucket.write('snapshot-mapping.json', mapping(...messages));
  const named = { users: users('ada', 'ben'), classes: classes('LECTURE', 'LAB') };
  const teacher = enrollments(`LAB ada teacher ${at(0)}`);
  await put('export.zip', await zip({ ...named, enrollments: teacher }));
  const columns = ['COURSE', 'LOGIN', 'ROLE', 'STATUS', 'AT'];
  const rows = [`LAB ada S withdrawn ${at(1)}`, `LECTURE ada S active ${at(0)}`];
  await put('a.csv', table(columns, ...rows));
  expect(platform.all()).toEqual(['2601 101 110']);
  await put('export.zip', await zip({ ...named, enrollments: [...teacher, ...enrollments('LECTURE ben')] }));
  expect(platform.valueOf('2601 101')).toBe('110');
});

test('a role that stayed for a row that could not be used gives way to that of another file once the row is gone', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', people);
  const roleId = { from: 'ROLE', values: { S: 110, A: 111 } };
  bucket.write('snapshot-mapping.json', mapping(enrolling({ data: { ...who, roleId }, time: 'AT' })));
  const named = { users: users('ada', 'ben'), classes: classes('BIO') };
  const exported = (...rows: string[]) => zip({ ...named, enrollments: enrollments('BIO ben', ...rows) });
  await put('export.zip', await exported(`BIO ada teacher ${at(0)}`));
  await put('export.zip', await exported(`BIO ada dean ${at(0)}`));
  const { report } = await put('a.csv', table(['COURSE', 'LOGIN', 'ROLE', 'AT'], `BIO ada A ${at(1)}`));
  expect(report.join('\n')).toContain('a row that cannot be used may be about the same');
  expect(platform.valueOf('2601 101')).toBe('109');
  await put('export.zip', await exported());
  expect(platform.valueOf('2601 101')).toBe('111');
});

test.each([
  { stays: 'teacher', row: 'S', now: '109', isNamed: true },
  { stays: 'student', row: 'T', now: '109', isNamed: false },
])(
  'a role of $stays that stays for a row that cannot be used never overrules a row of another file',
  async ({ stays, row, now, isNamed }) => {
    const { bucket, crosswalk, platform, put } = newStage();
    crosswalk.fill('orgUnitCode', { BIO: 2601 });
    crosswalk.fill('userName', people);
    bucket.write('snapshot-mapping.json', mapping(enrolling()));
    const named = { users: users('ada', 'ben'), classes: classes('BIO') };
    const exported = (role: string) =>
      zip({ ...named, enrollments: enrollments('BIO ben', `BIO ada ${role}`) });
    await put('export.zip', await exported(stays));
    await put('export.zip', await exported('dean'));
    const { report } = await put('a.csv', roster(`BIO ada ${row}`));
    const text = 'a row that cannot be used may be about the same: the platform keeps what it has';
    expect(report.join('\n').includes(text)).toBe(isNamed);
    expect(platform.valueOf('2601 101')).toBe(now);
  },
);

test('what was sent by a new user name is not replaced by a role that stays for a row that cannot be used', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', people);
  bucket.write('snapshot-mapping.json', mapping(enrolling()));
  const exported = (name: string, role: string) =>
    zip({
      ...{ users: users('ada').map((user) => ({ ...user, username: name })), classes: classes('BIO') },
      enrollments: enrollments(`BIO ada ${role}`),
    });
  await put('export.zip', await exported('ada', 'teacher'));
  await put('export.zip', await exported('ada2', 'dean'));
  await put('a.csv', roster('BIO ada2 S'));
  crosswalk.fill('userName', { ...people, ada2: 101 });
  platform.replay();
  expect(platform.valueOf('2601 101')).toBe('110');
  const { report } = await put('a.csv', roster('BIO ada2 S'));
  expect(report.join('\n')).toContain('a row that cannot be used may be about the same');
  expect(platform.valueOf('2601 101')).toBe('110');
  await put('export.zip', await exported('ada2', 'teacher'));
  expect(platform.valueOf('2601 101')).toBe('109');
});

test('a role that another file ended while the row of its own file could not be used is sent once it can', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', people);
  bucket.write('snapshot-mapping.json', mapping(removing({ time: 'AT' })));
  const named = { users: users('ada', 'ben'), classes: classes('BIO') };
  const exported = (...roles: string[]) => {
    const rows = enrollments('BIO ben', ...roles.map((role, place) => `BIO ada ${role} ${at(place)}`));
    return zip({ ...named, enrollments: rows.map((row, place) => ({ ...row, sourcedId: `e-${place}` })) });
  };
  const drops = (...rows: string[]) => table(['COURSE', 'LOGIN', 'AT'], 'BIO cleo ', ...rows);
  await put('export.zip', await exported('teacher', 'student'));
  await put('drops.csv', drops(`BIO ada ${at(0.5)}`));
  expect(platform.valueOf('2601 101')).toBe('110');
  await put('export.zip', await exported('dean', 'dean'));
  expect(platform.valueOf('2601 101')).toBe('110');
  await put('drops.csv', drops(), { isApproved: true });
  await put('export.zip', await exported('teacher', 'student'));
  expect(platform.valueOf('2601 101')).toBe('109');
});

test('no new grade goes to the former org unit of a line item whose title another one has in the new one', async () => {
  const { crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { LECTURE: 2601, LAB: 2601 });
  crosswalk.fill('userName', people);
  const named = { users: users('ada', 'ben'), classes: classes('LECTURE', 'LAB') };
  const items = { lineItems: lineItems('LECTURE Quiz'), results: results('LECTURE Quiz ada 18') };
  await put('export.zip', await zip({ ...named, ...items }));
  crosswalk.fill('orgUnitCode', { LECTURE: 2602, LAB: 2602 });
  for (const code of ['LECTURE', 'LAB']) crosswalk.accept(code);
  crosswalk.fill('orgUnitCode', { LECTURE: 2602, LAB: 2602 });
  const both = lineItems('LECTURE Quiz', 'LAB Quiz');
  const graded = results('LECTURE Quiz ada 18', 'LECTURE Quiz ben 7');
  const next = await zip({ ...named, lineItems: both, results: graded });
  const { report } = await put('export.zip', next, { isApproved: true });
  expect(report.join('\n')).toContain('two line items of one org unit have this title');
  expect(platform.valueOf('2601/Quiz 102')).toBeUndefined();
  expect(platform.valueOf('2601/Quiz 101')).toBe('18');
});

test('who gets a new user name stays enrolled by a table that has it already, though the crosswalk has not', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', people);
  bucket.write('snapshot-mapping.json', mapping(enrolling()));
  const named = (...names: string[]) => ({
    classes: classes('BIO'),
    users: users('ada', 'ben').map((user, place) => ({ ...user, username: names[place] ?? '' })),
  });
  const both = enrollments('BIO ada', 'BIO ben');
  await put('export.zip', await zip({ ...named('ada', 'ben'), enrollments: both }));
  await put('a.csv', roster('BIO ada S'));
  await put('export.zip', await zip({ ...named('ada2', 'ben'), enrollments: both }));
  await put('a.csv', roster('BIO ada2 S'));
  await put('export.zip', await zip({ ...named('ada2', 'ben'), enrollments: enrollments('BIO ben') }));
  expect(platform.valueOf('2601 101')).toBe('110');
});

test('a user name that passes to somebody else, and back before the crosswalk knew it, reaches neither by the other', async () => {
  const { crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', people);
  const exported = (names: string[], ...rows: string[]) =>
    zip({
      users: users('ada', 'ben')
        .slice(0, names.length)
        .map((user, place) => ({ ...user, username: names[place] ?? '' })),
      ...{ classes: classes('BIO'), enrollments: enrollments(...rows) },
    });
  const passed = () => exported(['ada2', 'ada'], 'BIO ada teacher', 'BIO ben student');
  await put('export.zip', await exported(['ada'], 'BIO ada teacher'));
  await put('export.zip', await passed());
  await put('export.zip', await passed());
  crosswalk.fill('userName', { ada: 102, ada2: 101 });
  const back = await exported(['ada', 'ben2'], 'BIO ada teacher', 'BIO ben student');
  const { report } = await put('export.zip', back, { isApproved: true });
  expect(report.join('\n')).toContain('its user name was that of another record');
  expect(platform.all()).toEqual(['2601 101 109']);
  crosswalk.fill('userName', { ada: 101, ben2: 102 });
  platform.replay();
  await put('export.zip', back);
  expect(platform.all()).toEqual(['2601 101 109', '2601 102 110']);
});

test('a user name that passes on twice before the crosswalk knew it stands for none of its bearers', async () => {
  const { crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', { ada: 101, ben: 102 });
  const exported = (...names: string[]) => {
    const all = ['ada', 'ben', 'cleo'].slice(0, names.length);
    return zip({
      users: users(...all).map((user, place) => ({ ...user, username: names[place] ?? '' })),
      ...{ classes: classes('BIO'), enrollments: enrollments(...all.map((name) => `BIO ${name} student`)) },
    });
  };
  await put('export.zip', await exported('ada', 'ben'));
  await put('export.zip', await exported('ada2', 'ada'));
  crosswalk.fill('userName', { ada: 102 });
  const twice = await exported('ada2', 'ben2', 'ada');
  const { report } = await put('export.zip', twice, { isApproved: true });
  expect(report.join('\n')).toContain('its user name was that of another record');
  crosswalk.fill('userName', { ada: 103 });
  await put('export.zip', twice, { isApproved: true });
  expect(platform.all()).toEqual(['2601 101 110', '2601 102 110', '2601 103 110']);
});

test('a withdrawal by a name that nobody knew yet, and that is taken back, does not last', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', people);
  bucket.write('snapshot-mapping.json', mapping(removing()));
  const exported = (name: string) =>
    zip({
      users: users('ada').map((user) => ({ ...user, username: name })),
      ...{ classes: classes('BIO'), enrollments: enrollments('BIO ada teacher') },
    });
  const drops = (...rows: string[]) => table(['COURSE', 'LOGIN'], ...rows);
  await put('export.zip', await exported('ada'));
  await put('export.zip', await exported('ada2'));
  await put('drops.csv', drops('BIO cleo', 'BIO ada2'), { isApproved: true });
  const { report } = await put('drops.csv', drops('BIO cleo'), { isApproved: true });
  expect(report.join('\n')).toContain('that are gone, but may still be carried out');
  crosswalk.fill('userName', { ...people, ada2: 101 });
  platform.replay();
  expect(platform.valueOf('2601 101')).toBeUndefined();
  await put('drops.csv', drops('BIO cleo'), { isApproved: true });
  expect(platform.valueOf('2601 101')).toBe('109');
});

test('a row of a table whose user has somebody else’s former name holds what the user has', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', people);
  bucket.write('snapshot-mapping.json', mapping(enrolling()));
  const exported = (...names: string[]) =>
    zip({
      users: users('ada', 'ben').map((user, place) => ({ ...user, username: names[place] ?? '' })),
      ...{ classes: classes('BIO'), enrollments: [] },
    });
  await put('export.zip', await exported('ada', 'ben'));
  await put('instructors.csv', roster('BIO ada T'));
  await put('export.zip', await exported('ben', 'ben2'));
  const { report } = await put('instructors.csv', roster('BIO ben T'), { isApproved: true });
  expect(report.join('\n')).toContain('names a user whose name was another person');
  expect(platform.all()).toEqual(['2601 101 109']);
});

test('another file ends nothing that a refused row of an earlier export may be about, after a delta without it', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { LECTURE: 2601, LAB: 2601 });
  crosswalk.fill('userName', people);
  bucket.write('snapshot-mapping.json', mapping(removing({ time: 'AT' })));
  const named = { users: users('ada', 'ben'), classes: classes('LECTURE', 'LAB') };
  const student = `LECTURE ada student ${at(0)}`;
  const refused = enrollments(`LECTURE ada dean ${at(2)}`).map((row) => ({ ...row, sourcedId: 'e-2' }));
  await put('export.zip', await zip({ ...named, enrollments: enrollments(student) }));
  await put('export.zip', await zip({ ...named, enrollments: [...enrollments(student), ...refused] }));
  await put('export.zip', await deltaOf({ enrollments: enrollments('LAB ben') }));
  const drops = table(['COURSE', 'LOGIN', 'AT'], `LECTURE ada ${at(1)}`);
  const { report } = await put('drops.csv', drops, { isApproved: true });
  expect(report.join('\n')).toContain('does not end the enrollment');
  expect(platform.valueOf('2601 101')).toBe('110');
});

test('what was sent by a name that nobody ever knew is what the record’s new name stands for', async () => {
  const { crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', { ada: 101, ben: 102 });
  const exported = (name: string, ...more: string[]) =>
    zip({
      users: users('ada', 'ben').map((user, place) => (place === 0 ? { ...user, username: name } : user)),
      ...{ classes: classes('BIO'), enrollments: enrollments('BIO ada student', ...more) },
    });
  await put('export.zip', await exported('typo'));
  const renamed = await put('export.zip', await exported('ada'));
  expect(renamed.report).toEqual([]);
  const next = await put('export.zip', await exported('ada', 'BIO ben student'));
  expect(next.message).toBeUndefined();
  expect(platform.all()).toEqual(['2601 101 110', '2601 102 110']);
});

test('who has two rows in a table by a new user name stays enrolled, though the crosswalk does not know it', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { LECTURE: 2601, LAB: 2601 });
  crosswalk.fill('userName', people);
  bucket.write('snapshot-mapping.json', mapping(enrolling()));
  const named = (...names: string[]) => ({
    classes: classes('LECTURE', 'LAB'),
    users: users('ada', 'ben').map((user, place) => ({ ...user, username: names[place] ?? '' })),
  });
  const both = enrollments('LECTURE ada', 'LECTURE ben');
  await put('export.zip', await zip({ ...named('ada', 'ben'), enrollments: both }));
  await put('export.zip', await zip({ ...named('ada2', 'ben'), enrollments: both }));
  await put('a.csv', roster('LECTURE ada2 S', 'LAB ada2 S'));
  const ben = enrollments('LECTURE ben');
  await put('export.zip', await zip({ ...named('ada2', 'ben'), enrollments: ben }));
  expect(platform.valueOf('2601 101')).toBe('110');
});

describe('a mapping removes enrollments by a message of its own', () => {
  const columns = ['COURSE', 'LOGIN', 'ROLE', 'STATUS'];
  const names = many(300);
  const registrations = (withdrawn: number): string =>
    table(
      columns,
      ...names.map((name, number) => `BIO ${name} S ${number < withdrawn ? 'withdrawn' : 'active'}`),
    );
  const stage = () => {
    const { crosswalk, ...others } = newStage({ maxRemovalsPercent: 5 });
    crosswalk.fill('orgUnitCode', { BIO: 2601 });
    crosswalk.fill('userName', manyIds(names));
    const messages = [
      enrolling({ when: { STATUS: ['active'] } }),
      removing({ when: { STATUS: ['withdrawn'] } }),
    ];
    others.bucket.write('snapshot-mappings/registrations.json', mapping(...messages));
    others.bucket.write('snapshot-mappings/students.json', mapping(enrolling()));
    others.bucket.write('snapshot-mappings/drops.json', mapping(removing()));
    return others;
  };

  test('45 of 300 wait for a person, and then 60 of 255', async () => {
    const { platform, put } = stage();
    await put('registrations.csv', registrations(0));
    expect(platform.all().length).toBe(300);
    const first = await put('registrations.csv', registrations(45));
    expect([first.isSent, platform.all().length]).toEqual([false, 300]);
    expect(first.reasons.join()).toMatch(/\b45 of 300\b/);
    await put('registrations.csv', registrations(45), { isApproved: true });
    expect(platform.all().length).toBe(255);
    const second = await put('registrations.csv', registrations(105));
    expect([second.isSent, platform.all().length]).toEqual([false, 255]);
    expect(second.reasons.join()).toMatch(/\b60 of 255\b/);
    await put('registrations.csv', registrations(105), { isApproved: true });
    expect(platform.all().length).toBe(195);
  });

  test('a few are removed without a person', async () => {
    const { platform, put } = stage();
    await put('registrations.csv', registrations(0));
    const { reasons } = await put('registrations.csv', registrations(3));
    expect([reasons, platform.all().length]).toEqual([[], 297]);
  });

  test('drops.csv lists everybody in the first night that it comes: nobody is removed unasked', async () => {
    const { platform, put } = stage();
    const all = roster(...names.map((name) => `BIO ${name} S`));
    await put('students.csv', all);
    const { reasons, report } = await put('drops.csv', all);
    expect(platform.all().length).toBe(300);
    expect(reasons.length + report.length).toBeGreaterThan(0);
  });

  test('drops.csv lists everybody in a later night: nobody is removed unasked', async () => {
    const { platform, put } = stage();
    const all = names.map((name) => `BIO ${name} S`);
    await put('students.csv', roster(...all));
    await put('drops.csv', roster('BIO nobody S'));
    const { reasons, report } = await put('drops.csv', roster('BIO nobody S', ...all));
    expect(platform.all().length).toBe(300);
    expect(reasons.length + report.length).toBeGreaterThan(0);
  });
});

describe('a file is put again', () => {
  const stage = () => {
    const made = newStage();
    made.crosswalk.fill('orgUnitCode', { BIO: 2601, ART: 2602 });
    made.crosswalk.fill('userName', people);
    return made;
  };
  const sis = { users: users('ada', 'ben', 'cleo', 'dan'), classes: classes('BIO', 'ART') };

  test.each([
    ['whose rows say when they were changed', at],
    ['whose rows do not say when they were changed', () => ''],
  ])("Monday's whole export on Friday, %s: a person is asked", async (_, when) => {
    const { platform, put } = stage();
    const first = enrollments(`BIO ada student ${when(1)}`, `BIO ben student ${when(1)}`);
    const monday = await zip({ ...sis, enrollments: first });
    // One has left, two are new.
    const tuesday = enrollments(
      ...[`BIO ada student ${when(1)}`, `BIO cleo student ${when(2)}`, `ART dan student ${when(2)}`],
    );
    await put('export.zip', monday);
    await put('export.zip', await zip({ ...sis, enrollments: tuesday }));
    const held = ['2601 101 110', '2601 103 110', '2602 104 110'];
    expect(platform.all()).toEqual(held);
    const again = await put('export.zip', monday);
    expect([again.isSent, platform.all()]).toEqual([false, held]);
    expect(again.reasons.length).toBeGreaterThan(0);
    // The day after, all is as usual.
    await put(
      'export.zip',
      await zip({ ...sis, enrollments: [...tuesday, ...enrollments(`ART ada student ${when(6)}`)] }),
    );
    expect(platform.all()).toEqual([...held, '2602 101 110'].sort());
  });

  test("Monday's table on Friday: a person is asked", async () => {
    const { bucket, platform, put } = stage();
    bucket.write('snapshot-mapping.json', mapping(enrolling()));
    const monday = roster('BIO ada S', 'BIO ben S');
    await put('students.csv', monday);
    await put('students.csv', roster('BIO ada S', 'BIO cleo S'));
    const again = await put('students.csv', monday);
    expect([again.isSent, platform.all()]).toEqual([false, ['2601 101 110', '2601 103 110']]);
    expect(again.reasons.length).toBeGreaterThan(0);
  });

  test('a delta that failed, after a later one: what the later one said stays', async () => {
    const { bucket, platform, set, put } = stage();
    const status = { status: 'active' };
    const row = (text: string, more: Record<string, string> = status): Rows =>
      enrollments(text).map((each) => ({ ...each, ...more }));
    await put('export.zip', await zip({ ...sis, enrollments: enrollments(`BIO ada student ${at(1)}`) }));
    const tuesday = await deltaOf({
      enrollments: [
        ...row(`BIO ben student ${at(2)}`),
        ...row(`ART cleo student ${at(2)}`),
        ...row(`BIO ada student ${at(2)}`, { status: 'tobedeleted' }),
      ],
    });
    bucket.write('snapshot-settings.json', '{"roles":');
    expect((await put('export.zip', tuesday)).message).toContain('snapshot-settings.json');
    set({});
    // Ben has left again, and ada is back.
    const wednesday = await deltaOf({
      enrollments: [
        ...row(`BIO ben student ${at(3)}`, { status: 'tobedeleted' }),
        ...row(`BIO ada teacher ${at(3)}`),
      ],
    });
    await put('export.zip', wednesday);
    expect(platform.all()).toEqual(['2601 101 109']);
    const again = await put('export.zip', tuesday);
    expect([again.isSent, platform.all()]).toEqual([false, ['2601 101 109']]);
    expect(again.reasons.length).toBeGreaterThan(0);
    // Approved, it adds what nobody has said anything later about.
    const { report } = await put('export.zip', tuesday, { isApproved: true });
    expect(platform.all()).toEqual(['2601 101 109', '2602 103 110']);
    expect(report.filter((line) => /^"enrollments.csv","[24]"/.test(line)).length).toBe(2);
  });
});

describe('a leaver is gone from users.csv and from the crosswalk before her removal is sent', () => {
  test('by the export itself, she is removed by the id that was known when she was enrolled', async () => {
    const { crosswalk, platform, put } = newStage();
    crosswalk.fill('orgUnitCode', { BIO: 2601 });
    crosswalk.fill('userName', people);
    const all = {
      users: users('ada', 'ben'),
      classes: classes('BIO'),
      enrollments: enrollments('BIO ada', 'BIO ben'),
    };
    await put('export.zip', await zip(all));
    expect(platform.all()).toEqual(['2601 101 110', '2601 102 110']);
    crosswalk.fill('userName', { ben: 102 });
    await put('export.zip', await zip({ ...all, users: users('ben'), enrollments: enrollments('BIO ben') }));
    expect([platform.all(), platform.letters()]).toEqual([['2601 102 110'], []]);
  });

  test('after the export, before the message is handled', async () => {
    const { crosswalk, platform, put, imported } = newStage();
    crosswalk.fill('orgUnitCode', { BIO: 2601 });
    crosswalk.fill('userName', people);
    const all = {
      users: users('ada', 'ben'),
      classes: classes('BIO'),
      enrollments: enrollments('BIO ada', 'BIO ben'),
    };
    await put('export.zip', await zip(all));
    const content = await zip({ ...all, users: users('ben'), enrollments: enrollments('BIO ben') });
    const { bodies } = await imported('export.zip', { content });
    crosswalk.fill('userName', { ben: 102 });
    platform.take(bodies);
    expect([platform.all(), platform.letters()]).toEqual([['2601 102 110'], []]);
  });

  test('in a table', async () => {
    const { bucket, crosswalk, platform, put } = newStage();
    bucket.write('snapshot-mapping.json', mapping(enrolling()));
    crosswalk.fill('orgUnitCode', { BIO: 2601 });
    crosswalk.fill('userName', people);
    await put('students.csv', roster('BIO ada S', 'BIO ben S'));
    crosswalk.fill('userName', { ben: 102 });
    await put('students.csv', roster('BIO ben S'));
    expect([platform.all(), platform.letters()]).toEqual([['2601 102 110'], []]);
  });
});

describe('two files give one grade', () => {
  const data = {
    ...{ orgUnitCode: 'COURSE', gradeObjectName: 'ITEM', userName: 'LOGIN' },
    ...{ 'grade.type': { value: 'numeric' }, 'grade.points': 'SCORE' },
  };
  const grading = { function: 'grade-push', key: ['COURSE', 'ITEM', 'LOGIN'], data };
  const scores = (...rows: string[]): string => table(['COURSE', 'ITEM', 'LOGIN', 'SCORE', 'AT'], ...rows);
  const stage = (further: object = {}) => {
    const one = newStage();
    one.crosswalk.fill('orgUnitCode', { BIO: 2601 });
    one.crosswalk.fill('userName', people);
    one.bucket.write(
      'snapshot-mapping.json',
      mapping({ ...grading, time: 'AT', data: { ...data, ...further } }),
    );
    return one;
  };
  const sis = { users: users('ada'), classes: classes('BIO'), lineItems: lineItems('BIO Quiz') };
  const exported = (score: string, time: string) =>
    zip({ ...sis, results: results(`BIO Quiz ada ${score} ${time}`) });

  test('the later said counts, whichever file comes last', async () => {
    const { platform, put } = stage();
    await put('export.zip', await exported('18', at(3)));
    const older = await put('lab.csv', scores(`BIO Quiz ada 3 ${at(1)}`));
    expect(platform.all()).toEqual(['2601/Quiz 101 18']);
    expect(older.report.join()).toContain('is older than another grade in the export of OneRoster');
    await put('lab.csv', scores(`BIO Quiz ada 15 ${at(4)}`));
    expect(platform.all()).toEqual(['2601/Quiz 101 15']);
    const again = await put(
      'export.zip',
      await zip({ ...sis, results: results(`BIO Quiz ada 17 ${at(3)}`) }),
    );
    expect(platform.all()).toEqual(['2601/Quiz 101 15']);
    expect(again.report.join()).toContain('is older than another grade in lab.csv');
  });

  test('if it is unknown which one is later, both are named each time, and what was there stays until they agree', async () => {
    const { platform, put } = stage();
    await put('export.zip', await exported('18', ''));
    for (const { report } of [
      await put('lab.csv', scores('BIO Quiz ada 3 ')),
      await put('lab.csv', scores('BIO Quiz ada 3 ', 'BIO Quiz nobody 4 ')),
      await put('lab.csv', scores('BIO Quiz ada 4 ')),
    ])
      expect(report.join()).toContain('differs from the grade in the export of OneRoster');
    const other = await put('export.zip', await exported('19', ''));
    expect(other.report.join()).toContain('differs from the grade in lab.csv');
    expect(platform.all()).toEqual(['2601/Quiz 101 18']);
    const agreed = await put('export.zip', await exported('4', ''));
    expect(agreed.report).toEqual([]);
    expect(platform.all()).toEqual(['2601/Quiz 101 4']);
  });

  test('what waited for the other file is sent when that has it no more', async () => {
    const { platform, put } = stage();
    await put('other.csv', scores('BIO Quiz ada 18 '));
    await put('export.zip', await exported('3', ''));
    await put('other.csv', scores('BIO Quiz ben 18 '), { isApproved: true });
    expect(platform.all()).toContain('2601/Quiz 101 3');
    const { reasons } = await put(
      'export.zip',
      await zip({ ...sis, users: users('ada', 'ben'), results: results('BIO Quiz ada 3 ') }),
    );
    expect(reasons).toEqual([]);
    expect(platform.all()).toContain('2601/Quiz 101 3');
  });

  test('a grade object is known by its former title, too, by which the other file still names it', async () => {
    const { platform, put } = stage();
    const renamed = (score: string) =>
      zip({
        ...sis,
        lineItems: sis.lineItems.map((row) => ({ ...row, title: 'Test' })),
        results: results(`BIO Quiz ada ${score} `),
      });
    await put('lab.csv', scores('BIO Quiz ada 3 '));
    // The platform has the grade object only from now on.
    await put('export.zip', await exported('18', ''));
    platform.replay();
    const own = await put('export.zip', await renamed('18'));
    expect(own.report.join()).toContain('differs from the grade in lab.csv');
    const other = await put('lab.csv', scores('BIO Quiz ada 4 '));
    expect(other.report.join()).toContain('differs from the grade in the export of OneRoster');
    expect(platform.all()).toEqual(['2601/Test 101 3']);
    await put('export.zip', await renamed('4'));
    expect(platform.all()).toEqual(['2601/Test 101 4']);
  });

  test('a user is known by a new name, too, that the other file has already, though the crosswalk has not', async () => {
    const { platform, put } = stage();
    const renamed = (score: string) =>
      zip({
        ...sis,
        users: sis.users.map((user) => ({ ...user, username: 'ada2' })),
        results: results(`BIO Quiz ada ${score} `),
      });
    await put('export.zip', await exported('18', ''));
    await put('export.zip', await renamed('18'));
    await put('lab.csv', scores('BIO Quiz ada2 3 '));
    const own = await put('export.zip', await renamed('19'));
    expect(own.report.join()).toContain('differs from the grade in lab.csv');
    expect(platform.valueOf('2601/Quiz 101')).toBe('18');
  });

  describe.each(['comments', 'privateComments'])('with %s', (field) => {
    const commented = (...rows: string[]): string =>
      table(['COURSE', 'ITEM', 'LOGIN', 'SCORE', 'AT', 'COMMENT'], ...rows);
    const sent = ({ bodies }: { bodies: { data: Record<string, unknown> }[] }) =>
      bodies.map(({ data }) => data[field]);

    test('of which the later said count', async () => {
      const { put } = stage({ [field]: 'COMMENT' });
      await put('export.zip', await zip({ ...sis, results: [] }));
      expect(sent(await put('a.csv', commented(`BIO Quiz ada 18 ${at(1)} good`)))).toEqual(['good']);
      const older = await put('b.csv', commented(`BIO Quiz ada 18 ${at(0)} bad`));
      expect(older.bodies).toEqual([]);
      expect(older.report.join()).toContain('is older than another comment in a.csv');
      expect(sent(await put('b.csv', commented(`BIO Quiz ada 18 ${at(3)} fair`)))).toEqual(['fair']);
      const other = await put('a.csv', commented(`BIO Quiz ada 18 ${at(2)} well`));
      expect(other.bodies).toEqual([]);
      expect(other.report.join()).toContain('is older than another comment in b.csv');
    });

    test('of which it is unknown which are later: both are named, and what was there stays', async () => {
      const { put } = stage({ [field]: 'COMMENT' });
      await put('export.zip', await zip({ ...sis, results: [] }));
      await put('a.csv', commented('BIO Quiz ada 18  good'));
      const b = await put('b.csv', commented('BIO Quiz ada 18  bad'));
      expect(b.bodies).toEqual([]);
      expect(b.report.join()).toContain('differs from the comment in a.csv');
      const a = await put('a.csv', commented('BIO Quiz ada 18  well'));
      expect(a.bodies).toEqual([]);
      expect(a.report.join()).toContain('differs from the comment in b.csv');
    });
  });

  test('a file that gives a grade without a comment does not contradict the comment of another', async () => {
    const { put } = stage({ comments: 'COMMENT' });
    await put('export.zip', await exported('18', ''));
    const row = table(['COURSE', 'ITEM', 'LOGIN', 'SCORE', 'AT', 'COMMENT'], 'BIO Quiz ada 18  good');
    expect((await put('a.csv', row)).report).toEqual([]);
    expect((await put('export.zip', await exported('18', at(2)))).report).toEqual([]);
  });

  describe('and the one that counts wants none any more', () => {
    const lab = scores(`BIO Quiz ada 3 ${at(2)}`, `BIO Quiz ben 3 ${at(2)}`);
    const withoutAda = scores(`BIO Quiz ben 3 ${at(2)}`);
    const withoutResults = () => zip(sis);
    const approved = { isApproved: true };

    test.each(['drops its row', 'is ended'])(
      'as the table %s: the grade of the export is sent',
      async (how) => {
        const { platform, put, end } = stage();
        await put('export.zip', await exported('18', at(1)));
        await put('lab.csv', lab);
        expect(platform.valueOf('2601/Quiz 101')).toBe('3');
        const gone = how === 'is ended' ? await end('lab.csv') : await put('lab.csv', withoutAda);
        if (how === 'is ended') {
          expect(gone.reasons.join()).toContain(
            '1 grade stays, as grades cannot be removed from the platform',
          );
          expect(gone.reasons.join()).toContain('1 grade is set as another file says');
        } else expect(gone.reasons).toEqual([]);
        expect(gone.bodies.map(({ data }) => data)).toEqual([
          {
            ...{ orgUnitId: 2601, gradeObjectName: 'Quiz', userId: 101 },
            grade: { type: 'numeric', points: 18, outOf: 20 },
          },
        ]);
        expect(platform.all()).toEqual(['2601/Quiz 101 18', '2601/Quiz 102 3']);
      },
    );

    test.each(['drops its row', 'is ended'])(
      'as the export %s: the grade of the table is sent',
      async (how) => {
        const { platform, put, end } = stage({ privateComments: { value: 'kept by the lab' } });
        await put('lab.csv', scores(`BIO Quiz ada 3 ${at(0)}`));
        await put('export.zip', await exported('18', at(1)));
        platform.replay();
        expect(platform.valueOf('2601/Quiz 101')).toBe('18');
        const gone =
          how === 'is ended'
            ? await end('export.zip')
            : await put('export.zip', await withoutResults(), approved);
        expect(gone.bodies.map(({ data }) => data)).toEqual([
          {
            ...{ orgUnitId: 2601, gradeObjectName: 'Quiz', userId: 101, privateComments: 'kept by the lab' },
            grade: { type: 'numeric', points: 3 },
          },
        ]);
        expect(platform.all()).toEqual(['2601/Quiz 101 3']);
      },
    );

    test('after its line item was renamed: the grade object is named as it is now', async () => {
      const { platform, put } = stage();
      await put('lab.csv', scores(`BIO Quiz ada 3 ${at(0)}`));
      await put('export.zip', await exported('18', at(1)));
      const lineItems = sis.lineItems.map((row) => ({ ...row, title: 'Test' }));
      await put('export.zip', await zip({ ...sis, lineItems }), approved);
      expect(platform.all()).toEqual(['2601/Test 101 3']);
    });

    test('the same, if the name of its user is not known yet', async () => {
      const { platform, put, crosswalk } = stage();
      crosswalk.fill('userName', {});
      await put('export.zip', await exported('18', at(1)));
      await put('lab.csv', scores(`BIO Quiz ada 3 ${at(2)}`));
      await put('lab.csv', scores(`BIO Quiz ben 3 ${at(2)}`), { isApproved: true });
      crosswalk.fill('userName', people);
      platform.replay();
      expect(platform.valueOf('2601/Quiz 101')).toBe('18');
    });

    test('with its comment: that of the other file is sent, and is not cleared when the grade comes back', async () => {
      const { put } = stage({ comments: { value: 'of the lab' } });
      const commented = (time: string, comment: string) =>
        zip({ ...sis, results: results(`BIO Quiz ada 18 ${time}`).map((row) => ({ ...row, comment })) });
      await put('lab.csv', scores(`BIO Quiz ada 18 ${at(0)}`));
      await put('export.zip', await commented(at(1), 'of the export'));
      const gone = await put('export.zip', await withoutResults(), approved);
      expect(gone.bodies.map(({ data }) => data.comments)).toEqual(['of the lab']);
      const back = await put('export.zip', await commented(at(4), ''));
      expect(back.bodies.map(({ data }) => data.comments)).toEqual([undefined]);
    });

    test('what the others want is not sent if it is unknown which of them is later: the report names them', async () => {
      const { platform, put } = stage();
      await put('export.zip', await exported('18', ''));
      await put('a.csv', scores('BIO Quiz ada 3 '));
      await put('b.csv', scores('BIO Quiz ada 4 '));
      const gone = await put('export.zip', await withoutResults(), approved);
      expect(gone.bodies).toEqual([]);
      expect(gone.report.join()).toMatch(
        /1 grade is no longer in this file. About it, a.csv of 2026-11-\d\d and b.csv of 2026-11-\d\d contradict each other/,
      );
      expect(platform.all()).toEqual(['2601/Quiz 101 18']);
      const next = await put('a.csv', scores('BIO Quiz ben 3 '));
      expect(next.report).toEqual([]);
      expect(platform.valueOf('2601/Quiz 101')).toBe('4');
    });

    test('the latest of the others counts, and nothing is sent if it is on the platform', async () => {
      const { platform, put } = stage();
      await put('export.zip', await exported('18', at(0)));
      await put('a.csv', scores(`BIO Quiz ada 3 ${at(1)}`));
      await put('b.csv', scores(`BIO Quiz ada 4 ${at(2)}`));
      await put('b.csv', scores(`BIO Quiz ben 4 ${at(2)}`));
      expect(platform.valueOf('2601/Quiz 101')).toBe('3');
      await put('c.csv', scores(`BIO Quiz ada 3 ${at(4)}`));
      const gone = await put('c.csv', scores(`BIO Quiz ben 4 ${at(2)}`));
      expect(gone.bodies.filter(({ data }) => data.userId === 101)).toEqual([]);
      expect(gone.report).toEqual([]);
    });
  });
});

test('a row that does not end an enrollment, and the row that keeps it, are both named', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601, LAB: 2601 });
  crosswalk.fill('userName', people);
  bucket.write('snapshot-mappings/students.json', mapping(enrolling({ time: 'AT' })));
  bucket.write('snapshot-mappings/drops.json', mapping(removing({ time: 'AT' })));
  const rows = (...all: string[]): string => table(['COURSE', 'LOGIN', 'ROLE', 'AT'], ...all);
  await put(
    'students.csv',
    rows('BIO ada S', `BIO ben S ${at(1)}`, `BIO cleo S ${at(4)}`, `LAB dan S ${at(1)}`),
  );
  const drops = rows('BIO ada S', `BIO ben S ${at(2)}`, `BIO cleo S ${at(2)}`, `BIO dan S ${at(2)}`);
  const ending = await put('drops.csv', drops);
  expect(ending.report.map((line) => line.replace(/ of 2026.*/, ''))).toEqual(
    [2, 4, 5].map(
      (line) => `"drops.csv","${line}","COURSE, LOGIN","does not end the enrollment: students.csv`,
    ),
  );
  expect(platform.keys()).toEqual(['2601 101', '2601 103', '2601 104']);
  const keeping = await put(
    'students.csv',
    rows('BIO ada S', `BIO ben S ${at(1)}`, `BIO cleo S ${at(4)}`, `LAB dan S ${at(1)}`, 'BIO tess T'),
  );
  // Of Cleo, her row is known to be the later one. Dan's is of another section. Ben's row is the older one, which the drop ends.
  expect(keeping.report).toEqual([
    expect.stringMatching(
      /^"students.csv","2","COURSE, LOGIN","keeps the enrollment, which a row of drops.csv of /,
    ),
  ]);
  expect(platform.keys()).toEqual(['2601 101', '2601 103', '2601 104', '2601 109']);
});

test('a result whose line item was refused is told of its line item, not of spaces or cases', async () => {
  const { crosswalk, put } = newStage();
  crosswalk.fill('orgUnitCode', {});
  crosswalk.fill('userName', people);
  const sis = {
    users: users('ada'),
    classes: classes('LEC', 'LAB'),
    lineItems: lineItems('LEC Quiz', 'LAB Quiz'),
  };
  await put('export.zip', await zip({ ...sis, results: results('LEC Quiz ada 18') }));
  crosswalk.fill('orgUnitCode', { LEC: 2601, LAB: 2601 });
  const both = results('LEC Quiz ada 18', 'LAB Quiz ada 1');
  const { report } = await put('export.zip', await zip({ ...sis, results: both }));
  const told = report.join('\n');
  expect(told).toContain('two line items of one org unit have this title');
  expect(told).toContain('"results.csv","2","lineItemSourcedId","names no line item that can be used"');
  expect(told).not.toContain('upper and lower case');
});

describe('the reason about names that moved counts', () => {
  const sis = { classes: classes('BIO', 'ART'), users: users('ada', 'ada.b', 'ben') };

  test('org units and people by what they stand for', async () => {
    const { crosswalk, put } = newStage();
    crosswalk.fill('orgUnitCode', { BIO: 2601, ART: 2602 });
    crosswalk.fill('userName', people);
    const rows = {
      ...{ lineItems: lineItems('BIO Quiz'), enrollments: enrollments('BIO ada', 'ART ben') },
      results: results('BIO Quiz ada 18'),
    };
    await put('export.zip', await zip({ ...sis, ...rows }));
    crosswalk.fill('orgUnitCode', { BIO: 2602, ART: 2601 });
    for (const code of ['BIO', 'ART']) crosswalk.accept(code);
    crosswalk.fill('orgUnitCode', { BIO: 2602, ART: 2601 });
    const { reasons } = await put(
      'export.zip',
      await zip({ ...sis, ...rows, classes: classes('BIO', 'ART', 'X') }),
    );
    expect(reasons.join()).toContain(
      '2 names stand for another org unit or user than when they were accepted: 3 enrollments and grades of 2 users in 2 org units move',
    );
  });

  test.each([
    ['which shares its account with another', ['BIO ada', 'ART ada.b'], ['BIO ada', 'ART ada.b']],
    ['of which one is deleted', ['BIO ada', 'BIO ada.b', 'ART ada.b'], ['BIO ada', 'ART ada.b']],
    ['of which one has the same enrollment as another', ['BIO ada', 'BIO ada.b'], ['BIO ada', 'BIO ada.b']],
  ])('only rows by a name that moved, %s', async (_, first, second) => {
    const { crosswalk, put } = newStage();
    crosswalk.fill('orgUnitCode', { BIO: 2601, ART: 2602 });
    crosswalk.fill('userName', { ...people, 'ada.b': 101 });
    await put('export.zip', await zip({ ...sis, enrollments: enrollments(...first) }));
    await put('export.zip', await zip({ ...sis, enrollments: enrollments(...second) }));
    crosswalk.fill('userName', { ...people, 'ada.b': 105 });
    const { reasons } = await put(
      'export.zip',
      await zip({ ...sis, enrollments: enrollments(...second, 'BIO ben') }),
    );
    expect(reasons.join()).toContain(
      '1 name stands for another org unit or user than when it was accepted: 1 enrollment or grade of 1 user in 1 org unit moves',
    );
  });

  test('of a table', async () => {
    const { bucket, crosswalk, put } = newStage();
    crosswalk.fill('orgUnitCode', { BIO: 2601 });
    crosswalk.fill('userName', people);
    bucket.write('snapshot-mapping.json', mapping(enrolling()));
    await put('a.csv', roster('BIO ada S', 'BIO ben S'));
    crosswalk.fill('userName', { ...people, ada: 105 });
    const { reasons } = await put('a.csv', roster('BIO ada S', 'BIO ben S', 'BIO cleo S'));
    expect(reasons.join()).toContain(': 1 enrollment or grade of 1 user in 1 org unit moves');
  });
});
