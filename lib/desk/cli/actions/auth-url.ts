import { readFile } from 'node:fs/promises';
import { RefusedError } from '../../../stage/command-errors.ts';
import { authorizeUser, type EntryProbe } from '../../../stage/user-authorization/authorize.ts';
import { text } from '../../views/view.ts';
import type { CommandContext } from '../command-context.ts';

type AuthUrlOptions = { callback: string; returned?: string; appSecret: string; entryPath?: string };

export const authUrl = async (
  { target, audit, terminal, isJson, print, say, agreed, finish, checkAudit }: CommandContext,
  { callback, returned, appSecret, entryPath }: AuthUrlOptions,
): Promise<void> => {
  await checkAudit();
  let entry: EntryProbe | undefined;
  let address: string | undefined;
  const stored = await authorizeUser(target, {
    callback,
    appSecret,
    entryPath,
    audit,
    show: (found) => {
      entry = found;
      if (isJson) return;
      terminal.out(`${found.url}\n`);
      say([text(found.explained)]);
    },
    returned: async () => {
      if (returned !== undefined) address = await contentOf(returned);
      else if (!isJson)
        address = await terminal.ask('The address that the browser was redirected to (empty to stop): ');
      return address;
    },
    confirm: (secret, replaces) =>
      agreed(`${replaces ? 'Replace the content of' : 'Create'} the secret ${secret}?`),
  });
  print({ ...entry, stored }, () =>
    stored
      ? [
          text(
            `The credential of user ${stored.userId} is stored in the secret ${stored.secret}${stored.replaced ? ' and replaces the one before' : ''}.`,
          ),
        ]
      : [],
  );
  finish(entry?.isClosed === false && (stored !== undefined || !address));
};

const contentOf = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8');
  } catch {
    throw new RefusedError(`The file ${file} cannot be read.`);
  }
};
