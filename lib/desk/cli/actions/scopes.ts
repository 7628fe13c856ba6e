import { loadFunctions } from '../../../stage/integrations.ts';
import { type NeededScopes, neededScopes } from '../../../stage/scopes.ts';
import { operationOverrides } from '../../../stage/target.ts';
import { section, text, type View } from '../../views/view.ts';
import type { CommandContext } from '../command-context.ts';

export const scopes = async ({ print }: CommandContext, names: string[]): Promise<void> => {
  const needed = neededScopes(await loadFunctions(), { names, overrides: operationOverrides() });
  const { signedByUsers: _, ...document } = needed;
  print(document, () => scopesView(needed));
};

const scopesView = ({ functions, signedByUsers, service, users }: NeededScopes): View => [
  ...Object.entries(functions).map(([name, scopes]) =>
    section(
      signedByUsers.includes(name) ? `${name}  signed by the user whom the message names` : name,
      scopes.length === 0
        ? text('none: it does not call the platform’s API')
        : { facts: scopes.map(({ scope, operations }) => [scope, operations.join(', ')] as const) },
    ),
  ),
  service !== '' && section('The service’s client, for all of these', text(service)),
  users !== '' && section('The client for the credentials of users', text(users)),
];
