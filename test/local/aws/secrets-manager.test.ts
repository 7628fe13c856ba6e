import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { expect, test } from 'vitest';
import { localClient } from './aws.ts';
import { startSecretsManager } from './secrets-manager.ts';

test('a staged version leaves the current one in place until it takes its label, whose holder must be named', async () => {
  const SecretId = 'relay/service';
  const server = await startSecretsManager({ [SecretId]: 'old' });
  const client = new SecretsManagerClient({ ...localClient(server.url), maxAttempts: 1 });
  const current = () => client.send(new GetSecretValueCommand({ SecretId }));
  const { VersionId: old } = await current();
  const put = { SecretId, SecretString: 'new', VersionStages: ['AWSPENDING'] };
  const { VersionId: staged } = await client.send(new PutSecretValueCommand(put));
  const move = { SecretId, VersionStage: 'AWSCURRENT', MoveToVersionId: staged };
  const promote = (RemoveFromVersionId?: string) =>
    client.send(new UpdateSecretVersionStageCommand({ ...move, RemoveFromVersionId }));
  for (const from of [undefined, staged])
    await expect(promote(from)).rejects.toMatchObject({ name: 'InvalidParameterException' });
  expect((await current()).VersionId).toBe(old);
  await promote(old);
  expect((await current()).VersionId).toBe(staged);
  // As for a request that is sent twice.
  await promote();
  client.destroy();
  await server.close();
});
