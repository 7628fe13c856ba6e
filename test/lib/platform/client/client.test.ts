import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { safe } from '../../../../lib/message/safe-text.ts';
import type { Credentials } from '../../../../lib/platform/auth/auth.ts';
import { signedQuery } from '../../../../lib/platform/auth/id-key.ts';
import { resultOf, type SentCall } from '../../../../lib/platform/client/check-answer.ts';
import { failureOf } from '../../../../lib/platform/client/failure-of.ts';
import type { Operation } from '../../../../lib/platform/client/operation.ts';
import { PlatformError } from '../../../../lib/platform/client/platform-error.ts';
import type { AnswerFacts } from '../../../../lib/platform/rate-limit/answered.ts';
import type { RateLimiter, SlotResult } from '../../../../lib/platform/rate-limit/rate-limiter.ts';
import { anyCharacter } from '../../../any-character.ts';
import { freeTurn, unpaced } from '../rate-limit/unpaced.ts';
import {
  type Arrived,
  answering,
  clientAt,
  credential,
  errorOf,
  everythingOf,
  handling,
  nobody,
  operations,
  raw,
} from '../servers.ts';

const path = { id: 1 };
const thing = '/svc/api/lp/1.49/things/1';
const plain = { 'content-type': 'text/plain' };
const page = { 'content-type': 'text/html' };

/** Whether a request is signed as the facts say, with a clock that is right to within five minutes. */
const isSigned = ({ method, path, query }: Arrived, platformSeconds: number, by = credential): boolean => {
  const proof = signedQuery({ method, path }, by, Number(query.x_t));
  return (
    Object.entries(proof).every(([name, value]) => query[name] === value) &&
    Math.abs(Number(query.x_t) - platformSeconds) <= 300
  );
};

