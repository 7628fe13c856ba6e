import { type Reindexed, reindexLetters } from '../../../../operate/messages/letters/reindex.ts';
import { countOf } from '../../../views/amounts.ts';
import { text, type View } from '../../../views/view.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async ({ target, signal, print, withProgress, finish }: CommandContext): Promise<void> => {
  const result = await withProgress('Reading letters', (onProgress) =>
    reindexLetters(target, { signal, onProgress }),
  );
  print(result, () => reindexedView(result));
  finish(result.whole);
};

const reindexedView = ({ letters, added, removed, kept, whole }: Reindexed): View => [
  text(
    `${countOf(letters, 'letter')} read from the queue: ${added} added to the lists, ${removed} removed from them.`,
  ),
  ...(whole
    ? []
    : [
        text(
          `Another operator has some letters in hand. The ${kept} that could not be read stay listed. Run this again later.`,
        ),
      ]),
];
