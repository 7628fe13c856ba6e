import { gzipSync } from 'node:zlib';
import { CreateBucketCommand, DeleteObjectCommand } from '@aws-sdk/client-s3';
import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { beforeEach, describe, expect, test } from 'vitest';
import { integration as enrollmentCreate } from '../../functions/enrollment-create.ts';
import { integration as enrollmentRemove } from '../../functions/enrollment-remove.ts';
import { integration as gradePush } from '../../functions/grade-push.ts';
import { decisionOn } from '../../lib/operate/reviews/reconcile/choose-findings.ts';
import {
  acceptedPrefix,
  type Finding,
  latestKey,
  type Report,
  reportKey,
} from '../../lib/scheduled/reconcile/record.ts';
import { requestIn } from '../../lib/scheduled/reconcile/request.ts';
import { compare, type Stage, send } from '../effect/stage.ts';
import { filled } from '../lib/delivery/crosswalk/filled.ts';
import { stateLine } from '../lib/sources/snapshots/state-line.ts';
import { localClient } from '../local/aws/aws.ts';
import { addLedgerTable } from '../local/aws/tables.ts';
import { jobForTests } from './job-for-tests.ts';

const course = 2001;
const [learner, instructor] = [110, 109];
let stage: Stage;
let tries = 0;
const bucket = () => `bucket-${tries}`;
const job = jobForTests('reconcile', { bucket });
const { time, stack, controls, put, jsonAt } = job;

// The ledger and the bucket are another one's for each test.
beforeEach(async () => {
  tries += 1;
  const settings = { LEDGER_TABLE: `ledger-${tries}`, RECONCILE_BUCKET: bucket() };
  stage = { stack: stack(), settings, rest: async () => time.pass(10_000) };
  await addLedgerTable(stack().description.dynamodb, settings.LEDGER_TABLE);
  await stack().s3.send(new CreateBucketCommand({ Bucket: bucket() }));
});

/** With settings of its own. */
const staged = (settings: Record<string, string>): Stage => ({
  ...stage,
  settings: { ...stage.settings, ...settings },
});

const grade = (userId: number, points: number, more: object = {}) => ({
  ...{ orgUnitId: course, gradeObjectId: 5001, userId, grade: { type: 'numeric', points } },
  ...{ comments: 'well done', privateComments: '' },
  ...more,
});
const grades = (...data: object[]) => send(stage, { integration: gradePush, data });
const enroll = (...userIds: number[]) =>
  send(stage, {
    integration: enrollmentCreate,
    data: userIds.map((userId) => ({ orgUnitId: course, userId, roleId: learner })),
  });
const classesIn = ({ tallies }: Report) => {
  const all: Record<string, number> = {};
  for (const { byClass } of Object.values(tallies))
    for (const [name, count] of Object.entries(byClass)) if (count > 0) all[name] = (all[name] ?? 0) + count;
  return all;
};
/** The key of the digests. */
const rotate = async (value: string) => {
  const client = new SecretsManagerClient(localClient(stack().description.secretsManager));
  const SecretId = stack().description.secrets.ledgerKey;
  await client.send(new PutSecretValueCommand({ SecretId, SecretString: value.repeat(64) }));
  client.destroy();
};
const hour = 3_600_000;
const at = (offsetMs: number): string => new Date(Date.now() + offsetMs).toISOString();

test('of what is as it was sent there is nothing to tell, and the platform is asked once for each', async () => {
  await grades(grade(301, 7), grade(303, 8, { comments: 'well done\nreally ' }));
  await enroll(301, 303);
  // The platform may change the line ends and edges of a comment.
  const comments = { content: 'well done\r\nreally', type: 'Text' as const };
  await controls().change({ gradeValues: [{ gradeObjectId: 5001, userId: 303, comments }] });
  const before = (await controls().requests()).length;
  const { report, findings } = await compare(stage, { whole: true });
  expect(findings).toEqual([]);
  expect(report).toMatchObject({ state: 'whole', entries: 4, findings: 0, calls: 3, snapshots: [] });
  expect(classesIn(report)).toEqual({ same: 4 });
  expect((await controls().requests()).slice(before).map(({ method }) => method)).toEqual([
    'GET',
    'GET',
    'GET',
  ]);
  expect(await jsonAt(latestKey)).toEqual({ id: report.id });
  expect(await jsonAt(reportKey(report.id))).toEqual(report);
});

