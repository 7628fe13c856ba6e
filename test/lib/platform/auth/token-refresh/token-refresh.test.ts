import { PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, test } from 'vitest';
import type { SecretVersions } from '../../../../../lib/platform/auth/versions.ts';
import { minuteMs, prefix, secretsOf, service, tokenWorld } from './fixture.ts';

/** Lets a run come to the moment when it has its new tokens, and stores them only when it is released. */
const holding = () => {
  const obtained = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const through = (versions: SecretVersions): SecretVersions => ({
    ...versions,
    stage: async (name, version) => {
      if (version.text.includes('"accessToken"')) {
        obtained.resolve();
        await released.promise;
      }
      return versions.stage(name, version);
    },
  });
  return { through, obtained: obtained.promise, release: released.resolve };
};

const nothing = { none: 0, fresh: 0, refreshed: 0, waiting: 0, correct: 0, authorize: 0, failed: 0 };

describe('tokens that are due', () => {
  test.each(['client_credentials', 'refresh_token'])('are asked for at first, by %s', async (grant) => {
    const world = await tokenWorld();
    const { clock } = world;
    await world.create(service, { ...(await world.byRefreshToken()), grant });
    const before = await world.read(service);
    expect(await world.container().run()).toEqual({ ...nothing, refreshed: 1 });
    const after = await world.read(service);
    expect(after).toMatchObject({ ...world.oauthClient, grant });
    expect(await world.userOf(after.accessToken)).toBe('100');
    expect(after.refreshToken === before.refreshToken).toBe(grant === 'client_credentials');
    expect(Date.parse(after.expiresAt!) - Date.parse(after.obtainedAt!)).toBe(60 * minuteMs);
    expect(Math.abs(Date.parse(after.obtainedAt!) - clock.nowMs)).toBeLessThan(minuteMs);
  });

  test('are left alone while two thirds of their life are not over, and renewed then', async () => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    const { run } = world.container();
    await run();
    const first = await world.read(service);
    world.clock.nowMs += 39 * minuteMs;
    expect(await run()).toEqual({ ...nothing, fresh: 1 });
    expect(await world.read(service)).toEqual(first);
    world.clock.nowMs += 2 * minuteMs;
    expect(await run()).toEqual({ ...nothing, refreshed: 1 });
    expect((await world.counts()).issued).toBe(2);
    // Nobody who still has the old token is cut off.
    expect(await world.userOf(first.accessToken)).toBe('100');
  });

  test('are stored before they are current, and nothing is written while they are not', async () => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    await world.container().run();
    const writes = (await world.secretCalls()).filter(({ action }) => /^(Put|Update)/.test(action));
    expect(writes.map(({ action }) => action)).toEqual([
      'PutSecretValue',
      'PutSecretValue',
      'UpdateSecretVersionStage',
    ]);
    expect(await world.read(service, 'AWSPENDING')).toEqual(await world.read(service));
  });

  test('of users are renewed like the service’s; keys are left alone', async () => {
    const world = await tokenWorld();
    const ids = Array.from({ length: 20 }, (_, at) => 10_000 + at);
    const renewed = ids.filter((_, at) => at % 10 === 9);
    await world.tell('POST seed', { users: renewed.map((userId) => ({ userId })) });
    const keys = { type: 'id-key', appId: 'a', appKey: 'b', userId: '7', userKey: 'c' };
    await world.create(service, keys);
    for (const id of ids)
      await world.create(secretsOf(id), renewed.includes(id) ? await world.byRefreshToken(id) : keys);
    await world.create(`${prefix}/usersother/1`, await world.byRefreshToken());
    const { run } = world.container();
    expect(await run()).toEqual({ ...nothing, none: 19, refreshed: 2 });
    for (const id of [10_009, 10_019]) {
      expect(await world.userOf((await world.read(secretsOf(id))).accessToken)).toBe(String(id));
    }
    await run();
    const before = (await world.secretCalls()).length;
    expect(await run()).toEqual({ ...nothing, none: 19, fresh: 2 });
    // What is known to last is not read again: the service's secret, and the list.
    expect((await world.secretCalls()).length - before).toBe(2);
  });
});

