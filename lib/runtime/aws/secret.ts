import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { unlessError } from './error.ts';

export type SecretVersion = {
  version: string;
  text: string;
  /** When it was made, if Secrets Manager has reported it. */
  createdMs?: number | undefined;
};

/** `stage`: default: the current one. */
type Which = { version?: string; stage?: 'AWSPENDING' | 'AWSPREVIOUS'; timeoutMs?: number | undefined };

/**
 * Reads a secret. `timeoutMs`: the client's own limits end with the headers of an answer, and a body that stops half-way would block all
 * messages.
 * @throws the SDK's error, whose text may hold the secret: report its name alone.
 */
export const readSecret = async (
  client: SecretsManagerClient,
  name: string,
  { version, stage, timeoutMs = 10_000 }: Which = {},
): Promise<SecretVersion> => {
  const get = new GetSecretValueCommand({ SecretId: name, VersionId: version, VersionStage: stage });
  const secret = await client.send(get, { abortSignal: AbortSignal.timeout(timeoutMs) });
  return {
    version: secret.VersionId ?? '',
    text: secret.SecretString ?? '',
    createdMs: secret.CreatedDate?.getTime(),
  };
};

/** The errors for a secret that does not exist, or is scheduled for deletion. */
export const missingSecret = /^(ResourceNotFound|InvalidRequest)Exception$/;

/** Undefined: there is none. */
export const readSecretIfAny = (
  ...given: Parameters<typeof readSecret>
): Promise<SecretVersion | undefined> => unlessError(missingSecret, () => readSecret(...given));
