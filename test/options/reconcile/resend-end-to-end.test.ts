// @module-tag long
import { GetQueueAttributesCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import type { Context } from 'aws-lambda';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { handler as reconcile } from '../../../functions/reconcile.ts';
import { handler as importSnapshot } from '../../../functions/snapshot-import.ts';
import type { CrosswalkKind } from '../../../lib/crosswalk/kinds.ts';
import { bucketOf, createCrosswalkTable } from '../../../lib/crosswalk/table.ts';
import { newestAttemptMs } from '../../../lib/delivery/ledger/item.ts';
import { createLedgerReader, type ReadResource } from '../../../lib/delivery/ledger/read.ts';
import {
  type DecidedFindings,
  type ResendResult,
  resendKey,
  resendListKey,
  resendResultKey,
} from '../../../lib/options/reconcile/record.ts';
import { createQuickDynamoDb } from '../../../lib/runtime/aws/dynamodb-quick.ts';
import { filled } from '../../lib/crosswalk/filled.ts';
import { localClient } from '../../local/aws/aws.ts';
import { passingTime } from '../../local/aws/passing-time.ts';
import { filesIn } from '../../local/bucket.ts';
import { type Controls, controlsOf } from '../../local/controls.ts';
import { inThisProcess } from '../../local/in-this-process.ts';
import { durableOptionsOf, type Stack, settingsOf, startStack } from '../../local/stack.ts';
import { enrollment, entriesOfSis, result, zipOf } from '../snapshots/sis.ts';

const short = {
  ATTEMPT_TIMEOUT_MS: '1500',
  RESERVE_MS: '500',
  LEDGER_GRACE_SECONDS: '1',
  WAIT_MINIMUM_SECONDS: '1',
  WAIT_MAXIMUM_SECONDS: '1',
};
const time = passingTime();
let stack: Stack;
let controls: Controls;
let readLedger: ReadResource;

beforeAll(async () => {
  stack = await startStack({
    functions: ['grade-push', 'enrollment-create', 'enrollment-remove'],
    lambda: inThisProcess,
    settings: short,
    durable: { pause: async (ms) => time.pass(ms) },
    // The test imports itself.
    notices: false,
  });
  const { description } = stack;
  controls = controlsOf(description);
  const dynamodb = createQuickDynamoDb(localClient(description.dynamodb));
  readLedger = createLedgerReader({ dynamodb, table: description.table, nowMs: Date.now });
  Object.assign(process.env, settingsOf(description, 'reconcile'), short, {
    RECONCILE_BUCKET: description.bucket,
    LOG_LEVEL: 'silent',
  });
});
afterAll(() => stack.close());

const { put, textAt } = filesIn(() => stack);

const [lena, liam, nora] = ['lena.learner', 'liam.learner', 'nora.newcomer'] as const;

/** What the SIS says: three learners of a course, and their grades, one of them with a comment. */
const dropSnapshot = async (): Promise<void> => {
  const { dynamodb: url, crosswalkTable: table } = stack.description;
  const crosswalk = createCrosswalkTable({
    dynamodb: createQuickDynamoDb(localClient(url)),
    table,
    nowMs: Date.now,
  });
  const names: [CrosswalkKind, string, number][] = [
    ['orgUnitCode', 'BIO-101', 2001],
    ...[lena, liam, nora].map((name, at): [CrosswalkKind, string, number] => ['userName', name, 301 + at]),
  ];
  for (const kind of ['orgUnitCode', 'userName'] as const)
    await put(
      ...filled(
        kind,
        names.flatMap(([of, ...name]) => (of === kind ? [name] : [])),
      ),
    );
  await crosswalk.put(
    names.map(([kind, name, id]) => ({
      bucket: bucketOf(kind, 'platform', name),
      entries: new Map([[name, { ids: [id] }]]),
    })),
  );
  const users = [lena, liam, nora].map((username) => ({ sourcedId: `u-${username}`, username }));
  await put('snapshot-settings.json', JSON.stringify({ roles: { student: 110 } }));
  await put(
    'snapshots/export.zip',
    await zipOf(
      entriesOfSis({
        users,
        classes: [{ sourcedId: 'c-bio', title: 'Biology', classCode: 'BIO-101' }],
        lineItems: [{ sourcedId: 'l-mid', title: 'Midterm', classSourcedId: 'c-bio', resultValueMax: '10' }],
        enrollments: users.map(({ username }) => enrollment('bio', username)),
        results: [
          result('mid', lena, '8.5', { comment: 'A clear argument' }),
          result('mid', liam, '7'),
          result('mid', nora, '6'),
        ],
      }),
    ),
  );
  await execute('snapshot-import', importSnapshot, { key: 'snapshots/export.zip' });
  await expect.poll(grades).toEqual({ 301: 8.5, 302: 7, 303: 6 });
  await expect.poll(members).toContain(303);
};

const grades = async (): Promise<Record<number, unknown>> => {
  const { gradeValues = [] } = await controls.state('gradeValues');
  return Object.fromEntries(gradeValues.map(({ userId, pointsNumerator }) => [userId, pointsNumerator]));
};
const members = async (): Promise<unknown[]> => {
  const { enrollments = [] } = await controls.state('enrollments');
  return enrollments.filter(({ orgUnitId }) => orgUnitId === 2001).map(({ userId }) => userId);
};

/** As the SIS says something by itself. */
const say = (name: string, data: object) =>
  stack.sqs.send(
    new SendMessageCommand({
      QueueUrl: stack.description.queues[name],
      MessageBody: JSON.stringify({
        specversion: '1.0',
        id: crypto.randomUUID(),
        source: '/sis',
        type: `sis.${name}.v1`,
        time: new Date().toISOString(),
        data,
      }),
    }),
  );

const gradeOf = (userId: number) => `grade/2001/5001/${userId}`;
const enrollmentOf = (userId: number) => `enrollment/2001/${userId}`;
type Finding = DecidedFindings['findings'][number];
const findingOf = async (resource: string, found: Finding['class']): Promise<Finding> => {
  const { fields = {} } = (await readLedger(resource)) ?? {};
  const writtenMs = Math.max(...Object.values(fields).map(newestAttemptMs));
  const { gradeValues = [] } = await controls.state('gradeValues');
  const value = gradeValues.find(({ userId }) => resource === gradeOf(Number(userId)));
  return { resource, class: found, writtenMs, ...(value && { changedAt: String(value.lastModified) }) };
};

type Handler = (event: never, context: Context) => Promise<unknown>;
/** In this process. */
const execute = async (name: string, handler: Handler, event: object): Promise<void> => {
  const result = await stack.executions.run(event, durableOptionsOf(name), async (payload) => {
    const context = { getRemainingTimeInMillis: () => 60_000 } as Context;
    return { ok: true, payload: await handler(JSON.parse(JSON.stringify(payload)) as never, context) };
  });
  expect(result).toMatchObject({ ok: true });
};

/** As an operator asks for it. */
const resend = (id: string) => execute('reconcile', reconcile, { resend: id });
const outcomesOf = async (id: string): Promise<Record<string, string>> => {
  const { outcomes } = JSON.parse(await textAt(resendResultKey(id))) as ResendResult;
  return Object.fromEntries(outcomes.map(({ resource, outcome }) => [resource, outcome]));
};

test('what a restore of the platform lost is there again, and nothing that is newer is lost by it', async () => {
  await dropSnapshot();
  // After the snapshot, a person leaves, and grades change.
  await say('enrollment-remove', { orgUnitId: 2001, userId: 302 });
  await expect.poll(members).not.toContain(302);
  await say('grade-push', { orgUnitId: 2001, gradeObjectId: 5001, userId: 303, grade: numeric(2) });
  await expect.poll(async () => (await grades())[303]).toBe(2);

  // The platform comes back as it was before.
  await controls.reset();
  const before = { orgUnitId: 2001, gradeObjectId: 5001, pointsNumerator: 1 };
  await controls.seed({ gradeValues: [301, 302, 303].map((userId) => ({ ...before, userId })) });
  expect(await members()).toEqual(expect.arrayContaining([301, 302]));
  expect(await members()).not.toContain(303);

  const findings = [
    await findingOf(gradeOf(301), 'older'),
    await findingOf(gradeOf(302), 'older'),
    await findingOf(gradeOf(303), 'older'),
    await findingOf(enrollmentOf(302), 'different'),
    await findingOf(enrollmentOf(303), 'missing'),
  ];
  // Then the SIS says something of one of them.
  await say('grade-push', { orgUnitId: 2001, gradeObjectId: 5001, userId: 302, grade: numeric(9) });
  await expect.poll(async () => (await grades())[302]).toBe(9);

  const id = '20261124T080000Z-0a1b2c3d';
  await put(resendKey(id), JSON.stringify({ by: 'kim', atMs: Date.now(), why: 'a restore', findings }));
  // Twice at once, as if one had been killed and did not know it yet.
  await Promise.all([resend(id), resend(id)]);
  const outcomes = {
    [gradeOf(301)]: 'sent',
    [gradeOf(302)]: 'newer',
    [gradeOf(303)]: 'not-held',
    [enrollmentOf(302)]: 'sent',
    [enrollmentOf(303)]: 'sent',
  };
  expect(await outcomesOf(id)).toEqual(outcomes);
  await expect.poll(grades).toEqual({ 301: 8.5, 302: 9, 303: 1 });
  await expect.poll(members).toEqual(expect.arrayContaining([301, 303]));
  await expect.poll(members).not.toContain(302);
  expect((await textAt(resendListKey(id))).trimEnd().split('\n').slice(1)).toEqual([
    expect.stringMatching(
      /^"older","grade","2001","303","5001","[^"]+Z","BIO-101","nora\.newcomer","","Midterm"$/,
    ),
  ]);

  // Once more, after their functions have had them.
  await resend(id);
  expect(await outcomesOf(id)).toEqual(outcomes);
  await expect.poll(waiting).toEqual([0, 0, 0]);
  const writes = (await controls.requests()).filter(({ method }) => method !== 'GET');
  expect(writes.map(({ method, path }) => `${method} ${path.replace(/^.*?\d\.\d+/, '')}`).sort()).toEqual([
    expect.stringMatching(/^DELETE .*302/),
    expect.stringMatching(/^POST .*enrollments\/$/),
    ...[301, 302].map((userId) => `PUT /2001/grades/5001/values/${userId}`),
  ]);
  const { gradeValues = [] } = await controls.state('gradeValues');
  expect(gradeValues.find(({ userId }) => userId === 301)).toMatchObject({
    comments: expect.objectContaining({ content: 'A clear argument' }),
  });
  // What the SIS says later is newer than what was sent again.
  await say('grade-push', { orgUnitId: 2001, gradeObjectId: 5001, userId: 301, grade: numeric(10) });
  await expect.poll(async () => (await grades())[301]).toBe(10);
});

const numeric = (points: number) => ({ type: 'numeric', points });

/** On the queues that functions poll, messages that they have not done with. */
const waiting = () =>
  Promise.all(
    ['grade-push', 'enrollment-create', 'enrollment-remove'].map(async (name) => {
      const { Attributes = {} } = await stack.sqs.send(
        new GetQueueAttributesCommand({
          QueueUrl: stack.description.queues[name],
          AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
        }),
      );
      return Object.values(Attributes).reduce((sum, count) => sum + Number(count), 0);
    }),
  );
