import type { Target } from '../../deployment/target.ts';
import { eventIdIn } from '../../message.ts';
import { type Filter, matches } from './filter.ts';
import { type Letter, unnamed } from './letter.ts';
import { type ReadOptions, type ReadSummary, withSession } from './session.ts';

/** A letter without its message. */
export type LetterFacts = Pick<
  Letter,
  'id' | 'sentMs' | 'function' | 'kind' | 'error' | 'remedy' | 'replays'
> & {
  /** The platform's own words, without what is personal. */
  words: string | undefined;
  /** HTTP status of the platform's refusal. */
  status: number | undefined;
  /** CloudEvents id of its message. */
  eventId: string | undefined;
};

export type Listed = ReadSummary & {
  /** The oldest first, at most as many as were asked for. */
  letters: LetterFacts[];
  matching: number;
};

/** The letters that match, one by one. */
export const listLetters = (
  target: Target,
  { filter, limit }: { filter: Filter; limit: number },
  options: ReadOptions,
): Promise<Listed> =>
  withSession(target, async (session) => {
    let letters: LetterFacts[] = [];
    let matching = 0;
    const oldest = () => letters.sort((one, other) => one.sentMs - other.sentMs).slice(0, limit);
    for await (const letter of session.letters(options)) {
      if (!matches(filter, letter)) continue;
      matching += 1;
      letters.push(factsOf(letter));
      // More are not kept in memory than the answer needs.
      if (letters.length >= 2 * limit + 1_000) letters = oldest();
    }
    return { ...session.summary(), letters: oldest(), matching };
  });

const factsOf = (letter: Letter): LetterFacts => {
  const { id, sentMs, function: name, kind, error, remedy, replays, failure, body } = letter;
  return {
    ...{ id, sentMs, function: name, kind, error, remedy, replays },
    words:
      failure?.detail === undefined || kind === 'unreadable' ? undefined : unnamed(letter, failure.detail),
    status: failure?.status,
    eventId: eventIdIn(body),
  };
};
