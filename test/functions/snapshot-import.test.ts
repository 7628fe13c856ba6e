import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { LambdaClient, SendDurableExecutionCallbackSuccessCommand } from '@aws-sdk/client-lambda';
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { PurgeQueueCommand } from '@aws-sdk/client-sqs';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ImportAnswer, importJob } from '../../lib/options/snapshots/import.ts';
import { importSettings } from '../../lib/options/snapshots/import-settings.ts';
import { createSnapshotServices } from '../../lib/options/snapshots/snapshot-services.ts';
import type { SnapshotRecord } from '../../lib/options/snapshots/state/record.ts';
import { createSnapshotStore } from '../../lib/options/snapshots/state/store.ts';
import { memoize } from '../../lib/runtime/aws/memoize.ts';
import { readSettings } from '../../lib/runtime/aws/setting.ts';
import { loadIntegrations } from '../../lib/stage/integrations.ts';
import { waitLimitMs } from '../limits.ts';
import { localClient } from '../local/aws/aws.ts';
import { answerOf, executionHere, jobServicesHere } from '../local/in-this-process.ts';
import { takeAll } from '../local/queues.ts';
import { entriesOf, sizeOf } from '../options/snapshots/exports.ts';
import {
  changed,
  enrollment,
  entriesOfSis,
  result,
  type Sis,
  smallSis,
  zipOf,
} from '../options/snapshots/sis.ts';
import { type Execute, jobForTests } from './job-for-tests.ts';

const name = 'snapshot-import';
/** Whether an execution that waits for a person waits for long enough. */
let isNobodyThere = false;
const job = jobForTests(name, {
  settings: () => ({ WAIT_MINIMUM_SECONDS: '1', WAIT_MAXIMUM_SECONDS: '1' }),
  pause: async (ms, signal) => (isNobodyThere ? job.time.pass(ms) : sleep(ms, undefined, { signal })),
});
const { time, stack, settings, logged, put, bytesAt, textAt, jsonAt, keysUnder, inProcess, controls } = job;
let Bucket: string;
const queues = [
  'enrollment-create',
  'enrollment-remove',
  'grade-object-create',
  'grade-object-update',
  'grade-push',
];

beforeAll(() => {
  Bucket = stack().description.bucket;
});
beforeEach(async () => {
  for (const prefix of ['snapshots/', 'snapshot-records/', 'snapshot-mappings/', 'snapshot-settings.json'])
    for (const Key of await keysUnder(prefix))
      await stack().s3.send(new DeleteObjectCommand({ Bucket, Key }));
  for (const each of queues)
    await stack().sqs.send(new PurgeQueueCommand({ QueueUrl: stack().description.queues[each] }));
  await putUsualSettings();
});

const putUsualSettings = () =>
  put(
    'snapshot-settings.json',
    JSON.stringify({ roles: { student: 110, teacher: 109 }, maxRemovalsPercent: 40 }),
  );

const services = memoize(async () => ({
  ...(await createSnapshotServices(readSettings(importSettings, settings()), loadIntegrations)),
  ...jobServicesHere(stack()),
  store: createSnapshotStore({ s3: stack().s3, bucket: Bucket }),
}));
const executed: Execute = (event) => executionHere(stack(), importJob(services), { name, event });

const invoke = async (event: unknown, execute = executed): Promise<ImportAnswer> =>
  answerOf(await execute(event));

/** S3 tells seconds alone, by which snapshots are ordered. */
const dropFile = async (bytes: Buffer | string, key = 'snapshots/export.zip') => {
  time.pass(1_000);
  await put(key, bytes);
  return key;
};
const importFile = async (bytes: Buffer | string, key?: string) =>
  invoke({ key: await dropFile(bytes, key) });
const importSis = async (sis: Sis, modes?: Record<string, string>) =>
  importFile(await zipOf(entriesOfSis(sis, modes)));

const recordOf = ({ id }: ImportAnswer): Promise<SnapshotRecord> =>
  jsonAt(`snapshot-records/${id}/record.json`);
const reportOf = async ({ id }: ImportAnswer): Promise<string[]> =>
  (await textAt(`snapshot-records/${id}/report.csv`)).trimEnd().split('\n').slice(1);

type Event = { id: string; time: string; sequence: string; type: string; data: Record<string, unknown> };

