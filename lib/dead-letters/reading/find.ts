import { RefusedError, UsageError } from '../../deployment/command-errors.ts';
import type { Target } from '../../deployment/target.ts';
import { type Filter, matches } from './filter.ts';
import type { Letter } from './letter.ts';
import { type Desk, openDesk, type VisitOptions, visitWith } from './session.ts';

/**
 * The one letter with this id, held on the desk; the beginning of the id is enough.
 * @throws RefusedError where there is none, or more than one.
 */
export const findLetter = async (
  desk: Desk,
  target: Target,
  { id, ...options }: VisitOptions & { id: string },
): Promise<Letter> => {
  if (id.length < 4)
    throw new UsageError(`${id} is too short for an id: give its first 4 characters or more.`);
  const filter: Filter = { id: [id] };
  const found: Letter[] = [];
  const { hidden } = await visitWith(desk, target, {
    ...options,
    look: (letter) => {
      if (!matches(filter, letter)) return true;
      found.push(letter);
      // Only the beginning of an id can be that of another letter too.
      return letter.id !== id && found.length < 10;
    },
  });
  const [letter, ...others] = found;
  if (letter === undefined)
    throw new RefusedError(
      `There is no letter ${id}.${hidden > 0 ? ` ${hidden} letters are in somebody else's hands: try again later.` : ''}`,
    );
  if (others.length > 0)
    throw new RefusedError(
      `${id} is the beginning of ${found.map((each) => each.id).join(', ')}: give more of it.`,
    );
  return letter;
};

/** The same letter, left where it is. */
export const showLetter = async (target: Target, options: VisitOptions & { id: string }): Promise<Letter> => {
  const desk = await openDesk(target);
  try {
    return await findLetter(desk, target, options);
  } finally {
    await desk.close();
  }
};
