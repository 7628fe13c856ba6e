import type { Command } from 'commander';
import { type Reindexed, reindexLetters } from '../../../dead-letters/reading/reindex.ts';
import { countOf } from '../../../wording/amounts.ts';
import { type Cli, contextOf } from '../../command-context.ts';

export const addReindex = (letters: Command, cli: Cli): void => {
  letters
    .command('reindex')
    .description(
      'makes the lists of letters equal to the dead-letter queue, as the schedule does every 15 minutes',
    )
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const { target, signal, print, withProgress, finish } = contextOf(cli, command);
      const result = await withProgress('Reading letters', (onProgress) =>
        reindexLetters(target, { signal, onProgress }),
      );
      print(result, () => reindexedLines(result));
      finish(result.whole);
    });
};

const reindexedLines = ({ letters, added, removed, kept, whole }: Reindexed): string[] => [
  `${countOf(letters, 'letter')} read from the queue: ${added} added to the lists, ${removed} removed from them.`,
  ...(whole
    ? []
    : [`Somebody else has letters in hand, so ${kept} that were not read stay listed: run it again later.`]),
];

const examples = `
Example:
  sis-relay letters reindex

The queue is the truth; letters are listed beside it, so that reading hides none. While it runs, nobody
else can work on letters.`;
