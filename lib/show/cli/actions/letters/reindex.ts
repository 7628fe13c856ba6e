import { reindexLetters } from '../../../../operate/messages/letters/reindex.ts';
import { reindexedView } from '../../../views/changes.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async ({ target, signal, print, withProgress, finish }: CommandContext): Promise<void> => {
  const result = await withProgress('Reading letters', (onProgress) =>
    reindexLetters(target, { signal, onProgress }),
  );
  print(result, () => reindexedView(result));
  finish(result.whole);
};
