import type { Command } from 'commander';
import { loadFunctions } from '../../deployment/integrations.ts';
import { neededScopes } from '../../deployment/scopes.ts';
import { operationOverrides } from '../../deployment/target.ts';
import { type Cli, contextOf } from '../command-context.ts';
import { scopeLines } from '../print/scopes.ts';

export const addScopes = (program: Command, cli: Cli): void => {
  program
    .command('scopes')
    .description('the OAuth scopes that each function needs, and no more')
    .argument('[function...]', 'of these functions; default: of all')
    .addHelpText('after', examples)
    .action(async (names: string[], _options, command: Command) => {
      const { terminal, print } = contextOf(cli, command);
      const scopes = neededScopes(await loadFunctions(), { names, overrides: operationOverrides() });
      const { signedByUsers: _, ...document } = scopes;
      print(document, () => scopeLines(scopes, terminal));
    });
};

const examples = `
Examples:
  sis-relay scopes
  sis-relay scopes grade-push enrollment-create
  sis-relay scopes --json

PLATFORM_OPERATIONS is taken into account where it is set: a site may call a scope otherwise.`;
