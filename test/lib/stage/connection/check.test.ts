import { beforeEach, describe, expect, test } from 'vitest';
import { metricLinesOf } from '../../../../functions/connection-check.ts';
import { checkConnection } from '../../../../lib/stage/connection/check.ts';
import { connectionOf } from '../../../../lib/stage/connection/connection.ts';
import { localOffice } from '../../desk/cli/local-office.ts';

const office = localOffice({ functions: false });

const serviceKey = (userKey = 'local-key-100') => ({
  type: 'id-key',
  appId: 'local-app',
  appKey: 'local-app-key',
  userId: '100',
  userKey,
});
const check = async (settings: Record<string, string> = {}) => {
  const connection = await connectionOf(office.target({ PLATFORM_CONNECT_TIMEOUT_MS: '500', ...settings }));
  if (connection === undefined) throw new Error('no platform');
  try {
    return await checkConnection(connection);
  } finally {
    await connection.client.close();
  }
};

beforeEach(async () => {
  await office.controls().reset();
  await office.controls().clock(0);
  await office.controls().secret('sis-relay/local/service', serviceKey());
});

describe('the connection', () => {
  test('is well where the platform takes the credential and has the versions', async () => {
    expect(await check()).toEqual({
      platform: office.stack().description.platform,
      reachable: true,
      credentialAccepted: true,
      credentialSinceMs: expect.any(Number),
      changes: { refused: 'no' },
      waitingFor: undefined,
      clockSkewSeconds: expect.any(Number),
      versions: [
        { component: 'lp', version: '1.49', supported: true },
        { component: 'le', version: '1.82', supported: true },
      ],
      budget: { remaining: expect.any(Number), endsMs: expect.any(Number) },
      authorizationDays: undefined,
      scopes: undefined,
      problems: [],
    });
  });

  test('changes nothing on the platform', async () => {
    await check();
    expect((await office.controls().requests()).map(({ method }) => method)).toEqual(['GET', 'GET']);
  });

  test('says which override has no effect, as it names no operation', async () => {
    const PLATFORM_OPERATIONS = '{"set-grade-valu":{"version":"1.9"},"set-grade-value":{"version":"1.9"}}';
    expect((await check({ PLATFORM_OPERATIONS })).problems).toMatchObject([
      { what: 'PLATFORM_OPERATIONS names unknown operations: set-grade-valu' },
    ]);
  });

  test('has a refused credential, which names its secret', async () => {
    await office.controls().key(100, 'another');
    expect(await check()).toMatchObject({
      reachable: true,
      credentialAccepted: false,
      problems: [
        {
          what: 'The platform refuses the credential in the secret sis-relay/local/service',
          remedy: expect.stringMatching(/credential/),
        },
      ],
    });
  });

  test('has a secret that nobody can use', async () => {
    await office.controls().secret('sis-relay/local/service', { type: 'id-key' });
    expect(await check()).toMatchObject({
      reachable: true,
      credentialAccepted: false,
      problems: [{ what: expect.stringContaining('sis-relay/local/service is not a credential') }],
    });
  });

  test('has nobody at the other end, and does not blame the credential', async () => {
    const report = await check({ PLATFORM_URL: 'http://127.0.0.1:9' });
    expect(report).toMatchObject({
      reachable: false,
      credentialAccepted: undefined,
      clockSkewSeconds: undefined,
    });
    expect(report.problems).toHaveLength(1);
  });

  test.each([
    { status: 200, headers: { 'content-type': 'text/html' }, body: '<html><title>Sign in</title></html>' },
    { status: 302, headers: { location: 'https://sso.example.edu/login' } },
  ])('has something before the platform, which is not the platform: $status', async (fault) => {
    await office.controls().fault(fault, { times: 10 });
    const { reachable, credentialAccepted, problems } = await check();
    expect({ reachable, credentialAccepted }).toEqual({ reachable: false, credentialAccepted: undefined });
    expect(problems).toMatchObject([
      {
        what: expect.stringMatching(/^Something in front of the platform’s API answered/),
        remedy: expect.stringMatching(/proxy/),
      },
    ]);
  });

  test('is one that messages wait for, while the platform asks to wait', async () => {
    await office.controls().fault({ status: 429 }, { times: 10 });
    expect(await check()).toMatchObject({
      reachable: true,
      credentialAccepted: undefined,
      waitingFor: { kind: 'throttled', why: expect.stringContaining('429') },
      problems: [{ what: expect.stringContaining('429') }],
    });
  });

  test('has a credential that is known, though it may not ask who it is', async () => {
    const detail = 'Insufficient scope to call API. Required: users:own_profile:read';
    const body = { type: 'not-authorized', title: 'Not Authorized', status: 403, detail };
    const headers = { 'content-type': 'application/problem+json' };
    await office.controls().fault({ status: 403, headers, body }, { path: 'whoami' });
    expect(await check()).toMatchObject({
      credentialAccepted: true,
      waitingFor: undefined,
      problems: [{ remedy: expect.stringContaining('users:own_profile:read') }],
    });
  });

  test('has a platform that fails', async () => {
    await office.controls().fault({ status: 500 }, { times: 10 });
    expect(await check()).toMatchObject({ reachable: false, credentialAccepted: undefined });
  });

  test('works with a clock that is off, and says by how much', async () => {
    await office.controls().clock(600);
    const { credentialAccepted, clockSkewSeconds, problems } = await check();
    expect(credentialAccepted).toBe(true);
    expect(clockSkewSeconds).toBeGreaterThan(590);
    expect(problems).toMatchObject([{ what: expect.stringContaining('10 min ahead of ours') }]);
  });

  test('tells the clock of a person’s machine from the platform’s, by AWS’ time', async () => {
    const connection = await connectionOf(office.target({ PLATFORM_CONNECT_TIMEOUT_MS: '500' }));
    const report = connection && (await checkConnection(connection, { ownOffsetMs: 12 * 3_600_000 }));
    await connection?.client.close();
    // Seen from a machine that is 12 h behind, a platform that is right seems to be that much ahead: here, it is seen as behind.
    expect(report?.ownSkewSeconds).toBe(-43_200);
    expect(report?.problems[0]).toMatchObject({
      what: 'The clock of this machine is 12 h behind AWS’',
      remedy: expect.stringContaining('not affected'),
    });
    expect(Math.abs((report?.clockSkewSeconds ?? 0) + 43_200)).toBeLessThan(5);
  });

  test('does not follow a clock that is off by more than a day, and says who must correct it', async () => {
    await office.controls().clock(2 * 86_400);
    const { credentialAccepted, problems } = await check();
    expect(credentialAccepted).not.toBe(true);
    expect(problems).toContainEqual(
      expect.objectContaining({ remedy: expect.stringContaining('more than a day from theirs') }),
    );
  });

  test('names a version that the platform does not have, and the setting to change', async () => {
    const { versions, problems } = await check({ PLATFORM_LE_VERSION: '1.11' });
    expect(versions).toContainEqual({ component: 'le', version: '1.11', supported: false });
    expect(problems).toMatchObject([{ remedy: expect.stringContaining('leVersion') }]);
  });
});

