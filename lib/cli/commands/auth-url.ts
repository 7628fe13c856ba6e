import type { Command } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';

export const addAuthUrl = (program: Command, cli: Cli): void => {
  program
    .command('auth-url')
    .description('lets a user authorize sis-relay with an ID and key, and keeps them in the user’s secret')
    .requiredOption('--callback <url>', 'where the platform sends the user’s browser with the id and key')
    .option('--returned <file>', 'do not ask for the address the browser came to: it is in this file')
    .option('--app-secret <name>', 'the secret, below the prefix, with appId and appKey', 'service')
    .option('--entry-path <path>', 'of the token entry, where it is not beside the API')
    .option('--yes', 'do not ask before a secret is written')
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/auth-url.ts')));
};

const examples = `
Examples:
  sis-relay auth-url --callback https://sis.example.edu/done --stage prod
  sis-relay auth-url --callback https://sis.example.edu/done --returned address.txt --yes

Open the address in a browser as that user, and copy the address the browser comes to: it need
not be a page that exists. It holds the user’s key, so never put it on a command line. The
platform’s address comes from the stack of the stage, or from PLATFORM_URL; the application’s id
and key must be in the service’s secret.`;
