import { beforeEach, describe, expect, test } from 'vitest';
import { integration as enrollmentCreate } from '../../../../functions/enrollment-create.ts';
import { integration as gradePush } from '../../../../functions/grade-push.ts';
import type { CrosswalkKind, CrosswalkSource } from '../../../../lib/delivery/crosswalk/kinds.ts';
import { createCrosswalk } from '../../../../lib/delivery/crosswalk/look-up.ts';
import {
  bucketOf,
  createCrosswalkTable,
  type Entries,
  type Entry,
} from '../../../../lib/delivery/crosswalk/table.ts';
import { letterChange } from '../../../../lib/delivery/letters/letter-facts.ts';
import { MessageFailure } from '../../../../lib/message/failure.ts';
import { type SisId, sisIdsIn } from '../../../../lib/message/sis-ids.ts';
import type { Platform } from '../../../../lib/platform/client/client.ts';
import { createDynamoDb } from '../../../../lib/runtime/aws/dynamodb.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { functionForTests, parked } from '../../../local/inline.ts';

const seconds = 1_000;
const relay = functionForTests(gradePush, () => ({ WAIT_UNKNOWN_ID_HOURS: '0.0003' }), [enrollmentCreate]);

const tableOf = () => {
  const { dynamodb, crosswalkTable: table } = relay.description();
  return createCrosswalkTable({ dynamodb: createDynamoDb(localClient(dynamodb)), table, nowMs: Date.now });
};

const learn = (kind: CrosswalkKind, name: string, entry: Entry, source: CrosswalkSource = 'platform') =>
  tableOf().put([{ bucket: bucketOf(kind, source, name), entries: new Map([[name, entry]]) }]);

const numeric = { type: 'numeric', points: 7 };
const gradeOf = async (userId: number) =>
  (await relay.rows('gradeValues')).find((row) => row.userId === userId && row.gradeObjectId === 5001);

beforeEach(async () => {
  await learn('orgUnitCode', 'BIO-101', { ids: [2001] });
  await learn('userName', 'nora.newcomer', { ids: [303] }, 'file');
  await learn('orgDefinedId', 's-303', { ids: [303] });
  relay.inAnotherContainer();
});

