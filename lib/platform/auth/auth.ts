import * as z from 'zod';
import { isInvalidToken, isTimestampOutOfRange, type RefusedCall } from '../core/platform-error.ts';
import type { AuthParameters } from './auth-parameters.ts';
import { clockSkewIn } from './clock-skew.ts';
import { idKeyCredential, signedQuery } from './id-key.ts';
import { bearerHeaders, expiryMs, oauthCredential } from './oauth.ts';

/** Authenticates one call. */
export type Auth = {
  authenticate(request: { method: string; path: string }): Promise<AuthParameters>;
  /** Corrects the clock, or drops the credential, after a refusal. True: send the call once more, with other parameters. */
  correctAfter(refused: RefusedCall): boolean;
};

/** What a secret holds; `type` tells which of the two. */
export const credentialSchema = z.discriminatedUnion('type', [idKeyCredential, oauthCredential]);

export type Credential = z.infer<typeof credentialSchema>;

/** Until when a credential can be used, in milliseconds. Keys have no end: they serve until they are refused. */
export const usableUntilMs = (credential: Credential): number =>
  credential.type === 'oauth' ? expiryMs(credential) : Number.POSITIVE_INFINITY;

/** Whether two credentials are the same to the platform: a secret may change and keep its access token. */
export const isSameToPlatform = (one: Credential, other: Credential): boolean =>
  one.type === 'oauth' && other.type === 'oauth' && one.accessToken === other.accessToken;

/** Whose credential signs: a platform user's id, or undefined for the service's own. */
export type Actor = string | undefined;

/** Where credentials come from. `refuse` reports that the platform refused this version; `read` then looks for a newer one. */
export type Credentials = {
  read(actor: Actor): Promise<{ credential: Credential; version: string }>;
  refuse(actor: Actor, version: string): void;
};

/** Makes the Auth of one call. All calls of a container share the correction of the clock. */
export const createAuthenticator = (credentials: Credentials, nowMs: () => number = Date.now) => {
  let skewSeconds = 0;
  return (actor: Actor): Auth => {
    let usedSkewSeconds = 0;
    let usedVersion = '';
    return {
      authenticate: async (request) => {
        const { credential, version } = await credentials.read(actor);
        usedVersion = version;
        usedSkewSeconds = skewSeconds;
        if (credential.type === 'oauth') return { query: {}, headers: bearerHeaders(credential) };
        const timestampSeconds = Math.floor(nowMs() / 1000) + skewSeconds;
        return { query: signedQuery(request, credential, timestampSeconds), headers: {} };
      },
      correctAfter: (refused) => {
        if (isTimestampOutOfRange(refused)) {
          skewSeconds = clockSkewIn(refused, nowMs()) ?? skewSeconds;
          return skewSeconds !== usedSkewSeconds;
        }
        if (!isInvalidToken(refused)) return false;
        credentials.refuse(actor, usedVersion);
        return true;
      },
    };
  };
};

export type Authenticator = ReturnType<typeof createAuthenticator>;
