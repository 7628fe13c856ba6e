import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listReassigned } from '../../../../lib/options/snapshots/desk/reassigned-names.ts';
import {
  acceptedNamesPrefix,
  type ReassignedName,
} from '../../../../lib/options/snapshots/state/reassigned-names.ts';
import { localOffice } from '../../../lib/desk/cli/local-office.ts';
import { never } from '../../../lib/desk/cli/office.ts';
import { typed } from '../../../lib/desk/cli/typed.ts';
import { waitLimitMs } from '../../../limits.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { filesIn } from '../../../local/bucket.ts';
import { entriesOfSis, zipOf } from '../sis.ts';

// A university gives people new records, with their old user names: first one, then everybody.

const office = localOffice({ functions: ['enrollment-create', 'enrollment-remove'] });
const files = filesIn(() => office.stack());
const orgUnits = { 'BIO-1': 2701, 'ART-1': 2702 };
const users = { ada: 701, ben: 702, cleo: 703 };
const copyOfArt = 2703;
let s3: S3Client;

const type = (line: string, answers?: string[]) =>
  typed(`${line} --stack ${office.file}`, answers && { answers });
const json = async <Document>(line: string): Promise<Document> =>
  JSON.parse((await type(`${line} --json`)).out);
const passed = async () => (await json<{ passed: ReassignedName[] }>('crosswalk moved')).passed;
const inOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');

const fill = async () => {
  await office.stack().lambda?.invoke('crosswalk-fill', {});
};

type Enrolled = `${keyof typeof orgUnits} ${keyof typeof users}`;
/** Puts an export in which each user has the record of this number; answers once it is accepted. */
const night = async (enrolled: Enrolled[], record: Partial<Record<keyof typeof users, number>> = {}) => {
  const idOf = (user: string) => `u-${user}${record[user as keyof typeof users] ?? ''}`;
  const sis = {
    users: Object.keys(users).map((username) => ({ sourcedId: idOf(username), username })),
    classes: Object.keys(orgUnits).map((classCode) => ({
      sourcedId: `c-${classCode}`,
      title: 'A',
      classCode,
    })),
    enrollments: enrolled.map((each) => {
      const [code = '', user = ''] = each.split(' ');
      const ids = { classSourcedId: `c-${code}`, userSourcedId: idOf(user) };
      return { sourcedId: `e-${code}-${user}`, ...ids, role: 'student' };
    }),
    lineItems: [],
    results: [],
  };
  const newest = async () =>
    (await json<{ snapshots: { id: string; state: string }[] }>('snapshots list')).snapshots[0];
  const before = (await newest())?.id ?? '';
  // S3 tells whole seconds.
  while (before.startsWith(new Date().toISOString().replace(/[-:]|\.\d+/g, ''))) await sleep(50);
  // By HTTP, as S3 tells the import of it.
  const object = { Bucket: office.stack().description.bucket, Key: 'snapshots/export.zip' };
  await s3.send(new PutObjectCommand({ ...object, Body: await zipOf(entriesOfSis(sis)) }));
  const isAccepted = async () => {
    const snapshot = await newest();
    return snapshot?.id !== before && snapshot?.state === 'accepted';
  };
  await expect.poll(isAccepted, { timeout: waitLimitMs, interval: 200 }).toBe(true);
};
const holds = (...enrolled: string[]) =>
  expect
    .poll(
      async () =>
        ((await office.controls().state('enrollments')).enrollments ?? [])
          .filter(({ orgUnitId }) => /^270/.test(`${orgUnitId}`))
          .map(({ orgUnitId, userId }) => `${orgUnitId} ${userId}`)
          .sort(),
      { timeout: waitLimitMs, interval: 200 },
    )
    .toEqual(enrolled);

beforeAll(async () => {
  await office.controls().seed({
    orgUnits: Object.entries(orgUnits).map(([code, orgUnitId]) => ({ orgUnitId, code })),
    users: Object.entries(users).map(([userName, userId]) => ({ userId, userName })),
  });
  const lines = Object.entries(users).map((each) => `${each.join(',')}\n`);
  await files.put('crosswalk/users.csv', `userName,userId\n${lines.join('')}`);
  const settings = { roles: { student: 110 }, maxRemovalsPercent: 100, maxChangesPercent: 100 };
  await files.put('snapshot-settings.json', JSON.stringify(settings));
  await fill();
  s3 = new S3Client({ ...localClient(office.stack().description.s3), forcePathStyle: true });
});
afterAll(() => s3.destroy());

