import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { DynamoDBClient, type DynamoDBClientConfig, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { failureOf } from '../../../../lib/platform/client/failure-of.ts';
import { type ClientOptions, timeouts } from '../../../../lib/runtime/aws/clients.ts';
import { writeReturningOldItem } from '../../../../lib/runtime/aws/dynamodb.ts';
import { createQuickDynamoDb } from '../../../../lib/runtime/aws/dynamodb-quick.ts';
import { createSigner } from '../../../../lib/runtime/aws/dynamodb-signer.ts';
import { traced } from '../../../../lib/runtime/aws/error.ts';
import { localClient } from '../../../local/aws/aws.ts';

const TableName = 'sis-relay-test-ledger';
const write = { TableName, Key: { resource: { S: 'a' } } };

type Servers = {
  close(done?: () => void): unknown;
  listen(port: number, host: string, done: () => void): unknown;
};
const listening = async (server: Servers & { address(): unknown }): Promise<string> => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** DynamoDB as a test wants it, one step for each call; the last step is for all further ones, too. */
type Step = (request: IncomingMessage, response: ServerResponse) => void;
const serve = async (...steps: Step[]) => {
  const seen: {
    headers: IncomingMessage['headers'];
    method: string;
    url: string;
    body: string;
    atMs: number;
  }[] = [];
  const listener: RequestListener = async (request, response) => {
    const { headers, method = '', url = '' } = request;
    const step = steps[Math.min(seen.length, steps.length - 1)];
    seen.push({ headers, method, url, body: '', atMs: Date.now() });
    const at = seen.length - 1;
    const body = await text(request).catch(() => '');
    Object.assign(seen[at] ?? {}, { body });
    step?.(request, response);
  };
  const server = createServer(listener);
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  const url = await listening(server);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url, seen, connections: () => connections, server };
};

const answer =
  (status: number, body: string | Buffer, headers: Record<string, string> = {}): Step =>
  (_, response) =>
    response
      .writeHead(status, {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-crc32': String(crc32(body)),
        ...headers,
      })
      .end(body);
const well = answer(200, '{"Attributes":{"a":{"S":"ä"}}}');
const refusal = (type: string, status = 400, headers: Record<string, string> = {}): Step =>
  answer(
    status,
    JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: 'no' }),
    headers,
  );
const hang: Step = () => {};
const cut: Step = (request) => request.socket.destroy();

/** As the functions have it. */
const limits = (requestMs = 3_000): ClientOptions => ({
  ...timeouts({ connectionMs: 1_000, requestMs }),
  maxAttempts: 2,
});
const clientFor = (url: string, more: ClientOptions = limits()) =>
  createQuickDynamoDb({ ...localClient(url), ...more });

/** The SDK waits for a part of its backoff that chance decides. */
const withChance = (random: () => number): void => {
  vi.spyOn(Math, 'random').mockImplementation(random);
  onTestFinished(() => void vi.restoreAllMocks());
};

/** Of five: a busy machine lengthens any of them, but hardly all. */
const shortest = async (measured: () => Promise<number>): Promise<number> => {
  const all: number[] = [];
  for (let round = 0; round < 5; round += 1) all.push(await measured());
  return Math.min(...all);
};

const errorOf = (call: Promise<unknown>): Promise<Error & Record<string, unknown>> =>
  call.then(
    () => expect.unreachable('it was answered'),
    (error) => error,
  );

describe('the difference of the clocks', () => {
  const hour = 3_600_000;
  const toldBy = async (date: string, headers: Record<string, string> = {}): Promise<number> => {
    const { url } = await serve(answer(200, '{}', { date, ...headers }));
    const client = clientFor(url);
    expect(client.clockDiffersByMs()).toBe(0);
    await client.call('UpdateItem', write);
    return client.clockDiffersByMs();
  };
  const at = (ms: number) => new Date(Date.now() + ms).toUTCString();

  test.each([hour, -hour])('is told by an answer that is dated %i ms from now', async (ms) => {
    const answer = await toldBy(at(ms));
    expect(answer).toBeGreaterThan(hour - 60_000);
    expect(answer).toBeLessThan(hour + 60_000);
  });

  test('is told by a refusal as well', async () => {
    const { url } = await serve(refusal('ConditionalCheckFailedException', 400, { date: at(hour) }));
    const client = clientFor(url);
    await errorOf(client.call('UpdateItem', write));
    expect(client.clockDiffersByMs()).toBeGreaterThan(hour - 60_000);
  });

  test('is none where the answer is from a cache, or tells no time', async () => {
    expect(await toldBy(at(-hour), { age: '3600' })).toBe(0);
    expect(await toldBy('soon')).toBe(0);
  });

  test('is none where an answer was long on its way', async () => {
    const { url } = await serve((request, response) => setTimeout(() => well(request, response), 1_100));
    const client = clientFor(url);
    await client.call('UpdateItem', write);
    // A date has no parts of a second.
    expect(client.clockDiffersByMs()).toBeLessThan(1_000);
  });
});

