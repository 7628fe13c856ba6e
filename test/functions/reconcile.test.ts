import { gzipSync } from 'node:zlib';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { integration as enrollmentCreate } from '../../functions/enrollment-create.ts';
import { integration as enrollmentRemove } from '../../functions/enrollment-remove.ts';
import { integration as gradePush } from '../../functions/grade-push.ts';
import { handler } from '../../functions/reconcile.ts';
import { createDynamoDb } from '../../lib/aws/dynamodb.ts';
import { bucketOf, createCrosswalkTable } from '../../lib/crosswalk/table.ts';
import { decisionOn } from '../../lib/reconcile/desk/choose.ts';
import { acceptedPrefix, latestKey, type Report, reportKey } from '../../lib/reconcile/record.ts';
import { requestIn } from '../../lib/reconcile/request.ts';
import { stateLine } from '../../lib/snapshots/comparison.ts';
import { compare, findingsOf, type Stage, send } from '../effect/stage.ts';
import { localClient } from '../local/aws.ts';
import { type Controls, controlsOf } from '../local/controls.ts';
import { startLambda } from '../local/lambda.ts';
import { durableOptionsOf, type Stack, settingsOf, startStack } from '../local/stack.ts';
import { addCrosswalkTable, addLedgerTable } from '../local/tables.ts';

const course = 2001;
const [learner, instructor] = [110, 109];
let stack: Stack;
let controls: Controls;
let s3: S3Client;

let stage: Stage;
let tries = 0;

beforeAll(async () => {
  stack = await startStack({ functions: false });
  controls = controlsOf(stack.description);
  s3 = new S3Client({ ...localClient(stack.description.s3), forcePathStyle: true });
});
// The ledger, the crosswalk and the bucket are another one's for each test.
beforeEach(async () => {
  tries += 1;
  const [ledger, crosswalk, bucket] = [`ledger-${tries}`, `crosswalk-${tries}`, `bucket-${tries}`];
  // Of the same resource the next container waits for the lease of the one before.
  const brief = { ATTEMPT_TIMEOUT_MS: '1000', RESERVE_MS: '500', LEDGER_GRACE_SECONDS: '1' };
  const own = { LEDGER_TABLE: ledger, CROSSWALK_TABLE: crosswalk, RECONCILE_BUCKET: bucket };
  stage = { stack, settings: { ...brief, ...own } };
  await controls.reset();
  await addLedgerTable(stack.description.dynamodb, ledger);
  await addCrosswalkTable(stack.description.dynamodb, crosswalk);
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
});
afterAll(async () => {
  s3.destroy();
  await stack.close();
});

/** With settings of its own. */
const staged = (settings: Record<string, string>): Stage => ({
  stack,
  settings: { ...stage.settings, ...settings },
});
const put = (Key: string, Body: string | Uint8Array) =>
  s3.send(new PutObjectCommand({ Bucket: `bucket-${tries}`, Key, Body }));
const textAt = async (Key: string): Promise<string> => {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: `bucket-${tries}`, Key }));
  return (await Body?.transformToString()) ?? '';
};
const json = async (Key: string): Promise<unknown> => JSON.parse(await textAt(Key));

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
  const client = new SecretsManagerClient(localClient(stack.description.secretsManager));
  const SecretId = stack.description.secrets.ledgerKey;
  await client.send(new PutSecretValueCommand({ SecretId, SecretString: value.repeat(64) }));
  client.destroy();
};
const hour = 3_600_000;
const at = (offsetMs: number): string => new Date(Date.now() + offsetMs).toISOString();

test('of what is as it was sent there is nothing to tell, and the platform is asked once for each', async () => {
  await grades(grade(301, 7), grade(303, 8));
  await enroll(301, 303);
  const before = (await controls.requests()).length;
  const { report, findings } = await compare(stage, { whole: true });
  expect(findings).toEqual([]);
  expect(report).toMatchObject({ state: 'whole', entries: 4, findings: 0, calls: 3, snapshots: [] });
  expect(classesIn(report)).toEqual({ same: 4 });
  expect((await controls.requests()).slice(before).map(({ method }) => method)).toEqual([
    'GET',
    'GET',
    'GET',
  ]);
  expect(await json(latestKey)).toEqual({ id: report.id });
  expect(await json(reportKey(report.id))).toEqual(report);
});

