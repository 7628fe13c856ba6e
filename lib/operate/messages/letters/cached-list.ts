import type { LetterRecord } from '../../../delivery/letters/record.ts';
import { type Filter, matches } from './filter.ts';
import { type Group, groupsOf } from './groups.ts';
import type { Found } from './records.ts';

/** The letters at one time, for screens that ask for them repeatedly. */
export type Snapshot = {
  /** Oldest first. */
  all: LetterRecord[];
  /** SQS' approximate count. */
  queued: number;
  groups: Group[];
  matching(filter: Filter): LetterRecord[];
  /** Groups some of the letters by cause. Causes are distinguished among all letters. */
  groupsOf(letters: readonly LetterRecord[]): Group[];
};

export const snapshotOf = ({ letters: all, queued }: Pick<Found, 'letters' | 'queued'>): Snapshot => {
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
