import type { HeldNames, OptionDesk } from '../../../option.ts';

/** Undefined: no option has any. */
export const heldNamesIn = async (desks: readonly OptionDesk[]): Promise<HeldNames | undefined> =>
  desks.find(({ heldNames }) => heldNames)?.heldNames?.();
