import type { DeskRecord } from '../../delivery/letters/record.ts';
import { type Snapshot, snapshotOf } from '../../operate/messages/letters/cached-list.ts';
import { findLetters } from '../../operate/messages/letters/records.ts';
import { findWaiting } from '../../operate/messages/waiting/waiting.ts';
import type { Target } from '../../operate/stage/target.ts';
import { createKept, type Kept } from './cached-value.ts';

export type Lists = { letters: Kept<Snapshot>; waiting: Kept<DeskRecord[]> };

/** Changes in the desk's table become visible after at most this many milliseconds. */
const freshMs = 2_000;

export const createLists = (target: Target, signal: AbortSignal): Lists => ({
  letters: createKept(async () => snapshotOf(await findLetters(target, {}, signal)), { freshMs }),
  waiting: createKept(() => findWaiting(target, {}, signal), { freshMs }),
});
