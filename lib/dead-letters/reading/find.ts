import { RefusedError, UsageError } from '../../deployment/command-errors.ts';
import { type Filter, matches } from './filter.ts';
import type { Letter } from './letter.ts';
import type { ReadOptions, Session } from './session.ts';

/**
 * The one letter with this id, leased by the session; the beginning of the id is enough.
 * @throws RefusedError where there is none, or more than one.
 */
export const findLetter = async (
  session: Session,
  { id, ...options }: ReadOptions & { id: string },
): Promise<Letter> => {
  if (id.length < 4)
    throw new UsageError(`${id} is too short for an id: give its first 4 characters or more.`);
  const filter: Filter = { id: [id] };
  const found: Letter[] = [];
  for await (const letter of session.letters(options)) {
    if (!matches(filter, letter)) continue;
    found.push(letter);
    // A whole id is that of one letter; its beginning may be that of others, too.
    if (letter.id === id || found.length === 10) break;
  }
  const { hidden } = session.summary();
  const [letter, ...others] = found;
  if (letter === undefined)
    throw new RefusedError(
      `There is no letter ${id}: \`letters list\` shows those that there are.${hidden > 0 ? ` ${hidden} letters are leased by another session: try again later.` : ''}`,
    );
  if (others.length > 0)
    throw new RefusedError(
      `${id} is the beginning of ${found.map((each) => each.id).join(', ')}: give more of it.`,
    );
  return letter;
};
