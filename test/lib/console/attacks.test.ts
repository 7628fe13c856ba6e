import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorSentence } from '../../../lib/cli/print/error-sentence.ts';
import { createApp } from '../../../lib/console/app.ts';
import type { Desk } from '../../../lib/console/desk.ts';
import { createSession, safeNext } from '../../../lib/console/guard.ts';
import { writeRecord } from '../../../lib/desk/write.ts';
import { eventBody, failureOf, functionNames, type Office, officesForTests } from '../cli/office.ts';
import { type Answer, type Opened, openConsole, read, send, sendRaw } from './attacker.ts';

const offices = officesForTests();

/** Every route that the console has, so that a new one is attacked, too. */
const routes = createApp({ integrations: new Map() } as unknown as Desk, {
  ...{ host: '127.0.0.1:1', session: createSession(1) },
  ...{ sentence: String, onUse: () => {} },
})
  .routes.filter(({ method }) => method !== 'ALL')
  .map(({ method, path }) => ({ method, path }));
const changing = routes.flatMap(({ method, path }) => (method === 'GET' ? [] : [path]));
const reading = routes.flatMap(({ method, path }) => (method === 'GET' ? [path] : []));

let office: Office;
let ours: Opened;
let letters: string[];
beforeAll(async () => {
  office = await offices.open();
  letters = await office.park([{}, {}, { function: 'enrollment-create', failure: { kind: 'uncertain' } }]);
  ours = await openConsole(office.target);
  // It has read what it shows.
  await ours.get('/');
});
afterAll(() => ours.close());

const pathOf = (path: string, id = letters[0] ?? ''): string => path.replace(':id', id);

/** With it, and the right headers, every change would be made: what a screen asks for is all there. */
const wholeForm = (): Record<string, string> => ({
  ...{ all: 'yes', reason: 'an attack', id: letters[0] ?? '', function: 'grade-push', answer: 'yes' },
  ...{ decision: 'discard', 'set:comments': 'changed', includeUncertain: 'yes', next: '/' },
  ...{ address: `s3://${office.bucket}/discarded/x.jsonl`, error: 'Not Found' },
});
const wholeBody = (): string => new URLSearchParams(wholeForm()).toString();

/** All that an attack could change: queues, lists, and what lies in the bucket, the audit log first of all. */
const everything = async ({ target, queueOf, deadLetters, objects }: Office) => {
  const sqs = await target.sqs();
  const names = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const;
  const urls = [deadLetters.url, ...functionNames.map((name) => queueOf(name).url)];
  return {
    queues: await Promise.all(
      urls.map(async (QueueUrl) => {
        const asked = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...names] });
        return (await sqs.send(asked)).Attributes;
      }),
    ),
    records: await target.dynamodb?.call('Scan', { TableName: target.deskTable }),
    objects: [...(await objects('')).keys()],
  };
};

/** Makes an attack, and proves that it changed nothing and began nothing. */
const attack = async <Told>(make: () => Promise<Told>, { at = ours, of = office } = {}): Promise<Told> => {
  const before = await everything(of);
  const told = await make();
  expect((await at.get('/runs')).text).toContain('Nothing was begun in this console yet.');
  expect(await everything(of)).toEqual(before);
  expect(at.said).toEqual([]);
  return told;
};

const expectNothingTold = (told: string, at = ours): void => {
  for (const secret of [
    ...letters.map((id) => id.slice(0, 8)),
    ...[at.token, at.cookie.split('=').at(-1) ?? '', office.target.prefix.slice(0, -1)],
    ...['a test', 'grade-push', 'Jane', 'Not Found', 'node_modules', 'file://', '    at '],
  ])
    expect(told).not.toContain(secret);
};

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const expectHeaders = ({ headers }: Pick<Answer, 'headers'>): void => {
  expect(headers).toMatchObject({
    'content-security-policy': policy,
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  });
  const names = Object.keys(headers);
  expect(names.filter((name) => /^(server|x-powered-by|access-control-.*)$/.test(name))).toEqual([]);
};

