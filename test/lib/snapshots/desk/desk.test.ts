import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Target } from '../../../../lib/deployment/target.ts';
import { decideSnapshot } from '../../../../lib/snapshots/desk/decide.ts';
import { listSnapshots, showSnapshot, waitingSnapshots } from '../../../../lib/snapshots/desk/read.ts';
import { acceptedKey, recordKey, reportKey, type SnapshotRecord } from '../../../../lib/snapshots/record.ts';
import { localClient } from '../../../local/aws.ts';
import { type DurableExecutions, startDurableExecutions } from '../../../local/durable-executions.ts';
import { never, type Office, officesForTests } from '../../cli/office.ts';

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

const counts = { created: 1, updated: 2, removed: 60, unchanged: 900, refused: 3 };
let hour = 10;
const recordOf = (changes: Partial<SnapshotRecord> = {}): SnapshotRecord => {
  hour += 1;
  return {
    ...{ id: `20261123T${hour}0000Z-0a1b2c3d`, key: 'snapshots/night.zip', state: 'accepted' },
    ...{ droppedAt: '2026-11-23T02:00:00Z', startedAt: '2026-11-23T02:00:01Z' },
    ...{ counts, byKind: { enrollments: counts }, sent: 0, of: 63 },
    ...changes,
  };
};
const put = async (Key: string, Body: string) =>
  (await target.s3()).send(new PutObjectCommand({ Bucket: office.bucket, Key, Body }));
const write = async (record: SnapshotRecord): Promise<SnapshotRecord> => {
  await put(recordKey(record.id), JSON.stringify(record));
  return record;
};

const agreeing = { confirm: async () => true, signal: never, patienceMs: 3_000 };
const approved = { ...agreeing, decision: 'approved' as const };
const decide = (id: string, options: Partial<Parameters<typeof decideSnapshot>[2]> = {}) =>
  decideSnapshot(target, id, { ...approved, audit: office.audit, ...options });

/** An import that waits, and writes down what it is told. */
const waiting = async ({ hears = true } = {}) => {
  const functionArn = 'arn:aws:lambda:us-east-1:000000000000:function:snapshot-import';
  const record = recordOf({ state: 'waiting-for-approval', why: '6.2 % would be removed' });
  const asked = Promise.withResolvers<string>();
  const ended = executions.run({}, { functionArn, executionTimeoutMs: 60_000 }, async (payload) => {
    const { DurableExecutionArn, CheckpointToken, InitialExecutionState } = payload as {
      DurableExecutionArn: string;
      CheckpointToken: string;
      InitialExecutionState: { Operations: { Type: string; CallbackDetails?: { Result?: string } }[] };
    };
    const callback = InitialExecutionState.Operations.find(({ Type }) => Type === 'CALLBACK');
    if (callback) {
      const decided = JSON.parse(callback.CallbackDetails?.Result ?? '{}');
      const state = decided.decision === 'approved' ? ('sending' as const) : ('rejected' as const);
      if (hears) await write({ ...record, state, decided });
      return { ok: true, payload: { Status: 'SUCCEEDED', Result: JSON.stringify(decided) } };
    }
    const answer = await fetch(
      `${executions.url}/2025-12-01/durable-executions/${encodeURIComponent(DurableExecutionArn)}/checkpoint`,
      {
        method: 'POST',
        body: JSON.stringify({ CheckpointToken, Updates: [{ Id: '1', Type: 'CALLBACK', Action: 'START' }] }),
      },
    );
    const { NewExecutionState } = Object(await answer.json());
    asked.resolve(NewExecutionState.Operations[0].CallbackDetails.CallbackId);
    return { ok: true, payload: { Status: 'PENDING' } };
  });
  const callbackId = await asked.promise;
  const { arn = '' } = executions.of(functionArn).at(-1) ?? {};
  await write({ ...record, callbackId });
  return { record, ended, stop: () => executions.stop(arn) };
};

describe('the list', () => {
  test('has the newest first, says which was accepted last, and names those that wait', async () => {
    const older = await write(recordOf());
    const newer = await write(recordOf({ state: 'waiting-for-approval' }));
    await put(recordKey(`20261123T${hour}3000Z-00000000`), 'of a version to come');
    await put(acceptedKey, JSON.stringify({ id: older.id }));
    const { snapshots, accepted, all } = await listSnapshots(target, { limit: 3, signal: never });
    expect(snapshots).toEqual([newer, older]);
    expect({ accepted, all }).toEqual({ accepted: older.id, all: 3 });
    expect((await listSnapshots(target, { limit: 2, signal: never })).snapshots).toEqual([newer]);
    expect(await waitingSnapshots(target, never)).toEqual([newer]);
  });
});

describe('one snapshot', () => {
  test('is shown with the first rows that were not used', async () => {
    const record = await write(recordOf({ counts: { ...counts, refused: 12 } }));
    const rows = Array.from({ length: 12 }, (_, at) => `"users.csv","${at + 2}","username","is ""empty"""`);
    await put(reportKey(record.id), `file,line,column,problem\n${rows.join('\n')}\n`);
    const shown = await showSnapshot(target, record.id.slice(0, 13), never);
    expect(shown).toMatchObject({ ...record, isAccepted: false });
    expect(shown.refusedRows).toHaveLength(10);
    expect(shown.refusedRows[0]).toEqual({
      ...{ file: 'users.csv', line: '2', column: 'username', problem: 'is "empty"' },
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
    ['comparing', undefined, /There is nothing to approve of snapshot .*: it is still being compared\.$/],
    ['accepted', undefined, /: its changes were few enough, and were sent\.$/],
    ['rejected', undefined, /: nobody approved it in time\.$/],
    ['failed', 'no roles', /: its import failed \(no roles\)\.$/],
    ['superseded', undefined, /: a newer snapshot took its place\.$/],
    ['waiting-for-approval', undefined, /begins to wait just now/],
  ])('is refused of one that is %s', async (state, why, sentence) => {
    const { id } = await write(recordOf({ state, ...(why !== undefined && { why }) }));
    await expect(decide(id)).rejects.toThrow(sentence);
  });
});