describe('two runs at once', () => {
  test.each(['client_credentials', 'refresh_token'])('ask once, by %s', async (grant) => {
    const world = await tokenWorld();
    await world.create(service, { ...(await world.byRefreshToken()), grant });
    const runs = Array.from({ length: 6 }, () => world.container().run());
    const outcomes = await Promise.all(runs);
    expect(outcomes.filter(({ refreshed }) => refreshed === 1).length).toBeGreaterThanOrEqual(1);
    expect(await world.counts()).toEqual({ total: 1, issued: 1, refused: 0 });
    expect(await world.userOf((await world.read(service)).accessToken)).toBe('100');
  });

  test('of which one stands still with its tokens leave the asking to it', async () => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    const { through, obtained, release } = holding();
    const slow = world.container({ through }).run();
    await obtained;
    const other = world.container();
    expect(await other.run()).toEqual({ ...nothing, waiting: 1 });
    release();
    expect(await slow).toEqual({ ...nothing, refreshed: 1 });
    expect(other.errors()).toEqual([]);
    expect((await world.counts()).total).toBe(1);
  });
});

test('a run that was held up finds out, before it asks, that another has asked since', async () => {
  const world = await tokenWorld();
  await world.create(service, await world.byRefreshToken());
  const { through, obtained, release } = holding();
  const first = world.container({ through }).run();
  await obtained;
  const seen = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const late = world.container({
    through: (versions) => ({
      ...versions,
      pending: async (name) => {
        const claimed = await versions.pending(name);
        seen.resolve();
        await held.promise;
        return claimed;
      },
    }),
  });
  const second = late.run({ forMs: 60 * minuteMs });
  await seen.promise;
  release();
  expect(await first).toEqual({ ...nothing, refreshed: 1 });
  // The claim that it saw is over by now.
  world.clock.nowMs += 20 * minuteMs;
  held.resolve();
  expect(await second).toEqual({ ...nothing, waiting: 1 });
  expect(late.errors()).toEqual([]);
  expect((await world.counts()).total).toBe(1);
});

describe('a request without tokens', () => {
  test.each<[string, object]>([
    ['503', { status: 503 }],
    ['429', { status: 429, headers: { 'Retry-After': '30' } }],
    ['500', { status: 500 }],
    ['a lost connection, before the server has acted', { reset: 'before' }],
    ['no answer in time, before the server has acted', { delayMs: 3_000 }],
  ])('because of %s is made again later, while the last tokens serve', async (_, fault) => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    await world.container().run();
    world.clock.nowMs += 41 * minuteMs;
    await world.tokenFault(fault);
    const { run, warnings, errors } = world.container({ tokenTimeoutMs: 1_000 });
    expect(await run()).toEqual({ ...nothing, waiting: 1 });
    expect(warnings()).toMatchObject([
      { message: 'no new tokens yet; the last are still valid', secret: service },
    ]);
    expect(errors()).toEqual([]);
    // Not at once: each request is a version of the secret, and the server may need rest.
    expect(await run()).toEqual({ ...nothing, waiting: 1 });
    world.clock.nowMs += 5 * minuteMs;
    expect(await run()).toEqual({ ...nothing, refreshed: 1 });
    expect(await world.userOf((await world.read(service)).accessToken)).toBe('100');
  });

  test('while the last are over is an error', async () => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    await world.tokenFault({ status: 503 });
    const { run, errors } = world.container();
    await run();
    expect(errors()).toMatchObject([
      { message: 'no new tokens yet, and the last have expired: messages wait' },
    ]);
  });

  test('is made ever more seldom while it fails, and soon again after a success', async () => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    await world.tokenFault({ status: 500 }, 100);
    const { run } = world.container();
    for (let minute = 0; minute < 120; minute += 5) {
      await run();
      world.clock.nowMs += 5 * minuteMs;
    }
    // At 0, 5, 15, 30, 45, … 105 minutes.
    expect((await world.tell<unknown[]>('GET requests')).length).toBe(9);
    await world.tell('DELETE faults');
    world.clock.nowMs += 15 * minuteMs;
    expect(await run()).toEqual({ ...nothing, refreshed: 1 });
  });

  test('is made again however often it has failed before', async () => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    await world.tokenFault({ status: 500 });
    const { run } = world.container();
    await run();
    // After two days and more.
    const claim = { ...(await world.read(service, 'AWSPENDING')), attempt: 200 };
    const staged = { SecretString: JSON.stringify(claim), VersionStages: ['AWSPENDING'] };
    await world.client.send(new PutSecretValueCommand({ SecretId: service, ...staged }));
    world.clock.nowMs += 20 * minuteMs;
    expect(await run()).toEqual({ ...nothing, refreshed: 1 });
  });

  test('that the server was busy for keeps all others of this run from it', async () => {
    const world = await tokenWorld();
    for (const id of [301, 302, 303]) await world.create(secretsOf(id), await world.byRefreshToken(id));
    await world.create(service, await world.byRefreshToken());
    await world.tokenFault({ status: 429, headers: { 'Retry-After': '400' } });
    const { run } = world.container();
    expect(await run()).toEqual({ ...nothing, waiting: 4 });
    world.clock.nowMs += 5 * minuteMs;
    expect(await run()).toEqual({ ...nothing, waiting: 4 });
    expect((await world.tell<unknown[]>('GET requests')).length).toBe(1);
    world.clock.nowMs += 5 * minuteMs;
    expect(await run()).toEqual({ ...nothing, refreshed: 4 });
  });

  test('that the server was busy for, for ten years as it says, lasts an hour', async () => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    await world.tokenFault({ status: 429, headers: { 'Retry-After': '315360000' } });
    const { run } = world.container();
    expect(await run()).toEqual({ ...nothing, waiting: 1 });
    world.clock.nowMs += 61 * minuteMs;
    expect(await run()).toEqual({ ...nothing, refreshed: 1 });
  });

  test('because the client is refused says what to correct, and heals when that is done', async () => {
    const world = await tokenWorld();
    const secret = await world.byRefreshToken();
    await world.create(service, { ...secret, clientSecret: 'rotated' });
    const { run, errors, text } = world.container();
    expect(await run()).toEqual({ ...nothing, correct: 1 });
    expect(errors()).toMatchObject([
      { secret: service, reason: 'the token endpoint answered 401 invalid_client' },
    ]);
    await world.put(service, secret);
    world.clock.nowMs += 5 * minuteMs;
    expect(await run()).toEqual({ ...nothing, refreshed: 1 });
    expect(text()).not.toContain('rotated');
  });

  test('because too little time is left is not begun', async () => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    expect(await world.container().run({ forMs: 10_000 })).toEqual({ ...nothing, waiting: 1 });
    expect((await world.counts()).total).toBe(0);
    const writes = (await world.secretCalls()).filter(({ action }) => action === 'PutSecretValue');
    expect(writes).toEqual([]);
  });
});

