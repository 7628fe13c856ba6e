import { createKept, type Kept } from '../aws/kept.ts';
import { findLetters } from '../dead-letters/reading/records.ts';
import { type Snapshot, snapshotOf } from '../dead-letters/reading/snapshot.ts';
import type { Target } from '../deployment/target.ts';
import type { DeskRecord } from '../desk/record.ts';
import { findWaiting } from '../waiting/waiting.ts';

export type Lists = { letters: Kept<Snapshot>; waiting: Kept<DeskRecord[]> };

/** What changes of the desk's table is seen so many milliseconds later. */
const freshMs = 2_000;

export const createLists = (target: Target, signal: AbortSignal): Lists => ({
  letters: createKept(async () => snapshotOf(await findLetters(target, {}, signal)), { freshMs }),
  waiting: createKept(() => findWaiting(target, {}, signal), { freshMs }),
});
