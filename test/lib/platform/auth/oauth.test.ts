import { describe, expect, test } from 'vitest';
import { credentialSchema } from '../../../../lib/platform/auth/auth.ts';
import { expiryMs, oauthCredential } from '../../../../lib/platform/auth/oauth.ts';

const client = {
  type: 'oauth',
  grant: 'client_credentials',
  tokenUrl: 'https://auth.example.edu/token',
  clientId: 'relay',
  clientSecret: 's',
};
const { clientSecret, ...bare } = client;

describe('an OAuth secret', () => {
  test.each<[string, object]>([
    ['client credentials', client],
    ['a client secret in the form', { ...client, clientSecretIn: 'form', scopes: ['a:b:c', 'core:*:*'] }],
    ['a private key', { ...bare, privateKey: 'PEM', keyId: 'k' }],
    ['a private key as a JWK', { ...bare, privateKey: { kty: 'RSA' }, keyId: 'k' }],
    ['a refresh token', { ...client, grant: 'refresh_token', refreshToken: 'r' }],
    ['a server of this machine', { ...client, tokenUrl: 'http://127.0.0.1:8080/token' }],
    [
      'what token-refresh writes',
      {
        ...client,
        accessToken: 'ab.c-d_e~f+g/h==',
        obtainedAt: '2026-01-31T09:30:00.000Z',
        expiresAt: '2026-01-31T10:30:00.000Z',
        replaces: 'x',
        refused: { state: 'x', at: '2026-01-31T10:30:00.000Z', reason: 'invalid_grant' },
      },
    ],
  ])('may hold %s', (_, secret) => {
    expect(credentialSchema.safeParse(secret).success).toBe(true);
  });

  test.each<[string, object, string]>([
    ['no grant', { ...client, grant: undefined }, 'grant'],
    ['an unknown grant', { ...client, grant: 'password' }, 'grant'],
    ['no refresh token where that is the grant', { ...client, grant: 'refresh_token' }, 'refreshToken'],
    ['neither client secret nor key', bare, 'clientSecret'],
    ['both client secret and key', { ...client, privateKey: 'PEM', keyId: 'k' }, 'clientSecret'],
    ['a key without its id', { ...bare, privateKey: 'PEM' }, 'keyId'],
    [
      'a user name that looks like this machine',
      { ...client, tokenUrl: 'http://localhost:x@evil.example/' },
      'tokenUrl',
    ],
    ['a password in the token address', { ...client, tokenUrl: 'https://a:b@auth.example.edu/' }, 'tokenUrl'],
    ['a token address in clear', { ...client, tokenUrl: 'http://auth.example.edu/token' }, 'tokenUrl'],
    [
      'a token address that begins like this machine',
      { ...client, tokenUrl: 'http://127.0.0.1.example.com/' },
      'tokenUrl',
    ],
    [
      'an access token that would break out of its header',
      { ...client, accessToken: 'a\r\nX: y' },
      'accessToken',
    ],
    ['a scope that is two', { ...client, scopes: ['a:b:c d:e:f'] }, 'scopes'],
    ['a time that is none', { ...client, expiresAt: 'soon' }, 'expiresAt'],
    ['a misspelt field', { ...client, clientSecretIs: 'x' }, ''],
  ])('must not hold %s', (_, secret, field) => {
    const parsed = credentialSchema.safeParse(secret);
    expect(parsed.error?.issues.map(({ path }) => String(path[0] ?? ''))).toContain(field);
  });
});

test.each([
  ['that is not there, never', {}, 0],
  [
    'whose end is told, until then',
    { accessToken: 't', expiresAt: '2026-01-31T10:30:00.000Z' },
    Date.UTC(2026, 0, 31, 10, 30),
  ],
  ['whose end is not told, until it is refused', { accessToken: 't' }, Number.POSITIVE_INFINITY],
])('an access token %s can be used', (_, token, until) => {
  expect(expiryMs(oauthCredential.parse({ ...client, ...token }))).toBe(until);
});
