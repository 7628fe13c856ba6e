import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeRecord } from '../../../../lib/delivery/letters/write-record.ts';
import { groupIdOf } from '../../../../lib/operate/reviews/reconcile/groups.ts';
import { errorSentence } from '../../../../lib/show/cli/print/error-sentence.ts';
import { createApp } from '../../../../lib/show/console/app.ts';
import type { Desk } from '../../../../lib/show/console/desk.ts';
import { createSession, safeNext } from '../../../../lib/show/console/guard.ts';
import { findingOf, reportOf, writeRun } from '../../operate/reviews/reconcile/runs.ts';
import { recordOf, writeSnapshot } from '../../operate/reviews/snapshots/waiting-import.ts';
import { eventBody, failureOf, functionNames, type Office, officesForTests } from '../cli/office.ts';
import { type Answer, type Opened, openConsole, read, send, sendRaw } from './attacker.ts';

const offices = officesForTests();

const boundary = '----WebKitFormBoundary0123456789abcdef';

/** The console without what it shows: its routes, and how a browser signs in. */
const signingIn = () => {
  const session = createSession();
  const host = '0123456789abcdef.localhost:1';
  const desk = { integrations: new Map(), session, signal: new AbortController().signal };
  const app = createApp(desk as unknown as Desk, { host, sentence: String, onUse: () => {} });
  const exchange = (token: string, next = '/') =>
    app.request(`http://${host}/session`, {
      method: 'POST',
      headers: { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ token, next }),
    });
  return { session, app, exchange };
};

/** Every route that the console has, so that a new one is attacked, too. */
const routes = signingIn()
  .app.routes.filter(({ method }) => method !== 'ALL')
  .map(({ method, path }) => ({ method, path }));
const changing = routes.flatMap(({ method, path }) => (method === 'GET' ? [] : [path]));
const reading = routes.flatMap(({ method, path }) => (method === 'GET' ? [path] : []));
/** What strangers may ask for, and nothing else. */
const open = ['GET /console.css', 'GET /console.js', 'GET /icon.svg', 'POST /session'];

let office: Office;
let ours: Opened;
let letters: string[];
/** What was asked of AWS that changes anything there. */
const changes: string[] = [];
const readsOnly = /^(Get|List|Head|Query|Scan|BatchGet)/;
let atFirst: Awaited<ReturnType<typeof everything>>;
beforeAll(async () => {
  office = await offices.open();
  letters = await office.park([{}, {}, { function: 'enrollment-create', failure: { kind: 'uncertain' } }]);
  const note = (what = ''): void => {
    if (!readsOnly.test(what)) changes.push(what);
  };
  const { dynamodb } = office.target;
  if (dynamodb)
    office.target.dynamodb = {
      ...dynamodb,
      call: (name, ...rest) => {
        note(name);
        return dynamodb.call(name, ...rest);
      },
    };
  const [sqs, s3] = await Promise.all([office.target.sqs(), office.target.s3()]);
  sqs.middlewareStack.add((next, { commandName }) => (sent) => {
    note(commandName);
    return next(sent);
  });
  s3.middlewareStack.add((next, { commandName }) => (sent) => {
    note(commandName);
    return next(sent);
  });
  await writeSnapshot({ s3, bucket: office.bucket }, snapshot);
  await writeRun({ s3, bucket: office.bucket }, reportOf(), [finding]);
  changes.length = 0;
  atFirst = await everything(office);
  ours = await openConsole(office.target);
  // It has read what it shows.
  await ours.get('/');
});
afterAll(() => ours.close());

/** One that waits for approval. */
const snapshot = recordOf({ state: 'waiting-for-approval', callbackId: 'AAAA' });

/** Which somebody might accept. */
const finding = findingOf();

const pathOf = (path: string, id = letters[0] ?? ''): string =>
  path
    .replace(':id', path.startsWith('/snapshots/') ? snapshot.id : id)
    .replace(':group', groupIdOf(finding));

/** With it, and the right headers, every change would be made: what a screen asks for is all there. */
const wholeForm = (path = ''): Record<string, string> => ({
  ...{ all: 'yes', reason: 'an attack', id: letters[0] ?? '', function: 'grade-push', answer: 'yes' },
  ...{ decision: 'discard', 'set:comments': 'changed', includeUncertain: 'yes', next: '/' },
  ...{ address: `s3://${office.bucket}/discarded/x.jsonl`, error: 'Not Found' },
  ...(path.toLowerCase().includes('snapshot') && { id: snapshot.id, decision: 'approved' }),
  ...(path.toLowerCase().includes('reconcile') && { group: groupIdOf(finding), decision: 'accept' }),
});
const wholeBody = (path?: string): string => new URLSearchParams(wholeForm(path)).toString();

/** All that an attack could change: queues, lists, and what lies in the bucket, the audit log first of all. */
const everything = async ({ target, queueOf, deadLetters, bucket }: Office) => {
  const [sqs, s3] = await Promise.all([target.sqs(), target.s3()]);
  const names = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const;
  const urls = [deadLetters.url, ...functionNames.map((name) => queueOf(name).url)];
  const [queues, records, { Contents = [] }] = await Promise.all([
    Promise.all(
      urls.map(async (QueueUrl) => {
        const asked = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...names] });
        return (await sqs.send(asked)).Attributes;
      }),
    ),
    target.dynamodb?.call('Scan', { TableName: target.deskTable }),
    s3.send(new ListObjectsV2Command({ Bucket: bucket })),
  ]);
  return { queues, records, objects: Contents.map(({ Key, ETag }) => [Key, ETag]) };
};

/** Makes an attack, and proves that it changed nothing and said nothing. */
const attack = async <Told>(make: () => Promise<Told>, at = ours): Promise<Told> => {
  const saidBefore = at.said.length;
  const changed = changes.length;
  const told = await make();
  expect(changes.slice(changed)).toEqual([]);
  expect(at.said.slice(saidBefore)).toEqual([]);
  return told;
};

/** What a console has begun stays in its list: to look there once, after the attacks, is enough. */
const expectNothingBegun = async (at: Opened): Promise<void> =>
  expect((await at.get('/runs')).text).toContain('Nothing was started in this console yet.');

const expectNothingTold = (told: string, at = ours): void => {
  const secrets = [
    ...letters.map((id) => id.slice(0, 8)),
    ...[at.token, at.cookie.split('=').at(-1) ?? '', at.proof, office.target.prefix.slice(0, -1)],
    // At another port of that name, a browser would show the cookie.
    at.hostname,
    ...['a test', 'grade-push', 'Jane', 'Not Found', 'node_modules', 'file://', '    at '],
  ];
  expect(secrets.filter((secret) => told.includes(secret))).toEqual([]);
};

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; worker-src 'none'; child-src 'none'; frame-src 'none'; manifest-src 'none'; object-src 'none'";

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
  expect(answer.headers['console-proof']).toBeUndefined();
};

