import type { NeededScopes } from '../../deployment/scopes.ts';
import { padded, widthOf, wrapped } from './table.ts';
import type { Terminal } from './terminal.ts';

/** The scopes of each function, then those that each client needs. */
export const scopeLines = (
  { functions, signedByUsers, service, users }: NeededScopes,
  { style, width }: Terminal,
): string[] => {
  const room = Math.max(
    0,
    ...Object.values(functions)
      .flat()
      .map(({ scope }) => widthOf(scope)),
  );
  const each = Object.entries(functions).flatMap(([name, scopes]) => [
    style('bold', name) +
      (signedByUsers.includes(name) ? style('dim', '  signed by the user whom it is about') : ''),
    ...(scopes.length === 0 ? ['  none: it calls nothing of the platform’s API'] : []),
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
    ...sum('The client of single users', users),
  ];
};
