import { fiveCounts } from '../../../snapshots/desk/read.ts';
import type { SnapshotRecord } from '../../../snapshots/record.ts';

/** Its counts are those five alone. */
export const told = <Record extends SnapshotRecord>(record: Record): Record => ({
  ...record,
  counts: fiveCounts(record.counts),
});