describe('a message that gives the SIS’ ids', () => {
  test('has the effect on what they stand for, and takes its turn with those that give the platform’s ids', async () => {
    const named = { orgUnitCode: 'BIO-101', gradeObjectName: 'Midterm', userName: 'nora.newcomer' };
    const older = relay.event({ orgUnitId: 2001, gradeObjectId: 5001, userId: 303, grade: numeric });
    const done = await relay.deliver({ ...named, grade: { ...numeric, points: 8 } });
    expect(done).toMatchObject({ outcomes: ['done'], letters: [] });
    expect(await gradeOf(303)).toMatchObject({ pointsNumerator: 8 });
    expect(await relay.deliverBody(older)).toMatchObject({ outcomes: ['superseded'], requests: [] });
  });

  test('names its user by the id of the organisation as well, and its grade object beside an id of the platform', async () => {
    const data = { orgUnitId: 2001, gradeObjectName: 'Midterm', orgDefinedId: 's-303', grade: numeric };
    expect(await relay.deliver(data)).toMatchObject({ outcomes: ['done'] });
    expect(await gradeOf(303)).toMatchObject({ pointsNumerator: 7 });
  });

  test.each([
    ['orgUnitCode', { orgUnitCode: 'bio-101' }, 'orgUnitCode bio-101'],
    ['userName', { userName: 'nora' }, 'userName nora'],
    ['orgDefinedId', { userName: undefined, orgDefinedId: '303' }, 'orgDefinedId 303'],
    ['gradeObjectName', { gradeObjectName: 'midterm' }, 'gradeObjectName midterm'],
  ])('waits for a fill where its %s is not known, and is parked naming it', async (field, change, detail) => {
    const named = { orgUnitCode: 'BIO-101', gradeObjectName: 'Midterm', userName: 'nora.newcomer' };
    const result = await relay.deliver({ ...named, grade: numeric, ...change });
    expect(result.outcomes.length).toBeGreaterThan(1);
    expect(new Set(result.outcomes.slice(0, -1))).toEqual(new Set(['waiting']));
    const failure = parked(result);
    expect(failure).toMatchObject({ kind: 'unknown-id', detail });
    expect(failure.message).toContain(`data.${field}`);
    // A log may be read by more people than a letter.
    expect(result.reasons.join()).not.toContain(detail.split(' ')[1]);
    expect(await gradeOf(303)).toBeUndefined();
  });

  test('goes on when a fill has brought what it names', async () => {
    const pending = relay.deliver({
      ...{ orgUnitCode: 'BIO-101', gradeObjectId: 5001, orgDefinedId: 's-303-new', grade: numeric },
    });
    await learn('orgDefinedId', 's-303-new', { ids: [303] });
    expect((await pending).outcomes.at(-1)).toBe('done');
  });

  test('is parked naming both where an id stands for two', async () => {
    await learn('userName', 'nora.newcomer', { ids: [304] }, 'platform');
    const result = await relay.deliver({
      ...{ orgUnitCode: 'BIO-101', gradeObjectId: 5001, userName: 'nora.newcomer', grade: numeric },
    });
    await tableOf().put([{ bucket: bucketOf('userName', 'platform', 'nora.newcomer'), entries: new Map() }]);
    const failure = parked(result);
    expect(failure).toMatchObject({ kind: 'ambiguous-id', detail: 'userName nora.newcomer', attempts: 1 });
    expect(failure.message).toMatch(/30[34] and 30[34]/);
    expect(failure.requests).toEqual([]);
  });

  test('is sent nowhere by a code that has moved, before somebody has accepted that', async () => {
    await learn('orgUnitCode', 'BIO-101', { ids: [2002], was: [2001] });
    const enroll = () =>
      relay.deliverBody(
        relay.event(
          { orgUnitCode: 'BIO-101', userId: 303, roleId: 110 },
          { type: 'sis.enrollment-create.v1' },
        ),
      );
    const failure = parked(await enroll());
    expect(failure).toMatchObject({ kind: 'ambiguous-id', detail: 'orgUnitCode BIO-101' });
    expect(failure.message).toContain('stood for 2001, and now stands for 2002');
    expect(failure.remedy).toContain('sis-relay crosswalk accept');
    expect(failure.requests).toEqual([]);
    await tableOf().accept('BIO-101', { ids: [2002], was: [2001] });
    expect((await enroll()).requests.length).toBe(1);
    // Another move than the one that was accepted.
    await learn('orgUnitCode', 'BIO-101', { ids: [3001], was: [2002] });
    relay.inAnotherContainer();
    expect(parked(await enroll())).toMatchObject({ kind: 'ambiguous-id' });
  });

  test('is sent again to what its ids stand for now where the platform does not know the former', async () => {
    await learn('userName', 'changed', { ids: [399] });
    const enroll = (roleId: number) =>
      relay.deliverBody(
        relay.event({ orgUnitId: 2001, userName: 'changed', roleId }, { type: 'sis.enrollment-create.v1' }),
      );
    // Kept by the container from now on.
    expect(parked(await enroll(110))).toMatchObject({ kind: 'rejected', status: 404, ids: { userId: 399 } });
    await learn('userName', 'changed', { ids: [303] });
    const again = await enroll(110);
    expect(again.outcomes.at(-1)).toBe('done');
    expect(await relay.rows('enrollments')).toContainEqual(
      expect.objectContaining({ orgUnitId: 2001, userId: 303, roleId: 110 }),
    );
  });

  test('has a letter and an entry in the lists that tell both: what it names and what that stands for', async () => {
    const failing = { orgUnitCode: 'BIO-101', gradeObjectName: 'Midterm', userName: 'nora.newcomer' };
    const result = await relay.deliver({ ...failing, grade: { ...numeric, outOf: 20 } });
    const failure = parked(result);
    expect(failure).toMatchObject({ ids: { orgUnitId: 2001, gradeObjectId: 5001, userId: 303 } });
    const [letter] = result.letters;
    const told = {
      function: 'grade-push',
      kind: 'rejected',
      missing: undefined,
      resource: undefined,
    } as const;
    expect(letterChange(letter!, { ...told, writtenMs: 0 }).facts).toMatchObject({
      ...{ user: '303', orgUnit: '2001', thing: 'grade object 5001' },
      named: 'nora.newcomer · BIO-101 · Midterm',
    });
  });
});

describe('points', () => {
  const graded = { orgUnitId: 2001, gradeObjectId: 5001, userId: 303 };

  test('go to a grade object that has the maximum that they are out of', async () => {
    const result = await relay.deliver({ ...graded, grade: { ...numeric, outOf: 10 } });
    expect(result).toMatchObject({ outcomes: ['done'] });
    expect(await gradeOf(303)).toMatchObject({ pointsNumerator: 7 });
  });

  test('go to no other: the letter names both', async () => {
    const failure = parked(await relay.deliver({ ...graded, grade: { ...numeric, outOf: 100 } }));
    expect(failure).toMatchObject({ kind: 'rejected', attempts: 1 });
    expect(failure.message).toContain('out of 100, but the maximum of the grade object is 10');
    expect(failure.requests.filter((request) => request.startsWith('PUT'))).toEqual([]);
    const passing = { ...graded, gradeObjectId: 5002, grade: { type: 'pass-fail', pass: true, outOf: 1 } };
    expect(parked(await relay.deliver(passing))).toMatchObject({ kind: 'invalid' });
  });
});

