import { existsSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { feedOf } from '../../../lib/options/snapshots/feed.ts';
import { requestIn } from '../../../lib/options/snapshots/import-request.ts';
import { isOfPattern } from '../../../lib/options/snapshots/package/settings-file.ts';
import { acceptedKeyOf } from '../../../lib/options/snapshots/state/record.ts';
import { removeTemporaryFolders } from '../../temporary-folder.ts';
import { dropMs } from './imports.ts';
import { newStage } from './oracle/stage.ts';
import { csvOf, enrollment, entriesOfSis, type Sis, smallSis, zipOf } from './sis.ts';

afterAll(removeTemporaryFolders);

const who = { orgUnitCode: 'COURSE', userName: 'LOGIN' };
const enrolling = {
  function: 'enrollment-create',
  key: ['COURSE', 'LOGIN'],
  data: { ...who, roleId: { from: 'ROLE', values: { S: 110, T: 109 } } },
};
const removed = { function: 'enrollment-remove', data: who };
/** Rows such as `BIO-101 ada S`. */
const roster = (...rows: string[]): string => {
  const columns = ['COURSE', 'LOGIN', 'ROLE'];
  const cells = rows.map((row) => row.split(' ').map((cell, place) => [columns[place], cell] as const));
  return csvOf(
    columns,
    cells.map((each) => Object.fromEntries(each)),
  );
};
const zip = (sis: Sis): Promise<Buffer> => zipOf(entriesOfSis(sis));

const newUniversity = (messages: object[] = [{ ...enrolling, removed }]) => {
  const stage = newStage();
  stage.crosswalk.fill('orgUnitCode', { 'BIO-101': 2601, 'ART-1': 2602 });
  stage.crosswalk.fill('userName', { ada: 101, ben: 102, cleo: 103, tess: 109 });
  stage.bucket.write('snapshot-mapping.json', JSON.stringify({ messages }));
  return stage;
};

describe('the end of a feed', () => {
  test('removes what it alone wants, and leaves what another file wants', async () => {
    const { platform, put, end, bucket } = newUniversity();
    await put('backfill.csv', roster('BIO-101 ada S', 'BIO-101 ben S', 'ART-1 ben S'));
    const { report } = await put('students.csv', roster('BIO-101 ada S', 'ART-1 cleo S'));
    expect(report).toEqual([]);
    // Neither the mapping nor the settings of now are needed.
    bucket.write('snapshot-mapping.json', JSON.stringify({ messages: [] }));
    const { reasons, bodies } = await end('backfill.csv');
    expect(reasons).toEqual([
      'A person asked to end backfill.csv: 2 enrollments end, which no other file wants, of 1 person in 2 org units; 1 enrollment stays, because other files want it',
    ]);
    expect(bodies.map(({ type }) => type)).toEqual(['sis.enrollment-remove.v1', 'sis.enrollment-remove.v1']);
    expect(platform.all()).toEqual(['2601 101 110', '2602 103 110']);
    expect(existsSync(bucket.at(acceptedKeyOf('backfill.csv')))).toBe(false);
    expect(await end('backfill.csv')).toMatchObject({ bodies: [], message: 'No backfill.csv is accepted.' });
  });

  test('lets go what it held back; the report of the file that lacks it names the command', async () => {
    const { platform, put, end, bucket } = newUniversity();
    await put('last term.csv', roster('BIO-101 ada S', 'BIO-101 ben S'));
    await put('students.csv', roster('BIO-101 ada S', 'BIO-101 ben S'));
    const { report } = await put('students.csv', roster('BIO-101 ben S'), { isApproved: true });
    expect(report.join()).toContain(
      '1 enrollment is no longer in this file, but not removed: last term.csv of 2026-11-02 has it. If that file comes no more, end it by sis-relay snapshots end ""last term.csv""',
    );
    expect(platform.all()).toEqual(['2601 101 110', '2601 102 110']);
    const accepted = bucket.json(acceptedKeyOf('last term.csv')) as { id: string };
    const heldBack = () => (bucket.json(acceptedKeyOf('students.csv')) as { heldBack?: object }).heldBack;
    expect(heldBack()).toEqual({ [accepted.id]: 1 });
    await put('students.csv', roster('BIO-101 ben S', 'ART-1 cleo S'));
    expect(heldBack()).toEqual({ [accepted.id]: 1 });
    await end('last term.csv');
    expect(platform.all()).toEqual(['2601 102 110', '2602 103 110']);
    await put('students.csv', roster('BIO-101 ben S'), { isApproved: true });
    expect(heldBack()).toBeUndefined();
  });

  test('of the zips leaves grades, and says so', async () => {
    const { platform, put, end, set } = newUniversity();
    await put('export.zip', await zip(smallSis()));
    await put('students.csv', roster('BIO-101 ada S'));
    set({ orgUnitCode: '{course.courseCode}-{term.title}', user: { field: 'orgDefinedId', column: 'none' } });
    const { reasons } = await end('oneroster.zip');
    expect(reasons).toEqual([
      'A person asked to end oneroster: 4 enrollments end, which no other file wants, of 4 people in 2 org units; 1 enrollment stays, because other files want it; 2 grades stay, because grades cannot be removed from the platform',
    ]);
    expect(platform.all()).toEqual(['2601 101 110', '2601/Essay 101 17.5', '2601/Essay 102 0 “See me”']);
  });

  test('of a table whose mapping removes nothing removes nothing, and says so', async () => {
    const { platform, put, end } = newUniversity([enrolling]);
    await put('students.csv', roster('BIO-101 ada S', 'BIO-101 ben S'));
    const { reasons, bodies } = await end('students.csv');
    expect(reasons).toEqual([
      `A person asked to end students.csv: no enrollment ends; 2 things stay on the platform, because the mapping had no "removed" message for them`,
    ]);
    expect([bodies, platform.all().length]).toEqual([[], 2]);
  });

  test('gives the role that other files give, and what a file that ends enrollments had ended', async () => {
    const removing = { ...removed, key: ['COURSE', 'LOGIN'], when: { ROLE: ['X'] } };
    const {
      platform,
      put,
      end,
      crosswalk: _,
    } = newUniversity([{ ...enrolling, when: { ROLE: ['S', 'T'] }, removed }, removing]);
    await put('students.csv', roster('BIO-101 ada S', 'BIO-101 ben S'));
    await put('assistants.csv', roster('BIO-101 ada T'), { isApproved: true });
    expect(platform.all()).toEqual(['2601 101 109', '2601 102 110']);
    const { reasons } = await end('assistants.csv');
    expect(reasons[0]).toContain(
      'no enrollment ends; 1 enrollment begins or changes as other files say; 1 enrollment stays',
    );
    expect(platform.all()).toEqual(['2601 101 110', '2601 102 110']);
  });

  test('is older than what other files say later, by whatever time', { tags: ['long'] }, async () => {
    const timed = { ...enrolling, removed, time: 'AT' };
    const { platform, put, end } = newUniversity([timed]);
    const dated = (at: number, ...names: string[]): string =>
      csvOf(
        ['COURSE', 'LOGIN', 'ROLE', 'AT'],
        names.map((LOGIN) => ({ COURSE: 'BIO-101', LOGIN, ROLE: 'S', AT: new Date(at).toISOString() })),
      );
    await put('students.csv', dated(dropMs(0), 'ben'));
    await put('backfill.csv', dated(dropMs(0), 'ada'));
    await end('backfill.csv');
    expect(platform.all()).toEqual(['2601 102 110']);
    // The row was written before the removal, and exported after it.
    await put('students.csv', dated(dropMs(2) + 3_600_000, 'ada', 'ben'));
    expect(platform.all()).toEqual(['2601 101 110', '2601 102 110']);
  });

  test('lets a later file of its name begin anew', { tags: ['long'] }, async () => {
    const { platform, put, end } = newUniversity();
    await put('students.csv', roster('BIO-101 ada S'));
    await end('students.csv');
    const { reasons } = await put('students.csv', roster('BIO-101 ada S', 'BIO-101 ben S'));
    expect(reasons).toEqual([]);
    expect(platform.all()).toEqual(['2601 101 110', '2601 102 110']);
  });

  test('takes the delta of a zip for what it is: everything was accepted', { tags: ['long'] }, async () => {
    const { platform, put, end } = newUniversity();
    await put('export.zip', await zip(smallSis()));
    const delta = entriesOfSis(
      { enrollments: [enrollment('art', 'ben', { status: 'active' })] },
      { enrollments: 'delta' },
    );
    await put('delta.zip', await zipOf(delta));
    await end('oneroster.zip');
    expect(platform.all()).toEqual(['2601/Essay 101 17.5', '2601/Essay 102 0 “See me”']);
  });
});

test('a request names a feed', () => {
  for (const feed of ['a.csv', 'oneroster', 'a/b.csv', 'north.zip'])
    expect(feedOf(requestIn({ end: feed }))).toBe(feed);
  expect(requestIn({ end: 'a.csv' })).toEqual({ key: 'snapshots/a.csv', feed: 'a.csv', isEnd: true });
  for (const end of ['/b.csv', 'a', '', 7]) expect(() => requestIn({ end })).toThrow('to end a feed');
});

test('a pattern has any text in place of each star, and nothing else', () => {
  for (const pattern of ['a-1.csv', 'a-*', '*.csv', '*', 'a*1*v', 'a-1*.csv'])
    expect([pattern, isOfPattern('a-1.csv', pattern)]).toEqual([pattern, true]);
  for (const pattern of ['a-?.csv', 'b*', '*.zip', 'a', 'a-1.csv*v', '*1*1*'])
    expect([pattern, isOfPattern('a-1.csv', pattern)]).toEqual([pattern, false]);
});