describe('the rate limiter', () => {
  /** A rate limiter that gives slots until they are used up, and remembers what it was asked and told. */
  const rateLimiterWith = (turns = Number.POSITIVE_INFINITY) => {
    const asked: string[] = [];
    const answers: AnswerFacts[] = [];
    const rateLimiter: RateLimiter = {
      ...unpaced,
      requestSlot: (priority, _, settle) => {
        asked.push(priority);
        settle(asked.length > turns ? { slot: undefined, seconds: 42 } : { slot: freeTurn });
        return () => {};
      },
      recordAnswer: (answer) => void answers.push(answer),
    };
    return { rateLimiter, asked, told: answers };
  };
  const headers = { 'x-rate-limit-remaining': '490', 'x-rate-limit-reset': '12', 'x-request-cost': '10' };

  test('is asked before each call, by its class, and learns from each answer', async () => {
    const { url } = await answering(() => ({ body: '{"Id":1}', headers }));
    const { rateLimiter, asked, told: answers } = rateLimiterWith();
    const { client, platform } = clientAt(url, { rateLimiter });
    await platform.call(operations.read, { path });
    const signal = new AbortController().signal;
    const bulk = client.for({ actor: undefined, signal, onCall: () => {}, priority: 'bulk' });
    await bulk.call(operations.read, { path });
    expect(asked).toEqual(['normal', 'bulk']);
    const answer = { status: 200, remaining: 490, resetSeconds: 12, cost: 10, sentMs: expect.any(Number) };
    expect(answers).toEqual([answer, answer]);
  });

  test.each([
    ['429', { status: 429, headers: { ...headers, 'retry-after': '7' } }, 7],
    ['429 without Retry-After', { status: 429, headers }, 12],
    ['a success that says 429', { body: '{"status":429,"title":"Too many requests"}' }, undefined],
    ['503', { status: 503, headers: { 'retry-after': '7' } }, 7],
  ])('learns of a refusal: %s', async (name, answer, retryAfterSeconds) => {
    const { url } = await answering(() => answer);
    const { rateLimiter, told: answers } = rateLimiterWith();
    await errorOf(clientAt(url, { rateLimiter }).platform.call(operations.repeatable, { path, json: {} }));
    const status = name === '503' ? 503 : 429;
    expect(answers).toMatchObject([{ status, ...(retryAfterSeconds && { retryAfterSeconds }) }]);
  });

  test('learns that no answer came', async () => {
    const { rateLimiter, told: answers } = rateLimiterWith();
    await errorOf(clientAt(await nobody(), { rateLimiter }).platform.call(operations.read, { path }));
    expect(answers).toMatchObject([{ status: undefined }]);
  });

  test('holds back a call whose turn does not come: it is not sent, and may be sent later', async () => {
    const { url, requests } = await answering(() => ({ body: '{"Id":1}' }));
    const { platform, reports } = clientAt(url, { rateLimiter: rateLimiterWith(0).rateLimiter });
    const error = await errorOf(platform.call(operations.once, { path, json: {} }));
    expect(failureOf(error)).toMatchObject({ kind: 'throttled', retryAfterSeconds: 42 });
    expect([requests, reports, error.mayHaveActed]).toEqual([[], [], false]);
  });

  test.each(['before', 'while'])('is left by a call that is given up %s it waits', async (when) => {
    const { url, requests } = await answering(() => ({ body: '{"Id":1}' }));
    let settle: ((asked: SlotResult) => void) | undefined;
    const leaving: RateLimiter = {
      ...unpaced,
      requestSlot: (_priority, _untilMs, settled) => {
        settle = settled;
        return () => settle?.({ slot: undefined, seconds: 5 });
      },
    };
    const { platformOf } = clientAt(url, { rateLimiter: leaving });
    const abort = new AbortController();
    if (when === 'before') abort.abort();
    const error = errorOf(platformOf(undefined, abort.signal).call(operations.read, { path }));
    abort.abort();
    expect([(await error).turnInSeconds, requests]).toEqual([5, []]);
  });

  test('holds back the second try of a call whose credential was refused: the refusal stays', async () => {
    const { url, requests } = await answering(() => ({ status: 403, body: 'Invalid token' }));
    const refused = new Set<string>();
    const credentials: Credentials = {
      read: async () => ({ credential, version: `${refused.size}` }),
      refuse: (_, version) => void refused.add(version),
    };
    const { platform } = clientAt(url, { rateLimiter: rateLimiterWith(1).rateLimiter, credentials });
    const error = await errorOf(platform.call(operations.read, { path }));
    expect([error.refused?.status, requests.length]).toEqual([403, 1]);
  });

  test('holds back a further call for some seconds, where the platform takes calls again by then', async () => {
    const { url, requests } = await answering(() => ({ body: '{"Id":1}' }));
    const waits = [0.05, 0];
    const turn = { next: () => waits.shift() ?? 0, end: () => {} };
    const signal = new AbortController().signal;
    const { client } = clientAt(url, { rateLimiter: rateLimiterWith().rateLimiter });
    await client
      .for({ actor: undefined, signal, onCall: () => {}, slot: turn })
      .call(operations.read, { path });
    expect([requests.length, waits]).toEqual([1, []]);
  });

  test('lets the further calls of a message go at once, until the platform refuses one', async () => {
    const { url, requests } = await answering(() => ({ body: '{"Id":1}' }));
    const { rateLimiter, asked } = rateLimiterWith();
    let seconds = 0;
    const turn = { next: () => seconds, end: () => {} };
    const signal = new AbortController().signal;
    const platform = clientAt(url, { rateLimiter }).client.for({
      actor: undefined,
      signal,
      onCall: () => {},
      slot: turn,
    });
    await platform.call(operations.read, { path });
    await platform.call(operations.read, { path });
    seconds = 9;
    const error = await errorOf(platform.call(operations.read, { path }));
    expect(error.turnInSeconds).toBe(9);
    expect([asked, requests.length]).toEqual([[], 2]);
  });
});

