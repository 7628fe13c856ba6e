import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decideSnapshot } from '../../../../lib/options/snapshots/desk/decide.ts';
import { readOnCall } from '../../../../lib/options/snapshots/desk/on-call.ts';
import { openSnapshots, readOpen } from '../../../../lib/options/snapshots/desk/open.ts';
import { listSnapshots, showSnapshot } from '../../../../lib/options/snapshots/desk/read.ts';
import { unacceptedFilesOf } from '../../../../lib/options/snapshots/desk/unaccepted.ts';
import {
  acceptedKey,
  recordKey,
  reportKey,
  type SnapshotRecord,
} from '../../../../lib/options/snapshots/state/record.ts';
import { type UnacceptedFile, unacceptedPrefix } from '../../../../lib/options/snapshots/state/unaccepted.ts';
import type { Target } from '../../../../lib/stage/target.ts';
import { never, type Office, officesForTests } from '../../../lib/desk/cli/office.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { type Bucket, putText } from '../../../local/bucket.ts';
import { type DurableExecutions, startDurableExecutions } from '../../../local/lambda/durable-executions.ts';
import { recordOf, waitingImport, writeSnapshot } from './waiting-import.ts';

const offices = officesForTests();
let executions: DurableExecutions;
let office: Office;
let target: Target;
beforeAll(async () => {
  executions = await startDurableExecutions();
  office = await offices.open();
  target = { ...office.target, lambdaOptions: localClient(executions.url), who: 'jane' };
});
afterAll(() => executions.close());

const put = async (key: string, text: string) => putText(await bucketOf(), key, text);
const bucketOf = async (): Promise<Bucket> => ({ s3: await target.s3(), bucket: office.bucket });
const write = async (record: SnapshotRecord) => writeSnapshot(await bucketOf(), record);

const agreeing = { confirm: async () => true, signal: never, patienceMs: 3_000 };
const approved = { ...agreeing, decision: 'approved' as const };
const decide = (id: string, options: Partial<Parameters<typeof decideSnapshot>[2]> = {}) =>
  decideSnapshot(target, id, { ...approved, audit: office.audit, ...options });

const waiting = async (options = {}) => waitingImport(executions, await bucketOf(), options);

describe('the list', () => {
  test('has the newest first, says which was accepted last, and names those that wait', async () => {
    const older = await write(recordOf());
    const newer = await write(recordOf({ state: 'waiting-for-approval' }));
    await put(recordKey('20261123T235900Z-00000000'), 'of a version to come');
    await put(acceptedKey, JSON.stringify({ id: older.id }));
    const { snapshots, accepted, all } = await listSnapshots(target, { limit: 3, signal: never });
    expect(snapshots).toEqual([newer, older]);
    expect({ accepted, all }).toEqual({ accepted: older.id, all: 3 });
    expect((await listSnapshots(target, { limit: 2, signal: never })).snapshots).toEqual([newer]);
    expect(await openSnapshots(target, never)).toEqual({
      snapshots: [newer],
      waiting: [],
      troubled: [],
      quietFeeds: [],
    });
  });
});

test('who is on call is told of what nobody decides on, with the files of its feed alone', async () => {
  const exports = async () => (await readOnCall(target, never)).decisions.exports ?? 0;
  await write(recordOf({ state: 'waiting-for-approval' }));
  const undecided = await exports();
  const putAt = new Date().toISOString();
  for (const key of ['snapshots/next.zip', 'snapshots/rooms.csv', 'snapshots/hr/night.zip']) {
    const entry = { key, etag: '', sizeBytes: 1, putAt, seenAt: putAt, is: 'waiting' };
    await put(`${unacceptedPrefix}${key.replaceAll('/', '-')}.json`, JSON.stringify(entry));
  }
  expect((await exports()) - undecided).toBe(1);
});

test('what waits for a decision is told, however many others came since', async () => {
  const exports = async () => (await readOnCall(target, never)).decisions.exports ?? 0;
  const held = await write(recordOf({ key: 'snapshots/held.csv', state: 'waiting-for-approval' }));
  for (let at = 0; at < 12; at += 1) await write(recordOf());
  const before = await exports();
  const putAt = new Date().toISOString();
  const entry = { key: held.key, etag: '', sizeBytes: 1, putAt, seenAt: putAt, is: 'held', id: held.id };
  await put(`${unacceptedPrefix}held.json`, JSON.stringify(entry));
  const { open } = await readOpen(target, never, async () => undefined);
  expect(open.snapshots).toContainEqual(held);
  expect((await exports()) - before).toBe(1);
});

