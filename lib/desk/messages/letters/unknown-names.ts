import type { CrosswalkKind } from '../../../crosswalk/kinds.ts';
import { unknownNameIn } from '../../../crosswalk/unknown-id.ts';
import { possibleNames } from '../../../delivery/letters/subject.ts';
import type { Target } from '../../../stage/target.ts';
import type { Filter } from './filter.ts';
import { findLetters } from './list.ts';

/** The names that the crosswalk did not know when these letters were written, as far as the lists have them. */
export const unknownNamesOf = async (
  target: Target,
  filter: Filter,
  signal: AbortSignal,
): Promise<{ kind: CrosswalkKind | undefined; names: string[] }> => {
  const { letters } = await findLetters(target, filter, signal);
  const unknown = letters.flatMap(({ error, named }) => {
    const { field, kind } = unknownNameIn(error) ?? {};
    return field && kind ? { kind, names: possibleNames(field, named).slice(0, 1) } : [];
  });
  return { kind: unknown[0]?.kind, names: [...new Set(unknown.flatMap(({ names }) => names))].sort() };
};