describe('the authorization', () => {
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  const oauth = (more: object) => ({
    type: 'oauth',
    tokenUrl: 'https://auth.example.edu/token',
    clientId: 'client',
    clientSecret: 'secret',
    ...more,
  });

  test.each([
    [
      'of a refresh token ends when nobody used it for as long as the site allows',
      { grant: 'refresh_token', refreshToken: 'r', obtainedAt: daysAgo(26.5) },
      30,
      3,
    ],
    [
      'that was refused is over',
      {
        grant: 'refresh_token',
        refreshToken: 'r',
        refused: { state: 's', at: daysAgo(0), reason: 'invalid_grant' },
      },
      30,
      0,
    ],
    [
      'of a refresh token is of unknown length where the site does not tell',
      { grant: 'refresh_token', refreshToken: 'r', obtainedAt: daysAgo(26) },
      undefined,
      undefined,
    ],
    [
      'of a client of its own right lasts',
      { grant: 'client_credentials', obtainedAt: daysAgo(300) },
      30,
      undefined,
    ],
  ])('%s', async (_, more, lifeDays, expected) => {
    await office.controls().secret('sis-relay/local/service', oauth(more));
    const report = await check(lifeDays === undefined ? {} : { REFRESH_TOKEN_DAYS: `${lifeDays}` });
    expect(report.authorizationDays).toBe(expected);
    const reported = report.problems.some(({ what }) => what.startsWith('The authorization ends'));
    expect(reported).toBe(expected !== undefined);
  });
});

test('its metrics are one line for CloudWatch; what is not known is not in it', async () => {
  const linesOf = async (settings?: Record<string, string>) =>
    metricLinesOf(await check(settings), 'sis-relay/test').map((line) => JSON.parse(line));
  const [line, ...others] = await linesOf();
  expect(others).toEqual([]);
  expect(line).toMatchObject({
    function: 'connection-check',
    PlatformReachable: [1],
    CredentialAccepted: [1],
    VersionsSupported: [1],
    ClockSkew: [expect.any(Number)],
  });
  expect(line).not.toHaveProperty('AuthorizationDays');
  const reported = { Namespace: 'sis-relay/test', Dimensions: [['function']] };
  expect(line._aws.CloudWatchMetrics).toContainEqual({
    ...reported,
    Metrics: [{ Name: 'ClockSkew', Unit: 'Seconds' }],
  });
  for (const directive of line._aws.CloudWatchMetrics) expect(directive).toMatchObject(reported);
  const [unreachable] = await linesOf({ PLATFORM_URL: 'http://127.0.0.1:9' });
  expect(unreachable).toMatchObject({ PlatformReachable: [0] });
  expect(unreachable).not.toHaveProperty('CredentialAccepted');
});
