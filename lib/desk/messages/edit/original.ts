import { historyIn } from '../../../delivery/letters/history.ts';
import { maskedBody } from '../../../runtime/privacy/shown-message.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import type { Target } from '../../../stage/target.ts';
import { goneBecause, withLetters } from '../letters/leased-letters.ts';
import { type Bucket, readIn } from '../letters/letter.ts';
import { bodyIn } from '../letters/letter-line.ts';
import { findLetter } from '../letters/list.ts';
import type { ReadOptions } from '../letters/session.ts';
import { type Difference, differences } from './change.ts';

/** The message of a letter before an edit, whole and unmasked. `missing`: why it cannot be fetched. */
export const originalOf = async (
  target: Bucket,
  address: string,
): Promise<{ body: string } | { missing: string }> => {
  const read = await readIn(target, address, 'edited');
  if ('missing' in read) return read;
  const body = bodyIn(read.text);
  return body === undefined ? { missing: 'the file is not a letter' } : { body };
};

export type ComparedMessages = {
  difference: Difference[];
  /** Parsed; undefined if it is no JSON object. */
  before: unknown;
  after: unknown;
};

/** A message before and after an edit. Both are masked: the reader need not be the operator who edited it. */
export const comparedWith = (original: string, now: string): ComparedMessages => ({
  difference: differences(original, now, { reveal: false, isTyped: false }),
  before: maskedBody(original),
  after: maskedBody(now),
});

/** A letter beside its message before the last edit. The letter stays in the queue. @throws RefusedError if it was not edited. */
export const compareWithOriginal = async (
  target: Target,
  { id, ...options }: ReadOptions & { id: string },
): Promise<ComparedMessages | { missing: string }> => {
  const letter = await findLetter(target, id, options.signal);
  const { original } =
    historyIn(letter.record.history)?.deeds.findLast((action) => action.original !== undefined) ?? {};
  if (original === undefined) throw new RefusedError(`The letter ${letter.id} was not edited.`);
  const before = await originalOf(target, original);
  if ('missing' in before) return { missing: `The original cannot be read: ${before.missing}.` };
  return withLetters(target, { ...options, letters: [letter] }, async (inHand) =>
    inHand.letters.length === 0
      ? { missing: `The letter cannot be read: ${goneBecause(inHand.held)}.` }
      : comparedWith(before.body, (await inHand.read(letter)).body),
  );
};