test('a removed enrollment is as it was sent where nobody is enrolled, and a fault where somebody is', async () => {
  await enroll(301, 303);
  await send(stage, {
    integration: enrollmentRemove,
    data: [301, 303].map((userId) => ({ orgUnitId: course, userId })),
  });
  await controls.seed({ enrollments: [{ orgUnitId: course, userId: 303, roleId: learner }] });
  const { findings } = await compare(stage, { whole: true });
  expect(findings).toMatchObject([{ class: 'different', resource: `enrollment/${course}/303` }]);
});

test('a finding tells who and what and when, by which message, and no value', async () => {
  await grades(grade(301, 7.25));
  await controls.change({
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
  expect(JSON.stringify(findings)).not.toMatch(/7\.25|3\.125|well done/);
});

describe('what is in progress', () => {
  test('is looked at once more when it must be over', async () => {
    await grades(grade(301, 7));
    await controls.remove({ gradeValues: [{ gradeObjectId: 5001, userId: 301 }] });
    const { report, findings } = await compare(stage, { whole: true });
    expect(findings).toMatchObject([{ class: 'missing' }]);
    expect(report.tallies.recent).toMatchObject({ selected: 1, looked: 1, uncompared: 0 });
  });

  test('and is written again meanwhile is no fault', { tags: ['long'] }, async () => {
    await grades(grade(301, 7));
    await controls.remove({ gradeValues: [{ gradeObjectId: 5001, userId: 301 }] });
    const comparing = compare(staged({ QUEUE_VISIBILITY_SECONDS: '9' }), { whole: true });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await grades(grade(301, 9));
    const { findings, report } = await comparing;
    expect(findings).toEqual([]);
    expect(classesIn(report)).toEqual({ same: 1 });
  });
});

describe('a night', () => {
  const old = { RECONCILE_RECENT_HOURS: '0.0001' };

  test('looks at all that is recent', async () => {
    await grades(grade(301, 7), grade(303, 8));
    const { report } = await compare(stage);
    expect(report.tallies.recent).toMatchObject({ selected: 2, looked: 2 });
  });

  test('takes a sample of what is older, of about the size that is wanted', async () => {
    const userIds = Array.from({ length: 200 }, (_, place) => 10_001 + place);
    await controls.seed({ users: userIds.map((userId) => ({ userId })) });
    await grades(...userIds.map((userId) => grade(userId, 5)));
    await new Promise((resolve) => setTimeout(resolve, 500));
    const settings = { ...old, RECONCILE_SAMPLE: '60', RECONCILE_NIGHTS: '1000000' };
    const { report: first } = await compare(staged(settings));
    // How many there are is known by the first.
    expect(first).toMatchObject({ share: 1, tallies: { sample: { selected: 200, looked: 200 } } });
    const { report } = await compare(staged(settings));
    expect(report.share).toBeCloseTo(0.3);
    const { selected, looked } = report.tallies.sample;
    expect(looked).toBe(selected);
    expect(selected).toBeGreaterThan(30);
    expect(selected).toBeLessThan(90);
  });

  test('has the rest take turns, and each has had its turn after so many nights', async () => {
    const userIds = Array.from({ length: 60 }, (_, place) => 10_001 + place);
    await controls.seed({ users: userIds.map((userId) => ({ userId })) });
    await grades(...userIds.map((userId) => grade(userId, 5)));
    await new Promise((resolve) => setTimeout(resolve, 500));
    const settings = { ...old, RECONCILE_NIGHTS: '1', RECONCILE_SAMPLE: '1' };
    await compare(staged(settings));
    const { report } = await compare(staged(settings));
    expect(report.tallies.sample.looked + report.tallies.slice.looked).toBe(60);
    expect(report.tallies.slice.looked).toBeGreaterThan(40);
  });

  test('that is too short says how far it came', async () => {
    await grades(grade(301, 7), grade(303, 8));
    const { report, findings } = await compare(staged({ RECONCILE_LONGEST_HOURS: '0.0000001' }));
    expect(findings).toEqual([]);
    expect(report).toMatchObject({ state: 'partial', tallies: { recent: { selected: 2, looked: 0 } } });
  });

  test('looks at all that the night before it has not reached', async () => {
    await grades(grade(301, 7), grade(303, 8));
    const { report: first } = await compare(staged({ RECONCILE_LONGEST_HOURS: '0.0000001' }));
    expect(first.state).toBe('partial');
    await new Promise((resolve) => setTimeout(resolve, 500));
    const { report } = await compare(staged(old));
    expect(report.tallies.recent).toMatchObject({ selected: 2, looked: 2 });
    const { report: third } = await compare(staged(old));
    expect(third.tallies.recent).toMatchObject({ selected: 0 });
  });
});

test('it waits while the platform asks it to, and then goes on', async () => {
  await grades(grade(301, 7), grade(303, 8));
  await controls.fault(
    { status: 429, headers: { 'retry-after': '1' } },
    { method: 'GET', path: '/values/', times: 2 },
  );
  const { report, findings } = await compare(stage, { whole: true });
  expect(findings).toEqual([]);
  expect(report).toMatchObject({ state: 'whole', tallies: { recent: { selected: 2, looked: 2 } } });
});

test('what cannot be read is told with its cause, and the rest is looked at', async () => {
  await grades(grade(301, 7), grade(303, 8));
  await controls.fault({ status: 403 }, { method: 'GET', path: '/values/301$', times: 100 });
  const { report, findings } = await compare(stage, { whole: true });
  expect(classesIn(report)).toEqual({ same: 1, unreadable: 1 });
  expect(findings).toMatchObject([
    { class: 'unreadable', kind: 'intercepted', error: expect.stringContaining('403') },
  ]);
});

test('what an operator has accepted is counted, and no finding any more until it is written again', async () => {
  await grades(grade(301, 7));
  const spoil = () =>
    controls.change({
      gradeValues: [{ gradeObjectId: 5001, userId: 301, pointsNumerator: 3, lastModified: at(-hour) }],
    });
  await spoil();
  const { findings } = await compare(stage, { whole: true });
  const [{ resource, class: itsClass, writtenMs } = { resource: '', class: 'same', writtenMs: 0 }] = findings;
  const accepted = { by: 'somebody', atMs: Date.now(), why: 'it was agreed' };
  await put(
    `${acceptedPrefix}one.json`,
    JSON.stringify({ ...accepted, findings: [{ resource, class: itsClass, writtenMs }] }),
  );
  const second = await compare(stage, { whole: true });
  expect(second.findings).toEqual([]);
  expect(second.report).toMatchObject({ findings: 0, accepted: 1 });
  await grades(grade(301, 7.5));
  await spoil();
  expect((await compare(stage, { whole: true })).findings).toHaveLength(1);
});

test('what an operator has accepted is a finding again where the platform changes it again', async () => {
  await grades(grade(301, 7));
  const spoil = (pointsNumerator: number, afterMs: number) =>
    controls.change({
      gradeValues: [{ gradeObjectId: 5001, userId: 301, pointsNumerator, lastModified: at(afterMs) }],
    });
  await spoil(3, -hour);
  const { findings } = await compare(stage, { whole: true });
  const decision = decisionOn(findings, { by: 'somebody', why: 'it was agreed' });
  await put(`${acceptedPrefix}one.json`, JSON.stringify(decision));
  expect((await compare(stage, { whole: true })).report).toMatchObject({ findings: 0, accepted: 1 });
  await spoil(0, -2 * hour);
  expect((await compare(stage, { whole: true })).findings).toMatchObject([{ class: 'older' }]);
});

test('a rotation of the key makes no finding', async () => {
  await grades(grade(301, 7), grade(303, 8));
  await rotate('a');
  await controls.change({
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

  /** Beside the zip. */
  const table = async (names: string[], roleId = learner) => {
    const snapshotId = '20261102T020000Z-0a1b2c3e';
    const lines = names.map((userName) =>
      stateLine('0', userName, { data: { orgUnitCode: 'MATH-101', userName, roleId } }),
    );
    await put(`snapshot-records/${snapshotId}/state.gz`, gzipSync(lines.map((line) => `${line}\n`).join('')));
    const by = JSON.stringify([['enrollment-create', 'userName']]);
    const accepted = { id: snapshotId, number: 1, columns: {}, by };
    await put('snapshot-records/accepted/more.csv.json', JSON.stringify(accepted));
  };

  beforeEach(async () => {
    await controls.seed({ users: [10_001, 10_002, 10_003].map((userId) => ({ userId })) });
    const { enrollments = [] } = await controls.state();
    await controls.remove({
      enrollments: enrollments
        .filter(({ orgUnitId }) => orgUnitId === course)
        .map(({ orgUnitId, userId }) => ({ orgUnitId: Number(orgUnitId), userId: Number(userId) })),
    });
    const table = createCrosswalkTable({
      ...{ dynamodb: createDynamoDb(localClient(stack.description.dynamodb)), nowMs: Date.now },
      table: `crosswalk-${tries}`,
    });
    const names = [
      { kind: 'orgUnitCode' as const, name: 'MATH-101', ids: [course] },
      ...Object.entries(users).map(([name, userId]) => ({ kind: 'userName' as const, name, ids: [userId] })),
    ];
    await table.put(
      names.map(({ kind, name, ids }) => ({
        bucket: bucketOf(kind, 'platform', name),
        entries: new Map([[name, { ids: [...ids] }]]),
      })),
    );
  });

  test('it names who is enrolled there and not here, and the other way round', async () => {
    await controls.seed({
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
    await controls.seed({ enrollments: [{ orgUnitId: course, userId: 10_003, roleId: learner }] });
    await snapshot(['nobody knows']);
    const { findings, report } = await compare(stage, { whole: true });
    expect(findings).toEqual([]);
    expect(report).toMatchObject({ unknown: 1 });
  });

  test('of an enrollment that is looked at once more, nobody beside it is called too many', async () => {
    const both = [301, 303].map((userId) => ({ orgUnitId: course, userId, roleId: learner }));
    await controls.seed({ enrollments: both });
    await snapshot(['lena', 'tom', 'ina']);
    await enroll(10_001);
    await controls.remove({ enrollments: [{ orgUnitId: course, userId: 10_001 }] });
    const { findings } = await compare(stage, { whole: true });
    expect(findings.filter(({ class: its }) => its === 'extra')).toEqual([]);
  });

  test('while one of two is being sent, nobody whom it may have is called too many', async () => {
    const both = [301, 303].map((userId) => ({ orgUnitId: course, userId, roleId: learner }));
    await controls.seed({ enrollments: both });
    await snapshot(['lena']);
    await put(
      'snapshot-records/accepted.json',
      JSON.stringify({ id, number: 1, columns: {}, by: '[]', sending: true }),
    );
    await table(['tom']);
    const { findings } = await compare(stage, { whole: true });
    expect(findings).toEqual([]);
  });

  test('what two of them contradict each other in is no fault where the platform has one of them', async () => {
    await controls.seed({ enrollments: [{ orgUnitId: course, userId: 301, roleId: instructor }] });
    await snapshot(['lena']);
    await table(['lena'], instructor);
    const { findings } = await compare(stage, { whole: true });
    expect(findings).toEqual([]);
  });

  test('what was written since by a key that is gone is not called missing, nor too many', async () => {
    await snapshot(['lena', 'tom']);
    await enroll(301, 10_001);
    await send(stage, { integration: enrollmentRemove, data: [{ orgUnitId: course, userId: 303 }] });
    await controls.seed({ enrollments: [{ orgUnitId: course, userId: 301, roleId: learner }] });
    await rotate('c');
    await rotate('d');
    const { findings } = await compare(stage, { whole: true });
    expect(findings).toEqual([]);
  });

  test('one that is still being sent says nothing', async () => {
    await snapshot(['lena'], { sending: true } as object);
    const { findings, report } = await compare(stage, { whole: true });
    expect(findings).toEqual([]);
    expect(report.snapshots).toEqual([]);
  });
});

test('what differs from the ledger and from a snapshot is found once', async () => {
  const id = '20261101T020000Z-0a1b2c3d';
  await enroll(301, 303);
  await controls.remove({ enrollments: [301, 302].map((userId) => ({ orgUnitId: course, userId })) });
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
  expect(await json(reportKey(id))).toMatchObject({
    id,
    state: 'failed',
    why: expect.stringMatching(/wrong.json is not usable.*by/s),
  });
});

test('killed at any moment it goes on, and finds what there is, once', {
  tags: ['long'],
  timeout: 180_000,
}, async () => {
  const userIds = Array.from({ length: 1_500 }, (_, place) => 10_001 + place);
  await controls.seed({ users: userIds.map((userId) => ({ userId })) });
  await grades(...userIds.map((userId) => grade(userId, 5)));
  const removed = userIds.filter((_, place) => place % 10 === 0);
  await controls.remove({ gradeValues: removed.map((userId) => ({ gradeObjectId: 5001, userId })) });
  // Else it would be over before it is killed.
  await controls.fault({ delayMs: 60 }, { method: 'GET', path: '/values/', times: 1_000_000 });
  const own = { LOG_LEVEL: 'silent', QUEUE_VISIBILITY_SECONDS: '1', QUEUE_BACKLOG_SECONDS: '1' };
  const env = { ...settingsOf(stack.description, 'reconcile'), ...stage.settings, ...own };
  const lambda = await startLambda({
    functions: {
      reconcile: {
        ...{ handler: 'functions/reconcile.handler', env, timeoutMs: 60_000 },
        ...{ maximumConcurrency: 1, durable: durableOptionsOf('reconcile') },
      },
    },
    executions: stack.executions,
  });
  let kills = 0;
  const killing = setInterval(() => {
    if (kills < 8 && lambda.kill('reconcile') !== undefined) kills += 1;
  }, 1_700);
  const result = await lambda.invoke('reconcile', { whole: true }).finally(() => clearInterval(killing));
  await lambda.close();
  expect(kills).toBeGreaterThan(2);
  if (!result.ok) throw new Error(result.error.errorMessage);
  const report = result.payload as Report;
  expect(report).toMatchObject({ state: 'whole', findings: removed.length });
  expect(report.tallies.recent).toMatchObject({ selected: 1_500, looked: 1_500, uncompared: 0 });
  const findings = await findingsOf(report, textAt);
  expect(findings.map(({ subject }) => subject.userId).sort()).toEqual(removed.map(Number).sort());
});

test('a user whom the classlist has twice is enrolled in both roles', async () => {
  await enroll(301);
  const user = { Identifier: '301', RoleId: learner };
  await controls.fault(
    {
      status: 200,
      body: {
        PagingInfo: { HasMoreItems: false, Bookmark: '' },
        Items: [user, { ...user, RoleId: instructor }],
      },
    },
    { method: 'GET', path: '/classlist/', times: 9 },
  );
  const { findings } = await compare(stage, { whole: true });
  expect(findings).toEqual([]);
});

test('a removed user whose role is hidden is enrolled all the same', async () => {
  await enroll(301);
  await send(stage, { integration: enrollmentRemove, data: [{ orgUnitId: course, userId: 301 }] });
  await controls.fault(
    {
      status: 200,
      body: { PagingInfo: { HasMoreItems: false, Bookmark: '' }, Items: [{ Identifier: '301' }] },
    },
    { method: 'GET', path: '/classlist/', times: 9 },
  );
  const { findings } = await compare(stage, { whole: true });
  expect(findings).toMatchObject([{ class: 'different', resource: `enrollment/${course}/301` }]);
});

test('after a run of all, chance takes no more of what is older than before', async () => {
  const userIds = Array.from({ length: 100 }, (_, place) => 10_001 + place);
  await controls.seed({ users: userIds.map((userId) => ({ userId })) });
  await grades(...userIds.map((userId) => grade(userId, 5)));
  await new Promise((resolve) => setTimeout(resolve, 500));
  const settings = { RECONCILE_RECENT_HOURS: '0.0001', RECONCILE_SAMPLE: '30', RECONCILE_NIGHTS: '1000000' };
  await compare(staged(settings), { whole: true });
  const { report } = await compare(staged(settings));
  expect(report.share).toBeCloseTo(0.3);
  await put('reconcile/accepted/wrong.json', '{"by":1}');
  await expect(compare(staged(settings))).rejects.toThrow();
  await s3.send(new DeleteObjectCommand({ Bucket: `bucket-${tries}`, Key: 'reconcile/accepted/wrong.json' }));
  expect((await compare(staged(settings))).report.share).toBeCloseTo(0.3);
});

test('what a run has found is told, even if it fails later', async () => {
  await grades(grade(301, 7), grade(303, 8));
  await controls.remove({ gradeValues: [{ gradeObjectId: 5001, userId: 303 }] });
  await controls.fault(
    { status: 429, headers: { 'retry-after': '5' } },
    { method: 'GET', path: '/values/301$', times: 1 },
  );
  const id = '20261123T020000Z-00000002';
  const comparing = compare(staged({ RECONCILE_CONCURRENCY: '1' }), { whole: true, id });
  await new Promise((resolve) => setTimeout(resolve, 3_500));
  await put('reconcile/accepted/wrong.json', '{"by":1}');
  await expect(comparing).rejects.toThrow();
  expect(await json(reportKey(id))).toMatchObject({ state: 'failed', entries: 2, parts: 1 });
});

test('what the platform fails to answer alone is told as unreadable, and what is behind it is looked at', async () => {
  await controls.seed({ users: [10_001, 10_002].map((userId) => ({ userId })) });
  await grades(...[301, 303, 10_001, 10_002].map((userId) => grade(userId, 7)));
  await controls.remove({ gradeValues: [{ gradeObjectId: 5001, userId: 303 }] });
  await controls.fault({ status: 500 }, { method: 'GET', path: '/values/(301|1000.)$', times: 1_000 });
  const { report, findings } = await compare(staged({ RECONCILE_LONGEST_HOURS: '0.03' }), { whole: true });
  expect(findings.map(({ class: its, resource }) => `${its} ${resource}`).sort()).toEqual([
    `missing grade/${course}/5001/303`,
    `unreadable grade/${course}/5001/10001`,
    `unreadable grade/${course}/5001/10002`,
    `unreadable grade/${course}/5001/301`,
  ]);
  expect(report.state).toBe('whole');
}, 120_000);

test('a comment whose line ends and edges the platform has changed is no fault', async () => {
  await grades(grade(301, 7, { comments: 'well done\nreally ' }));
  await controls.change({
    gradeValues: [
      { gradeObjectId: 5001, userId: 301, comments: { content: 'well done\r\nreally', type: 'Text' } },
    ],
  });
  const { findings } = await compare(stage, { whole: true });
  expect(findings).toEqual([]);
});

test('it takes an empty event, a schedule’s and one that asks for all', () => {
  expect(requestIn({})).toEqual({ whole: false });
  expect(requestIn({ 'detail-type': 'Scheduled Event' })).toEqual({ whole: false });
  expect(requestIn({ whole: true })).toEqual({ whole: true });
  expect(() => requestIn({ wholly: true })).toThrow(/wholly/);
  expect(handler).toBeTypeOf('function');
});
