// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { localRegion } from '../../../../local/aws/aws.ts';
import { minuteMs, prefix, service, tokenWorld } from './fixture.ts';

type Moment = { at: number; when: 'before' | 'after' };
type World = Awaited<ReturnType<typeof tokenWorld>>;

/** Every call that a run makes, in its order: between two of them nothing is changed outside the process. */
const calls = [
  'GetSecretValue of what is current',
  'GetSecretValue of what is staged',
  'PutSecretValue of the claim',
  'GetSecretValue under the claim',
  'the token request',
  'PutSecretValue of the new pair',
  'GetSecretValue before it is made current',
  'UpdateSecretVersionStage',
  'ListSecrets',
] as const;

/** From the server's answer to the stored pair: what is lost here is lost. */
const lossAt = ['after the token request', 'before PutSecretValue of the new pair'];

const moments = calls.flatMap((call, at) =>
  (['before', 'after'] as const).map((when) => ({ moment: `${when} ${call}`, at, when })),
);

/** Passes requests on, and counts them over both servers; `meet` hears of each before and after it has its effect. */
const passing = async (upstreams: string[], meet: (when: 'before' | 'after', number: number) => boolean) => {
  let count = 0;
  const urls = upstreams.map(async (upstream) => {
    const server = createServer(async (request, response) => {
      const number = count;
      count += 1;
      const body = await buffer(request);
      if (meet('before', number)) return void request.socket.destroy();
      const { host, connection, 'content-length': _, expect: __, ...headers } = request.headers;
      const sent = {
        method: request.method!,
        headers: headers as Record<string, string>,
        redirect: 'manual' as const,
      };
      const answer = await fetch(upstream + request.url, body.length > 0 ? { ...sent, body } : sent);
      const text = Buffer.from(await answer.arrayBuffer());
      if (meet('after', number)) return void request.socket.destroy();
      response
        .writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
        .end(text);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  return { urls: await Promise.all(urls), count: () => count };
};

/** A world whose tokens are due, and a process that renews them until it is killed at a moment. */
const renewing = async (killedAt?: Moment, prepare: (world: World) => Promise<unknown> = async () => {}) => {
  const world = await tokenWorld();
  let kill = () => {};
  const met = (when: string, number: number): boolean => {
    const isMoment = number === killedAt?.at && when === killedAt.when;
    if (isMoment) kill();
    return isMoment;
  };
  const { urls, count } = await passing([world.secrets.url, world.platform.url], met);
  const tokenUrl = `${urls[1]}${new URL(world.platform.tokenUrl).pathname}`;
  const now = Date.now();
  await world.create(service, {
    ...(await world.byRefreshToken()),
    tokenUrl,
    accessToken: await world.accessToken(),
    obtainedAt: new Date(now - 50 * minuteMs).toISOString(),
    expiresAt: new Date(now + 10 * minuteMs).toISOString(),
  });

  await prepare(world);
  const child = spawn(process.execPath, [join(import.meta.dirname, 'process.ts')], {
    env: {
      PATH: process.env.PATH,
      // Where compiled code is kept: one process a moment would compile the same again.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      AWS_REGION: localRegion,
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_ENDPOINT_URL_SECRETS_MANAGER: urls[0],
      SECRET_PREFIX: prefix,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  kill = () => child.kill('SIGKILL');
  const [output, [, signal]] = await Promise.all([buffer(child.stdout), once(child, 'exit')]);
  const [, summary] = /(\{"summary".*)/.exec(output.toString()) ?? [];
  return { world, signal, summary: summary && JSON.parse(summary).summary, count, output: output.toString() };
};

/** Runs as the schedule makes them, for a while; the errors that they told. */
const laterRuns = async (world: World) => {
  const errors: unknown[] = [];
  for (let run = 0; run < 4; run += 1) {
    world.clock.nowMs = Date.now() + (run + 1) * 5 * minuteMs;
    const container = world.container();
    await container.run();
    errors.push(...container.errors().map(({ message }) => message));
  }
  return errors;
};

test('a run that is not killed makes these calls', async () => {
  const { world, summary, count } = await renewing();
  expect(summary).toMatchObject({ refreshed: 1 });
  expect(count()).toBe(calls.length);
  expect(await world.userOf((await world.read(service)).accessToken)).toBe('100');
});

describe('a run that is killed', () => {
  test.each(moments)(
    '$moment leaves a usable pair, or calls a person where it is lost',
    async ({ moment, at, when }) => {
      const { world, signal } = await renewing({ at, when });
      expect(signal).toBe('SIGKILL');
      // Whatever was going on, the functions go on with what is current.
      expect(await world.userOf((await world.read(service)).accessToken)).toBe('100');

      const errors = await laterRuns(world);
      const secret = await world.read(service);
      expect(await world.userOf(secret.accessToken)).toBe('100');
      if (lossAt.includes(moment)) {
        expect(errors).toEqual([
          'a person must authorize again and put the new refresh token into the secret',
        ]);
        expect(secret.refused).toBeDefined();
        await world.put(service, { ...secret, refreshToken: await world.authorize() });
      } else {
        expect(errors).toEqual([]);
        expect(secret.refused).toBeUndefined();
        expect(Date.parse(secret.expiresAt!)).toBeGreaterThan(Date.now() + 20 * minuteMs);
      }
      // The pair is whole: its refresh token, too, is good.
      world.clock.nowMs += 20 * minuteMs;
      expect(await world.container().run({ force: true })).toMatchObject({ refreshed: 1 });
      expect(await world.userOf((await world.read(service)).accessToken)).toBe('100');
      expect((await world.counts()).refused).toBe(lossAt.includes(moment) ? 1 : 0);
    },
  );
});

describe('a run that is killed while it calls a person', () => {
  const refusal = calls.indexOf('the token request');
  test.each<Moment & { moment: string }>([
    { moment: 'after the refusal', at: refusal, when: 'after' },
    { moment: 'before the note is staged', at: refusal + 1, when: 'before' },
    { moment: 'after the note is staged', at: refusal + 1, when: 'after' },
    { moment: 'before the note is current', at: refusal + 2, when: 'before' },
    { moment: 'after the note is current', at: refusal + 2, when: 'after' },
  ])('$moment has called, or its successor does, and then nobody asks any more', async ({ at, when }) => {
    const { world, signal, output } = await renewing({ at, when }, ({ tell }) =>
      tell('DELETE oauth/refreshTokens'),
    );
    expect(signal).toBe('SIGKILL');
    const requests = [...output.matchAll(/a person must authorize again/g), ...(await laterRuns(world))];
    expect(requests.length).toBeGreaterThanOrEqual(1);
    expect(requests.length).toBeLessThanOrEqual(2);
    const asked = (await world.counts()).total;
    expect(await laterRuns(world)).toEqual([]);
    expect((await world.counts()).total).toBe(asked);
    await world.put(service, { ...(await world.read(service)), refreshToken: await world.authorize() });
    expect(await world.container().run()).toMatchObject({ refreshed: 1 });
  });
});
