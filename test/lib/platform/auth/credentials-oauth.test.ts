import { describe, expect, test } from 'vitest';
import type { Failure } from '../../../../lib/message/failure.ts';
import { failureOf } from '../../../../lib/platform/client/failure-of.ts';
import { whoAmI } from '../../../../lib/platform/resources/users.ts';
import { clientAt } from '../servers.ts';
import { minuteMs, service, tokenWorld } from './token-refresh/fixture.ts';

/** A container of a function that reads the service's token from its secret. */
const readingWorld = async (tokens: object = {}) => {
  const world = await tokenWorld();
  const first = await world.accessToken();
  const secret = { ...world.oauthClient, grant: 'client_credentials', accessToken: first };
  await world.create(service, { ...secret, ...tokens });
  const nowMs = () => world.clock.nowMs;
  const { platform } = clientAt(world.platform.url, { credentials: world.reader(), nowMs });
  const failing = async (call: Promise<unknown>): Promise<Failure> =>
    call.then(
      () => Promise.reject(new Error('it succeeded')),
      (error) => failureOf(error),
    );
  const requests = async () =>
    (await world.tell<{ path: string; status: number }[]>('GET requests')).filter(({ path }) =>
      path.startsWith('/svc/'),
    );
  const reads = async () =>
    (await world.secretCalls()).filter(({ action }) => action === 'GetSecretValue').length;
  return {
    world,
    secret,
    platform,
    failing,
    requests,
    reads,
    renewed: (more = {}) => ({ ...secret, ...more }),
  };
};

const inMs = (world: { clock: { nowMs: number } }, ms: number) =>
  new Date(world.clock.nowMs + ms).toISOString();

describe('an access token', () => {
  test('is sent as it is, in no query, and its secret is read once', async () => {
    const { platform, reads } = await readingWorld();
    for (let call = 0; call < 3; call += 1)
      expect(await whoAmI(platform)).toMatchObject({ Identifier: '100' });
    expect(await reads()).toBe(1);
  });

  test('that is known to be over is not sent: messages wait', async () => {
    const { world, platform, failing, requests, reads, renewed } = await readingWorld({
      expiresAt: '2020-01-01T00:00:00Z',
    });
    const failure = await failing(whoAmI(platform));
    expect(failure).toMatchObject({
      kind: 'credentials',
      message: expect.stringContaining('no valid access token'),
    });
    expect(failure.remedy).toContain('token-refresh');
    await failing(whoAmI(platform));
    expect(await requests()).toEqual([]);
    expect(await reads()).toBe(1);
    // The secret is looked at again soon.
    await world.put(
      service,
      renewed({ accessToken: await world.accessToken(), expiresAt: inMs(world, minuteMs) }),
    );
    world.clock.nowMs += 5_000;
    expect(await whoAmI(platform)).toMatchObject({ Identifier: '100' });
  });

  test('that ends while it is cached is looked up when it ends, and not before', async () => {
    const world = await readingWorld();
    const { clock } = world.world;
    await world.world.put(service, world.renewed({ expiresAt: inMs(world.world, 2 * minuteMs) }));
    await whoAmI(world.platform);
    clock.nowMs += minuteMs;
    await whoAmI(world.platform);
    expect(await world.reads()).toBe(1);
    const next = {
      accessToken: await world.world.accessToken(),
      expiresAt: inMs(world.world, 60 * minuteMs),
    };
    await world.world.put(service, world.renewed(next));
    clock.nowMs += minuteMs;
    expect(await whoAmI(world.platform)).toMatchObject({ Identifier: '100' });
    expect(await world.reads()).toBe(2);
  });

  test('is said to need a person where its secret says so', async () => {
    const refused = { state: 'x', at: '2026-01-31T09:30:00Z', reason: 'invalid_grant' };
    const { platform, failing } = await readingWorld({ expiresAt: '2020-01-01T00:00:00Z', refused });
    expect((await failing(whoAmI(platform))).message).toContain('a person must authorize again');
  });
});

describe('a refused access token', () => {
  test('is looked up once, and its call sent once more with the next', async () => {
    const { world, platform, requests, reads, renewed } = await readingWorld();
    await whoAmI(platform);
    await world.tell('POST oauth/expire');
    await world.put(service, renewed({ accessToken: await world.accessToken() }));
    expect(await whoAmI(platform)).toMatchObject({ Identifier: '100' });
    expect((await requests()).map(({ status }) => status)).toEqual([200, 401, 200]);
    expect(await reads()).toBe(2);
  });

  test('that is still the same is not sent again: messages wait', async () => {
    const { world, platform, failing, requests, reads } = await readingWorld();
    await world.tell('POST oauth/expire');
    const failure = await failing(whoAmI(platform));
    expect(failure).toMatchObject({ kind: 'credentials', status: 401, type: 'invalid-token' });
    for (let call = 0; call < 5; call += 1)
      expect((await failing(whoAmI(platform))).kind).toBe('credentials');
    expect((await requests()).map(({ status }) => status)).toEqual([401]);
    expect(await reads()).toBe(2);
  });

  test('is the same though its secret has changed around it', async () => {
    const { world, platform, failing, requests, renewed } = await readingWorld();
    await whoAmI(platform);
    await world.tell('POST oauth/expire');
    await world.put(service, renewed({ scopes: ['a:b:c'] }));
    expect((await failing(whoAmI(platform))).kind).toBe('credentials');
    expect((await requests()).map(({ status }) => status)).toEqual([200, 401]);
  });
});
