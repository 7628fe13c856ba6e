import type { SetEngine } from '../../../runtime/files/tables/engine.ts';
import type { SnapshotSettings } from '../package/settings-file.ts';
import type { Report } from '../report.ts';
import type { PackedLines } from '../state/packed-lines.ts';
import type { Counts, RowCounts } from '../state/record.ts';

/** Whether a file tells all that there is, or what has changed; absent: nothing of it has. */
export type Mode = 'bulk' | 'delta' | 'absent';

/** Why the function would not take the event, if so. */
export type EventCheck = (functionName: string, body: string) => string | undefined;

/** What the comparison of one snapshot works with. */
export type Comparison = {
  /** Of this snapshot alone. */
  folder: string;
  snapshotId: string;
  /** When it was dropped. */
  droppedMs: number;
  /** So many snapshots were accepted before. */
  number: number;
  settings: SnapshotSettings;
  check: EventCheck;
  report: Report;
  /** The events, in the order in which they are to be sent. */
  changes: PackedLines;
  sets: SetEngine;
  /** An import is only tried: its events and its state are not made. */
  isTrial: boolean;
  /** How the accepted state lies in the bucket: `rows` and `lines` are of versions before this one. */
  before: 'nothing' | 'rows' | 'lines' | 'tables';
  /** Where that lies in the bucket, if there is any. */
  stateBefore: string | undefined;
  /** When the last one was dropped that was accepted: nothing that was sent is later. */
  lastDroppedMs: number;
  byKind: Record<string, Counts>;
  /** What became of rows, by their file. */
  rows: Record<string, RowCounts>;
  /** How much of a kind was accepted before, by its name. */
  acceptedCounts: Record<string, number>;
  /** How much of a kind goes to other users or org units than were accepted, by its name. */
  movedCounts: Record<string, number>;
  /** How much of a kind is wanted otherwise than it was accepted, by its name. */
  changedCounts: Record<string, number>;
};

/** Parts of a key. No id holds it. */
export const separator = '\u001f';

export const noCounts = (): Counts => ({ created: 0, updated: 0, removed: 0, unchanged: 0, refused: 0 });

export const countsOf = ({ byKind }: Pick<Comparison, 'byKind'>, kind: string): Counts => {
  const counts = byKind[kind] ?? noCounts();
  byKind[kind] = counts;
  return counts;
};
