import { describe, expect, test } from 'vitest';
import { safe } from '../../../../lib/message/safe-text.ts';
import {
  type Credential,
  type Credentials,
  clockSkewIn,
  createAuthenticator,
  isSameToPlatform,
  usableUntilMs,
} from '../../../../lib/platform/auth/auth.ts';
import { signedQuery } from '../../../../lib/platform/auth/id-key.ts';
import { signedPath } from '../../../../lib/platform/client/authentication.ts';
import type { RefusedCall } from '../../../../lib/platform/client/platform-error.ts';
import { credential, fixedCredentials } from '../servers.ts';

const request = { method: 'PUT', path: '/svc/api/le/1.82/1/grades/2/values/3' };
const startSeconds = 1_700_000_000;
const clockAt = (seconds: number) => () => seconds * 1000 + 321;
const outOfRange = (seconds: number | string): RefusedCall => ({
  status: 403,
  title: 'Timestamp out of range',
  detail: `Timestamp out of range\r\n${seconds}`,
});
const invalidToken: RefusedCall = { status: 403, title: 'Invalid token' };

describe('an authenticated call', () => {
  test('is the signed query at our time, and no header', async () => {
    const auth = createAuthenticator(fixedCredentials, clockAt(startSeconds))(undefined);
    expect(await auth.authenticate(request)).toEqual({
      query: signedQuery(request, credential, startSeconds),
      headers: {},
    });
  });

  test('is that of the actor', async () => {
    const asked: unknown[] = [];
    const credentials: Credentials = {
      read: async (actor) => {
        asked.push(actor);
        return { credential: { ...credential, userId: actor ?? 'service' }, version: '1' };
      },
      refuse: () => undefined,
    };
    const authenticate = createAuthenticator(credentials);
    expect((await authenticate('42').authenticate(request)).query.x_b).toBe('42');
    expect((await authenticate(undefined).authenticate(request)).query.x_b).toBe('service');
    expect(asked).toEqual(['42', undefined]);
  });
});

const oauth: Credential = {
  type: 'oauth',
  grant: 'client_credentials',
  tokenUrl: 'https://auth.example.edu/token',
  clientId: 'relay',
  clientSecret: 's',
  accessToken: 'the-token',
  obtainedAt: '2026-01-31T09:30:00.000Z',
  expiresAt: '2026-01-31T10:30:00.000Z',
};

describe('a credential', () => {
  test.each([
    ['the-token', 'Bearer the-token'],
    [undefined, 'Bearer '],
  ])('with the token %s is a header, and no query', async (accessToken, authorization) => {
    const read = async () => ({ credential: { ...oauth, accessToken }, version: '1' });
    const auth = createAuthenticator({ read, refuse: () => undefined })(undefined);
    expect(await auth.authenticate(request)).toEqual({ query: {}, headers: { authorization } });
  });

  test('can be used until its token expires, or for ever', () => {
    expect(usableUntilMs(oauth)).toBe(Date.parse('2026-01-31T10:30:00.000Z'));
    expect(usableUntilMs(credential)).toBe(Number.POSITIVE_INFINITY);
  });

  test('is the same to the platform as another that has its token', () => {
    expect(isSameToPlatform(oauth, { ...oauth, clientSecret: 'another' })).toBe(true);
    expect(isSameToPlatform(oauth, { ...oauth, accessToken: 'another' })).toBe(false);
    expect(isSameToPlatform(credential, credential)).toBe(false);
    // Neither has a token, and only one is a client.
    const keys = { ...credential, accessToken: 'the-token' };
    expect([isSameToPlatform(oauth, keys), isSameToPlatform(keys, oauth)]).toEqual([false, false]);
  });

  test('that was never read is refused without a version', () => {
    const refused: unknown[] = [];
    const auth = createAuthenticator({
      read: fixedCredentials.read,
      refuse: (...told) => void refused.push(told),
    });
    expect(auth('42').correctAfter(invalidToken)).toBe(true);
    expect(refused).toEqual([['42', '']]);
  });
});

describe('the path of a call with its query', () => {
  const pathWith = (query: [string, string][], signatures: Record<string, string>) =>
    signedPath({ method: 'GET', path: '/a', call: safe`GET /a`, query }, { query: signatures, headers: {} });

  test.each<[[string, string][], Record<string, string>, string]>([
    [[], {}, '/a'],
    [[['b', '1']], {}, '/a?b=1'],
    [[], { x_a: 'A', x_b: 'B' }, '/a?x_a=A&x_b=B'],
    [
      [
        ['b', '1'],
        ['b', ''],
      ],
      { x_a: 'A-z_0.~' },
      '/a?b=1&b=&x_a=A-z_0.~',
    ],
    [[['b c', 'd&e']], { x_a: ' x', x_b: 'x=' }, '/a?b%20c=d%26e&x_a=%20x&x_b=x%3D'],
    [[['é', '/?']], {}, '/a?%C3%A9=%2F%3F'],
  ])('of %j and %j is escaped where it must be', (query, signatures, path) => {
    expect(pathWith(query, signatures)).toBe(path);
  });
});