test('a removed enrollment is as it was sent where nobody is enrolled, and a fault where somebody is', async () => {
  await enroll(301, 303);
  await send(stage, {
    integration: enrollmentRemove,
    data: [301, 303].map((userId) => ({ orgUnitId: course, userId })),
  });
  await controls().seed({ enrollments: [{ orgUnitId: course, userId: 303, roleId: learner }] });
  const { findings } = await compare(stage, { whole: true });
  expect(findings).toMatchObject([{ class: 'different', resource: `enrollment/${course}/303` }]);
});

test('a finding tells who and what and when, by which message, and no value', async () => {
  await grades(grade(301, 7.25));
  await controls().change({
    gradeValues: [{ gradeObjectId: 5001, userId: 301, pointsNumerator: 3.125, lastModified: at(-hour) }],
  });
  const { findings } = await compare(stage, { whole: true });
  expect(findings).toEqual([
    {
      class: 'older',
      resource: `grade/${course}/5001/301`,
      subject: { kind: 'grade', orgUnitId: course, gradeObjectId: 5001, userId: 301 },
      fields: ['grade'],
      reason: 'recent',
      writtenMs: expect.any(Number),
      messageId: expect.stringMatching(/^[\w-]{36}$/),
      changedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    },
  ]);
  // 37.255 are seconds of a time.
  expect(JSON.stringify(findings)).not.toMatch(/(?<!\d)(7\.25|3\.125)|well done/);
});

test('what is in progress and is written again meanwhile is no fault', async () => {
  await grades(grade(301, 7));
  await controls().remove({ gradeValues: [{ gradeObjectId: 5001, userId: 301 }] });
  const hasWaited = job.meanwhile(() => grades(grade(301, 9)));
  // A busy machine takes longer than the two seconds that a write is in progress elsewhere here.
  const { findings, report } = await compare(staged({ QUEUE_BACKLOG_SECONDS: '60' }), { whole: true });
  expect(hasWaited()).toBe(true);
  expect(findings).toEqual([]);
  expect(classesIn(report)).toEqual({ same: 1 });
});

describe('a night', () => {
  const old = { RECONCILE_RECENT_HOURS: '0.0001' };

  /** All are older than what is recent. */
  const older = async (count: number) => {
    const userIds = Array.from({ length: count }, (_, place) => 10_001 + place);
    await controls().seed({ users: userIds.map((userId) => ({ userId })) });
    await grades(...userIds.map((userId) => grade(userId, 5)));
    time.pass(500);
  };

  test('takes a sample of what is older, of the size that is wanted, and has the rest take turns', async () => {
    await older(20);
    const settings = { ...old, RECONCILE_SAMPLE: '10', RECONCILE_NIGHTS: '1000000' };
    const { report: first } = await compare(staged(settings));
    // How many there are is known by the first.
    expect(first).toMatchObject({ share: 1, tallies: { sample: { selected: 20, looked: 20 } } });
    const { report } = await compare(staged(settings));
    expect(report.share).toBe(0.5);
    const { selected, looked } = report.tallies.sample;
    expect(looked).toBe(selected);
    expect(selected).toBeLessThan(20);
    const { sample, slice } = (await compare(staged({ ...settings, RECONCILE_NIGHTS: '1' }))).report.tallies;
    expect(sample.looked + slice.looked).toBe(20);
    expect(slice.looked).toBeGreaterThan(0);
  });

  test('chooses by chance no more of what is older after a run of all, nor after one that failed', async () => {
    await older(10);
    const settings = { ...old, RECONCILE_SAMPLE: '3', RECONCILE_NIGHTS: '1000000' };
    await compare(staged(settings), { whole: true });
    const { report } = await compare(staged(settings));
    expect(report.share).toBeCloseTo(0.3);
    // Chance may leave out all that is older: this is looked at in any case, and so what was accepted is read.
    await grades(grade(303, 8));
    await put('reconcile/accepted/wrong.json', '{"by":1}');
    await expect(compare(staged(settings))).rejects.toThrow();
    await stack().s3.send(
      new DeleteObjectCommand({ Bucket: bucket(), Key: 'reconcile/accepted/wrong.json' }),
    );
    expect((await compare(staged(settings))).report.share).toBeCloseTo(0.3);
  });

  test('that is too short says how far it came, and the next one looks at all that it has not reached', async () => {
    await grades(grade(301, 7), grade(303, 8));
    // All that is recent is looked at, where there is time.
    const first = await compare(staged({ RECONCILE_LONGEST_HOURS: '0.0000001' }));
    expect(first.findings).toEqual([]);
    expect(first.report).toMatchObject({
      ...{ state: 'partial', tallies: { recent: { selected: 2, looked: 0 } } },
    });
    time.pass(500);
    const { report } = await compare(staged(old));
    expect(report.tallies.recent).toMatchObject({ selected: 2, looked: 2 });
    const { report: third } = await compare(staged(old));
    expect(third.tallies.recent).toMatchObject({ selected: 0 });
  });
});

