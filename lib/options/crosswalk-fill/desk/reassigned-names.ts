import type { OptionDesk, ReassignedNames } from '../../../option.ts';

/** Undefined: no option has any. */
export const reassignedNamesIn = async (desks: readonly OptionDesk[]): Promise<ReassignedNames | undefined> =>
  desks.find(({ reassignedNames }) => reassignedNames)?.reassignedNames?.();
