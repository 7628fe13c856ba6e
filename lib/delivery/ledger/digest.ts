import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { errorName } from '../../runtime/aws/error.ts';

/**
 * A keyed digest of what a field is to become, which tells nobody without the key which of the few possible grades it is: 4 characters
 * that tell the key from others, and 22 of the digest. Undefined as long as the key cannot be read.
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
  let maker: Promise<DigestMaker | undefined> | undefined;
  let askAtMs = 0;
  const read = async (): Promise<DigestMaker | undefined> => {
    const abortSignal = AbortSignal.timeout(readTimeoutMs);
    try {
      const command = new GetSecretValueCommand({ SecretId: secret });
      const { SecretString = '' } = await client.send(command, { abortSignal });
      if (SecretString.length >= minKeyLength) return digestBy(SecretString);
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
      maker = read();
    }
    return (await maker)?.(parts);
  };
};

type DigestMaker = (parts: readonly string[]) => string;

/** Digests by one key. */
export const digestBy = (secret: string): DigestMaker => {
  const key = createSecretKey(secret, 'utf8');
  const tag = hmac(key, 'which key it is').slice(0, tagLength);
  return (parts) => `${tag}${hmac(key, JSON.stringify(parts)).slice(0, digestLength)}`;
};

/** As text at once: to cut bytes takes a third more time, of every message. */
const hmac = (key: KeyObject, text: string): string =>
  createHmac('sha256', key).update(text).digest('base64url');

const [tagLength, digestLength] = [4, 22];

/** Whether both are by the same key: else that they differ says nothing. */
export const haveOneKey = (one: string, other: string): boolean =>
  one.slice(0, tagLength) === other.slice(0, tagLength);