describe('a call', () => {
  test('is the signed request of DynamoDB’s JSON protocol, and its answer', async () => {
    const { url, seen } = await serve(well);
    expect(await clientFor(url).call('UpdateItem', write)).toEqual({ Attributes: { a: { S: 'ä' } } });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/', body: JSON.stringify(write) });
    expect(seen[0]?.headers).toMatchObject({
      host: new URL(url).host,
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'DynamoDB_20120810.UpdateItem',
      authorization: expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=local\/\d{8}\/us-east-1\/dynamodb\/aws4_request, SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-target, Signature=[0-9a-f]{64}$/,
      ),
    });
  });

  test('goes through the path of its endpoint', async () => {
    const { url, seen } = await serve(well);
    await clientFor(`${url}/through/a%20proxy`).call('UpdateItem', write);
    expect(seen[0]?.url).toBe('/through/a%20proxy');
  });

  test('uses its connections again', async () => {
    const { url, connections } = await serve(well);
    const client = clientFor(url);
    for (let at = 0; at < 20; at += 1) await client.call('UpdateItem', write);
    // A connection is free again a moment after its answer is there.
    expect(connections()).toBeLessThanOrEqual(2);
  });
});

test('warming opens a connection without a signature, and the first call uses it', async () => {
  const { url, seen, connections } = await serve(
    answer(200, 'healthy: dynamodb.us-east-1.amazonaws.com '),
    well,
  );
  const client = clientFor(url);
  client.warm();
  await vi.waitFor(() => expect(seen).toHaveLength(1));
  expect(seen[0]).toMatchObject({ method: 'GET', url: '/' });
  expect(seen[0]?.headers.authorization).toBeUndefined();
  await new Promise((resolve) => setTimeout(resolve, 20));
  await client.call('UpdateItem', write);
  expect(connections()).toBe(1);
});

describe('warming that fails is nobody’s concern:', () => {
  test.each<[string, () => Promise<string>]>([
    ['nobody listens', async () => 'http://127.0.0.1:9'],
    ['no answer comes', async () => (await serve(hang)).url],
  ])('%s', async (_, url) => {
    const client = clientFor(await url(), limits(50));
    client.warm();
    await new Promise((resolve) => setTimeout(resolve, 120));
  });

  test('the region is missing, which the first call tells', async () => {
    vi.stubEnv('AWS_REGION', undefined);
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    vi.stubEnv('AWS_CONFIG_FILE', '/nowhere');
    onTestFinished(() => void vi.unstubAllEnvs());
    const client = createQuickDynamoDb({
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      maxAttempts: 1,
    });
    client.warm();
    await expect(client.call('UpdateItem', write)).rejects.toThrow(/[Rr]egion/);
    vi.stubEnv('AWS_REGION', 'us-east-1');
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', (await serve(well)).url);
    expect(await client.call('UpdateItem', write)).toMatchObject({ Attributes: {} });
  });
});

