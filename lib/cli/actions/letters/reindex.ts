import { type Reindexed, reindexLetters } from '../../../dead-letters/reading/reindex.ts';
import { countOf } from '../../../views/amounts.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async ({ target, signal, print, withProgress, finish }: CommandContext): Promise<void> => {
  const result = await withProgress('Reading letters', (onProgress) =>
    reindexLetters(target, { signal, onProgress }),
  );
  print(result, () => reindexedLines(result));
  finish(result.whole);
};

const reindexedLines = ({ letters, added, removed, kept, whole }: Reindexed): string[] => [
  `${countOf(letters, 'letter')} read from the queue: ${added} added to the lists, ${removed} removed from them.`,
  ...(whole
    ? []
    : [
        `Another operator has some letters in hand. The ${kept} that could not be read stay listed. Run this again later.`,
      ]),
];
