import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Context } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { removedEffect, roleEffect } from '../../../lib/delivery/handle/fields/enrollment.ts';
import { digesterWith } from '../../../lib/delivery/ledger/digest.ts';
import {
  type DoneChange,
  emptyItem,
  type FieldState,
  type ResourceState,
} from '../../../lib/delivery/ledger/item.ts';
import { MessageFailure } from '../../../lib/message/failure.ts';
import { safe } from '../../../lib/message/safe-text.ts';
import { versionOf } from '../../../lib/message/version.ts';
import {
  type DecidedFindings,
  type ResendResult,
  resendKey,
  resendListKey,
  resendResultKey,
} from '../../../lib/options/reconcile/record.ts';
import {
  createResend,
  type ResendAnswer,
  type ResendServices,
} from '../../../lib/options/reconcile/resend.ts';
import { readAcceptedExports } from '../../../lib/options/snapshots/accepted-exports.ts';
import { acceptedKey, stateKey } from '../../../lib/options/snapshots/state/record.ts';
import type { PlatformClient } from '../../../lib/platform/client/client.ts';
import { durableHandler } from '../../../lib/runtime/jobs/engine.ts';
import type { JobStore } from '../../../lib/runtime/jobs/store.ts';
import { createObserve } from '../../../lib/runtime/telemetry/observe.ts';
import { loadIntegrations } from '../../../lib/stage/integrations.ts';
import { filled } from '../../lib/crosswalk/filled.ts';
import { type DurableExecutions, startDurableExecutions } from '../../local/lambda/durable-executions.ts';
import type { InvokeResult } from '../../local/lambda/runtime-api.ts';
import { bucketFolder } from '../snapshots/bucket-folder.ts';
import { enrollmentRows, gradeRows, type StateRow, stateFile } from '../snapshots/state-file.ts';

const id = '20261124T080000Z-0a1b2c3d';
const snapshotId = '20261123T020000Z-11111111';
const writtenMs = Date.parse('2026-11-23T02:01:00Z');
const integrations = await loadIntegrations();
const digest = digesterWith('k'.repeat(40));
const folders: string[] = [];
let executions: DurableExecutions;
let bucket: ReturnType<typeof bucketFolder>;
let ledger: Map<string, ResourceState>;
/** What is on the queues, by function. */
let sent: { function: string; body: string }[];
let lookedUp: string[];
let sqsFailures: number;

beforeAll(async () => {
  executions = await startDurableExecutions();
});
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'resend-'));
  folders.push(folder);
  bucket = bucketFolder(folder);
  [ledger, sent, lookedUp, sqsFailures] = [new Map(), [], [], 0];
  shown.clear();
  bucket.write(
    ...filled('orgUnitCode', [
      ['BIO-101', 2001],
      ['ART-1', 2002],
    ]),
  );
  bucket.write(
    ...filled('userName', [
      ['ada', 301],
      ['ben', 302],
      ['=cmd()', 303],
    ]),
  );
});
afterAll(async () => {
  for (const folder of folders) rmSync(folder, { recursive: true });
  await executions.close();
});

const idsOf: Record<string, number> = { Essay: 5001 };
const sqs = {
  send: async ({ input: { QueueUrl = '', Entries = [] } }: SendMessageBatchCommand) => {
    sqsFailures -= 1;
    if (sqsFailures >= 0)
      throw Object.assign(new Error('no'), { name: 'AccessDenied', $metadata: { httpStatusCode: 403 } });
    for (const { MessageBody = '' } of Entries) sent.push({ function: QueueUrl, body: MessageBody });
    return { Successful: Entries.map(({ Id }) => ({ Id, MessageId: `sqs-${Id}` })) };
  },
} as unknown as SQSClient;

/** By user: the grade values that the platform has now. */
const shown = new Map<number, object>();
const changedAt = '2026-11-20T10:00:00.000Z';
const old = () => shown.set(301, { Comments: null, LastModified: changedAt });

const services = (): ResendServices => ({
  readExports: readAcceptedExports,
  store: bucket.store as JobStore,
  readLedger: async (resource) => ledger.get(resource),
  digestsOf: (...parts) => [digest(parts)],
  crosswalk: {
    platformIds: async ([sisId]) => {
      if (sisId === undefined) return {};
      lookedUp.push(sisId.value);
      const found = idsOf[sisId.value];
      if (found === undefined) throw new MessageFailure('unknown-id', safe`It is not known`);
      return { [sisId.platformField]: found };
    },
  },
  platform: {
    for: () => ({
      call: async (_: unknown, { path }: { path: { userId: number } }) => shown.get(path.userId),
      clockOffsetMs: () => 0,
    }),
  } as unknown as PlatformClient,
  sqs: async () => sqs,
  queueUrlOf: (name) => name,
  integrations: async () => integrations,
  observe: createObserve({ function: 'reconcile', level: 'silent', namespace: 'test' }),
  callUsage: { record: () => {}, write: async () => {} },
  limits: { reserveMs: 1_000, backoff: { minimumSeconds: 1, maximumSeconds: 1 } },
});

