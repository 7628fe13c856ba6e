import { reviewBucketOf } from '../../../desk/stage-state/bucket.ts';
import {
  audited,
  type PollOptions,
  pollUntilEnd,
  startExecution,
} from '../../../desk/stage-state/execution.ts';
import type { Audit } from '../../../stage/audit.ts';
import type { Target } from '../../../stage/target.ts';
import { newRunId, type Report } from '../record.ts';
import { reasons } from '../selection.ts';
import { reportIn } from './read.ts';

/** Starts a run at once, of all that the ledger has or as the schedule does. Returns its id. @throws RefusedError */
export const startRun = async (
  target: Target,
  { nightly, audit }: { nightly: boolean; audit: Audit },
): Promise<string> => {
  const id = newRunId();
  const request = nightly ? { id } : { whole: true, id };
  await audited(audit, { command: 'reconcile run', filter: { id, nightly }, done: 'started' }, () =>
    startExecution(target, { of: 'reconcile', name: id }, request),
  );
  return id;
};

/** Waits until a run has ended; undefined: the time is up. @throws RefusedError if its execution has ended without a report. */
export const awaitRun = async (
  target: Target,
  id: string,
  { onProgress, ...patience }: PollOptions & { onProgress(done: number, of: number): void },
): Promise<Report | undefined> => {
  const bucket = await reviewBucketOf(target);
  const look = async (): Promise<Report | undefined> => {
    const report = await reportIn(bucket, id);
    if (report?.state !== 'running') return report;
    const sum = (name: 'looked' | 'selected'): number =>
      reasons.reduce((total, reason) => total + report.tallies[reason][name], 0);
    onProgress(sum('looked'), sum('selected'));
    return undefined;
  };
  return pollUntilEnd(target, { of: 'reconcile', name: id }, { ...patience, look });
};