test('it waits while the platform asks it to, and then goes on', async () => {
  await grades(grade(301, 7), grade(303, 8));
  await controls().fault(
    { status: 429, headers: { 'retry-after': '30' } },
    { method: 'GET', path: '/values/', times: 2 },
  );
  // Else it would wait within its invocation.
  const { report, findings } = await compare(stage, { whole: true }, 3_000);
  expect(findings).toEqual([]);
  expect(report).toMatchObject({ state: 'whole', tallies: { recent: { selected: 2, looked: 2 } } });
});

test('what an operator has accepted is counted, and no finding until it is written, or the platform changes it, again', async () => {
  await grades(grade(301, 7));
  const spoil = (pointsNumerator: number, afterMs: number) =>
    controls().change({
      gradeValues: [{ gradeObjectId: 5001, userId: 301, pointsNumerator, lastModified: at(afterMs) }],
    });
  const decided = { by: 'somebody', why: 'it was agreed' };
  await spoil(3, -hour);
  const { findings } = await compare(stage, { whole: true });
  await put(`${acceptedPrefix}one.json`, JSON.stringify(decisionOn(findings, decided)));
  const second = await compare(stage, { whole: true });
  expect(second.findings).toEqual([]);
  expect(second.report).toMatchObject({ findings: 0, accepted: 1 });
  await spoil(0, -2 * hour);
  const third = await compare(stage, { whole: true });
  expect(third.findings).toMatchObject([{ class: 'older' }]);
  // A decision that does not tell when the platform changed it is one on whatever it holds.
  const [{ changedAt: _, ...finding } = {} as Finding] = third.findings;
  await put(`${acceptedPrefix}two.json`, JSON.stringify(decisionOn([finding], decided)));
  await spoil(1, -3 * hour);
  expect((await compare(stage, { whole: true })).report).toMatchObject({ findings: 0, accepted: 1 });
  await grades(grade(301, 7.5));
  await spoil(1, -3 * hour);
  expect((await compare(stage, { whole: true })).findings).toHaveLength(1);
});

test('a rotation of the key makes no finding', async () => {
  await grades(grade(301, 7), grade(303, 8));
  await rotate('a');
  await controls().change({
    gradeValues: [{ gradeObjectId: 5001, userId: 303, pointsNumerator: 3, lastModified: at(-hour) }],
  });
  const { findings, report } = await compare(stage, { whole: true });
  expect(findings).toMatchObject([{ class: 'older', resource: `grade/${course}/5001/303` }]);
  expect(classesIn(report)).toEqual({ same: 1, older: 1 });
  await rotate('b');
  const second = await compare(stage, { whole: true });
  expect(second.findings).toEqual([]);
  expect(second.report.tallies.recent).toMatchObject({ looked: 2, uncompared: 2 });
});

