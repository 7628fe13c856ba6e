import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { TokenError } from '../../../../lib/platform/auth/client-authentication.ts';
import { type OAuthCredential, oauthCredential } from '../../../../lib/platform/auth/oauth.ts';
import { requestTokens } from '../../../../lib/platform/auth/token-request.ts';
import { whoAmI } from '../../../../lib/platform/resources/users.ts';
import { waitLimitMs } from '../../../limits.ts';
import { localPlatform } from '../local-client.ts';
import { type Arrived, answering, nobody, raw } from '../servers.ts';

const local = localPlatform();
const options = () => ({ signal: AbortSignal.timeout(waitLimitMs), timeoutMs: waitLimitMs });

const credentialOf = (given: Partial<OAuthCredential>): OAuthCredential =>
  oauthCredential.parse({
    type: 'oauth',
    grant: 'client_credentials',
    tokenUrl: local.tokenUrl(),
    clientId: 'local-client',
    ...(given.privateKey ? {} : { clientSecret: 'local-client-secret' }),
    ...given,
  });

/** The identifier of the user that a token stands for. */
const userOf = async (accessToken: string): Promise<string> => {
  const { platform } = local.as({ ...credentialOf({}), accessToken });
  return (await whoAmI(platform)).Identifier;
};

const errorOf = async (credential: OAuthCredential, given = options()): Promise<TokenError> => {
  const error = await requestTokens(credential, given).then(
    () => new Error('tokens were given'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof TokenError) return error;
  throw error;
};

describe('client credentials', () => {
  test.each(['basic', 'form'] as const)(
    'with a client secret by %s bring a token of the client’s user',
    async (how) => {
      const tokens = await requestTokens(credentialOf({ clientSecretIn: how }), options());
      expect(tokens.refreshToken).toBeUndefined();
      expect(await userOf(tokens.accessToken)).toBe('100');
      expect(Date.parse(tokens.expiresAt) - Date.parse(tokens.obtainedAt)).toBe(3_600_000);
    },
  );

  test.each(['basic', 'form'] as const)('may hold any character, sent by %s', async (clientSecretIn) => {
    const odd = { clientId: 'a:b c+ü', clientSecret: 'p%:&=+ ß"' };
    await local.control('POST oauth/clients', { ...odd, userId: 200 });
    const { accessToken } = await requestTokens(credentialOf({ ...odd, clientSecretIn }), options());
    expect(await userOf(accessToken)).toBe('200');
  });

  const keys = {
    RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  };
  test.each([
    ['RS256', 'pem'],
    ['RS256', 'jwk'],
    ['ES256', 'pem'],
    ['ES256', 'jwk'],
  ] as const)('with a private key for %s, as %s, bring a token', async (algorithm, form) => {
    const { publicKey, privateKey } = keys[algorithm];
    const kid = `key-of-${algorithm}`;
    const publicKeys = [{ ...publicKey.export({ format: 'jwk' }), kid }];
    await local.control('POST oauth/clients', { clientId: 'signer', publicKeys, userId: 200 });
    const given =
      form === 'pem'
        ? privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
        : { ...privateKey.export({ format: 'jwk' }) };
    const credential = credentialOf({ clientId: 'signer', privateKey: given, keyId: kid });
    const { accessToken } = await requestTokens(credential, options());
    expect(await userOf(accessToken)).toBe('200');
    // Each assertion is good once: the next is another.
    expect((await requestTokens(credential, options())).accessToken).not.toBe(accessToken);
  });

  test('ask for the scopes that are given, and for none where none are', async () => {
    const { url, requests } = await answering(() => ({ body: '{"access_token":"t"}' }));
    await requestTokens(credentialOf({ tokenUrl: url, scopes: ['a:b:c', 'd:e:*'] }), options());
    await requestTokens(credentialOf({ tokenUrl: url }), options());
    expect(requests.map(({ body }) => Object.fromEntries(new URLSearchParams(body)))).toEqual([
      { grant_type: 'client_credentials', scope: 'a:b:c d:e:*' },
      { grant_type: 'client_credentials' },
    ]);
  });
});

test('a refresh token brings a new pair, once', async () => {
  const { refreshToken } = await local.control<{ refreshToken: string }>('POST oauth/refreshTokens', {
    clientId: 'local-client',
    userId: 301,
  });
  const credential = credentialOf({ grant: 'refresh_token', refreshToken });
  const tokens = await requestTokens(credential, options());
  expect(await userOf(tokens.accessToken)).toBe('301');
  expect(tokens.refreshToken).not.toBe(refreshToken);
  expect(await errorOf(credential)).toMatchObject({
    cure: 'authorize',
    message: 'the token endpoint answered 400 invalid_grant',
  });
  const next = await requestTokens(
    credentialOf({ grant: 'refresh_token', refreshToken: tokens.refreshToken }),
    options(),
  );
  expect(await userOf(next.accessToken)).toBe('301');
});

describe('an answer with tokens is taken, as a refresh token that is spent cannot be sent again,', () => {
  const pair = { access_token: 't-1', refresh_token: 'r-2', expires_in: 60 };
  const taken = { accessToken: 't-1', refreshToken: 'r-2' };
  const credentialAt = (tokenUrl: string) =>
    credentialOf({ tokenUrl, grant: 'refresh_token', refreshToken: 'r-1' });

  test.each<[string, object, object, number?]>([
    ['with a refresh token of null', { refresh_token: null }, { refreshToken: undefined }],
    ['with an empty refresh token', { refresh_token: '' }, { refreshToken: undefined }],
    ['with a refresh token of another type', { refresh_token: 7 }, { refreshToken: undefined }],
    ['with an access token of other signs', { access_token: 'a|b:c' }, { accessToken: 'a|b:c' }],
    ['with a type in capitals and unknown fields', { token_type: 'BEARER', id: 1 }, {}],
    ['without a lifetime', { expires_in: undefined }, {}, 3_600],
    ['with a lifetime as text', { expires_in: '600' }, {}, 600],
    ['with a lifetime that is none', { expires_in: null }, {}, 3_600],
    ['with a lifetime beyond all dates', { expires_in: 2 ** 63 }, {}, 315_360_000],
  ])('%s', async (_, more, expected, seconds = 60) => {
    const { url } = await answering(() => ({ body: JSON.stringify({ ...pair, ...more }) }));
    const { obtainedAt, expiresAt, ...tokens } = await requestTokens(credentialAt(url), options());
    expect({ refreshToken: undefined, ...tokens }).toEqual({ ...taken, ...expected });
    expect(Date.parse(expiresAt) - Date.parse(obtainedAt)).toBe(seconds * 1_000);
  });

  test.each<[number, Record<string, string>]>([
    [200, { 'content-type': 'text/html; charset=utf-8' }],
    [200, { 'content-type': '', 'x-odd': '\u00fc\u00ff' }],
    ...[201, 203, 205, 206].map((status): [number, Record<string, string>] => [status, {}]),
  ])('with status %i and %j', async (status, headers) => {
    const { url } = await answering(() => ({ status, headers, body: `\uFEFF${JSON.stringify(pair)}` }));
    expect(await requestTokens(credentialAt(url), options())).toMatchObject(taken);
  });

  test('though its connection ends before the length that it promised', async () => {
    const body = JSON.stringify(pair);
    const { url } = await raw((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length + 9}\r\n\r\n${body}`),
    );
    expect(await requestTokens(credentialAt(`${url}/`), options())).toMatchObject(taken);
  });
});

describe('an answer without tokens', () => {
  const oauthError = (error: string) => JSON.stringify({ error, error_description: 'of a secret-token' });
  test.each<[number, string, Partial<TokenError>, Record<string, string>?]>([
    [400, oauthError('invalid_client'), { cure: 'correct' }],
    [401, oauthError('invalid_client'), { cure: 'correct' }],
    [400, oauthError('invalid_scope'), { cure: 'correct' }],
    [400, oauthError('unauthorized_client'), { cure: 'correct' }],
    // Only a refresh token can be spent.
    [400, oauthError('invalid_grant'), { cure: 'correct' }],
    [404, '<html>Not here</html>', { cure: 'correct' }],
    [302, '', { cure: 'correct' }, { location: 'https://elsewhere.example.com/token' }],
    [400, oauthError('temporarily_unavailable'), { cure: 'wait' }],
    [429, '', { cure: 'wait', quietSeconds: 17 }, { 'retry-after': '17' }],
    [429, '', { cure: 'wait', quietSeconds: 60 }],
    [503, 'down', { cure: 'wait', quietSeconds: 60 }],
    [500, oauthError('server_error'), { cure: 'wait', quietSeconds: undefined }],
    [502, '', { cure: 'wait' }],
    [200, '', { cure: 'wait' }],
    [200, oauthError('invalid_client'), { cure: 'correct' }],
    [200, oauthError('temporarily_unavailable'), { cure: 'wait' }],
    [200, '{"access_token":"a b"}', { cure: 'wait' }],
    [200, '{"access_token":"ab', { cure: 'wait' }],
    [200, '{"access_token":""}', { cure: 'wait' }],
    [200, '<html>Welcome</html>', { cure: 'wait' }],
  ])('%i %s is told as what it needs', async (status, body, expected, headers = {}) => {
    const { url, requests } = await answering(() => ({ status, body, headers }));
    const error = await errorOf(credentialOf({ tokenUrl: `${url}/token` }));
    expect(error).toMatchObject(expected);
    expect(error.message).not.toContain('secret');
    expect(requests).toHaveLength(1);
  });

  test('that comes as a success and refuses the refresh token calls a person', async () => {
    const { url } = await answering(() => ({ body: oauthError('invalid_grant') }));
    const credential = credentialOf({ tokenUrl: url, grant: 'refresh_token', refreshToken: 'r-1' });
    expect(await errorOf(credential)).toMatchObject({ cure: 'authorize' });
  });

  test.each<[string, (secrets: { clientSecret: string; refreshToken: string }) => string]>([
    ['the refresh token', ({ refreshToken }) => refreshToken],
    ['a piece of it', ({ refreshToken }) => `at_${refreshToken.slice(3, -3).toUpperCase()}`],
    ['the client secret', ({ clientSecret }) => clientSecret],
    ['what may be the assertion', () => 'eyJhbGciOiJSUzI1NiJ9.eyJqdGkiOiJ'],
  ])('tells no error that repeats %s', async (_, echo) => {
    const secrets = { clientSecret: 'psst-in-words', refreshToken: 'single-use-and-without-digits' };
    const { url } = await answering(() => ({ status: 400, body: JSON.stringify({ error: echo(secrets) }) }));
    const error = await errorOf(credentialOf({ tokenUrl: url, grant: 'refresh_token', ...secrets }));
    expect(error).toMatchObject({ cure: 'correct', message: 'the token endpoint answered 400' });
  });

  test.each([
    ['nobody accepts the connection', nobody],
    ['the connection is cut', async () => (await raw((socket) => socket.resetAndDestroy())).url],
    ['nothing is said', async () => (await raw(() => {})).url],
    [
      'half is said',
      async () =>
        (await raw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"acc'))).url,
    ],
  ])('is waited for where %s', async (_, url) => {
    const given = { signal: AbortSignal.timeout(waitLimitMs), timeoutMs: 1_000 };
    expect((await errorOf(credentialOf({ tokenUrl: await url() }), given)).cure).toBe('wait');
  });

  test('is given up with the run', async () => {
    const { url } = await raw(() => {});
    const given = { signal: AbortSignal.timeout(100), timeoutMs: 60_000 };
    expect((await errorOf(credentialOf({ tokenUrl: url }), given)).cure).toBe('wait');
  });
});

describe('a private key', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'sec1', format: 'pem' }).toString();

  test('signs for the server’s clock where it tells another one, and the request is sent once more', async () => {
    const aheadSeconds = 7_200;
    const { url, requests } = await answering((_, index) => ({
      status: index === 0 ? 401 : 200,
      headers: { date: new Date(Date.now() + aheadSeconds * 1_000).toUTCString() },
      body: index === 0 ? '{"error":"invalid_client"}' : '{"access_token":"t"}',
    }));
    const credential = credentialOf({ tokenUrl: `${url}/token`, privateKey: pem, keyId: 'k' });
    expect((await requestTokens(credential, options())).accessToken).toBe('t');
    const claims = requests.map(claimsOf);
    expect(claims[1]!.iat - claims[0]!.iat).toBeGreaterThan(aheadSeconds - 10);
    expect(claims[1]!.jti).not.toBe(claims[0]!.jti);
    for (const { aud, iss, sub, iat, exp } of claims) {
      expect({ aud, iss, sub }).toEqual({ aud: `${url}/token`, iss: 'local-client', sub: 'local-client' });
      expect(exp - iat).toBeLessThanOrEqual(300);
    }
  });

  test.each([
    ['the clocks agree', 0],
    ['the server’s clock is more than a day ahead: an assertion would hold for whoever has it then', 86_500],
    ['it is more than a day behind', -86_500],
  ])('is refused once where %s', async (_, aheadSeconds) => {
    const { url, requests } = await answering(() => ({
      status: 401,
      headers: { date: new Date(Date.now() + aheadSeconds * 1_000).toUTCString() },
      body: '{"error":"invalid_client"}',
    }));
    expect((await errorOf(credentialOf({ tokenUrl: url, privateKey: pem, keyId: 'k' }))).cure).toBe(
      'correct',
    );
    expect(requests).toHaveLength(1);
  });

  test.each([
    ['no key', 'nonsense'],
    [
      'a key on another curve',
      generateKeyPairSync('ec', { namedCurve: 'P-384' })
        .privateKey.export({ type: 'pkcs8', format: 'pem' })
        .toString(),
    ],
    ['half a JWK', { kty: 'EC', crv: 'P-256' }],
  ])('that is %s is told and sent nowhere', async (_, key) => {
    const { url, requests } = await answering();
    const error = await errorOf(credentialOf({ tokenUrl: url, privateKey: key, keyId: 'k' }));
    expect(error).toMatchObject({
      cure: 'correct',
      message: expect.stringContaining('the privateKey is not an RSA or P-256 key'),
    });
    expect(requests).toEqual([]);
  });
});

const claimsOf = ({
  body,
}: Arrived): Record<'iat' | 'exp', number> & Record<'aud' | 'iss' | 'sub' | 'jti', string> => {
  const [, claims = ''] = (new URLSearchParams(body).get('client_assertion') ?? '').split('.');
  return JSON.parse(Buffer.from(claims, 'base64url').toString());
};
