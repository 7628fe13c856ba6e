import type { DeskRecord } from '../../../delivery/letters/record.ts';
import { type Filter, matches } from './filter.ts';
import { groupsOf } from './groups.ts';

/** Causes are distinguished among all letters of the same functions and kinds. */
export const scopeOf = ({ function: functions, kind }: Filter): Filter => ({
  ...(functions && { function: functions }),
  ...(kind && { kind }),
});

/**
 * The letters that match, oldest first. If the filter has a cause, pass all letters of its function and kind: causes are distinguished
 * first, and the other conditions apply afterwards.
 */
export const lettersMatching = <Of extends DeskRecord>(letters: readonly Of[], filter: Filter): Of[] => {
  const { cause, ...others } = filter;
  if (cause === undefined) return inOrder(letters.filter((letter) => matches(others, letter)));
  const among = inOrder(letters.filter((letter) => matches(scopeOf(filter), letter)));
  const { groupOf } = groupsOf(among);
  return among.filter((letter) => groupOf(letter).cause === cause && matches(others, letter));
};

const inOrder = <Of extends DeskRecord>(letters: Of[]): Of[] =>
  letters.sort((one, other) => one.atMs - other.atMs || (one.message < other.message ? -1 : 1));
