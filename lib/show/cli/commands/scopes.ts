import type { Command } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';

export const addScopes = (program: Command, cli: Cli): void => {
  program
    .command('scopes')
    .description('lists exactly the OAuth scopes that each function needs')
    .argument('[function...]', 'names of functions; default: all')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/scopes.ts')));
};

const examples = `
Examples:
  sis-relay scopes
  sis-relay scopes grade-push enrollment-create
  sis-relay scopes --json

If PLATFORM_OPERATIONS is set, the list has the scopes that it names.`;
