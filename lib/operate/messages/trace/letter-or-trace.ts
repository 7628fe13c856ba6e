import type { Target } from '../../stage/target.ts';
import { findLetter, NoLetterError } from '../letters/find-letter.ts';
import type { Selected } from '../letters/selection.ts';
import { type Trace, traceOf } from './trace.ts';

/** A letter, or what is known of a message that is no letter any more. @throws NoLetterError if nothing is known. */
export const letterOrTrace = async (
  target: Target,
  id: string,
  { functions, signal }: { functions: readonly string[]; signal: AbortSignal },
): Promise<{ letter: Selected } | { trace: Trace }> => {
  try {
    return { letter: await findLetter(target, id, signal) };
  } catch (error) {
    if (!(error instanceof NoLetterError)) throw error;
    const trace = await traceOf(target, id, { log: false, functions, signal });
    if (trace.events.length === 0) throw error;
    return { trace };
  }
};
