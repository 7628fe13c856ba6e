import { randomUUID } from 'node:crypto';
import {
  DescribeSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { localClient } from './aws.ts';
import { startSecretsManager } from './secrets-manager.ts';

/** What a rotation relies on, as AWS documents it: a version is staged once, and made current instead of a known one. */

const SecretId = 'relay/service';
let server: Awaited<ReturnType<typeof startSecretsManager>>;
let client: SecretsManagerClient;

beforeEach(async () => {
  server = await startSecretsManager({ [SecretId]: 'old' });
  client = new SecretsManagerClient({ ...localClient(server.url), maxAttempts: 1 });
});
afterEach(async () => {
  client.destroy();
  await server.close();
});

const get = (which: { VersionId?: string; VersionStage?: string } = {}) =>
  client.send(new GetSecretValueCommand({ SecretId, ...which }));
const put = (SecretString: string, options: { ClientRequestToken?: string; VersionStages?: string[] } = {}) =>
  client.send(new PutSecretValueCommand({ SecretId, SecretString, ...options }));
const promote = (MoveToVersionId: string | undefined, RemoveFromVersionId?: string) =>
  client.send(
    new UpdateSecretVersionStageCommand({
      ...{ SecretId, VersionStage: 'AWSCURRENT', MoveToVersionId, RemoveFromVersionId },
    }),
  );
const stages = async () =>
  (await client.send(new DescribeSecretCommand({ SecretId }))).VersionIdsToStages ?? {};

test('a version that is put becomes the current one, and the one before stays readable as previous', async () => {
  const { VersionId: old = '' } = await get();
  const { VersionId: current = '' } = await put('new');
  expect((await get()).SecretString).toBe('new');
  expect((await get({ VersionStage: 'AWSPREVIOUS' })).VersionId).toBe(old);
  expect((await get({ VersionId: old })).SecretString).toBe('old');
  expect(await stages()).toEqual({ [old]: ['AWSPREVIOUS'], [current]: ['AWSCURRENT'] });
  await put('newer');
  expect(await stages()).not.toHaveProperty(old);
});

test('a request that is sent twice puts one version, and its token takes no other value', async () => {
  const ClientRequestToken = randomUUID();
  await put('new', { ClientRequestToken });
  await put('newer');
  expect((await put('new', { ClientRequestToken })).VersionId).toBe(ClientRequestToken);
  expect((await get()).SecretString).toBe('newer');
  await expect(put('other', { ClientRequestToken })).rejects.toMatchObject({
    name: 'ResourceExistsException',
  });
});

test('a staged version leaves the current one in place until it takes its label, which must be named', async () => {
  const { VersionId: old = '' } = await get();
  const { VersionId: staged = '' } = await put('new', { VersionStages: ['AWSPENDING'] });
  expect((await get()).VersionId).toBe(old);
  for (const from of [undefined, staged])
    await expect(promote(staged, from)).rejects.toMatchObject({ name: 'InvalidParameterException' });
  await promote(staged, old);
  expect(await stages()).toEqual({ [old]: ['AWSPREVIOUS'], [staged]: ['AWSPENDING', 'AWSCURRENT'] });
  // As for a request that is sent twice.
  await promote(staged);
});
