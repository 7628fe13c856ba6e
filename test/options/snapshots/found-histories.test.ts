// @module-tag long
import { afterAll, describe, expect, test } from 'vitest';
import { acceptedNamesPrefix, reassignedKey } from '../../../lib/options/snapshots/state/reassigned-names.ts';
import { removeTemporaryFolders } from '../../temporary-folder.ts';
import {
  at,
  classes,
  deltaOf,
  enrolling,
  enrollments,
  lineItems,
  mapping,
  people,
  removing,
  results,
  roster,
  table,
  users,
  who,
  zip,
} from './history-rows.ts';
import { newStage } from './oracle/stage.ts';
import type { Rows } from './sis.ts';

// What the judge and strangers found, beside the kept histories.

afterAll(removeTemporaryFolders);

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
    expect(report.join()).toContain('enrollments in LAB that are no longer in this file, but stay: 2');
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
  expect(report.join('\n')).toContain('was refused and may be about the same enrollment');
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
    const text = 'was refused and may be about the same enrollment, so the platform keeps what it has';
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
      users: users('ada').map((user) => ({ ...user, username: name })),
      classes: classes('BIO'),
      enrollments: enrollments(`BIO ada ${role}`),
    });
  await put('export.zip', await exported('ada', 'teacher'));
  await put('export.zip', await exported('ada2', 'dean'));
  await put('a.csv', roster('BIO ada2 S'));
  crosswalk.fill('userName', { ...people, ada2: 101 });
  platform.replay();
  expect(platform.valueOf('2601 101')).toBe('110');
  const { report } = await put('a.csv', roster('BIO ada2 S'));
  expect(report.join('\n')).toContain('was refused and may be about the same enrollment');
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
      classes: classes('BIO'),
      enrollments: enrollments(...rows),
    });
  const passed = () => exported(['ada2', 'ada'], 'BIO ada teacher', 'BIO ben student');
  await put('export.zip', await exported(['ada'], 'BIO ada teacher'));
  await put('export.zip', await passed());
  await put('export.zip', await passed());
  crosswalk.fill('userName', { ada: 102, ada2: 101 });
  const back = await exported(['ada', 'ben2'], 'BIO ada teacher', 'BIO ben student');
  const { report } = await put('export.zip', back, { isApproved: true });
  expect(report.join('\n')).toContain('the crosswalk gives for its user name the account of another record');
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
      classes: classes('BIO'),
      enrollments: enrollments(...all.map((name) => `BIO ${name} student`)),
    });
  };
  await put('export.zip', await exported('ada', 'ben'));
  await put('export.zip', await exported('ada2', 'ada'));
  crosswalk.fill('userName', { ada: 102 });
  const twice = await exported('ada2', 'ben2', 'ada');
  const { report } = await put('export.zip', twice, { isApproved: true });
  expect(report.join('\n')).toContain('the crosswalk gives for its user name the account of another record');
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
      classes: classes('BIO'),
      enrollments: enrollments('BIO ada teacher'),
    });
  const drops = (...rows: string[]) => table(['COURSE', 'LOGIN'], ...rows);
  await put('export.zip', await exported('ada'));
  await put('export.zip', await exported('ada2'));
  await put('drops.csv', drops('BIO cleo', 'BIO ada2'), { isApproved: true });
  const { report } = await put('drops.csv', drops('BIO cleo'), { isApproved: true });
  expect(report.join('\n')).toContain('that are no longer in this file, but may still take effect');
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
      classes: classes('BIO'),
      enrollments: [],
    });
  await put('export.zip', await exported('ada', 'ben'));
  await put('instructors.csv', roster('BIO ada T'));
  await put('export.zip', await exported('ben', 'ben2'));
  const { report } = await put('instructors.csv', roster('BIO ben T'), { isApproved: true });
  expect(report.join('\n')).toContain('the crosswalk gives for its user name the account of another record');
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
      classes: classes('BIO'),
      enrollments: enrollments('BIO ada student', ...more),
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

