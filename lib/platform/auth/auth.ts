import * as z from 'zod';
import { safe, type Warn } from '../../message/safe-text.ts';
import type { CallAuthenticator, SigningUser } from '../client/authentication.ts';
import {
  isInvalidToken,
  isTimestampOutOfRange,
  type RefusedCall,
  type RefusedCredential,
  refusalText,
} from '../client/platform-error.ts';
import { idKeyCredential, signedQuery } from './id-key.ts';
import { expiryMs, oauthCredential } from './oauth.ts';

export const credentialSchema = z.discriminatedUnion('type', [idKeyCredential, oauthCredential]);

export type Credential = z.infer<typeof credentialSchema>;

/** The end of a credential's use, in milliseconds. Keys have none: they are used until they are refused. */
export const usableUntilMs = (credential: Credential): number =>
  credential.type === 'oauth' ? expiryMs(credential) : Number.POSITIVE_INFINITY;

export const isSameToPlatform = (one: Credential, other: Credential): boolean =>
  one.type === 'oauth' && other.type === 'oauth' && one.accessToken === other.accessToken;

/** `refuse`: the platform refused this version, so `read` looks for a newer one. Returns what to report, if there is a secret. */
export type Credentials = {
  read(actor: SigningUser): Promise<{ credential: Credential; version: string }>;
  refuse(actor: SigningUser, version: string): RefusedCredential | undefined;
};

/**
 * A clock is corrected by so much at most. A signature is for a method and a path, whatever the content: whoever can answer for the
 * platform would get signatures of any later time.
 */
export const maxSkewSeconds = 86_400;

/** Creates the Auth of one call. All calls of a container share the correction of the clock. */
export const createAuthenticator = (
  credentials: Credentials,
  nowMs: () => number = Date.now,
  warn: Warn = () => {},
) => {
  let skewSeconds = 0;
  return (actor: SigningUser): CallAuthenticator => {
    let usedSkewSeconds = 0;
    let usedVersion = '';
    return {
      authenticate: async (request) => {
        const { credential, version } = await credentials.read(actor);
        usedVersion = version;
        usedSkewSeconds = skewSeconds;
        if (credential.type === 'oauth')
          return { query: {}, headers: { authorization: `Bearer ${credential.accessToken ?? ''}` } };
        const timestampSeconds = Math.floor(nowMs() / 1000) + skewSeconds;
        return { query: signedQuery(request, credential, timestampSeconds), headers: {} };
      },
      correctAfter: (refused) => {
        if (isTimestampOutOfRange(refused)) {
          const skew = clockSkewIn(refused, nowMs()) ?? skewSeconds;
          if (Math.abs(skew) <= maxSkewSeconds) skewSeconds = skew;
          else
            warn(
              safe`the platform’s clock differs from ours by more than a day, so nothing is signed for its time: have its clock checked`,
              { seconds: skew },
            );
          return skewSeconds !== usedSkewSeconds;
        }
        if (!isInvalidToken(refused)) return false;
        return credentials.refuse(actor, usedVersion) ?? true;
      },
    };
  };
};

/**
 * How far the platform's clock is ahead of ours, in seconds. A refused timestamp contains it (`Timestamp out of range\r\n<server
 * epoch seconds>`, or with other whitespace, or none). Undefined if the refusal is another, or was cut off.
 */
export const clockSkewIn = (refused: RefusedCall, nowMs: number): number | undefined => {
  // A number that is cut off would set the clock wrong by decades.
  if (refused.cutOff || !isTimestampOutOfRange(refused)) return undefined;
  const serverSeconds = /timestamp\s+out\s+of\s+range\s*(\d{1,12})(?![\d…])/i.exec(refusalText(refused))?.[1];
  return serverSeconds === undefined ? undefined : Number(serverSeconds) - Math.floor(nowMs / 1000);
};
