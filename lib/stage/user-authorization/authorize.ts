import { request } from 'undici';
import * as z from 'zod';
import { ownText } from '../../message/safe-text.ts';
import type { IdKeyCredential } from '../../platform/auth/id-key.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { whoAmI } from '../../platform/resources/users.ts';
import type { Audit } from '../audit.ts';
import { RefusedError, UsageError } from '../command-errors.ts';
import { type Connection, withConnection } from '../connection/connection.ts';
import type { Target } from '../target.ts';
import { type App, authUrl, credentialFromCallback, explainEntry, isClosed } from './auth-url.ts';

/** The token entry: its address, and the platform's answer there. */
export type EntryProbe = { url: string; explained: string; isClosed: boolean };

/** Where a user's own credential was stored. */
export type StoredCredential = { userId: string; secret: string; replaced: boolean };

type Options = {
  /** The address to which the platform redirects the browser, with the user's id and key. */
  callback: string;
  entryPath?: string | undefined;
  /** The secret with the application's id and key, below the prefix. */
  appSecret: string;
  audit: Audit;
  show(entry: EntryProbe): void;
  /** The address that the browser arrived at; undefined: unknown. */
  returned(): Promise<string | undefined>;
  confirm(secret: string, replaces: boolean): Promise<boolean>;
};

/** Sends a user to the platform's token entry, and stores the returned key in that user's secret, after asking the platform whose it is. */
export const authorizeUser = async (
  target: Target,
  options: Options,
): Promise<StoredCredential | undefined> => {
  if ((await target.platform()) === undefined)
    throw new UsageError(
      'Which platform? Set PLATFORM_URL. For the platform of `npm run local`, pass --local.',
    );
  return withConnection(target, async (connection) => {
    const app = await orRefuse(
      connection.readSecret(ownText(options.appSecret), appShape),
      'Pass --app-secret: the name, without the prefix, of a secret with the appId and appKey of the application.',
    );
    const entry = await probeEntry(connection, app, options);
    options.show(entry);
    if (entry.isClosed) return undefined;
    const address = await options.returned();
    if (!address?.trim()) return undefined;
    const credential = credentialFromCallback(address, app);
    const userId = await ownerOf(connection, credential);
    return store(target, { userId, credential, connection, options });
  });
};

const appShape = z.object({ appId: z.string().min(1), appKey: z.string().min(1) });

const probeEntry = async (connection: Connection, app: App, options: Options): Promise<EntryProbe> => {
  const { callback, entryPath } = options;
  const { baseUrl, apiRoot } = connection.site;
  const url = authUrl({ ...app, baseUrl, apiRoot, entryPath, callback });
  try {
    const { statusCode: status, headers, body } = await request(url, { signal: AbortSignal.timeout(15_000) });
    await body.dump();
    const location = [headers.location ?? []].flat()[0];
    return {
      url,
      explained: explainEntry({ status, location }, callback),
      isClosed: isClosed({ status, location }),
    };
  } catch {
    const explained = 'The platform does not answer from here. Open the address in a browser all the same.';
    return { url, explained, isClosed: false };
  }
};

/**
 * Asks the platform whose key it is: work that is signed with it is recorded under that user, for good. The id that comes with a key is
 * not always the user's own, which is a number.
 */
const ownerOf = async ({ clientAs }: Connection, credential: IdKeyCredential): Promise<string> => {
  const client = clientAs(credential);
  try {
    const platform = client.for({
      actor: undefined,
      signal: AbortSignal.timeout(30_000),
      onCall: () => {},
    });
    const { Identifier } = await orRefuse(whoAmI(platform), askedAnew);
    if (!isNumber(Identifier) || (isNumber(credential.userId) && Identifier !== credential.userId))
      throw new RefusedError(
        `The platform reports that this is the key of user ${Identifier}, not of user ${credential.userId}. Nothing was stored.`,
      );
    return Identifier;
  } finally {
    await client.close();
  }
};

const isNumber = (id: string): boolean => /^[1-9]\d*$/.test(id);

const askedAnew =
  'If the platform refuses the key, have the user log in again, and copy the address that the browser is redirected to. Nothing was stored.';

const store = async (
  target: Target,
  {
    userId,
    credential,
    connection,
    options,
  }: { userId: string; credential: IdKeyCredential; connection: Connection; options: Options },
): Promise<StoredCredential | undefined> => {
  const { CreateSecretCommand, DescribeSecretCommand, PutSecretValueCommand, ResourceNotFoundException } =
    await import('@aws-sdk/client-secrets-manager');
  const client = await target.secretsManager();
  const secret = `${connection.secretPrefix}/users/${userId}`;
  const replaced = await client.send(new DescribeSecretCommand({ SecretId: secret })).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ResourceNotFoundException) return false;
      throw error;
    },
  );
  if (!(await options.confirm(secret, replaced))) return undefined;
  const audited = await options.audit.begin({ command: 'auth-url', secret });
  const SecretString = JSON.stringify(credential);
  if (replaced) await client.send(new PutSecretValueCommand({ SecretId: secret, SecretString }));
  else await client.send(new CreateSecretCommand({ Name: secret, SecretString }));
  await audited.end({ stored: 1 });
  return { userId, secret, replaced };
};

/** Turns failures of calls into refusals with what the person must do. */
const orRefuse = async <Value>(asked: Promise<Value>, remedy: string): Promise<Value> => {
  try {
    return await asked;
  } catch (error) {
    const { kind, message } = failureOf(error);
    throw kind === 'defect' ? error : new RefusedError(`${message}. ${remedy}`);
  }
};
