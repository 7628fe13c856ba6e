// @module-tag long
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { expect, test, vi } from 'vitest';
import { bucketOf, createCrosswalkTable } from '../../../../lib/crosswalk/table.ts';
import { createQuickDynamoDb } from '../../../../lib/runtime/aws/dynamodb-quick.ts';
import { localOffice } from '../../../lib/desk/cli/local-office.ts';
import { typed } from '../../../lib/desk/cli/typed.ts';
import { waitLimitMs } from '../../../limits.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { putText } from '../../../local/bucket.ts';
import { entriesOfSis, type Sis, smallSis, zipOf } from '../sis.ts';

vi.setConfig({ testTimeout: 120_000 });

const office = localOffice({ functions: [] });
const type = async (line: string) => {
  const { status, out, err } = await typed(`${line} --stack ${office.file}`);
  expect({ status, err: status === 0 ? '' : `${err}${out}` }).toEqual({ status: 0, err: '' });
  return out;
};
const json = async (line: string) => JSON.parse(await type(`${line} --json`));
const put = async (key: string, text: string | Buffer) =>
  putText({ s3: await office.target().s3(), bucket: office.stack().description.bucket }, key, text);
const drop = async (sis: Sis, name: string) => put(`snapshots/${name}.zip`, await zipOf(entriesOfSis(sis)));
const newest = async (state: string) => {
  const found = async () => {
    const [first] = (await json('snapshots list')).snapshots;
    expect(first).toMatchObject({ state });
    return first;
  };
  return vi.waitFor(found, { timeout: waitLimitMs, interval: 200 });
};

test('a file under snapshots/ is imported; one that removes too much waits, and is sent when it is approved', async () => {
  await put('snapshot-settings.json', JSON.stringify({ roles: { student: 110, teacher: 109 } }));
  const sis = smallSis();
  await drop(sis, 'monday');
  const first = await newest('accepted');
  expect(Object.keys(first.counts)).toEqual(['created', 'updated', 'removed', 'unchanged', 'refused']);
  expect(first.counts).toMatchObject({ removed: 0, unchanged: 0, refused: 0 });
  expect(first.sent).toBe(first.of);

  const half = { ...sis, enrollments: sis.enrollments.slice(2) };
  const file = join(office.folder, 'half.zip');
  writeFileSync(file, await zipOf(entriesOfSis(half)));
  const diff = await json(`snapshots diff ${file}`);
  expect(diff).toMatchObject({ against: first.id, counts: { created: 0, removed: 2 }, of: 2 });
  expect(diff.reasons).toEqual([expect.stringContaining('would be removed')]);
  expect(await type(`snapshots diff ${file}`)).toMatch(
    /2 messages would be sent, compared with .*\n.*Nothing would be sent until a person approves it: 2 of/s,
  );
  expect((await json('snapshots list')).all).toBe(1);

  // Ids have seconds alone.
  await sleep(1_100);
  await drop(half, 'tuesday');
  const { id } = await newest('waiting-for-approval');
  expect(await type('status')).toMatch(new RegExp(`Snapshot ${id}, put .* ago, waits for approval`));
  const shown = await type(`snapshots show ${id}`);
  expect(shown).toContain(`snapshots approve ${id}`);
  expect(shown).toMatch(/It would remove 2 enrollments, such as:\n( {2}\S+ · \S+\n){2}/);
  const approved = await json(`snapshots approve ${id} --yes`);
  expect(approved).toMatchObject({ outcome: 'done', decided: { decision: 'approved' } });
  const second = await newest('accepted');
  expect(second).toMatchObject({ id, sent: 2, counts: diff.counts });
  expect(await type(`snapshots approve ${id} --yes`)).toContain('already');
  const { status, err } = await typed(`snapshots reject ${id} --yes --reason no --stack ${office.file}`);
  expect({ status, err }).toEqual({ status: 1, err: expect.stringMatching(/approved\s+snapshot/) });

  await sleep(1_100);
  await drop({ ...half, enrollments: [] }, 'wednesday');
  const third = await newest('waiting-for-approval');
  await type(`snapshots reject ${third.id} --yes --reason broken`);
  await newest('rejected');
  expect((await json('snapshots list')).accepted).toBe(id);
});

test('a zip is looked at while the bucket has no settings, and the crosswalk of the stage is asked', async () => {
  const { s3, description } = { s3: await office.target().s3(), description: office.stack().description };
  await s3.send(new DeleteObjectCommand({ Bucket: description.bucket, Key: 'snapshot-settings.json' }));
  const dynamodb = createQuickDynamoDb(localClient(description.dynamodb));
  const table = createCrosswalkTable({ dynamodb, table: description.crosswalkTable, nowMs: Date.now });
  const bucket = bucketOf('orgUnitCode', 'platform', 'c-bio');
  await table.put([{ bucket, entries: new Map([['c-bio', { ids: [2001] }]]) }]);
  const file = join(office.folder, 'first.zip');
  writeFileSync(file, await zipOf(entriesOfSis(smallSis())));
  expect(await json(`snapshots diff ${file}`)).toMatchObject({
    settings: { roles: { student: null, teacher: null }, orgUnitCode: 'sourcedId' },
    crosswalk: { orgUnitCode: 0 },
    trial: { of: 9 },
  });
});

test('a table is compared with the last of its name; a mapping on this machine shows what it would change', async () => {
  const mapping = (roleId: number) => {
    const data = { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId: { value: roleId } };
    return JSON.stringify({ messages: [{ function: 'enrollment-create', data, key: ['COURSE', 'LOGIN'] }] });
  };
  await put('snapshot-mapping.json', mapping(110));
  await put('snapshots/registrations.csv', 'COURSE,LOGIN\nBIO-101,ada\n');
  const { id, key, counts } = await newest('accepted');
  expect({ key, counts }).toMatchObject({ key: 'snapshots/registrations.csv', counts: { created: 1 } });
  expect(await type('snapshots list')).toContain(`The next registrations.csv is compared with ${id}.`);
  expect(await type(`snapshots show ${id}`)).toContain(
    'The next registrations.csv is compared with this one.',
  );

  const file = join(office.folder, 'registrations.csv');
  writeFileSync(file, 'COURSE;LOGIN\nBIO-101;ada\nBIO-101;ben\n');
  const diff = await json(`snapshots diff ${file}`);
  expect(diff).toMatchObject({ against: id, of: 1, counts: { created: 1, unchanged: 1 } });
  const map = join(office.folder, 'mapping.json');
  writeFileSync(map, mapping(109));
  const mapped = await json(`snapshots diff ${file} --map ${map}`);
  expect(mapped).toMatchObject({ against: id, of: 2, counts: { created: 1, updated: 1 } });
  const half = join(office.folder, 'export.zip');
  writeFileSync(half, '');
  for (const [line, why] of [
    [`snapshots diff ${half} --map ${map}`, /A mapping is for a table/],
    [`snapshots diff ${file} --map ${map}.none`, /There is no file/],
  ] as const)
    expect(await typed(`${line} --stack ${office.file}`)).toMatchObject({
      status: 2,
      err: expect.stringMatching(why),
    });
});