describe('with a snapshot of the SIS', () => {
  const id = '20261101T020000Z-0a1b2c3d';
  const users: Record<string, number> = { lena: 301, tom: 303, ina: 10_001, ute: 10_002, max: 10_003 };

  const snapshot = async (names: string[], { snapshotId = id, roleId = learner, ...more } = {}) => {
    const lines = names.map((userName) =>
      stateLine('2', `class\u001f${userName}`, {
        ...{ data: { orgUnitCode: 'MATH-101', userName, roleId }, id: userName, role: 'student' },
      }),
    );
    await put(`snapshot-records/${snapshotId}/state.gz`, gzipSync(lines.map((line) => `${line}\n`).join('')));
    const accepted = { id: snapshotId, number: 1, columns: {}, by: '[]', ...more };
    await put('snapshot-records/accepted.json', JSON.stringify(accepted));
  };

  const tableId = '20261102T020000Z-0a1b2c3e';
  /** Beside the zip. */
  const table = async (names: string[], roleId = learner) => {
    const lines = names.map((userName) =>
      stateLine('0', userName, { data: { orgUnitCode: 'MATH-101', userName, roleId } }),
    );
    await put(`snapshot-records/${tableId}/state.gz`, gzipSync(lines.map((line) => `${line}\n`).join('')));
    const by = JSON.stringify([['enrollment-create', 'userName']]);
    const accepted = { id: tableId, number: 1, columns: {}, by };
    await put('snapshot-records/accepted/more.csv.json', JSON.stringify(accepted));
  };

  beforeEach(async () => {
    await controls().seed({ users: [10_001, 10_002, 10_003].map((userId) => ({ userId })) });
    const { enrollments = [] } = await controls().state();
    await controls().remove({
      enrollments: enrollments
        .filter(({ orgUnitId }) => orgUnitId === course)
        .map(({ orgUnitId, userId }) => ({ orgUnitId: Number(orgUnitId), userId: Number(userId) })),
    });
    await put(...filled('orgUnitCode', [['MATH-101', course]]));
    await put(...filled('userName', Object.entries(users)));
  });

  test('it names who is enrolled there and not here, and the other way round', async () => {
    await controls().seed({
      enrollments: [
        { orgUnitId: course, userId: 301, roleId: learner },
        { orgUnitId: course, userId: 10_001, roleId: instructor },
        { orgUnitId: course, userId: 10_003, roleId: learner },
        // In a role that no snapshot gives.
        { orgUnitId: course, userId: 303, roleId: instructor },
      ],
    });
    await snapshot(['lena', 'ute', 'ina']);
    const { report, findings } = await compare(stage, { whole: true });
    expect(findings.map(({ class: itsClass, resource }) => `${itsClass} ${resource}`).sort()).toEqual([
      `different enrollment/${course}/10001`,
      `extra enrollment/${course}/10003`,
      `missing enrollment/${course}/10002`,
    ]);
    expect(report).toMatchObject({ snapshots: [id], unknown: 0, entries: 0 });
    expect(classesIn(report)).toEqual({ same: 1, different: 1, extra: 1, missing: 1 });
  });

  test('what was written since holds in its place', async () => {
    await snapshot(['lena', 'tom']);
    await enroll(301, 10_001);
    await send(stage, { integration: enrollmentRemove, data: [{ orgUnitId: course, userId: 303 }] });
    const { findings } = await compare(stage, { whole: true });
    expect(findings).toEqual([]);
  });

  test('where it has users whom the crosswalk does not know, nobody is called too many', async () => {
    await controls().seed({ enrollments: [{ orgUnitId: course, userId: 10_003, roleId: learner }] });
    await snapshot(['nobody knows']);
    const { findings, report } = await compare(stage, { whole: true });
    expect(findings).toEqual([]);
    expect(report).toMatchObject({ unknown: 1 });
  });

  test('of an enrollment that is looked at once more, nobody beside it is called too many', async () => {
    const both = [301, 303].map((userId) => ({ orgUnitId: course, userId, roleId: learner }));
    await controls().seed({ enrollments: both });
    await snapshot(['lena', 'tom', 'ina']);
    await enroll(10_001);
    await controls().remove({ enrollments: [{ orgUnitId: course, userId: 10_001 }] });
    const { findings } = await compare(stage, { whole: true });
    expect(findings.filter(({ class: its }) => its === 'extra')).toEqual([]);
  });

  test('while one of two is being sent, it says nothing, and nobody whom it may have is called too many', async () => {
    const both = [301, 303].map((userId) => ({ orgUnitId: course, userId, roleId: learner }));
    await controls().seed({ enrollments: both });
    await snapshot(['lena', 'ina'], { sending: true } as object);
    await table(['tom']);
    const { findings, report } = await compare(stage, { whole: true });
    expect(findings).toEqual([]);
    expect(report.snapshots).toEqual([tableId]);
  });

  test('what two of them contradict each other in is no fault where the platform has one of them', async () => {
    await controls().seed({ enrollments: [{ orgUnitId: course, userId: 301, roleId: instructor }] });
    await snapshot(['lena']);
    await table(['lena'], instructor);
    const { findings } = await compare(stage, { whole: true });
    expect(findings).toEqual([]);
  });

  test('what was written since by a key that is gone is not called missing, nor too many', async () => {
    await snapshot(['lena', 'tom']);
    await enroll(301, 10_001);
    await send(stage, { integration: enrollmentRemove, data: [{ orgUnitId: course, userId: 303 }] });
    await controls().seed({ enrollments: [{ orgUnitId: course, userId: 301, roleId: learner }] });
    await rotate('c');
    await rotate('d');
    const { findings } = await compare(stage, { whole: true });
    expect(findings).toEqual([]);
  });
});

