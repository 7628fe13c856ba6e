import { RefusedError, UsageError } from '../../stage/command-errors.ts';
import type { Target } from '../../stage/target.ts';
import { type Selected, selectLetters } from './selection.ts';

export class NoLetterError extends RefusedError {}

/**
 * Finds one letter in the lists, by its id, the beginning of its id, or the whole id of its event.
 * @throws NoLetterError if none matches. @throws RefusedError if more than one matches.
 */
export const findLetter = async (target: Target, id: string, signal: AbortSignal): Promise<Selected> => {
  if (id.length < 4)
    throw new UsageError(`${id} is too short for an id. Give at least its first 4 characters.`);
  const { letters } = await selectLetters(target, { filter: { id: [id] } }, signal);
  // A whole id names one letter, but it may also be the beginning of other ids.
  const [letter, ...others] = letters.filter((each) => each.id === id).concat(letters);
  if (letter === undefined)
    throw new NoLetterError(
      `There is no letter ${id}. \`letters list\` shows the letters, and \`trace ${id}\` what is known about this one.`,
    );
  if (letter.id !== id && others.length > 0)
    throw new RefusedError(
      `${id} is the beginning of several ids: ${letters
        .slice(0, 10)
        .map((each) => each.id)
        .join(', ')}. Give more characters.`,
    );
  return letter;
};

/** Why a listed letter could not be received. */
export const goneBecause = (held: number): string =>
  held > 0
    ? 'another operator has it in hand'
    : 'it is no longer in the queue, or another operator has it in hand';
