import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, test } from 'vitest';
import { decisionOn } from '../../lib/options/reconcile/desk/choose-findings.ts';
import { requestIn } from '../../lib/options/reconcile/reconcile-request.ts';
import { acceptedPrefix, type Finding, latestKey, reportKey } from '../../lib/options/reconcile/record.ts';
import { waitLimitMs } from '../limits.ts';
import { comparisonForTests } from '../options/reconcile/comparison-for-tests.ts';
import { compare } from '../options/reconcile/effect/stage.ts';
import { invalidToken } from './job-for-tests.ts';

const hour = 3_600_000;
const {
  course,
  learner,
  instructor,
  bucket,
  job,
  newStage,
  stageNow,
  staged,
  grade,
  grades,
  enrollIn,
  removeFrom,
  classesIn,
  rotate,
  at,
} = comparisonForTests();
const { time, stack, controls, put, jsonAt } = job;

test('of what is as it was sent there is nothing to tell, and the platform is asked once for each', async () => {
  await grades(grade(301, 7), grade(303, 8, { comments: 'well done\nreally ' }));
  await enrollIn(course, 301, 303);
  // The platform may change the line ends and edges of a comment.
  const comments = { content: 'well done\r\nreally', type: 'Text' as const };
  await controls().change({ gradeValues: [{ gradeObjectId: 5001, userId: 303, comments }] });
  const before = (await controls().requests()).length;
  const { report, findings } = await compare(stageNow(), { whole: true });
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
  let methods: string[] = [];
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
    const before = (await controls().requests()).length;
    compared = await compare(stageNow(), { whole: true });
    methods = (await controls().requests()).slice(before).map(({ method }) => method);
    await rotate('b');
    afterAnotherRotation = await compare(stageNow(), { whole: true });
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

  test('and differs is repaired by nobody: the platform is only read, and nothing goes to a queue', () => {
    expect(compared.findings.length).toBeGreaterThan(1);
    expect(new Set(methods)).toEqual(new Set(['GET']));
    const queues = ['grade-push', 'enrollment-create', 'enrollment-remove'];
    const sent = queues.map(
      (name) => stack().queues.getQueueByName(`sis-relay-local-${name}`)?.messages.length,
    );
    expect(sent).toEqual([0, 0, 0]);
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
  const { findings, report } = await compare(stageNow(), { whole: true });
  expect([findings, classesIn(report), report.tallies.recent.uncompared]).toEqual([[], {}, 1]);
  await controls().clearFaults();
  await sending;
  expect(classesIn((await compare(stageNow(), { whole: true })).report)).toEqual({ same: 1 });
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
    expect(first.report).toMatchObject({ state: 'partial', tallies: { recent: { selected: 2, looked: 0 } } });
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
  const { report, findings } = await compare(stageNow(), { whole: true }, 3_000);
  expect(findings).toEqual([]);
  expect(report).toMatchObject({ state: 'whole', tallies: { recent: { selected: 2, looked: 2 } } });
});

test('while it waits for a credential, it counts as refused', async () => {
  await grades(grade(301, 7));
  await controls().fault(invalidToken, { method: 'GET', path: '/values/', times: 2 });
  const { report } = await compare(staged({ LOG_LEVEL: 'info' }), { whole: true }, 3_000);
  expect(report).toMatchObject({ state: 'whole' });
  expect(job.logged()).toContainEqual(expect.stringMatching(/"kind":"credentials".*"Refusals":\[1\]/));
});

test('what an operator has accepted is counted, and no finding until it is written, or the platform changes it, again', async () => {
  const userIds = [10_001, 10_002, 10_003, 10_004];
  await controls().seed({ users: userIds.map((userId) => ({ userId })) });
  await grades(...userIds.map((userId) => grade(userId, 7)));
  const spoil = (pointsNumerator: number, afterMs: number, ...some: number[]) =>
    controls().change({
      gradeValues: some.map((userId) => ({
        gradeObjectId: 5001,
        userId,
        pointsNumerator,
        lastModified: at(afterMs),
      })),
    });
  const decided = { by: 'somebody', why: 'it was agreed' };
  await spoil(3, -hour, ...userIds);
  const { findings } = await compare(stageNow(), { whole: true });
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
  const then = await compare(stageNow(), { whole: true });
  expect(then.report).toMatchObject({ findings: 2, accepted: 2 });
  expect(then.findings.map(({ class: its, subject }) => `${its} ${subject.userId}`).sort()).toEqual([
    'older 10002',
    'older 10004',
  ]);
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
    id,
    state: 'failed',
    entries: 2,
    parts: 1,
    why: expect.stringMatching(/wrong.json is not valid.*by/s),
  });
});

test('a run of an id that was there is refused, and its report stays', async () => {
  await grades(grade(301, 7));
  const id = '20261123T020000Z-00000003';
  await compare(stageNow(), { whole: true, id });
  const before = await jsonAt(reportKey(id));
  await expect(compare(stageNow(), { id })).rejects.toThrow(`There is a comparison ${id} already`);
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
    kind: 'intercepted',
    error: expect.stringContaining('403'),
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
