import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { digesterWith } from '../../delivery/ledger/digest.ts';
import { readSecret, readSecretIfAny } from '../../runtime/aws/secret.ts';

/**
 * Makes digests of a value by the ledger's key, and by the previous one: the ledger still holds digests by a key that was rotated.
 * @throws if the current key cannot be read.
 */
export const readDigestMakers = async (
  client: SecretsManagerClient,
  secret: string,
): Promise<(resource: string, field: string, value: string) => string[]> => {
  const keys = await Promise.all([
    readSecret(client, secret),
    readSecretIfAny(client, secret, { stage: 'AWSPREVIOUS' }),
  ]);
  const makers = keys.flatMap((key) => (key?.text ? digesterWith(key.text) : []));
  return (resource, field, value) => makers.map((digest) => digest([resource, field, value]));
};