describe('a refresh token that is refused', () => {
  const refusedWorld = async () => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    await world.tell('DELETE oauth/refreshTokens');
    return world;
  };

  test('calls a person, once, and is not sent again', async () => {
    const world = await refusedWorld();
    const { run, errors, metrics } = world.container();
    for (let time = 0; time < 5; time += 1) {
      expect(await run()).toEqual({ ...nothing, authorize: 1 });
      world.clock.nowMs += 20 * minuteMs;
    }
    // Another container knows it as well.
    const another = world.container();
    expect(await another.run()).toEqual({ ...nothing, authorize: 1 });
    expect(another.errors()).toEqual([]);
    expect(errors()).toMatchObject([
      {
        message: 'a person must authorize again and put the new refresh token into the secret',
        secret: service,
        reason: 'the token endpoint answered 400 invalid_grant',
      },
    ]);
    expect(metrics().some((line) => line.AuthorizationsNeeded !== undefined)).toBe(true);
    expect(await world.counts()).toEqual({ total: 1, issued: 0, refused: 1 });
    expect(await world.read(service)).toMatchObject({
      refused: { reason: expect.stringContaining('invalid_grant') },
    });
  });

  test('is forgotten when a person has put another one there', async () => {
    const world = await refusedWorld();
    const { run } = world.container();
    await run();
    const { refused, ...rest } = await world.read(service);
    // Even where the note about the old one is left in.
    await world.put(service, { ...rest, refused, refreshToken: await world.authorize() });
    expect(await run()).toEqual({ ...nothing, refreshed: 1 });
    const after = await world.read(service);
    expect(after.refused).toBeUndefined();
    expect(await world.userOf(after.accessToken)).toBe('100');
  });

  test('whose predecessor’s answer was lost is told so', async () => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    await world.tokenFault({ reset: 'after' });
    const { run, errors } = world.container();
    expect(await run()).toEqual({ ...nothing, waiting: 1 });
    world.clock.nowMs += 5 * minuteMs;
    expect(await run()).toEqual({ ...nothing, authorize: 1 });
    expect(errors().at(-1)?.reason).toBe(
      'the token endpoint answered 400 invalid_grant, after 1 requests that brought no tokens, one of which may have spent the refresh token',
    );
  });

  test('is told with every run as a number, which is 0 again in the end', async () => {
    const world = await refusedWorld();
    const numberAfter = async () => {
      const { run, metrics } = world.container();
      await run();
      return metrics().flatMap((line) => line.AuthorizationsNeeded ?? []);
    };
    expect([await numberAfter(), await numberAfter()]).toEqual([[1], [1]]);
    await world.put(service, await world.byRefreshToken());
    expect(await numberAfter()).toEqual([0]);
  });
});

