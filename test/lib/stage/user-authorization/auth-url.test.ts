import { describe, expect, test } from 'vitest';
import {
  authUrl,
  credentialFromCallback,
  explainEntry,
} from '../../../../lib/stage/user-authorization/auth-url.ts';
import { localPlatform } from '../../platform/local-client.ts';

const app = { appId: 'local-app', appKey: 'local-app-key' };
const callback = 'https://sis.example.edu/done?state=1';
const entry = { ...app, baseUrl: 'https://platform.example.edu', apiRoot: '/svc/api', callback };

describe('the token entry address', () => {
  test('lies beside the API, and carries the callback, encoded, with its signature', () => {
    const url = new URL(authUrl(entry));
    expect(url.origin + url.pathname).toBe('https://platform.example.edu/svc/auth/api/token');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      x_a: 'local-app',
      x_b: expect.stringMatching(/^[\w-]{43}$/),
      x_target: callback,
    });
    expect(url.search).toContain('x_target=https%3A%2F%2Fsis.example.edu%2Fdone%3Fstate%3D1');
  });

  test.each([
    ['where the product has another segment', { apiRoot: '/other/api' }, '/other/auth/api/token'],
    ['where it is told', { entryPath: '/svc/auth/api/token/' }, '/svc/auth/api/token/'],
    ['where the API has no root', { apiRoot: '' }, '/auth/api/token'],
  ])('is another %s', (_, more, path) => {
    expect(new URL(authUrl({ ...entry, ...more })).pathname).toBe(path);
  });

  test.each(['', 'localhost/done', '/done', 'javascript:alert(1)'])(
    'needs a callback that is an address, not %j',
    (wrong) => {
      expect(() => authUrl({ ...entry, callback: wrong })).toThrow('must be an address such as https://');
    },
  );
});

describe('a callback', () => {
  test('becomes the secret of the user who came back', () => {
    expect(credentialFromCallback(` ${callback}&x_a=301&x_b=the%20key&x_c=ignored\n`, app)).toEqual({
      type: 'id-key',
      ...app,
      userId: '301',
      userKey: 'the key',
    });
  });

  test.each([
    ['no address', 'nonsense', 'This is not an address'],
    ['without keys', callback, 'holds no user id and key'],
    ['with a user id alone', `${callback}&x_a=301`, 'holds no user id and key'],
    ['which is the address that leads in', authUrl(entry), 'not a user id'],
    [
      'which is the error page',
      'https://platform.example.edu/svc/error/404/log?targetUrl=%2Fx',
      'error page',
    ],
  ])('that is %s is explained, without what it holds', (_, address, expected) => {
    const explain = () => credentialFromCallback(address, app);
    expect(explain).toThrow(expected);
    expect(explain).not.toThrow(/301|local-app/);
  });
});

describe('an answer to the entry address', () => {
  test.each([
    [
      '302 to the error page',
      { status: 302, location: '/svc/error/404/log?targetUrl=%2Fsvc%2Fauth%3Fx_b%3Dsecret' },
      /does not say why[\s\S]*application id[\s\S]*signature[\s\S]*callback/,
    ],
    [
      '302 to the callback',
      { status: 302, location: `${callback}&x_a=301&x_b=secret` },
      /the user who is logged in here.*log out/,
    ],
    [
      '302 to a login',
      { status: 302, location: '/svc/login?target=secret' },
      /to \/svc\/login, as for a login/,
    ],
    ['302 to nowhere', { status: 302 }, /redirects the user to \//],
    ['200', { status: 200 }, /log in/],
    ['404', { status: 404 }, /answered 404/],
  ])('%s is explained', (_, answer, expected) => {
    const explained = explainEntry(answer, callback);
    expect(explained).toMatch(expected);
    expect(explained).not.toContain('secret');
  });
});

describe('on the local platform', () => {
  const local = localPlatform();
  const ask = async (given: object = {}) => {
    const url = authUrl({ ...entry, baseUrl: local.url(), ...given });
    const { status, headers } = await fetch(url, { redirect: 'manual' });
    return { status, location: headers.get('location') ?? undefined };
  };

  test('the round trip ends in keys that the platform takes', async () => {
    await local.control('POST settings', { signedInUserId: 302 });
    const answer = await ask();
    expect(explainEntry(answer, callback)).toContain('the user who is logged in');
    const credential = credentialFromCallback(answer.location ?? '', app);
    expect(credential).toMatchObject({ userId: '302', userKey: 'local-key-302' });
  });

  test.each([
    ['another key', { appKey: 'wrong' }],
    ['another application', { appId: 'unknown' }],
  ])('%s leads to the error page', async (_, given) => {
    const answer = await ask(given);
    expect(answer.status).toBe(302);
    expect(explainEntry(answer, callback)).toContain('error page');
  });
});
