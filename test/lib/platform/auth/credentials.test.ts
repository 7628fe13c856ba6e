import {
  DeleteSecretCommand,
  type GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MessageFailure } from '../../../../lib/message/failure.ts';
import type { FailureKind } from '../../../../lib/message/failure-kinds.ts';
import { SecretCredentials } from '../../../../lib/platform/auth/credentials.ts';
import { signedQuery } from '../../../../lib/platform/auth/id-key.ts';
import { failureOf } from '../../../../lib/platform/client/failure-of.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { startSecretsManager } from '../../../local/aws/secrets-manager.ts';
import { answering, clientAt, credential, everythingOf, operations, raw } from '../servers.ts';

const service = 'relay/service';
const secondMs = 1_000;
const minuteMs = 60_000;
/** For what is answered, however busy the machine is. */
const patienceMs = 5 * minuteMs;

/** Credentials from a real server, read by the real SDK, at a time that the test sets. */
const standing = async (secrets: Record<string, object> = { [service]: credential }) => {
  const server = await startSecretsManager(secrets);
  onTestFinished(() => server.close());
  const client = new SecretsManagerClient({
    ...localClient(server.url),
    maxAttempts: 1,
    requestHandler: { requestTimeout: patienceMs, throwOnRequestTimeout: true },
  });
  const handler = client.config.requestHandler as unknown as {
    updateHttpClientConfig(name: 'requestTimeout', ms: number): void;
  };
  const giveUpAfter = (ms: number) => handler.updateHttpClientConfig('requestTimeout', ms);
  onTestFinished(() => client.destroy());
  const clock = { nowMs: 1_700_000_000_000 };
  const warnings: unknown[][] = [];
  const credentials = new SecretCredentials({
    client,
    prefix: 'relay',
    timeToLiveMs: 5 * minuteMs,
    warn: (...warning) => void warnings.push(warning),
    nowMs: () => clock.nowMs,
  });
  const faults = (method: string, fault?: object) =>
    fetch(`${server.url}/_local/faults`, { method, ...(fault && { body: JSON.stringify(fault) }) });
  return {
    credentials,
    clock,
    warnings,
    put: (name: string, value: object | string) =>
      client.send(
        new PutSecretValueCommand({
          SecretId: name,
          SecretString: typeof value === 'string' ? value : JSON.stringify(value),
        }),
      ),
    remove: (name: string, force: boolean) =>
      client.send(new DeleteSecretCommand({ SecretId: name, ForceDeleteWithoutRecovery: force })),
    breakDown: (fault: object) => {
      if ('hang' in fault) giveUpAfter(50);
      return faults('POST', { action: 'GetSecretValue', ...fault });
    },
    recover: () => {
      giveUpAfter(patienceMs);
      return faults('DELETE');
    },
    /** How often a secret was asked for. */
    reads: async (name?: string): Promise<number> => {
      const response = await fetch(`${server.url}/_local/requests`);
      const requests = (await response.json()) as { action: string; secret: string }[];
      return requests.filter(
        ({ action, secret }) => action === 'GetSecretValue' && (name ?? secret) === secret,
      ).length;
    },
  };
};

type Standing = Awaited<ReturnType<typeof standing>>;

const userKeyOf = async ({ credentials }: Standing, actor?: string): Promise<string> => {
  const { credential: read } = await credentials.read(actor);
  return read.type === 'id-key' ? read.userKey : read.type;
};

const failing = async (read: Promise<unknown>): Promise<MessageFailure> => {
  const error = await read.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof MessageFailure) return error;
  throw error ?? new Error('it was read');
};

