import type { Filter } from '../messages/letters/filter.ts';
import { endedLettersOf } from '../messages/letters/list.ts';
import { endedLetterLinks, endedLettersView } from '../views/letters.ts';
import type { View } from '../views/view.ts';
import type { OperatorContext } from './operator-context.ts';

/** For a filter that no letter matches: what became of the letters that it names. */
export const endedLettersOfFilter = async (
  { target, signal }: Pick<OperatorContext, 'target' | 'signal'>,
  filter: Filter,
): Promise<View> =>
  filter.cause === undefined
    ? endedLetterLinks(filter)
    : endedLettersView(await endedLettersOf(target, filter.cause, signal));
