import { showLetter } from '../../../../operate/messages/letters/show.ts';
import { letterOrTrace } from '../../../../operate/messages/trace/trace.ts';
import { integrationNames } from '../../../../operate/stage/function-names.ts';
import { letterView } from '../../../views/letters.ts';
import { noLetterView } from '../../../views/trace.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async (
  { target, audit, signal, isJson, print, withProgress, finish }: CommandContext,
  id: string,
  { reveal = false, reason }: { reveal?: boolean; reason?: string },
): Promise<void> => {
  // As JSON, only a letter is an answer. What is to be revealed is recorded first.
  const found =
    isJson || reveal ? undefined : await letterOrTrace(target, id, { functions: integrationNames(), signal });
  if (found && 'trace' in found) {
    print(undefined, () => noLetterView(found.trace));
    return finish(false);
  }
  const details = await withProgress('Reading letters', (onProgress) =>
    showLetter(target, { id, reveal, reason, audit, signal, onProgress }),
  );
  print(details, () => letterView(details));
};