describe('a credential', () => {
  test('is read once for its time to live, and then again', async () => {
    const stand = await standing();
    for (let read = 0; read < 5; read += 1) {
      expect((await stand.credentials.read(undefined)).credential).toEqual(credential);
      stand.clock.nowMs += minuteMs - 1;
    }
    expect(await stand.reads()).toBe(1);
    await stand.put(service, { ...credential, userKey: 'the-next' });
    expect(await userKeyOf(stand)).toBe('the-user-key');
    stand.clock.nowMs += 5;
    expect(await userKeyOf(stand)).toBe('the-next');
    stand.clock.nowMs += 5 * minuteMs;
    expect(await userKeyOf(stand)).toBe('the-next');
    expect(await stand.reads()).toBe(3);
  });

  test('is read once for 50 readers at the same time', async () => {
    const stand = await standing();
    const fifty = () => Promise.all(Array.from({ length: 50 }, () => stand.credentials.read(undefined)));
    expect(new Set((await fifty()).map(({ version }) => version)).size).toBe(1);
    expect(await stand.reads()).toBe(1);
    stand.clock.nowMs += 5 * minuteMs;
    await fifty();
    expect(await stand.reads()).toBe(2);
  });

  test('is asked for again where 50 readers have failed together', async () => {
    const stand = await standing();
    await stand.breakDown({ status: 500, times: 1 });
    const fifty = Array.from({ length: 50 }, () => failing(stand.credentials.read(undefined)));
    expect(new Set((await Promise.all(fifty)).map(({ kind }) => kind))).toEqual(new Set(['unavailable']));
    expect(await userKeyOf(stand)).toBe('the-user-key');
    expect(await stand.reads()).toBe(2);
  });

  test('is that of the actor', async () => {
    const of = (userKey: string) => ({ ...credential, userKey });
    const stand = await standing({
      [service]: of('the-service'),
      'relay/users/7': of('seven'),
      'relay/users/42': of('forty-two'),
    });
    const keys = await Promise.all([undefined, '7', '42', undefined].map((actor) => userKeyOf(stand, actor)));
    expect(keys).toEqual(['the-service', 'seven', 'forty-two', 'the-service']);
    expect(await stand.reads()).toBe(3);
  });

  test('is one of the thousand that are kept', async () => {
    const reads: string[] = [];
    const send = async ({ input: { SecretId } }: GetSecretValueCommand) => {
      reads.push(`${SecretId}`);
      return { SecretString: JSON.stringify(credential), VersionId: '1', CreatedDate: new Date() };
    };
    const credentials = new SecretCredentials({
      client: { send } as unknown as SecretsManagerClient,
      prefix: 'relay',
      timeToLiveMs: 5 * minuteMs,
      warn: () => {},
    });
    for (let user = 1; user <= 1_001; user += 1) await credentials.read(`${user}`);
    await credentials.read('1001');
    await credentials.read('2');
    expect(reads).toHaveLength(1_001);
    await credentials.read('1');
    expect(reads.at(-1)).toBe('relay/users/1');
  });
});

describe('while Secrets Manager is down', () => {
  const outages = [
    { status: 500 },
    { status: 503, type: 'ServiceUnavailable' },
    { status: 400, type: 'ThrottlingException' },
    // The function’s own role: Lambda renews it.
    { status: 400, type: 'ExpiredTokenException' },
    { hang: true },
    { reset: 'before' },
    { reset: 'after' },
    { truncate: true },
  ];

  test.each(outages)('the last good credential serves: %j', async (outage) => {
    const stand = await standing();
    await stand.credentials.read(undefined);
    await stand.breakDown(outage);
    stand.clock.nowMs += 5 * minuteMs;
    const twenty = () => Promise.all(Array.from({ length: 20 }, () => userKeyOf(stand)));
    expect(new Set(await twenty())).toEqual(new Set(['the-user-key']));
    expect(await stand.reads()).toBe(2);
    expect(stand.warnings).toEqual([
      [
        'a secret could not be read again; its last value is used',
        { secret: service, error: expect.stringMatching(/^\w+$/) },
      ],
    ]);

    // It is asked again after five seconds, and not for each message.
    stand.clock.nowMs += 5 * secondMs - 1;
    await twenty();
    expect(await stand.reads()).toBe(2);
    stand.clock.nowMs += 1;
    await twenty();
    expect(await stand.reads()).toBe(3);

    await stand.recover();
    await stand.put(service, { ...credential, userKey: 'the-next' });
    stand.clock.nowMs += 5 * secondMs;
    expect(new Set(await twenty())).toEqual(new Set(['the-next']));
    stand.clock.nowMs += 5 * minuteMs - 1;
    await twenty();
    expect(await stand.reads()).toBe(4);
  });

  test.each(outages)('messages wait where there is none yet: %j', async (outage) => {
    const stand = await standing();
    await stand.breakDown(outage);
    const failure = await failing(stand.credentials.read(undefined));
    expect(failure.kind).toBe('unavailable');
    expect(failure.message).toMatch(/^Secrets Manager did not answer: \w+$/);
  });

  test('an answer that stops half-way is not waited for', async () => {
    const { url } = await raw((socket) => {
      socket.write(
        'HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.1\r\ncontent-length: 900\r\n\r\n{"Sec',
      );
    });
    const client = new SecretsManagerClient({ ...localClient(url), maxAttempts: 3 });
    onTestFinished(() => client.destroy());
    const options = { prefix: 'relay', timeToLiveMs: 1, readTimeoutMs: 100, warn: () => {} };
    const { kind } = await failing(new SecretCredentials({ client, ...options }).read(undefined));
    expect(kind).toBe('unavailable');
  });
});