const bodiesIn = async (queue: string): Promise<string[]> => {
  const messages = await takeAll(stack(), stack().description.queues[queue]);
  return messages.map(({ Body = '', MessageAttributes }) => {
    expect(MessageAttributes).toMatchObject({ priority: { StringValue: 'bulk' } });
    return Body;
  });
};
/** What was sent since the last look, by function, sorted. */
const sent = async (): Promise<Record<string, Event['data'][]>> => {
  const all: Record<string, Event['data'][]> = {};
  for (const queue of queues) {
    const bodies = (await bodiesIn(queue)).map((body) => JSON.parse(body) as Event);
    if (bodies.length > 0)
      all[queue] = bodies
        .map(({ data }) => data)
        .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  }
  return all;
};

/** Everything but what differs. */
const unchanged = { created: 0, updated: 0, removed: 0, refused: 0 };

describe('an import', () => {
  test('fails until its settings are right, then sends everything of the first snapshot as created, once, then what changed, after what an import before it had not sent to the end; of an older one nothing', async () => {
    await dropFile(await zipOf(entriesOfSis({ ...smallSis(), results: [] })), 'snapshots/old.zip');
    await put('snapshot-settings.json', '{}');
    const failed = await importSis(smallSis());
    expect(failed).toMatchObject({
      outcome: 'failed',
      message: expect.stringContaining('has no roles. Add `roles`'),
    });
    expect(await recordOf(failed)).toMatchObject({ state: 'failed', why: failed.message, sent: 0 });
    expect(await sent()).toEqual({});
    expect(logged().join('')).toContain('"outcome":"failed"');
    const again = { key: 'snapshots/export.zip' };
    await put('snapshot-settings.json', '{"roles":{"student":0}}');
    expect((await invoke(again)).message).toMatch(/not valid: roles.student: must be/);
    await putUsualSettings();
    const answer = await invoke(again);
    expect(answer.id).toBe(failed.id);
    expect(answer).toEqual({
      outcome: 'accepted',
      message: '9 events were sent.',
      id: expect.stringMatching(/^\d{8}T\d{6}Z-[0-9a-f]{8}$/),
      record: `s3://${Bucket}/snapshot-records/${answer.id}/record.json`,
    });
    expect(await sent()).toEqual({
      'grade-object-create': [
        { orgUnitCode: 'ART-1', type: 'numeric', name: 'Talk', maxPoints: 10 },
        { orgUnitCode: 'BIO-101', type: 'numeric', name: 'Essay', maxPoints: 20 },
      ],
      'enrollment-create': [
        { orgUnitCode: 'ART-1', userName: 'ada', roleId: 110 },
        { orgUnitCode: 'BIO-101', userName: 'ada', roleId: 110 },
        { orgUnitCode: 'BIO-101', userName: 'ben', roleId: 110 },
        { orgUnitCode: 'BIO-101', userName: 'cleo', roleId: 110 },
        { orgUnitCode: 'BIO-101', userName: 'tess', roleId: 109 },
      ],
      'grade-push': [
        {
          orgUnitCode: 'BIO-101',
          gradeObjectName: 'Essay',
          userName: 'ada',
          grade: { type: 'numeric', points: 17.5, outOf: 20 },
        },
        {
          orgUnitCode: 'BIO-101',
          gradeObjectName: 'Essay',
          userName: 'ben',
          grade: { type: 'numeric', points: 0, outOf: 20 },
          comments: 'See me',
        },
      ],
    });
    const none = { updated: 0, removed: 0, unchanged: 0, refused: 0 };
    expect(await recordOf(answer)).toEqual({
      feed: 'oneroster',
      id: answer.id,
      key: 'snapshots/export.zip',
      state: 'accepted',
      sent: 9,
      of: 9,
      versionId: expect.stringMatching(/^\w+$/),
      droppedAt: expect.any(String),
      startedAt: expect.any(String),
      endedAt: expect.any(String),
      sendingAt: expect.any(String),
      counts: { created: 9, ...none },
      byKind: {
        lineItems: { created: 2, ...none },
        enrollments: { created: 5, ...none },
        results: { created: 2, ...none },
      },
      rows: {
        'classes.csv': { read: 2 },
        'users.csv': { read: 4 },
        'lineItems.csv': { sent: 2 },
        'enrollments.csv': { sent: 5 },
        'results.csv': { sent: 2 },
      },
    });
    expect(await reportOf(answer)).toEqual([]);

    const notice = {
      Records: [{ s3: { bucket: { name: Bucket }, object: { key: 'snapshots/export.zip' } } }],
    };
    expect(await invoke(notice)).toMatchObject({ outcome: 'known', id: answer.id });
    const old = await invoke({ key: 'snapshots/old.zip' });
    expect(old).toMatchObject({ outcome: 'superseded' });
    expect(await recordOf(old)).toMatchObject({ state: 'superseded', endedAt: expect.any(String) });
    expect(await sent()).toEqual({});
    expect(logged().join('\n')).not.toMatch(/\bada\b|BIO-101|See me/);

    const sis = smallSis();
    sis.enrollments = [
      ...changed(sis.enrollments, 'e-bio-tess', { role: 'student' }).filter(
        ({ sourcedId }) => sourcedId !== 'e-bio-cleo',
      ),
      enrollment('art', 'ben'),
    ];
    sis.lineItems = changed(sis.lineItems, 'l-essay', { title: 'First essay' });
    sis.results = [
      result('essay', 'ada', '17.5', { dateLastModified: '2026-02-01T00:00:00Z' }),
      result('essay', 'ben', '1'),
      result('talk', 'ada', '', { textScore: 'passed' }),
    ];
    const later = await importSis(sis);
    const sentLater = await sent();
    expect(sentLater).toEqual({
      'enrollment-create': [
        { orgUnitCode: 'ART-1', userName: 'ben', roleId: 110 },
        { orgUnitCode: 'BIO-101', userName: 'tess', roleId: 110 },
      ],
      'enrollment-remove': [{ orgUnitCode: 'BIO-101', userName: 'cleo' }],
      'grade-object-update': [
        {
          orgUnitCode: 'BIO-101',
          gradeObjectName: 'First essay',
          gradeObjectFormerNames: ['Essay'],
          type: 'numeric',
          name: 'First essay',
        },
      ],
      'grade-push': [
        {
          orgUnitCode: 'ART-1',
          gradeObjectName: 'Talk',
          userName: 'ada',
          grade: { type: 'text', text: 'passed' },
        },
        {
          orgUnitCode: 'BIO-101',
          gradeObjectName: 'First essay',
          userName: 'ben',
          gradeObjectFormerNames: ['Essay'],
          // That the SIS has a comment no more clears it.
          grade: { type: 'numeric', points: 1, outOf: 20 },
          comments: '',
        },
      ],
    });
    expect((await recordOf(later)).byKind).toEqual({
      lineItems: { ...unchanged, updated: 1, unchanged: 1 },
      enrollments: { ...unchanged, created: 1, updated: 1, removed: 1, unchanged: 3 },
      results: { ...unchanged, created: 1, updated: 1, unchanged: 1 },
    });
    // As if it had been ended after its first call of SQS: the platform may have some of it.
    const [acceptedKey, recordKey] = ['accepted.json', `${later.id}/record.json`].map(
      (key) => `snapshot-records/${key}`,
    ) as [string, string];
    const change = async (key: string, changes: object) =>
      put(key, JSON.stringify({ ...(await jsonAt(key)), ...changes }));
    await change(acceptedKey, { sending: true });
    await change(recordKey, { state: 'failed' });
    const last = await importSis({ ...sis, results: changed(sis.results, 'r-essay-ben', { score: '3' }) });
    expect(last).toMatchObject({ outcome: 'accepted', message: '1 events were sent.' });
    const { 'grade-push': pushed, ...others } = await sent();
    expect({ ...others, 'grade-push': pushed?.slice(0, 2) }).toEqual(sentLater);
    expect(pushed?.slice(2)).toMatchObject([{ userName: 'ben', grade: { points: 3 } }]);
    expect(await recordOf(later)).toMatchObject({ state: 'accepted' });
  });
});