describe('a call', () => {
  test('is sent once, signed for the path as it is sent, its query beside it unsigned', async () => {
    const { url, requests } = await answering(() => ({ body: '{"Id":1}' }));
    const { platform } = clientAt(url);
    const query = { bookmark: 'a&b=c d+e/é', x_a: 'mine' };
    expect(await platform.call(operations.read, { path, query })).toEqual({ Id: 1 });
    expect(requests).toHaveLength(1);
    const [request] = requests;
    expect(request).toMatchObject({
      method: 'GET',
      path: thing,
      body: '',
      query: { bookmark: query.bookmark },
    });
    expect(isSigned(request!, Date.now() / 1000)).toBe(true);
    expect(request?.headers).not.toHaveProperty('authorization');
  });

  test('has its JSON with its length, or no body, and asks for an answer that is not compressed', async () => {
    const { url, requests } = await answering();
    const json = { Name: 'Łódź', Points: 0 };
    await clientAt(url).platform.call(operations.repeatable, { path, json });
    await clientAt(url).platform.call(operations.once, { path });
    const body = JSON.stringify(json);
    const headers = { 'content-length': `${Buffer.byteLength(body)}`, 'accept-encoding': 'identity' };
    expect(requests).toMatchObject([
      { method: 'PUT', path: thing, body, headers: { 'content-type': 'application/json', ...headers } },
      { body: '', headers: { ...headers, 'content-length': '0' } },
    ]);
    expect(requests[1]?.headers).not.toHaveProperty('content-type');
  });

  test('is reported without its query, whatever becomes of it', async () => {
    const { url } = await answering((_, index) => ({ status: index === 0 ? 200 : 404, body: '{"Id":1}' }));
    const { platform, reports } = clientAt(url);
    await platform.call(operations.read, { path });
    await errorOf(platform.call(operations.once, { path }));
    const answers = { durationMs: expect.any(Number), mayHaveActed: false, priority: 'normal' };
    expect(reports).toEqual([
      { ...answers, operation: 'read-thing', call: `GET ${thing}`, status: 200 },
      { ...answers, operation: 'add-thing', call: `POST ${thing}`, status: 404 },
    ]);
  });

  test('takes no more of a message into its path than an id or a plain word', async () => {
    const { url, requests } = await answering();
    const { platform, reports } = clientAt(url);
    const words = '|.|..|a/b|../1|%2e|a b|a?b|a#b|a;b|a&b|a..b|.a|a.|_|a\r\nb|1\n|é|\0|{id}'.split('|');
    const numbers = [0, -1, 1.5, 1e21, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53];
    const unusable = [...words, ...numbers];
    for (const id of unusable)
      await expect(platform.call(operations.once, { path: { id } })).rejects.toThrow(TypeError);
    await expect(platform.call(operations.once)).rejects.toThrow('add-thing: no usable value for {id}');
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: anyCharacter }), async (id) => {
        fc.pre(!/^[A-Za-z0-9-]+([._][A-Za-z0-9-]+)*$/.test(id));
        await expect(platform.call(operations.once, { path: { id } })).rejects.toThrow(TypeError);
      }),
    );
    expect([requests, reports]).toEqual([[], []]);
    for (const id of [1, 2 ** 53 - 1, 'a-Word-7', 'an_id.v2'])
      await platform.call(operations.once, { path: { id } });
    const sent = requests.map((request) => request.path.split('/').at(-1));
    expect(sent).toEqual(['1', '9007199254740991', 'a-Word-7', 'an_id.v2']);
  });
});

test('a call that cannot be sent as it is made is our own mistake, and not the platform’s silence', async () => {
  const { url, requests } = await answering();
  const payload = async () => ({
    contentType: 'text/plain\r\nx: y',
    contentLength: 1,
    body: Buffer.from('x'),
  });
  for (const declared of [operations.repeatable, operations.once]) {
    const error = await clientAt(url)
      .platform.call(declared, { path, payload })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'UND_ERR_INVALID_ARG' });
  }
  expect(requests).toEqual([]);
});

describe('configuration', () => {
  test('overrides the root, the versions, and version, path and scope of one operation', async () => {
    const { url, requests } = await answering(() => ({ status: 400 }));
    const { platform } = clientAt(url, {
      apiRoot: '/Other/API',
      versions: { lp: '1.9', le: '1.12' },
      overrides: {
        'add-thing': { version: '1.52', path: '/{id}/stuff/', scope: 'a:b:c' },
        'set-thing': { path: '/fixed' },
      },
    });
    const { operation: used } = await errorOf(platform.call(operations.once, { path }));
    const other = await errorOf(platform.call(operations.read, { path }));
    await errorOf(platform.call(operations.repeatable, { path }));
    expect(requests.map((request) => request.path)).toEqual([
      '/Other/API/lp/1.52/1/stuff/',
      '/Other/API/lp/1.9/things/1',
      '/Other/API/lp/1.9/fixed',
    ]);
    expect(requests.every((request) => isSigned(request, Date.now() / 1000))).toBe(true);
    expect(used).toMatchObject({ name: 'add-thing', scope: 'a:b:c', repeatable: false });
    expect(other.operation.scope).toBeUndefined();
  });

  test.each(['/a?b=c', '/a#b', '/a b', '/a+b', '/%41', '//a', 'a', '/é', '/{id', '/a\r\nx: y'])(
    'cannot make a path that no signature is sure to fit: %j',
    async (unfit) => {
      const { url, requests } = await answering();
      const { platform } = clientAt(url, { overrides: { 'add-thing': { path: unfit } } });
      await expect(platform.call(operations.once, { path })).rejects.toThrow(
        'add-thing: its path, as configured',
      );
      expect(requests).toEqual([]);
    },
  );
});

