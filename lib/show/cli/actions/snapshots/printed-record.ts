import { fiveCounts } from '../../../../operate/reviews/snapshots/read.ts';
import type { SnapshotRecord } from '../../../../sources/snapshots/state/record.ts';

/** Limits the counts to the five that `--json` prints. */
export const printedRecord = <Record extends SnapshotRecord>(record: Record): Record => ({
  ...record,
  counts: fiveCounts(record.counts),
});
