import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { RefusedError } from '../../deployment/command-errors.ts';
import { authorizeUser, type EntryProbe } from '../../user-authorization/authorize.ts';
import { type Cli, contextOf } from '../command-context.ts';
import { wrapped } from '../print/table.ts';

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
    .action(async ({ callback, returned, appSecret, entryPath }, command: Command) => {
      const { target, audit, terminal, isJson, print, agreed, finish } = contextOf(cli, command);
      let entry: EntryProbe | undefined;
      let address: string | undefined;
      const stored = await authorizeUser(target, {
        ...{ callback, appSecret, entryPath, audit },
        show: (found) => {
          entry = found;
          if (isJson) return;
          terminal.out(`${found.url}\n`);
          terminal.err(`${wrapped(found.explained, terminal.width).join('\n')}\n`);
        },
        returned: async () => {
          if (returned !== undefined) address = await contentOf(returned);
          else if (!isJson)
            address = await terminal.ask('The address that the browser came to (none: stop): ');
          return address;
        },
        confirm: (secret, replaces) =>
          agreed(`${replaces ? 'Replace what is in' : 'Create'} the secret ${secret}?`),
      });
      print({ ...entry, stored }, () =>
        stored
          ? [
              `The credential of user ${stored.userId} is in the secret ${stored.secret}${stored.replaced ? ', in the place of another' : ''}.`,
            ]
          : [],
      );
      finish(entry?.isClosed === false && (stored !== undefined || !address));
    });
};

const contentOf = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8');
  } catch {
    throw new RefusedError(`The file ${file} cannot be read.`);
  }
};

const examples = `
Examples:
  sis-relay auth-url --callback https://sis.example.edu/done --stage prod
  sis-relay auth-url --callback https://sis.example.edu/done --returned address.txt --yes

Open the address in a browser as that user, and copy the address the browser comes to: it need
not be a page that exists. It holds the user’s key, so never put it on a command line. The
platform’s address comes from the stack of the stage, or from PLATFORM_URL; the application’s id
and key must be in the service’s secret.`;
