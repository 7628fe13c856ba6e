import type { Command } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';

export const addAuthUrl = (program: Command, cli: Cli): void => {
  program
    .command('auth-url')
    .description('has a user authorize sis-relay with an ID and key, and stores them in the user’s secret')
    .requiredOption(
      '--callback <url>',
      'address that the platform redirects the user’s browser to, with the id and key',
    )
    .option('--returned <file>', 'read the address that the browser was redirected to from this file')
    .option(
      '--app-secret <name>',
      'name of the secret with appId and appKey, without the prefix of secrets',
      'service',
    )
    .option('--entry-path <path>', 'path of the token entry, if it is not beside the API')
    .option('--yes', 'write the secret without asking')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/auth-url.ts')));
};

const examples = `
Examples:
  sis-relay auth-url --callback https://sis.example.edu/done --stage prod
  sis-relay auth-url --callback https://sis.example.edu/done --returned address.txt --yes

Open the address in a browser as that user. Then copy the address that the browser is redirected to;
no page needs to exist there. It holds the user’s key, so never put it on a command line. The
platform’s address comes from the stack of the stage, or from PLATFORM_URL. The application’s id
and key must be in the service’s secret.`;