describe('what passes is tried once more, within its limits:', () => {
  const half: Step = (_, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('{"Attributes"', () => response.destroy());
  };
  const passing: [string, Step, string, number?][] = [
    [
      'throttling',
      refusal('ProvisionedThroughputExceededException'),
      'ProvisionedThroughputExceededException',
    ],
    ['throttling by status', refusal('Whatever', 429), 'Whatever'],
    ['an inner error', refusal('InternalServerError', 500), 'InternalServerError'],
    ['a server in trouble, that says so in HTML', answer(503, '<html>'), 'SyntaxError'],
    ['a cut connection', cut, 'Error'],
    ['a cut answer', half, 'Error'],
    ['no answer', hang, 'TimeoutError', 100],
    ['an answer that stops', (_, response) => void response.writeHead(200).write('{'), 'TimeoutError', 100],
  ];
  test.each(passing)('%s', async (_, step, name, requestMs) => {
    withChance(() => 0);
    const { url, seen } = await serve(step, well);
    const client = clientFor(url, limits(requestMs));
    expect(await client.call('UpdateItem', write)).toEqual({ Attributes: { a: { S: 'ä' } } });
    expect(seen).toHaveLength(2);

    const lasting = await serve(step);
    const error = await errorOf(clientFor(lasting.url, limits(requestMs)).call('UpdateItem', write));
    expect(lasting.seen).toHaveLength(2);
    expect(error.name).toBe(name);
    expect(error.$metadata).toMatchObject({ attempts: 2 });
    expect(failureOf(error)).toMatchObject({
      kind: 'unavailable',
      message: `AWS did not answer dynamodb:UpdateItem on the table ${TableName}: ${name}`,
    });
    expect(JSON.stringify(failureOf(error))).not.toContain('jane');
  });

  test('an address where nobody listens', async () => {
    const error = await errorOf(clientFor('http://127.0.0.1:9').call('UpdateItem', write));
    expect(error).toMatchObject({ code: 'ECONNREFUSED', $metadata: { attempts: 2 } });
    expect(failureOf(error).kind).toBe('unavailable');
  });

  test('garbage that is not even HTTP', async () => {
    let met = 0;
    const sockets = new Set<Socket>();
    const server = createTcpServer((socket) => {
      sockets.add(socket);
      met += 1;
      socket.on('error', () => {});
      socket.once('data', () => void socket.write('jane@example.edu \u0000\r\n\r\n'));
    });
    const url = await listening(server);
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const error = await errorOf(clientFor(url).call('UpdateItem', write));
    expect(met).toBe(2);
    expect(failureOf(error).kind).toBe('unavailable');
    expect(`${error.message}${error.stack}${JSON.stringify(error)}`).not.toContain('jane');
  });

  test('throttling waits longer than a lost connection, and no two wait alike', async () => {
    withChance(() => 0.5);
    const waited = async (step: Step) => {
      const { url, seen } = await serve(step, well);
      await clientFor(url).call('UpdateItem', write);
      return (seen[1]?.atMs ?? 0) - (seen[0]?.atMs ?? 0);
    };
    const throttledMs = await waited(refusal('ThrottlingException'));
    expect(throttledMs).toBeGreaterThanOrEqual(490);
    expect(await shortest(() => waited(cut))).toBeLessThan(490);
  });

  test('no more than the SDK’s bucket of retries holds, so that an outage is not made worse', async () => {
    const { url, seen } = await serve(refusal('InternalServerError', 500));
    const client = clientFor(url);
    await Promise.all(Array.from({ length: 100 }, () => client.call('UpdateItem', write).catch(() => {})));
    // 500 tokens, 14 for each retry.
    expect(seen).toHaveLength(100 + Math.floor(500 / 14));
  });

  test('the time of each try is its own, and exact: undici would look at it about once a second', async () => {
    const { url } = await serve(hang);
    const tryOnce = async (): Promise<number> => {
      const started = performance.now();
      await errorOf(clientFor(url, { ...limits(100), maxAttempts: 1 }).call('UpdateItem', write));
      return performance.now() - started;
    };
    const ms = await shortest(tryOnce);
    expect(ms).toBeGreaterThanOrEqual(95);
    expect(ms).toBeLessThan(450);
  });

  test('its time is over, too, where no connection comes about', async () => {
    const silent = createTcpServer();
    const { port } = new URL(await listening(silent));
    onTestFinished(() => void silent.close());
    const client = clientFor(`https://127.0.0.1:${port}`, { ...limits(100), maxAttempts: 1 });
    const error = await errorOf(client.call('UpdateItem', write));
    // Not that of the connection, which has more time.
    expect(error).toMatchObject({ name: 'TimeoutError', message: 'no answer within 100 ms' });
    expect(failureOf(error).kind).toBe('unavailable');
  });
});

test('an answer over 4 MB is refused', async () => {
  const huge = `{"Attributes":{"a":{"S":"${'a'.repeat(5 * 1024 ** 2)}"}}}`;
  const { url } = await serve(answer(200, huge));
  const error = await errorOf(clientFor(url).call('UpdateItem', write));
  expect(failureOf(error).kind).toBe('unavailable');
});

test('a refusal with a large item is read to its end', async () => {
  const Item = { text: { S: 'a'.repeat(300_000) } };
  const { url } = await serve(
    answer(400, JSON.stringify({ __type: '#ConditionalCheckFailedException', Item })),
  );
  const refused = writeReturningOldItem(() => clientFor(url).call('UpdateItem', write));
  expect(await refused).toEqual({ done: false, before: Item });
});