/** `die`: the invocation ends there, and nothing of it is heard again. */
type Dying = (die: () => Promise<never>) => Partial<ResendServices>;
const run = async (findings: DecidedFindings['findings'], dying: Dying = () => ({})) => {
  bucket.write(resendKey(id), JSON.stringify({ by: 'kim', atMs: 1, why: 'lost', findings }));
  const functionArn = 'arn:aws:lambda:us-east-1:000000000000:function:reconcile';
  const result = await executions.run({}, { functionArn, executionTimeoutMs: 60_000 }, (payload) => {
    const death = Promise.withResolvers<InvokeResult>();
    const die = () => {
      death.resolve({ ok: false, error: { errorType: 'Runtime.ExitError', errorMessage: 'killed' } });
      return new Promise<never>(() => {});
    };
    const resend = createResend({ ...services(), ...dying(die) });
    const handler = durableHandler({ requestIn: () => id, run: resend }, executions.client);
    const context = { getRemainingTimeInMillis: () => 20_000 } as Context;
    const answered = handler(JSON.parse(JSON.stringify(payload)), context);
    return Promise.race([
      death.promise,
      answered.then((output): InvokeResult => ({ ok: true, payload: output })),
    ]);
  });
  const { outcomes, ...told } = bucket.json(resendResultKey(id)) as ResendResult;
  return {
    answer: result.ok ? (result.payload as ResendAnswer) : undefined,
    told,
    outcomes: Object.fromEntries(outcomes.map(({ resource, outcome }) => [resource, outcome])),
    messageIds: outcomes.flatMap(({ messageId }) => messageId ?? []),
    events: sent.map(({ function: name, body }) => ({ queue: name, ...JSON.parse(body) })),
  };
};
const list = (): string[] =>
  readFileSync(bucket.at(resendListKey(id)), 'utf8')
    .trimEnd()
    .split('\n');

/** What was accepted last. */
const accept = async (...rows: StateRow[][]): Promise<void> => {
  const by = JSON.stringify(['classCode', 'userName', 'username']);
  bucket.write(acceptedKey, JSON.stringify({ id: snapshotId, number: 1, columns: {}, by, holds: 'tables' }));
  bucket.write(stateKey(snapshotId), await stateFile(rows.flat()));
};
const graded = (
  userName: string,
  points: number,
  more: { gradeObjectName?: string; comments?: string } = {},
) =>
  gradeRows({
    orgUnitCode: 'BIO-101',
    gradeObjectName: 'Essay',
    userName,
    grade: { type: 'numeric', points, outOf: 20 },
    ...more,
  });
const enrolled = (orgUnitCode: string, userName: string) =>
  enrollmentRows({ orgUnitCode, userName, roleId: 110 });

/** The ledger knows that this was written. */
const written = (
  resource: string,
  values: Record<string, string>,
  {
    time = '2026-11-23T02:00:00Z',
    id = 'e1',
    ...more
  }: { time?: string; id?: string } & Partial<DoneChange> = {},
): void => {
  const version = versionOf({ id, source: '/sis', time, sequence: '2' }, 'any');
  const fields = Object.entries(values).map(([field, value]): [string, FieldState] => [
    field,
    {
      done: {
        version,
        messageId: 'sqs',
        begunMs: writtenMs,
        digest: digest([resource, field, value]),
        ...more,
      },
    },
  ]);
  const before = ledger.get(resource)?.fields;
  ledger.set(resource, {
    ...emptyItem,
    lockId: 'c',
    fields: { ...before, ...Object.fromEntries(fields) },
  });
};
const points = (value: number) => JSON.stringify({ GradeObjectType: 1, PointsNumerator: value });
const finding = (resource: string, more: Partial<DecidedFindings['findings'][number]> = {}) => ({
  resource,
  class: 'missing' as const,
  writtenMs,
  ...more,
});
const [adasGrade, bensGrade] = ['grade/2001/5001/301', 'grade/2001/5001/302'] as const;

