import { createKept, type Kept } from '../aws/kept.ts';
import { type Filter, matches } from '../dead-letters/reading/filter.ts';
import { type Group, groupsOf } from '../dead-letters/reading/groups.ts';
import { findLetters } from '../dead-letters/reading/records.ts';
import type { Target } from '../deployment/target.ts';
import type { DeskRecord, LetterRecord } from '../desk/record.ts';
import { findWaiting } from '../waiting/waiting.ts';

/** The letters as they were at one time, for screens that ask for them again and again. */
export type Letters = {
  /** The oldest first. */
  all: LetterRecord[];
  /** About how many SQS counts. */
  queued: number;
  groups: Group[];
  matching(filter: Filter): LetterRecord[];
  /** Some of them by cause, as told apart among all. */
  groupsOf(letters: readonly LetterRecord[]): Group[];
};

export type Lists = { letters: Kept<Letters>; waiting: Kept<DeskRecord[]> };

/** What changes of the desk's table is seen so many milliseconds later. */
const freshMs = 2_000;

export const createLists = (target: Target, signal: AbortSignal): Lists => ({
  letters: createKept(async () => lettersOf(await findLetters(target, {}, signal)), { freshMs }),
  waiting: createKept(() => findWaiting(target, {}, signal), { freshMs }),
});

const lettersOf = ({ letters: all, queued }: Awaited<ReturnType<typeof findLetters>>): Letters => {
  const { groups, groupOf } = groupsOf(all);
  const byCause = Map.groupBy(all, (letter) => groupOf(letter).cause);
  return {
    ...{ all, queued, groups },
    groupsOf: (letters) =>
      [...Map.groupBy(letters, groupOf)].map(([group, each]) => ({ ...group, letters: each.length })),
    matching: ({ cause, ...filter }) => {
      const among = cause === undefined ? all : (byCause.get(cause) ?? []);
      return Object.keys(filter).length === 0 ? among : among.filter((letter) => matches(filter, letter));
    },
  };
};