describe('a secret that is not there', () => {
  test('is named, so that somebody can create it: a user’s', async () => {
    const stand = await standing();
    const failure = await failing(stand.credentials.read('42'));
    expect(failureOf(failure)).toEqual({
      kind: 'missing-credential',
      message: 'There is no secret relay/users/42, so nothing can be sent as user 42',
      remedy: "Create the secret relay/users/42 with that user's credential, then replay.",
    });
  });

  test('is named, so that somebody can create it: the service’s', async () => {
    const stand = await standing({});
    expect(failureOf(await failing(stand.credentials.read(undefined)))).toEqual({
      kind: 'credentials',
      message: 'There is no secret relay/service',
      remedy: "Create the secret relay/service with the service's credential.",
    });
  });

  test.each([
    ['deleted', true],
    ['to be deleted', false],
  ])('serves no longer once it is %s', async (_, force) => {
    const stand = await standing({ [service]: credential, 'relay/users/42': credential });
    await stand.credentials.read('42');
    await stand.remove('relay/users/42', force);
    expect(await userKeyOf(stand, '42')).toBe('the-user-key');
    stand.clock.nowMs += 5 * minuteMs;
    expect((await failing(stand.credentials.read('42'))).kind).toBe('missing-credential');
    // Nor when Secrets Manager is down after that.
    await stand.breakDown({ status: 500 });
    expect((await failing(stand.credentials.read('42'))).kind).toBe('unavailable');
  });
});

describe('a secret that may not be read', () => {
  test.each([
    'AccessDeniedException',
    'DecryptionFailure',
    'UnrecognizedClientException',
    'KMSInvalidStateException',
    'ValidationException',
  ])('waits for whoever grants it, and serves no longer: %s', async (type) => {
    const stand = await standing();
    await stand.credentials.read(undefined);
    stand.clock.nowMs += 5 * minuteMs;
    await stand.breakDown({ status: 400, type });
    const failure = failureOf(await failing(stand.credentials.read(undefined)));
    expect(failure).toMatchObject({
      kind: 'credentials',
      message: `This function may not read the secret relay/service: ${type}`,
      remedy: expect.stringMatching(
        /^If this region has no secret relay\/service, create it\. If it has, let /,
      ),
    });
  });
});