const expectRefused = (answer: Answer, statuses: number[]): void => {
  expect(statuses).toContain(answer.status);
  expectNothingTold(answer.text);
  expectHeaders(answer);
  expect(answer.headers['set-cookie']).toBeUndefined();
  expect(answer.headers.location).toBeUndefined();
};

test('the attacks know every route', () => {
  expect(changing.length).toBeGreaterThanOrEqual(15);
  expect(reading.length).toBeGreaterThanOrEqual(20);
  expect(new Set(routes.map(({ method }) => method))).toEqual(new Set(['GET', 'POST']));
});

describe('DNS rebinding: another name that leads here', () => {
  const hosts: [name: string, host: (port: number) => string][] = [
    ['a name of the attacker', (port) => `evil.example:${port}`],
    ['a name that holds the address', (port) => `127.0.0.1.nip.io:${port}`],
    ['localhost', (port) => `localhost:${port}`],
    ['localhost in upper case', (port) => `LOCALHOST:${port}`],
    ['another port', (port) => `127.0.0.1:${port + 1}`],
    ['no port', () => '127.0.0.1'],
    ['a dot at the end', (port) => `127.0.0.1.:${port}`],
    ['the address as one number', (port) => `2130706433:${port}`],
    ['the address in hex', (port) => `0x7f000001:${port}`],
    ['a short address', (port) => `127.1:${port}`],
    ['the address of IPv6', (port) => `[::1]:${port}`],
    ['the unspecified address', (port) => `0.0.0.0:${port}`],
    ['a port with a zero before it', (port) => `127.0.0.1:0${port}`],
    ['a user before it', (port) => `user@127.0.0.1:${port}`],
    ['a path behind it', (port) => `127.0.0.1:${port}/evil`],
    ['two in one header', (port) => `127.0.0.1:${port}, evil.example`],
    ['an empty one', () => ''],
  ];
  test.each(hosts)('Host is %s', async (_, hostOf) => {
    const host = hostOf(ours.port);
    const forwarded = { 'x-forwarded-host': ours.host, forwarded: `host=${ours.host}` };
    await attack(async () => {
      for (const path of ['/', '/letters', '/console.css'])
        expectRefused(
          await send(ours.port, { path, headers: { ...forwarded, cookie: ours.cookie, host } }),
          [400, 421],
        );
      for (const origin of [ours.origin, `http://${host}`])
        expectRefused(
          await send(ours.port, {
            ...{ method: 'POST', path: '/discard', body: wholeBody() },
            headers: { ...ours.own, ...forwarded, origin, host },
          }),
          [400, 421],
        );
    });
  });
  test.each([
    ['an absolute target of another host', (port: number) => `http://evil.example:${port}/letters`],
    ['an absolute target of another port', () => 'http://127.0.0.1:1/letters'],
    ['an absolute target with a user', (port: number) => `http://evil:x@127.0.0.1:${port}.evil/letters`],
    ['an absolute target of no host', () => 'http:///letters'],
    ['a target that is no path', () => 'letters'],
    ['a target of another scheme', () => 'file:///etc/passwd'],
  ])('the request line has %s', async (_, targetOf) => {
    const told = await attack(() =>
      sendRaw(
        ours.port,
        `GET ${targetOf(ours.port)} HTTP/1.1\r\nHost: ${ours.host}\r\nCookie: ${ours.cookie}\r\nConnection: close\r\n\r\n`,
      ),
    );
    expect(told).toMatch(/^HTTP\/1\.1 4(00|21) /);
    expectNothingTold(told);
  });
  test.each([
    ['the first', (right: string) => [right, 'evil.example']],
    ['the last', (right: string) => ['evil.example', right]],
  ])('two headers Host, %s of them right', async (_, hostsOf) => {
    const hosts = hostsOf(ours.host).map((host) => `Host: ${host}\r\n`);
    const told = await attack(() =>
      sendRaw(
        ours.port,
        `GET /letters HTTP/1.1\r\n${hosts.join('')}Cookie: ${ours.cookie}\r\nConnection: close\r\n\r\n`,
      ),
    );
    expect(told).toMatch(/^HTTP\/1\.1 4(00|21) /);
    expectNothingTold(told);
  });
  test.each(['1.0', '1.1'])('no Host at all, by HTTP/%s', async (version) => {
    const told = await attack(() =>
      sendRaw(
        ours.port,
        `GET /letters HTTP/${version}\r\nCookie: ${ours.cookie}\r\nConnection: close\r\n\r\n`,
      ),
    );
    expect(told).toMatch(/^HTTP\/1\.1 400 /);
    expectNothingTold(told);
  });
  test('a second request hidden in the body of a refused one', async () => {
    const hidden = `POST /discard HTTP/1.1\r\nHost: ${ours.host}\r\nOrigin: ${ours.origin}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\nCookie: ${ours.cookie}\r\nContent-Length: ${wholeBody().length}\r\n\r\n${wholeBody()}`;
    const told = await attack(() =>
      sendRaw(
        ours.port,
        `POST /discard HTTP/1.1\r\nHost: ${ours.host}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
      ),
    );
    expect(told.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 403']);
    const both = await attack(() =>
      sendRaw(
        ours.port,
        `POST /discard HTTP/1.1\r\nHost: ${ours.host}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
      ),
    );
    expect(both.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400']);
  });
});

describe('cross-site request forgery, by a browser that has signed in', () => {
  type Forged = {
    headers?: Record<string, string>;
    without?: string[];
    method?: string;
    body?: () => string;
    statuses: number[];
  };
  const multipart = (fields: Record<string, string>): string =>
    `${Object.entries(fields)
      .map(([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
      .join('')}--b--\r\n`;
  const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  const forged: [name: string, Forged][] = [
    ['a form of another site', { headers: evil, statuses: [403] }],
    [
      'a form with files of another site',
      {
        ...{ headers: { ...evil, 'content-type': 'multipart/form-data; boundary=b' } },
        ...{ body: () => multipart(wholeForm()), statuses: [403] },
      },
    ],
    [
      'a form as text of another site',
      { headers: { ...evil, 'content-type': 'text/plain' }, statuses: [403] },
    ],
    [
      'JSON of another site',
      {
        ...{ headers: { ...evil, 'content-type': 'application/json' } },
        ...{ body: () => JSON.stringify(wholeForm()), statuses: [403] },
      },
    ],
    ['a beacon without content type', { headers: evil, without: ['content-type'], statuses: [403] }],
    ['no Origin', { without: ['origin'], statuses: [403] }],
    ['an Origin that is null, as of a sandboxed frame', { headers: { origin: 'null' }, statuses: [403] }],
    ['an empty Origin', { headers: { origin: '' }, statuses: [403] }],
    ['an Origin of another port', { headers: { origin: 'http://127.0.0.1:1' }, statuses: [403] }],
    ['an Origin without its port', { headers: { origin: 'http://127.0.0.1' }, statuses: [403] }],
    ['the Origin by https', { headers: { origin: 'https://HOST' }, statuses: [403] }],
    ['the Origin in upper case', { headers: { origin: 'HTTP://HOST' }, statuses: [403] }],
    ['an Origin with a user', { headers: { origin: 'http://evil@HOST' }, statuses: [403] }],
    ['an Origin that begins with ours', { headers: { origin: 'http://HOST.evil.example' }, statuses: [403] }],
    ['an Origin of localhost', { headers: { origin: 'http://localhost:PORT' }, statuses: [403] }],
    ['an Origin with a path', { headers: { origin: 'http://HOST/' }, statuses: [403] }],
    ['two Origins', { headers: { origin: 'http://HOST, https://evil.example' }, statuses: [403] }],
    ['no Sec-Fetch-Site', { without: ['sec-fetch-site'], statuses: [403] }],
    ['Sec-Fetch-Site: cross-site', { headers: { 'sec-fetch-site': 'cross-site' }, statuses: [403] }],
    [
      'Sec-Fetch-Site: same-site, as of another port',
      { headers: { 'sec-fetch-site': 'same-site' }, statuses: [403] },
    ],
    [
      'Sec-Fetch-Site: none, as of a typed address',
      { headers: { 'sec-fetch-site': 'none' }, statuses: [403] },
    ],
    ['two of Sec-Fetch-Site', { headers: { 'sec-fetch-site': 'same-origin, cross-site' }, statuses: [403] }],
    [
      'our Referer in place of an Origin',
      { headers: { referer: 'http://HOST/discard' }, without: ['origin'], statuses: [403] },
    ],
    ['JSON from our own pages', { headers: { 'content-type': 'application/json' }, statuses: [415] }],
    ['text from our own pages', { headers: { 'content-type': 'text/plain' }, statuses: [415] }],
    ['our own form without a content type', { without: ['content-type'], statuses: [415] }],
    [
      'a content type that only begins as a form',
      { headers: { 'content-type': 'application/x-www-form-urlencoded-not' }, statuses: [415] },
    ],
    [
      'two content types',
      { headers: { 'content-type': 'application/x-www-form-urlencoded, text/plain' }, statuses: [415] },
    ],
    ...['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'].map((method): [string, Forged] => [
      `${method} from our own pages`,
      { method, statuses: [405] },
    ]),
    [
      'GET that says to be POST',
      {
        ...{ method: 'GET', body: () => '', statuses: [403, 404] },
        headers: { ...evil, 'x-http-method-override': 'POST', 'x-method-override': 'POST' },
      },
    ],
    [
      'a preflight',
      {
        ...{ method: 'OPTIONS', body: () => '', statuses: [405] },
        headers: { ...evil, 'access-control-request-method': 'POST' },
      },
    ],
    [
      'a prefetch',
      { method: 'GET', body: () => '', headers: { ...evil, purpose: 'prefetch' }, statuses: [403] },
    ],
  ];
  test.each(forged)(
    '%s',
    async (_, { headers = {}, without = [], method = 'POST', body = wholeBody, statuses }) => {
      const filled = Object.fromEntries(
        Object.entries({ ...ours.own, ...headers })
          .filter(([name]) => !without.includes(name))
          .map(([name, value]) => [
            name,
            value.replace('HOST', ours.host).replace('PORT', String(ours.port)),
          ]),
      );
      await attack(async () => {
        const answer = await send(ours.port, { method, path: '/discard', headers: filled, body: body() });
        if (method !== 'TRACE') return expectRefused(answer, statuses);
        expect(statuses).toContain(answer.status);
        expect(answer.text).not.toContain(ours.cookie);
      });
    },
  );
  test.each(changing)('POST %s of another site, of another port, and of no browser', async (path) => {
    await attack(async () => {
      for (const headers of [
        { ...ours.own, ...evil },
        { ...ours.own, origin: `http://127.0.0.1:${ours.port + 1}`, 'sec-fetch-site': 'same-site' },
        { host: ours.host, cookie: ours.cookie, 'content-type': 'application/x-www-form-urlencoded' },
      ])
        expectRefused(
          await send(ours.port, { method: 'POST', path: pathOf(path), headers, body: wholeBody() }),
          [403],
        );
    });
  });
  test.each(changing)('GET and HEAD of %s change nothing', async (path) => {
    await attack(async () => {
      for (const method of ['GET', 'HEAD']) {
        const answer = await send(ours.port, {
          ...{ method, path: `${pathOf(path)}?${wholeBody()}` },
          headers: { host: ours.host, cookie: ours.cookie, 'sec-fetch-site': 'same-origin' },
        });
        expect([200, 400, 404]).toContain(answer.status);
        expectHeaders(answer);
      }
    });
  });
  test('pages read by another site, as images, frames or scripts', async () => {
    await attack(async () => {
      for (const site of ['cross-site', 'same-site', 'nonsense', ''])
        for (const path of [...reading.map((each) => pathOf(each, 'an-id')), '/nowhere'])
          expectRefused(
            await send(ours.port, {
              path,
              headers: { host: ours.host, cookie: ours.cookie, 'sec-fetch-site': site },
            }),
            [403],
          );
    });
  });
});

describe('no right to come in', () => {
  test.each(routes)('$method $path without a cookie', async ({ method, path }) => {
    const isPublic = /^\/(console\.|icon|session)/.test(path);
    await attack(async () => {
      const answer = await send(ours.port, {
        ...{ method, path: pathOf(path, 'an-id'), ...(method === 'POST' && { body: wholeBody() }) },
        headers: { ...ours.own, cookie: '' },
      });
      if (path === '/session') return expectRefused(answer, [403]);
      if (!isPublic) return expectRefused(answer, [401]);
      expect(answer.status).toBe(200);
      expectHeaders(answer);
    });
  });
  const cookies: [name: string, cookie: (at: Opened) => string][] = [
    ['an empty cookie', ({ cookie }) => `${cookie.split('=')[0]}=`],
    ['a guessed cookie', ({ cookie }) => `${cookie.slice(0, -1)}${cookie.endsWith('A') ? 'B' : 'A'}`],
    ['a cookie cut off', ({ cookie }) => cookie.slice(0, -1)],
    ['a cookie with more behind it', ({ cookie }) => `${cookie}A`],
    ['the token as cookie', ({ cookie, token }) => `${cookie.split('=')[0]}=${token}`],
    ['the cookie under another name', ({ cookie }) => cookie.replace(/^[^=]+/, 'sis-relay-console')],
    [
      'the cookie named in upper case',
      ({ cookie }) => cookie.replace(/^[^=]+/, (name) => name.toUpperCase()),
    ],
    ['a wrong cookie before the right one', ({ cookie }) => `${cookie.split('=')[0]}=x; ${cookie}`],
    ['the cookie within quotes of another', ({ cookie }) => `x="; ${cookie}"`],
  ];
  test.each(cookies)('%s', async (name, cookieOf) => {
    await attack(async () => {
      const headers = { ...ours.own, cookie: cookieOf(ours) };
      expectRefused(await send(ours.port, { path: '/letters', headers }), [401]);
      const form = { method: 'POST', path: '/discard', headers, body: wholeBody() };
      expectRefused(await send(ours.port, form), [401]);
    });
    expect(name).toBeTruthy();
  });
  test('the cookie of another console, under both names', async () => {
    const other = await openConsole(office.target);
    try {
      const [, key = ''] = other.cookie.split('=');
      const cookie = `${other.cookie}; ${ours.cookie.split('=')[0]}=${key}`;
      const headers = { host: ours.host, cookie };
      await attack(async () => expectRefused(await send(ours.port, { path: '/letters', headers }), [401]));
    } finally {
      await other.close();
    }
  });
  test('the token a second time, as by whoever reads the printed address', async () => {
    await attack(async () => {
      for (let time = 0; time < 3; time += 1) expectRefused(await ours.exchange(ours.token), [403]);
    });
  });
  test('the token while its browser signs in: of many at once, one comes in', async () => {
    const ending = new AbortController();
    const fresh = await openConsole(office.target, { signal: ending.signal });
    const answers = await Promise.all(Array.from({ length: 20 }, () => fresh.exchange(fresh.token)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 403));
    ending.abort();
    await fresh.ended;
  });
  test.each(['', ' ', 'A'.repeat(43), 'undefined', '\0', '🦉', 'x'.repeat(100_000)])(
    'a guessed token: %j does not use the real one up',
    async (guess) => {
      const session = createSession(1);
      const app = createApp({ integrations: new Map() } as unknown as Desk, {
        ...{ host: '127.0.0.1:1', session, sentence: String, onUse: () => {} },
      });
      const exchange = (token: string) =>
        app.request('http://127.0.0.1:1/session', {
          method: 'POST',
          headers: { host: '127.0.0.1:1', origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-origin' },
          body: new URLSearchParams({ token }),
        });
      const guessed = await exchange(guess);
      expect([guessed.status, guessed.headers.get('set-cookie')]).toEqual([403, null]);
      expect((await exchange(session.token)).status).toBe(303);
      expect((await exchange(session.token)).status).toBe(403);
    },
  );
  test('the token in the query, in a header, or as a password', async () => {
    await attack(async () => {
      for (const [path, headers] of [
        [`/letters?token=${ours.token}`, {}],
        [`/?token=${ours.token}`, { authorization: `Bearer ${ours.token}` }],
        ['/', { authorization: `Basic ${Buffer.from(`:${ours.token}`).toString('base64')}` }],
      ] as const) {
        const answer = await send(ours.port, { path, headers: { host: ours.host, ...headers } });
        expect(answer.status).toBe(401);
        expect(answer.headers['set-cookie']).toBeUndefined();
      }
    });
  });
  test('a form that another site fills in to sign in does not take the token along', async () => {
    const headers = { ...ours.own, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    const body = new URLSearchParams({ token: ours.token }).toString();
    expectRefused(await send(ours.port, { method: 'POST', path: '/session', headers, body }), [403]);
  });
  test('the cookie is for this console alone, and no script reads it', () => {
    expect(ours.setCookie).toHaveLength(1);
    const [pair = '', ...attributes] = (ours.setCookie[0] ?? '').split('; ');
    expect(pair).toMatch(new RegExp(`^sis-relay-console-${ours.port}=[\\w-]{43}$`));
    expect(attributes.sort()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict']);
    expect(pair).not.toContain(ours.token);
    expect(ours.signedIn.text).not.toContain(ours.token);
  });
  test('tokens and cookies are guessed from nothing: they are random, and compared in equal time', async () => {
    const all = Array.from({ length: 100 }, () => createSession(1).token);
    expect(new Set(all).size).toBe(100);
    for (const each of all) expect(Buffer.from(each, 'base64url')).toHaveLength(32);
    const source = await readFile('lib/console/guard.ts', 'utf8');
    expect(source).toMatch(/isSame = .*=>\s*timingSafeEqual\(digestOf\(given\), digestOf\(wanted\)\)/);
    expect(source).not.toMatch(/[!=]==? ?(token|key)\b|\b(token|key) ?[!=]==/);
  });
});

describe('sent away after signing in', () => {
  const elsewhere = [
    ...['//evil.example', '///evil.example', '/\\evil.example', '\\\\evil.example', '/\t/evil.example'],
    ...['/\n/evil.example', '/\r\nSet-Cookie: a=b', 'https://evil.example', 'https:evil.example'],
    ...['javascript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', '/\0/evil.example', '/\u0001'],
    ...['/\u2028', '/ü', '@evil.example', '.evil.example', '', '/\u007F', '/a\\b', '/%5C\\evil.example'],
  ];
  test.each(elsewhere)('next is %j', async (next) => {
    const answer = await ours.post('/session', { next });
    expect([answer.status, answer.headers.location]).toEqual([303, '/']);
    expectHeaders(answer);
    expect(safeNext(next)).toBe('/');
  });
  test('a page that another site leads to names no other site', async () => {
    for (const path of [
      '//evil.example',
      '///evil.example',
      '/.//evil.example',
      '/..//evil.example',
      '/%2F/evil.example',
    ])
      for (const headers of [
        { host: ours.host, 'sec-fetch-site': 'cross-site' },
        { host: ours.host, cookie: '' },
      ]) {
        const answer = await send(ours.port, { path, headers });
        expect([401, 403]).toContain(answer.status);
        for (const { name, attributes } of read(answer.text).elements)
          if (name === 'a' || attributes.get('name') === 'next')
            expect(attributes.get('href') ?? attributes.get('value')).toMatch(/^\/(?![/\\])/);
      }
  });
  test('what is searched for and held by no letter does not come into an address', async () => {
    for (const body of [
      'error=Jane+Doe',
      'error=Jane+Doe&error=',
      'error=Jane+Doe&error=not+found',
      'error=not+found&error=Jane+Doe',
      'unheld=Jane+Doe',
      'sort=Jane+Doe',
      'Jane+Doe=1',
      'error=not+found&since=Jane+Doe&since=36h',
    ]) {
      const answer = await ours.post('/letters/search', body);
      expect([body, answer.status]).toEqual([body, 303]);
      expect(answer.headers.location).not.toContain('Jane');
    }
    for (const name of ['user', 'orgUnit', 'since', 'status', 'kind', 'cause', 'minReplays']) {
      const answer = await ours.post('/letters/search', { [name]: 'Jane Doe' });
      expect([name, answer.status, answer.headers.location]).toEqual([name, 400, undefined]);
    }
  });
});

describe('what comes with every kind of answer', () => {
  const kinds: [name: string, status: number, ask: () => Promise<Answer>][] = [
    ['a page', 200, () => ours.get('/letters')],
    ['a style', 200, () => ours.get('/console.css')],
    ['a script', 200, () => ours.get('/console.js')],
    ['an icon', 200, () => ours.get('/icon.svg')],
    ['a redirect', 303, () => ours.post('/letters/search', { kind: 'rejected' })],
    ['a form that lacks a reason', 400, () => ours.post('/discard', { all: 'yes' })],
    ['nobody signed in', 401, () => send(ours.port, { headers: { host: ours.host } })],
    ['a refused form', 403, () => send(ours.port, { method: 'POST', headers: { host: ours.host } })],
    ['no such screen', 404, () => ours.get('/nowhere')],
    ['no such way', 405, () => send(ours.port, { method: 'PUT', headers: ours.own })],
    ['too large a form', 413, () => ours.post('/discard', 'x'.repeat(257 * 1024))],
    [
      'no form',
      415,
      () => send(ours.port, { method: 'POST', headers: { ...ours.own, 'content-type': 'text/plain' } }),
    ],
    ['another name', 421, () => send(ours.port, { headers: { ...ours.own, host: 'localhost' } })],
    ['no name at all', 400, () => send(ours.port, { headers: { ...ours.own, host: 'a/b' } })],
  ];
  test.each(kinds)('%s: %i', async (_, status, ask) => {
    const answer = await attack(ask);
    expect(answer.status).toBe(status);
    expectHeaders(answer);
  });
  test('what AWS refuses: 502, and its page tells no stack', async () => {
    const { target } = await offices.open();
    const broken = await openConsole(
      {
        ...target,
        deskTable: 'no-such-table',
        bucket: () => Promise.reject(new TypeError('a defect, secret_key=AKIAIOSFODNN7EXAMPLEKEY')),
      },
      { sentence: (error) => errorSentence(error, {}) },
    );
    try {
      for (const path of ['/letters', '/causes', '/log', '/letters/aaaa', '/trends']) {
        const answer = await broken.get(path);
        expect([path, answer.status]).toEqual([path, 502]);
        expectHeaders(answer);
        expect(answer.text).not.toMatch(/\n\s+at |\.ts:\d+|node:internal|file:\/\/|EXAMPLEKEY/);
      }
      expect(broken.said.join('\n')).toMatch(/ at .*\.ts:\d+/);
    } finally {
      await broken.close();
    }
  });
  test('a live stream', async () => {
    const told = await ours.live('/live');
    const [head = ''] = told.split('\r\n\r\n');
    const headers = Object.fromEntries(
      head
        .split('\r\n')
        .slice(1)
        .map((line) => [
          line.slice(0, line.indexOf(':')).toLowerCase(),
          line.slice(line.indexOf(':') + 1).trim(),
        ]),
    );
    expect(headers['content-type']).toContain('text/event-stream');
    expectHeaders({ headers });
  });
  test('no screen has a script, style, form or frame in its markup that the policy would have to allow', async () => {
    for (const path of reading.filter(
      (each) => !/live|\.|:id\/original/.test(each) && !each.startsWith('/runs/'),
    )) {
      const answer = await ours.get(pathOf(path));
      expect([path, answer.status]).toEqual([path, 200]);
      for (const { name, attributes } of read(answer.text).elements) {
        expect(['iframe', 'object', 'embed', 'base', 'style', 'math', 'template']).not.toContain(name);
        expect([...attributes.keys()].filter((each) => /^on|^style$|^srcdoc$|^target$/.test(each))).toEqual(
          [],
        );
        if (name === 'script') expect(attributes.get('src')).toBe('/console.js');
      }
    }
  });
});
