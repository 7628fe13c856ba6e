import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { digestBy } from '../../delivery/ledger/digest.ts';
import { unlessError } from '../../runtime/aws/error.ts';

/**
 * Makes digests of a value by the ledger's key, and by the previous one: the ledger still holds digests by a key that was rotated.
 * @throws if the current key cannot be read.
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
