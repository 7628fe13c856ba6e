import { loadFunctions } from '../../deployment/integrations.ts';
import { type NeededScopes, neededScopes } from '../../deployment/scopes.ts';
import { operationOverrides } from '../../deployment/target.ts';
import type { CommandContext } from '../command-context.ts';
import { padded, widthOf, wrapped } from '../print/table.ts';
import type { Terminal } from '../print/terminal.ts';

export const act = async ({ terminal, print }: CommandContext, names: string[]): Promise<void> => {
  const scopes = neededScopes(await loadFunctions(), { names, overrides: operationOverrides() });
  const { signedByUsers: _, ...document } = scopes;
  print(document, () => scopeLines(scopes, terminal));
};

/** The scopes of each function, then those that each client needs. */
const scopeLines = (
  { functions, signedByUsers, service, users }: NeededScopes,
  { style, width }: Terminal,
): string[] => {
  const needed = Object.values(functions).flat();
  const room = Math.max(0, ...needed.map(({ scope }) => widthOf(scope)));
  const each = Object.entries(functions).flatMap(([name, scopes]) => [
    style('bold', name) +
      (signedByUsers.includes(name) ? style('dim', '  signed by the user whom the message names') : ''),
    ...(scopes.length === 0 ? ['  none: it does not call the platform’s API'] : []),
    ...scopes.flatMap(({ scope, operations }) =>
      wrapped(operations.join(', '), width - room - 4).map(
        (line, at) => `  ${padded(at === 0 ? scope : '', room)}  ${line}`,
      ),
    ),
    '',
  ]);
  const sum = (title: string, text: string): string[] =>
    text === '' ? [] : [style('bold', title), ...wrapped(text, width - 2).map((line) => `  ${line}`)];
  return [
    ...each,
    ...sum('The service’s client, for all of these', service),
    ...sum('The client for the credentials of users', users),
  ];
};