describe('two files give one grade', () => {
  const data = {
    orgUnitCode: 'COURSE',
    gradeObjectName: 'ITEM',
    userName: 'LOGIN',
    'grade.type': { value: 'numeric' },
    'grade.points': 'SCORE',
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
            '1 grade stays, because grades cannot be removed from the platform',
          );
          expect(gone.reasons.join()).toContain('1 grade is set as another file says');
        } else expect(gone.reasons).toEqual([]);
        expect(gone.bodies.map(({ data }) => data)).toEqual([
          {
            orgUnitId: 2601,
            gradeObjectName: 'Quiz',
            userId: 101,
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
            orgUnitId: 2601,
            gradeObjectName: 'Quiz',
            userId: 101,
            privateComments: 'kept by the lab',
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
    rows('BIO ada S', `BIO ben S ${at(-3)}`, `BIO cleo S ${at(-1)}`, `LAB dan S ${at(-3)}`),
  );
  const drops = rows('BIO ada S', `BIO ben S ${at(-2)}`, `BIO cleo S ${at(-2)}`, `BIO dan S ${at(-2)}`);
  const ending = await put('drops.csv', drops);
  expect(ending.report.map((line) => line.replace(/ of 2026.*/, ''))).toEqual(
    [2, 4, 5].map(
      (line) => `"drops.csv","${line}","COURSE, LOGIN","does not end the enrollment: students.csv`,
    ),
  );
  expect(platform.keys()).toEqual(['2601 101', '2601 103', '2601 104']);
  const keeping = await put(
    'students.csv',
    rows('BIO ada S', `BIO ben S ${at(-3)}`, `BIO cleo S ${at(-1)}`, `LAB dan S ${at(-3)}`, 'BIO tess T'),
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
  const reportText = report.join('\n');
  expect(reportText).toContain('two line items of one org unit have this title');
  expect(reportText).toContain(
    '"results.csv","2","lineItemSourcedId","its row in lineItems.csv was refused"',
  );
  expect(reportText).not.toContain('upper and lower case');
});

test('a code with a slash, which the crosswalk does not know, is named whole in what another file still wants', async () => {
  const { bucket, crosswalk, platform, put } = newStage({
    roles: { teacher: 109, student: 110, aide: 111 },
    roleOrder: ['teacher', 'student', 'aide'],
  });
  crosswalk.fill('orgUnitCode', {});
  crosswalk.fill('userName', people);
  const roleId = { from: 'ROLE', values: { S: 110, T: 109, A: 111 } };
  bucket.write('snapshot-mapping.json', mapping(enrolling({ data: { ...who, roleId } })));
  await put('a.csv', roster('BIO/101 ada S'));
  await put('b.csv', roster('BIO/101 ada T'));
  const { bodies } = await put('b.csv', roster('BIO/101 ada A'));
  expect(bodies.map(({ data }) => data)).toEqual([{ orgUnitCode: 'BIO/101', userId: 101, roleId: 110 }]);
  crosswalk.fill('orgUnitCode', { 'BIO/101': 2601 });
  platform.replay();
  expect(platform.all()).toEqual(['2601 101 110']);
});

describe('of what a delta does not have', () => {
  const sis = { users: users('ada', 'ben'), classes: classes('LEC', 'LAB') };

  test('a line item that shares its title, as its course has moved, is named by its record', async () => {
    const { crosswalk, put } = newStage();
    crosswalk.fill('orgUnitCode', { LEC: 2601, LAB: 2602 });
    crosswalk.fill('userName', people);
    await put('export.zip', await zip({ ...sis, lineItems: lineItems('LEC Quiz', 'LAB Quiz') }));
    crosswalk.fill('orgUnitCode', { LEC: 2601, LAB: 2601 });
    crosswalk.accept('LAB');
    crosswalk.fill('orgUnitCode', { LEC: 2601, LAB: 2601 });
    const { report } = await put('export.zip', await deltaOf({ classes: classes('ART') }));
    expect(report).toContain(
      '"lineItems.csv","","title","two line items of one org unit have this title. It is the record l-LAB-Quiz of an earlier file"',
    );
  });

  test('a row whose course moves into another is not older than the row there', async () => {
    const { crosswalk, platform, put } = newStage();
    crosswalk.fill('orgUnitCode', { LAB: 2601, LEC: 2602 });
    crosswalk.fill('userName', people);
    const rows = enrollments(`LAB ada student ${at(1)}`, `LEC ada teacher ${at(0)}`);
    await put('export.zip', await zip({ ...sis, enrollments: rows }));
    crosswalk.fill('orgUnitCode', { LEC: 2601, LAB: 2601 });
    crosswalk.accept('LEC');
    crosswalk.fill('orgUnitCode', { LEC: 2601, LAB: 2601 });
    await put('export.zip', await deltaOf({ classes: classes('ART') }), { isApproved: true });
    expect(platform.all()).toEqual(['2601 101 109']);
  });

  test('rows that another file contradicts, or is to end, are counted', async () => {
    const { bucket, crosswalk, put } = newStage({ roleOrder: [] });
    crosswalk.fill('orgUnitCode', { LEC: 2601, LAB: 2602 });
    crosswalk.fill('userName', people);
    bucket.write('snapshot-mappings/a.json', mapping(enrolling()));
    bucket.write('snapshot-mappings/drops.json', mapping(removing()));
    await put('a.csv', roster('LEC ada T'));
    await put('drops.csv', roster('LAB ben S'));
    const [ada, ben] = [enrollments('LEC ada student'), enrollments('LAB ben student')];
    await put('export.zip', await zip({ ...sis, enrollments: [...ada, ...ben] }));
    const { report } = await put('export.zip', await deltaOf({ classes: classes('ART') }));
    expect(report.map((line) => line.replace(/ of 2026.*/, ''))).toEqual([
      '"enrollments.csv","","role","a row of LAB that was accepted before, and is not in this delta (rows: 1), keeps the enrollment, which a row of drops.csv',
      '"enrollments.csv","","role","a row of LEC that was accepted before, and is not in this delta (rows: 1), gives another role than a.csv',
    ]);
  });
});

describe('the reason about names that moved counts', () => {
  const sis = { classes: classes('BIO', 'ART'), users: users('ada', 'ada.b', 'ben') };

  test('org units and people by what they stand for', async () => {
    const { crosswalk, put } = newStage();
    crosswalk.fill('orgUnitCode', { BIO: 2601, ART: 2602 });
    crosswalk.fill('userName', people);
    const rows = {
      lineItems: lineItems('BIO Quiz'),
      enrollments: enrollments('BIO ada', 'ART ben'),
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

test('a delta names by its course what it does not have, and what stays as the name of its user passed', async () => {
  const { crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', people);
  const [ada, ben] = users('ada', 'ben');
  const enrolled = { classes: classes('BIO'), enrollments: enrollments('BIO ben') };
  await put('export.zip', await zip({ users: [ada ?? {}, ben ?? {}], ...enrolled }));
  crosswalk.fill('orgUnitCode', { BIO: 2602 });
  crosswalk.accept('BIO');
  crosswalk.fill('orgUnitCode', { BIO: 2602 });
  const renamed = [
    { ...ada, username: 'ada.b' },
    { ...ben, username: 'ada' },
  ];
  const { report } = await put('export.zip', await deltaOf({ users: renamed }), { isApproved: true });
  expect(report.join('\n')).toContain(
    'rows of BIO that this delta does not have, and that cannot be used now: 1. What was accepted of them stays. The reason: the crosswalk gives for its user name the account of another record',
  );
  expect(platform.all()).toEqual(['2601 102 110']);
});

test('a row of a table is older than what was accepted of itself, and not of another row', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { LECTURE: 2601, LAB: 2601 });
  crosswalk.fill('userName', people);
  const byKey = { key: ['KEY'], time: 'AT' };
  const roleId = { from: 'ROLE', values: { S: 110, AIDE: 111 } };
  bucket.write(
    'snapshot-mapping.json',
    mapping(
      enrolling({ ...byKey, data: { ...who, roleId }, when: { STATUS: ['active'] } }),
      removing({ ...byKey, when: { STATUS: ['withdrawn'] } }),
    ),
  );
  const students = (...rows: string[]) =>
    put('students.csv', table(['KEY', 'COURSE', 'LOGIN', 'ROLE', 'STATUS', 'AT'], ...rows), {
      isApproved: true,
    });
  const taught = enrollments(`LECTURE tess teacher ${at(-2)}`, `LAB tess teacher ${at(-5)}`);
  const named = { users: users('tess'), classes: classes('LECTURE', 'LAB') };
  await put('export.zip', await zip({ ...named, enrollments: taught }));
  const aide = `2 LAB tess AIDE active ${at(-4)}`;
  await students(`1 LECTURE tess S active ${at(-3)}`, aide);
  expect(platform.all()).toEqual(['2601 109 109']);
  // What is left of the teacher was said before the aide.
  await students(`1 LECTURE tess S withdrawn ${at(-1)}`, aide);
  expect(platform.all()).toEqual(['2601 109 111']);
});

test('what stays for a row that cannot be used brings back no enrollment that was ended before', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { LECTURE: 2601, LAB: 2601 });
  crosswalk.fill('userName', people);
  const set = (message: object) => bucket.write('snapshot-mapping.json', mapping(message));
  const roster = (...rows: string[]) => table(['COURSE', 'LOGIN', 'ROLE', 'AT'], ...rows);
  const exported = async (...rows: string[]) => {
    const sis = { users: users('ada', 'ben'), classes: classes('LECTURE', 'LAB') };
    await put('export.zip', await zip({ ...sis, enrollments: enrollments(...rows) }), { isApproved: true });
  };
  await exported(`LECTURE ada teacher ${at(-5)}`, 'LECTURE ben');
  set(enrolling({ time: 'AT' }));
  await put('students.csv', roster(`LECTURE ada S ${at(-4)}`));
  set(removing({ time: 'AT' }));
  await put('drops.csv', roster(`LECTURE ada S ${at(-1)}`), { isApproved: true });
  expect(platform.all()).toEqual(['2601 102 110']);
  set(enrolling({ time: 'AT' }));
  // Of which nobody knows the role.
  await put('students.csv', roster(`LECTURE ada S ${at(-3)}`, `LAB ada ? ${at(-2)}`), { isApproved: true });
  await exported('LECTURE ben');
  expect(platform.all()).toEqual(['2601 102 110']);
});

test('a row that cannot be used keeps an enrollment by the new name of its user, whose former one is somebody else’s', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  const roleId = { from: 'ROLE', values: { S: 110 } };
  bucket.write('snapshot-mapping.json', mapping(enrolling({ data: { ...who, roleId } })));
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', { ada: 101 });
  await put('a.csv', roster('BIO ada S'));
  crosswalk.fill('userName', { lee: 101, ada: 102 });
  await put('a.csv', roster('BIO lee guest'), { isApproved: true });
  expect(platform.all()).toEqual(['2601 101 110']);
});

test('a row by a name that nobody knew is not sent to who has that name now, if the row cannot be used', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', { ada: 101, ben: 102 });
  bucket.write(
    'snapshot-mapping.json',
    mapping(
      enrolling({ key: ['KEY'], data: { ...who, roleId: { from: 'ROLE', values: { S: 110, T: 109 } } } }),
    ),
  );
  const [ada, ben, dan] = users('ada', 'ben', 'dan');
  const exported = async (...all: Rows) =>
    put('export.zip', await zip({ users: all, classes: classes('BIO') }), { isApproved: true });
  const taught = (login: string) =>
    put('instructors.csv', table(['KEY', 'COURSE', 'LOGIN', 'ROLE'], `1 BIO ${login} T`), {
      isApproved: true,
    });
  await exported(ada ?? {}, ben ?? {}, dan ?? {});
  await taught('dan');
  // Then ben is dan, and who was dan is ada, whose account the crosswalk still gives.
  await exported({ ...ada, username: 'ada.b' }, { ...ben, username: 'dan' }, { ...dan, username: 'ada' });
  crosswalk.fill('userName', { ada: 101, dan: 102 });
  const { report, bodies } = await taught('ada');
  expect(report.join('\n')).toContain('the crosswalk gives for its user name the account of another record');
  expect(bodies).toEqual([]);
  expect(platform.all()).toEqual([]);
});

test('rows of one file that contradicted each other are sent once they do not, if another file has lost its row', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { LECTURE: 2601, LAB: 2601 });
  crosswalk.fill('userName', people);
  const roleId = { from: 'ROLE', values: { S: 110, AIDE: 111 } };
  bucket.write('snapshot-mapping.json', mapping(enrolling({ data: { ...who, roleId } })));
  const exported = async (...rows: string[]) => {
    const named = { users: users('tess', 'ben'), classes: classes('LECTURE', 'LAB') };
    await put('export.zip', await zip({ ...named, enrollments: enrollments(...rows) }));
  };
  await exported('LECTURE tess teacher', 'LECTURE ben');
  await put('students.csv', roster('LECTURE tess S'));
  await put('students.csv', roster('LECTURE tess S', 'LAB tess AIDE'));
  expect(platform.valueOf('2601 109')).toBe('109');
  // Nobody can tell which of the two she is now.
  await exported('LECTURE ben');
  expect(platform.valueOf('2601 109')).toBe('109');
  // Its content was put before.
  await put('students.csv', roster('LECTURE tess S'), { isApproved: true });
  expect(platform.valueOf('2601 109')).toBe('110');
  const { bodies } = await put('students.csv', roster('LECTURE tess S', 'LECTURE ben S'));
  expect(bodies).toEqual([]);
});