/** What a person answers, once the import asks. */
const decide = async (id: string, answer: object): Promise<SnapshotRecord> => {
  const waiting = await expect
    .poll(async () => (await recordOf({ id } as ImportAnswer)).state, { timeout: waitLimitMs })
    .toBe('waiting-for-approval')
    .then(() => recordOf({ id } as ImportAnswer));
  const lambda = new LambdaClient(localClient(stack().description.lambda));
  await lambda.send(
    new SendDurableExecutionCallbackSuccessCommand({
      CallbackId: waiting.callbackId,
      Result: Buffer.from(JSON.stringify({ by: 'ida', at: new Date().toISOString(), ...answer })),
    }),
  );
  lambda.destroy();
  return waiting;
};
/** The id of the newest record that waits. */
const waitingId = async (): Promise<string> => {
  const look = async () => {
    const keys = await keysUnder('snapshot-records/2');
    const ids = [...new Set(keys.map((key) => key.split('/')[1] ?? ''))].sort();
    const id = ids.at(-1) ?? '';
    const record = await recordOf({ id } as ImportAnswer).catch(() => undefined);
    return record?.state === 'waiting-for-approval' ? id : undefined;
  };
  await expect.poll(look, { timeout: waitLimitMs }).toBeDefined();
  return (await look()) ?? '';
};

