import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import * as z from 'zod';
import { id, record } from '../http/bind.ts';
import { same } from './signing.ts';

const publicKey = record
  .refine((jwk) => typeof jwk.kid === 'string', 'kid must be a string')
  .refine((jwk) => !('d' in jwk) && isUsable(jwk), 'it must be a public RSA or P-256 key')
  .transform((jwk) => jwk as JsonWebKey & { kid: string });

function isUsable(jwk: JsonWebKey): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey({ key: jwk, format: 'jwk' });
    return asymmetricKeyType === 'rsa' || asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

const grants = ['client_credentials', 'refresh_token'] as const;

export const clientShape = z.strictObject({
  clientId: z.string(),
  clientSecret: z.string().nullable().default(null),
  publicKeys: z.array(publicKey).default([]),
  userId: id,
  scopes: z.array(z.string()).default(['*:*:*']),
  grants: z.array(z.enum(grants)).default([...grants]),
  accessTokenSeconds: z.number().default(3600),
});

/** An application that may ask for tokens; what it does with them is done by its user. */
export type OAuthClient = z.output<typeof clientShape>;

/** A granted `core:*:*` covers whatever is required of `core`. */
export function scopesCover(granted: string[], required: string): boolean {
  const wanted = required.split(':');
  return granted.some((scope) => {
    const parts = scope.split(':');
    return (
      parts.length === wanted.length && parts.every((part, index) => part === '*' || part === wanted[index])
    );
  });
}

/** Thrown to refuse a token request; the body is OAuth's own form, no problem document. */
export class TokenRefusal extends Error {
  readonly status: number;
  readonly body: { error: string; error_description: string };

  constructor(error: string, description: string, status = 400) {
    super(error);
    this.body = { error, error_description: description };
    this.status = status;
  }
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

type Verifier = {
  clients: Map<string, OAuthClient>;
  tokenUrl: string;
  nowSeconds: number;
  usedIds: Map<string, number>;
};

/** The client that a token request proves to come from, in exactly one way: Basic, form or private_key_jwt. */
export function authenticateClient(
  form: Map<string, string>,
  authorization: string | undefined,
  verifier: Verifier,
): OAuthClient {
  const ways = [authorization, form.get('client_secret'), form.get('client_assertion')];
  if (ways.filter((way) => way !== undefined).length > 1) {
    throw new TokenRefusal('invalid_request', 'the client must be authenticated in one way only');
  }
  if (form.has('client_assertion')) return byAssertion(form, verifier);
  if (authorization !== undefined) return bySecret(basicCredentials(authorization), verifier);
  const [clientId, secret] = [form.get('client_id'), form.get('client_secret')];
  if (clientId === undefined || secret === undefined) throw refused('the client is not authenticated');
  return bySecret({ clientId, secret }, verifier);
}

function byAssertion(form: Map<string, string>, { clients, ...rest }: Verifier): OAuthClient {
  if (form.get('client_assertion_type') !== assertionType) {
    throw new TokenRefusal('invalid_request', `client_assertion_type must be ${assertionType}`);
  }
  const assertion = form.get('client_assertion') ?? '';
  const client = clients.get(claimedClientId(assertion));
  if (client === undefined) throw refused('iss names no client');
  if ((form.get('client_id') ?? client.clientId) !== client.clientId) throw refused('client_id must be iss');
  const fault = faultInAssertion(assertion, { client, ...rest });
  if (fault !== null) throw refused(fault);
  return client;
}

function bySecret(
  { clientId, secret }: { clientId: string; secret: string },
  { clients }: Verifier,
): OAuthClient {
  const client = clients.get(clientId);
  if (client?.clientSecret == null || !same(secret, client.clientSecret)) {
    throw refused('the client or its secret is wrong');
  }
  return client;
}

function basicCredentials(authorization: string) {
  const [, encoded] = /^Basic ([A-Za-z0-9+/]+=*)$/i.exec(authorization) ?? [];
  const [clientId, secret] = Buffer.from(encoded ?? '', 'base64')
    .toString()
    .split(/:(.*)/s);
  if (clientId === undefined || secret === undefined) throw refused('the Authorization header is malformed');
  // OAuth has both form-encoded before they are joined, so that an id may hold a colon.
  return { clientId: formDecoded(clientId), secret: formDecoded(secret) };
}

const formDecoded = (value: string) => new URLSearchParams(`v=${value}`).get('v') ?? '';

const refused = (description: string) => new TokenRefusal('invalid_client', description, 401);

const lifetimeSeconds = 300;
const futureToleranceSeconds = 60;
const keyTypes: Record<string, string> = { RS256: 'rsa', ES256: 'ec' };

type ClientVerifier = Omit<Verifier, 'clients'> & { client: OAuthClient };
type Claims = Record<string, unknown>;

/** The client that a JWT claims to come from, before its signature is looked at. */
function claimedClientId(jwt: string): string {
  return String(decoded(jwt.split('.')[1])?.iss ?? '');
}

/** Says what is wrong with a client's assertion; null if nothing is. An assertion is good once. */
function faultInAssertion(jwt: string, verifier: ClientVerifier): string | null {
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

function faultInClaims(
  { iss, sub, aud, jti, iat, exp }: Claims,
  { client, tokenUrl, nowSeconds }: ClientVerifier,
) {
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