test('a user name that somebody else gets a night after it was given up waits as one that passes in one night', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601, ART: 2602 });
  crosswalk.fill('userName', people);
  const exported = (all: Rows, ...rows: string[]) => {
    const sis = { users: all, classes: classes('BIO', 'ART'), enrollments: enrollments(...rows) };
    return zip(sis).then((content) => put('export.zip', content, { isApproved: true }));
  };
  const [ada = {}] = users('ada');
  const renamed = { ...ada, username: 'ada.b' };
  await exported([ada], 'BIO ada');
  await exported([renamed], 'BIO ada');
  const another = { sourcedId: 'u-new', username: 'ada' };
  const { report } = await exported([renamed, another], 'BIO ada', 'ART new');
  expect(report.join('\n')).toContain('the crosswalk gives for its user name the account of another record');
  const reportText = { name: 'ada', userId: 101, record: 'u-new', former: 'u-ada', enrollments: 1 };
  expect(bucket.json(reassignedKey)).toMatchObject({ names: [reportText] });
  expect(platform.all()).toEqual(['2601 101 110']);
  crosswalk.fill('userName', { ...people, ada: 105, 'ada.b': 101 });
  await exported([renamed, another], 'BIO ada', 'ART new');
  expect(platform.all()).toEqual(['2601 101 110', '2602 105 110']);
});

