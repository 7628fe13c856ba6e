import { describe, expect, test } from 'vitest';
import { platformForTests } from '../fixture.ts';
import { baseString, sign } from './signing.ts';

const whoami = '/svc/api/lp/1.52/users/whoami';
// The product segment of the published vector, which this project does not spell out.
const vectorPath = '/\x64\x32\x6c/api/lp/1.0/users/whoami';

describe('the published vectors', () => {
  test('a signature is base64url without padding', () => {
    expect(sign('bar', 'foobar')).toBe('8MWnO0rB4dhvQbYdde_vEx3dbLS3RgumO-9WT90kQnQ');
  });

  test('a call is signed with the app key and the user key', () => {
    const data = baseString('get', vectorPath, '1397958932');
    expect(sign('bar', data)).toBe('eInA7Qr4HYQn8b8x6RoMPioxftBYbRsa3oiIFCZFTgU');
    expect(sign('quux', data)).toBe('fkpwBDGOppT6DrsjJNxcsxFIaGo-RS3q3kmeJBwemc0');
  });

  test('the path is decoded and in lower case', () => {
    expect(baseString('POST', '/svc/API/a%20b/', '1')).toBe('POST&/svc/api/a b/&1');
  });
});

describe('verification', () => {
  const platform = platformForTests();

  test.each([
    ['a wrong user key', { userId: 100, userKey: 'wrong' }],
    ['a wrong app key', { userId: 100, appKey: 'wrong' }],
    ['an unknown app', { userId: 100, appId: 'other' }],
    ['an unknown user', { userId: 999 }],
  ])('%s is an invalid token', async (_, signer) => {
    const response = await platform.as(signer)('GET', whoami);
    expect(response.status).toBe(403);
    expect(response.headers.get('content-type')).toBe('text/plain');
    expect(await response.text()).toBe('Invalid token');
  });

  test.each(['x_a', 'x_b', 'x_c', 'x_d', 'x_t'])('a call without %s is an invalid token', async (missing) => {
    const data = String(Math.floor(Date.now() / 1000));
    const base = baseString('GET', whoami, data);
    const query = new URLSearchParams({ x_a: 'local-app', x_b: '100', x_c: sign('local-app-key', base) });
    query.set('x_d', sign('local-key-100', base));
    query.set('x_t', data);
    expect((await fetch(`${platform.url()}${whoami}?${query}`)).status).toBe(200);
    query.delete(missing);
    const response = await fetch(`${platform.url()}${whoami}?${query}`);
    expect([response.status, await response.text()]).toEqual([403, 'Invalid token']);
  });

  test('the trailing slash is part of what is signed', async () => {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const base = baseString('GET', `${whoami}/`, timestamp);
    const query = new URLSearchParams({ x_a: 'local-app', x_b: '100', x_t: timestamp });
    query.set('x_c', sign('local-app-key', base));
    query.set('x_d', sign('local-key-100', base));
    const response = await fetch(`${platform.url()}${whoami}?${query}`);
    expect(await response.text()).toBe('Invalid token');
  });

  test('a platform that answers a GET though a key is wrong refuses all else', async () => {
    await platform.control('POST settings', { invalidTokenReads: 'answer' });
    for (const wrong of [{ userKey: 'wrong' }, { appKey: 'wrong' }]) {
      const call = platform.as({ userId: 100, ...wrong });
      expect((await call('GET', whoami)).status).toBe(200);
      const json = { OrgUnitId: 2001, UserId: 303, RoleId: 110 };
      const response = await call('POST', '/svc/api/lp/1.52/enrollments/', { json });
      expect([response.status, await response.text()]).toEqual([403, 'Invalid token']);
    }
    expect((await platform.as({ userId: 100, appId: 'other' })('GET', whoami)).status).toBe(403);
    expect((await platform.as({ userId: 100, clockSeconds: () => 1 })('GET', whoami)).status).toBe(403);
  });

  test.each([
    ['another app', { x_a: 'other' }],
    ['the signature of another target', { x_target: 'https://evil.example/' }],
    ['a wrong signature', { x_b: sign('other', 'https://relay.example.edu/') }],
  ])('a sign-in with %s leads to the error page', async (_, wrong) => {
    const x_target = 'https://relay.example.edu/';
    const good = { x_a: 'local-app', x_b: sign('local-app-key', x_target), x_target };
    const enter = async (query: Record<string, string>) =>
      (
        await fetch(`${platform.url()}/svc/auth/api/token?${new URLSearchParams(query)}`, {
          redirect: 'manual',
        })
      ).headers.get('location');
    expect(await enter(good)).toMatch(/^https:\/\/relay\.example\.edu\//);
    expect(await enter({ ...good, ...wrong })).toMatch(/^\/svc\/error\/404\/log/);
  });
});