test('the attacks know every route', () => {
  expect(changing.length).toBeGreaterThanOrEqual(15);
  expect(reading.length).toBeGreaterThanOrEqual(20);
  expect(new Set(routes.map(({ method }) => method))).toEqual(new Set(['GET', 'POST']));
});

describe('DNS rebinding: another name that leads here', () => {
  const hosts: [name: string, host: (port: number, name: string) => string][] = [
    ['a name of the attacker', (port) => `evil.example:${port}`],
    ['a name that begins with ours', (port, name) => `${name}.evil.example:${port}`],
    ['a name that ends with ours', (port, name) => `evil.${name}:${port}`],
    ['another name under localhost', (port) => `${'0'.repeat(32)}.localhost:${port}`],
    ['the name that every start had before', (port) => `127.0.0.1:${port}`],
    ['a name that holds the address', (port) => `127.0.0.1.nip.io:${port}`],
    ['localhost', (port) => `localhost:${port}`],
    ['the name in upper case', (port, name) => `${name.toUpperCase()}:${port}`],
    ['the name cut off', (port, name) => `${name.replace('.localhost', '')}:${port}`],
    ['another port', (port, name) => `${name}:${port + 1}`],
    ['no port', (_, name) => name],
    ['a dot at the end', (port, name) => `${name}.:${port}`],
    ['the address as one number', (port) => `2130706433:${port}`],
    ['the address in hex', (port) => `0x7f000001:${port}`],
    ['a short address', (port) => `127.1:${port}`],
    ['the address of IPv6', (port) => `[::1]:${port}`],
    ['the unspecified address', (port) => `0.0.0.0:${port}`],
    ['a port with a zero before it', (port, name) => `${name}:0${port}`],
    ['a user before it', (port, name) => `user@${name}:${port}`],
    ['a path behind it', (port, name) => `${name}:${port}/evil`],
    ['two in one header', (port, name) => `${name}:${port}, evil.example`],
    ['an empty one', () => ''],
  ];
  test.each(hosts)('Host is %s', async (_, hostOf) => {
    const host = hostOf(ours.port, ours.hostname);
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
    ['an absolute target of the address', (port: number) => `http://127.0.0.1:${port}/letters`],
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
  test('a WebSocket, and HTTP/2 by the way of HTTP/1.1', async () => {
    for (const upgrade of ['websocket', 'h2c']) {
      const told = await attack(() =>
        sendRaw(
          ours.port,
          `GET /live HTTP/1.1\r\nHost: ${ours.host}\r\nOrigin: https://evil.example\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
          (each) => each.includes('</html>'),
        ),
      );
      expect(told).toMatch(/^HTTP\/1\.1 401 /);
      expectNothingTold(told);
    }
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

const evilSite = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };

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
      .map(
        ([name, value]) =>
          `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
      )
      .join('')}--${boundary}--\r\n`;
  const forged: [name: string, Forged][] = [
    ['a form of another site', { headers: evilSite, statuses: [403] }],
    [
      'a form with files of another site',
      {
        ...{ headers: { ...evilSite, 'content-type': `multipart/form-data; boundary=${boundary}` } },
        ...{ body: () => multipart(wholeForm()), statuses: [403] },
      },
    ],
    [
      'a form as text of another site',
      { headers: { ...evilSite, 'content-type': 'text/plain' }, statuses: [403] },
    ],
    [
      'JSON of another site',
      {
        ...{ headers: { ...evilSite, 'content-type': 'application/json' } },
        ...{ body: () => JSON.stringify(wholeForm()), statuses: [403] },
      },
    ],
    ['a beacon without content type', { headers: evilSite, without: ['content-type'], statuses: [403] }],
    ['no Origin', { without: ['origin'], statuses: [403] }],
    ['an Origin that is null, as of a sandboxed frame', { headers: { origin: 'null' }, statuses: [403] }],
    ['an empty Origin', { headers: { origin: '' }, statuses: [403] }],
    ['an Origin of another port', { headers: { origin: 'http://NAME:1' }, statuses: [403] }],
    ['an Origin of the address', { headers: { origin: 'http://127.0.0.1:PORT' }, statuses: [403] }],
    ['an Origin of another start', { headers: { origin: 'http://0123.localhost:PORT' }, statuses: [403] }],
    ['an Origin without its port', { headers: { origin: 'http://NAME' }, statuses: [403] }],
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
    ...['HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'].map(
      (method): [string, Forged] => [`${method} from our own pages`, { method, statuses: [405] }],
    ),
    [
      'GET that says to be POST',
      {
        ...{ method: 'GET', body: () => '', statuses: [403, 404] },
        headers: { ...evilSite, 'x-http-method-override': 'POST', 'x-method-override': 'POST' },
      },
    ],
    [
      'a preflight',
      {
        ...{ method: 'OPTIONS', body: () => '', statuses: [405] },
        headers: { ...evilSite, 'access-control-request-method': 'POST' },
      },
    ],
    [
      'a prefetch',
      { method: 'GET', body: () => '', headers: { ...evilSite, purpose: 'prefetch' }, statuses: [403] },
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
            value
              .replace('HOST', ours.host)
              .replace('NAME', ours.hostname)
              .replace('PORT', String(ours.port)),
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
        { ...ours.own, ...evilSite },
        { ...ours.own, origin: `http://${ours.hostname}:${ours.port + 1}`, 'sec-fetch-site': 'same-site' },
        { host: ours.host, cookie: ours.cookie, 'content-type': 'application/x-www-form-urlencoded' },
      ])
        expectRefused(
          await send(ours.port, { method: 'POST', path: pathOf(path), headers, body: wholeBody(path) }),
          [403],
        );
    });
  });
  test.each(changing)('GET and HEAD of %s, filled in as its form, change nothing', async (path) => {
    await attack(async () => {
      for (const method of ['GET', 'HEAD']) {
        const answer = await send(ours.port, {
          ...{ method, path: `${pathOf(path)}?${wholeBody(path)}` },
          headers: { host: ours.host, cookie: ours.cookie, 'sec-fetch-site': 'same-origin' },
        });
        expect(method === 'HEAD' ? [405] : [200, 400, 404]).toContain(answer.status);
        expectHeaders(answer);
      }
    });
  });
  test('a run that waits for its answer, answered and stopped by another site', async () => {
    const of = await offices.open();
    const [id = ''] = await of.park([{}]);
    const at = await openConsole(of.target);
    try {
      const { headers } = await at.post('/discard', { id, reason: 'a test' });
      const run = headers.location ?? '';
      const isAsking = async () => (await at.get(run)).text.includes('waits for your answer');
      for (let tries = 0; tries < 100 && !(await isAsking()); tries += 1) await sleep(10);
      const before = await everything(of);
      for (const path of [`${run}/answer`, `${run}/stop`])
        for (const each of [evilSite, { origin: at.origin, 'sec-fetch-site': 'none' }, { cookie: '' }]) {
          const forged = { method: 'POST', path, headers: { ...at.own, ...each }, body: 'answer=yes' };
          expect([401, 403]).toContain((await send(at.port, forged)).status);
        }
      expect((await at.get(`${run}/answer?answer=yes`)).status).toBe(404);
      expect(await isAsking()).toBe(true);
      expect(await everything(of)).toEqual(before);
      // Nor is an answer to another question, or a second one, taken for one to this.
      const [, question = ''] = /name="question" value="(\w+)"/.exec((await at.get(run)).text) ?? [];
      await at.post(`${run}/answer`, { answer: 'yes', question: 'deadbeef' });
      expect(await isAsking()).toBe(true);
      await at.post(`${run}/answer`, { answer: 'no', question });
      await at.post(`${run}/answer`, { answer: 'yes', question });
      expect((await at.get(run)).text).toContain('This run ended');
      expect((await of.list()).letters).toBe(1);
    } finally {
      await at.close();
    }
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
  const paths = [...new Set([...routes.map(({ path }) => path), '/nowhere', '/console.js/', '/session/x'])];
  const pairs = paths.flatMap((path) => ['GET', 'POST'].map((method) => ({ method, path })));
  test.each(pairs)('$method $path without a cookie', async ({ method, path }) => {
    const isOpen = open.includes(`${method} ${path}`);
    await attack(async () => {
      const answer = await send(ours.port, {
        ...{ method, path: pathOf(path, 'an-id'), ...(method === 'POST' && { body: wholeBody() }) },
        headers: { ...ours.own, cookie: '' },
      });
      if (path === '/session' && isOpen) return expectRefused(answer, [403]);
      if (!isOpen) return expectRefused(answer, [401]);
      expect(answer.status).toBe(200);
      expectHeaders(answer);
    });
  });
  const broken: [name: string, status: number, type: string, body: () => string | Buffer][] = [
    ['too large a form', 413, 'application/x-www-form-urlencoded', () => `token=${'x'.repeat(300 * 1024)}`],
    ['a form that cannot be read', 400, 'multipart/form-data', () => '--x--'],
  ];
  test.each(broken)(
    '%s of a stranger gets %i, and tells neither stage nor operator',
    async (_, status, type, body) => {
      const headers = { ...ours.own, 'content-type': type, cookie: '' };
      await attack(async () =>
        expectRefused(await send(ours.port, { method: 'POST', path: '/session', headers, body: body() }), [
          status,
        ]),
      );
    },
  );
  test('the secret by which a page knows its console is in what it admits alone', async () => {
    expect(Buffer.from(ours.proof, 'base64url')).toHaveLength(32);
    expect([ours.token, ours.cookie.split('=').at(-1)]).not.toContain(ours.proof);
    expect(ours.signedIn.headers['console-proof']).toBeUndefined();
    for (const path of ['/letters', '/live?part=yes', '/nowhere', '/letters?kind=all'])
      expect((await ours.get(path)).headers['console-proof']).toBe(ours.proof);
    for (const path of reading.map((each) => pathOf(each, 'an-id')))
      for (const headers of [{ host: ours.host }, { host: `127.0.0.1:${ours.port}`, cookie: ours.cookie }]) {
        const answer = await send(ours.port, { path, headers });
        expect([path, answer.headers['console-proof']]).toEqual([path, undefined]);
        expect(answer.text).not.toContain(ours.proof);
      }
  });
  const cookies: [name: string, cookie: (at: Opened) => string][] = [
    ['an empty cookie', ({ cookie }) => `${cookie.split('=')[0]}=`],
    ['a guessed cookie', ({ cookie }) => `${cookie.slice(0, -1)}${cookie.endsWith('A') ? 'B' : 'A'}`],
    ['a cookie cut off', ({ cookie }) => cookie.slice(0, -1)],
    ['a cookie with more behind it', ({ cookie }) => `${cookie}A`],
    ['the token as cookie', ({ cookie, token }) => `${cookie.split('=')[0]}=${token}`],
    ['the cookie under another name', ({ cookie }) => cookie.replace(/^[^=]+/, 'sis-relay')],
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
  test('the cookie of another console', async () => {
    const other = await openConsole(office.target);
    try {
      const headers = { host: ours.host, cookie: other.cookie };
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
  test('a new token, which another browser shows in its address, uses up the one before', async () => {
    const { session, exchange } = signingIn();
    const before = session.token;
    const token = session.newToken();
    expect([(await exchange(before)).status, (await exchange(token)).status]).toEqual([403, 303]);
    const address = ` http://localhost:1/#token=${session.newToken()}\n`;
    expect([(await exchange(address)).status, (await exchange(address)).status]).toEqual([303, 403]);
  });
  test('the token by twenty at once: one comes in', async () => {
    const { session, exchange } = signingIn();
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(session.token)));
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(answers.filter((each) => each.headers.has('set-cookie'))).toHaveLength(1);
  });
  test.each(['', ' ', 'A'.repeat(43), 'undefined', '\0', '🦉', 'x'.repeat(100_000)])(
    'a guessed token: %j does not use the real one up',
    async (guess) => {
      const { session, exchange } = signingIn();
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
    expect(pair).toMatch(/^sis-relay-console=[\w-]{43}$/);
    expect(attributes.sort()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict']);
    expect(pair).not.toContain(ours.token);
    expect(ours.signedIn.text).not.toContain(ours.token);
  });
  test('tokens and cookies are guessed from nothing: they are random, and compared in equal time', async () => {
    const sessions = Array.from({ length: 100 }, () => createSession());
    const all = sessions.flatMap(({ token, proof }) => [token, proof]);
    expect(new Set(all).size).toBe(200);
    for (const each of all) expect(Buffer.from(each, 'base64url')).toHaveLength(32);
    const source = await readFile('lib/show/console/guard.ts', 'utf8');
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
    const { session, exchange } = signingIn();
    const { status, headers } = await exchange(session.token, next);
    expect([status, headers.get('location')]).toEqual([303, '/']);
    expect((await ours.post('/session', { next })).headers.location).toBe('/');
    expect(safeNext(next)).toBe('/');
  });
  test('next is a screen of ours, for whoever has the token alone', async () => {
    const { session, exchange } = signingIn();
    const next = '/letters?kind=rejected&error=a%20b';
    expect((await exchange(session.token, next)).headers.get('location')).toBe(next);
    // As where another site leads to a screen with a token behind its address: the script sends it.
    const answer = await ours.post('/session', { token: 'x', next: `/letters/${letters[0]}/message` });
    expect([answer.status, answer.headers.location]).toEqual([303, '/']);
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

/** The elements of our templates. */
const own = new Set(
  'html head meta title link script body header footer main nav section article div p span a ul ol li dl dt dd h1 h2 h3 form input label select option button output fieldset legend table caption thead tbody tr th td code pre bdi time blockquote details summary noscript svg g rect figure figcaption meter progress strong del ins textarea'.split(
    ' ',
  ),
);

/** What is none of ours in a page: elements, handlers, styles, and addresses of others. */
const foreignIn = (page: string): string[] =>
  read(page).elements.flatMap(({ name, attributes }) => {
    const wrong = [...attributes].filter(
      ([attribute, value]) =>
        /^on|^style$|^srcdoc$|target$/.test(attribute) ||
        (/^(href|src|action|formaction|data-live|data-load)$/.test(attribute) &&
          !/^(\/(?![/\\])|#main$)/.test(value)),
    );
    const isOurs = own.has(name) && (name !== 'script' || attributes.get('src') === '/console.js');
    return [
      ...(isOurs ? [] : [`<${name}>`]),
      ...wrong.map(([attribute, value]) => `${name} ${attribute}=${value}`),
    ];
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
    const defect = 'a defect, secret_key=AKIAIOSFODNN7EXAMPLEKEY';
    const broken = await openConsole(
      {
        ...target,
        dynamodb: { ...target.dynamodb, call: () => Promise.reject(new TypeError(defect)) },
        bucket: () => Promise.reject(new TypeError(defect)),
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
  test.each(reading.filter((path) => path.endsWith('/live')))(
    'a stream at %s, and what it tells the page to ask for',
    async (path) => {
      const answer = await ours.get(`${pathOf(path)}?part=yes`);
      expect(answer.headers['content-type']).toContain('text/html');
      expectHeaders(answer);
      expect(foreignIn(answer.text)).toEqual([]);
      const head = `GET ${pathOf(path)} HTTP/1.1\r\nHost: ${ours.host}\r\nCookie: ${ours.cookie}\r\n\r\n`;
      const stream = await sendRaw(ours.port, head, (told) => told.endsWith('\r\n1\r\n\n\r\n'));
      const [, lines = '', body = ''] = /^.*\r\n([\s\S]*?)\r\n\r\n([\s\S]*)$/.exec(stream) ?? [];
      expectHeaders({ headers: Object.fromEntries(lines.split('\r\n').map((line) => line.split(': '))) });
      // A chunk of one line break: nothing of a stream can be shown.
      expect(body).toBe('1\r\n\n\r\n');
    },
  );
  test('no screen has a script, style, form or frame in its markup that the policy would have to allow', async () => {
    for (const path of reading.filter((each) => !/live|\.|:id\/original|^\/(runs|exports)\//.test(each))) {
      const answer = await ours.get(pathOf(path));
      expect([path, answer.status, foreignIn(answer.text)]).toEqual([path, 200, []]);
    }
  });
});

/** Each of them breaks out of another place: a text, an attribute, a script, a comment, a template of the page, or a line. */
const evil = (field: string): string =>
  `${field}"'><script>alert(1)</script><img src=x onerror=alert(1)>\u202E</title></textarea></select>--><a href="javascript:alert(1)">\${1}&#60;b&#62;`;

describe('script in what others write', () => {
  let hostile: Office;
  let at: Opened;
  let id: string;
  let other: string;
  let pages: Map<string, string>;
  const archived = `discarded/${new Date().toISOString().slice(0, 10)}-${encodeURIComponent('x').slice(0, 1)}`;
  const put = async (Key: string, Body: string) =>
    (await hostile.target.s3()).send(new PutObjectCommand({ Bucket: hostile.bucket, Key, Body }));
  const failure = (kind: 'rejected' | 'uncertain') => ({
    ...failureOf(evil('failureFunction'), 'rejected'),
    ...{ kind, message: evil('failureMessage'), remedy: evil('remedy'), title: evil('title') },
    ...{ detail: evil('detail'), operation: evil('operation'), required: evil('required') },
    ...{ firstAt: evil('firstAt'), lastAt: evil('lastAt') },
  });
  const history = JSON.stringify({
    deeds: [
      {
        ...{ what: 'edited', at: evil('deedAt'), by: evil('deedBy'), why: evil('deedWhy') },
        ...{ letter: evil('deedLetter'), kind: evil('deedKind'), original: evil('original') },
      },
    ],
  });
  const controls = '\0\u0007\u001B[31m\u009B31m\u2066\u200F\u061C';
  const facts = (kind: string) => ({
    ...{
      function: evil('recordFunction') + controls,
      kind: kind + (kind.length > 20 ? controls : ''),
      error: evil('error'),
      words: evil('words') + controls,
    },
    ...{ remedy: evil('recordRemedy'), required: evil('recordRequired'), operation: evil('recordOperation') },
    ...{
      eventId: evil('eventId'),
      user: evil('user'),
      orgUnit: evil('orgUnit'),
      thing: evil('thing') + controls,
    },
    ...{ resource: evil('resource'), history, by: evil('by'), why: evil('why'), as: evil('as') },
    ...{ writtenMs: Date.now(), atMs: Date.now(), firstMs: Date.now(), nextMs: Date.now(), replays: 9 },
    ...{ attempts: 1, handle: evil('handle') },
  });

  beforeAll(async () => {
    hostile = await offices.open();
    const body = eventBody(
      'grade-push',
      { comments: evil('comments'), [evil('fieldName')]: evil('fieldValue') },
      { id: evil('bodyId'), source: evil('bodySource'), subject: evil('subject') },
    );
    const attributes = {
      history: { DataType: 'String', StringValue: history },
      evil: { DataType: 'String', StringValue: evil('attribute') },
    };
    [id = '', other = ''] = await hostile.park([
      { body, attributes, failure: failure('rejected'), source: `arn:aws:sqs:us-east-1:0:${evil('arn')}` },
      { body, attributes, failure: failure('rejected') },
      { body: evil('wholeBody'), failure: null },
      { body, failure: failure('uncertain') },
    ]);
    const desk = hostile.desk;
    await writeRecord(desk, randomUUID(), { state: 'letter', facts: facts('rejected') });
    await writeRecord(desk, `${evil('messageId')}`, { state: 'letter', facts: facts('uncertain') });
    await writeRecord(desk, randomUUID(), { state: 'letter', facts: facts(evil('kind')) });
    await writeRecord(desk, randomUUID(), { state: 'waiting', facts: facts('unavailable'), waits: true });
    await writeRecord(desk, randomUUID(), { state: 'waiting', facts: facts(evil('waitKind')), waits: true });
    await writeRecord(desk, 'ended-message', { state: 'discarded', facts: facts('rejected') });
    const now = new Date().toISOString();
    const line = {
      ...{ audit: 'begin', id: evil('auditId'), at: now, who: evil('who'), command: evil('command') },
      ...{ reason: evil('reason'), filter: { [evil('filter')]: evil('filterValue') } },
      ...{ counts: { [evil('count')]: 1 }, letters: [evil('auditLetter'), 'ended-message', id] },
    };
    await put(`audit/${now.slice(0, 10).replaceAll('-', '/')}/x-begin.json`, JSON.stringify(line));
    await put(`${archived}/${evil('key')}.jsonl`, JSON.stringify({ letter: evil('archived') }));
    await put(`${archived}-good.jsonl`, `${JSON.stringify({ [evil('lineField')]: 1 })}\n${evil('line')}\n`);

    at = await openConsole(
      { ...hostile.target, who: evil('operator') },
      {
        sentence: (error) => errorSentence(error, {}),
      },
    );
    pages = new Map();
    const keep = async (name: string, answer: Promise<Answer>): Promise<string> => {
      const { status, text, headers } = await answer;
      const { location } = headers;
      if (status !== 303) pages.set(`${name}: ${status}`, text);
      return location ?? '';
    };
    const [q, found] = [encodeURIComponent(evil('query')), `/letters/${id}`];
    for (const path of [
      ...[
        '/',
        '/trends',
        '/causes',
        '/letters',
        '/letters?sort=subject',
        '/uncertain',
        '/publish',
        '/waiting',
        '/log',
      ],
      ...[found, `${found}/message`, `${found}/original`, `/replay?id=${id}`, `/edit?id=${id}`],
      ...[`/discard?id=${id}`, '/discard', '/replay', '/edit', `/trace?id=${id}`, '/trace?id=ended-message'],
      ...[
        `/trace?id=${encodeURIComponent(evil('bodyId'))}`,
        '/trace?user=301',
        `/letters/${encodeURIComponent(evil('messageId'))}`,
      ],
      ...[`/${q}`, `/letters/${q}`, `/letters/${q}/message`, `/letters/${q}/original`, `/runs/${q}`],
      ...[
        `/trace?id=${q}`,
        `/log?days=${q}`,
        `/letters?page=${q}&sort=${q}`,
        `/letters?id=${q}&function=${q}&error=${q}`,
      ],
      ...['kind', 'status', 'user', 'orgUnit', 'since', 'until', 'minReplays', 'cause'].map(
        (name) => `/letters?${name}=${q}`,
      ),
      ...[`/replay?function=${q}`, `/edit?function=${q}`, `/discard?error=${q}`, `/waiting?function=${q}`],
      ...[`/uncertain?function=${q}`, `/letters?unheld=${q}`],
    ])
      await keep(path.slice(0, 40), at.get(path));
    await keep('reveal', at.post(`${found}/reveal`, { reason: evil('revealReason') }));
    for (const headers of [{ host: at.host }, { host: at.host, 'sec-fetch-site': 'cross-site' }])
      await keep(
        JSON.stringify(headers),
        send(at.port, { path: `/x?${q}&"'>`.replace(/["'>]/g, encodeURIComponent), headers }),
      );
    await keep(
      'wrong token',
      send(at.port, {
        ...{ method: 'POST', path: '/session', headers: { ...at.own, cookie: '' } },
        body: new URLSearchParams({ token: evil('token'), next: `/${evil('next')}` }).toString(),
      }),
    );
    await keep('/overview/live', at.get('/overview/live?part=yes'));

    const quoted = (field: string): string => `"${evil(field).replaceAll('"', '""')}"`;
    const known = `orgUnitId,userId,comments,grade.type\n1,${quoted('cell')},${quoted('comment')},${quoted('type')}\n`;
    const unknown = `userId;${quoted('column')}\n301;${quoted('otherCell')}\n`;
    const upload = (name: string, content: string): string =>
      `--${boundary}\r\nContent-Disposition: form-data; name="function"\r\n\r\ngrade-push\r\n--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name.replaceAll('"', '%22').replace('\u202E', '')}"\r\nContent-Type: text/csv\r\n\r\n${content}\r\n--${boundary}--\r\n`;
    const publish = (name: string, content: string) =>
      send(at.port, {
        ...{ method: 'POST', path: '/publish', body: upload(name, content) },
        headers: { ...at.own, 'content-type': `multipart/form-data; boundary=${boundary}` },
      });
    const address = `s3://${hostile.bucket}/${archived}-good.jsonl`;
    const runs = [
      await keep('known columns', publish(`${evil('csvName')}.csv`, known)),
      await keep('unknown columns', publish(`${evil('csvName')}.csv`, unknown)),
      await keep(
        'json',
        publish(
          `${evil('jsonName')}.json`,
          JSON.stringify([{ data: { [evil('jsonField')]: evil('jsonValue') } }]),
        ),
      ),
      await keep('broken json', publish(`${evil('brokenName')}.json`, `{"a": ${evil('broken')}`)),
      await keep('name', publish(evil('fileName'), known)),
      await keep('discard', at.post('/discard', { all: 'yes', reason: evil('discardReason') })),
      await keep(
        'edit',
        at.post('/edit', {
          id: other,
          function: 'grade-push',
          reason: evil('editReason'),
          'set:comments': evil('edited'),
        }),
      ),
      await keep('replay', at.post('/replay', { includeUncertain: 'yes' })),
      await keep('uncertain', at.post('/uncertain')),
      await keep('restore', at.post('/restore', { address })),
      await keep('restore elsewhere', at.post('/restore', { address: evil('address') })),
      await keep('wake', at.post('/wake', { function: evil('wakeFunction'), reason: evil('wakeReason') })),
      await keep(
        'pause',
        at.post('/pause', { function: evil('pauseFunction'), reason: evil('pauseReason') }),
      ),
      await keep('resume', at.post('/resume', { function: evil('resumeFunction') })),
      await keep('decide', at.post('/decide', { id: evil('decideId'), reason: evil('decideReason') })),
    ].filter((path) => path !== '');
    expect(runs.length).toBeGreaterThan(8);
    for (const run of runs) {
      for (let tries = 0; tries < 50; tries += 1) {
        if (!(await at.get(run)).text.includes('is at work')) break;
        await sleep(20);
      }
      await keep(`${run} (${runs.indexOf(run)})`, at.get(run));
      await keep(`${run}/live`, at.get(`${run}/live?part=yes`));
    }
    await keep('/runs', at.get('/runs'));
    await keep('/log', at.get('/log'));
  });
  afterAll(() => at.close());

  test('no element, handler or address in any page comes from there', () => {
    expect(pages.size).toBeGreaterThan(70);
    expect([...pages].flatMap(([name, page]) => foreignIn(page).map((each) => [name, each]))).toEqual([]);
  });
  test('no page holds a control character, or turns the direction of what stands around it', () => {
    const turned = [...pages].flatMap(([name, page]) =>
      [...page.matchAll(/(?!\n)[\p{Cc}\p{Bidi_Control}]/gu)].map(({ index }) => [
        name,
        page.slice(Math.max(0, index - 60), index + 20),
      ]),
    );
    expect(turned).toEqual([]);
  });
  test('no title tells what others write: titles stay in the history', () => {
    for (const [name, page] of pages)
      for (const [, title = ''] of page.matchAll(/<title>([^<]*)<\/title>/g))
        expect(title, name).not.toMatch(/script|alert|&/);
  });
  test('all that others write was shown as text, so that this proves something', () => {
    const all = [...pages.values()].map((page) => read(page).text).join('\n');
    const shown = [
      ...['failureFunction', 'remedy', 'title', 'detail', 'attribute', 'comments', 'fieldName'],
      ...[
        'bodyId',
        'deedBy',
        'deedWhy',
        'error',
        'words',
        'recordFunction',
        'recordRemedy',
        'user',
        'orgUnit',
      ],
      ...['thing', 'by', 'why', 'who', 'command', 'reason', 'count', 'key', 'operator', 'discardReason'],
      ...['column', 'cell', 'jsonField', 'kind', 'waitKind', 'pauseFunction', 'query'],
    ];
    expect(shown.filter((field) => !new RegExp(`${field}\\\\?"`).test(all))).toEqual([]);
  });
});

describe('other objects and screens than those that are shown', () => {
  test.each([
    ...['..', '../..', '..%2f..%2faudit', '%2e%2e', '%2e%2e%2f%2e%2e', '..%5c..%5caudit', '....//....//x'],
    ...['%00%00', '%0d%0aSet-Cookie:%20a=b', '__proto__', 'constructor', '%E0%A4%A', `${'a'.repeat(2_000)}`],
    ...['s3:%2F%2Fother%2Fx', '*', '%', "'%20or%201=1", '{"S":"x"}'],
  ])('a letter or run called %s', async (name) => {
    await attack(async () => {
      for (const path of [
        `/letters/${name}`,
        `/letters/${name}/message`,
        `/letters/${name}/original`,
        `/runs/${name}`,
      ]) {
        const told = await sendRaw(
          ours.port,
          `GET ${path} HTTP/1.1\r\nHost: ${ours.host}\r\nCookie: ${ours.cookie}\r\nConnection: close\r\n\r\n`,
        );
        const [, status = ''] = /^HTTP\/1\.1 (\d+)/.exec(told) ?? [];
        // `/letters/..` is the overview.
        expect([path, status]).toEqual([
          path,
          expect.stringMatching(name.includes('..') || name.includes('%2e') ? /^(200|40[04])$/ : /^40[04]$/),
        ]);
        expect(told).not.toMatch(/^Set-Cookie:|Jane|^\s+at /m);
      }
      for (const path of [`/runs/${name}/answer`, `/runs/${name}/stop`]) {
        const told = await sendRaw(
          ours.port,
          `POST ${path} HTTP/1.1\r\n${Object.entries(ours.own)
            .map((each) => each.join(': '))
            .join('\r\n')}\r\nContent-Length: 8\r\nConnection: close\r\n\r\nreason=x`,
        );
        expect(told).toMatch(/^HTTP\/1\.1 40[04]/);
      }
    });
  });
  const addresses: [name: string, address: (bucket: string) => string][] = [
    ['the audit log', (bucket) => `s3://${bucket}/audit/2026/01/01/x.json`],
    ['originals of edited letters', (bucket) => `s3://${bucket}/edited/2026-01-01/x.jsonl`],
    ['letters kept whole', (bucket) => `s3://${bucket}/letters/x/x.jsonl`],
    ['another bucket', () => 's3://another-bucket/discarded/x.jsonl'],
    ['a bucket whose name begins so', (bucket) => `s3://${bucket}-evil/discarded/x.jsonl`],
    ['a folder whose name begins so', (bucket) => `s3://${bucket}/discarded-evil/x.jsonl`],
    ['a way up', (bucket) => `s3://${bucket}/../${bucket}/audit/x.json`],
    ['a way up from there', (bucket) => `s3://${bucket}/discarded/../audit/x.json`],
    ['upper case', (bucket) => `S3://${bucket.toUpperCase()}/discarded/x.jsonl`],
    ['a file of this machine', () => 'file:///etc/passwd'],
    ['a path of this machine', () => '/etc/passwd'],
    ['a path of this folder', () => 'discarded/x.jsonl'],
    ['the standard input', () => '-'],
    ['an address of the network', () => 'http://169.254.169.254/latest/meta-data/'],
    ['space before it', (bucket) => ` s3://${bucket}/discarded/x.jsonl`],
    ['nothing', () => ''],
  ];
  test.each(addresses)('restore from %s', async (_, addressOf) => {
    await attack(async () => {
      const answer = await ours.post('/restore', { address: addressOf(office.bucket) });
      expect(answer.status).toBe(400);
      expect(answer.headers.location).toBeUndefined();
    });
  });
  test('an original that the history of a letter says to be elsewhere is not read', async () => {
    const of = await offices.open();
    const s3 = await of.target.s3();
    await s3.send(
      new PutObjectCommand({
        ...{ Bucket: of.bucket, Key: 'audit/secret.json' },
        Body: `${JSON.stringify({ body: eventBody('grade-push', { comments: 'top secret' }) })}\n`,
      }),
    );
    const deed = { what: 'edited', at: '2026-01-01T00:00:00Z', by: 'x', letter: 'x', kind: 'rejected' };
    const originals = [
      ...[`s3://${of.bucket}/audit/secret.json`, `s3://${of.bucket}/edited/../audit/secret.json`],
      ...['s3://other/edited/2026-01-01/x.jsonl', 'file:///etc/passwd', 'http://169.254.169.254/'],
    ];
    const ids = await of.park(
      originals.map((original) => ({
        attributes: {
          history: { DataType: 'String', StringValue: JSON.stringify({ deeds: [{ ...deed, original }] }) },
        },
      })),
    );
    const at = await openConsole(of.target);
    try {
      for (const each of ids) {
        const { text, status } = await at.get(`/letters/${each}/original`);
        expect(status).toBe(200);
        expect(text).toContain('The original cannot be read: it is not among');
        expect(text).not.toMatch(/top secret|root:/);
      }
    } finally {
      await at.close();
    }
  });
  test.each(['__proto__', 'constructor', 'valueOf'])('a field, filter or order called %s', async (name) => {
    await attack(async () => {
      for (const path of [
        `/letters?sort=${name}`,
        `/letters?${name}=x&${name}[polluted]=1`,
        `/letters?function=${name}&page=${name}`,
        `/trace?${name}=1`,
        `/waiting?function=${name}`,
        `/log?days=${name}`,
        `/edit?function=${name}`,
      ]) {
        const { status, text } = await ours.get(path);
        expect([path, status]).toEqual([path, 200]);
        expect(text).not.toMatch(/native code|\[object/);
      }
      expect((await ours.get(`/letters?kind=${name}`)).status).toBe(400);
      const form = `${name}=x&set:${name}=x&unset=${name}&reason=x&id=none&function=${name}`;
      expect((await ours.post('/edit', form)).status).toBe(400);
    });
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });
  test.each([
    ...['since=yesterday', 'until=3', 'since=1h&until=2d', 'user=Jane+Doe', 'orgUnit=Jane+Doe'],
    ...[
      'status=999',
      'status=5xx;',
      'kind=all',
      'minReplays=-1',
      'minReplays=NaN',
      'maxReplays=1.5',
      'id=abc',
    ],
    ...['cause=..%2F..', 'cause=XYZ'],
  ])('a wrong filter: %s', async (query) => {
    await attack(async () => {
      for (const path of ['/letters', '/discard', '/waiting']) {
        const { status, text } = await ours.get(`${path}?${query}`);
        expect([path, status]).toEqual([path, 400]);
        expect(text).toContain('role="alert"');
        expect(text).not.toMatch(/\n\s+at |ZodError|[Aa] defect/);
      }
      for (const path of ['/letters/search', '/replay', '/wake'])
        expect([path, (await ours.post(path, `${query}&reason=x`)).status]).toEqual([path, 400]);
    });
  });
});

describe('too much', () => {
  const ids = (count: number): string =>
    Array.from({ length: count }, (_, at) => `id=${at + 10_000}`).join('&');
  const forms: [name: string, path: string, body: () => string, statuses: number[]][] = [
    ['a form of 256 KB and more', '/discard', () => `all=yes&reason=${'x'.repeat(256 * 1024)}`, [413]],
    ['100,000 ids', '/discard', () => `reason=x&${ids(100_000)}`, [413]],
    ['a token of 1 MB', '/session', () => `token=${'x'.repeat(1024 * 1024)}`, [413]],
    ['50,000 fields', '/letters/search', () => 'a=1&'.repeat(50_000), [303]],
    ['20,000 ids without a reason', '/discard', () => ids(20_000), [400]],
    ['200,000 times the same separator', '/letters/search', () => '&'.repeat(200_000), [303]],
    ['80,000 escapes', '/letters/search', () => `error=${'%41'.repeat(80_000)}`, [303]],
    ['broken escapes', '/letters/search', () => `error=${'%zz'.repeat(80_000)}`, [303]],
    ['a text of 10,000 characters', '/letters/search', () => `error=${'(a+)+$'.repeat(1_700)}`, [303]],
    ['a long time', '/letters/search', () => `since=${'1'.repeat(100_000)}x`, [400]],
  ];
  test.each(forms)('%s', async (_, path, body, statuses) => {
    const begunMs = performance.now();
    await attack(async () => {
      const answer = await ours.post(path, body());
      expect(statuses).toContain(answer.status);
      expectHeaders(answer);
    });
    expect(performance.now() - begunMs).toBeLessThan(2_000);
  });
  test('a form in chunks, which says nothing of its length', async () => {
    await attack(async () => {
      const answer = await send(ours.port, {
        ...{ method: 'POST', path: '/discard', body: `all=yes&reason=${'x'.repeat(300 * 1024)}` },
        headers: { ...ours.own, 'transfer-encoding': 'chunked' },
      });
      expect(answer.status).toBe(413);
    });
  });
  test('a file of more than 20 MB, and one of very many parts', async () => {
    const headers = { ...ours.own, 'content-type': `multipart/form-data; boundary=${boundary}` };
    const part = `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n`;
    await attack(async () => {
      const large = await send(ours.port, {
        ...{ method: 'POST', path: '/publish', headers, body: Buffer.alloc(20 * 1024 * 1024 + 1) },
      });
      expect(large.status).toBe(413);
      const begunMs = performance.now();
      const many = await send(ours.port, {
        ...{ method: 'POST', path: '/publish', headers },
        body: `${part.repeat(10_000)}--${boundary}--\r\n`,
      });
      expect(many.status).toBe(400);
      expect(performance.now() - begunMs).toBeLessThan(2_000);
    });
  });
  test.each([
    ['none', 'multipart/form-data'],
    ['an empty one', 'multipart/form-data; boundary='],
    ['one of 1,000 characters', `multipart/form-data; boundary=${'x'.repeat(1_000)}`],
    ['another than in the form', 'multipart/form-data; boundary=----another-boundary-0123456789'],
  ])('a form with files whose boundary is %s', async (_, type) => {
    await attack(async () => {
      for (const path of ['/publish', '/discard', '/session']) {
        const answer = await send(ours.port, {
          ...{ method: 'POST', path, body: `--${boundary}--\r\n` },
          headers: { ...ours.own, 'content-type': type },
        });
        expect(answer.status).toBe(400);
        expect(answer.text).not.toMatch(/TypeError|\n\s+at /);
      }
    });
  });
  test('whoever has no right is refused before the body is there', async () => {
    const head = `POST /publish HTTP/1.1\r\nHost: ${ours.host}\r\nContent-Type: text/plain\r\nContent-Length: 100000000000\r\n\r\nx`;
    const told = await attack(() => sendRaw(ours.port, head, (each) => each.includes('</html>')));
    expect(told).toMatch(/^HTTP\/1\.1 403 /);
  });
  test('bodies that come slowly, or never, hold nobody up', async () => {
    const headers = Object.entries(ours.own).map((each) => `${each.join(': ')}\r\n`);
    await attack(async () => {
      const slow = Array.from({ length: 100 }, () => {
        const socket = connect(ours.port, '127.0.0.1');
        socket.on('error', () => {});
        socket.write(`POST /discard HTTP/1.1\r\n${headers.join('')}Content-Length: 100\r\n\r\nall=yes&rea`);
        return socket;
      });
      const begunMs = performance.now();
      expect((await ours.get('/letters')).status).toBe(200);
      expect(performance.now() - begunMs).toBeLessThan(1_000);
      for (const socket of slow) socket.destroy();
    });
  });
  test('headers of 64 KB, and 3,000 of them', async () => {
    for (const lines of [`X: ${'x'.repeat(65_536)}\r\n`, 'X: 1\r\n'.repeat(3_000)]) {
      const told = await attack(() =>
        sendRaw(
          ours.port,
          `GET /letters HTTP/1.1\r\n${lines}Host: ${ours.host}\r\nCookie: ${ours.cookie}\r\nConnection: close\r\n\r\n`,
        ),
      );
      expect(told).toMatch(/^HTTP\/1\.1 4(00|31) /);
      expectNothingTold(told);
    }
  });
});

test('after all these attacks each letter and record is as it was, and nothing was begun', async () => {
  await expectNothingBegun(ours);
  const { queues, records } = await everything(office);
  expect({ queues, records }).toEqual({ queues: atFirst.queues, records: atFirst.records });
  expect((await office.list()).letters).toBe(letters.length);
});

describe('--read-only', () => {
  let reader: Opened;
  beforeAll(async () => {
    reader = await openConsole(office.target, { readOnly: true });
  });
  afterAll(() => reader.close());
  /** They plan, look or search, and a run of theirs ends without a change. */
  const harmless = [
    '/session',
    '/letters/search',
    '/replay',
    '/uncertain',
    '/publish',
    '/crosswalk',
    '/runs/:id/answer',
    '/runs/:id/stop',
  ];
  test.each(changing.filter((path) => !harmless.includes(path)))(
    'POST %s by a form that no screen shows',
    async (path) => {
      await attack(async () => {
        for (const each of [
          path,
          `${path}/`,
          path.toUpperCase(),
          `/${path}`,
          `${path}?x=/replay`,
          `${path}%2F`,
          `/./x/..${path}`,
        ]) {
          const answer = await reader.post(pathOf(each), wholeForm(path));
          expect([403, 404]).toContain(answer.status);
          expectHeaders(answer);
        }
      }, reader);
    },
  );
  test('what plans and looks changes nothing, and writes nothing into the audit log', async () => {
    await expectNothingBegun(reader);
    const before = await everything(office);
    const file = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.json"\r\n\r\n${eventBody()}\r\n--${boundary}--\r\n`;
    const publish = () =>
      send(reader.port, {
        ...{ method: 'POST', path: '/publish', body: file },
        headers: { ...reader.own, 'content-type': `multipart/form-data; boundary=${boundary}` },
      });
    const post = (path: string) => () => reader.post(path, wholeForm());
    for (const begin of [post('/replay'), post('/uncertain'), publish]) {
      const { headers } = await begin();
      const run = headers.location ?? '';
      expect(run).toMatch(/^\/runs\//);
      for (let tries = 0; tries < 100 && (await reader.get(run)).text.includes('is at work'); tries += 1)
        await sleep(20);
      await reader.post(`${run}/answer`, { answer: 'yes' });
      await reader.post(`${run}/stop`);
      expect((await reader.get(run)).text).not.toMatch(/is at work|waits for your answer/);
    }
    expect(reader.said).toEqual([]);
    const after = await everything(office);
    expect(after.objects).toEqual(before.objects);
    expect(after.records).toEqual(before.records);
    // A plan takes letters into its hand for a while; no function has got one.
    expect(after.queues.slice(1)).toEqual(before.queues.slice(1));
  });
  test('no screen shows a form that changes something', async () => {
    const pages = reading.filter((path) => !/live|\.|\/runs\/|message|original/.test(path));
    for (const path of pages) {
      const { elements } = read((await reader.get(pathOf(path))).text);
      const actions = elements.flatMap(({ name, attributes }) =>
        name === 'form' && attributes.get('method') === 'post' ? (attributes.get('action') ?? path) : [],
      );
      expect([path, actions.filter((each) => !harmless.includes(each))]).toEqual([path, []]);
    }
  });
});

describe('the end', () => {
  test('pages that follow it, and requests of others, do not keep it open; then nothing answers', async () => {
    const short = await openConsole(office.target, { idleMs: 300 });
    await short.get('/runs');
    let isOver = false;
    short.ended.then(() => {
      isOver = true;
    });
    const stream = short.get('/live').catch(({ code }) => code);
    const refused = async (): Promise<void> => {
      for (let tries = 0; tries < 100 && !isOver; tries += 1) {
        for (const path of ['/console.css', '/console.js', '/letters', '/session', '/nowhere'])
          await send(short.port, { path, headers: { host: short.host } }).catch(() => {});
        await short.exchange('guess').catch(() => {});
        // A page that is open somewhere asks for more.
        await short.get('/live?part=yes').catch(() => {});
        await sleep(20);
      }
    };
    const [why] = await Promise.all([
      Promise.race([short.ended, sleep(1_500).then(() => 'still there')]),
      refused(),
    ]);
    expect(why).toBe('unused');
    expect(await stream).toBe('ECONNRESET');
    await expect(short.get('/runs')).rejects.toThrow('ECONNREFUSED');
    await expect(short.exchange(short.token)).rejects.toThrow('ECONNREFUSED');
  });
  test('while a run comes to its end, its open page gets the news, and nobody gets anything else', async () => {
    const held = Promise.withResolvers<string>();
    const isAsked = Promise.withResolvers<void>();
    const bucket = () => {
      isAsked.resolve();
      return held.promise;
    };
    const of = await offices.open();
    const [id = ''] = await of.park([{}]);
    const short = await openConsole({ ...of.target, bucket });
    const { headers } = await short.post('/decide', { id, reason: 'a test', decision: 'discard' });
    await isAsked.promise;
    const live = `${headers.location}/live`;
    const part = () => short.get(`${live}?part=yes`);
    expect((await part()).text).toContain('is in progress');
    const stream = short.get(live).catch(({ code }) => code);
    const closing = short.close();
    for (const ask of [
      ...reading.filter((path) => !path.endsWith('/live')).map((path) => short.get(pathOf(path))),
      ...changing.map((path) => short.post(pathOf(path), wholeForm(path))),
      ...[short.exchange(short.token), send(short.port, { path: '/', headers: { host: 'evil.example' } })],
    ])
      expectRefused(await ask, [503]);
    expectRefused(await send(short.port, { path: live, headers: { host: short.host } }), [401]);
    held.resolve(office.bucket);
    let told = await part();
    while (told.text.includes('is in progress')) told = await part();
    expect(told.text).toMatch(/This run (ended|failed)/);
    expect(told.headers['console-proof']).toBe(short.proof);
    await closing;
    expect(await stream).toBe('ECONNRESET');
    await expect(part()).rejects.toThrow('ECONNREFUSED');
  });
  test('it listens on this machine alone', async () => {
    const others = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const addresses = new Set([...others.map(({ address }) => address), '127.0.0.2']);
    for (const address of addresses.difference(new Set(['127.0.0.1', '::1']))) {
      const told = await new Promise<string>((resolve) => {
        const socket = connect(ours.port, address, () => resolve('connected'));
        socket.on('error', () => resolve('refused')).setTimeout(500, () => resolve('refused'));
        socket.on('connect', () => socket.destroy());
      });
      expect([address, told]).toEqual([address, 'refused']);
    }
  });
  test('of all that was refused the console would have done much for its own browser', async () => {
    const statuses = new Map<string, number>();
    const of = await offices.open();
    letters = await of.park([{}]);
    const at = await openConsole(of.target);
    for (const path of changing) statuses.set(path, (await at.post(pathOf(path), wholeForm(path))).status);
    await at.close();
    const refusals = [...statuses].filter(([, status]) => [401, 403, 405, 413, 415, 421].includes(status));
    expect(refusals).toEqual([]);
    expect([...statuses.values()].filter((status) => status === 303).length).toBeGreaterThan(8);
    expect(at.said.length).toBeGreaterThan(0);
  });
});