describe('what does not pass is not tried again, and is called as the SDK calls it:', () => {
  const refusals: [string, Step][] = [
    ['a condition', refusal('ConditionalCheckFailedException')],
    ['a right that is missing', refusal('AccessDeniedException')],
    ['credentials that have ended', refusal('ExpiredTokenException')],
    ['a refusal of a newer kind', refusal('TomorrowsException')],
    [
      'its name in a header',
      answer(400, '{}', { 'x-amzn-errortype': 'LimitedException:http://internal.amazon.com/' }),
    ],
    ['a refusal without a name', answer(400, '{}')],
    ['a refusal without a body', answer(403, '')],
    ['a proxy’s HTML', answer(403, '<html>Blocked for jane@example.edu</html>')],
    ['garbage in the place of an answer', answer(200, '{"Attributes":')],
  ];
  test.each(refusals)('%s', async (_, step) => {
    const { url, seen } = await serve(step);
    const ours = await errorOf(clientFor(url).call('UpdateItem', write));
    expect(seen).toHaveLength(1);
    expect(`${ours.message}${JSON.stringify(ours)}`).not.toContain('jane');
    const sdk = traced(new DynamoDBClient({ ...(localClient(url) as DynamoDBClientConfig), maxAttempts: 1 }));
    onTestFinished(() => sdk.destroy());
    const theirs = await errorOf(sdk.send(new UpdateItemCommand(write)));
    expect(failureOf(ours)).toEqual(failureOf(theirs));
    expect(ours.name).toBe(theirs.name);
    expect((ours.$metadata as { httpStatusCode: number }).httpStatusCode).toBe(
      (theirs.$metadata as { httpStatusCode: number }).httpStatusCode,
    );
  });
});

describe('credentials', () => {
  afterEach(() => void vi.unstubAllEnvs());
  const keyOf = ({ headers }: { headers: IncomingMessage['headers'] }) =>
    /Credential=([^/]+)/.exec(String(headers.authorization))?.[1];

  test('are read once, and again five minutes before they end', async () => {
    const { url, seen } = await serve(well);
    let reads = 0;
    let expiration = new Date(Date.now() + 3_600_000);
    const client = clientFor(url, {
      ...limits(),
      credentials: async () => {
        reads += 1;
        return {
          accessKeyId: `key${reads}`,
          secretAccessKey: 's',
          sessionToken: `token${reads}`,
          expiration,
        };
      },
    });
    const call = () => client.call('UpdateItem', write);
    await call();
    await call();
    expect(reads).toBe(1);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 - 299_000 });
    onTestFinished(() => void vi.useRealTimers());
    expiration = new Date(Date.now() + 3_600_000);
    await call();
    await call();
    expect(seen.map(keyOf)).toEqual(['key1', 'key1', 'key2', 'key2']);
    expect(seen.map(({ headers }) => headers['x-amz-security-token'])).toEqual([
      'token1',
      'token1',
      'token2',
      'token2',
    ]);
  });

  test('are those of the environment, as Lambda gives them', async () => {
    const { url, seen } = await serve(well);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'ASIAROLE');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    vi.stubEnv('AWS_SESSION_TOKEN', 'session');
    vi.stubEnv('AWS_REGION', 'eu-west-1');
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', url);
    await createQuickDynamoDb().call('UpdateItem', write);
    expect(seen.map(keyOf)).toEqual(['ASIAROLE']);
    expect(seen[0]?.headers['x-amz-security-token']).toBe('session');
    expect(seen[0]?.headers.authorization).toContain('/eu-west-1/dynamodb/');
  });

  test('that cannot be read now are read by the next call', async () => {
    const { url } = await serve(well);
    let reads = 0;
    const client = clientFor(url, {
      ...limits(),
      credentials: async () => {
        reads += 1;
        if (reads === 1) throw new Error('not now');
        return { accessKeyId: 'a', secretAccessKey: 'b' };
      },
    });
    await expect(client.call('UpdateItem', write)).rejects.toThrow('not now');
    await client.call('UpdateItem', write);
  });
});

