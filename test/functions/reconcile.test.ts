import { CreateBucketCommand, DeleteObjectCommand } from '@aws-sdk/client-s3';
import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { integration as enrollmentCreate } from '../../functions/enrollment-create.ts';
import { integration as enrollmentRemove } from '../../functions/enrollment-remove.ts';
import { integration as gradePush } from '../../functions/grade-push.ts';
import { decisionOn } from '../../lib/options/reconcile/desk/choose-findings.ts';
import {
  acceptedPrefix,
  type Finding,
  latestKey,
  type Report,
  reportKey,
} from '../../lib/options/reconcile/record.ts';
import { requestIn } from '../../lib/options/reconcile/request.ts';
import { stateKey } from '../../lib/options/snapshots/state/record.ts';
import { filled } from '../lib/crosswalk/filled.ts';
import { waitLimitMs } from '../limits.ts';
import { localClient } from '../local/aws/aws.ts';
import { addLedgerTable } from '../local/aws/tables.ts';
import { compare, type Stage, send } from '../options/reconcile/effect/stage.ts';
import { enrollmentRows, type StateRow, stateFile, tableRow } from '../options/snapshots/state-file.ts';
import { jobForTests } from './job-for-tests.ts';

const course = 2001;
const [learner, instructor] = [110, 109];
let stage: Stage;
let tries = 0;
const bucket = () => `bucket-${tries}`;
const job = jobForTests('reconcile', { bucket });
const { time, stack, controls, put, jsonAt } = job;

/** With a ledger and a bucket of its own. */
const newStage = async (): Promise<void> => {
  tries += 1;
  const settings = { LEDGER_TABLE: `ledger-${tries}`, RECONCILE_BUCKET: bucket() };
  stage = { stack: stack(), settings, rest: async () => time.pass(10_000) };
  await addLedgerTable(stack().description.dynamodb, settings.LEDGER_TABLE);
  await stack().s3.send(new CreateBucketCommand({ Bucket: bucket() }));
};
beforeEach(newStage);

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
const enrollIn = (orgUnitId: number, ...userIds: number[]) =>
  send(stage, {
    integration: enrollmentCreate,
    data: userIds.map((userId) => ({ orgUnitId, userId, roleId: learner })),
  });
const removeFrom = (orgUnitId: number, ...userIds: number[]) =>
  send(stage, { integration: enrollmentRemove, data: userIds.map((userId) => ({ orgUnitId, userId })) });
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
  await enrollIn(course, 301, 303);
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

