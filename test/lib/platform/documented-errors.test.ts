import { describe, expect, test } from 'vitest';
import type { Credential } from '../../../lib/platform/auth/auth.ts';
import type { Platform } from '../../../lib/platform/client/client.ts';
import { failureOf } from '../../../lib/platform/client/failure-of.ts';
import { isFileAnswer, type Operation } from '../../../lib/platform/client/operation.ts';
import { operations } from '../../../lib/platform/resources/operations.ts';
import { authUrl, explainEntry } from '../../../lib/stage/user-authorization/auth-url.ts';
import { documentedErrors, type ErrorRow, refusalsEverywhere, routeOf } from './documented-errors.ts';
import { keysOf, localPlatform } from './local-client.ts';
import { narrowClient } from './narrow-client.ts';
import { errorOf } from './servers.ts';

const local = localPlatform();

const credentialFor = async (as: ErrorRow['as'] = { userId: 100 }): Promise<Credential> => {
  if ('scopes' in as) return narrowClient(local.url(), { userId: 100, scopes: as.scopes });
  if ('userKey' in as) return { ...keysOf(100), ...as } as Credential;
  if ('userId' in as) return keysOf(as.userId);
  // The role that the service has.
  await local.control('POST seed', { roles: [{ roleId: 101, permissions: as.permissions }] });
  return keysOf(100);
};

const call = (platform: Platform, { operation, input }: ErrorRow): Promise<unknown> =>
  isFileAnswer(operation.answer)
    ? platform.download(operation as Operation<never>, input, async () => {})
    : platform.call(operation, input);

const refuses = async (row: ErrorRow) => {
  const { platform } = local.as(await credentialFor(row.as));
  const error = await errorOf(call(platform, row));
  expect(error.refused).toMatchObject(row.refused);
  if (row.refused.type === 'json-binding-error')
    expect(error.refused?.detail).toMatch(/^Provided JSON is invalid/);
  expect(failureOf(error)).toMatchObject({ kind: row.kind, status: row.refused.status });
};

describe('section 7 of the specification', () => {
  test.each(documentedErrors)('$condition: $refused.status, and the message is $kind', refuses);
});

describe('every operation, where a right is missing', () => {
  test.each(refusalsEverywhere)(
    '$condition: $refused.status $refused.title, and the message is $kind',
    refuses,
  );

  test('has a route of the local platform, but for the versions, which are beside its API', () => {
    expect(operations.filter((each) => !routeOf(each)).map(({ name }) => name)).toEqual(['list-versions']);
  });
});

describe('the token entry path', () => {
  test('answers 302 to the error page, which is a 404, and what may be wrong is explained', async () => {
    const callback = 'https://sis.example.edu/done';
    const app = { appId: 'unknown-app', appKey: 'any' };
    const entry = authUrl({ ...app, baseUrl: local.url(), apiRoot: '/svc/api', callback });
    const answer = await fetch(entry, { redirect: 'manual' });
    const location = answer.headers.get('location') ?? '';
    expect([answer.status, location]).toEqual([
      302,
      expect.stringMatching(/^\/svc\/error\/404\/log\?targetUrl=/),
    ]);
    const explained = explainEntry({ status: answer.status, location }, callback);
    expect(explained).toContain('error page');
    expect(explained).toContain('application id');
    const errorPage = await fetch(new URL(location, local.url()));
    expect([errorPage.status, errorPage.headers.get('content-type')]).toEqual([
      404,
      expect.stringContaining('html'),
    ]);
  });
});
