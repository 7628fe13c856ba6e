import { generateKeyPairSync, type KeyObject, randomUUID, sign as signWith } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { jsonOf, platformForTests } from '../fixture.ts';

const platform = platformForTests();
const whoami = '/svc/api/lp/1.52/users/whoami';
const basic = `Basic ${Buffer.from('local-client:local-client-secret').toString('base64')}`;

const tokenUrl = async () => (await overview()).tokenUrl as string;
const overview = async () => (await platform.control('GET oauth')) as Record<string, unknown>;

async function ask(form: Record<string, string>, headers: Record<string, string> = {}) {
  const response = await fetch(await tokenUrl(), {
    method: 'POST',
    body: new URLSearchParams(form),
    headers,
  });
  const answer = await jsonOf<Partial<Record<string, string>>>(response);
  return Object.assign(answer, { status: response.status });
}

async function get(path: string, accessToken: string | undefined) {
  return fetch(`${platform.url()}${path}`, { headers: { Authorization: `Bearer ${accessToken}` } });
}

const clientCredentials = (scope?: string) =>
  ask(
    { grant_type: 'client_credentials', ...(scope === undefined ? {} : { scope }) },
    { Authorization: basic },
  );

describe('client credentials', () => {
  test.each([
    ['invalid_client', 401, { client_id: 'local-client', client_secret: 'wrong' }, {}],
    ['unsupported_grant_type', 400, { grant_type: 'password' }, { Authorization: basic }],
    ['invalid_scope', 400, { scope: 'one' }, { Authorization: basic }],
  ])('%s (%i) for %o %o', async (error, status, form, headers) => {
    const answer = await ask(
      { grant_type: 'client_credentials', ...form },
      headers as Record<string, string>,
    );
    expect(answer).toMatchObject({ error, status });
    expect(await overview()).toMatchObject({
      tokenRequests: { total: 1, issued: 0, refused: 1 },
      accessTokens: 0,
    });
  });
});

describe('refresh tokens', () => {
  const refresh = (refresh_token: unknown) =>
    ask({ grant_type: 'refresh_token', refresh_token: String(refresh_token) }, { Authorization: basic });
  const authorize = async (grant = {}) => {
    const answer = await platform.control('POST oauth/refreshTokens', {
      clientId: 'local-client',
      ...grant,
    });
    return (answer as { refreshToken: string }).refreshToken;
  };

  test('are good once; the next pair is another', async () => {
    const first = await authorize({ userId: 200, scopes: ['grades:*:*'] });
    const second = await refresh(first);
    expect(second).toMatchObject({ status: 200, scope: 'grades:*:*', expires_in: 3600 });
    expect(await jsonOf(await get(whoami, second.access_token))).toMatchObject({ Identifier: '200' });
    expect(await refresh(first)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await refresh(second.refresh_token)).toMatchObject({ status: 200 });
    expect(await overview()).toMatchObject({
      tokenRequests: { total: 3, issued: 2, refused: 1 },
      refreshTokens: 1,
    });
  });

  test('are spent even if the answer is lost', async () => {
    const token = await authorize();
    const then = { reset: 'after' };
    await platform.control('POST faults', { match: { path: 'token' }, then });
    await expect(refresh(token)).rejects.toThrow();
    expect(await refresh(token)).toMatchObject({ error: 'invalid_grant' });
  });
});

describe('private_key_jwt', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const published = (key: KeyObject, kid: string) => ({ ...key.export({ format: 'jwk' }), kid });

  beforeEach(() =>
    platform.control('POST oauth/clients', {
      clientId: 'keys',
      userId: 200,
      grants: ['client_credentials'],
      publicKeys: [published(rsa.publicKey, 'r'), published(ec.publicKey, 'e')],
    }),
  );

  async function assertion(options: { alg?: string; kid?: string; key?: KeyObject; claims?: object } = {}) {
    const { alg = 'ES256', kid = 'e', key = ec.privateKey } = options;
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: 'keys',
      sub: 'keys',
      aud: await tokenUrl(),
      jti: randomUUID(),
      iat: now,
      exp: now + 300,
    };
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${part({ alg, kid })}.${part({ ...claims, ...options.claims })}`;
    const signature = signWith('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  }
  const present = (client_assertion: string, more = {}) =>
    ask({
      grant_type: 'client_credentials',
      client_assertion,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      ...more,
    });

  test('an assertion is good once', async () => {
    const one = await assertion();
    expect(await present(one)).toMatchObject({ status: 200 });
    expect(await present(one)).toMatchObject({ status: 401, error: 'invalid_client' });
  });

  const now = Math.floor(Date.now() / 1000);
  test.each([
    ['another key', { key: other.privateKey }],
    ['an unknown key id', { kid: 'x' }],
    ['an algorithm that is not the key’s', { alg: 'RS256' }],
    ['no algorithm', { alg: 'none' }],
    ['another issuer', { claims: { iss: 'local-client' } }],
    ['another subject', { claims: { sub: 'local-client' } }],
    ['another audience', { claims: { aud: 'https://elsewhere.example/' } }],
    ['no jti', { claims: { jti: undefined } }],
    ['no iat', { claims: { iat: undefined } }],
    ['an end too late', { claims: { exp: now + 3600 } }],
    ['an end gone by', { claims: { iat: now - 200, exp: now - 1 } }],
    ['a future issue', { claims: { iat: now + 200, exp: now + 300 } }],
  ])('%s is refused', async (_, options) => {
    expect(await present(await assertion(options))).toMatchObject({ status: 401, error: 'invalid_client' });
  });
});

describe('calls with a token', () => {
  const topicFile = '/svc/api/le/1.82/2001/content/topics/8101/file';

  test('a missing scope is named', async () => {
    const { access_token } = await clientCredentials('grades:gradevalues:read');
    const response = await get(topicFile, access_token);
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({
      type: `${platform.url()}/docs/res/apiprop.html#not-authorized`,
      title: 'Not Authorized',
      status: 403,
      detail: 'Insufficient scope to call API. Required: content:modules:read',
    });
  });
});
