import { recordKey, reportKey, type SnapshotRecord } from '../../../../lib/options/snapshots/state/record.ts';
import { type Bucket, putText } from '../../../local/bucket.ts';
import type { DurableExecutions } from '../../../local/lambda/durable-executions.ts';

const counts = { created: 1, updated: 2, removed: 60, unchanged: 900, refused: 3 };
let minutes = 600;

/** The record of a snapshot, each newer than the one before. */
export const recordOf = (changes: Partial<SnapshotRecord> = {}): SnapshotRecord => {
  minutes += 1;
  const time = [Math.floor(minutes / 60), minutes % 60].map((each) => String(each).padStart(2, '0')).join('');
  return {
    id: `20261123T${time}00Z-0a1b2c3d`,
    key: 'snapshots/night.zip',
    state: 'accepted',
    droppedAt: '2026-11-23T02:00:00Z',
    startedAt: '2026-11-23T02:00:01Z',
    counts,
    byKind: { enrollments: counts },
    sent: 0,
    of: 63,
    ...changes,
  };
};

export const writeSnapshot = async (bucket: Bucket, record: SnapshotRecord): Promise<SnapshotRecord> => {
  await putText(bucket, recordKey(record.id), JSON.stringify(record));
  return record;
};

type Payload = {
  DurableExecutionArn: string;
  CheckpointToken: string;
  InitialExecutionState: { Operations: { Type: string; CallbackDetails?: { Result?: string } }[] };
};

/** An import that waits for a person, and writes down what it hears. */
export const waitingImport = async (executions: DurableExecutions, bucket: Bucket, { hears = true } = {}) => {
  const functionArn = 'arn:aws:lambda:us-east-1:000000000000:function:snapshot-import';
  const record = recordOf({
    state: 'waiting-for-approval',
    why: '6.2 % of the enrollments would be removed',
    removals: { share: 6.2, limit: 5 },
    lostColumns: [{ file: 'users.csv', columns: ['identifier'] }],
  });
  const asked = Promise.withResolvers<string>();
  // It waits for a day, as it is deployed: a test may come to it late.
  const ended = executions.run({}, { functionArn, executionTimeoutMs: 24 * 3_600_000 }, async (payload) => {
    const { DurableExecutionArn, CheckpointToken, InitialExecutionState } = payload as Payload;
    const callback = InitialExecutionState.Operations.find(({ Type }) => Type === 'CALLBACK');
    if (callback) {
      const decided = JSON.parse(callback.CallbackDetails?.Result ?? '{}');
      const state = decided.decision === 'approved' ? ('sending' as const) : ('rejected' as const);
      if (hears) await writeSnapshot(bucket, { ...record, state, decided });
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
  await writeSnapshot(bucket, { ...record, callbackId });
  await putText(
    bucket,
    reportKey(record.id),
    'file,line,column,problem\n"users.csv","2","username","is empty"\n',
  );
  return { record, ended, stop: () => executions.stop(arn) };
};