describe('a row that ends an enrollment', () => {
  const withdrawn = async (
    { said, drops }: { said: string; drops: [file: string, content: string][] },
    message = removing({ time: 'AT' }),
  ) => {
    const { bucket, crosswalk, platform, put } = newStage();
    crosswalk.fill('orgUnitCode', { BIO: 2601 });
    crosswalk.fill('userName', people);
    const named = { users: users('ada', 'ben'), classes: classes('BIO') };
    const rows = enrollments(`BIO ada student ${said}`, 'BIO ben');
    await put('export.zip', await zip({ ...named, enrollments: rows }));
    bucket.write('snapshot-mapping.json', mapping(message));
    let report: string[] = [];
    for (const [file, content] of drops) ({ report } = await put(file, content, { isApproved: true }));
    return { all: platform.all(), report };
  };
  const drop = (...rows: string[]) => table(['COURSE', 'LOGIN', 'AT'], ...rows);

  test('ends it though another file ends it without a time', async () => {
    const drops: [string, string][] = [
      ['a.csv', drop(`BIO ada ${at(-1)}`)],
      ['b.csv', drop('BIO ada ')],
    ];
    expect((await withdrawn({ said: at(-2), drops })).all).toEqual(['2601 102 110']);
  });

  test('and has a time does not end what was said on the same day, at a time that is not known', async () => {
    const day = at(-2).slice(0, 10);
    const { all, report } = await withdrawn({ said: day, drops: [['a.csv', drop(`BIO ada ${at(-2)}`)]] });
    expect(all).toEqual(['2601 101 110', '2601 102 110']);
    expect(report.join('\n')).toContain('does not end the enrollment');
  });

  test('by the id of an org unit ends it in all of its sections', async () => {
    const message = removing({
      key: ['OU', 'LOGIN'],
      time: 'AT',
      data: { orgUnitId: 'OU', userName: 'LOGIN' },
    });
    const content = table(['OU', 'LOGIN', 'AT'], `2601 ada ${at(-1)}`);
    expect((await withdrawn({ said: at(-2), drops: [['a.csv', content]] }, message)).all).toEqual([
      '2601 102 110',
    ]);
  });
});

