import { readFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { loadIntegrations } from '../../../lib/deployment/integrations.ts';
import { examine } from '../../../lib/snapshots/examine.ts';
import { acceptedKeyOf, changesKey, reportKey } from '../../../lib/snapshots/record.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../temporary-folder.ts';
import { filled } from '../crosswalk/filled.ts';
import { bucketFolder } from './bucket-folder.ts';
import { csvOf, enrollment, entriesOfSis, result, type Sis, smallSis, zipOf } from './sis.ts';

const integrations = await loadIntegrations();
let bucket: ReturnType<typeof bucketFolder>;
let night = 0;
/** What the platform holds by all that was sent: of each enrollment and grade, whatever is newest. */
let held: Map<string, { at: string; value: string | undefined }>;

const settings = (more: object = {}) =>
  bucket.write(
    'snapshot-settings.json',
    JSON.stringify({ roles: { student: 110, teacher: 109 }, maxRemovalsPercent: 100, ...more }),
  );

beforeEach(() => {
  bucket = bucketFolder(temporaryFolder());
  night = 0;
  held = new Map();
  settings();
});
afterAll(removeTemporaryFolders);

type Body = { type: string; time: string; sequence: string; data: Record<string, unknown> };

const take = ({ type, time, sequence, data }: Body): void => {
  const who = `${data.userName ?? data.orgDefinedId}`;
  const key = type.includes('grade-push')
    ? `${data.orgUnitCode}/${data.gradeObjectName} ${who}`
    : `${data.orgUnitCode} ${who}`;
  const at = `${time} ${sequence.padStart(6, '0')}`;
  const { points, text } = (data.grade ?? {}) as { points?: number; text?: string };
  if ((held.get(key)?.at ?? '') <= at)
    held.set(key, { at, value: type.includes('remove') ? undefined : String(data.roleId ?? points ?? text) });
};

const startMs = Date.parse('2026-11-01T02:00:00Z');

/** What an import does: it is accepted, unless a person must look. */
const drop = async (content: string | Buffer, key: string) => {
  bucket.write(key, content);
  night += 1;
  const services = { store: bucket.store, integrations, limits: { eventsPerPart: 100 } };
  const droppedMs = startMs + night * 86_400_000;
  const examined = await examine({ key, etag: '', droppedMs }, { services, startedAt: 'now' });
  if (examined.is === 'over') throw new Error(examined.message);
  const { id, reasons, accepted } = examined;
  const packed = readFileSync(bucket.at(changesKey(id)));
  const events = packed.length === 0 ? [] : `${gunzipSync(packed)}`.trimEnd().split('\n');
  const bodies = events.filter(Boolean).map((line) => JSON.parse(line) as Body);
  if (reasons.length === 0) {
    bucket.write(acceptedKeyOf(key), JSON.stringify(accepted));
    for (const body of bodies) if (!body.type.includes('grade-object')) take(body);
  }
  const report = readFileSync(bucket.at(reportKey(id)), 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1);
  return { reasons, report, bodies };
};
const dropSis = async (sis: Sis, modes?: Record<string, string>) =>
  drop(await zipOf(entriesOfSis(sis, modes)), 'snapshots/export.zip');
const isHeld = () =>
  [...held].flatMap(([key, { value }]) => (value === undefined ? [] : `${key} ${value}`)).sort();

const ago = (days: number) => new Date(startMs - days * 86_400_000).toISOString();

describe('a table', () => {
  const gone = { function: 'enrollment-remove', data: { orgUnitCode: 'COURSE', userName: 'LOGIN' } };
  const roleId = { from: 'ROLE', values: { S: 110, T: 109 } };
  const message = {
    ...{ function: 'enrollment-create', data: { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId } },
    ...{ key: ['COURSE', 'LOGIN'], removed: gone },
  };
  const graded = {
    function: 'grade-push',
    data: {
      ...{ orgUnitCode: 'COURSE', userName: 'LOGIN', gradeObjectName: { value: 'Essay' } },
      ...{ 'grade.type': { value: 'numeric' }, 'grade.points': 'SCORE' },
    },
    key: ['ID'],
  };
  const use = (...messages: object[]) => bucket.write('snapshot-mapping.json', JSON.stringify({ messages }));
  const table = (columns: string, ...rows: string[]) =>
    drop(`${[columns, ...rows].join('\n')}\n`, 'snapshots/a.csv');

  test('whose row is missing for a night enrolls again, though the row has the time that it had', async () => {
    use({ ...message, time: 'AT' });
    const columns = 'COURSE,LOGIN,ROLE,AT';
    await table(columns, `BIO,ada,S,${ago(3)}`, `BIO,ben,S,${ago(3)}`);
    await table(columns, `BIO,ben,S,${ago(3)}`);
    expect(isHeld()).toEqual(['BIO ben 110']);
    await table(columns, `BIO,ada,S,${ago(3)}`, `BIO,ben,S,${ago(3)}`);
    expect(isHeld()).toEqual(['BIO ada 110', 'BIO ben 110']);
  });

  test('whose user registers again between the export and its drop is enrolled', async () => {
    use({ ...message, time: 'AT' });
    const columns = 'COURSE,LOGIN,ROLE,AT';
    await table(columns, 'BIO,ada,S,2026-11-01T08:00:00Z', 'BIO,ben,S,2026-11-01T08:00:00Z');
    // Registered an hour before the drop that un-enrolls, whose export is older.
    await table(columns, 'BIO,ben,S,2026-11-01T08:00:00Z');
    await table(columns, 'BIO,ada,S,2026-11-03T01:00:00Z', 'BIO,ben,S,2026-11-01T08:00:00Z');
    expect(isHeld()).toEqual(['BIO ada 110', 'BIO ben 110']);
  });

  test('in which a user has a new name enrolls by it after the old one was removed, whatever time the row gives', async () => {
    use({ ...message, time: 'AT' });
    const columns = 'COURSE,LOGIN,ROLE,AT';
    await table(columns, 'BIO,ada,S,2026-11-01T08:00:00Z', 'BIO,ben,S,2026-11-01T08:00:00Z');
    const { bodies } = await table(
      columns,
      'BIO,ada2,S,2026-11-02T20:00:00Z',
      'BIO,ben,S,2026-11-01T08:00:00Z',
    );
    // Both may be one user on the platform: what is older is superseded.
    const newest = bodies.sort((one, other) =>
      `${one.time} ${one.sequence}` < `${other.time} ${other.sequence}` ? -1 : 1,
    );
    expect(newest.map(({ type }) => type)).toEqual(['sis.enrollment-remove.v1', 'sis.enrollment-create.v1']);
  });

  test('of which a second role comes and goes leaves the first, and names the contradiction', async () => {
    use({ ...message, key: ['COURSE', 'LOGIN', 'ROLE'] });
    const columns = 'COURSE,LOGIN,ROLE';
    await table(columns, 'BIO,ada,S', 'BIO,ben,S');
    const both = await table(columns, 'BIO,ada,S', 'BIO,ada,T', 'BIO,ben,S');
    expect(both.report).toEqual(
      [2, 3].map(
        (line) =>
          `"a.csv","${line}","COURSE, LOGIN, ROLE","another row is about the same thing on the platform, but differs"`,
      ),
    );
    await table(columns, 'BIO,ada,S', 'BIO,ben,S');
    expect(isHeld()).toEqual(['BIO ada 110', 'BIO ben 110']);
  });

  const people = Array.from({ length: 60 }, (_, at) => `u${at}`);

  test('whose column of logins slips by a row waits for a person', async () => {
    settings({ maxRemovalsPercent: 5 });
    use(graded);
    const rows = (shift: number) => people.map((_, at) => `${at},BIO,${people[(at + shift) % 60]},${at}`);
    await table('ID,COURSE,LOGIN,SCORE', ...rows(0));
    expect((await table('ID,COURSE,LOGIN,SCORE', ...rows(1))).reasons).toEqual([
      '60 of 60 grade-push would move to other users or org units',
      '60 of 60 grade-push would be changed',
    ]);
    use({ ...message, key: ['ID'] });
    const enrolled = (shift: number) =>
      people.slice(0, 30).map((_, at) => `${at},C${at},${people[(at + shift) % 30]},S`);
    const dropped = (shift: number) =>
      drop(`ID,COURSE,LOGIN,ROLE\n${enrolled(shift).join('\n')}\n`, 'snapshots/b.csv');
    await dropped(0);
    expect((await dropped(1)).reasons).toContain(
      '30 of 30 enrollment-create would move to other users or org units',
    );
  });

  test('whose column of roles slips, or of scores is 0 for all, waits for a person', async () => {
    use(message);
    const enrolled = (role: string) => people.map((login) => `BIO,${login},${role}`);
    await table('COURSE,LOGIN,ROLE', ...enrolled('S'));
    expect((await table('COURSE,LOGIN,ROLE', ...enrolled('T'))).reasons).toEqual([
      '60 of 60 enrollment-create would be changed',
    ]);
    use(graded);
    const scores = (score: number) => people.map((login, at) => `${at},BIO,${login},${score || at + 1}`);
    const dropped = (rows: string[]) =>
      drop(`ID,COURSE,LOGIN,SCORE\n${rows.join('\n')}\n`, 'snapshots/b.csv');
    await dropped(scores(0));
    const zero = await dropped(people.map((login, at) => `${at},BIO,${login},0`));
    expect(zero.reasons).toEqual(['60 of 60 grade-push would be changed']);
  });

  test('whose messages name one person by user name and by number removes nobody whom the other names', async () => {
    const byNumber = {
      ...message,
      when: { BY: ['number'] },
      data: { orgUnitCode: 'COURSE', orgDefinedId: 'NUMBER', roleId },
      removed: { function: 'enrollment-remove', data: { orgUnitCode: 'COURSE', orgDefinedId: 'NUMBER' } },
      key: ['COURSE', 'NUMBER'],
    };
    use({ ...message, when: { BY: ['name'] } }, byNumber);
    bucket.write(
      ...filled('userName', [
        ['ada', 301],
        ['ben', 302],
      ]),
    );
    bucket.write(
      ...filled('orgDefinedId', [
        ['#1', 301],
        ['#2', 302],
      ]),
    );
    const columns = 'COURSE,LOGIN,NUMBER,ROLE,BY';
    await table(columns, 'BIO,ada,#1,S,name', 'BIO,ada,#1,S,number', 'BIO,ben,#2,S,name');
    const { bodies } = await table(columns, 'BIO,ada,#1,S,number');
    expect(bodies.map(({ type, data }) => [type, data.userName ?? data.orgDefinedId])).toEqual([
      ['sis.enrollment-remove.v1', 'ben'],
    ]);
  });

  test('with a slip in a key removes nobody whom the row may mean, until it is gone or right', async () => {
    use(message);
    const columns = 'COURSE,LOGIN,ROLE';
    await table(columns, 'BIO,ada,S', 'BIO,u5,S', 'ART,ben,S');
    // Who is missing elsewhere is not meant by it.
    const slipped = await table(columns, 'BIO,ada,S', 'BIO,"u5 ",S');
    expect(isHeld()).toEqual(['BIO ada 110', 'BIO u5 110']);
    expect(slipped.report.join('\n')).toContain('must be one line, without a space at its beginning or end');
    // It is there still, and hides nobody who goes later.
    await table(columns, 'BIO,"u5 ",S');
    expect(isHeld()).toEqual(['BIO u5 110']);
    await table(columns, 'BIO,eve,S');
    expect(isHeld()).toEqual(['BIO eve 110']);
  });
});

describe('an export of OneRoster', () => {
  test('whose result is missing for a night has its grade, though its time is the one that it had', async () => {
    const sis = smallSis();
    const scored = (score: string) => result('essay', 'ada', score, { dateLastModified: ago(2) });
    await dropSis({ ...sis, results: [scored('7'), result('essay', 'ben', '1')] });
    await dropSis({ ...sis, results: [scored('8'), result('essay', 'ben', '1')] });
    await dropSis({ ...sis, results: [result('essay', 'ben', '1')] });
    await dropSis({ ...sis, results: [scored('9'), result('essay', 'ben', '1')] });
    expect(isHeld()).toContain('BIO-101/Essay ada 9');
  });

  test('in which a user is replaced by another record of that name removes nobody with the old one', async () => {
    const sis = smallSis();
    await dropSis(sis);
    const before = isHeld();
    const old = sis.users.map((row) => (row.sourcedId === 'u-ada' ? { ...row, status: 'tobedeleted' } : row));
    const users = [...old, { sourcedId: 'u-ada-2', username: 'ada' }];
    const enrollments = [...sis.enrollments, enrollment('bio', 'ada-2'), enrollment('art', 'ada-2')];
    await dropSis({ ...sis, users, enrollments });
    const left = enrollments.filter(({ userSourcedId }) => userSourcedId !== 'u-ada');
    await dropSis({ ...sis, users, enrollments: left });
    expect(isHeld()).toEqual(before);
    await dropSis({
      ...sis,
      users: users.filter(({ sourcedId }) => sourcedId !== 'u-ada'),
      enrollments: left,
    });
    expect(isHeld()).toEqual(before);
  });

  test('of changes that deletes one of two rows of one enrollment leaves the other', async () => {
    const sis = smallSis();
    const twin = enrollment('bio', 'ada', { sourcedId: 'twin' });
    await dropSis({ ...sis, enrollments: [...sis.enrollments, twin] });
    const before = isHeld();
    const gone = (row: Record<string, string>) =>
      dropSis({ enrollments: [{ ...row, status: 'tobedeleted' }] }, { enrollments: 'delta' });
    await gone(enrollment('bio', 'ada'));
    expect(isHeld()).toEqual(before);
    await gone(twin);
    expect(isHeld()).toEqual(before.filter((each) => each !== 'BIO-101 ada 110'));
  });

  test('in which a class has a new id removes nobody when its old rows, which linger, go', async () => {
    const sis = smallSis();
    await dropSis(sis);
    const before = isHeld();
    const made = (rows: Record<string, string>[]) =>
      rows.flatMap((row) =>
        row.classSourcedId === 'c-bio'
          ? [{ ...row, classSourcedId: 'c-new', sourcedId: `${row.sourcedId}-new` }]
          : [row],
      );
    const classes = sis.classes.map((row) =>
      row.sourcedId === 'c-bio' ? { ...row, sourcedId: 'c-new' } : row,
    );
    const lineItems = sis.lineItems.map((row) =>
      row.classSourcedId === 'c-bio' ? { ...row, classSourcedId: 'c-new' } : row,
    );
    const old = sis.enrollments.filter(({ classSourcedId }) => classSourcedId === 'c-bio');
    await dropSis({ ...sis, classes, lineItems, enrollments: [...made(sis.enrollments), ...old] });
    await dropSis({ ...sis, classes, lineItems, enrollments: made(sis.enrollments) });
    expect(isHeld()).toEqual(before);
  });

  test('with a slip in a user’s id removes nobody whom the row may mean', async () => {
    const sis = smallSis();
    await dropSis(sis);
    const before = isHeld();
    const slipped = sis.enrollments.map((row) =>
      row.sourcedId === 'e-bio-cleo' ? { ...row, userSourcedId: 'P-cleo', sourcedId: 'P-1' } : row,
    );
    await dropSis({ ...sis, enrollments: slipped });
    expect(isHeld()).toEqual(before);
    await dropSis({ ...sis, enrollments: slipped.filter(({ sourcedId }) => sourcedId !== 'P-1') });
    expect(isHeld()).toEqual(before.filter((each) => !each.startsWith('BIO-101 cleo')));
  });

  test('whose roles or scores all change waits for a person', async () => {
    const users = Array.from({ length: 60 }, (_, at) => ({ sourcedId: `u-${at}`, username: `user${at}` }));
    const export60 = (role: string, score: (at: number) => string): Sis => ({
      ...smallSis(),
      users,
      enrollments: users.map((_, at) => enrollment('bio', `${at}`, { role })),
      results: users.map((_, at) => result('essay', `${at}`, score(at))),
    });
    await dropSis(export60('student', (at) => `${at + 1}`));
    const { reasons } = await dropSis(export60('teacher', () => '0'));
    expect(reasons).toEqual(['60 of 60 enrollments would be changed', '60 of 60 results would be changed']);
  });

  test('of changes removes nobody whom the export before it could not read', async () => {
    const sis = smallSis();
    await dropSis(sis);
    const before = isHeld();
    const unreadable = sis.enrollments.map((row) =>
      row.sourcedId === 'e-bio-ada' ? { ...row, sourcedId: 'e-new', beginDate: '1/9/2026' } : row,
    );
    await dropSis({ ...sis, enrollments: unreadable });
    for (const _ of [1, 2]) {
      const { bodies } = await dropSis({ enrollments: [] }, { enrollments: 'delta' });
      expect(bodies).toEqual([]);
    }
    expect(isHeld()).toEqual(before);
    const left = sis.enrollments.filter(({ sourcedId }) => sourcedId !== 'e-bio-ada');
    await dropSis({ ...sis, enrollments: left });
    expect(isHeld()).toEqual(before.filter((each) => each !== 'BIO-101 ada 110'));
  });

  test('of changes removes whom a refused row might mean when it deletes that row, and not before', async () => {
    const sis = smallSis();
    await dropSis(sis);
    const refused = { ...enrollment('bio', 'ada'), sourcedId: 'e-new', classSourcedId: 'c-gone' };
    const others = sis.enrollments.filter(({ sourcedId }) => sourcedId !== 'e-bio-ada');
    expect((await dropSis({ ...sis, enrollments: [...others, refused] })).bodies).toEqual([]);
    const users = [{ sourcedId: 'u-ada', username: 'ada2', status: 'active' }];
    await dropSis({ users }, { users: 'delta' });
    const unchanged = await dropSis({ enrollments: [] }, { enrollments: 'delta' });
    expect(unchanged).toMatchObject({
      bodies: [],
      report: [
        expect.stringContaining('1 enrollments are missing'),
        expect.stringContaining('refused still: 1.'),
      ],
    });
    const gone = { ...refused, status: 'tobedeleted' };
    const { bodies } = await dropSis({ enrollments: [gone] }, { enrollments: 'delta' });
    expect(bodies).toMatchObject([
      { type: 'sis.enrollment-remove.v1', data: { orgUnitCode: 'BIO-101', userName: 'ada2' } },
    ]);
  });

  test('of changes changes a role beside a row that was refused, which then holds what no row claims', async () => {
    const sis = smallSis();
    const refused = { ...enrollment('bio', 'ada', { role: 'guest' }), sourcedId: 'e-guest' };
    await dropSis({ ...sis, enrollments: [...sis.enrollments, refused] });
    const change = (row: Record<string, string>) => dropSis({ enrollments: [row] }, { enrollments: 'delta' });
    await change(enrollment('bio', 'ada', { role: 'teacher', status: 'active' }));
    expect(isHeld()).toContain('BIO-101 ada 109');
    const { report } = await change(enrollment('bio', 'ada', { status: 'tobedeleted' }));
    expect(report).toEqual([
      expect.stringContaining('1 enrollments are missing'),
      expect.stringContaining('refused still: 1.'),
    ]);
    expect(isHeld()).toContain('BIO-101 ada 109');
    await change({ ...refused, status: 'tobedeleted' });
    expect(isHeld()).not.toContain('BIO-101 ada 109');
  });

  test('that lists a line item twice, once so that it cannot be used, sends its grades once', async () => {
    const sis = smallSis();
    await dropSis(sis);
    const broken = { sourcedId: 'l-essay', title: 'Essay', classSourcedId: 'c-bio', resultValueMax: '' };
    for (const lineItems of [[...sis.lineItems, broken], sis.lineItems, sis.lineItems]) {
      const { bodies } = await dropSis({ ...sis, lineItems });
      expect(bodies).toEqual([]);
    }
    expect((await dropSis({ results: [] }, { results: 'delta' })).bodies).toEqual([]);
  });

  test('with a score beside one that is not yet graded has the score', async () => {
    const sis = smallSis();
    await dropSis(sis);
    const submitted = result('essay', 'ada', '', { scoreStatus: 'submitted', sourcedId: 'r-2' });
    await dropSis({ ...sis, results: [submitted, result('essay', 'ada', '19', { dateLastModified: '' })] });
    expect(isHeld()).toContain('BIO-101/Essay ada 19');
  });

  test('in which two line items swap their titles has the grades of each under its title', async () => {
    const sis = smallSis();
    const items = (one: string, other: string) => [
      { sourcedId: 'l-1', title: one, classSourcedId: 'c-bio', resultValueMax: '20' },
      { sourcedId: 'l-2', title: other, classSourcedId: 'c-bio', resultValueMax: '20' },
    ];
    const results = [result('1', 'ada', '5'), result('2', 'ada', '9')];
    await dropSis({ ...sis, lineItems: items('HW1', 'HW2'), results });
    const swapped = await dropSis({ ...sis, lineItems: items('HW2', 'HW1'), results });
    expect(swapped.report).toEqual([]);
    expect(isHeld().filter((each) => each.includes('/'))).toEqual(['BIO-101/HW1 ada 9', 'BIO-101/HW2 ada 5']);
    expect((await dropSis({ ...sis, lineItems: items('HW2', 'HW1'), results })).bodies).toEqual([]);
  });
});

describe('what was accepted by a version that compared rows', () => {
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
    expect((await dropSis(sis)).bodies).toEqual([]);
    const { bodies } = await dropSis({ ...sis, enrollments: sis.enrollments.slice(1) });
    expect(bodies.map(({ type, data }) => [type, data.userName])).toEqual([
      ['sis.enrollment-remove.v1', 'ada'],
    ]);
  });

  test('is carried over for a table, and what it took away is not known to be older', async () => {
    const data = { orgUnitCode: 'COURSE', userName: 'LOGIN' };
    const roleId = { value: 110 };
    const removed = { function: 'enrollment-remove', data };
    bucket.write(
      'snapshot-mapping.json',
      JSON.stringify({
        messages: [
          {
            function: 'enrollment-create',
            data: { ...data, roleId },
            time: 'AT',
            key: ['COURSE', 'LOGIN'],
            removed,
          },
        ],
      }),
    );
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
    const { bodies } = await drop(csvOf(columns, [row('ada'), row('cleo')]), 'snapshots/a.csv');
    // Whether cleo was removed before, nobody knows.
    expect(bodies.map(({ type, time, data: { userName } }) => [type, userName, time]).sort()).toEqual([
      ['sis.enrollment-create.v1', 'cleo', '2026-11-02T02:00:00.000Z'],
      ['sis.enrollment-remove.v1', 'ben', '2026-11-02T02:00:00.000Z'],
    ]);
  });
});

test('an export that takes too long to compare fails with what to do, and sends nothing', async () => {
  bucket.write('snapshots/export.zip', await zipOf(entriesOfSis(smallSis())));
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