describe('what was lost', () => {
  test('is sent again as the snapshot has it, right after what it repeats', async () => {
    old();
    await accept(
      enrolled('BIO-101', 'ada'),
      enrolled('BIO-101', 'ben'),
      graded('ada', 17.5, { comments: 'See me' }),
      graded('ben', 3),
    );
    written('enrollment/2001/302', { whole: roleEffect(110) });
    written(
      adasGrade,
      { grade: points(17.5), comments: 'See me' },
      { time: '2026-11-23T01:00:00.999999999Z' },
    );
    const { answer, told, outcomes, messageIds, events } = await run([
      finding('enrollment/2001/302'),
      finding(adasGrade, { class: 'older', changedAt }),
    ]);
    expect(answer).toEqual({
      id,
      state: 'done',
      outcomes: { sent: 2, newer: 0, 'not-held': 0, 'not-for-us': 0 },
    });
    expect(told).toEqual({ id, state: 'done' });
    expect(outcomes).toEqual({ 'enrollment/2001/302': 'sent', [adasGrade]: 'sent' });
    expect(messageIds).toHaveLength(2);
    const event = { specversion: '1.0', source: '/sis-relay/reconcile', id: expect.stringContaining(id) };
    expect(events).toEqual([
      {
        ...event,
        queue: 'enrollment-create',
        type: 'sis.enrollment-create.v1',
        time: '2026-11-23T02:00:00.000000001Z',
        data: { orgUnitId: 2001, userId: 302, roleId: 110 },
      },
      {
        ...event,
        queue: 'grade-push',
        type: 'sis.grade-push.v1',
        time: '2026-11-23T01:00:01.000000000Z',
        data: {
          orgUnitId: 2001,
          gradeObjectId: 5001,
          userId: 301,
          grade: { type: 'numeric', points: 17.5, outOf: 20 },
          comments: 'See me',
        },
      },
    ]);
  });

  test('is for the SIS where the snapshot says something else of it, or nothing', async () => {
    old();
    await accept(graded('ada', 17.5), graded('ben', 3), graded('=cmd|cleo', 1));
    written(adasGrade, { grade: points(18) });
    written(bensGrade, { grade: points(3), privateComments: 'of another source' });
    written('enrollment/2001/301', { whole: roleEffect(110) });
    const { outcomes, events } = await run([
      finding(adasGrade, { class: 'older', changedAt }),
      finding(bensGrade),
      finding('enrollment/2001/301'),
    ]);
    expect([...new Set(Object.values(outcomes))]).toEqual(['not-held']);
    expect(events).toEqual([]);
    const at = '2026-11-23T02:01:00.000Z';
    expect(list()).toEqual([
      'class,kind,orgUnitId,userId,gradeObjectId,writtenAt,orgUnitCode,userName,orgDefinedId,gradeObjectName',
      `"older","grade","2001","301","5001","${at}","BIO-101","ada","","Essay"`,
      `"missing","grade","2001","302","5001","${at}","BIO-101","ben","","Essay"`,
      `"missing","enrollment","2001","301","","${at}","","","",""`,
    ]);
  });

  test('is no formula in the list', async () => {
    await accept(graded('=cmd()', 1));
    written('grade/2001/5001/303', { grade: points(2) });
    await run([finding('grade/2001/5001/303')]);
    expect(list()[1]).toContain(`"'=cmd()"`);
  });

  test('is sent with a comment that the SIS has cleared', async () => {
    old();
    await accept(graded('ada', 17.5));
    written(adasGrade, { grade: points(17.5), comments: '' });
    const { events } = await run([finding(adasGrade, { class: 'older', changedAt })]);
    expect(events).toMatchObject([{ data: { comments: '' } }]);
  });

  test('is left alone where it was written again since, where it is not ours, or was decided there', async () => {
    await accept(graded('ada', 17.5));
    written(adasGrade, { grade: points(17.5) }, { begunMs: writtenMs + 1 });
    written(bensGrade, { grade: points(3) });
    const { outcomes, events } = await run([
      finding(adasGrade),
      finding(bensGrade, { class: 'changed' }),
      finding('enrollment/2001/301', { class: 'extra' }),
      finding('grade/2001/5001/309', { class: 'unreadable' }),
      finding('org-unit/2001'),
    ]);
    expect(Object.values(outcomes)).toEqual(['newer', ...Array(4).fill('not-for-us')]);
    expect(events).toEqual([]);
  });

  test('is left alone where somebody has changed it on the platform since', async () => {
    await accept(graded('ada', 17.5), graded('ben', 3));
    written(adasGrade, { grade: points(17.5) });
    written(bensGrade, { grade: points(3) });
    shown.set(301, { Comments: null, LastModified: '2026-11-23T07:00:00.000Z' });
    shown.set(302, { Comments: null, LastModified: '2026-11-23T07:00:00.000Z' });
    const { outcomes, events } = await run([
      finding(adasGrade, { class: 'older', changedAt }),
      finding(bensGrade),
    ]);
    expect(outcomes).toEqual({ [adasGrade]: 'newer', [bensGrade]: 'newer' });
    expect(events).toEqual([]);
  });

  test('is the removal of an enrollment, which no snapshot has', async () => {
    written('enrollment/2001/302', { whole: removedEffect });
    const { events, outcomes } = await run([finding('enrollment/2001/302', { class: 'different' })]);
    expect(outcomes).toEqual({ 'enrollment/2001/302': 'sent' });
    expect(events).toMatchObject([
      {
        queue: 'enrollment-remove',
        type: 'sis.enrollment-remove.v1',
        time: '2026-11-23T02:00:00.000000001Z',
        data: { orgUnitId: 2001, userId: 302 },
      },
    ]);
  });

  test('is no removal of whom the SIS has enrolled since', async () => {
    await accept(enrolled('BIO-101', 'ada'), enrolled('BIO-101', 'ben'));
    const earlier = writtenMs - 3_600_000;
    written('enrollment/2001/301', { whole: removedEffect }, { begunMs: earlier });
    written('enrollment/2001/302', { whole: removedEffect });
    const { events, outcomes } = await run([
      finding('enrollment/2001/301', { writtenMs: earlier }),
      finding('enrollment/2001/302', { class: 'different' }),
    ]);
    expect(outcomes).toEqual({ 'enrollment/2001/301': 'not-held', 'enrollment/2001/302': 'sent' });
    expect(events).toMatchObject([{ queue: 'enrollment-remove', data: { userId: 302 } }]);
    expect(list()).toMatchObject([expect.anything(), expect.stringContaining('"ada"')]);
  });

  test('is sent as of the snapshot where we have never written it, and not where that is forgotten', async () => {
    await accept(enrolled('BIO-101', 'ada'), enrolled('BIO-101', 'ben'));
    const { writtenMs: _, ...neverWritten } = finding('enrollment/2001/301');
    const { events, outcomes } = await run([neverWritten, finding('enrollment/2001/302')]);
    expect(outcomes).toEqual({ 'enrollment/2001/301': 'sent', 'enrollment/2001/302': 'not-held' });
    expect(events).toMatchObject([{ time: '2026-11-23T02:00:00.000Z', data: { userId: 301 } }]);
  });

  test('is looked up no further than it may be what is wanted', async () => {
    await accept(
      enrolled('ART-1', 'ada'),
      enrolled('ART-1', 'nobody'),
      enrolled('NEW-1', 'nobody'),
      graded('ada', 1, { gradeObjectName: 'Talk' }),
      graded('ben', 3),
    );
    written(bensGrade, { grade: points(3) });
    written('enrollment/2001/309', { whole: roleEffect(110) });
    expect((await run([finding(bensGrade), finding('enrollment/2001/309')])).events).toHaveLength(1);
    expect(lookedUp).toEqual(['Essay']);
  });
});

