import type { Command } from 'commander';
import { action } from '../../action.ts';
import type { Cli } from '../../command-context.ts';
import { addFilterOptions, reasonText, wholeNumber } from '../../options.ts';

export const addDiscard = (letters: Command, cli: Cli): void => {
  addFilterOptions(letters.command('discard').description('deletes letters; each is archived first'))
    .requiredOption('--reason <text>', 'why, for the audit log', reasonText)
    .option('--all', 'all letters, if no filter is given')
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .option('--dry-run', 'show which ones, and change nothing')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../../actions/letters/discard.ts')));
};

const examples = `
Examples:
  sis-relay letters discard --kind unknown-source --reason "another team's test" --dry-run
  sis-relay letters discard --id 3f0c91aa --reason "handed in on paper"

Discarded letters are kept under discarded/ in the bucket: letters import s3://… restores them.`;
