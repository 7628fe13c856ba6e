import type { Command } from 'commander';
import { action } from '../../action.ts';
import type { Cli } from '../../command-context.ts';
import { addFilterOptions, wholeNumber } from '../../options.ts';

export const addList = (letters: Command, cli: Cli): void => {
  addFilterOptions(letters.command('list').description('lists letters, the oldest first'))
    .option('--limit <n>', 'at most n letters; default: 50, or all as JSON', wholeNumber(1, 1_000_000))
    .addHelpText('after', examples)
    .action(action(cli, () => import('../../actions/letters/list.ts')));
};

const examples = `
Examples:
  sis-relay letters list --kind rejected
  sis-relay letters list --user 301 --org-unit 2001
  sis-relay letters list --min-replays 5`;
