// @module-tag long
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SnapshotList } from '../../../../lib/options/snapshots/desk/read.ts';
import type { SnapshotRecord } from '../../../../lib/options/snapshots/state/record.ts';
import { localOffice } from '../../../lib/desk/cli/local-office.ts';
import { typed } from '../../../lib/desk/cli/typed.ts';
import { waitLimitMs } from '../../../limits.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { filesIn } from '../../../local/bucket.ts';
import { bodiesOn } from '../../../local/queues.ts';
import { durableOptionsOf } from '../../../local/stack.ts';
import { enrollment, entriesOfSis, smallSis, zipOf } from '../sis.ts';

/** Messages stay on their queues. */
const office = localOffice({ functions: [], settings: { WAIT_MAXIMUM_SECONDS: '1' } });
const files = filesIn(() => office.stack());
const key = 'snapshots/nightly.zip';
let s3: S3Client;

beforeAll(async () => {
  s3 = new S3Client({ ...localClient(office.stack().description.s3), forcePathStyle: true });
  await files.put('snapshot-settings.json', JSON.stringify({ roles: { student: 110, teacher: 109 } }));
});
afterAll(() => s3.destroy());

/** As the SIS puts it; answers the version. */
const put = async (Body: string | Buffer, Key = key): Promise<string> => {
  const { bucket: Bucket } = office.stack().description;
  return (await s3.send(new PutObjectCommand({ Bucket, Key, Body }))).VersionId ?? '';
};
const deltaOf = async (...enrollments: ReturnType<typeof enrollment>[]) =>
  zipOf(entriesOfSis({ enrollments }, { enrollments: 'delta' }));
const printed = async (line: string) => typed(`${line} --stack ${office.file}`);
const list = async (): Promise<SnapshotList> => JSON.parse((await printed('snapshots list --json')).out);
const status = async (): Promise<Record<string, unknown>> => JSON.parse((await printed('status --json')).out);
const statusLines = async (): Promise<string> => (await printed('status')).out.replaceAll(/\s+/g, ' ');

/** The record of the version that was put, once it is in this state. */
const recordOf = async (versionId: string, state: SnapshotRecord['state']): Promise<SnapshotRecord> => {
  const look = async () => (await list()).snapshots.find((each) => each.versionId === versionId);
  await expect.poll(async () => (await look())?.state, { timeout: waitLimitMs, interval: 200 }).toBe(state);
  return (await look()) as SnapshotRecord;
};
const reportOf = ({ id }: SnapshotRecord): Promise<string> =>
  files.textAt(`snapshot-records/${id}/report.csv`);
const waiting = (count: number) =>
  expect
    .poll(async () => (await list()).waiting, { timeout: waitLimitMs, interval: 200 })
    .toHaveLength(count);
const enrolled = (): string[] =>
  bodiesOn(office.stack(), 'sis-relay-local-enrollment-create').map((body) => {
    const { orgUnitCode, userName } = JSON.parse(body).data;
    return `${orgUnitCode} ${userName}`;
  });
const whole = () => zipOf(entriesOfSis(smallSis()));

test('deltas under one key are all imported, in the order of their puts; what waits is listed at once; one that is stopped waits no more, and each later delta names it', async () => {
  const first = await put(await whole());
  await recordOf(first, 'accepted');
  expect(await statusLines()).toContain('All is well.');

  const monday = await put(await deltaOf(enrollment('bio', 'ben', { status: 'tobedeleted' })));
  const { id } = await recordOf(monday, 'waiting-for-approval');
  const tuesday = await put(await deltaOf(enrollment('art', 'ben')));
  const wednesday = await put(await deltaOf(enrollment('art', 'tess')));
  const thursday = await put(await deltaOf(enrollment('art', 'cleo')));
  await waiting(3);
  expect((await list()).waiting).toMatchObject(
    [tuesday, wednesday, thursday].map((versionId) => ({ key, versionId, behind: id })),
  );
  const shown = await statusLines();
  expect(shown).toMatch(
    new RegExp(`${key}, version ${tuesday}, \\d+ bytes, put <1 min ago, waits behind ${id}`),
  );
  expect((await printed('snapshots list')).out).toMatch(
    new RegExp(`Files that wait[^]*${wednesday}[^]*${id}`),
  );

  // Whoever dies goes on; whoever is stopped does not.
  office.stack().lambda?.kill('snapshot-import');
  const { executions } = office.stack();
  const [, , , stopped] = executions.of(durableOptionsOf('snapshot-import').functionArn);
  executions.stop(stopped?.arn ?? '');
  await waiting(2);
  expect((await status()).troubledImports).toMatchObject([{ is: 'cut off', versionId: wednesday }]);
  expect(await statusLines()).toMatch(/What to do first .*version \w+, put .* ended without a result/);

  expect((await printed(`snapshots approve ${id} --yes --reason "he left"`)).status).toBe(0);
  expect(await reportOf(await recordOf(tuesday, 'accepted'))).not.toContain('which was not accepted');
  const last = await recordOf(thursday, 'accepted');
  expect(enrolled()).toEqual(expect.arrayContaining(['ART-1 ben', 'ART-1 cleo']));
  expect(enrolled()).not.toContain('ART-1 tess');
  expect(await reportOf(last)).toMatch(
    /the changes of snapshots\/nightly.zip, put at \S+, which was not accepted/,
  );
  const { waiting: none, snapshots } = await list();
  expect([none, snapshots.length]).toEqual([[], 4]);
  expect((await status()).troubledImports).toEqual([]);
});