describe('a user name that passed to another record', () => {
  test('is listed with what waits, and its rows are used once an operator has accepted it', async () => {
    await night(['BIO-1 ada']);
    expect(await passed()).toEqual([]);
    expect((await type('crosswalk moved')).status).toBe(1);
    await night(['BIO-1 ada', 'ART-1 ada', 'ART-1 ben'], { ada: 2 });
    await holds('2701 701', '2702 702');
    const open = await passed();
    expect(open).toMatchObject([
      {
        name: 'ada',
        userId: 701,
        former: 'u-ada',
        record: 'u-ada2',
        enrollments: 2,
        results: 0,
        courses: ['ART-1', 'BIO-1'],
      },
    ]);
    expect((await json<{ passed: object[] }>('status')).passed).toEqual(open);
    expect(inOneLine((await type('status')).out)).toMatch(
      /1 user name has passed to another record of the SIS.*2 enrollments and 0 results in 2 courses wait.*sis-relay crosswalk moved/,
    );
    const { status, out } = await type('crosswalk moved');
    expect(status).toBe(0);
    expect(out).toMatch(/ada +701 +u-ada +u-ada2 .* 2 /);
    expect(inOneLine(out)).toContain('sis-relay crosswalk accept <user name>');

    const declined = await type('crosswalk accept ada', ['n']);
    expect(declined.status).toBe(1);
    expect(inOneLine(declined.out)).toContain(
      '1 person: the record that has the name now gets the account, with 2 enrollments and 0 results in 2 courses',
    );
    expect(declined.asked.join()).toContain('Accept 1 user name? [y/N]');
    const refused = await type('crosswalk accept ada nobody --yes');
    expect([refused.status, inOneLine(refused.err)]).toEqual([
      1,
      expect.stringContaining('No user name that passed to another record is nobody.'),
    ]);
    expect((await type('crosswalk accept --yes')).status).toBe(2);
    expect((await type('crosswalk accept ada --all --yes')).status).toBe(2);
    expect(await passed()).toEqual(open);

    const accepted = await type('crosswalk accept ada --json --yes --reason "she studies again"');
    expect(JSON.parse(accepted.out)).toMatchObject({ acceptedNames: open });
    expect([await passed(), (await type('crosswalk moved')).status]).toEqual([[], 1]);
    const [key = ''] = await files.keysUnder(acceptedNamesPrefix);
    expect(JSON.parse(await files.textAt(key))).toMatchObject({
      field: 'userName',
      reason: 'she studies again',
      names: [{ name: 'ada', userId: 701, record: 'u-ada2' }],
    });
    const begun = (await files.keysUnder('audit/')).filter((each) => each.includes('-begin-'));
    const entries = await Promise.all(begun.map((each) => files.textAt(each)));
    expect(entries.map((entry) => JSON.parse(entry))).toMatchObject([
      { command: 'crosswalk accept', reason: 'she studies again', counts: { planned: 1 }, filter: { key } },
    ]);

    await night(['BIO-1 ada', 'ART-1 ada', 'ART-1 ben'], { ada: 2 });
    await holds('2701 701', '2702 701', '2702 702');
  });

  test('is accepted together with all others, as after a migration', { tags: ['long'] }, async () => {
    const records = { ada: 3, ben: 3, cleo: 3 };
    const enrolled: Enrolled[] = ['BIO-1 ada', 'ART-1 ada', 'ART-1 ben', 'BIO-1 cleo'];
    await night(enrolled, { ada: 2 });
    await night(enrolled, records);
    expect((await passed()).map(({ name, record }) => `${name} ${record}`)).toEqual([
      'ada u-ada3',
      'ben u-ben3',
      'cleo u-cleo3',
    ]);
    const { status, out, asked } = await type('crosswalk accept --all', ['y']);
    expect(status).toBe(0);
    expect(inOneLine(out)).toContain('3 people:');
    expect(inOneLine(out)).toContain('with 4 enrollments and 0 results in 2 courses');
    expect(asked.join()).toContain('Accept 3 user names? [y/N]');
    await night(enrolled, records);
    expect(await passed()).toEqual([]);
    await holds('2701 701', '2701 703', '2702 701', '2702 702');
  });

  test('and that cannot be read with the rights of a person is told as unknown', async () => {
    const target = office.target();
    const denied = async () => {
      throw Object.assign(new Error('refused'), { name: 'AccessDenied' });
    };
    expect(await listReassigned({ ...target, s3: denied }, never)).toBeUndefined();
  });
});

test('a code is accepted by who sees how many people move with it', async () => {
  await office.controls().seed({
    orgUnits: [
      { orgUnitId: orgUnits['ART-1'], code: 'ART-1-OLD' },
      { orgUnitId: copyOfArt, code: 'ART-1' },
    ],
  });
  await fill();
  const { out, asked } = await type('crosswalk accept ART-1', ['n']);
  expect(out).toMatch(/the export of OneRoster +2 +2/);
  expect(inOneLine(`${out} ${asked.join()}`)).toMatch(/stood for org unit 2702, and now stands for 2703/);
  expect((await type('crosswalk accept ART-1 --kind user --yes')).status).toBe(1);
  expect((await type('crosswalk accept ART-1 --kind code --yes')).status).toBe(0);
});
