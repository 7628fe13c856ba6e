import type { Command } from 'commander';
import { listLetters } from '../../../dead-letters/reading/list.ts';
import { addFilterOptions, type Cli, contextOf, wholeNumber } from '../../command-context.ts';
import { listLines } from '../../print/letters.ts';

export const addList = (letters: Command, cli: Cli): void => {
  addFilterOptions(letters.command('list').description('lists letters, the oldest first'))
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 10_000), 50)
    .addHelpText('after', examples)
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const { target, filter, terminal, signal, print, withProgress, finish } = contextOf(cli, command);
      const found = await withProgress('Reading letters', (onProgress) =>
        listLetters(target, { filter, limit }, { signal, onProgress }),
      );
      print(found, () => listLines(found, { target, terminal }));
      finish(found.matching > 0);
    });
};

const examples = `
Examples:
  sis-relay letters list --kind rejected
  sis-relay letters list --user 301 --org-unit 2001
  sis-relay letters list --min-replays 5`;