describe('the clock', () => {
  test.each([100, -86_400])(
    'of the platform is taken over when it is %i seconds off, for every call after it',
    async (skew) => {
      const authenticate = createAuthenticator(fixedCredentials, clockAt(startSeconds));
      const auth = authenticate(undefined);
      await auth.authenticate(request);
      expect(auth.correctAfter(outOfRange(startSeconds + skew))).toBe(true);
      const platformSeconds = String(startSeconds + skew);
      expect((await auth.authenticate(request)).query.x_t).toBe(platformSeconds);
      expect((await authenticate('42').authenticate(request)).query.x_t).toBe(platformSeconds);
    },
  );

  test.each([90, -20 * 365])('that is %i days off is not taken over, which is told', async (days) => {
    const warned: unknown[] = [];
    const auth = createAuthenticator(fixedCredentials, clockAt(startSeconds), (...told) => {
      warned.push(told);
    })(undefined);
    await auth.authenticate(request);
    expect(auth.correctAfter(outOfRange(startSeconds + days * 86_400))).toBe(false);
    expect((await auth.authenticate(request)).query.x_t).toBe(String(startSeconds));
    expect(warned).toEqual([[expect.stringContaining('by more than a day'), { seconds: days * 86_400 }]]);
  });

  test('follows one that was taken over and is off again', async () => {
    const authenticate = createAuthenticator(fixedCredentials, clockAt(startSeconds));
    for (const skew of [600, -50, 0]) {
      const auth = authenticate(undefined);
      await auth.authenticate(request);
      expect(auth.correctAfter(outOfRange(startSeconds + skew))).toBe(true);
      expect((await auth.authenticate(request)).query.x_t).toBe(String(startSeconds + skew));
    }
  });

  test('that tells no other time than the one used teaches nothing', async () => {
    const auth = createAuthenticator(fixedCredentials, clockAt(startSeconds))(undefined);
    await auth.authenticate(request);
    expect(auth.correctAfter(outOfRange(startSeconds))).toBe(false);
  });

  test.each([
    ['without a number', outOfRange('')],
    ['with another word', outOfRange('soon')],
    ['cut off in the middle of its number', { ...outOfRange('17000'), cutOff: true as const }],
  ])('is not learnt from a body %s', async (_, refused) => {
    const auth = createAuthenticator(fixedCredentials, clockAt(startSeconds))(undefined);
    await auth.authenticate(request);
    expect(auth.correctAfter(refused)).toBe(false);
    expect((await auth.authenticate(request)).query.x_t).toBe(String(startSeconds));
  });

  test('that another call has learnt meanwhile is worth another try, even where the body tells nothing', async () => {
    const authenticate = createAuthenticator(fixedCredentials, clockAt(startSeconds));
    const [one, other] = [authenticate(undefined), authenticate(undefined)];
    await Promise.all([one.authenticate(request), other.authenticate(request)]);
    expect(one.correctAfter(outOfRange(startSeconds + 600))).toBe(true);
    expect(other.correctAfter(outOfRange(''))).toBe(true);
  });
});

describe('a refused key', () => {
  test('is told to the credentials with the version that was used, and may be another one the next time', async () => {
    const refused: unknown[] = [];
    const credentials: Credentials = {
      read: async () => ({ credential, version: 'the-first' }),
      refuse: (actor, version) => void refused.push([actor, version]),
    };
    const auth = createAuthenticator(credentials)('42');
    await auth.authenticate(request);
    expect(auth.correctAfter(invalidToken)).toBe(true);
    expect(refused).toEqual([['42', 'the-first']]);
  });

  test('is not told by a missing permission, which is sent once', () => {
    const auth = createAuthenticator(fixedCredentials)(undefined);
    expect(auth.correctAfter({ status: 403, title: 'Forbidden', missing: 'permission' })).toBe(false);
  });
});

describe('the skew', () => {
  const nowMs = 1397500200_000;
  test.each([
    ['as published', 'Timestamp out of range 1397500300', 100],
    ['on a line of its own', 'Timestamp out of range\r\n1397500300', 100],
    ['with more whitespace', 'Timestamp \t out \n of \r\n range  1397500300', 100],
    ['followed by a line end', 'Timestamp out of range\r\n1397500300\r\n', 100],
    ['without whitespace', 'Timestamp out of range1397500300', 100],
    ['after a tab, in a sentence', 'Sorry: Timestamp out of range\t1397500300.', 100],
    ['cut off within it', 'Timestamp out of range\r\n13975…', undefined],
    ['in small letters', 'timestamp out of range\n1397500300', 100],
    ['behind', 'Timestamp out of range\r\n1397500100', -100],
    ['days behind', `Timestamp out of range\r\n${1397500200 - 3 * 86_400}`, -3 * 86_400],
    ['years ahead', 'Timestamp out of range\r\n4102444800', 4102444800 - 1397500200],
    ['none', 'Timestamp out of range\r\n1397500200', 0],
    ['not told', 'Timestamp out of range', undefined],
    ['not a number', 'Timestamp out of range\r\nsoon', undefined],
    ['negative', 'Timestamp out of range\r\n-1397500300', undefined],
    ['too long a number', `Timestamp out of range\r\n${'1'.repeat(400)}`, undefined],
    ['a number beside it', 'Timestamp out of range (code 12)', undefined],
    ['another text', 'Invalid token 1397500300', undefined],
    ['nothing', '', undefined],
  ])('is told by the refusal: %s', (_, text, skew) => {
    expect(clockSkewIn({ status: 403, detail: text }, nowMs)).toBe(skew);
  });

  test('counts whole seconds of our clock', () => {
    expect(clockSkewIn({ status: 403, detail: 'Timestamp out of range\r\n1397500300' }, nowMs + 999)).toBe(
      100,
    );
  });
});