describe('a refusal', () => {
  test.each([
    [403, plain, 'Forbidden'],
    [429, { 'retry-after': '1' }, ''],
    [503, {}, ''],
  ])('with %i costs exactly one request', async (status, headers, body) => {
    const { url, requests } = await answering(() => ({ status, headers, body }));
    const { platform } = clientAt(url);
    const error = await errorOf(platform.call(operations.repeatable, { path }));
    expect(error.refused?.status).toBe(status);
    expect(error.call).toBe(`PUT ${thing}`);
    expect(requests).toHaveLength(1);
  });

  test.each([300, 302, 307])('with %i is not followed', async (status) => {
    const elsewhere = await answering();
    const { url, requests } = await answering(() => ({
      status,
      headers: { location: `${elsewhere.url}/login?to=x` },
    }));
    for (const declared of Object.values(operations)) {
      const error = await errorOf(clientAt(url).platform.call(declared, { path }));
      expect(error.refused).toMatchObject({ status, title: 'Redirect', detail: `to ${elsewhere.url}/login` });
    }
    expect(requests).toHaveLength(4);
    expect(elsewhere.requests).toEqual([]);
  });
});

describe('a success', () => {
  test('in words that refuse a key costs a second request where that does no harm, and else none', async () => {
    const { url, requests } = await answering(() => ({ headers: plain, body: 'Invalid token' }));
    const { platform } = clientAt(url);
    await errorOf(platform.call(operations.once, { path }));
    expect(requests).toHaveLength(1);
    await errorOf(platform.call(operations.repeatable, { path }));
    expect(requests).toHaveLength(3);
  });
});

describe('a clock that is off', () => {
  test.each([400, -80_000])('by %i seconds heals in one call, and stays healed', async (skew) => {
    const { url, requests } = await answering((request) => {
      const seconds = Math.floor(Date.now() / 1000) + skew;
      if (isSigned(request, seconds)) return { body: '{"Id":1}' };
      return { status: 403, headers: page, body: `Timestamp out of range\r\n${seconds}` };
    });
    const { platformOf } = clientAt(url);
    expect(await platformOf().call(operations.readOnce, { path })).toEqual({ Id: 1 });
    expect(requests).toHaveLength(2);
    await platformOf().call(operations.read, { path });
    await platformOf('42').call(operations.once, { path, json: {} });
    expect(requests).toHaveLength(4);
  });

  test('that cannot be healed costs two requests a call at most', async () => {
    let seconds = Math.floor(Date.now() / 1_000) - 50_000;
    const { url, requests } = await answering(() => {
      seconds += 1_000;
      return { status: 403, headers: page, body: `Timestamp out of range\r\n${seconds}` };
    });
    const { platform } = clientAt(url);
    for (const expected of [2, 4]) {
      const error = await errorOf(platform.call(operations.read, { path }));
      expect(error.refused?.title).toBe('Timestamp out of range');
      expect(requests).toHaveLength(expected);
    }
  });
});

