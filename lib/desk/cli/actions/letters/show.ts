import { UsageError } from '../../../../stage/command-errors.ts';
import { integrationNames } from '../../../../stage/function-names.ts';
import { showLetter } from '../../../messages/letters/show.ts';
import { letterOrTrace } from '../../../messages/trace/trace.ts';
import { compareOutdated } from '../../../messages/verify/compare.ts';
import { letterView } from '../../../views/letters.ts';
import { noLetterView } from '../../../views/trace.ts';
import { comparisonView } from '../../../views/verify.ts';
import type { CommandContext } from '../../command-context.ts';

export const show = async (
  { target, audit, signal, isJson, print, progress, finish }: CommandContext,
  id: string,
  { reveal = false, reason }: { reveal?: boolean; reason?: string },
): Promise<void> => {
  if (reveal) checkReason(reason);
  // As JSON, only a letter is an answer. What is to be revealed is recorded first.
  const found =
    isJson || reveal ? undefined : await letterOrTrace(target, id, { functions: integrationNames(), signal });
  if (found && 'trace' in found) {
    print(undefined, () => noLetterView(found.trace));
    return finish(false);
  }
  const onProgress = progress('Reading letters');
  const letter = await showLetter(target, { id, reveal, reason, audit, signal, onProgress });
  const [details = letter] = reveal ? await compareOutdated(target, [letter], signal) : [];
  print(details, () => [...letterView(details), ...comparisonView(details)]);
};

/** @throws UsageError if what is to be revealed has no reason. */
export const checkReason = (reason: string | undefined): void => {
  if (reason === undefined)
    throw new UsageError(
      'Why is it revealed? Pass --reason, as in --reason "the student asks". The audit log records it.',
    );
};