describe('a secret that is no credential', () => {
  const hidden = 'private-value';
  const without = (field: string) =>
    Object.fromEntries(Object.entries({ ...credential, appKey: hidden }).filter(([name]) => name !== field));

  test.each<[object | string, string]>([
    [without('appId'), 'is not a credential: appId'],
    [without('appKey'), 'is not a credential: appKey'],
    [without('userId'), 'is not a credential: userId'],
    [without('userKey'), 'is not a credential: userKey'],
    [without('type'), 'is not a credential: type'],
    [{ ...credential, type: hidden }, 'is not a credential: type'],
    [{ ...credential, userKey: '', appKey: '' }, 'is not a credential: appKey, userKey'],
    [{ ...credential, userKey: [hidden], userId: 7 }, 'is not a credential: userId, userKey'],
    [{ ...credential, userkey: hidden }, 'is not a credential: not known: userkey'],
    [{ ...credential, [hidden]: 'userKey', s3cr3t: '' }, 'is not a credential: not known: •••, •••'],
    [[hidden], 'is not a credential: Invalid input: expected object, received array'],
    [`"${hidden}"`, 'is not a credential: Invalid input: expected object, received string'],
    ['null', 'is not a credential: Invalid input: expected object, received null'],
    [hidden, 'is not JSON'],
    [`{"type":"id-key","appKey":"${hidden}`, 'is not JSON'],
  ])('is named by its fields, never by their values: %j', async (value, message) => {
    const stand = await standing();
    await stand.put(service, value);
    const failure = await failing(stand.credentials.read(undefined));
    expect(failure).toMatchObject({ kind: 'credentials', message: `The secret relay/service ${message}` });
    expect(failure.remedy).toContain('relay/service');
    expect(everythingOf(failure)).not.toContain(hidden);
  });

  test('replaces a good one only until it is corrected', async () => {
    const stand = await standing();
    await stand.credentials.read(undefined);
    await stand.put(service, 'oops');
    stand.clock.nowMs += 5 * minuteMs;
    expect((await failing(stand.credentials.read(undefined))).message).toBe(
      'The secret relay/service is not JSON',
    );
    await stand.put(service, { ...credential, userKey: 'the-next' });
    expect(await userKeyOf(stand)).toBe('the-next');
  });
});

describe('no secret', () => {
  test.each([
    { truncate: true },
    { reset: 'after' },
    { status: 500 },
    { status: 400, type: 'AccessDeniedException' },
    { status: 400, type: 'ResourceNotFoundException' },
  ])('is in what a read fails with, or in a warning: %j', async (fault) => {
    const stand = await standing({ 'relay/users/7': { ...credential, userKey: 'private-value' } });
    await stand.breakDown(fault);
    const failure = await failing(stand.credentials.read('7'));
    await stand.recover();
    await stand.credentials.read('7');
    stand.clock.nowMs += 5 * minuteMs;
    await stand.breakDown(fault);
    await stand.credentials.read('7').catch(() => {});
    const everything = everythingOf([failure, failureOf(failure), stand.warnings]);
    for (const secret of ['private-value', credential.appKey]) expect(everything).not.toContain(secret);
  });
});

