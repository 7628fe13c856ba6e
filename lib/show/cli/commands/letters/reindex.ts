import type { Command } from 'commander';
import { action } from '../../action.ts';
import type { Cli } from '../../command-context.ts';

export const addReindex = (letters: Command, cli: Cli): void => {
  letters
    .command('reindex')
    .description(
      'makes the lists of letters equal to the dead-letter queue, as the schedule does every 15 minutes',
    )
    .addHelpText('after', examples)
    .action(action(cli, () => import('../../actions/letters/reindex.ts')));
};

const examples = `
Example:
  sis-relay letters reindex

The queue decides which letters exist. The lists are kept beside it, so that listing hides no letter.
While this command runs, nobody else can work on letters.`;
