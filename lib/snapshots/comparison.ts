import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { keepMemoryBelow } from '../files/memory.ts';
import { isTooOld } from '../ledger/rules.ts';
import { createSorter, readLines, type Sorter } from '../sets/sorted.ts';
import type { PackedLines } from './packed-lines.ts';
import type { Counts } from './record.ts';
import type { Report } from './report.ts';
import type { SnapshotSettings } from './settings-file.ts';
import { garbageMb } from './table.ts';

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
  /** What holds when they are sent. */
  state: PackedLines;
  /** The same of what was accepted last, by the first sign of its lines: their kind. */
  accepted(kind: string): Iterable<Entry>;
  byKind: Record<string, Counts>;
  /** How much of a kind was accepted before, by its name. */
  acceptedCounts: Record<string, number>;
  /** How much of a kind goes to other users or org units than were accepted, by its name. */
  movedCounts: Record<string, number>;
};

/** What is known of an enrollment or a grade, by the names that the platform knows. */
type Placed = { orgUnitCode: string; userName?: string; orgDefinedId?: string };

/** Whether it is of the same user in the same org unit, as far as their names tell. */
export const isOfSame = (one: Placed, other: Placed): boolean =>
  one.orgUnitCode === other.orgUnitCode &&
  one.userName === other.userName &&
  one.orgDefinedId === other.orgDefinedId;

/** Counts what is sent of the same thing to another user or org unit than before. */
export const countMoved = (
  { movedCounts }: Comparison,
  name: string,
  { before, next }: { before: Placed | undefined; next: Placed },
): void => {
  if (before !== undefined && !isOfSame(before, next)) movedCounts[name] = (movedCounts[name] ?? 0) + 1;
};

/** Parts of a key. No id holds it. */
export const separator = '\u001f';

export const noCounts = (): Counts => ({ created: 0, updated: 0, removed: 0, unchanged: 0, refused: 0 });

export const countsOf = ({ byKind }: Comparison, kind: string): Counts => {
  const counts = byKind[kind] ?? noCounts();
  byKind[kind] = counts;
  return counts;
};

export type Entry = { key: string; value: unknown };

/** Lines of a state: its kind, the key, and the value as JSON. */
export const stateLine = (kind: string, key: string, value: unknown): string =>
  `${kind}\t${key}\t${JSON.stringify(value)}`;

export function* entriesIn(path: string): Generator<Entry, void, undefined> {
  for (const line of readLines(path)) {
    const end = line.indexOf('\t', 2);
    yield { key: line.slice(2, end), value: JSON.parse(line.slice(end + 1)) };
  }
}

/** Rows to be compared: by their key, then as they were added. */
export type RowSorter = {
  add(key: string, row: unknown): void;
  groups(): Iterable<RowGroup>;
  remove(): void;
};
export type RowGroup = { key: string; rows: unknown[] };

/** More rows about the same thing help nobody. */
const maxRowsOfKey = 1_000;

export const createRowSorter = (folder: string): RowSorter => {
  const sorter: Sorter = createSorter({ folder });
  return {
    add: (key, row) => sorter.add(`${key}\t${JSON.stringify(row)}`),
    groups: function* () {
      let group: RowGroup | undefined;
      for (const line of sorter.sorted()) {
        const end = line.indexOf('\t');
        const key = line.slice(0, end);
        if (group !== undefined && group.key !== key) {
          yield group;
          group = undefined;
        }
        group ??= { key, rows: [] };
        if (group.rows.length < maxRowsOfKey) group.rows.push(JSON.parse(line.slice(end + 1)));
      }
      if (group !== undefined) yield group;
    },
    remove: sorter.remove,
  };
};

/** To be called with each row: memory stays bounded, and the process answers others. */
export const createBreath = () => {
  let rows = 0;
  return (): Promise<void> | undefined => {
    rows += 1;
    if (rows % 4_096 !== 0) return undefined;
    keepMemoryBelow(garbageMb);
    return rows % 65_536 === 0 ? setImmediate() : undefined;
  };
};

export type NewEvent = {
  kind: string;
  key: string;
  function: string;
  data: object;
  timeMs?: number | undefined;
  /** Older than those of the same time and snapshot that are not. */
  isFirst?: boolean;
};

/** Writes an event to be sent; or tells why its function would refuse it. The same snapshot always has the same events. */
export const addEvent = (comparison: Comparison, event: NewEvent): string | undefined => {
  const { snapshotId, droppedMs, number, check, changes } = comparison;
  const body = JSON.stringify({
    specversion: '1.0',
    id: `${snapshotId}/${hash('sha256', `${event.kind}\t${event.key}`).slice(0, 20)}`,
    source: '/sis-relay/snapshots',
    type: `sis.${event.function}.v1`,
    time: new Date(event.timeMs ?? droppedMs).toISOString(),
    sequence: String(2 * number + (event.isFirst ? 1 : 2)),
    data: event.data,
  });
  const problem = check(event.function, body);
  if (problem === undefined) changes.add(body);
  return problem;
};

/** Of what was accepted. */
export type Times = {
  /** When the SIS says that it was changed. */
  atMs?: number;
  /** The time of the event that was sent last: no later one may be older. */
  sentMs?: number;
};

const dayMs = 24 * 3_600_000;

/**
 * When the SIS says that it was changed, where that is later than all that was sent of it. Otherwise when the snapshot was
 * dropped: of an event that is older than another, or than the ledger's memory, the function would send nothing.
 */
export const timeOf = (
  before: Times | undefined,
  { atMs = 0 }: Times,
  { droppedMs }: Pick<Comparison, 'droppedMs'>,
): number => {
  const lastMs = Math.max(before?.atMs ?? 0, before?.sentMs ?? 0);
  const isUsable = atMs > lastMs && atMs <= droppedMs && !isTooOld(atMs, droppedMs + 2 * dayMs);
  return isUsable ? atMs : droppedMs;
};