describe('a container that was frozen', () => {
  test('does not use connections that were idle for too long', async () => {
    const { url, connections } = await serve(well);
    const client = clientFor(url, { ...limits(), maxAttempts: 1 });
    await client.call('UpdateItem', write);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 20_001 });
    onTestFinished(() => void vi.useRealTimers());
    await client.call('UpdateItem', write);
    expect(connections()).toBe(2);
  });

  test('and whose connections were all closed meanwhile loses no call', async () => {
    const { url, server } = await serve(well);
    const client = clientFor(url);
    const ten = () => Promise.all(Array.from({ length: 10 }, () => client.call('UpdateItem', write)));
    await ten();
    server.closeAllConnections();
    await ten();
  });
});

describe('a signal', () => {
  const throttling = refusal('ThrottlingException');
  const aborted = (name: string, step: Step, prepare: (controller: AbortController) => void) =>
    test(name, async () => {
      const { url, seen } = await serve(step);
      const controller = new AbortController();
      prepare(controller);
      const error = await errorOf(clientFor(url).call('UpdateItem', write, { signal: controller.signal }));
      // Neither what it would have waited for, nor a second try.
      expect(error.name).toBe('AbortError');
      expect(failureOf(error).kind).toBe('unavailable');
      expect(seen.length).toBeLessThanOrEqual(1);
      return error;
    });
  aborted('that is given already lets nothing be sent', well, (controller) => controller.abort());
  aborted('ends a call', hang, (controller) => void setTimeout(() => controller.abort(), 50));
  aborted('ends the wait for the next try', throttling, (controller) => {
    // Asked for when it is decided how long to wait, so that the signal comes during the wait, however busy the machine is.
    withChance(() => {
      setTimeout(() => controller.abort(), 0);
      return 0.99;
    });
  });
});

describe('the endpoint', () => {
  const names = ['AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_DYNAMODB', 'AWS_USE_FIPS_ENDPOINT'];
  const environments: Record<string, string>[] = [
    { AWS_REGION: 'eu-west-1' },
    { AWS_REGION: 'cn-north-1' },
    { AWS_REGION: 'us-gov-west-1' },
    {
      AWS_REGION: 'eu-west-1',
      AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
      AWS_ENDPOINT_URL_DYNAMODB: 'https://vpce-1.example',
    },
    { AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: 'http://127.0.0.1:1' },
  ];
  const stub = (environment: Record<string, string>): void => {
    for (const name of ['AWS_REGION', 'AWS_USE_DUALSTACK_ENDPOINT', ...names])
      vi.stubEnv(name, environment[name]);
    onTestFinished(() => void vi.unstubAllEnvs());
  };
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };

  test.each(environments)('is the one of the SDK’s own client: %o', async (environment) => {
    stub(environment);
    const { origin } = await createSigner({ credentials });
    expect(new URL(origin).host).toBe(await sdkHost());
  });

  test.each(['AWS_USE_FIPS_ENDPOINT', 'AWS_USE_DUALSTACK_ENDPOINT'])(
    'must be given with %s: another one is never used in silence',
    async (name) => {
      const AWS_REGION = 'eu-west-1';
      stub({ AWS_REGION, [name]: 'true' });
      await expect(createSigner({ credentials })).rejects.toThrow('Set AWS_ENDPOINT_URL_DYNAMODB');
      const AWS_ENDPOINT_URL_DYNAMODB = 'https://dynamodb-fips.eu-west-1.amazonaws.com';
      stub({ AWS_REGION, [name]: 'true', AWS_ENDPOINT_URL_DYNAMODB });
      expect((await createSigner({ credentials })).origin).toBe(AWS_ENDPOINT_URL_DYNAMODB);
    },
  );

  test('of a region that is given is that', async () => {
    stub({});
    const { origin } = await createSigner({ region: 'eu-central-1', credentials });
    expect(origin).toBe('https://dynamodb.eu-central-1.amazonaws.com');
  });

  /** Where the SDK would have sent a request to. */
  const sdkHost = async (): Promise<string> => {
    let sent: { hostname: string; port?: number } | undefined;
    const requestHandler = {
      handle: async (request: NonNullable<typeof sent>) => {
        sent = request;
        throw new Error('not sent');
      },
    };
    const sdk = new DynamoDBClient({
      credentials,
      maxAttempts: 1,
      accountIdEndpointMode: 'disabled',
      requestHandler: requestHandler as never,
    });
    await sdk.send(new UpdateItemCommand(write)).catch(() => {});
    sdk.destroy();
    return sent?.port ? `${sent.hostname}:${sent.port}` : `${sent?.hostname}`;
  };
});
