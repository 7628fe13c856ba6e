import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createServices, servicesFromEnvironment } from '../../../../lib/delivery/handle/services.ts';
import { letterOf } from '../../../../lib/delivery/letters/dead-letter.ts';
import { platformOptionsOf } from '../../../../lib/platform/client/platform-options.ts';
import { whoAmI } from '../../../../lib/platform/resources/users.ts';
import { readSettings } from '../../../../lib/runtime/aws/setting.ts';
import { hasOwnStore, messageSettings } from '../../../../lib/runtime/aws/settings.ts';
import { type Stack, settingsOf, startStack } from '../../../local/stack.ts';

const needed = {
  PLATFORM_URL: 'https://platform.example.edu',
  SECRET_PREFIX: 'sis-relay/production',
  QUEUE_URL: 'https://sqs.eu-west-1.amazonaws.com/123456789012/sis-relay-grade-push',
  DEAD_LETTER_QUEUE_URL: 'https://sqs.eu-west-1.amazonaws.com/123456789012/sis-relay-dead-letters',
};

const settings = (more: Record<string, string | undefined> = {}) =>
  readSettings(messageSettings, { ...needed, ...more });

/** What is said about the environment, or `usable`. */
const problems = (more: Record<string, string | undefined>): string => {
  try {
    settings(more);
    return 'usable';
  } catch (error) {
    return String((error as Error).message).replace(/^The function's settings are not valid: /, '');
  }
};

test.each([
  [{}, false],
  [{ AWS_ENDPOINT_URL: 'http://storage:4566' }, true],
  [{ AWS_ENDPOINT_URL_S3: 'http://storage:4566' }, true],
])('where AWS is at an address of its own, buckets are paths there: %o', (given, isOwn) => {
  expect(hasOwnStore(settings(given).store)).toBe(isOwn);
});

test('the calls of the platform are capped as the settings say, or not at all', () => {
  expect(platformOptionsOf(settings().platform)).toMatchObject({ callsPerMinute: undefined });
  expect(
    platformOptionsOf(settings({ PLATFORM_CALLS_PER_MINUTE: '3000', PACE_CONTAINERS: '7' }).platform),
  ).toMatchObject({ callsPerMinute: 3_000, containers: 7 });
});

describe('the settings of a function', () => {
  test('need four names, and have a default for everything else', () => {
    expect(settings()).toMatchObject({
      platform: { baseUrl: needed.PLATFORM_URL, apiRoot: '/svc/api', overrides: {}, connectTimeoutMs: 5_000 },
      secrets: { prefix: needed.SECRET_PREFIX, timeToLiveMs: 300_000 },
      queue: { url: needed.QUEUE_URL, lettersBucket: undefined },
      letters: { deadLetterQueueUrl: needed.DEAD_LETTER_QUEUE_URL },
      files: { hosts: [], allowLoopback: false, timeoutMs: 10_000 },
      limits: { maxWaitMs: 24 * 3_600_000, visibilityMs: 720_000, fileBytes: 1024 ** 3 },
      telemetry: { namespace: 'sis-relay', level: 'info' },
    });
  });

  test('that are empty count as not given', () => {
    expect(settings({ LOG_LEVEL: '', FILE_HOSTS: '', LEDGER_TABLE: '', RESERVE_MS: '' })).toEqual(settings());
    expect(problems({ QUEUE_URL: '' })).toBe('QUEUE_URL is missing');
  });

  test('are all named where they are missing', () => {
    const none = Object.fromEntries(Object.keys(needed).map((name) => [name, undefined]));
    expect(problems(none)).toBe(
      'PLATFORM_URL is missing; SECRET_PREFIX is missing; QUEUE_URL is missing; DEAD_LETTER_QUEUE_URL is missing',
    );
  });

  test.each([
    ['PLATFORM_URL', 'platform.example.edu', 'must be an address such as https://'],
    ['PLATFORM_URL', 'ftp://platform.example.edu', 'must be an address such as https://'],
    ['PLATFORM_URL', 'http://platform.example.edu', 'must use https: only a platform on this machine'],
    ['PLATFORM_URL', 'http://127.0.0.1.example.edu', 'must use https: only a platform on this machine'],
    ['PLATFORM_URL', 'https://platform.example.edu/svc/api', 'Put a path into PLATFORM_API_ROOT'],
    ['PLATFORM_URL', 'https://platform.example.edu?x=1', 'must have only a scheme, host and port'],
    ['PLATFORM_URL', 'https://user:password@platform.example.edu', 'must have only a scheme, host and port'],
    ['PLATFORM_API_ROOT', 'svc/api', 'must be a path such as /svc/api'],
    ['PLATFORM_API_ROOT', '/svc/api/', 'must be a path such as /svc/api'],
    ['PLATFORM_API_ROOT', '/svc/../api', 'must be a path such as /svc/api'],
    ['PLATFORM_LP_VERSION', '1', 'must be a version such as 1.49'],
    ['PLATFORM_LE_VERSION', 'latest', 'must be a version such as 1.49'],
    ['PLATFORM_OPERATIONS', '{', 'is not JSON'],
    ['PLATFORM_OPERATIONS', '[]', 'expected record'],
    ['PLATFORM_CALLS_PER_MINUTE', '0', '>0'],
    ['PLATFORM_CALLS_PER_MINUTE', '2.5', 'int'],
    ['SECRET_PREFIX', 'sis-relay/', 'not end in /'],
    ['SECRET_PREFIX', '/', 'not end in /'],
    ['SECRET_PREFIX', 'sis relay', 'letters, digits'],
    ['SECRET_PREFIX', 'sis-relay\n', 'letters, digits'],
    ['QUEUE_URL', 'sis-relay-grade-push', 'Invalid URL'],
    ['FILE_HOSTS', 'files.example.edu,https://other.example.edu/', '"https://other.example.edu/"'],
    ['FILE_HOSTS', 'files.example.edu/path', 'not a host name'],
    ['FILE_LOOPBACK', 'yes', '"true"|"false"'],
    ['FILE_TIMEOUT_MS', '0', '>0'],
    ['ATTEMPT_TIMEOUT_MS', '-1', '>0'],
    ['RESERVE_MS', '1.5', 'expected int'],
    ['RESERVE_MS', ' ', '>0'],
    ['WAIT_MINIMUM_SECONDS', 'soon', 'expected number'],
    ['WAIT_LONGEST_HOURS', '0', '>0'],
    ['WAIT_LONGEST_HOURS', 'Infinity', 'expected number'],
    ['METRIC_NAMESPACE', 'sis relay', 'letters, digits'],
    ['METRIC_NAMESPACE', 'AWS/Lambda', 'not begin with AWS/'],
    ['LOG_LEVEL', 'verbose', '"debug"|"info"'],
  ])('are refused by name where they are wrong: %s=%j', (name, value, problem) => {
    expect(problems({ [name]: value })).toMatch(new RegExp(`^${name}: `));
    expect(problems({ [name]: value })).toContain(problem);
  });

  test('that are wrong are named all at once, with those that are missing', () => {
    const problemTexts = problems({
      PLATFORM_URL: undefined,
      RESERVE_MS: 'x',
      FILE_HOSTS: 'a b',
      LOG_LEVEL: 'loud',
    });
    expect(problemTexts.match(/\b[A-Z]{2,}_[A-Z_]+\b/g)).toEqual([
      'PLATFORM_URL',
      'FILE_HOSTS',
      'RESERVE_MS',
      'LOG_LEVEL',
    ]);
  });

  test('may differ by operation, and what is wrong there is named to the field', () => {
    const operations = { 'set-grade-value': { version: '1.9', path: '/{orgUnitId}/x', scope: 'a:b:c' } };
    expect(settings({ PLATFORM_OPERATIONS: JSON.stringify(operations) }).platform.overrides).toEqual(
      operations,
    );
    expect(
      problems({ PLATFORM_OPERATIONS: '{"set-grade-value":{"version":"x","path":"a","scop":"b"}}' }),
    ).toMatch(
      /^PLATFORM_OPERATIONS\.set-grade-value\.version: .*; PLATFORM_OPERATIONS\.set-grade-value\.path: .*scop/,
    );
  });

  test('write the address of the platform in one way', () => {
    for (const url of ['https://platform.example.edu/', 'HTTPS://Platform.Example.EDU:443'])
      expect(settings({ PLATFORM_URL: url }).platform.baseUrl).toBe('https://platform.example.edu');
    expect(settings({ PLATFORM_URL: 'http://127.0.0.1:8080' }).platform.baseUrl).toBe(
      'http://127.0.0.1:8080',
    );
  });

  test('list file hosts between commas', () => {
    const hosts = ' files.example.edu, *.cdn.example.edu:8443 ,';
    expect(settings({ FILE_HOSTS: hosts }).files.hosts).toEqual([
      'files.example.edu',
      '*.cdn.example.edu:8443',
    ]);
  });
});

describe('the services of a function', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ functions: false });
  });
  afterAll(() => stack.close());
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  const inEnvironment = (more: Record<string, string> = {}) => {
    const environment = { ...settingsOf(stack.description, 'grade-push'), LOG_LEVEL: 'silent', ...more };
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  };

  test('are built when first asked for, and once', () => {
    const services = servicesFromEnvironment('grade-push');
    inEnvironment();
    expect(services()).toBe(services());
  });

  test('are asked for again where the environment was not usable', () => {
    inEnvironment({ PLATFORM_URL: '' });
    const services = servicesFromEnvironment('grade-push');
    expect(services).toThrow('PLATFORM_URL is missing');
    expect(services).toThrow('PLATFORM_URL is missing');
    inEnvironment();
    expect(services().limits.attemptTimeoutMs).toBe(6_000);
  });

  test.each([
    ['functions/grade-push.handler', 'GET /'],
    ['functions/enrollment-create.handler', undefined],
    ['', undefined],
  ])('open a connection of the ledger beforehand in their own container: %s', async (handler, expected) => {
    const asked: string[] = [];
    const table = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.end();
    });
    await new Promise<void>((resolve) => table.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      table.close();
      table.closeAllConnections();
    });
    const { port } = table.address() as AddressInfo;
    inEnvironment({ _HANDLER: handler, AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${port}` });
    servicesFromEnvironment('grade-push');
    if (expected) await vi.waitFor(() => expect(asked).toEqual([expected]));
    else await new Promise((resolve) => setTimeout(resolve, 100));
    expect(asked).toEqual(expected ? [expected] : []);
  });

  test('tell nobody beforehand that their environment is not usable', async () => {
    inEnvironment({ _HANDLER: 'functions/grade-push.handler', PLATFORM_URL: '' });
    const services = servicesFromEnvironment('grade-push');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(services).toThrow('PLATFORM_URL is missing');
  });

  test('reach the platform, the files, the queues and the ledger that the environment names', async () => {
    inEnvironment();
    const { platform, files, queues, ledger, digest, limits } = servicesFromEnvironment('grade-push')();
    const signal = AbortSignal.timeout(30_000);
    const calls: unknown[] = [];
    const me = platform.for({ actor: undefined, signal, onCall: (call) => calls.push(call) });
    expect(await whoAmI(me)).toMatchObject({ Identifier: '100' });
    expect(calls).toMatchObject([{ operation: 'who-am-i', status: 200 }]);

    const uri = `s3://${stack.description.bucket}/events/portrait.png`;
    const portrait = await files.open(uri, { maximumBytes: limits.profileImageBytes, signal });
    expect(
      Buffer.concat(await Array.fromAsync(portrait.stream()))
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
    await expect(files.open(uri, { maximumBytes: 10, signal })).rejects.toThrow('the limit is 10');

    const letter = { body: 'b', source: 'arn:x', failure: null, replays: 0, attributes: {} };
    await queues.writeLetter(letter);
    const { Messages = [] } = await stack.sqs.send(
      new ReceiveMessageCommand({ QueueUrl: stack.description.deadLetters, MessageAttributeNames: ['All'] }),
    );
    expect(Messages.map(letterOf)).toEqual([letter]);

    const entry = {
      resource: 'grade/1/2/3',
      fields: ['grade'],
      version: '1',
      timeMs: Date.now(),
      messageId: 'm',
      replays: 0,
      repeatable: true,
      decidedMs: undefined,
      digests: { grade: (await digest?.(['grade/1/2/3', 'grade', '8'])) ?? '' },
    };
    expect(entry.digests.grade).toMatch(/^[\w-]{26}$/);
    const attempt = { lockMs: 1_000, isolated: false };
    expect(await ledger?.take(entry, attempt)).toMatchObject({ kind: 'send' });
    await platform.close();
  });

  test('know when 80,000 messages are in flight, and not before', async () => {
    inEnvironment();
    const { platform, queues, limits } = servicesFromEnvironment('grade-push')();
    const queue = stack.queues.getQueueByName('sis-relay-local-grade-push');
    if (!queue) throw new Error('There is no such queue');
    const { messages } = queue;
    for (const at of Array(80_000).keys())
      queue.inflightMessages.set(`${at}`, {
        message: { ...messages[0], messageId: `${at}` } as (typeof messages)[number],
        receiptHandle: `${at}`,
        visibilityDeadline: Date.now() + 60_000,
      });
    onTestFinished(() => queue.inflightMessages.clear());
    expect(limits.isCrowded?.()).toBe(false);
    await queues.delay([{ messageId: '1', receiptHandle: '1', seconds: 60 }]);
    expect(limits.isCrowded?.()).toBe(true);
    await platform.close();
  });

  test('have no ledger where no table is named, and say so', async () => {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const { ledger, observe, platform } = createServices('grade-push', settings({ LOG_LEVEL: 'warn' }));
    observe.flush();
    expect(ledger).toBeUndefined();
    expect(String(write.mock.calls)).toContain('LEDGER_TABLE is not set, so the ledger is off');
    await platform.close();
  });
});