describe('a snapshot that would remove too much', () => {
  const half = (): Required<Sis> => {
    const sis = smallSis();
    return { ...sis, enrollments: sis.enrollments.slice(0, 2) };
  };

  const header = 'COURSE;LOGIN;ROLE';
  const mapping = {
    messages: [
      {
        function: 'enrollment-create',
        data: {
          orgUnitCode: 'COURSE',
          userName: 'LOGIN',
          roleId: { from: 'ROLE', values: { S: 110, T: 109 } },
        },
        key: ['COURSE', 'LOGIN'],
        removed: { function: 'enrollment-remove', data: { orgUnitCode: 'COURSE', userName: 'LOGIN' } },
      },
    ],
  };
  const dropTable = (...rows: string[]) =>
    importFile([header, ...rows].join('\r\n'), 'snapshots/registrations.csv');

  test('sends nothing before a person approves it, then everything; one that is rejected, or that nobody decides on, changes nothing; so does a table with a mapping, which is compared with the last of its name and leaves the zips alone', async () => {
    await put('snapshot-mappings/registrations.json', JSON.stringify(mapping));
    const first = await dropTable('PHY-1;ada;S', 'PHY-1;tess;T', 'CHE-1;cleo;S', 'PHY-1;"=cmd()";X');
    expect(first).toMatchObject({ outcome: 'accepted', message: '3 events were sent.' });
    expect(await reportOf(first)).toEqual([expect.stringMatching(/^"registrations.csv","5","ROLE",/)]);
    await sent();
    const dropping = dropTable('PHY-1;ada;T', 'CHE-1;ben;S');
    expect(await decide(await waitingId(), { decision: 'approved' })).toMatchObject({
      why: '2 of 3 enrollments would be removed',
      counts: { removed: 2 },
    });
    expect(await dropping).toMatchObject({ outcome: 'accepted' });
    expect(await sent()).toEqual({
      'enrollment-create': [
        { orgUnitCode: 'CHE-1', userName: 'ben', roleId: 110 },
        { orgUnitCode: 'PHY-1', userName: 'ada', roleId: 109 },
      ],
      'enrollment-remove': [
        { orgUnitCode: 'CHE-1', userName: 'cleo' },
        { orgUnitCode: 'PHY-1', userName: 'tess' },
      ],
    });
    await importSis(smallSis());
    await sent();
    const again = await importSis(smallSis());
    expect(again.message).toBe(
      '0 events were sent. classes.csv: 2 read. users.csv: 4 read. lineItems.csv: 2 unchanged. enrollments.csv: 5 unchanged. results.csv: 2 unchanged.',
    );
    expect(await sent()).toEqual({});
    expect((await recordOf(again)).counts).toEqual({ ...unchanged, unchanged: 9 });
    expect(logged().join('\n')).not.toMatch(/\bada\b|BIO-101|PHY-1|cmd/);

    const rejecting = importSis(half());
    await decide(await waitingId(), { decision: 'rejected' });
    const rejected = await rejecting;
    expect(rejected.outcome).toBe('rejected');
    expect(await recordOf(rejected)).toMatchObject({ state: 'rejected', sent: 0 });
    expect(await invoke({ key: 'snapshots/export.zip' })).toMatchObject({ outcome: 'known' });
    expect(await sent()).toEqual({});

    // The next is compared with the one before that.
    const sis = half();
    sis.results.push(result('talk', 'ada', '9'));
    const importing = importSis(sis);
    const id = await waitingId();
    expect(await sent()).toEqual({});
    expect(logged().join('')).toContain(`the snapshot ${id} waits for approval`);
    const waiting = await decide(id, { decision: 'approved', reason: 'term is over' });
    expect(waiting).toMatchObject({
      // Of all files it is less: the table has two more.
      why: '3 of 5 enrollments of oneroster would be removed',
      removals: { share: 60, limit: 40 },
      of: 4,
      sent: 0,
      counts: { created: 1, removed: 3 },
    });
    const answer = await importing;
    expect(answer).toMatchObject({ outcome: 'accepted', id });
    expect(await sent()).toEqual({
      'enrollment-remove': [
        { orgUnitCode: 'ART-1', userName: 'ada' },
        { orgUnitCode: 'BIO-101', userName: 'cleo' },
        { orgUnitCode: 'BIO-101', userName: 'tess' },
      ],
      'grade-push': [
        {
          orgUnitCode: 'ART-1',
          gradeObjectName: 'Talk',
          userName: 'ada',
          grade: { type: 'numeric', points: 9, outOf: 10 },
        },
      ],
    });
    const record = await recordOf(answer);
    expect(record).toMatchObject({ state: 'accepted', decided: { by: 'ida', decision: 'approved' } });
    expect(record).not.toHaveProperty('callbackId');

    isNobodyThere = true;
    const undecided = await importSis({ ...sis, enrollments: [] }).finally(() => {
      isNobodyThere = false;
    });
    expect(undecided.outcome).toBe('rejected');
    expect(await recordOf(undecided)).toMatchObject({
      state: 'rejected',
      sent: 0,
      why: expect.stringMatching(/would be removed. It was not approved or rejected within/),
    });
  });
});

