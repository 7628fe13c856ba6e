import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { authUrl, credentialFromCallback } from '../../../lib/stage/user-authorization/auth-url.ts';
import { localPlatform } from './local-client.ts';

/** Its names are none that Node finds in it. */
const { ApplicationContext }: typeof import('valence') = createRequire(import.meta.url)('valence');

// A client that others wrote: what it signs, the local platform must accept, and what it writes, we must write as well.
const local = localPlatform();
const app = { appId: 'local-app', appKey: 'local-app-key' };
const foreign = new ApplicationContext(app.appId, app.appKey);
const place = (): [string, number] => ['http://127.0.0.1', Number(new URL(local.url()).port)];

describe('calls signed by another client', () => {
  test.each([
    ['GET', '/svc/api/lp/1.49/users/whoami', undefined],
    ['GET', '/svc/api/lp/1.49/orgstructure/', undefined],
    ['GET', '/svc/api/le/1.82/2001/Grades/', undefined],
    ['PUT', '/svc/api/le/1.82/2001/grades/5001/values/301', { GradeObjectType: 1, PointsNumerator: 7 }],
    ['POST', '/svc/api/lp/1.49/enrollments/', { OrgUnitId: 2001, UserId: 303, RoleId: 110 }],
  ])('are accepted by the local platform: %s %s', async (method, path, body) => {
    const signer = foreign.createUserContextWithValues(...place(), '100', 'local-key-100');
    const response = await fetch(signer.createAuthenticatedUrl(path, method), {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    // The routes are case-sensitive here, but the signature is looked at first.
    expect(response.status).toBe(path.includes('Grades') ? 404 : 200);
  });

  test('are refused where another key signs', async () => {
    const signer = foreign.createUserContextWithValues(...place(), '100', 'local-key-301');
    const response = await fetch(signer.createAuthenticatedUrl('/svc/api/lp/1.49/users/whoami', 'GET'));
    expect([response.status, await response.text()]).toEqual([403, 'Invalid token']);
  });

  test('are accepted by a clock that is told', async () => {
    await local.control('POST clock', { skewSeconds: 3_600 });
    const signer = foreign.createUserContextWithValues(...place(), '100', 'local-key-100', 3_600);
    expect((await fetch(signer.createAuthenticatedUrl('/svc/api/lp/1.49/users/whoami', 'GET'))).status).toBe(
      200,
    );
  });
});

describe('the token entry address', () => {
  test.each(['https://localhost:8443/done', 'https://sis.example.edu/cb?next=/a b&x=ü', 'http://127.0.0.1/'])(
    'for %s is the same as that of another client',
    (callback) => {
      const options = { ...app, baseUrl: local.url(), apiRoot: '/svc/api', callback };
      const others = foreign.createUrlForAuthentication(...place(), callback);
      // That client has its product segment built in.
      const entryPath = new URL(others).pathname;
      expect(authUrl({ ...options, entryPath })).toBe(others);
      expect(authUrl(options)).toBe(others.replace(entryPath, '/svc/auth/api/token'));
    },
  );

  test('leads to a callback from which both clients read the same keys', async () => {
    await local.control('POST settings', { signedInUserId: 301 });
    const callback = 'https://sis.example.edu/done?state=1';
    const entry = authUrl({ ...app, baseUrl: local.url(), apiRoot: '/svc/api', callback });
    const { status, headers } = await fetch(entry, { redirect: 'manual' });
    const address = headers.get('location') ?? '';
    expect(status).toBe(302);
    const credential = credentialFromCallback(address, app);
    expect(credential).toEqual({ type: 'id-key', ...app, userId: '301', userKey: 'local-key-301' });
    const path = '/svc/api/lp/1.49/users/whoami';
    const signed = foreign.createUserContext(...place(), address).createAuthenticatedUrl(path, 'GET');
    expect(await (await fetch(signed)).json()).toMatchObject({ Identifier: '301' });
  });
});
