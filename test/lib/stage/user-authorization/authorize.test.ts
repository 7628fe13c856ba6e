import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GetSecretValueCommand, ListSecretsCommand } from '@aws-sdk/client-secrets-manager';
import { beforeEach, describe, expect, test } from 'vitest';
import { createAudit } from '../../../../lib/stage/audit.ts';
import type { Target } from '../../../../lib/stage/target.ts';
import { authorizeUser, type EntryProbe } from '../../../../lib/stage/user-authorization/authorize.ts';
import { localOffice } from '../../desk/cli/local-office.ts';
import { typed } from '../../desk/cli/typed.ts';

const office = localOffice({ functions: false });
const callback = 'https://sis.example.edu/done?state=1';
const secretOf = (userId: number) => `sis-relay/local/users/${userId}`;

beforeEach(() => office.controls().reset());

const signedIn = (signedInUserId: number) =>
  fetch(`${office.stack().description.platform}/_local/settings`, {
    method: 'POST',
    body: JSON.stringify({ signedInUserId }),
  });

/** The browser of whoever is logged in: it follows the address, and comes to another. */
const browse = async (url: string) =>
  (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? undefined;

type AuthorizeOptions = Partial<Parameters<typeof authorizeUser>[1]> & { target?: Target };

const authorize = async ({ target = office.target(), ...given }: AuthorizeOptions = {}) => {
  const audited: string[] = [];
  const confirmed: [string, boolean][] = [];
  let way: EntryProbe | undefined;
  const stored = await authorizeUser(target, {
    callback,
    appSecret: 'service',
    audit: createAudit(target, ({ line }) => audited.push(line)),
    show: (found) => {
      way = found;
    },
    returned: async () => browse(way?.url ?? ''),
    confirm: async (...asked) => {
      confirmed.push(asked);
      return true;
    },
    ...given,
  });
  return { stored, way, audited, confirmed };
};

const secretsManager = () => office.target().secretsManager();
const held = async (name: string) => {
  const { SecretString = '' } = await (await secretsManager()).send(
    new GetSecretValueCommand({ SecretId: name }),
  );
  return JSON.parse(SecretString);
};
const names = async () => {
  const { SecretList = [] } = await (await secretsManager()).send(new ListSecretsCommand({}));
  return SecretList.map(({ Name }) => Name);
};

describe('a user who comes back from the platform', () => {
  test('has the id and key put into a secret that the functions sign with', async () => {
    await signedIn(302);
    const { stored, way, audited, confirmed } = await authorize();
    expect(way).toMatchObject({
      explained: expect.stringContaining('the user who is logged in'),
      isClosed: false,
    });
    expect(stored).toEqual({ userId: '302', secret: secretOf(302), replaced: false });
    expect(confirmed).toEqual([[secretOf(302), false]]);
    expect(await held(secretOf(302))).toEqual({
      type: 'id-key',
      appId: 'local-app',
      appKey: 'local-app-key',
      userId: '302',
      userKey: 'local-key-302',
    });
    expect(audited.map((line) => JSON.parse(line))).toMatchObject([
      { audit: 'begin', command: 'auth-url', secret: secretOf(302), who: 'a test' },
      { audit: 'end', counts: { stored: 1 } },
    ]);
    expect(audited.join()).not.toContain('local-key-302');
  });

  test('has it in the secret of the user that the platform names, where the key has an id of its own', async () => {
    const key = { userId: 302, userKey: 'the key', keyId: 'qQ3-r_LJp' };
    await fetch(`${office.stack().description.platform}/_local/keys`, {
      method: 'POST',
      body: JSON.stringify(key),
    });
    await signedIn(302);
    const { stored } = await authorize();
    expect(stored).toMatchObject({ userId: '302', secret: secretOf(302) });
    expect(await held(secretOf(302))).toMatchObject({ userId: 'qQ3-r_LJp', userKey: 'the key' });
  });

  test('has what is there replaced, after a question that says so', async () => {
    await office.controls().secret(secretOf(301), { type: 'id-key' });
    await signedIn(301);
    const { stored, confirmed } = await authorize();
    expect([stored, confirmed]).toEqual([
      { userId: '301', secret: secretOf(301), replaced: true },
      [[secretOf(301), true]],
    ]);
    expect(await held(secretOf(301))).toMatchObject({ userKey: 'local-key-301' });
  });

  test('has nothing stored where nobody agrees, or no address is given', async () => {
    await signedIn(200);
    expect(await authorize({ confirm: async () => false })).toMatchObject({ stored: undefined, audited: [] });
    expect(await authorize({ returned: async () => ' \n' })).toMatchObject({ stored: undefined });
    expect(await names()).not.toContain(secretOf(200));
  });
});

describe('nothing is stored, and it is said why', () => {
  test.each<[string, AuthorizeOptions, RegExp]>([
    [
      'an address without keys',
      { returned: async () => callback },
      /holds no user id and key.*\nNothing was/s,
    ],
    [
      'a key that the platform refuses',
      { returned: async () => `${callback}&x_a=200&x_b=wrong` },
      /answered GET \S+whoami with 403 Invalid Token\. .* have the user log in again, .* Nothing was stored\.$/,
    ],
    ['a callback that is no address', { callback: 'localhost' }, /The callback must be an address/],
    [
      'no secret with the application',
      { appSecret: 'apps/none' },
      /no secret sis-relay\/local\/apps\/none\. Pass --app-secret/,
    ],
  ])('%s', async (_, given, reason) => {
    await expect(authorize(given)).rejects.toThrow(reason);
    expect(await names()).not.toContain(secretOf(200));
  });

  test('a key of somebody else than the address says', async () => {
    await office.controls().fault({ status: 200, body: { Identifier: '301' } }, { path: '/users/whoami$' });
    const returned = async () => `${callback}&x_a=200&x_b=local-key-200`;
    await expect(authorize({ returned })).rejects.toThrow(
      'The platform reports that this is the key of user 301, not of user 200. Nothing was stored.',
    );
    expect(await names()).not.toContain(secretOf(200));
  });

  test('a platform that nobody names', async () => {
    const target = { ...office.target(), platform: async () => undefined };
    await expect(authorize({ target })).rejects.toThrow('Which platform?');
  });
});

test('the error page is explained, and no address is asked for', async () => {
  await office.controls().secret('sis-relay/local/apps/old', { appId: 'local-app', appKey: 'an old key' });
  const returned = () => Promise.reject(new Error('was asked'));
  const { stored, way } = await authorize({ appSecret: 'apps/old', returned });
  expect(stored).toBeUndefined();
  expect(way).toMatchObject({
    isClosed: true,
    explained: expect.stringMatching(/error page[\s\S]*signature is wrong/),
  });
});

test('the command prints the address, stores what came back, and shows no key', async () => {
  await signedIn(303);
  const line = `auth-url --stack ${office.file} --callback ${callback}`;
  const shown = await typed(line);
  expect(shown.status).toBe(0);
  const [address = ''] = shown.out.split('\n');
  expect(address).toContain('/svc/auth/api/token?x_target=https%3A%2F%2Fsis.example.edu');
  const file = join(office.folder, 'address.txt');
  await writeFile(file, `${await browse(address)}\n`);
  const stored = await typed(`${line} --returned ${file} --yes`);
  expect(stored).toMatchObject({
    status: 0,
    out: expect.stringMatching(
      /The credential of user 303 is stored in the secret sis-relay\/local\/users\/303/,
    ),
  });
  expect(stored.out + stored.err).not.toContain('local-key-303');
  expect(await typed(line, { answers: [(await browse(address)) ?? '', 'n'] })).toMatchObject({
    status: 1,
    asked: [expect.stringContaining('address'), expect.stringMatching(/^Replace the content of the secret/)],
  });
  expect(await typed(`${line} --returned ${file}.none --yes`)).toMatchObject({ status: 1 });
});

test('a path that is not there is no way in either', async () => {
  const returned = () => Promise.reject(new Error('was asked'));
  const { way } = await authorize({ entryPath: '/nowhere', returned });
  expect(way).toMatchObject({ isClosed: true, explained: expect.stringContaining('answered 404') });
});

test('a platform that does not answer from here is no reason to stop', async () => {
  const { way } = await authorize({
    target: office.target({ PLATFORM_URL: 'http://127.0.0.1:9' }),
    returned: async () => undefined,
  });
  expect(way).toMatchObject({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:9\/svc\/auth\/api\/token\?x_target=/),
    explained: expect.stringContaining('does not answer from here'),
  });
});
