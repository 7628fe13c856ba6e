import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { ownText, safe, type Warn } from '../../message/safe-text.ts';
import { errorName } from '../../runtime/aws/error.ts';
import { readSecret } from '../../runtime/aws/secret.ts';

/**
 * A keyed digest of a field's intended value. Without the key, it does not show which of the few possible grades it is. 4
 * characters identify the key, 22 are the digest. Undefined while the key cannot be read.
 */
export type Digester = (parts: readonly string[]) => Promise<string | undefined>;

type Options = {
  client: SecretsManagerClient;
  /** Name or ARN of the secret; its text is the key. */
  secret: string;
  warn: Warn;
  nowMs?: () => number;
};

const timeoutMs = 3_000;
const minKeyLength = 32;
/** After a failure the key is read again after this time. Until then, messages continue without digests. */
const askAgainMs = 60_000;

/** Reads the key with the first message of a container and keeps it for the container's life. */
export const createDigester = ({ client, secret, warn, nowMs = Date.now }: Options): Digester => {
  let maker: Promise<DigesterFactory | undefined> | undefined;
  let askAtMs = 0;
  const read = async (): Promise<DigesterFactory | undefined> => {
    try {
      const { text } = await readSecret(client, secret, { timeoutMs });
      if (text.length >= minKeyLength) return digesterWith(text);
      warn(safe`the key of the ledger must have at least ${minKeyLength} characters`, {
        secret: ownText(secret),
      });
    } catch (error) {
      warn(
        safe`the key of the ledger could not be read: messages about one resource wait longer for each other`,
        {
          secret: ownText(secret),
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

type DigesterFactory = (parts: readonly string[]) => string;

export const digesterWith = (secret: string): DigesterFactory => {
  const key = createSecretKey(secret, 'utf8');
  const tag = hmac(key, 'which key it is').slice(0, tagLength);
  return (parts) => `${tag}${hmac(key, JSON.stringify(parts)).slice(0, digestLength)}`;
};

/** As text at once: cutting bytes takes a third more time for every message. */
const hmac = (key: KeyObject, text: string): string =>
  createHmac('sha256', key).update(text).digest('base64url');

const [tagLength, digestLength] = [4, 22];

/** Digests by different keys cannot be compared. */
export const haveSameKey = (one: string, other: string): boolean =>
  one.slice(0, tagLength) === other.slice(0, tagLength);
