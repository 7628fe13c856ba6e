import { beforeEach, describe, expect, test } from 'vitest';
import { integration as enrollmentCreate } from '../../../functions/enrollment-create.ts';
import { integration as gradeObjectUpdate } from '../../../functions/grade-object-update.ts';
import { integration as gradePush } from '../../../functions/grade-push.ts';
import type { CrosswalkKind, CrosswalkSource } from '../../../lib/crosswalk/kinds.ts';
import { createCrosswalk } from '../../../lib/crosswalk/look-up.ts';
import {
  bucketOf,
  createCrosswalkTable,
  type Entries,
  type NameEntry,
} from '../../../lib/crosswalk/table.ts';
import { letterChange } from '../../../lib/delivery/letters/letter-facts.ts';
import { MessageFailure } from '../../../lib/message/failure.ts';
import { type SisId, sisIdsIn } from '../../../lib/message/sis-ids.ts';
import type { Platform } from '../../../lib/platform/client/client.ts';
import { createQuickDynamoDb } from '../../../lib/runtime/aws/dynamodb-quick.ts';
import { localClient } from '../../local/aws/aws.ts';
import { functionForTests, parked } from '../../local/inline.ts';

const seconds = 1_000;
const relay = functionForTests(gradePush, () => ({ WAIT_UNKNOWN_ID_HOURS: '0.0003' }), [
  enrollmentCreate,
  gradeObjectUpdate,
]);

const tableOf = () => {
  const { dynamodb, crosswalkTable: table } = relay.description();
  return createCrosswalkTable({
    dynamodb: createQuickDynamoDb(localClient(dynamodb)),
    table,
    nowMs: Date.now,
  });
};

