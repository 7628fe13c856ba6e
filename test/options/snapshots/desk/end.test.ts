// @module-tag long
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SnapshotList } from '../../../../lib/options/snapshots/desk/read.ts';
import { acceptedKeyOf, type SnapshotRecord } from '../../../../lib/options/snapshots/state/record.ts';
import { localOffice } from '../../../lib/desk/cli/local-office.ts';
import { typed } from '../../../lib/desk/cli/typed.ts';
import { waitLimitMs } from '../../../limits.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { filesIn } from '../../../local/bucket.ts';
import { bodiesOn } from '../../../local/queues.ts';

/** Messages stay on their queues. */
const office = localOffice({ functions: [], settings: { WAIT_MAXIMUM_SECONDS: '1' } });
const files = filesIn(() => office.stack());
const settings = (more: object = {}) =>
  files.put('snapshot-settings.json', JSON.stringify({ maxRemovalsPercent: 40, ...more }));

let s3: S3Client;

beforeAll(async () => {
  s3 = new S3Client({ ...localClient(office.stack().description.s3), forcePathStyle: true });
  const who = { orgUnitCode: 'COURSE', userName: 'LOGIN' };
  const message = {
    function: 'enrollment-create',
    key: ['COURSE', 'LOGIN'],
    data: { ...who, roleId: { value: 110 } },
    removed: { function: 'enrollment-remove', data: who },
  };
  await settings();
  await files.put('snapshot-mapping.json', JSON.stringify({ messages: [message] }));
});

afterAll(() => s3.destroy());

const printed = async (line: string) => typed(`${line} --stack ${office.file}`);
const said = async (line: string): Promise<string> => {
  const { out, err } = await printed(line);
  return `${out}${err}`.replaceAll(/\s+/g, ' ');
};
const list = async (): Promise<SnapshotList> => JSON.parse((await printed('snapshots list --json')).out);
const status = async (): Promise<Record<string, unknown>> => JSON.parse((await printed('status --json')).out);

/** Rows such as `BIO-101 ada`. Answers the record in this state. */
const put = async (
  name: string,
  rows: string[],
  state: SnapshotRecord['state'] = 'accepted',
): Promise<SnapshotRecord> => {
  const { all } = await list();
  const Body = ['COURSE,LOGIN', ...rows.map((row) => row.replace(' ', ','))].join('\n');
  const { bucket: Bucket } = office.stack().description;
  await s3.send(new PutObjectCommand({ Bucket, Key: `snapshots/${name}`, Body }));
  const look = async () => {
    const found = await list();
    return found.all > all ? found.snapshots.find(({ key }) => key === `snapshots/${name}`) : undefined;
  };
  await expect.poll(async () => (await look())?.state, { timeout: waitLimitMs, interval: 200 }).toBe(state);
  return (await look()) as SnapshotRecord;
};
const removed = (): string[] =>
  bodiesOn(office.stack(), 'sis-relay-local-enrollment-remove')
    .map((body) => JSON.parse(body).data)
    .map(({ orgUnitCode, userName }) => `${orgUnitCode} ${userName}`)
    .sort();

test('a file that comes no more is ended by one command, which shows what only it wants; its record is kept; several are ended in the order of their names', async () => {
  await put('backfill-arts.csv', ['BIO-101 ada', 'BIO-101 ben']);
  await put('backfill-music.csv', ['BIO-101 ada', 'ART-1 ben']);
  await put('students.csv', ['BIO-101 ben', 'ART-1 cleo', 'ART-1 dan']);
  expect(await list()).toMatchObject({ acceptedTables: { 'backfill-arts.csv': expect.any(String) } });

  expect(await printed('snapshots end none.csv --yes')).toMatchObject({
    status: 1,
    err: expect.stringContaining('No accepted file has the name none.csv.'),
  });
  expect(await printed('snapshots end a.zip --yes')).toMatchObject({ status: 2 });
  // Nobody to ask: nothing begins.
  const asked = await said('snapshots end backfill-arts.csv');
  expect(asked).toContain('no enrollment ends. 2 enrollments stay, because other files want them.');
  expect(asked).toContain('Nothing was changed');
  expect(await list()).toMatchObject({ all: 3, waiting: [] });

  // Those that only both want end with the second.
  const { out, status: exit } = await printed(
    'snapshots end backfill-*.csv --yes --json --reason "one day alone"',
  );
  expect(exit).toBe(0);
  const { planned, ended } = JSON.parse(out);
  expect(planned.map(({ feed, ending }: { feed: string; ending: object }) => [feed, ending])).toMatchObject([
    ['backfill-arts.csv', { enrollments: 0, wantedByOthers: 2 }],
    ['backfill-music.csv', { enrollments: 2, people: 2, orgUnits: 2, wantedByOthers: 0 }],
  ]);
  expect(ended).toMatchObject([{ outcome: 'ended' }, { feed: 'backfill-music.csv', outcome: 'ended' }]);
  expect(removed()).toEqual(['ART-1 ben', 'BIO-101 ada']);
  expect(await files.keysUnder('snapshot-records/accepted/')).toEqual([acceptedKeyOf('students.csv')]);
  // An import lets go of its file after it has said what became of it.
  await expect.poll(() => files.keysUnder('snapshot-records/unaccepted/')).toEqual([]);
  const { acceptedTables, snapshots } = await list();
  expect(Object.keys(acceptedTables)).toEqual(['students.csv']);
  expect(snapshots.find(({ id }) => id === ended[1].snapshot)).toMatchObject({
    state: 'accepted',
    ending: { enrollments: 2 },
    decided: { reason: 'one day alone' },
  });
});

test('another import of the feed that is in the way is named, and the end is in the list once it is reached', async () => {
  await put('last-term.csv', ['BIO-101 eve']);
  const waiting = await put('last-term.csv', [], 'waiting-for-approval');
  const ending = said('snapshots end last-term.csv --yes --wait 1');
  const look = async () => (await status()).waitingFiles;
  await expect
    .poll(look, { timeout: waitLimitMs, interval: 200 })
    .toMatchObject([{ key: 'snapshots/last-term.csv', isEnd: true, behind: waiting.id }]);
  expect(await said('status')).toContain(
    `The end of last-term.csv, begun <1 min ago, waits behind ${waiting.id}`,
  );
  expect((await printed(`snapshots reject ${waiting.id} --yes --reason "broken"`)).status).toBe(0);
  expect(await ending).toContain('last-term.csv is ended.');
  expect(removed()).toContain('BIO-101 eve');
});

test('status names a file that comes once, by the settings, and how much it holds back', async () => {
  await settings({ ended: ['backfill-*.csv'], maxRemovalsPercent: 100 });
  await put('backfill-law.csv', ['BIO-101 ben', 'ART-1 zoe']);
  expect((await status()).quietFeeds).toMatchObject([
    { name: 'backfill-law.csv', pattern: 'backfill-*.csv', heldBack: 0 },
  ]);
  await put('students.csv', ['ART-1 cleo']);
  expect((await status()).quietFeeds).toMatchObject([{ name: 'backfill-law.csv', heldBack: 1 }]);
  expect(await said('status')).toMatch(
    /What to do first backfill-law.csv came .* ago, once, by the settings. 1 enrollment that other files have no more is kept/,
  );
});