test('an accepted table with a code that its mapping does not name is to be seen to, with that code, until a file of its feed has none', async () => {
  const message = {
    function: 'enrollment-create',
    when: { STATUS: ['RE'] },
    data: { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId: { value: 110 } },
    key: ['COURSE', 'LOGIN'],
  };
  await files.put('snapshot-mapping.json', JSON.stringify({ messages: [message] }));
  const table = (...rows: string[]) => ['STATUS,COURSE,LOGIN', ...rows, ''].join('\n');
  const good = ['RE,BIO-1,ada', 'RE,BIO-1,ben', 'RE,BIO-1,cleo'];
  const first = await recordOf(
    await put(table(...good, 'Registered,BIO-1,dan'), 'snapshots/r.csv'),
    'accepted',
  );
  const why = /of 4 rows of r.csv, 1 was refused; most often: STATUS: "Registered" is named by no "when"/;
  expect((await list()).troubled).toMatchObject([{ is: 'partly refused', id: first.id }]);
  for (const shown of [await statusLines(), (await printed('snapshots list')).out.replaceAll(/\s+/g, ' ')]) {
    expect(shown).toMatch(why);
    expect(shown).not.toContain('All is well');
  }
  await recordOf(await put(table(...good, 'RE,BIO-1,dan'), 'snapshots/r.csv'), 'accepted');
  expect((await list()).troubled).toEqual([]);
  expect(await statusLines()).not.toContain('r.csv');
});

test('an import that failed, or that used few of its rows, is to be seen to first, until a later one is accepted well; what failed is named until a whole export is accepted', async () => {
  const broken = await recordOf(await put('not a zip'), 'failed');
  expect(await status()).toMatchObject({
    troubledImports: [{ is: 'failed', id: broken.id, why: broken.why }],
  });
  expect(await statusLines()).toMatch(
    new RegExp(`What to do first ✗ The import of ${key}, .* failed: .*sis-relay snapshots show ${broken.id}`),
  );
  const other = await put(await deltaOf(enrollment('art', 'ben', { role: 'unheard-of' })));
  const refused = await recordOf(other, 'accepted');
  expect(await reportOf(refused)).toContain(`the changes of ${broken.id}, which was not accepted`);
  expect((await status()).troubledImports).toMatchObject([
    {
      is: 'refused',
      id: refused.id,
      why: expect.stringMatching(
        /^of 1 row of enrollments.csv, 1 was refused; most often: role: .*"unheard-of"/,
      ),
    },
  ]);
  expect(await statusLines()).not.toContain('All is well');

  const ben = enrollment('art', 'ben', { status: 'active' });
  const good = await recordOf(await put(await deltaOf(ben)), 'accepted');
  expect(await reportOf(good)).toContain(`the changes of ${broken.id}, which was not accepted`);
  expect(await statusLines()).toContain('All is well.');
  const enrollments = [...smallSis().enrollments, enrollment('art', 'ben'), enrollment('art', 'cleo')];
  await recordOf(await put(await zipOf(entriesOfSis({ ...smallSis(), enrollments }))), 'accepted');
  const later = await recordOf(await put(await deltaOf(enrollment('art', 'tess'))), 'accepted');
  expect(await reportOf(later)).not.toContain('which was not accepted');
});
