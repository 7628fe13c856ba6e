import { join } from 'node:path';
import type { Attributes } from '../aws/dynamodb.ts';
import type { JobStore } from '../durable/store.ts';
import { inFolder } from '../files/folder.ts';
import { keepMemoryBelow } from '../files/memory.ts';
import { ledgerPage } from '../ledger/scan.ts';
import type { LedgerTableOptions } from '../ledger/table.ts';
import { createLineFile, type LineFile } from '../sets/line-file.ts';
import { type Chosen, writtenMsOf } from './check.ts';
import { chosenLine, garbageMb } from './divide.ts';
import { noReasons, type Reason, reasonFor, type Selection, subjectOf } from './select.ts';

/** The ledger is read in so many parts. */
export const segments = 4;

export type Choosing = { store: JobStore; table: LedgerTableOptions };

export type ChosenFrom<Place> = {
  /** Where to go on; undefined: all was read. */
  from?: Place;
  /** Grades and enrollments that were read. */
  entries: number;
  selected: Record<Reason, number>;
};

/** Reads a segment of the ledger until the time is over, and keeps what is to be looked at. */
export const chooseWrites = (
  place: { key: string; segment: number; from: Attributes | undefined; untilMs: number },
  selection: Selection,
  { store, table }: Choosing,
): Promise<ChosenFrom<Attributes>> => {
  const { key, segment, from, untilMs } = place;
  return keptAs(key, store, async (add) => {
    let entries = 0;
    let next = from;
    do {
      const page = await ledgerPage(table, {
        kinds: ['grade/', 'enrollment/'],
        place: { segment, segments, from: next },
      });
      for (const { resource, item } of page.entries) {
        const subject = subjectOf(resource);
        // A claim that had to be taken back leaves no field.
        if (subject === undefined || Object.keys(item.fields).length === 0) continue;
        entries += 1;
        const reason = reasonFor({ resource, subject, writtenMs: writtenMsOf(item.fields) }, selection);
        if (reason !== undefined)
          add({ resource, subject, reason, claimId: item.claimId, fields: item.fields });
      }
      next = page.next;
    } while (next !== undefined && Date.now() < untilMs);
    return { entries, ...(next && { from: next }) };
  });
};

/** Keeps what is chosen as an object of lines, and counts it. */
export const keptAs = <Read extends object>(
  key: string,
  store: JobStore,
  read: (add: (chosen: Chosen) => void) => Promise<Read>,
): Promise<Read & { selected: Record<Reason, number> }> =>
  inFolder(async (folder) => {
    const selected = noReasons(() => 0);
    const file: LineFile = createLineFile(join(folder, 'chosen'));
    let done: Read;
    try {
      done = await read((chosen) => {
        selected[chosen.reason] += 1;
        file.add(chosenLine(chosen));
        keepMemoryBelow(garbageMb);
      });
    } finally {
      file.close();
    }
    await store.uploadCompressed(key, file.path);
    return { ...done, selected };
  });
