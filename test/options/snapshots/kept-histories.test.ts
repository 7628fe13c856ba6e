import { afterAll, describe, expect, test } from 'vitest';
import { usesOfCodeIn } from '../../../lib/options/snapshots/desk/code-uses.ts';
import { acceptedNamesPrefix, reassignedKey } from '../../../lib/options/snapshots/state/reassigned-names.ts';
import { firstIsQuick } from '../../first-is-quick.ts';
import { removeTemporaryFolders } from '../../temporary-folder.ts';
import {
  at,
  classes,
  deltaOf,
  enrolling,
  enrollments,
  lineItems,
  many,
  manyIds,
  mapping,
  people,
  removing,
  results,
  roster,
  table,
  users,
  zip,
} from './history-rows.ts';
import { dropMs } from './imports.ts';
import { newStage } from './oracle/stage.ts';
import type { Rows, Sis } from './sis.ts';

// What universities did, in which names and things are not the same, and several files speak of one thing. `npm test` lives through one of each kind. The platform holds
// enrollments as `2601 101 110`: org unit, user, role; and grades as `2601/Quiz 101 18`.

afterAll(removeTemporaryFolders);

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

  test('a line item whose title another one has already leaves the grades of that one alone', {
    tags: ['long'],
  }, async () => {
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

test('who has two user names for a night stays enrolled', { tags: ['long'] }, async () => {
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
  const stage = () => {
    const { crosswalk, ...others } = newStage();
    crosswalk.fill('orgUnitCode', { BIO: 2601 });
    crosswalk.fill('userName', people);
    others.bucket.write('snapshot-mapping.json', mapping(enrolling()));
    return { crosswalk, ...others };
  };
  const before = ['2601 101 110', '2601 102 110', '2601 109 109'];
  const after = ['2601 101 110', '2601 102 109', '2601 109 109'];

  describe('to the role that the settings name first, and to the one that they name last', {
    tags: ['long'],
  }, () => {
    const files = {
      'students.csv': [roster('BIO ada S', 'BIO ben S'), roster('BIO ada S', 'BIO cleo S')],
      'instructors.csv': [roster('BIO tess T', 'BIO cleo T'), roster('BIO tess T', 'BIO ben T')],
    };
    test.each([[['students.csv', 'instructors.csv']], [['instructors.csv', 'students.csv']]] as const)(
      'in the order %s',
      async (order) => {
        const { platform, put } = stage();
        for (const name of order) await put(name, files[name][0] ?? '');
        expect(platform.all()).toEqual(['2601 101 110', '2601 102 110', '2601 103 109', '2601 109 109']);
        for (const name of order) await put(name, files[name][1] ?? '');
        expect(platform.all()).toEqual(['2601 101 110', '2601 102 109', '2601 103 110', '2601 109 109']);
      },
    );
  });

  firstIsQuick<[('export.zip' | 'staff.csv')[]]>([
    [['export.zip', 'staff.csv']],
    [['staff.csv', 'export.zip']],
  ])('from a zip to a table, in the order %s', async (order) => {
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
  });

  test.each([[['a.csv', 'A.csv']], [['A.csv', 'a.csv']]] as const)(
    'from a.csv to A.csv, in the order %s',
    { tags: ['long'] },
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

  firstIsQuick([
    ['an export, by a table', 'export.zip', 'copy.csv'],
    ['an export, by an export under a new name', 'export.zip', 'export-2.zip'],
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
    const reportText = report.join('\n');
    expect(reportText).toMatch(/^"users.csv","3"|^"enrollments.csv","3"/m);
    crosswalk.fill('userName', { smith: 102, 'ada.smith': 101 });
    await put('export.zip', await zip(sis(later)));
    platform.replay();
    expect(platform.all()).toEqual(['2601 101 110', '2602 102 110', '2602/Essay 102 7']);
  });

  test('who was known by another name: both keep what they have until the crosswalk knows', {
    tags: ['long'],
  }, async () => {
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
    const reportText = report.join('\n');
    // What bea has newly may go to her account, as her record is known, or wait.
    expect(platform.keys()).toEqual(expect.arrayContaining(['2601 101', '2601 102']));
    expect(platform.keys().filter((key) => key.endsWith(' 101'))).toEqual(['2601 101']);
    if (platform.valueOf('2602 102') === undefined)
      expect(reportText).toMatch(/^"users.csv","3"|^"enrollments.csv","4"/m);
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
    ...names[0],
    former: 'u-ada',
    sinceMs: dropMs(2),
    enrollments: 2,
    results: 1,
    courses: ['ART', 'BIO'],
  };
  const newUniversity = async () => {
    const stage = newStage();
    stage.crosswalk.fill('orgUnitCode', { BIO: 2601, ART: 2602 });
    stage.crosswalk.fill('userName', { smith: 101 });
    await stage.put('export.zip', await zip(before));
    await stage.put('export.zip', await zip(after));
    let acceptances = 0;
    const accept = (accepted: object[], field = 'userName'): void => {
      acceptances += 1;
      stage.bucket.write(
        `${acceptedNamesPrefix}${acceptances}.json`,
        JSON.stringify({ field, names: accepted, by: 'lee', at: 'now' }),
      );
    };
    const open = (): unknown => (stage.bucket.json(reassignedKey) as { names: unknown }).names;
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

  test('and an acceptance for another account, name, record or field of users changes nothing', {
    tags: ['long'],
  }, async () => {
    const { platform, put, accept, open } = await newUniversity();
    for (const other of [{ userId: 102 }, { name: 'smit' }, { record: 'u-ada3' }])
      accept([{ ...names[0], ...other }]);
    accept(names, 'orgDefinedId');
    await put('export.zip', await zip(after));
    expect(open()).toEqual([ofAda]);
    expect(platform.all()).toEqual(['2601 101 110']);
  });

  test('and a delta leaves what it does not name in the list', { tags: ['long'] }, async () => {
    const { put, open } = await newUniversity();
    await put('export.zip', await deltaOf({ enrollments: enrollments('BIO ada2') }));
    expect(open()).toEqual([ofAda]);
  });

  test('and nothing is open once the crosswalk gives another account', { tags: ['long'] }, async () => {
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
    users: users(...names, 'newcomer'),
    results: rows.results,
    enrollments: [...rows.enrollments, ...enrollments('MATH-101 newcomer')],
  };
  const open = await put('export.zip', await zip({ ...sis, ...joined }), { isApproved: true });
  expect(platform.all()).toEqual(before);
  expect(platform.letters().length + open.report.length).toBeGreaterThan(0);
  expect(await usesOfCodeIn(bucket.store, 'MATH-101')).toEqual([
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

test('who registers while the move of a code is open, and leaves before or after it is accepted, is in neither org unit', {
  tags: ['long'],
}, async () => {
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

  test('a few are removed without a person', { tags: ['long'] }, async () => {
    const { platform, put } = stage();
    await put('registrations.csv', registrations(0));
    const { reasons } = await put('registrations.csv', registrations(3));
    expect([reasons, platform.all().length]).toEqual([[], 297]);
  });

  test('drops.csv lists everybody in the first night that it comes: nobody is removed unasked', {
    tags: ['long'],
  }, async () => {
    const { platform, put } = stage();
    const all = roster(...names.map((name) => `BIO ${name} S`));
    await put('students.csv', all);
    const { reasons, report } = await put('drops.csv', all);
    expect(platform.all().length).toBe(300);
    expect(reasons.length + report.length).toBeGreaterThan(0);
  });

  test('drops.csv lists everybody in a later night: nobody is removed unasked', {
    tags: ['long'],
  }, async () => {
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

  firstIsQuick<[string, (night: number) => string]>([
    ['whose rows do not say when they were changed', () => ''],
    ['whose rows say when they were changed', at],
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

  test("Monday's table on Friday: a person is asked", { tags: ['long'] }, async () => {
    const { bucket, platform, put } = stage();
    bucket.write('snapshot-mapping.json', mapping(enrolling()));
    const monday = roster('BIO ada S', 'BIO ben S');
    await put('students.csv', monday);
    await put('students.csv', roster('BIO ada S', 'BIO cleo S'));
    const again = await put('students.csv', monday);
    expect([again.isSent, platform.all()]).toEqual([false, ['2601 101 110', '2601 103 110']]);
    expect(again.reasons.length).toBeGreaterThan(0);
  });

  test('a delta that failed, after a later one: what the later one said stays', {
    tags: ['long'],
  }, async () => {
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

  test('after the export, before the message is handled', { tags: ['long'] }, async () => {
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

  test('in a table', { tags: ['long'] }, async () => {
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
