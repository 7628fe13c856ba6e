import type { SqlEngine } from '../../../runtime/files/tables/engine.ts';
import type { SnapshotSettings } from '../package/settings-file.ts';
import type { PackedLines } from '../state/packed-lines.ts';
import type { ReassignedNameList } from '../state/reassigned-names.ts';
import type { Counts, Excluded, RowCounts } from '../state/record.ts';
import type { SnapshotNow } from '../state/snapshots-now.ts';
import type { ComparisonStore } from '../state/store.ts';
import type { Sample } from './sample.ts';

/** A file has everything (`bulk`) or only what changed (`delta`); absent: nothing of it has changed. */
export type Mode = 'bulk' | 'delta' | 'absent';

/** Why the function would refuse the event; undefined if it would not. */
export type EventCheck = (functionName: string, body: string) => string | undefined;

/** What a snapshot does to enrollments, by all accepted files. */
export type Effects = {
  /** Enrollments that all accepted files want, without what this one changes. */
  accepted: number;
  /** Enrollments that end, and those that get another role. */
  ended: number;
  changed: number;
  /** The same of those that this feed wanted. */
  ofFeed: { accepted: number; ended: number; changed: number };
};

export type NameMoves = { names: number; claims: number; people: number; orgUnits: number };

/** An accepted file of another name, by its snapshot. */
export type OtherFile = SnapshotNow & {
  /** Its state; undefined: it has none, or nothing in it is weighed against other files. */
  statePath?: string;
};

/** Inputs and results of the comparison of one snapshot. */
export type Comparison = {
  /** For this snapshot alone. */
  folder: string;
  snapshotId: string;
  feed: string;
  /** The settings name it. */
  isDeclared: boolean;
  /** When its file was put into the bucket, or if another feed was accepted since, after that: what is sent must be later. */
  droppedMs: number;
  /** Number of snapshots accepted before. */
  number: number;
  settings: SnapshotSettings;
  check: EventCheck;
  /** The events, in sending order. */
  changes: PackedLines;
  db: SqlEngine;
  /** The bucket. */
  store: Pick<ComparisonStore, 'etagOf' | 'open' | 'keysUnder' | 'readJsonIfAny'>;
  /** It is a table that has only the rows that changed. */
  isTableOfChanges: boolean;
  /** A trial: the import's events and state are not written. */
  isTrial: boolean;
  /** Receives what the settings make of the first rows; undefined: nobody looks at it. */
  takeSample: ((sample: Sample) => void) | undefined;
  /** A file of this name was accepted before. */
  hasBefore: boolean;
  /** The accepted state is of version 1.0, which did not keep what names stood for. */
  isOf10: boolean;
  /** The order of roles by which the last accepted file was weighed. */
  lastRoleOrder: readonly number[];
  /** Names the object that says which snapshot was accepted last. */
  acceptedKey: string;
  /** Its key; undefined if there is none. */
  stateBefore: string | undefined;
  /** When the file of the last accepted snapshot, of any name, was put into the bucket: nothing that was sent is later. */
  lastDroppedMs: number;
  byKind: Record<string, Counts>;
  /** By file: the results of its rows. */
  rows: Record<string, RowCounts>;
  /** Of a table: columns and their codes for which no message is, with the number of their rows. */
  excluded: Excluded;
  /** By kind: the number that was accepted before. */
  acceptedCounts: Record<string, number>;
  /** By kind: how many go to other users or org units than were accepted. */
  movedCounts: Record<string, number>;
  /** The latest time of a change that a row gives; undefined: none gives one. */
  saidMs: number | undefined;
  /** Names that stand for another thing than when they were accepted, and what was accepted by them. */
  nameMoves: NameMoves;
  /** The accepted files of other names. */
  others: readonly OtherFile[];
  /** By the id of another accepted snapshot: enrollments that this one has no more, and that stay because the other has them. */
  heldBack: Record<string, number>;
  /** User names that passed to another record; undefined: it is a table. */
  passedNames: ReassignedNameList | undefined;
  /** It is the end of a feed: an empty file of its name. */
  isEnd: boolean;
  /** What this snapshot does to enrollments, by all accepted files. */
  effects: Effects;
  /** By kind: how many have another intended value than was accepted. */
  changedCounts: Record<string, number>;
};

/** Separates the parts of a key; no id contains it. */
export const separator = '\u001f';

export const noCounts = (): Counts => ({ created: 0, updated: 0, removed: 0, unchanged: 0, refused: 0 });

export const countsOf = ({ byKind }: Pick<Comparison, 'byKind'>, kind: string): Counts => {
  const counts = byKind[kind] ?? noCounts();
  byKind[kind] = counts;
  return counts;
};

/** `statement`: counts names that stand for another thing than when they were accepted, and what was accepted by them. */
export const nameMovesBy = async (db: SqlEngine, statement: string): Promise<NameMoves> => {
  const [names = 0, claims = 0, people = 0, orgUnits = 0] =
    (await db.row<[number, number, number, number]>(statement)) ?? [];
  return { names, claims, people, orgUnits };
};