describe('new tokens that cannot be stored', () => {
  test('are kept by the container and stored by its next run, and nothing is asked for meanwhile', async () => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    const { through, obtained, release } = holding();
    const { run, errors } = world.container({ through });
    // The claim gets through, and what comes after it does not.
    const running = run();
    await obtained;
    await world.secretFault({ action: 'PutSecretValue', status: 500, times: 2 });
    release();
    expect(await running).toEqual({ ...nothing, waiting: 1 });
    expect(errors()).toMatchObject([
      { message: 'new tokens are not stored yet: if this container dies, a refresh token may be lost' },
    ]);
    world.clock.nowMs += 20 * minuteMs;
    expect(await run()).toEqual({ ...nothing, waiting: 1 });
    expect((await world.counts()).total).toBe(1);
    expect(await run()).toEqual({ ...nothing, fresh: 1 });
    expect((await world.counts()).total).toBe(1);
    expect(await world.userOf((await world.read(service)).accessToken)).toBe('100');
  });

  test('because the secret may not be written are not asked for: the claim fails first', async () => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    await world.secretFault({ action: 'PutSecretValue', type: 'AccessDeniedException', status: 400 });
    const { run, errors } = world.container();
    expect(await run()).toEqual({ ...nothing, failed: 1 });
    expect(errors()).toMatchObject([{ error: { name: 'AccessDeniedException' } }]);
    expect((await world.counts()).total).toBe(0);
    await world.secretRecovers();
    expect(await run()).toEqual({ ...nothing, refreshed: 1 });
  });
});

describe('a secret that a person changes while its tokens are renewed', () => {
  const renewedMeanwhile = async (
    change: (world: Awaited<ReturnType<typeof tokenWorld>>) => Promise<object>,
  ) => {
    const world = await tokenWorld();
    await world.create(service, await world.byRefreshToken());
    const { through, obtained, release } = holding();
    const refresher = world.container({ through });
    const running = refresher.run();
    await obtained;
    const changed = await change(world);
    await world.put(service, changed);
    release();
    await running;
    return { world, refresher, changed, after: await world.read(service) };
  };

  test('keeps both the change and the new tokens', async () => {
    const { world, after } = await renewedMeanwhile(async ({ read }) => ({
      ...(await read(service)),
      scopes: ['enrollment:orgunit:create'],
    }));
    expect(after.scopes).toEqual(['enrollment:orgunit:create']);
    expect(await world.userOf(after.accessToken)).toBe('100');
  });

  test('keeps the other authorization that the person put there', async () => {
    const { refresher, changed, after } = await renewedMeanwhile((world) => world.byRefreshToken(301));
    expect(after).toEqual(changed);
    expect(refresher.warnings()).toMatchObject([
      { message: expect.stringContaining('another authorization') },
    ]);
  });
});

test('a secret that is no usable client says which fields are wrong, and repeats none of them', async () => {
  const world = await tokenWorld();
  await world.create(service, {
    ...world.oauthClient,
    grant: 'refresh_token',
    clientSecretIn: 'psst-in-a-word',
    'psst-1-in-the-wrong-place': 'clientSecret',
  });
  const { run, errors, text } = world.container();
  expect(await run()).toEqual({ ...nothing, correct: 1 });
  expect(errors()).toMatchObject([{ secret: service, reason: expect.stringContaining('clientSecretIn') }]);
  expect(text()).not.toMatch(/psst|local-client-secret/);
});

test('no token, secret or key is ever logged', async () => {
  const world = await tokenWorld();
  const secret = await world.byRefreshToken();
  await world.create(service, secret);
  const refresher = world.container();
  await refresher.run();
  const first = await world.read(service);
  world.clock.nowMs += 41 * minuteMs;
  await world.tokenFault({ reset: 'after' });
  await refresher.run();
  world.clock.nowMs += 5 * minuteMs;
  await refresher.run();
  refresher.errors();
  for (const word of [secret.refreshToken, secret.clientSecret, first.refreshToken, first.accessToken])
    expect(refresher.text()).not.toContain(word);
  expect(refresher.text()).toContain('authorize again');
});

test('a secret that only a person can correct is counted with every run, until somebody has', async () => {
  const world = await tokenWorld();
  await world.create(service, { ...(await world.byRefreshToken()), tokenUrl: 'nowhere' });
  const container = world.container();
  for (let runs = 1; runs <= 3; runs += 1) {
    expect(await container.run()).toMatchObject({ correct: 1 });
    const metrics = container.metrics().filter((line) => line.outcome === 'correct');
    expect(metrics).toHaveLength(runs);
  }
});
