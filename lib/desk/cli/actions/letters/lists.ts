import { groupLetters, listLetters } from '../../../messages/letters/list.ts';
import { reindexLetters } from '../../../messages/letters/reindex.ts';
import { endedLettersOfFilter } from '../../../operator-actions/ended-letters.ts';
import { reindexedView } from '../../../views/changes.ts';
import { groupsView, listView } from '../../../views/letters.ts';
import type { CommandContext } from '../../command-context.ts';

export const groups = async (context: CommandContext): Promise<void> => {
  const { target, name, filter, signal, isJson, print, finish } = context;
  const found = await groupLetters(target, filter, { signal });
  const became = found.matching === 0 && !isJson ? await endedLettersOfFilter(context, filter) : [];
  print(found, () => [...groupsView(found, name), ...became]);
  finish(found.matching > 0);
};

export const list = async (context: CommandContext, { limit }: { limit?: number }): Promise<void> => {
  const { target, name, filter, signal, isJson, print, finish } = context;
  const most = limit ?? (isJson ? Number.POSITIVE_INFINITY : 50);
  const found = await listLetters(target, { filter, limit: most }, { signal });
  const became = found.matching === 0 && !isJson ? await endedLettersOfFilter(context, filter) : [];
  print(found, () => [...listView(found, name), ...became]);
  finish(found.matching > 0);
};

export const reindex = async (context: CommandContext): Promise<void> => {
  const { target, signal, print, progress, finish } = context;
  const result = await reindexLetters(target, { signal, onProgress: progress('Reading letters') });
  print(result, () => reindexedView(result));
  finish(result.whole);
};