describe('a refused key', () => {
  /** Credentials of two versions, of which the second is known once the first is refused. */
  const rotated = (newer = true) => {
    const refused: string[] = [];
    const credentials: Credentials = {
      read: async () => {
        if (refused.length === 0) return { credential, version: 'old' };
        if (!newer) throw new Error('no other version');
        return { credential: { ...credential, userKey: 'the-new-key' }, version: 'new' };
      },
      refuse: (_, version) => void refused.push(version),
    };
    return { credentials, refused };
  };
  const invalid = { status: 403, headers: plain, body: 'Invalid token' };
  const platformTaking = (userKey: string) =>
    answering((request) =>
      isSigned(request, Date.now() / 1000, { ...credential, userKey }) ? { body: '{"Id":1}' } : invalid,
    );

  test('that was changed costs one more request', async () => {
    const { url, requests } = await platformTaking('the-new-key');
    const { credentials, refused } = rotated();
    const { platform } = clientAt(url, { credentials });
    expect(await platform.call(operations.readOnce, { path })).toEqual({ Id: 1 });
    await platform.call(operations.read, { path });
    expect(requests).toHaveLength(3);
    expect(refused).toEqual(['old']);
  });

  test('for which there is no other costs one request, and is the news', async () => {
    const { url, requests } = await platformTaking('the-new-key');
    const { platform } = clientAt(url, { credentials: rotated(false).credentials });
    const error = await errorOf(platform.call(operations.read, { path }));
    expect(error.refused?.title).toBe('Invalid token');
    expect(requests).toHaveLength(1);
  });

  test('whose successor is refused too costs two requests, and both are known as refused', async () => {
    const { url, requests } = await platformTaking('a-third-key');
    const { credentials, refused } = rotated();
    const { platform } = clientAt(url, { credentials });
    const error = await errorOf(platform.call(operations.read, { path }));
    expect(error.refused?.title).toBe('Invalid token');
    expect(requests).toHaveLength(2);
    expect(refused).toEqual(['old', 'new']);
  });

  test('of a learner is changed in between: what must not be sent twice is not sent by the other key', async () => {
    const { url, requests } = await platformTaking('the-new-key');
    const { credentials, refused } = rotated();
    const platform = clientAt(url, { credentials }).platformOf('301');
    const error = await errorOf(platform.call(operations.once, { path }));
    expect([error.refused?.title, requests.length, refused]).toEqual(['Invalid token', 1, ['old']]);
    // Whoever asks first whose it is may use it.
    await platform.call(operations.once, { path });
    expect(requests).toHaveLength(2);
  });

  test('makes the body anew for the second time', async () => {
    const { url, requests } = await platformTaking('the-new-key');
    let made = 0;
    const payload = async () => {
      made += 1;
      const body = async function* () {
        yield Buffer.from('once ');
        yield Buffer.from('only');
      };
      return { contentType: 'text/plain', contentLength: 9, body: body() };
    };
    const { platform } = clientAt(url, { credentials: rotated().credentials });
    await platform.call(operations.once, { path, payload });
    expect(made).toBe(2);
    expect(requests.map(({ body }) => body)).toEqual(['once only', 'once only']);
  });
});

describe('the platform’s clock', () => {
  test('is known from its last answer, and not before', async () => {
    const aheadMs = 3_600_000;
    const { url } = await answering((_, index) => ({
      body: '{"Id":1}',
      headers: index === 0 ? { date: 'soon' } : { date: new Date(Date.now() + aheadMs).toUTCString() },
    }));
    const { platform } = clientAt(url);
    await platform.call(operations.read, { path });
    expect(platform.clockOffsetMs()).toBeUndefined();
    await platform.call(operations.read, { path });
    expect(Math.abs(platform.clockOffsetMs()! - aheadMs)).toBeLessThan(60_000);
  });
});

describe('nothing secret', () => {
  const secrets = [credential.appKey, credential.userKey, 'x_c=', 'x_d=', 'x_t=', 'private-content'];
  const payload = { path, query: { secret: 'private-content' }, json: { Comment: 'private-content' } };

  const chunked = Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
  test.each<[string, () => Promise<{ url: string }>]>([
    ['a refusal that repeats the address', () => repeating(400, plain)],
    ['a success of another shape', () => repeating(200, {}, JSON.stringify)],
    ['no HTTP that repeats the address', () => raw((socket, first) => socket.end(first))],
    [
      'a bad body that repeats the address',
      () => raw((socket, first) => socket.end(Buffer.concat([chunked, first]))),
    ],
    ['a reset', () => raw((socket) => socket.resetAndDestroy())],
  ])('is in what a call fails with: %s', async (_, address) => {
    const { url } = await address();
    for (const declared of [operations.read, operations.readOnce]) {
      const { platform } = clientAt(url, { headersTimeoutMs: 100 });
      const error = await errorOf(platform.call(declared, payload));
      const everything = `${everythingOf(error)}\n${JSON.stringify(error)}\n${error.stack}`;
      for (const secret of secrets) expect(everything).not.toContain(secret);
      // A signature, wherever it stands.
      expect(everything).not.toMatch(/(?<![\w-])[\w-]{43}(?![\w-])/);
      expect(error.call).toMatch(new RegExp(`^(GET|POST) ${thing}$`));
    }
  });

  const repeating = (
    status: number,
    headers: Record<string, string>,
    wrapped: (address: string) => string = (address) => address,
  ) =>
    handling((request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(wrapped(`${request.url} ${request.url}`));
    });
});

