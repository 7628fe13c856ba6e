import type { Command } from 'commander';
import { action } from '../../action.ts';
import type { Cli } from '../../command-context.ts';
import { addFilterOptions } from '../../options.ts';

export const addGroups = (letters: Command, cli: Cli): void => {
  addFilterOptions(
    letters.command('groups').description('counts letters by cause, and says what to do about each'),
  )
    .addHelpText('after', examples)
    .action(action(cli, () => import('../../actions/letters/groups.ts')));
};

const examples = `
Examples:
  sis-relay letters groups
  sis-relay letters groups --since 24h
  sis-relay letters groups --function grade-push --status 403`;
