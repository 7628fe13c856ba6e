import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { ReceiveMessageCommand, SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import type { Context } from 'aws-lambda';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { integration } from '../../functions/enrollment-create.ts';
import { handlerOf } from '../../lib/delivery/handle/handler.ts';
import { createServices } from '../../lib/delivery/handle/services.ts';
import { createSecretVersions } from '../../lib/platform/auth/versions.ts';
import { settingsFrom } from '../../lib/runtime/aws/settings.ts';
import { localClient } from '../local/aws.ts';
import { controlsOf } from '../local/controls.ts';
import { mapQueue } from '../local/event-source-mapping.ts';
import { type Stack, settingsOf, startStack } from '../local/stack.ts';

let stack: Stack;
let tokenUrl: string;
const event = async () =>
  JSON.parse(await readFile(join(import.meta.dirname, '../../events/token-refresh.json'), 'utf8'));
const contextFor = (remainingMs: number): Context => {
  const endMs = Date.now() + remainingMs;
  return { getRemainingTimeInMillis: () => endMs - Date.now() } as Context;
};
const local = async <Answer>(method: string, name: string, body?: object): Promise<Answer> => {
  const url = `${stack.description.platform}/_local/${name}`;
  const answer = await fetch(url, { method, ...(body && { body: JSON.stringify(body) }) });
  return (await answer.json()) as Answer;
};
const counts = async () =>
  (await local<{ tokenRequests: { total: number; issued: number } }>('GET', 'oauth')).tokenRequests;

/** A container of the function: its module is loaded anew. */
const container = async () => {
  vi.resetModules();
  return (await import('../../functions/token-refresh.ts')).handler;
};

/** The service's secret, as a person wrote it, with these tokens. */
const secretOf = async (tokens: object = {}) => {
  const { refreshToken } = await local<{ refreshToken: string }>('POST', 'oauth/refreshTokens', {
    clientId: 'local-client',
  });
  const client = { clientId: 'local-client', clientSecret: 'local-client-secret' };
  return { type: 'oauth', grant: 'refresh_token', tokenUrl, ...client, refreshToken, ...tokens };
};

const write = vi.spyOn(process.stdout, 'write');

beforeAll(async () => {
  stack = await startStack({ functions: false });
  for (const [name, value] of Object.entries(settingsOf(stack.description, 'enrollment-create')))
    vi.stubEnv(name, value);
});
beforeEach(async () => {
  await controlsOf(stack.description).reset();
  ({ tokenUrl } = await local<{ tokenUrl: string }>('GET', 'oauth'));
  write.mockImplementation(() => true);
});
afterEach(() => void write.mockReset());
afterAll(async () => {
  write.mockRestore();
  vi.unstubAllEnvs();
  await stack.close();
});

const logged = (): Record<string, unknown>[] =>
  write.mock.calls.flatMap(([text]) => String(text).trim().split('\n')).map((line) => JSON.parse(line));

describe('token-refresh', () => {
  test('renews on schedule what is due, and writes its metrics', async () => {
    await controlsOf(stack.description).secret(stack.description.secrets.service, await secretOf());
    const handler = await container();
    expect(await handler(await event(), contextFor(60_000))).toMatchObject({ refreshed: 1, none: 2 });
    expect(await handler(await event(), contextFor(60_000))).toMatchObject({ fresh: 1, none: 2 });
    expect(logged()).toContainEqual(expect.objectContaining({ outcome: 'refreshed', TokenRefreshes: [1] }));
    expect(logged()).toContainEqual(
      expect.objectContaining({ function: 'token-refresh', AuthorizationsNeeded: [0] }),
    );
    expect(await counts()).toMatchObject({ issued: 1 });
  });

  test('renews at once where it is asked to', async () => {
    await controlsOf(stack.description).secret(stack.description.secrets.service, await secretOf());
    const handler = await container();
    await handler(await event(), contextFor(60_000));
    expect(await handler({ force: true }, contextFor(60_000))).toMatchObject({ refreshed: 1 });
    expect(await counts()).toMatchObject({ issued: 2 });
  });

  test('does not fail as a whole where Secrets Manager is down, and says so', async () => {
    await controlsOf(stack.description).awsFault('secretsManager', { status: 500, times: 100 });
    const handler = await container();
    try {
      expect(await handler(await event(), contextFor(60_000))).toMatchObject({ waiting: 2, failed: 0 });
      expect(logged()).toContainEqual(
        expect.objectContaining({ level: 'ERROR', message: 'tokens could not be renewed' }),
      );
    } finally {
      await fetch(`${stack.description.secretsManager}/_local/faults`, { method: 'DELETE' });
    }
  });

  test('does not end well unheard where every call of AWS is denied', async () => {
    const fault = { status: 400, type: 'AccessDeniedException', times: 100 };
    await controlsOf(stack.description).awsFault('secretsManager', fault);
    const handler = await container();
    try {
      expect(await handler(await event(), contextFor(60_000))).toMatchObject({ failed: 2, waiting: 0 });
      expect(logged()).toContainEqual(
        expect.objectContaining({
          level: 'ERROR',
          reason: expect.stringMatching(
            /^AWS refuses secretsmanager:GetSecretValue on the secret sis-relay\/local\/service \(AccessDenied/,
          ),
        }),
      );
      // The two alarms that ring.
      expect(logged()).toContainEqual(expect.objectContaining({ outcome: 'failed', TokenRefreshes: [2] }));
      expect(logged()).toContainEqual(expect.objectContaining({ kind: 'aws-refused', Refusals: [2] }));
    } finally {
      await fetch(`${stack.description.secretsManager}/_local/faults`, { method: 'DELETE' });
    }
  });

  test('names the settings that it lacks', async () => {
    const handler = await container();
    vi.stubEnv('SECRET_PREFIX', '');
    await expect(handler({}, contextFor(60_000))).rejects.toThrow('SECRET_PREFIX is missing');
    vi.stubEnv('SECRET_PREFIX', settingsOf(stack.description, '').SECRET_PREFIX);
  });
});

test('fifty containers that race on an expired access token: exactly one refresh, and no message is parked', {
  tags: ['long'],
}, async () => {
  const { description, sqs } = stack;
  const minuteMs = 60_000;
  const at = (minutes: number) => new Date(Date.now() + minutes * minuteMs).toISOString();
  const { access_token: accessToken } = await tokenOf();
  // The platform does not take it any more, though by our clock it would last for a while.
  await local('POST', 'oauth/expire');
  await controlsOf(description).secret(
    description.secrets.service,
    await secretOf({ accessToken, obtainedAt: at(-50), expiresAt: at(1) }),
  );
  const before = (await counts()).issued;

  const settings = settingsFrom({
    ...settingsOf(description, 'enrollment-create'),
    LEDGER_TABLE: '',
    PLATFORM_HEADERS_TIMEOUT_MS: '15000',
    LOG_LEVEL: 'silent',
  });
  const outcomes: string[] = [];
  const containers = Array.from({ length: 50 }, () => {
    const services = createServices('enrollment-create', settings);
    const message = ({ outcome }: { outcome: string }) => void outcomes.push(outcome);
    const handle = handlerOf(integration, () => ({ ...services, observe: { ...services.observe, message } }));
    return { handle, close: services.platform.close, refused: 0 };
  });
  const queueUrl = description.queues['enrollment-create'] ?? '';
  const [account, queue] = new URL(queueUrl).pathname.slice(1).split('/');
  const users = Array.from({ length: 500 }, (_, index) => 20_000 + index);
  await controlsOf(description).seed({ users: users.map((userId) => ({ userId })) });
  for (let from = 0; from < users.length; from += 10) {
    const Entries = users
      .slice(from, from + 10)
      .map((userId) => ({ Id: String(userId), MessageBody: messageFor(userId) }));
    await sqs.send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
  }
  const mappings = containers.map((each) =>
    mapQueue({
      sqs,
      queueUrl,
      queueArn: `arn:aws:sqs:${description.region}:${account}:${queue}`,
      batchSize: 10,
      pollers: 1,
      invoke: async (records) => {
        const payload = await each.handle(records, contextFor(20_000));
        each.refused += payload.batchItemFailures.length;
        return { ok: true, payload };
      },
    }),
  );
  // Each container has met the old token before anybody renews it.
  while (containers.some(({ refused }) => refused === 0))
    await new Promise((resolve) => setTimeout(resolve, 20));
  const refreshers = await Promise.all([container(), container(), container()]);
  await Promise.all(refreshers.map(async (handler) => handler(await event(), contextFor(60_000))));
  while (outcomes.filter((outcome) => outcome === 'done').length < users.length)
    await new Promise((resolve) => setTimeout(resolve, 20));
  await Promise.all(mappings.map((mapping) => mapping.stop()));
  await Promise.all(containers.map(({ close }) => close()));

  expect((await counts()).issued - before).toBe(1);
  const refused = (await controlsOf(description).requests()).filter(({ status }) => status === 401);
  expect(refused.length).toBeGreaterThanOrEqual(50);
  expect(new Set(outcomes)).toEqual(new Set(['waiting', 'done']));
  const letters = await sqs.send(new ReceiveMessageCommand({ QueueUrl: description.deadLetters }));
  expect(letters.Messages ?? []).toEqual([]);
  const { enrollments = [] } = await controlsOf(description).state();
  const enrolled = enrollments.filter(({ userId }) => Number(userId) >= 20_000);
  expect(enrolled).toHaveLength(500);
});

const tokenOf = async () => {
  const form = {
    grant_type: 'client_credentials',
    client_id: 'local-client',
    client_secret: 'local-client-secret',
  };
  const answer = await fetch(tokenUrl, { method: 'POST', body: new URLSearchParams(form) });
  return (await answer.json()) as { access_token: string };
};

const messageFor = (userId: number): string =>
  JSON.stringify({
    specversion: '1.0',
    id: `enrollment-${userId}`,
    source: '/sis',
    type: 'sis.enrollment-create.v1',
    time: new Date().toISOString(),
    data: { orgUnitId: 2001, userId, roleId: 110 },
  });

test('a list of secrets that has many pages is read to its end', async () => {
  const client = new SecretsManagerClient(localClient(stack.description.secretsManager));
  const SecretString = '{"type":"id-key"}';
  await Promise.all(
    Array.from({ length: 205 }, (_, at) =>
      client.send(new CreateSecretCommand({ Name: `other/users/${at}`, SecretString })),
    ),
  );
  const names: string[] = [];
  for await (const { name, version } of createSecretVersions(client).list('other/users/')) {
    expect(version).toBeDefined();
    names.push(name);
  }
  expect(new Set(names).size).toBe(205);
  client.destroy();
});