test('a file that the bucket gives to nobody fails at once, has a record that says so, and is listed until a later one is accepted', async () => {
  await importSis(smallSis());
  const { VersionId: versionId } = await stack().s3.send(
    new PutObjectCommand({ Bucket, Key: 'snapshots/export.zip', Body: 'x' }),
  );
  const event = { key: 'snapshots/export.zip', versionId };
  // Put in a storage class, or under a key, that the function cannot read.
  await controls().awsFault('s3', {
    action: 'GetObject',
    name: `${Bucket}/snapshots/export.zip`,
    times: 900,
    type: 'InvalidObjectState',
    status: 403,
  });
  const why = expect.stringContaining(
    'The bucket does not give the file to the function (InvalidObjectState)',
  );
  expect(await executed(event)).toMatchObject({ payload: { outcome: 'failed', message: why } });
  await controls().clearAwsFaults();
  const [entry = ''] = await keysUnder('snapshot-records/unaccepted/');
  const { id, ...noted } = await jsonAt(entry);
  expect(noted).toMatchObject({ ...event, is: 'failed', why });
  expect(await recordOf({ id } as ImportAnswer)).toMatchObject({ ...event, state: 'failed', why });
  const sis = smallSis();
  await importSis({ ...sis, enrollments: [...sis.enrollments, enrollment('art', 'ben')] });
  expect(await keysUnder('snapshot-records/unaccepted/')).toEqual([]);
});

