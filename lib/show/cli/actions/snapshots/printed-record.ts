import { fiveCounts } from '../../../../operate/reviews/snapshots/read.ts';
import type { SnapshotRecord } from '../../../../sources/snapshots/state/record.ts';

/** Its counts are those five alone. */
export const told = <Record extends SnapshotRecord>(record: Record): Record => ({
  ...record,
  counts: fiveCounts(record.counts),
});