test('the trouble of one file does not hide that of another', async () => {
  const entry = (name: string, is: 'failed' | 'ignored', at: number): UnacceptedFile => {
    const putAt = new Date(Date.now() - 60_000 + at).toISOString();
    return { key: `snapshots/${name}`, etag: '', sizeBytes: 1, putAt, seenAt: putAt, is };
  };
  const all = [
    entry('roster_1.zip', 'failed', 1),
    entry('roster_2.zip', 'failed', 2),
    entry('tonight.zip', 'failed', 3),
    entry('notes.txt', 'ignored', 4),
    entry('enrollments.tsv', 'ignored', 5),
    entry('enrollments.tsv', 'ignored', 6),
  ];
  const { troubled } = await unacceptedFilesOf(all, target);
  expect(troubled.map(({ key }) => key)).toEqual(
    ['enrollments.tsv', 'notes.txt', 'tonight.zip', 'roster_2.zip'].map((name) => `snapshots/${name}`),
  );
});

describe('one snapshot', () => {
  test('is shown with the first rows that were not used', async () => {
    const record = await write(recordOf());
    const rows = Array.from({ length: 12 }, (_, at) => `"users.csv","${at + 2}","username","is ""empty"""`);
    await put(reportKey(record.id), `file,line,column,problem\n${rows.join('\n')}\n`);
    const shown = await showSnapshot(target, record.id.slice(0, -3), never);
    expect(shown).toMatchObject({ ...record, isAccepted: false });
    expect(shown.refusedRows).toHaveLength(10);
    expect(shown.refusedRows[0]).toEqual({
      file: 'users.csv',
      line: '2',
      column: 'username',
      problem: 'is "empty"',
    });
  });

  test.each([
    ['none', '2027', /There is no snapshot 2027/],
    ['no id at all', '../accepted', /There is no snapshot/],
    ['more than one', '2026', /snapshots have an id that begins with 2026, such as/],
  ])('is not found by what names %s', async (_, given, sentence) => {
    await expect(showSnapshot(target, given, never)).rejects.toThrow(sentence);
  });
});

describe('a decision', () => {
  test.each([
    ['approved', 'sending', 'snapshots approve'],
    ['rejected', 'rejected', 'snapshots reject'],
  ] as const)('that it is %s reaches the import, is audited, and holds', async (decision, state, command) => {
    const { record, ended } = await waiting();
    const reason = 'the summer courses end';
    const decided = await decide(record.id, { decision, reason });
    expect(decided).toMatchObject({ outcome: 'done', snapshot: { state, decided: { by: 'jane', reason } } });
    expect(await ended).toMatchObject({ payload: { decision, by: 'jane', at: expect.any(String), reason } });
    expect(office.audited.slice(-2)).toMatchObject([
      { audit: 'begin', command, reason, filter: { snapshot: record.id }, counts: { removed: 60 } },
      { audit: 'end', counts: { [decision]: 1 } },
    ]);
    expect(await decide(record.id, { decision })).toMatchObject({ outcome: 'already' });
    const other = decision === 'approved' ? 'rejected' : 'approved';
    await expect(decide(record.id, { decision: other })).rejects.toThrow(
      new RegExp(`^jane ${decision} snapshot ${record.id} at 20.*: the summer courses end$`),
    );
  });

  test('of two people at once is the first one’s, and the other one is told', async () => {
    const { record } = await waiting();
    const both = await Promise.allSettled([
      decide(record.id),
      decide(record.id, { decision: 'rejected', reason: 'no' }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { message: expect.stringMatching(/^jane (approved|rejected) snapshot/) },
    });
  });

  test('that nobody agrees to changes nothing', async () => {
    const { record, stop } = await waiting();
    const audited = office.audited.length;
    expect(await decide(record.id, { confirm: async () => false })).toMatchObject({ outcome: 'not agreed' });
    expect(office.audited).toHaveLength(audited);
    stop();
  });

  test('is told as sent where the import does not write it down in time', async () => {
    const { record } = await waiting({ hears: false });
    expect(await decide(record.id, { patienceMs: 0 })).toMatchObject({ outcome: 'unheard' });
  });

  test('is refused where the import waits no longer', async () => {
    const { record, stop } = await waiting();
    stop();
    await expect(decide(record.id, { patienceMs: 0 })).rejects.toThrow(/no longer waits/);
    expect(office.audited.at(-1)).toMatchObject({ audit: 'end', counts: { approved: 0 } });
  });

  test.each<[SnapshotRecord['state'], string | undefined, RegExp]>([
    ['comparing', undefined, /Snapshot .* cannot be approved: it is still being compared\.$/],
    ['accepted', undefined, /: its changes were few enough, and were sent\.$/],
    ['rejected', undefined, /: it was not approved in time\.$/],
    ['failed', 'no roles', /: its import failed \(no roles\)\.$/],
    ['superseded', undefined, /: a newer snapshot took its place\.$/],
    ['waiting-for-approval', undefined, /is not ready for a decision yet/],
  ])('is refused of one that is %s', async (state, why, sentence) => {
    const { id } = await write(recordOf({ state, ...(why !== undefined && { why }) }));
    await expect(decide(id)).rejects.toThrow(sentence);
  });
});
