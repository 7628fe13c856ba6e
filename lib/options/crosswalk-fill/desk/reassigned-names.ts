import type { OptionDesk, ReassignedNamesReview } from '../../../option.ts';

/** Undefined: no option has any. */
export const reassignedNamesIn = async (
  desks: readonly OptionDesk[],
): Promise<ReassignedNamesReview | undefined> =>
  desks.find(({ reassignedNames }) => reassignedNames)?.reassignedNames?.();