const learn = (kind: CrosswalkKind, name: string, entry: NameEntry, source: CrosswalkSource = 'platform') =>
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

  test('that waits, or is a letter, says where its name was looked for, as of when, and what to do', async () => {
    await tableOf().noteFill('userName/platform', { filledMs: Date.parse('2026-11-28T02:10:30Z'), names: 4 });
    const result = await relay.deliver({
      orgUnitId: 2001,
      gradeObjectId: 5001,
      userName: 'no',
      grade: numeric,
    });
    const failure = parked(result);
    expect(result.reasons[0]).toBe(
      'The crosswalk does not know this data.userName. It has names from the platform’s list (last filled 2026-11-28T02:10Z) and from the university’s file (never filled)',
    );
    expect(failure).toMatchObject({ message: result.reasons[0], detail: 'userName no' });
    expect(failure.remedy).toMatch(
      /`sis-relay crosswalk show --user-name <name>`.*`sis-relay crosswalk fill --classlists`.*`sis-relay letters edit`.*The message waited for \d+ min/,
    );
    const quiz = {
      orgUnitId: 2001,
      gradeObjectName: 'Quiz',
      gradeObjectFormerNames: ['Test'],
      userId: 303,
      grade: numeric,
    };
    expect(parked(await relay.deliver(quiz))).toMatchObject({
      message:
        'None of the 4 grade objects of org unit 2001 has the name in data.gradeObjectName or data.gradeObjectFormerNames',
      detail: 'gradeObjectName Quiz or gradeObjectFormerNames Test',
      remedy: expect.stringContaining('`sis-relay letters list --org-unit 2001`'),
    });
  });

  test('is told of a known name that is near it: how it differs in the log as well, the name only in the letter', async () => {
    const data = { orgUnitCode: 'BIO-101', gradeObjectName: 'Midterm', grade: numeric };
    const failure = parked(await relay.deliver({ ...data, userName: 'Nora.Newcomer' }));
    expect(failure.message).toMatch(
      /^The crosswalk does not know this data\.userName, but one that differs in upper and lower case alone\./,
    );
    expect(failure.remedy).toContain(
      'The crosswalk knows nora.newcomer, which differs in upper and lower case alone.',
    );
    expect(failure.message).not.toContain('nora');
    const quiz = await relay.deliver({ ...data, userName: 'nora.newcomer', gradeObjectName: 'Midtrem' });
    expect(parked(quiz).remedy).toContain('The platform knows Midterm, which differs by one letter.');
  });

  test('goes on when a fill has brought what it names', async () => {
    const pending = relay.deliver({
      orgUnitCode: 'BIO-101',
      gradeObjectId: 5001,
      orgDefinedId: 's-303-new',
      grade: numeric,
    });
    await learn('orgDefinedId', 's-303-new', { ids: [303] });
    expect((await pending).outcomes.at(-1)).toBe('done');
  });

  test('is parked naming both where an id stands for two', async () => {
    await learn('userName', 'nora.newcomer', { ids: [304] }, 'platform');
    const result = await relay.deliver({
      orgUnitCode: 'BIO-101',
      gradeObjectId: 5001,
      userName: 'nora.newcomer',
      grade: numeric,
    });
    await tableOf().put([{ bucket: bucketOf('userName', 'platform', 'nora.newcomer'), entries: new Map() }]);
    const failure = parked(result);
    expect(failure).toMatchObject({ kind: 'ambiguous-id', detail: 'userName nora.newcomer', attempts: 1 });
    expect(failure.message).toMatch(/30[34] and 30[34]/);
    expect(failure.requests).toEqual([]);
  });

  test.each([
    ['as the fill keeps them', { ids: [1, 2, 3, 4, 5], more: 59_995 }],
    ['as 1.0.0 kept them', { ids: Array.from({ length: 60_000 }, (_, at) => at + 1) }],
  ])('tells five of many, and the number of the others, %s', async (_, entry) => {
    await learn('orgDefinedId', 'n/a', entry);
    const data = { orgUnitId: 2001, gradeObjectId: 5001, orgDefinedId: 'n/a', grade: numeric };
    expect(parked(await relay.deliver(data)).message).toContain('stands for 1, 2, 3, 4, 5 and 59995 more');
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
    const answers = {
      function: 'grade-push',
      kind: 'rejected',
      missing: undefined,
      resource: undefined,
    } as const;
    expect(letterChange(letter!, { ...answers, writtenMs: 0 }).facts).toMatchObject({
      user: '303',
      orgUnit: '2001',
      thing: 'grade object 5001',
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

  test('go to no other: the message waits, and its letter names the grade object and both maximums', async () => {
    const result = await relay.deliver({ ...graded, grade: { ...numeric, outOf: 100 } });
    expect(result.outcomes[0]).toBe('waiting');
    const failure = parked(result);
    expect(failure.kind).toBe('unknown-id');
    expect(failure.message).toContain(
      'out of 100, but the platform shows the maximum 10 for grade object 5001',
    );
    expect(result.reasons).toContain(failure.message);
    expect(failure.remedy).toMatch(
      /`sis-relay letters list --function grade-object-update --org-unit 2001`.*The message waited for/,
    );
    expect(failure.requests.filter((request) => request.startsWith('PUT'))).toEqual([]);
  });

  test('go nowhere at once where a grade object has no maximum, which no other message can give it', async () => {
    const none = { ...graded, gradeObjectId: 5002, grade: { ...numeric, outOf: 10 } };
    expect(parked(await relay.deliver(none))).toMatchObject({
      kind: 'rejected',
      attempts: 1,
      message: 'The points are out of 10, but the platform shows no maximum for grade object 5002',
    });
    const passing = { ...graded, gradeObjectId: 5002, grade: { type: 'pass-fail', pass: true, outOf: 1 } };
    expect(parked(await relay.deliver(passing))).toMatchObject({ kind: 'invalid' });
  });

  const halved = {
    ...graded,
    grade: { type: 'numeric', points: 4, outOf: 5 },
    comments: '',
    privateComments: '',
  };
  const newMaximum = () =>
    relay.event(
      { orgUnitId: 2001, gradeObjectId: 5001, type: 'numeric', maxPoints: 5 },
      { type: 'sis.grade-object-update.v1' },
    );

  test('halved with their maximum wait for it', async () => {
    await relay.deliver({ ...halved, grade: { ...numeric, outOf: 10 } });
    const maximum = newMaximum();
    const ended = await relay.deliver(halved, () => relay.deliverBody(maximum));
    expect(ended).toMatchObject({ outcomes: ['waiting', 'done'], letters: [] });
    expect(await gradeOf(303)).toMatchObject({ pointsNumerator: 4 });
  });

  test('halved with a maximum that the platform refuses for ever are letters, until it is accepted', async () => {
    const maximum = newMaximum();
    const people = [302, 303];
    for (const userId of people)
      await relay.deliver({ ...halved, userId, grade: { type: 'numeric', points: 8, outOf: 10 } });
    await relay.controls().fault({ status: 403 }, { method: 'PUT', path: 'grades/5001$', times: 2 });
    const refused = await relay.deliverBody(maximum);
    expect(refused.outcomes).toEqual(['parked']);
    const ends: Awaited<ReturnType<typeof relay.deliver>>[] = [];
    for (const userId of people) {
      const end = await relay.deliver({ ...halved, userId });
      expect(parked(end)).toMatchObject({
        kind: 'unknown-id',
        message: expect.stringContaining('maximum 5'),
      });
      ends.push(end);
    }
    for (const userId of people) expect(await gradeOf(userId)).toMatchObject({ pointsNumerator: 8 });
    await relay.controls().clearFaults();
    expect(await relay.replay(refused)).toMatchObject({ outcomes: ['done'] });
    for (const end of ends) expect(await relay.replay(end)).toMatchObject({ outcomes: ['done'] });
    for (const userId of people) expect(await gradeOf(userId)).toMatchObject({ pointsNumerator: 4 });
  });

  test('that a newer grade has replaced are not asked for their maximum: their comment is added', async () => {
    const older = relay.event({ ...graded, grade: { ...numeric, outOf: 10 }, comments: 'Well argued' });
    await relay.controls().change({ gradeObjects: [{ gradeObjectId: 5001, maxPoints: 5 }] });
    await relay.deliver({ ...graded, grade: { type: 'numeric', points: 4, outOf: 5 } });
    expect(await relay.deliverBody(older)).toMatchObject({ outcomes: ['done'] });
    expect(await gradeOf(303)).toMatchObject({ pointsNumerator: 4, comments: { content: 'Well argued' } });
  });
});

describe('a list of grade objects is used only for messages that were sent before it was begun', () => {
  const named = {
    orgUnitId: 2001,
    gradeObjectName: 'Midterm',
    userId: 303,
    grade: numeric,
    comments: '',
    privateComments: '',
  };
  const eightOfTen = { ...named, grade: { type: 'numeric', points: 8, outOf: 10 } };

  test('8 of 10 is not done on a grade object that has had the maximum 100 for a moment', async () => {
    expect(await relay.deliver(eightOfTen)).toMatchObject({ outcomes: ['done'] });
    await relay.controls().change({ gradeObjects: [{ gradeObjectId: 5001, maxPoints: 100 }] });
    const { outcomes, requests } = await relay.deliver({ ...eightOfTen, userId: 302 });
    expect(outcomes).not.toContain('done');
    expect(requests.filter((request) => request.startsWith('PUT'))).toEqual([]);
  });

  test('a grade goes to the grade object that has the name now, and not to the one that had it', async () => {
    expect(await relay.deliver(named)).toMatchObject({ outcomes: ['done'] });
    await relay.controls().change({ gradeObjects: [{ gradeObjectId: 5001, name: 'Essay' }] });
    await relay.controls().seed({
      gradeObjects: [
        { gradeObjectId: 5009, orgUnitId: 2001, name: 'Midterm', gradeObjectType: 1, maxPoints: 10 },
      ],
    });
    const next = await relay.deliver({ ...named, userId: 302 });
    expect(next).toMatchObject({ outcomes: ['done'] });
    expect((await relay.rows('gradeValues')).filter(({ userId }) => userId === 302)).toMatchObject([
      { gradeObjectId: 5009 },
    ]);
  });

  test('it serves a backlog whole; a message that comes alone costs one list', async () => {
    const lists = async () => (await relay.requests()).filter(({ path }) => path.endsWith('/grades/')).length;
    const people = [301, 302, 303];
    const bodies = people.map((userId) => relay.event({ ...eightOfTen, userId }));
    const { outcomes } = await relay.deliverTogether(...bodies);
    expect(outcomes).toEqual(people.map(() => ['done']));
    expect(await lists()).toBe(1);
    for (const userId of people) await relay.deliver({ ...eightOfTen, userId });
    expect(await lists()).toBe(1 + people.length);
  });
});

describe('a look-up', () => {
  const sisIds: SisId[] = [
    { field: 'orgUnitCode', platformField: 'orgUnitId', value: 'BIO-101' },
    { field: 'userName', platformField: 'userId', value: 'nora' },
  ];
  const asked = { platform: {} as Platform, orgUnitId: undefined, sentMs: 0 };
  const fills = async () => new Map();
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
        fills,
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

  test('uses nothing for a message that was read before the message was sent: names pass to others', async () => {
    const { crosswalk, reads, pass } = worldOf();
    pass(10 * seconds);
    const sentAt = (sentMs: number) => crosswalk.platformIds(sisIds, { ...asked, sentMs });
    await sentAt(9 * seconds);
    await sentAt(10 * seconds);
    expect(reads).toHaveLength(1);
    pass(1 * seconds);
    await sentAt(11 * seconds);
    expect(reads).toHaveLength(2);
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
    const look = () => crosswalk.platformIds(named, { platform, orgUnitId: 7, sentMs: 0 });
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
    const look = () => crosswalk.platformIds(named, { platform, orgUnitId: 7, sentMs: 0 });
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
    // The first time, the table is searched for names that are near, too.
    for (const count of [2, 3]) {
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
      table: { namesIn: async () => Promise.reject(refused), fills },
      nowMs: Date.now,
    });
    await expect(crosswalk.platformIds(sisIds, asked)).rejects.toBe(refused);
  });
});
