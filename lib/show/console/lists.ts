import type { DeskRecord } from '../../delivery/letters/record.ts';
import { type Found, findLetters } from '../../operate/messages/letters/list.ts';
import { findWaiting } from '../../operate/messages/waiting/waiting.ts';
import type { Target } from '../../operate/stage/target.ts';
import { createKept, type Kept } from './cached-value.ts';

export type Lists = { letters: Kept<Found>; waiting: Kept<DeskRecord[]> };

/** Changes in the desk's table become visible after at most this many milliseconds. */
const freshMs = 2_000;

export const createLists = (target: Target, signal: AbortSignal): Lists => ({
  letters: createKept(() => findLetters(target, {}, signal), { freshMs }),
  waiting: createKept(() => findWaiting(target, {}, signal), { freshMs }),
});
