import type { Command } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';

export const addScopes = (program: Command, cli: Cli): void => {
  program
    .command('scopes')
    .description('the OAuth scopes that each function needs, and no more')
    .argument('[function...]', 'of these functions; default: of all')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/scopes.ts')));
};

const examples = `
Examples:
  sis-relay scopes
  sis-relay scopes grade-push enrollment-create
  sis-relay scopes --json

PLATFORM_OPERATIONS is taken into account where it is set: a site may call a scope otherwise.`;