test('a time in the future counts as that of the drop, so that the row can be corrected', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', people);
  bucket.write('snapshot-mapping.json', mapping(enrolling({ time: 'AT' })));
  const lab = (role: string, said: string) =>
    put('lab.csv', table(['COURSE', 'LOGIN', 'ROLE', 'AT'], `BIO ada ${role} ${said}`));
  await lab('S', '2099-01-01T00:00:00Z');
  const { reasons, report } = await lab('T', at(2));
  expect([reasons, report]).toEqual([[], []]);
  expect(platform.all()).toEqual(['2601 101 109']);
});

test('what an operator has accepted of a name holds for tables, too', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', people);
  bucket.write('snapshot-mapping.json', mapping(enrolling()));
  const exported = async (...all: Rows) =>
    put('export.zip', await zip({ users: all, classes: classes('BIO') }), { isApproved: true });
  const [ada = {}, ben = {}] = users('ada', 'ben');
  await exported(ada, ben);
  await exported({ ...ada, username: 'ada.b' }, ben, { sourcedId: 'u-2', username: 'ada' });
  const { report } = await put('lab.csv', roster('BIO ada S'));
  expect(report.join('\n')).toContain('accept the name: sis-relay crosswalk accept');
  expect(platform.all()).toEqual([]);
  const names = [{ name: 'ada', userId: 101, record: 'u-2' }];
  const accepted = { field: 'userName', names, by: 'lee', at: 'now' };
  bucket.write(`${acceptedNamesPrefix}1.json`, JSON.stringify(accepted));
  await put('lab.csv', roster('BIO ada S', 'BIO ben S'));
  expect(platform.all()).toEqual(['2601 101 110', '2601 102 110']);
});

