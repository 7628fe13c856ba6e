import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { digestBy } from '../../delivery/ledger/digest.ts';
import { unlessError } from '../../runtime/aws/error.ts';

/**
 * Digests of a value by the ledger's key, and by the one before it: a key that was rotated has digested what the ledger still holds.
 * @throws where the current key cannot be read.
 */
export const readDigestMakers = async (
  client: SecretsManagerClient,
  SecretId: string,
): Promise<(resource: string, field: string, value: string) => string[]> => {
  const read = async (VersionStage: string): Promise<string | undefined> =>
    (await client.send(new GetSecretValueCommand({ SecretId, VersionStage }))).SecretString;
  const keys = await Promise.all([
    read('AWSCURRENT'),
    unlessError(/^ResourceNotFoundException$/, () => read('AWSPREVIOUS')),
  ]);
  const makers = keys.flatMap((key) => (key ? digestBy(key) : []));
  return (resource, field, value) => makers.map((digest) => digest([resource, field, value]));
};
