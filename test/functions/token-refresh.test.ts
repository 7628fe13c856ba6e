import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { Context } from 'aws-lambda';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import type * as tokenRefresh from '../../functions/token-refresh.ts';
import { createSecretVersions } from '../../lib/platform/auth/versions.ts';
import { localOffice } from '../lib/desk/cli/local-office.ts';
import { localClient } from '../local/aws/aws.ts';
import { control } from '../local/controls.ts';
import { eventOf } from '../local/examples.ts';
import { settingsOf } from '../local/stack.ts';
import { moduleAnew } from '../module-anew.ts';
import { logForTests } from './log-for-tests.ts';

const office = localOffice({ functions: false });
const lines = logForTests();
const logged = (): Record<string, unknown>[] => lines().map((line) => JSON.parse(line));
const context = { getRemainingTimeInMillis: () => 60_000 } as Context;
const event = () => eventOf('token-refresh');

/** A container of the function: its module is loaded anew. */
const container = async () => (await moduleAnew<typeof tokenRefresh>('functions/token-refresh.ts')).handler;

beforeEach(async () => {
  for (const [name, value] of Object.entries(settingsOf(office.stack().description, 'enrollment-create')))
    vi.stubEnv(name, value);
  await office.controls().reset();
});
afterAll(() => void vi.unstubAllEnvs());

test('token-refresh renews on schedule what is due, at once where it is asked to, and writes its metrics', async () => {
  const { platform, secrets } = office.stack().description;
  const client = { clientId: 'local-client', clientSecret: 'local-client-secret' };
  const { refreshToken } = await control<{ refreshToken: string }>(platform, 'POST oauth/refreshTokens', {
    clientId: client.clientId,
  });
  const { tokenUrl } = await control<{ tokenUrl: string }>(platform, 'GET oauth');
  const secret = { type: 'oauth', grant: 'refresh_token', tokenUrl, ...client, refreshToken };
  await office.controls().secret(secrets.service, secret);
  const handler = await container();
  expect(await handler(await event(), context)).toMatchObject({ refreshed: 1, none: 2 });
  expect(await handler(await event(), context)).toMatchObject({ fresh: 1, none: 2 });
  expect(logged()).toContainEqual(expect.objectContaining({ outcome: 'refreshed', TokenRefreshes: [1] }));
  expect(logged()).toContainEqual(
    expect.objectContaining({ function: 'token-refresh', AuthorizationsNeeded: [0] }),
  );
  expect(await control(platform, 'GET oauth')).toMatchObject({ tokenRequests: { issued: 1 } });
  expect(await handler({ force: true }, context)).toMatchObject({ refreshed: 1 });
});

test('token-refresh does not end well unheard where every call of AWS is denied', async () => {
  const fault = { status: 400, type: 'AccessDeniedException', times: 100 };
  await office.controls().awsFault('secretsManager', fault);
  const handler = await container();
  expect(await handler(await event(), context)).toMatchObject({ failed: 2, waiting: 0 });
  expect(logged()).toContainEqual(
    expect.objectContaining({
      level: 'ERROR',
      reason: expect.stringMatching(
        /^AWS refuses secretsmanager:GetSecretValue on the secret sis-relay\/local\/service \(AccessDenied/,
      ),
    }),
  );
  // The two alarms that ring.
  expect(logged()).toContainEqual(expect.objectContaining({ outcome: 'failed', TokenRefreshes: [2] }));
  expect(logged()).toContainEqual(expect.objectContaining({ kind: 'aws-refused', Refusals: [2] }));
  await office.controls().clearAwsFaults();
});

test('token-refresh names the settings that it lacks', async () => {
  const handler = await container();
  vi.stubEnv('SECRET_PREFIX', '');
  await expect(handler({}, context)).rejects.toThrow('SECRET_PREFIX is missing');
});

test('a list of secrets that has many pages is read to its end', async () => {
  const client = new SecretsManagerClient(localClient(office.stack().description.secretsManager));
  const SecretString = '{"type":"id-key"}';
  await Promise.all(
    Array.from({ length: 205 }, (_, at) =>
      client.send(new CreateSecretCommand({ Name: `other/users/${at}`, SecretString })),
    ),
  );
  const names: string[] = [];
  for await (const { name, version } of createSecretVersions(client).list('other/users/')) {
    expect(version).toBeDefined();
    names.push(name);
  }
  expect(new Set(names).size).toBe(205);
  client.destroy();
});