describe('a step that is repeated', () => {
  test('sends the same events, and none that their function has had', async () => {
    await accept(graded('ada', 17.5), graded('ben', 3));
    written(adasGrade, { grade: points(17.5) });
    written(bensGrade, { grade: points(3) });
    let writes = 0;
    const { outcomes } = await run([finding(adasGrade), finding(bensGrade)], (die) => ({
      store: {
        ...(bucket.store as JobStore),
        writeJson: async (key, value) => {
          writes += 1;
          if (writes > 1) return bucket.store.writeJson(key, value);
          const { id: eventId, time } = JSON.parse(sent[0]?.body ?? '');
          written(adasGrade, { grade: points(17.5) }, { id: eventId, time, begunMs: writtenMs + 9 });
          return die();
        },
      },
    }));
    expect(outcomes).toEqual({ [adasGrade]: 'sent', [bensGrade]: 'sent' });
    const [ada, ben, again, ...others] = sent.map(({ body }) => body);
    expect(ada).toContain('"userId":301');
    expect([again, others]).toEqual([ben, []]);
  });

  test('because SQS refused sends what is left', async () => {
    await accept(graded('ada', 17.5));
    written(adasGrade, { grade: points(17.5) });
    sqsFailures = 1;
    const { outcomes } = await run([finding(adasGrade)]);
    expect(outcomes).toEqual({ [adasGrade]: 'sent' });
    expect(sent).toHaveLength(1);
  });

  test('until it can be no more tells why, and what was sent', async () => {
    await accept(graded('ada', 17.5));
    written(adasGrade, { grade: points(17.5) });
    const { answer, told, outcomes } = await run([finding(adasGrade)], () => ({
      integrations: () => Promise.reject(new MessageFailure('rejected', safe`There are none`)),
    }));
    expect(answer).toBeUndefined();
    expect([told, outcomes]).toEqual([{ id, state: 'failed', why: 'There are none' }, {}]);
  });
});