describe('a credential that the platform refuses', () => {
  const invalidToken = { status: 403, headers: { 'content-type': 'text/plain' }, body: 'Invalid token' };
  const path = { id: 1 };

  /** A platform that takes one user key, beside the secrets. */
  const withPlatform = async (taken: string, secrets?: Record<string, object>) => {
    const stand = await standing(secrets);
    const accepted = { userKey: taken };
    const { url, requests } = await answering((request) => {
      const { x_d } = signedQuery(request, { ...credential, ...accepted }, Number(request.query.x_t));
      return request.query.x_d === x_d ? { body: '{"Id":1}' } : invalidToken;
    });
    const { platform, platformOf } = clientAt(url, {
      credentials: stand.credentials,
      nowMs: () => stand.clock.nowMs,
    });
    const kindOf = (call: Promise<unknown>): Promise<FailureKind | 'done'> =>
      call.then(
        () => 'done',
        (error: unknown) => failureOf(error).kind,
      );
    const send = (actor?: string) =>
      kindOf((actor === undefined ? platform : platformOf(actor)).call(operations.readOnce, { path }));
    const refusal = (): Promise<unknown> =>
      platform.call(operations.readOnce, { path }).then(() => 'taken', failureOf);
    return { ...stand, accepted, requests, send, refusal };
  };

  test('and that was changed is read once more, and the call sent once more', async () => {
    const stand = await withPlatform('the-user-key');
    expect(await stand.send()).toBe('done');
    stand.accepted.userKey = 'the-next';
    await stand.put(service, { ...credential, userKey: 'the-next' });
    expect(await stand.send()).toBe('done');
    expect([stand.requests.length, await stand.reads()]).toEqual([3, 2]);
    expect(await stand.send()).toBe('done');
    expect([stand.requests.length, await stand.reads()]).toEqual([4, 2]);
  });

  test('and that was not changed costs one request, and none for a minute', async () => {
    const stand = await withPlatform('the-next');
    expect(await stand.send()).toBe('credentials');
    expect([stand.requests.length, await stand.reads()]).toEqual([1, 2]);

    // The secret is looked at every five seconds, and not for each message.
    const ten = () => Promise.all(Array.from({ length: 10 }, () => stand.send()));
    for (let waited = 0; waited < minuteMs; waited += secondMs) {
      expect(new Set(await ten())).toEqual(new Set(['credentials']));
      stand.clock.nowMs += secondMs;
    }
    expect([stand.requests.length, await stand.reads()]).toEqual([1, 13]);

    // After the minute it is tried again.
    expect(await stand.send()).toBe('credentials');
    expect(stand.requests).toHaveLength(2);
    expect(await stand.send()).toBe('credentials');
    expect(stand.requests).toHaveLength(2);
    stand.clock.nowMs += minuteMs;
    stand.accepted.userKey = 'the-user-key';
    expect(await stand.send()).toBe('done');
    expect(await stand.send()).toBe('done');
    expect(stand.requests).toHaveLength(4);
  });

  test('is used again as soon as its secret has changed', async () => {
    const stand = await withPlatform('the-next');
    expect(await stand.send()).toBe('credentials');
    stand.clock.nowMs += 20 * secondMs;
    expect(await stand.send()).toBe('credentials');
    await stand.put(service, { ...credential, userKey: 'the-next' });
    stand.clock.nowMs += 5 * secondMs;
    expect(await stand.send()).toBe('done');
    expect(stand.requests).toHaveLength(2);
  });

  test('says whose secret it is, where it is refused, while it is not used, and where its successor is refused', async () => {
    const stand = await withPlatform('the-next');
    const states = {
      kind: 'credentials',
      message: 'The platform refuses the credential in the secret relay/service',
      remedy: expect.stringContaining('relay/service'),
    };
    const answer = { status: 403, title: 'Invalid token', operation: 'POST /svc/api/lp/1.49/things/1' };
    expect(await stand.refusal()).toMatchObject({ ...states, ...answer });
    const unasked = await stand.refusal();
    expect(unasked).toMatchObject(states);
    expect(unasked).not.toHaveProperty('status');
    await stand.put(service, { ...credential, userKey: 'a-third' });
    stand.clock.nowMs += 5 * secondMs;
    expect(await stand.refusal()).toMatchObject({ ...states, ...answer });
  });

  test('is not used while Secrets Manager is down either, nor asked for by each message', async () => {
    const stand = await withPlatform('the-next');
    await stand.credentials.read(undefined);
    await stand.breakDown({ status: 500 });
    expect(await stand.send()).toBe('credentials');
    for (let waited = 0; waited < 10; waited += 1) {
      stand.clock.nowMs += secondMs;
      expect(await stand.send()).toBe('credentials');
    }
    expect([stand.requests.length, await stand.reads()]).toEqual([1, 4]);
  });

  test('while it was being read again is known as refused when that has ended', async () => {
    const stand = await withPlatform('the-next');
    const { version } = await stand.credentials.read(undefined);
    stand.clock.nowMs += 5 * minuteMs;
    const reading = failing(stand.credentials.read(undefined));
    stand.credentials.refuse(undefined, version);
    expect((await reading).kind).toBe('credentials');
  });

  test('and is told so once more, by a call that was under way, is not read again for that', async () => {
    const stand = await standing();
    const { version } = await stand.credentials.read(undefined);
    stand.credentials.refuse(undefined, version);
    await failing(stand.credentials.read(undefined));
    stand.clock.nowMs += 4 * secondMs;
    stand.credentials.refuse(undefined, version);
    await failing(stand.credentials.read(undefined));
    expect(await stand.reads()).toBe(2);
    stand.clock.nowMs += 56 * secondMs;
    expect(await userKeyOf(stand)).toBe('the-user-key');
  });

  test('of an older version than the one that is known is no news', async () => {
    const stand = await withPlatform('the-next');
    const { version } = await stand.credentials.read(undefined);
    await stand.put(service, { ...credential, userKey: 'the-next' });
    stand.clock.nowMs += 5 * minuteMs;
    await stand.credentials.read(undefined);
    stand.credentials.refuse(undefined, version);
    stand.credentials.refuse('nobody', version);
    expect(await stand.send()).toBe('done');
    expect(stand.requests).toHaveLength(1);
  });
});