test('a file that has an enrollment no more names its course where others give it different roles', async () => {
  const { bucket, crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', people);
  const roleId = { from: 'ROLE', values: { T: 109, AIDE: 111 } };
  bucket.write('snapshot-mapping.json', mapping(enrolling({ time: 'AT', data: { ...who, roleId } })));
  const rows = (...all: string[]) => table(['COURSE', 'LOGIN', 'ROLE', 'AT'], ...all);
  const named = { users: users('tess', 'ben'), classes: classes('BIO') };
  await put(
    'export.zip',
    await zip({ ...named, enrollments: enrollments(`BIO tess teacher ${at(-3)}`, 'BIO ben') }),
  );
  await put('instructors.csv', rows(`BIO tess T ${at(-1)}`, 'BIO dan T'));
  await put('students.csv', rows(`BIO tess AIDE ${at(-3)}`));
  expect(platform.valueOf('2601 109')).toBe('109');
  const { report } = await put('instructors.csv', rows('BIO dan T'));
  expect(report.join('\n')).toContain(
    'enrollments in BIO that are no longer in this file, and for which other files give different roles, none of which has precedence: 1',
  );
  expect(platform.valueOf('2601 109')).toBe('109');
});

test('a comment that was cleared while its line item was in another course is cleared where it comes back to', async () => {
  const { crosswalk, platform, put } = newStage();
  crosswalk.fill('orgUnitCode', { BIO: 2601, ART: 2602 });
  crosswalk.fill('userName', people);
  const sis = { users: users('ada'), classes: classes('BIO', 'ART'), enrollments: enrollments('BIO ada') };
  const night = async (code: string, comment: string, score: string, time: string) =>
    put(
      'export.zip',
      await zip({
        ...sis,
        lineItems: lineItems('BIO Quiz').map((row) => ({ ...row, classSourcedId: `c-${code}` })),
        results: results(`BIO Quiz ada ${score} ${time}`).map((row) => ({ ...row, comment })),
      }),
      { isApproved: true },
    );
  await night('BIO', 'Well done', '18', at(0));
  expect(platform.all()).toContain('2601/Quiz 101 18 “Well done”');
  await night('ART', '', '18', at(1));
  await night('BIO', '', '17', at(2));
  expect(platform.all()).toContain('2601/Quiz 101 17');
});
