import type { Filter } from '../messages/letters/filter.ts';
import { endedOf } from '../messages/letters/list.ts';
import { becameOf, endedView } from '../views/letters.ts';
import type { View } from '../views/view.ts';
import type { Operator } from './operator.ts';

/** For a filter that no letter matches: what became of the letters that it names. */
export const becameOfFilter = async (
  { target, signal }: Pick<Operator, 'target' | 'signal'>,
  filter: Filter,
): Promise<View> =>
  filter.cause === undefined ? becameOf(filter) : endedView(await endedOf(target, filter.cause, signal));
