import { type LedgerAccess, ledgerPage } from '../../delivery/ledger/read.ts';
import type { Attributes } from '../../runtime/aws/dynamodb.ts';
import { keepMemoryBelow } from '../../runtime/files/memory-limit.ts';
import type { JobStore } from '../../runtime/jobs/store.ts';
import { memoryAllowanceMb, writtenMsOf } from './check.ts';
import { chosenLine } from './divide.ts';
import { noReasons, type Reason, reasonFor, type Selection, subjectOf } from './selection.ts';

/** The ledger is read in this many parts at the same time. */
export const segments = 4;

/** The fields of grades and enrollments that are compared. */
export const comparedFields = ['grade', 'comments', 'privateComments', 'whole'] as const;

export type ChoiceServices = { store: JobStore; table: LedgerAccess };

/** A part of the ledger, and where its next page begins. */
export type Segment = { segment: number; from?: Attributes };

export type ChosenFrom = {
  /** Segments that remain to be read. */
  left: Segment[];
  /** Grades and enrollments that were read. */
  entries: number;
  selected: Record<Reason, number>;
};

type ChooseOptions = { from: readonly Segment[]; untilMs: number; keyOf(segment: number): string };

/** Reads segments of the ledger until the time is up, and keeps the selected writes. */
export const chooseWrites = async (
  { from, untilMs, keyOf }: ChooseOptions,
  selection: Selection,
  { store, table }: ChoiceServices,
): Promise<ChosenFrom> => {
  const all: ChosenFrom = { left: [], entries: 0, selected: noReasons(() => 0) };
  const failing = new AbortController();
  const lines = async function* ({ segment, from: first }: Segment): AsyncGenerator<string> {
    let next = first;
    do {
      const page = await ledgerPage(table, {
        kinds: ['grade/', 'enrollment/'],
        fields: comparedFields,
        place: { segment, segments, from: next },
        signal: failing.signal,
      });
      let text = '';
      for (const { resource, lockId, changes: fields } of page.entries) {
        const subject = subjectOf(resource);
        // Of a change without effect, no field is left.
        if (subject === undefined || Object.keys(fields).length === 0) continue;
        all.entries += 1;
        const reason = reasonFor({ resource, subject, writtenMs: writtenMsOf(fields) }, selection);
        if (reason === undefined) continue;
        all.selected[reason] += 1;
        text += chosenLine({ resource, subject, reason, lockId, fields });
      }
      if (text !== '') yield text;
      keepMemoryBelow(memoryAllowanceMb);
      next = page.next;
    } while (next !== undefined && Date.now() < untilMs);
    if (next !== undefined) all.left.push({ segment, from: next });
  };
  const read = from.map((each) =>
    store
      .uploadLines(keyOf(each.segment), lines(each))
      .catch((error: unknown) => failing.signal.aborted || failing.abort(error)),
  );
  // The step may be repeated, but only after what is in progress has ended.
  await Promise.all(read);
  failing.signal.throwIfAborted();
  return all;
};
