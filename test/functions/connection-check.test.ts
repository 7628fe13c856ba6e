import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { handler } from '../../functions/connection-check.ts';
import { localOffice } from '../lib/show/cli/local-office.ts';
import { settingsOf } from '../local/stack.ts';

const office = localOffice({ functions: false });
let lines: string[] = [];

beforeEach(() => {
  lines = [];
  const environment = {
    ...settingsOf(office.stack().description, 'connection-check'),
    AWS_LAMBDA_FUNCTION_NAME: 'sis-relay-local-connection-check',
  };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  vi.spyOn(process.stdout, 'write').mockImplementation(
    (text) => lines.push(...String(text).trim().split('\n')) > 0,
  );
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

test('a connection that is well is answered, logged and counted', async () => {
  expect(await handler()).toMatchObject({ reachable: true, credentialAccepted: true, problems: [] });
  const [log, metrics] = lines.map((line) => JSON.parse(line));
  expect(log).toMatchObject({
    level: 'INFO',
    function: 'connection-check',
    message: 'the connection works',
  });
  expect(metrics).toMatchObject({ PlatformReachable: [1], CredentialAccepted: [1], VersionsSupported: [1] });
});

test('a refused credential is an error in the log, and a metric that pages somebody', async () => {
  await office.controls().key(100, 'another');
  expect(await handler()).toMatchObject({ reachable: true, credentialAccepted: false });
  const [log, metrics] = lines.map((line) => JSON.parse(line));
  expect(log).toMatchObject({
    level: 'ERROR',
    problems: [{ remedy: expect.stringMatching(/sis-relay\/local\/service|credential/i) }],
  });
  expect(metrics).toMatchObject({ PlatformReachable: [1], CredentialAccepted: [0] });
  expect(lines.join()).not.toMatch(/local-key|x_[a-d]=/);
  await office.controls().reset();
});

test('a function that is not told which platform it is for says so', async () => {
  vi.stubEnv('PLATFORM_URL', '');
  await expect(handler()).rejects.toThrow('PLATFORM_URL is missing');
});

test('the days that the site gives a refresh token are counted down', async () => {
  vi.stubEnv('REFRESH_TOKEN_DAYS', '30');
  vi.stubEnv('METRIC_NAMESPACE', 'sis-relay/local');
  const obtainedAt = new Date(Date.now() - 10.5 * 86_400_000).toISOString();
  await office.controls().secret('sis-relay/local/service', {
    ...{ type: 'oauth', grant: 'refresh_token', tokenUrl: 'https://auth.example.edu/token' },
    ...{ clientId: 'c', clientSecret: 's', refreshToken: 'r', accessToken: 'none', obtainedAt },
  });
  expect(await handler()).toMatchObject({ authorizationDays: 19 });
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({
    AuthorizationDays: [19],
    _aws: {
      CloudWatchMetrics: expect.arrayContaining([
        {
          Namespace: 'sis-relay/local',
          Dimensions: [['function']],
          Metrics: [{ Name: 'AuthorizationDays', Unit: 'Count' }],
        },
      ]),
    },
  });
});