test('what differs from the ledger and from a snapshot is found once', async () => {
  const id = '20261101T020000Z-0a1b2c3d';
  await enroll(301, 303);
  await controls().remove({ enrollments: [301, 302].map((userId) => ({ orgUnitId: course, userId })) });
  const line = stateLine('2', 'class\u001flena', {
    ...{ data: { orgUnitId: course, userId: 301, roleId: learner }, id: 'lena', role: 'student' },
  });
  await put(`snapshot-records/${id}/state.gz`, gzipSync(`${line}\n`));
  await put('snapshot-records/accepted.json', JSON.stringify({ id, number: 1, columns: {}, by: '[]' }));
  const { findings, report } = await compare(stage, { whole: true });
  expect(findings).toMatchObject([
    { class: 'missing', resource: `enrollment/${course}/301`, reason: 'recent' },
  ]);
  expect(report).toMatchObject({ findings: 1, open: { missing: 1 }, byKind: { enrollment: { missing: 1 } } });
  expect(report.tallies.snapshot).toMatchObject({ looked: 1, byClass: { missing: 1 } });
});

test('what fails it is told in its report', async () => {
  await grades(grade(301, 7));
  await put('reconcile/accepted/wrong.json', '{"by":1}');
  const id = '20261123T020000Z-00000001';
  await expect(compare(stage, { whole: true, id })).rejects.toThrow();
  expect(await jsonAt(reportKey(id))).toMatchObject({
    id,
    state: 'failed',
    why: expect.stringMatching(/wrong.json is not valid.*by/s),
  });
});

test('a user whom the classlist has twice is enrolled in both roles, and one whose role is hidden all the same', async () => {
  await enroll(301, 303);
  await send(stage, { integration: enrollmentRemove, data: [{ orgUnitId: course, userId: 303 }] });
  const user = { Identifier: '301', RoleId: learner };
  await controls().fault(
    {
      status: 200,
      body: {
        PagingInfo: { HasMoreItems: false, Bookmark: '' },
        Items: [user, { ...user, RoleId: instructor }, { Identifier: '303' }],
      },
    },
    { method: 'GET', path: '/classlist/', times: 9 },
  );
  const { findings } = await compare(stage, { whole: true });
  expect(findings).toMatchObject([{ class: 'different', resource: `enrollment/${course}/303` }]);
});

test('what a run has found is told, even if it fails later', async () => {
  await grades(grade(301, 7), grade(303, 8));
  await controls().remove({ gradeValues: [{ gradeObjectId: 5001, userId: 303 }] });
  await controls().fault(
    { status: 429, headers: { 'retry-after': '5' } },
    { method: 'GET', path: '/values/301$', times: 1 },
  );
  const id = '20261123T020000Z-00000002';
  job.meanwhile(() => put('reconcile/accepted/wrong.json', '{"by":1}'));
  const comparing = compare(staged({ RECONCILE_CONCURRENCY: '1' }), { whole: true, id });
  await expect(comparing).rejects.toThrow();
  expect(await jsonAt(reportKey(id))).toMatchObject({ state: 'failed', entries: 2, parts: 1 });
});

test('what the platform refuses or fails to answer alone is told as unreadable, with its cause, and the rest is looked at', async () => {
  await controls().seed({ users: [10_001, 10_002].map((userId) => ({ userId })) });
  await grades(...[301, 303, 10_001, 10_002].map((userId) => grade(userId, 7)));
  await controls().remove({ gradeValues: [{ gradeObjectId: 5001, userId: 303 }] });
  await controls().fault({ status: 403 }, { method: 'GET', path: '/values/301$', times: 1_000 });
  await controls().fault({ status: 500 }, { method: 'GET', path: '/values/1000.$', times: 1_000 });
  const { report, findings } = await compare(staged({ RECONCILE_LONGEST_HOURS: '0.03' }), { whole: true });
  expect(findings.map(({ class: its, resource }) => `${its} ${resource}`).sort()).toEqual([
    `missing grade/${course}/5001/303`,
    `unreadable grade/${course}/5001/10001`,
    `unreadable grade/${course}/5001/10002`,
    `unreadable grade/${course}/5001/301`,
  ]);
  expect(findings.find(({ resource }) => resource.endsWith('/301'))).toMatchObject({
    ...{ kind: 'intercepted', error: expect.stringContaining('403') },
  });
  // Each was in progress at the first look, and was looked at once more.
  expect(report).toMatchObject({
    state: 'whole',
    tallies: { recent: { selected: 4, looked: 4, uncompared: 0 } },
  });
});

test('it takes an empty event, a schedule’s and one that asks for all', () => {
  expect(requestIn({})).toEqual({ whole: false });
  expect(requestIn({ 'detail-type': 'Scheduled Event' })).toEqual({ whole: false });
  expect(requestIn({ whole: true })).toEqual({ whole: true });
  expect(() => requestIn({ wholly: true })).toThrow(/wholly/);
});