describe('a look-up', () => {
  const sisIds: SisId[] = [
    { field: 'orgUnitCode', platformField: 'orgUnitId', value: 'BIO-101' },
    { field: 'userName', platformField: 'userId', value: 'nora' },
  ];
  const asked = { platform: {} as Platform, orgUnitId: undefined };
  const found = new Map<string, Entries>([
    [bucketOf('orgUnitCode', 'platform', 'BIO-101'), new Map([['BIO-101', { ids: [1] }]])],
    [bucketOf('userName', 'file', 'nora'), new Map([['nora', { ids: [2] }]])],
  ]);

  const worldOf = () => {
    const reads: (readonly string[])[] = [];
    let nowMs = 0;
    const crosswalk = createCrosswalk({
      table: {
        namesIn: async (buckets) => {
          reads.push(buckets);
          return found;
        },
      },
      nowMs: () => nowMs,
    });
    return { crosswalk, reads, pass: (ms: number) => (nowMs += ms) };
  };

  test('is one request for what the messages of a batch ask, and none while a container remembers', async () => {
    const { crosswalk, reads, pass } = worldOf();
    const batch = Array.from({ length: 20 }, () => crosswalk.platformIds(sisIds, asked));
    expect(await Promise.all(batch)).toEqual(Array(20).fill({ orgUnitId: 1, userId: 2 }));
    expect(reads).toHaveLength(1);
    await crosswalk.platformIds(sisIds, asked);
    expect(reads).toHaveLength(1);
    pass(601 * seconds);
    await crosswalk.platformIds(sisIds, asked);
    expect(reads).toHaveLength(2);
    crosswalk.forget(sisIds);
    await crosswalk.platformIds(sisIds, asked);
    expect(reads).toHaveLength(3);
  });

  test('trusts a list of grade objects for a minute, as their names may be given to others', async () => {
    const { crosswalk, pass } = worldOf();
    let items = [{ Id: 1, Name: 'Midterm' }];
    let calls = 0;
    const call = async () => {
      calls += 1;
      return { items };
    };
    const platform = { call } as unknown as Platform;
    const named: SisId[] = [{ field: 'gradeObjectName', platformField: 'gradeObjectId', value: 'Midterm' }];
    const look = () => crosswalk.platformIds(named, { platform, orgUnitId: 7 });
    expect(await look()).toEqual({ gradeObjectId: 1 });
    items = [
      { Id: 1, Name: 'Midterm of last year' },
      { Id: 2, Name: 'Midterm' },
    ];
    pass(59 * seconds);
    expect(await look()).toEqual({ gradeObjectId: 1 });
    expect(calls).toBe(1);
    pass(2 * seconds);
    expect(await look()).toEqual({ gradeObjectId: 2 });
  });

  test('finds a grade object that was renamed by any of its names, and guesses none where two have one', async () => {
    const { crosswalk, pass } = worldOf();
    let items = [
      { Id: 51, Name: 'HW1' },
      { Id: 60, Name: 'Essay' },
    ];
    const platform = { call: async () => ({ items }) } as unknown as Platform;
    const { sisIds: named } = sisIdsIn({ gradeObjectName: 'HW2', gradeObjectFormerNames: ['HW1'] });
    const look = () => crosswalk.platformIds(named, { platform, orgUnitId: 7 });
    expect(await look()).toEqual({ gradeObjectId: 51 });
    items = [{ Id: 51, Name: 'HW2' }];
    pass(61 * seconds);
    expect(await look()).toEqual({ gradeObjectId: 51 });
    items = [
      { Id: 51, Name: 'HW1' },
      { Id: 52, Name: 'HW2' },
    ];
    pass(61 * seconds);
    await expect(look()).rejects.toMatchObject({
      kind: 'ambiguous-id',
      message: 'data.gradeObjectName or one of its former names stands for 51 and 52 on the platform',
    });
  });

  test('remembers nothing of what is not known, and asks again', async () => {
    const { crosswalk, reads } = worldOf();
    const unknown: SisId[] = [{ field: 'userName', platformField: 'userId', value: 'nobody' }];
    for (const count of [1, 2]) {
      const failure = await crosswalk.platformIds(unknown, asked).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(MessageFailure);
      expect(failure).toMatchObject({ kind: 'unknown-id', detail: 'userName nobody' });
      expect(reads).toHaveLength(count);
    }
  });

  test('without a table knows grade objects alone', async () => {
    const crosswalk = createCrosswalk({ table: undefined, nowMs: Date.now });
    await expect(crosswalk.platformIds(sisIds, asked)).rejects.toMatchObject({ kind: 'unknown-id' });
  });

  test('that AWS does not answer is not an unknown id', async () => {
    const refused = Object.assign(new Error('slow down'), { name: 'ProvisionedThroughputExceededException' });
    const crosswalk = createCrosswalk({
      table: { namesIn: async () => Promise.reject(refused) },
      nowMs: Date.now,
    });
    await expect(crosswalk.platformIds(sisIds, asked)).rejects.toBe(refused);
  });
});