// They share one run, as it costs as much for one of them as for all.
describe('what was written', () => {
  type Compared = Awaited<ReturnType<typeof compare>>;
  let [compared, afterAnotherRotation] = [] as unknown as [Compared, Compared];
  const other = 2100;

  beforeAll(async () => {
    await newStage();
    await controls().reset();
    await controls().seed({ users: [{ userId: 10_001 }], orgUnits: [{ orgUnitId: other }] });
    const spoil = (userId: number, pointsNumerator: number) =>
      controls().change({
        gradeValues: [{ gradeObjectId: 5001, userId, pointsNumerator, lastModified: at(-hour) }],
      });
    await grades(grade(301, 7), grade(303, 8));
    await spoil(303, 3);
    await rotate('a');
    await grades(grade(10_001, 7.25));
    await spoil(10_001, 3.125);
    await enrollIn(course, 301, 303);
    await removeFrom(course, 301, 303);
    await controls().seed({ enrollments: [{ orgUnitId: course, userId: 303, roleId: learner }] });
    await enrollIn(other, 301, 303);
    await removeFrom(other, 303);
    const user = { Identifier: '301', RoleId: learner };
    const Items = [user, { ...user, RoleId: instructor }, { Identifier: '303' }];
    const body = { PagingInfo: { HasMoreItems: false, Bookmark: '' }, Items };
    await controls().fault({ status: 200, body }, { method: 'GET', path: `/${other}/classlist/`, times: 9 });
    compared = await compare(stage, { whole: true });
    await rotate('b');
    afterAnotherRotation = await compare(stage, { whole: true });
  });
  const found = ({ findings }: Compared, prefix: string) =>
    findings.filter(({ resource }) => resource.startsWith(prefix));

  test('and removed is as it was sent where nobody is enrolled, and a fault where somebody is', () => {
    expect(found(compared, `enrollment/${course}/`)).toMatchObject([
      { class: 'different', resource: `enrollment/${course}/303` },
    ]);
  });

  test('and is a finding tells who and what and when, by which message, and no value', () => {
    expect(found(compared, `grade/${course}/5001/10001`)).toEqual([
      {
        class: 'older',
        resource: `grade/${course}/5001/10001`,
        subject: { kind: 'grade', orgUnitId: course, gradeObjectId: 5001, userId: 10_001 },
        fields: ['grade'],
        reason: 'recent',
        writtenMs: expect.any(Number),
        messageId: expect.stringMatching(/^[\w-]{36}$/),
        changedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ]);
    // 37.255 are seconds of a time.
    expect(JSON.stringify(compared.findings)).not.toMatch(/(?<!\d)(7\.25|3\.125)|well done/);
  });

  test('with a key that is rotated since is no finding, nor with one that is gone', () => {
    const both = `grade/${course}/5001/30`;
    expect(found(compared, both)).toMatchObject([{ class: 'older', resource: `${both}3` }]);
    expect(found(afterAnotherRotation, both)).toEqual([]);
    expect(classesIn(compared.report)).toEqual({ same: 3, older: 2, different: 2 });
    expect(compared.report.tallies.recent).toMatchObject({ looked: 7, uncompared: 0 });
    expect(afterAnotherRotation.report.tallies.recent).toMatchObject({ looked: 7, uncompared: 2 });
  });

  test('of a user whom the classlist has twice is in both roles, and one whose role is hidden is there all the same', () => {
    expect(found(compared, `enrollment/${other}/`)).toMatchObject([
      { class: 'different', resource: `enrollment/${other}/303` },
    ]);
  });
});

test('what is in progress is no fault, and is compared once it is done', async () => {
  await grades(grade(301, 7));
  await controls().remove({ gradeValues: [{ gradeObjectId: 5001, userId: 301 }] });
  // Another one has begun, and is on its queue again.
  await controls().fault({ status: 503 }, { method: 'PUT', times: 1_000 });
  const sending = grades(grade(301, 9));
  const puts = async () => (await controls().requests()).filter(({ method }) => method === 'PUT').length;
  await expect.poll(puts, { timeout: waitLimitMs }).toBeGreaterThan(1);
  const { findings, report } = await compare(stage, { whole: true });
  expect([findings, classesIn(report), report.tallies.recent.uncompared]).toEqual([[], {}, 1]);
  await controls().clearFaults();
  await sending;
  expect(classesIn((await compare(stage, { whole: true })).report)).toEqual({ same: 1 });
});

describe('a night', () => {
  const old = { RECONCILE_RECENT_HOURS: '0.0001' };

  test('takes a sample of what is older, of the size that is wanted, also after a run of all or one that failed, and has the rest take turns', async () => {
    const userIds = Array.from({ length: 20 }, (_, place) => 10_001 + place);
    await controls().seed({ users: userIds.map((userId) => ({ userId })) });
    await grades(...userIds.map((userId) => grade(userId, 5)));
    time.pass(500);
    const settings = { ...old, RECONCILE_SAMPLE: '10', RECONCILE_NIGHTS: '1000000' };
    const { report: first } = await compare(staged(settings));
    // How many there are is known by the first.
    expect(first).toMatchObject({ share: 1, tallies: { sample: { selected: 20, looked: 20 } } });
    // Chance may leave out all that is older: this is looked at in any case, and so what was accepted is read.
    await grades(grade(303, 8));
    const Key = 'reconcile/accepted/wrong.json';
    await put(Key, '{"by":1}');
    await expect(compare(staged(settings))).rejects.toThrow();
    expect(await jsonAt(reportKey((await jsonAt(latestKey)).id))).toMatchObject({
      state: 'failed',
      share: 0.5,
    });
    await stack().s3.send(new DeleteObjectCommand({ Bucket: bucket(), Key }));
    const { report } = await compare(staged(settings));
    expect(report.share).toBe(0.5);
    const { selected, looked } = report.tallies.sample;
    expect(looked).toBe(selected);
    expect(selected).toBeLessThan(20);
    time.pass(500);
    await compare(staged(settings), { whole: true });
    const last = await compare(staged({ ...settings, RECONCILE_NIGHTS: '1' }));
    expect(last.report.share).toBeCloseTo(10 / 21);
    const { sample, slice } = last.report.tallies;
    expect(sample.looked + slice.looked).toBe(21);
    expect(slice.looked).toBeGreaterThan(0);
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
  const userIds = [10_001, 10_002, 10_003, 10_004];
  await controls().seed({ users: userIds.map((userId) => ({ userId })) });
  await grades(...userIds.map((userId) => grade(userId, 7)));
  const spoil = (pointsNumerator: number, afterMs: number, ...some: number[]) =>
    controls().change({
      gradeValues: some.map((userId) => ({
        ...{ gradeObjectId: 5001, userId, pointsNumerator, lastModified: at(afterMs) },
      })),
    });
  const decided = { by: 'somebody', why: 'it was agreed' };
  await spoil(3, -hour, ...userIds);
  const { findings } = await compare(stage, { whole: true });
  expect(findings).toHaveLength(4);
  const [first, second] = [
    [10_001, 10_002],
    [10_003, 10_004],
  ].map((some) => findings.filter(({ subject }) => some.includes(subject.userId))) as [Finding[], Finding[]];
  await put(`${acceptedPrefix}one.json`, JSON.stringify(decisionOn(first, decided)));
  // A decision that does not tell when the platform changed it is one on whatever it holds.
  const whatever = second.map(({ changedAt: _, ...finding }): Finding => finding);
  await put(`${acceptedPrefix}two.json`, JSON.stringify(decisionOn(whatever, decided)));
  await spoil(0, -2 * hour, 10_002, 10_003);
  await grades(grade(10_004, 7.5));
  await spoil(3, -2 * hour, 10_004);
  const then = await compare(stage, { whole: true });
  expect(then.report).toMatchObject({ findings: 2, accepted: 2 });
  expect(then.findings.map(({ class: its, subject }) => `${its} ${subject.userId}`).sort()).toEqual([
    ...['older 10002', 'older 10004'],
  ]);
});

describe('with a snapshot of the SIS', () => {
  const id = '20261101T020000Z-0a1b2c3d';
  const tableId = '20261102T020000Z-0a1b2c3e';
  const users: Record<string, number> = { lena: 301, tom: 303, ina: 10_001, ute: 10_002, max: 10_003 };
  /** An org unit of its own for each case, with nobody in it. */
  const [plain, since, unknown, again, several, gone, twice] = [2101, 2102, 2103, 2104, 2105, 2106, 2107];
  const orgUnitIds = [plain, since, unknown, again, several, gone, twice];
  const codeOf = (orgUnitId: number) => `CODE-${orgUnitId}`;

  const rowsOf = (said: Record<number, string[]>, roleId = learner) =>
    Object.entries(said).flatMap(([orgUnitId, names]) =>
      names.map((userName) => ({ orgUnitCode: codeOf(Number(orgUnitId)), userName, roleId })),
    );
  const byName = JSON.stringify(['classCode', 'userName', 'username']);
  const accept = async (
    snapshotId: string,
    rows: StateRow[],
    { key = 'accepted', by = byName, ...more } = {},
  ) => {
    await put(stateKey(snapshotId), await stateFile(rows));
    const accepted = { id: snapshotId, number: 1, columns: {}, by, holds: 'tables', ...more };
    await put(`snapshot-records/${key}.json`, JSON.stringify(accepted));
  };
  type Said = Parameters<typeof enrollmentRows>[0];
  const snapshot = (said: Said[], more: object = {}) => accept(id, said.flatMap(enrollmentRows), more);
  /** Beside the zip. */
  const table = (said: Said[]) =>
    accept(
      tableId,
      said.map((data) => tableRow(data)),
      { key: 'accepted/more.csv', by: JSON.stringify([['enrollment-create', 'userName']]) },
    );
  const hasEnrolled = (orgUnitId: number, roleId: number, ...userIds: number[]) =>
    controls().seed({ enrollments: userIds.map((userId) => ({ orgUnitId, userId, roleId })) });
  const prepare = async () => {
    await controls().seed({
      users: [10_001, 10_002, 10_003].map((userId) => ({ userId })),
      orgUnits: orgUnitIds.map((orgUnitId) => ({ orgUnitId, code: codeOf(orgUnitId) })),
    });
    await put(
      ...filled(
        'orgUnitCode',
        orgUnitIds.map((orgUnitId) => [codeOf(orgUnitId), orgUnitId]),
      ),
    );
    await put(...filled('userName', Object.entries(users)));
  };

  describe('in one run', () => {
    let { report, findings } = {} as Awaited<ReturnType<typeof compare>>;
    const found = (orgUnitId: number) =>
      findings
        .filter(({ subject }) => subject.orgUnitId === orgUnitId)
        .map(({ class: its, subject, reason }) => `${its} ${subject.userId} ${reason}`)
        .sort();

    beforeAll(async () => {
      await newStage();
      await controls().reset();
      await prepare();
      await enrollIn(gone, 301, 10_001);
      await removeFrom(gone, 303);
      await hasEnrolled(gone, learner, 301);
      await rotate('c');
      await rotate('d');
      await hasEnrolled(plain, learner, 301, 10_003);
      await hasEnrolled(plain, instructor, 10_001);
      // In a role that no snapshot gives.
      await hasEnrolled(plain, 101, 303);
      await enrollIn(since, 301, 10_001);
      await removeFrom(since, 303);
      await hasEnrolled(unknown, learner, 10_003);
      await hasEnrolled(again, learner, 301, 303);
      await enrollIn(again, 10_001);
      await controls().remove({ enrollments: [{ orgUnitId: again, userId: 10_001 }] });
      await hasEnrolled(several, instructor, 301);
      await enrollIn(twice, 301);
      await controls().remove({ enrollments: [{ orgUnitId: twice, userId: 301 }] });
      await snapshot([
        ...rowsOf({ [plain]: ['lena', 'ute', 'ina'], [since]: ['lena', 'tom'], [unknown]: ['nobody knows'] }),
        ...rowsOf({ [again]: ['lena', 'tom', 'ina'], [several]: ['lena'], [gone]: ['lena', 'tom'] }),
        // As the platform's ids are known, the names need not be.
        { orgUnitCode: 'TWICE', userName: 'unknown', roleId: learner, orgUnitId: twice, userId: 301 },
      ]);
      await table(rowsOf({ [several]: ['lena'] }, instructor));
      ({ report, findings } = await compare(stage, { whole: true }));
    });

    test('it names who is enrolled there and not here, and the other way round', () => {
      expect(found(plain)).toEqual([
        ...['different 10001 snapshot', 'extra 10003 snapshot', 'missing 10002 snapshot'],
      ]);
      expect(report).toMatchObject({ snapshots: [tableId, id], entries: 8, findings: 5 });
    });

    test('what was written since holds in its place', () => {
      expect(found(since)).toEqual([]);
    });

    test('where it has users whom the crosswalk does not know, nobody is called too many', () => {
      expect(found(unknown)).toEqual([]);
      expect(report).toMatchObject({ unknown: 1 });
    });

    test('of an enrollment that is looked at once more, nobody beside it is called too many', () => {
      expect(found(again)).toEqual(['missing 10001 recent']);
    });

    test('what two of them contradict each other in is no fault where the platform has one of them', () => {
      expect(found(several)).toEqual([]);
    });

    test('what was written since by a key that is gone is not called missing, nor too many', () => {
      expect(found(gone)).toEqual([]);
    });

    test('what differs from the ledger and from a snapshot is found once', () => {
      expect(found(twice)).toEqual(['missing 301 recent']);
      expect(report.open).toMatchObject({ missing: 3, different: 1, extra: 1 });
      expect(report.tallies.snapshot.byClass).toMatchObject({ missing: 3, different: 1, extra: 1 });
    });
  });

  test('while one of two is being sent, it says nothing, and nobody whom it may have is called too many', async () => {
    await prepare();
    await hasEnrolled(plain, learner, 301, 303);
    await snapshot(rowsOf({ [plain]: ['lena', 'ina'] }), { sending: true });
    await table(rowsOf({ [plain]: ['tom'] }));
    const { findings, report } = await compare(stage, { whole: true });
    expect(findings).toEqual([]);
    expect(report.snapshots).toEqual([tableId]);
  });
});

test('what a run has found is told, and why it failed, even if that is later', async () => {
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
  expect(await jsonAt(reportKey(id))).toMatchObject({
    ...{ id, state: 'failed', entries: 2, parts: 1 },
    why: expect.stringMatching(/wrong.json is not valid.*by/s),
  });
});

test('a run of an id that was there is refused, and its report stays', async () => {
  await grades(grade(301, 7));
  const id = '20261123T020000Z-00000003';
  await compare(stage, { whole: true, id });
  const before = await jsonAt(reportKey(id));
  await expect(compare(stage, { id })).rejects.toThrow(`There is a comparison ${id} already`);
  expect(await jsonAt(reportKey(id))).toEqual(before);
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
