import type { LetterRecord } from '../../../delivery/letters/record.ts';
import type { Target } from '../../stage/target.ts';
import type { Filter } from './filter.ts';
import { lettersMatching, scopeOf } from './filter-letters.ts';
import { type Groups, groupsOf } from './groups.ts';
import type { ListCounts } from './queue.ts';
import { findLetters } from './records.ts';

export type LetterFacts = Pick<
  LetterRecord,
  | 'function'
  | 'kind'
  | 'error'
  | 'words'
  | 'remedy'
  | 'status'
  | 'replays'
  | 'attempts'
  | 'eventId'
  | 'resource'
  | 'user'
  | 'orgUnit'
  | 'named'
  | 'thing'
> & { id: string; sentMs: number };

export type Listed = ListCounts & {
  /** Oldest first, at most as many as requested. */
  letters: LetterFacts[];
  matching: number;
};

/** Lists the letters that match. */
export const listLetters = async (
  target: Target,
  { filter, limit }: { filter: Filter; limit: number },
  { signal }: { signal: AbortSignal },
): Promise<Listed> => {
  const { letters, among: _, ...summary } = await findLetters(target, filter, signal);
  return { ...summary, letters: letters.slice(0, limit).map(factsOf), matching: letters.length };
};

/** Groups the letters by cause. Each cause has an id that a filter accepts. */
export const groupLetters = async (
  target: Target,
  filter: Filter,
  { signal }: { signal: AbortSignal },
): Promise<Groups> => {
  const { letters: among, queued } = await findLetters(target, scopeOf(filter), signal);
  const letters = lettersMatching(among, filter);
  const isAll = Object.keys(filter).length === 0;
  return {
    ...{ listed: isAll ? letters.length : undefined, queued },
    ...{ groups: groupsOf(letters, among).groups, matching: letters.length },
  };
};

export const factsOf = (letter: LetterRecord): LetterFacts => {
  const { message: id, atMs: sentMs, function: name, kind, error, words, remedy, status } = letter;
  const { replays, attempts, eventId, resource, user, orgUnit, thing, named } = letter;
  return {
    ...{ id, sentMs, function: name, kind, error, words, remedy, status },
    ...{ replays, attempts, eventId, resource, user, orgUnit, thing, named },
  };
};