describe('how an answer is checked', () => {
  type Answered = Partial<Parameters<typeof resultOf>[1]>;
  const ask = (operation: Operation<unknown>, input: SentCall<unknown>['input'], answered: Answered) =>
    resultOf(
      { operation, input, call: safe`PUT /x`, sensitiveValues: () => ['the-very-secret-value'] },
      { status: 200, headers: {}, text: '', ...answered },
    );
  /** What is wrong with an answer; `done` where nothing is. */
  const flawOf = (
    operation: Operation<unknown>,
    input: SentCall<unknown>['input'],
    answered: Answered,
  ): PlatformError | 'done' => {
    try {
      ask(operation, input, answered);
      return 'done';
    } catch (error) {
      if (error instanceof PlatformError) return error;
      throw error;
    }
  };
  const said = (flaw: PlatformError | 'done') => (flaw === 'done' ? flaw : flaw.message);
  const other = (name: string) => `the answer is about another ${name} than requested`;
  const set = operations.repeatable;
  const typed = (contentType: string) => ({ 'content-type': contentType });

  const csv: Operation<never> = { ...operations.read, answer: { file: /^text\/csv/ } };
  test.each<[string, Answered, string, boolean]>([
    ['an error', { text: '{"Errors":[]}' }, 'answered with 200', false],
    ['an error of another form', { text: '{"error":"x"}' }, 'answered with 200', false],
    ['a page', { text: '<p>x' }, 'answered with 200', false],
    [
      'words',
      { text: 'x', headers: typed('text/plain; charset=utf-8') },
      'the answer is in words that match no known error',
      true,
    ],
    ['another file', { text: 'a,b', headers: typed('text/csv') }, 'the answer is 200 with text/csv', true],
    [
      'a page that is named a text',
      { text: '{"a":1}', headers: typed('text/plain') },
      'the answer is 200 with text/plain',
      true,
    ],
    ['no content type', { text: 'a' }, 'the answer is 200 with no content type', true],
    ['nothing', { status: 201 }, 'the answer is 201 with no content type', true],
  ])('for a file, %s is none', (_, answered, message, unexpected) => {
    const flaw = flawOf(csv, {}, answered);
    expect(flaw).toMatchObject({ message, unexpected, sent: true });
    if (message.startsWith('the answer is 2'))
      expect(flaw).toMatchObject({
        refused: {
          form: 'shape',
          title: 'Unexpected Answer',
          detail: `${message}; expected: 200 with ^text\\/csv`,
        },
      });
  });

  test.each<[string, Answered, string]>([
    ['of another status', { status: 404, text: '{"Id":1}' }, 'answered with 404'],
    ['too long', { text: '{"Id":1}', isTooLong: true }, 'the answer is too long'],
    ['half', { text: '{"Id":1' }, 'cut off before the answer was complete'],
    ['too deep', { text: `${'['.repeat(65)}${']'.repeat(65)}` }, 'the answer is nested too deep'],
    ['in words', { text: 'x' }, 'the answer is in words that match no known error'],
    ['in words, as JSON', { text: '"x"' }, 'the answer is in words that match no known error'],
    ['an error', { text: '{"Errors":[],"status":400}' }, 'answered with 200'],
    ['likely an error', { text: '{"message":"x","Id":1}' }, 'answered with 200'],
    ['no acknowledgement', { text: '{"x":1}' }, 'the answer has an unknown form'],
    ['blanks', { text: ' \n' }, 'done'],
    ['blanks, as JSON', { text: '"  "' }, 'done'],
    ['a mark of its encoding', { text: '\ufeff' }, 'done'],
    ['an id beside no errors', { text: '{"Id":1,"Errors":[]}' }, 'done'],
    [
      'an id beside what sounds like an error',
      { text: '{"Id":"1","Title":"Error 500","Status":"Open"}' },
      'done',
    ],
    ['no error', { text: '{"error":null,"Id":1}' }, 'done'],
    [
      'an error within',
      { text: '{"result":{"Errors":[{"Message":"no"}]}}' },
      'the answer has an unknown form',
    ],
  ])('that is %s', (_, answered, answers) => {
    const flaw = flawOf(set, {}, answered);
    expect(said(flaw)).toBe(answers);
    if (flaw !== 'done') expect(flaw).toMatchObject({ operation: set, call: 'PUT /x', sent: true });
  });

  test.each<[string, unknown]>([
    ['', 'the answer carries nothing'],
    ['\ufeff', 'the answer carries nothing'],
    ['null', 'the answer lacks required fields: the whole'],
    ['{"Name":"x"}', 'the answer lacks required fields: Id'],
    ['{"Id":[1]}', 'the answer lacks required fields: Id'],
    ['{"Id":"12345678901234567890"}', other('Id')],
    ['{"Id":2}', other('Id')],
    ['\ufeff{"ID":"1","new":[2]}', { Id: 1, new: [2] }],
  ])('for a call that reads it: %j', (text, answers) => {
    const flaw = flawOf(operations.read, { path }, { text });
    if (typeof answers === 'string')
      expect(flaw).toMatchObject({ message: answers, unexpected: true, sent: true });
    else expect(ask(operations.read, { path }, { text })).toEqual(answers);
  });

  test('tells the names and types that came beside those that were expected, and no value', () => {
    const text = JSON.stringify({
      Name: 'private-content',
      'Jane Doe': 1,
      Rows: [{ Id: 1, Deep: {} }],
      No: null,
    });
    expect(flawOf(operations.read, { path }, { text })).toMatchObject({
      refused: {
        detail:
          'came: { Name: string, …: number, Rows: an array of { Id: number, Deep: {} }, No: null }; expected: Id (number)',
      },
    });
  });

  test('that was cut off fails with what cut it off', () => {
    const cutBy = new Error('reset');
    expect(() => ask(set, {}, { text: '{"Id":1}', cutBy })).toThrow(cutBy);
    expect(flawOf(set, {}, { status: 404, text: 'No', cutBy })).toMatchObject({ refused: { cutOff: true } });
    const whole = flawOf(set, {}, { status: 404, text: 'No' });
    expect(whole).toMatchObject({ refused: expect.not.objectContaining({ cutOff: true }) });
  });

  test('is done by its status alone', () => {
    const statuses = Array.from({ length: 100 }, (_, at) => 200 + at);
    for (const text of ['', '{"Id":1}']) {
      const done = statuses.filter((status) => flawOf(set, {}, { status, text }) === 'done');
      expect(done).toEqual([200, 201, 203, 204, 205]);
    }
    expect(said(flawOf(set, {}, { status: 202 }))).toBe(
      'the answer is 202, which does not confirm that the change was made',
    );
  });

  test('that says what it lacks names 20 fields, or the whole', () => {
    const fields = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`F${at}`, z.number()]));
    const lists = { ...operations.read, answer: z.looseObject(fields) };
    const named = said(flawOf(lists, {}, { text: '{}' }));
    expect(named).toMatch(/^the answer lacks required fields: F0, F1, .*, F19$/);
    const deep = { ...operations.read, answer: z.object({ A: z.array(z.object({ B: z.number() })) }) };
    const flaw = flawOf(deep, {}, { text: '{"A":[{"B":"x"}]}' });
    expect(flaw).toMatchObject({
      message: 'the answer lacks required fields: A.0.B',
      unexpected: true,
      refused: {
        status: 200,
        detail: expect.stringMatching(/^came: \{ A: .*; expected: A\.0\.B \(number\)$/),
      },
    });
    expect(said(flawOf(deep, {}, { text: '7' }))).toBe('the answer lacks required fields: the whole');
  });

  test('tells of a shape no more than 2,000 characters, and of a success what would acknowledge', () => {
    const fields = Object.fromEntries(
      Array.from({ length: 20 }, (_, at) => [`${'F'.repeat(150)}${at}`, z.number()]),
    );
    const wide = { ...operations.read, answer: z.looseObject(fields) };
    const flaw = flawOf(wide, {}, { text: '{}' });
    expect(flaw === 'done' ? '' : flaw.refused?.detail).toHaveLength(2_000);
    expect(flawOf(set, {}, { text: '{"x":1}', headers: typed('text/json') })).toMatchObject({
      refused: {
        form: 'shape',
        contentType: 'text/json',
        detail: 'came: { x: number }; expected: nothing, or what was asked for',
      },
    });
  });

  test('that is likely an error is none where it carries what is expected', () => {
    const text = '{"Id":1,"message":"x"}';
    expect(ask(operations.read, {}, { text })).toEqual({ Id: 1, message: 'x' });
    expect(said(flawOf(operations.read, {}, { text: '{"message":"x"}' }))).toBe('answered with 200');
  });

  test('is unexpected only where its words are no error', () => {
    expect(flawOf(set, {}, { status: 404, text: 'x' })).toMatchObject({ unexpected: false });
    expect(flawOf(operations.read, {}, { text: '"x"' })).toMatchObject({ unexpected: true });
    const list = { text: '[{"message":"x"},{"code":404}]', headers: typed('text/json') };
    expect(flawOf(set, {}, list)).toMatchObject({ unexpected: false });
  });

  test('never repeats a value of the request', () => {
    const flaw = flawOf(set, {}, { status: 400, text: 'No: the-very-secret-value' });
    expect(JSON.stringify(flaw)).not.toContain('secret-value');
  });

  const named = { ...operations.repeatable, repeats: { Identifier: 'id' } };
  test.each<[string, SentCall<unknown>['input'], string, string]>([
    ['the path', { path }, '{"Id":2}', other('Id')],
    ['the path, as another name', { path }, '{"IDENTIFIER":"2"}', other('IDENTIFIER')],
    ['the path, not the body', { path, json: { id: 2 } }, '{"Id":2}', other('Id')],
    [
      'the body, not the query',
      { query: { userId: '1' }, json: { UserId: 2 } },
      '{"UserId":1}',
      other('UserId'),
    ],
    ['the path, in letters of another case', { path: { id: 'Ab' } }, '{"Id":"aB"}', 'done'],
    ['the path, as a text', { path }, '{"Id":"1"}', 'done'],
    ['the body, unset', { json: { UserId: 1 } }, '{"Id":1,"userId":null}', other('userId')],
    ['the body, empty', { json: { UserId: 1 } }, '{"Id":1,"userId":""}', other('userId')],
    ['the path, unset', { path }, '{"Id":null,"Identifier":"1"}', 'done'],
    ['the query, unset', { query: { userId: '1' } }, '{"Id":1,"UserId":null}', 'done'],
    ['the body, of a type that is no id', { json: { UserId: 1 } }, '{"Id":1,"UserId":{"a":1}}', 'done'],
    ['the body, where that was empty', { json: { UserId: '' } }, '{"Id":1,"UserId":null}', 'done'],
    ['the body, where that was none', { json: { UserId: null } }, '{"Id":1,"UserId":7}', 'done'],
    ['no id', { json: { Name: 'a', Idea: 'b' } }, '{"Id":1,"Name":"x","Idea":"y"}', 'done'],
    ['the second row', { path }, '[null,7,{"Id":1},{"Id":2}]', other('Id')],
    ['a row of objects', { path }, '{"OBJECTS":[{"Id":2}]}', other('Id')],
    ['a row of another list', { path }, '{"Id":1,"MyItems":[{"Id":2}],"ItemsOf":[{"Id":2}]}', 'done'],
    ['no row, as the list is none', { path }, '{"Items":7,"Id":2}', other('Id')],
    ['no body that has names', { json: 'text' }, '{"Id":1,"0":"x"}', 'done'],
    ['no body', { json: null }, '{"Id":1}', 'done'],
  ])('for a thing asked for by %s', (_, input, text, answers) => {
    expect(said(flawOf(named, input, { text }))).toBe(answers);
  });

  const unknown = 'the answer has an unknown form';
  test.each([
    ['7', 'done'],
    ['0', unknown],
    ['-1', unknown],
    ['404', 'the answer is in words that match no known error'],
    ['503', 'the answer is in words that match no known error'],
    ['{"Id":1,"Success":"false"}', 'answered with 200'],
    ['{"Id":1,"Status":"Rejected"}', 'answered with 200'],
    ['{"Id":1,"Status":"denied"}', 'answered with 200'],
    ['{"Id":1,"Success":"true","Status":"Released"}', 'done'],
    ['true', 'done'],
    ['false', unknown],
    ['null', 'done'],
    ['{"a":null,"b":{"c":[]},"d":""}', 'done'],
    ['[{},[""]]', 'done'],
    ['{"a":0}', unknown],
    ['{"a":false}', unknown],
    ['{"a":[" "]}', unknown],
    ['{"Id":9}', 'done'],
    ['{"x":1,"IDENTIFIER":"a"}', 'done'],
    ['{"Id":"","x":1}', unknown],
    ['{"Id":null,"x":1}', unknown],
    ['{"Id":[1]}', unknown],
    ['{"Uuid":9}', unknown],
    ['{"Ids":9}', unknown],
    ['{"NAME":"THE NAME","x":1}', 'done'],
    ['{"Name":"another"}', unknown],
    ['{"Named":"the name"}', unknown],
    ['[{"Id":1},{"Id":2}]', 'done'],
    ['[{"Id":1},{"x":2}]', unknown],
    ['[{"Id":1},null]', unknown],
    ['[{"Id":1},7]', unknown],
    ['{"Items":[{"Id":1}],"Total":1}', 'done'],
    ['{"Objects":[{"x":1}],"Id":1}', unknown],
  ])('acknowledges or does not: %s', (text, answers) => {
    expect(said(flawOf(set, { json: { Name: 'The name', Score: 3 } }, { text }))).toBe(answers);
  });
});
