import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { handler } from '../../functions/connection-check.ts';
import { readReach } from '../../lib/runtime/telemetry/platform-reach.ts';
import { localOffice } from '../lib/desk/cli/local-office.ts';
import { settingsOf } from '../local/stack.ts';
import { logForTests } from './log-for-tests.ts';

const office = localOffice({ functions: false });
const lines = logForTests();

beforeEach(() => {
  const environment = {
    ...settingsOf(office.stack().description, 'connection-check'),
    AWS_LAMBDA_FUNCTION_NAME: 'sis-relay-local-connection-check',
  };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
});
afterEach(() => vi.unstubAllEnvs());

test('a connection that is well is answered, logged and counted', async () => {
  expect(await handler()).toMatchObject({ reachable: true, credentialAccepted: true, problems: [] });
  const [log, metrics] = lines().map((line) => JSON.parse(line));
  const message = 'the connection works';
  expect(log).toMatchObject({ level: 'INFO', function: 'connection-check', message });
  expect(metrics).toMatchObject({ PlatformReachable: [1], CredentialAccepted: [1], VersionsSupported: [1] });
});

test('what it saw last is kept for people whose machines have another network, with since when it is so', async () => {
  const { dynamodb, ledgerTable: table = '' } = office.target();
  const seen = () => readReach({ dynamodb, table, nowMs: Date.now });
  await handler();
  const before = await seen();
  expect(before).toMatchObject({ isReached: true, what: '', remedy: '' });
  vi.stubEnv('PLATFORM_URL', 'http://127.0.0.1:9');
  await handler();
  const first = await seen();
  await handler();
  const second = await seen();
  expect(first).toMatchObject({ isReached: false, what: expect.stringContaining('no connection') });
  expect(second?.sinceMs).toBe(first?.sinceMs);
  expect(second?.atMs).toBeGreaterThan(first?.atMs ?? 0);
});

test('a refused credential is an error in the log, and a metric that pages somebody', async () => {
  await office.controls().key(100, 'another');
  expect(await handler()).toMatchObject({ reachable: true, credentialAccepted: false });
  const [log, metrics] = lines().map((line) => JSON.parse(line));
  expect(log).toMatchObject({
    level: 'ERROR',
    problems: [{ remedy: expect.stringMatching(/sis-relay\/local\/service|credential/i) }],
  });
  expect(metrics).toMatchObject({ PlatformReachable: [1], CredentialAccepted: [0] });
  expect(lines().join()).not.toMatch(/local-key|x_[a-d]=/);
  await office.controls().reset();
});

test('a function that is not told which platform it is for says so', async () => {
  vi.stubEnv('PLATFORM_URL', '');
  await expect(handler()).rejects.toThrow('PLATFORM_URL is missing');
});
