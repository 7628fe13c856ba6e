import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { errorName } from '../aws/error.ts';

/**
 * A keyed digest of what a field is to become: 22 characters that tell nobody without the key which of the few possible grades
 * it is. Undefined as long as the key cannot be read.
 */
export type Digest = (parts: readonly string[]) => Promise<string | undefined>;

type Options = {
  client: SecretsManagerClient;
  /** Name or ARN of the secret; what it holds, as text, is the key. */
  secret: string;
  warn(text: string, facts: Record<string, string>): void;
  nowMs?: () => number;
};

const readTimeoutMs = 3_000;
const minKeyLength = 32;
/** After a failure the key is asked for again so much later: messages go on without it. */
const askAgainMs = 60_000;

/** The key is read with the first message of a container and kept for its life. */
export const createDigest = ({ client, secret, warn, nowMs = Date.now }: Options): Digest => {
  let key: Promise<KeyObject | undefined> | undefined;
  let askAtMs = 0;
  const read = async (): Promise<KeyObject | undefined> => {
    const abortSignal = AbortSignal.timeout(readTimeoutMs);
    try {
      const command = new GetSecretValueCommand({ SecretId: secret });
      const { SecretString = '' } = await client.send(command, { abortSignal });
      if (SecretString.length >= minKeyLength) return createSecretKey(SecretString, 'utf8');
      warn(`the key of the ledger must have at least ${minKeyLength} characters`, { secret });
    } catch (error) {
      warn(
        'the key of the ledger could not be read: messages about one resource wait longer for each other',
        {
          secret,
          error: errorName(error),
        },
      );
    }
    askAtMs = nowMs() + askAgainMs;
    return undefined;
  };
  return async (parts) => {
    if (nowMs() >= askAtMs) {
      askAtMs = Number.POSITIVE_INFINITY;
      key = read();
    }
    const known = await key;
    if (known === undefined) return undefined;
    const digest = createHmac('sha256', known).update(JSON.stringify(parts)).digest();
    return digest.subarray(0, 16).toString('base64url');
  };
};
