import * as z from 'zod';
import { isInvalidToken, isTimestampOutOfRange, type RefusedCall } from '../core/error.ts';
import type { Proof } from './auth-parameters.ts';
import { idKeyCredential, signedQuery, skewToldBy } from './id-key.ts';
import { bearerHeaders, expiryMs, oauthCredential } from './oauth.ts';

/** Proves one call; `learn` is told its refusal and answers: the next proof will differ, send once more. */
export type Auth = {
  prove(request: { method: string; path: string }): Promise<Proof>;
  learn(refused: RefusedCall): boolean;
};

/** What a secret holds, told apart by `type`. */
export const credentialSchema = z.discriminatedUnion('type', [idKeyCredential, oauthCredential]);

export type Credential = z.infer<typeof credentialSchema>;

/** Until when a credential is worth being sent, in milliseconds; keys are until they are refused. */
export const usableUntilMs = (credential: Credential): number =>
  credential.type === 'oauth' ? expiryMs(credential) : Number.POSITIVE_INFINITY;

/** Whether the platform sees no difference between two: a secret may change and keep its access token. */
export const provesAlike = (one: Credential, other: Credential): boolean =>
  one.type === 'oauth' && other.type === 'oauth' && one.accessToken === other.accessToken;

/** Whose credential signs: a platform user's id, or undefined for the service's own. */
export type Actor = string | undefined;

/** Where credentials come from. `refuse` says that the platform does not take this version; `read` then looks for a newer one. */
export type Credentials = {
  read(actor: Actor): Promise<{ credential: Credential; version: string }>;
  refuse(actor: Actor, version: string): void;
};

/** Makes the Auth of one call. The platform's clock is learnt once and serves the whole container. */
export const createAuthenticator = (credentials: Credentials, nowMs: () => number = Date.now) => {
  let skewSeconds = 0;
  return (actor: Actor): Auth => {
    let usedSkewSeconds = 0;
    let usedVersion = '';
    return {
      prove: async (request) => {
        const { credential, version } = await credentials.read(actor);
        usedVersion = version;
        usedSkewSeconds = skewSeconds;
        if (credential.type === 'oauth') return { query: {}, headers: bearerHeaders(credential) };
        const timestampSeconds = Math.floor(nowMs() / 1000) + skewSeconds;
        return { query: signedQuery(request, credential, timestampSeconds), headers: {} };
      },
      learn: (refused) => {
        if (isTimestampOutOfRange(refused)) {
          // Of a number that is cut off, the rest would teach a clock that is decades wrong.
          const told = refused.cutOff ? undefined : skewToldBy(textOf(refused), nowMs());
          skewSeconds = told ?? skewSeconds;
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

const textOf = ({ title = '', detail = '' }: RefusedCall): string => `${title}\n${detail}`;
