import { newRunId, type Report } from '../../../scheduled/reconcile/record.ts';
import { reasons } from '../../../scheduled/reconcile/selection.ts';
import type { Audit } from '../../stage/audit.ts';
import type { Target } from '../../stage/target.ts';
import { type Patience, startExecution, waitFor } from './execution.ts';
import { reportIn, storeOf } from './read.ts';

/** Starts a run at once, of all that the ledger has or as the schedule does. Returns its id. @throws RefusedError */
export const startRun = async (
  target: Target,
  { nightly, audit }: { nightly: boolean; audit: Audit },
): Promise<string> => {
  const id = newRunId();
  const { end } = await audit.begin({ command: 'reconcile run', filter: { id, nightly } });
  let started = 0;
  try {
    await startExecution(target, id, nightly ? { id } : { whole: true, id });
    started = 1;
  } finally {
    await end({ started });
  }
  return id;
};

/** Waits until a run has ended; undefined: the time is up. @throws RefusedError if its execution has ended without a report. */
export const awaitRun = async (
  target: Target,
  id: string,
  { onProgress, ...patience }: Patience & { onProgress(done: number, of: number): void },
): Promise<Report | undefined> => {
  const store = await storeOf(target);
  return waitFor(target, id, {
    ...patience,
    look: async () => {
      const report = await reportIn(store, id);
      if (report?.state !== 'running') return report;
      const sum = (name: 'looked' | 'selected'): number =>
        reasons.reduce((total, reason) => total + report.tallies[reason][name], 0);
      onProgress(sum('looked'), sum('selected'));
      return undefined;
    },
  });
};
