import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { RefusedError, UsageError } from '../../deployment/command-errors.ts';
import { type DeclaredFunction, loadFunctions } from '../../deployment/integrations.ts';
import { type NeededScope, scopesByFunction, scopeText } from '../../deployment/scopes.ts';
import { operationOverrides } from '../../deployment/target.ts';
import { authorizeUser, type WayIn } from '../../user-authorization/authorize.ts';
import { type Around, agreed, auditOf, isJson, printJson, printLines, targetOf } from '../command-context.ts';
import { wrapped } from '../print/table.ts';
import type { Terminal } from '../print/terminal.ts';

/** What has to be arranged with the platform before messages can get through. */
export const addPlatformCommands = (program: Command, around: Around): void => {
  program
    .command('scopes')
    .description('the OAuth scopes that each function needs, and no more')
    .argument('[function...]', 'of these functions; default: of all')
    .addHelpText('after', scopesExamples)
    .action(async (names: string[], _options, command: Command) => {
      const all = await loadFunctions();
      const unknown = names.filter((name) => !all.some((each) => each.name === name));
      if (unknown.length > 0)
        throw new UsageError(
          `There is no function ${unknown.join(', ')}. There are: ${all.map(({ name }) => name).join(', ')}`,
        );
      const functions = names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
      const scopes = scopesByFunction(functions, operationOverrides());
      const together = togetherOf(functions, scopes);
      if (isJson(command)) printJson(around, { functions: scopes, ...together });
      else printLines(around, scopeLines(functions, { scopes, together, terminal: around.terminal }));
    });

  program
    .command('auth-url')
    .description('lets a user authorize sis-relay with an ID and key, and keeps them in the user’s secret')
    .requiredOption('--callback <url>', 'where the platform sends the user’s browser with the id and key')
    .option('--returned <file>', 'do not ask for the address the browser came to: it is in this file')
    .option('--app-secret <name>', 'the secret, below the prefix, with appId and appKey', 'service')
    .option('--entry-path <path>', 'of the token entry, where it is not beside the API')
    .option('--yes', 'do not ask before a secret is written')
    .addHelpText('after', authExamples)
    .action(async ({ callback, returned, appSecret, entryPath }, command: Command) => {
      const { terminal } = around;
      const target = targetOf(command);
      const isText = !isJson(command);
      let way: WayIn | undefined;
      let address: string | undefined;
      const stored = await authorizeUser(target, {
        ...{ callback, appSecret, entryPath, audit: auditOf(around, target, command) },
        show: (found) => {
          way = found;
          if (isText) terminal.out(`${found.url}\n`);
          if (isText) terminal.err(`${wrapped(found.explained, terminal.width).join('\n')}\n`);
        },
        returned: async () => {
          if (returned !== undefined) address = await textOf(returned);
          else if (isText)
            address = await terminal.ask('The address that the browser came to (none: stop): ');
          return address;
        },
        confirm: (secret, replaces) =>
          agreed(around, command, `${replaces ? 'Replace what is in' : 'Create'} the secret ${secret}?`),
      });
      if (!isText) printJson(around, { ...way, stored });
      else if (stored)
        printLines(around, [
          `The credential of user ${stored.userId} is in the secret ${stored.secret}${stored.replaced ? ', in the place of another' : ''}.`,
        ]);
      around.finish(way?.isClosed === false && (stored !== undefined || !address));
    });
};

/** What the clients ask for that sign as the service, and those of single users. */
const togetherOf = (functions: DeclaredFunction[], scopes: Record<string, NeededScope[]>) => {
  const of = (actor: DeclaredFunction['actor']): string =>
    scopeText(functions.filter((each) => each.actor === actor).map(({ name }) => scopes[name] ?? []));
  return { service: of('service'), users: of('users') };
};

const scopeLines = (
  functions: DeclaredFunction[],
  {
    scopes,
    together,
    terminal: { style, width },
  }: {
    scopes: Record<string, NeededScope[]>;
    together: ReturnType<typeof togetherOf>;
    terminal: Terminal;
  },
): string[] => {
  const all = functions.flatMap(({ name }) => scopes[name] ?? []);
  const room = Math.max(0, ...all.map(({ scope }) => scope.length));
  const each = functions.flatMap(({ name, actor }) => [
    style('bold', name) + (actor === 'users' ? style('dim', '  signed by the user whom it is about') : ''),
    ...((scopes[name] ?? []).length === 0 ? ['  none: it calls nothing of the platform’s API'] : []),
    ...(scopes[name] ?? []).flatMap(({ scope, operations }) =>
      wrapped(operations.join(', '), width - room - 4).map(
        (line, at) => `  ${(at === 0 ? scope : '').padEnd(room)}  ${line}`,
      ),
    ),
    '',
  ]);
  const sum = (title: string, text: string): string[] =>
    text === '' ? [] : [style('bold', title), ...wrapped(text, width - 2).map((line) => `  ${line}`)];
  return [
    ...each,
    ...sum('The service’s client, for all of these', together.service),
    ...sum('The client of single users', together.users),
  ];
};

const textOf = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8');
  } catch {
    throw new RefusedError(`The file ${file} cannot be read.`);
  }
};

const scopesExamples = `
Examples:
  sis-relay scopes
  sis-relay scopes grade-push enrollment-create
  sis-relay scopes --json

PLATFORM_OPERATIONS is taken into account where it is set: a site may call a scope otherwise.`;

const authExamples = `
Examples:
  sis-relay auth-url --callback https://sis.example.edu/done --stage prod
  sis-relay auth-url --callback https://sis.example.edu/done --returned address.txt --yes

Open the address in a browser as that user, and copy the address the browser comes to: it need
not be a page that exists. It holds the user’s key, and so belongs into no command line. Needs
PLATFORM_URL, and the application’s id and key in the service’s secret.`;
