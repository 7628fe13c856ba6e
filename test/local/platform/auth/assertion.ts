import { createPublicKey, verify } from 'node:crypto';
import type { OAuthClient } from './oauth-client.ts';

const lifetimeSeconds = 300;
const futureToleranceSeconds = 60;
const keyTypes: Record<string, string> = { RS256: 'rsa', ES256: 'ec' };

type Verifier = { client: OAuthClient; tokenUrl: string; nowSeconds: number; usedIds: Map<string, number> };
type Claims = { iss?: unknown; sub?: unknown; aud?: unknown; jti?: unknown; iat?: unknown; exp?: unknown };

/** The client that a JWT claims to come from, before its signature is looked at. */
export function claimedClientId(jwt: string): string {
  return String(decoded(jwt.split('.')[1])?.iss ?? '');
}

/** Says what is wrong with a client's assertion; null if nothing is. An assertion is good once. */
export function faultInAssertion(jwt: string, verifier: Verifier): string | null {
  const fault =
    faultInSignature(jwt, verifier.client) ?? faultInClaims(decoded(jwt.split('.')[1]) ?? {}, verifier);
  if (fault !== null) return fault;
  const { jti, exp } = decoded(jwt.split('.')[1]) as { jti: string; exp: number };
  if (verifier.usedIds.has(jti)) return 'jti was used before';
  verifier.usedIds.set(jti, exp);
  return null;
}

function faultInSignature(jwt: string, { publicKeys }: OAuthClient): string | null {
  const [head = '', claims = '', signature = '', ...more] = jwt.split('.');
  const { alg, kid } = decoded(head) ?? {};
  if (more.length > 0 || typeof alg !== 'string' || !Object.hasOwn(keyTypes, alg))
    return 'alg must be RS256 or ES256';
  const jwk = publicKeys.find((one) => one.kid === kid);
  if (jwk === undefined) return 'kid names no published key';
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  if (key.asymmetricKeyType !== keyTypes[alg]) return 'alg does not suit the key';
  const signed = Buffer.from(`${head}.${claims}`);
  const good = verify(
    'sha256',
    signed,
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  return good ? null : 'the signature is wrong';
}

function faultInClaims({ iss, sub, aud, jti, iat, exp }: Claims, { client, tokenUrl, nowSeconds }: Verifier) {
  if (iss !== client.clientId || sub !== client.clientId) return 'iss and sub must be the client id';
  if (![aud].flat().includes(tokenUrl)) return 'aud must be the token URL';
  if (typeof jti !== 'string' || jti === '') return 'jti is missing';
  if (typeof iat !== 'number' || iat > nowSeconds + futureToleranceSeconds)
    return 'iat is missing or ahead of time';
  if (typeof exp !== 'number' || exp <= nowSeconds) return 'exp is missing or over';
  if (exp - iat > lifetimeSeconds) return `exp must be within ${lifetimeSeconds} seconds`;
  return null;
}

function decoded(part: string | undefined): Record<string, unknown> | null {
  try {
    return JSON.parse(Buffer.from(part ?? '', 'base64url').toString());
  } catch {
    return null;
  }
}