describe('an empty file', () => {
  const key = 'snapshots/registrations.csv';
  const unaccepted = () => keysUnder('snapshot-records/unaccepted/');
  const putVersion = async (Body: string) => {
    time.pass(1_000);
    const { VersionId: versionId } = await stack().s3.send(new PutObjectCommand({ Bucket, Key: key, Body }));
    return { key, versionId };
  };
  const untilListed = async (count: number): Promise<void> => {
    while ((await unaccepted()).length < count) await sleep(20);
  };
  beforeEach(async () => {
    const message = {
      function: 'enrollment-create',
      data: { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId: { value: 110 } },
      key: ['COURSE', 'LOGIN'],
    };
    await put('snapshot-mappings/registrations.json', JSON.stringify({ messages: [message] }));
  });

  test('waits a minute for its content, and is passed over when that has come, which is imported', async () => {
    const ended: string[] = [];
    const begin = async (name: string, version: object) => {
      const answer = await invoke(version);
      ended.push(name);
      return answer;
    };
    const empty = begin('the empty file', await putVersion(''));
    await untilListed(1);
    const content = begin('its content', await putVersion('COURSE,LOGIN\nBIO-101,ada\n'));
    await untilListed(2);
    time.pass(50_000);
    // Several looks at whose turn it is.
    await sleep(2_500);
    expect(ended).toEqual([]);
    expect(await Promise.all((await unaccepted()).map(jsonAt))).toMatchObject([
      { key, is: 'waiting' },
      { key, is: 'waiting' },
    ]);
    time.pass(10_000);
    expect(await empty).toEqual({
      outcome: 'replaced',
      message: 'The file was empty, and its content was put after it.',
    });
    const accepted = await content;
    expect(accepted).toMatchObject({ outcome: 'accepted', message: '1 events were sent.' });
    expect(ended).toEqual(['the empty file', 'its content']);
    expect(await sent()).toEqual({
      'enrollment-create': [{ orgUnitCode: 'BIO-101', userName: 'ada', roleId: 110 }],
    });
    // Nobody is told of a failure, and nothing is left to see to.
    expect((await keysUnder('snapshot-records/')).filter((each) => each.endsWith('/record.json'))).toEqual([
      `snapshot-records/${accepted.id}/record.json`,
    ]);
    expect(await unaccepted()).toEqual([]);
    expect(job.metrics('SnapshotImports').filter(([, count]) => count > 0)).toEqual([['accepted', 1]]);
  });

  test('without content fails after that minute, by its name', async () => {
    const failed = invoke(await putVersion(''));
    await untilListed(1);
    time.pass(60_000);
    expect(await failed).toMatchObject({
      outcome: 'failed',
      message: expect.stringContaining('registrations.csv is empty'),
    });
    expect(await recordOf(await failed)).toMatchObject({ state: 'failed' });
  });
});

test('an accepted import is counted apart if a role is unknown: a person must name it, but not correct each other refused row', async () => {
  const outcomes = () =>
    job
      .metrics('SnapshotImports')
      .filter(([, count]) => count > 0)
      .map(([name]) => name);
  const before = outcomes().length;
  const { enrollments, ...sis } = smallSis();
  const more = [enrollment('art', 'ben', { role: 'unheard-of' }), enrollment('art', 'nobody')];
  await importSis({ ...sis, enrollments: [...enrollments, ...more.slice(1)] });
  await importSis({ ...sis, enrollments: [...enrollments, ...more] });
  expect(outcomes().slice(before)).toEqual(['accepted', 'unknown-codes']);
});

describe('a file that is none', () => {
  test('is ignored if it is not complete, and refused where it lies elsewhere', async () => {
    expect(await invoke({ key: 'snapshots/export.zip.part' })).toMatchObject({ outcome: 'ignored' });
    await expect(invoke({ key: 'uploads/a.zip' })).rejects.toThrow('names no file under snapshots/');
    expect(await invoke({ key: 'snapshots/gone.zip' })).toMatchObject({ outcome: 'replaced' });
  });
});

test('an import whose process is killed again and again sends each event, and none of them in two forms', {
  tags: ['long'],
  timeout: 300_000,
}, async () => {
  const key = await dropFile(await zipOf(entriesOf(sizeOf(2_000))));
  let kills = 0;
  const { lambda, execute } = await inProcess({ EVENTS_PER_PART: '200' });
  // At first each time, then by chance, but more often than it takes a step.
  const killing = setInterval(() => {
    if (kills >= 12 || (kills > 3 && Math.random() < 0.5)) return;
    kills += 1;
    lambda.kill(name);
  }, 400);
  const answer = await invoke({ key }, execute).finally(() => clearInterval(killing));
  expect(answer.outcome).toBe('accepted');
  const record = await recordOf(answer);
  const wanted = gunzipSync(await bytesAt(`snapshot-records/${answer.id}/changes.jsonl.gz`))
    .toString()
    .trimEnd()
    .split('\n');
  expect(wanted).toHaveLength(1_860);
  expect(record).toMatchObject({ sent: 1_860, of: 1_860, counts: { created: 1_860 } });
  const bodies = (await Promise.all(queues.map(bodiesIn))).flat();
  expect([...new Set(bodies)].sort()).toEqual(wanted.toSorted());
  expect(new Set(wanted.map((body) => JSON.parse(body).id)).size).toBe(1_860);
  expect(kills).toBeGreaterThan(3);
});
