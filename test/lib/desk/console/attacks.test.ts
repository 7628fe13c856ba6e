import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeRecord } from '../../../../lib/delivery/letters/write-record.ts';
import { errorSentence } from '../../../../lib/desk/cli/print/error-sentence.ts';
import { createSession } from '../../../../lib/desk/console/guard.ts';
import { groupIdOf } from '../../../../lib/options/reconcile/desk/groups.ts';
import { findingOf, reportOf, writeRun } from '../../../options/reconcile/desk/runs.ts';
import { recordOf, writeSnapshot } from '../../../options/snapshots/desk/waiting-import.ts';
import { eventBody, failureOf, functionNames, type Office, officesForTests } from '../cli/office.ts';
import { type Answer, appWith, type Opened, openConsole, read, send, sendRaw } from './attacker.ts';

const offices = officesForTests();

const boundary = '----WebKitFormBoundary0123456789abcdef';

/** Every route that the console has, so that a new one is attacked, too. */
const routes = appWith()
  .app.routes.filter(({ method }) => method !== 'ALL')
  .map(({ method, path }) => ({ method, path }));
const changing = routes.flatMap(({ method, path }) => (method === 'GET' ? [] : [path]));
const reading = routes.flatMap(({ method, path }) => (method === 'GET' ? [path] : []));
/** What strangers may ask for, and nothing else. */
const open = ['GET /console.css', 'GET /console.js', 'GET /icon.svg', 'POST /session'];

let office: Office;
let ours: Opened;
let letters: string[];
/** That of another console. */
let otherKey = '';
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
  const { session, exchange } = appWith();
  otherKey = /=([\w-]+);/.exec((await exchange(session.token)).headers.get('set-cookie') ?? '')?.[1] ?? '';
  expect(otherKey).toHaveLength(43);
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
  all: 'yes',
  reason: 'an attack',
  id: letters[0] ?? '',
  function: 'grade-push',
  answer: 'yes',
  decision: 'discard',
  'set:comments': 'changed',
  includeUncertain: 'yes',
  next: '/',
  address: `s3://${office.bucket}/discarded/x.jsonl`,
  error: 'Not Found',
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
const attack = async <Value>(make: () => Promise<Value>, at = ours): Promise<Value> => {
  const saidBefore = at.said.length;
  const changed = changes.length;
  const answer = await make();
  expect(changes.slice(changed)).toEqual([]);
  expect(at.said.slice(saidBefore)).toEqual([]);
  return answer;
};

/** What a console has begun stays in its list: to look there once, after the attacks, is enough. */
const expectNothingBegun = async (at: Opened): Promise<void> =>
  expect((await at.get('/runs')).text).toContain('Nothing was started in this console yet.');

const expectNothingTold = (answer: string, at = ours): void => {
  const secrets = [
    ...letters.map((id) => id.slice(0, 8)),
    at.token,
    at.cookie.split('=').at(-1) ?? '',
    at.proof,
    office.target.prefix.slice(0, -1),
    // At another port of that name, a browser would show the cookie.
    at.hostname,
    'a test',
    'grade-push',
    'Jane',
    'Not Found',
    'node_modules',
    'file://',
    '    at ',
  ];
  expect(secrets.filter((secret) => answer.includes(secret))).toEqual([]);
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

/** With the names and secrets of this console. */
const filled = (text: string): string => {
  const [name = '', key = ''] = ours.cookie.split('=');
  const values: Record<string, string> = {
    HOST: ours.host,
    NAME: ours.hostname,
    UPPER: ours.hostname.toUpperCase(),
    PORT: String(ours.port),
    COOKIE: ours.cookie,
    KEYNAME: name,
    TOKEN: ours.token,
    GUESSED: `${name}=${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`,
    SHORTENED: ours.cookie.slice(0, -1),
    SHOUTED: ours.cookie.replace('sis', 'SIS'),
    OTHERS: `${name}=${otherKey}`,
  };
  return text.replace(
    new RegExp(Object.keys(values).sort().reverse().join('|'), 'g'),
    (each) => values[each] ?? '',
  );
};

type Route = { name: string; method: 'GET' | 'POST'; path: string; isOpen?: boolean; body?: string };
type Changed = Record<string, string | undefined>;

const multipart = `multipart/form-data; boundary=${boundary}`;
const fileForm = (content: string, name = 'a.json'): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="function"\r\n\r\ngrade-push\r\n--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: text/csv\r\n\r\n${content}\r\n--${boundary}--\r\n`;

/** The guard stands before all routes, and asks for the method and whether strangers may ask: of each kind there is one. */
const kinds = (): Route[] => [
  { name: 'page', method: 'GET', path: '/letters' },
  { name: 'stream', method: 'GET', path: '/live?part=yes' },
  { name: 'file', method: 'GET', path: '/console.css', isOpen: true },
  { name: 'unknown path', method: 'GET', path: '/nowhere' },
  { name: 'form', method: 'POST', path: '/discard', body: wholeBody() },
  { name: 'form with a file', method: 'POST', path: '/publish', body: fileForm(eventBody()) },
  { name: 'form to nowhere', method: 'POST', path: '/nowhere', body: wholeBody() },
  { name: 'sign-in', method: 'POST', path: '/session', isOpen: true, body: 'token=x' },
];
const reads = (): Route[] => kinds().filter(({ method }) => method === 'GET');
const forms = (): Route[] => kinds().filter(({ method }) => method === 'POST');
const closed = (from = kinds()): Route[] => from.filter(({ isOpen }) => !isOpen);
/** All that the console has, by both methods. */
const every = (): Route[] =>
  [...new Set([...routes.map(({ path }) => path), '/nowhere', '/console.js/', '/session/x'])].flatMap(
    (path) => [
      { name: path, method: 'GET', path: pathOf(path, 'an-id'), isOpen: open.includes(`GET ${path}`) },
      {
        name: path,
        method: 'POST',
        path: pathOf(path, 'an-id'),
        body: wholeBody(path),
        isOpen: open.includes(`POST ${path}`),
      },
    ],
  );

/** What the console's own browser sends, but for what a forgery changes; undefined: it is left out. */
const sendAs = ({ name, method, path, body }: Route, changed: Changed, as: string = method) => {
  const usual: Changed =
    method === 'GET'
      ? { host: ours.host, cookie: ours.cookie, 'sec-fetch-site': 'same-origin' }
      : { ...ours.own, ...(name === 'form with a file' && { 'content-type': multipart }) };
  const headers = Object.fromEntries(
    Object.entries({ ...usual, ...changed }).flatMap(([header, value]) =>
      value === undefined ? [] : [[header, filled(value)]],
    ),
  );
  const content = as === method ? body : as === 'GET' ? undefined : '';
  return send(ours.port, { method: as, path, headers, ...(content !== undefined && { body: content }) });
};

/** One header with these values in turn, and others beside it. */
const each = (header: string, values: (string | undefined)[], beside: Changed = {}): Changed[] =>
  values.map((value) => ({ ...beside, [header]: value }));
const site = 'sec-fetch-site';
const evilSite: Changed = { origin: 'https://evil.example', [site]: 'cross-site' };
/** Other names that lead here, as by DNS rebinding. */
const hosts = [
  ...'evil.example:PORT NAME.evil.example:PORT evil.NAME:PORT 127.0.0.1.nip.io:PORT localhost:PORT'.split(
    ' ',
  ),
  ...'0123.localhost:PORT 127.0.0.1:PORT [::1]:PORT 2130706433:PORT UPPER:PORT NAME NAME.:PORT NAME:1'.split(
    ' ',
  ),
  'NAME:0PORT',
  'user@HOST',
  'HOST/evil',
  'HOST, evil.example',
  '',
];
const forwarded = { 'x-forwarded-host': 'HOST', forwarded: 'host=HOST' };
const rebound = hosts.map((host) => ({ host, origin: `http://${host}`, ...forwarded }));
const origins = [
  ...'null http://NAME:1 http://127.0.0.1:PORT http://0123.localhost:PORT http://NAME https://HOST'.split(
    ' ',
  ),
  ...'HTTP://HOST http://evil@HOST http://HOST.evil.example http://HOST/'.split(' '),
  'http://HOST, https://evil.example',
  '',
  undefined,
];
const sites = ['cross-site', 'same-site', 'none', 'same-origin, cross-site', undefined];
const cookies = [
  '',
  'KEYNAME=',
  'GUESSED',
  'SHORTENED',
  'COOKIEA',
  'KEYNAME=TOKEN',
  'SHOUTED',
  'OTHERS',
  'KEYNAME=x; COOKIE',
  'x="; COOKIE"',
];
const urlEncoded = 'application/x-www-form-urlencoded';
const types = ['application/json', 'text/plain', `${urlEncoded}-not`, `${urlEncoded}, text/plain`, undefined];
const simpleTypes = ['text/plain', 'multipart/form-data; boundary=x', undefined];
const methods = 'HEAD PUT PATCH DELETE OPTIONS TRACE PROPFIND QUERY'.split(' ');
const preflight = { ...evilSite, 'access-control-request-method': 'POST' };
const asGet = { ...evilSite, 'x-http-method-override': 'POST' };

type Forgery = [what: string, to: () => Route[], status: number | number[], sends: Changed[], by?: string[]];
/** To which routes, how it is refused, and what differs from what the console's own browser sends. */
const forgeries: Forgery[] = [
  ['another site, to every route', every, 403, [evilSite]],
  ['a stranger, to every route', () => closed(every()), 401, [{ cookie: '' }]],
  ['a wrong cookie', closed, 401, each('cookie', cookies)],
  ['a token in place of a cookie', closed, 401, [{ cookie: '', authorization: 'Bearer TOKEN' }]],
  ['another host', kinds, [400, 421], each('host', hosts, forwarded)],
  ['a form of another host', forms, [400, 421], rebound],
  ['a form of another origin', forms, 403, each('origin', origins)],
  [
    'a form that has a referrer, but no origin',
    forms,
    403,
    [{ origin: undefined, referer: 'http://HOST/x' }],
  ],
  ['a form with neither origin nor site', forms, 403, [{ origin: undefined, [site]: undefined }]],
  ['a form of another page', forms, 403, each(site, sites)],
  ['a link of another page', reads, 403, each(site, ['cross-site', 'same-site', 'nonsense', ''])],
  ['a form of another port', forms, 403, [{ origin: 'http://NAME:1', [site]: 'same-site' }]],
  ['a form that needs no preflight', forms, 403, each('content-type', simpleTypes, evilSite)],
  ['no form', forms, 415, each('content-type', types)],
  ['a form as a GET', forms, 403, [asGet], ['GET']],
  ['another method', kinds, 405, [{}], methods],
  ['a preflight', forms, 405, [preflight], ['OPTIONS']],
];

test('every route is known to the attacks', () => {
  expect(changing.length).toBeGreaterThanOrEqual(15);
  expect(reading.length).toBeGreaterThanOrEqual(20);
  expect(new Set(routes.map(({ method }) => method))).toEqual(new Set(['GET', 'POST']));
});

describe('a forged request is refused, and tells and changes nothing', () => {
  test.each(forgeries)('%s', async (_, to, status, sends, by) => {
    const attacked = to();
    expect(attacked.length).toBeGreaterThan(2);
    for (const route of attacked)
      for (const headers of sends)
        for (const method of by ?? [route.method]) {
          const answer = await attack(() => sendAs(route, headers, method));
          const what = [method, route.path, headers];
          expect([...what, answer.status]).toEqual([...what, expect.toBeOneOf([status].flat())]);
          // Its answer is Node's own.
          if (method === 'TRACE') expect(answer.text).not.toContain(ours.cookie);
          else expectRefused(answer, [answer.status]);
        }
  });
  test('of what strangers may ask for, they get files, and no session', async () => {
    for (const route of every().filter(({ isOpen }) => isOpen)) {
      const answer = await attack(() => sendAs(route, { cookie: '' }));
      if (route.method === 'POST') expectRefused(answer, [403]);
      else expect([route.path, answer.status]).toEqual([route.path, 200]);
      expectHeaders(answer);
    }
  });
  test('no GET changes anything, filled in as a form', async () => {
    for (const path of changing) {
      const answer = await attack(() => ours.get(`${pathOf(path)}?${wholeBody(path)}`));
      expect([path, answer.status]).toEqual([path, expect.toBeOneOf([200, 400, 404])]);
      expectHeaders(answer);
    }
  });
});

describe('bytes that no browser sends', () => {
  const lines = (...each: string[]): string => [...each, '', ''].join('\r\n');
  const get = (target: string, ...more: string[]): string =>
    lines(`GET ${target} HTTP/1.1`, ...more, 'Cookie: COOKIE', 'Connection: close');
  const hidden = () =>
    `${lines('POST /discard HTTP/1.1', ...Object.entries(ours.own).map((each) => each.join(': ')), `Content-Length: ${wholeBody().length}`)}${wholeBody()}`;
  const raw: [what: string, bytes: () => string, statuses: number[]][] = [
    ...['http://evil.example:PORT/', 'http://127.0.0.1:PORT/', 'http://evil:x@127.0.0.1:PORT.evil/']
      .concat('http:///', 'letters', 'file:///etc/passwd')
      .map((target): (typeof raw)[number] => [target, () => get(target, 'Host: HOST'), [400, 421]]),
    ['two of Host, the first right', () => get('/', 'Host: HOST', 'Host: evil.example'), [400, 421]],
    ['two of Host, the last right', () => get('/', 'Host: evil.example', 'Host: HOST'), [400, 421]],
    ['no Host', () => get('/'), [400]],
    ['no Host, by HTTP/1.0', () => get('/').replace('1.1', '1.0'), [400]],
    ['a header of 64 KB', () => get('/', `X: ${'x'.repeat(65_536)}`, 'Host: HOST'), [400, 431]],
    ['3,000 headers', () => get('/', ...Array<string>(3_000).fill('X: 1'), 'Host: HOST'), [400, 431]],
    ...['websocket', 'h2c'].map((upgrade): (typeof raw)[number] => [
      `an upgrade to ${upgrade}`,
      () => lines('GET /live HTTP/1.1', 'Host: HOST', 'Connection: close, Upgrade', `Upgrade: ${upgrade}`),
      [401],
    ]),
    [
      'a request hidden in the body of a refused one',
      () =>
        `${lines('POST /discard HTTP/1.1', 'Host: HOST', 'Connection: close', `Content-Length: ${hidden().length}`)}${hidden()}`,
      [403],
    ],
    [
      'a request hidden behind two lengths',
      () =>
        `${lines('POST /discard HTTP/1.1', 'Host: HOST', 'Content-Length: 4', 'Transfer-Encoding: chunked')}0\r\n\r\n${hidden()}`,
      [400],
    ],
  ];
  test.each(raw)('the request has %s', async (_, bytes, statuses) => {
    const answer = await attack(() => sendRaw(ours.port, filled(bytes())));
    const answers = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
    expect(answers).toHaveLength(1);
    expect(statuses).toContain(answers[0]);
    expectNothingTold(answer);
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

describe('no right to come in', () => {
  test.each([
    ['too large a form', 413, 'application/x-www-form-urlencoded', `token=${'x'.repeat(300 * 1024)}`],
    ['a form that cannot be read', 400, 'multipart/form-data', '--x--'],
  ])('%s of a stranger gets %i, and tells neither stage nor operator', async (_, status, type, body) => {
    const headers = { ...ours.own, 'content-type': type, cookie: '' };
    const form = { method: 'POST', path: '/session', headers, body };
    await attack(async () => expectRefused(await send(ours.port, form), [status]));
  });
  test('the secret by which a page knows its console is in what it admits alone', async () => {
    expect([ours.token, ours.cookie.split('=').at(-1)]).not.toContain(ours.proof);
    expect(ours.signedIn.headers['console-proof']).toBeUndefined();
    for (const path of ['/letters', '/live?part=yes', '/nowhere', '/letters?kind=all'])
      expect((await ours.get(path)).headers['console-proof']).toBe(ours.proof);
    for (const path of open.filter((each) => each.startsWith('GET ')).map((each) => each.slice(4)))
      expect(
        (await sendAs({ name: path, method: 'GET', path }, { cookie: '' })).headers['console-proof'],
      ).toBe(undefined);
  });
  test('the token a second time, as by whoever reads the printed address', async () => {
    await attack(async () => expectRefused(await ours.exchange(ours.token), [403]));
    const inQuery = { path: `/letters?token=${ours.token}`, headers: { host: ours.host } };
    expect((await send(ours.port, inQuery)).status).toBe(401);
  });
  test('a new token, which another browser shows in its address, uses up the one before', async () => {
    const { session, exchange } = appWith();
    const before = session.token;
    const token = session.newToken();
    expect([(await exchange(before)).status, (await exchange(token)).status]).toEqual([403, 303]);
    const address = ` http://localhost:1/#token=${session.newToken()}\n`;
    expect([(await exchange(address)).status, (await exchange(address)).status]).toEqual([303, 403]);
  });
  test('guessed tokens do not use the real one up, which lets one of twenty in', async () => {
    const { session, exchange } = appWith();
    for (const guess of ['', ' ', 'A'.repeat(43), 'undefined', '\0', '🦉', 'x'.repeat(100_000)]) {
      const guessed = await exchange(guess);
      expect([guessed.status, guessed.headers.get('set-cookie')]).toEqual([403, null]);
    }
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(session.token)));
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(answers.filter((each) => each.headers.has('set-cookie'))).toHaveLength(1);
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
    const source = await readFile('lib/desk/console/guard.ts', 'utf8');
    expect(source).toMatch(/isSame = .*=>\s*timingSafeEqual\(digestOf\(given\), digestOf\(wanted\)\)/);
    expect(source).not.toMatch(/[!=]==? ?(token|key)\b|\b(token|key) ?[!=]==/);
  });
});

describe('sent away after signing in', () => {
  const elsewhere = [
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/\r\nSet-Cookie: a=b',
    'https://evil.example',
    'https:evil.example',
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,x',
    '/\0/evil.example',
    '/\u0001',
    '/\u2028',
    '/ü',
    '@evil.example',
    '.evil.example',
    '',
    '/\u007F',
    '/a\\b',
    '/%5C\\evil.example',
  ];
  test.each(elsewhere)('next is %j', async (next) => {
    const { session, exchange } = appWith();
    const { status, headers } = await exchange(session.token, next);
    expect([status, headers.get('location')]).toEqual([303, '/']);
  });
  test('next is a screen of ours, for whoever has the token alone', async () => {
    const { session, exchange } = appWith();
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
  'html head meta title link script body header footer main nav section article div p span a ul ol li dl dt dd h1 h2 h3 form input label select option button output fieldset legend table caption thead tbody tr th td code pre bdi time blockquote details summary noscript svg g rect figure figcaption meter progress strong del ins textarea kbd mark dialog b'.split(
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
    ['a redirect', 303, () => ours.post('/letters/search', { kind: 'rejected' })],
    ['a form that lacks a reason', 400, () => ours.post('/discard', { all: 'yes' })],
    ['no such screen', 404, () => ours.get('/nowhere')],
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
      const stream = await sendRaw(ours.port, head, (answer) => answer.endsWith('\r\n1\r\n\n\r\n'));
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
  const pages = new Map<string, string>();
  const archived = `discarded/${new Date().toISOString().slice(0, 10)}-${encodeURIComponent('x').slice(0, 1)}`;
  const put = async (Key: string, Body: string) =>
    (await hostile.target.s3()).send(new PutObjectCommand({ Bucket: hostile.bucket, Key, Body }));
  /** What each of these names, with the first word before it. */
  const evils = (what: string, names: string): Record<string, string> =>
    Object.fromEntries(names.split(' ').map((name) => [name, evil(`${what}-${name}`)]));
  const failure = (kind: 'rejected' | 'uncertain') => ({
    ...failureOf('', 'rejected'),
    ...evils('failure', 'function message remedy title detail operation required firstAt lastAt'),
    kind,
  });
  const deed = { what: 'edited', ...evils('deed', 'at by why letter kind original') };
  const history = JSON.stringify({ deeds: [deed] });
  const controls = '\0\u0007\u001B[31m\u009B31m\u2066\u200F\u061C';
  const facts = (kind: string) => ({
    ...evils('record', 'error remedy required operation eventId user orgUnit resource by why as handle'),
    function: evil('record-function') + controls,
    words: evil('record-words') + controls,
    thing: evil('record-thing') + controls,
    kind: kind + (kind.length > 20 ? controls : ''),
    history,
    writtenMs: Date.now(),
    atMs: Date.now(),
    firstMs: Date.now(),
    nextMs: Date.now(),
    replays: 9,
    attempts: 1,
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
      audit: 'begin',
      at: now,
      ...evils('audit', 'id who command reason'),
      filter: evils('audit', 'filter'),
      counts: { [evil('count')]: 1 },
      letters: [evil('auditLetter'), 'ended-message', id],
    };
    const key = `audit/${now.slice(0, 10).replaceAll('-', '/')}/${now.slice(11, 23)}-0badc0de-begin-lead.json`;
    await put(key, JSON.stringify(line));
    await put(`${archived}/${evil('key')}.jsonl`, JSON.stringify({ letter: evil('archived') }));
    await put(`${archived}-good.jsonl`, `${JSON.stringify({ [evil('lineField')]: 1 })}\n${evil('line')}\n`);

    at = await openConsole(
      { ...hostile.target, who: evil('operator') },
      { sentence: (error) => errorSentence(error, {}) },
    );
    const keep = async (name: string, answer: Promise<Answer>): Promise<string> => {
      const { status, text, headers } = await answer;
      if (status !== 303) pages.set(`${name}: ${status}`, text);
      return headers.location ?? '';
    };
    const of = (path: string, name: string): string =>
      path.replace(/:\w+/, encodeURIComponent(name)).replace(/live$/, 'live?part=yes');
    const q = encodeURIComponent(evil('query'));
    const names =
      'id function kind status error user orgUnit since until cause minReplays sort page days unheld run log'.split(
        ' ',
      );
    const queries = [`id=${id}`, 'user=301', names.map((name) => `${name}=${q}`).join('&')];
    const screens = reading.filter((path) => !/\.\w+$/.test(path));
    const looksAt = async (): Promise<void> => {
      for (const path of screens)
        for (const name of path.includes(':')
          ? [id, evil('messageId'), 'ended-message', evil('query')]
          : [''])
          await keep(`${path} of ${name.slice(0, 20)}`, at.get(of(path, name)));
    };
    await looksAt();
    for (const path of screens.filter((each) => !each.includes(':') && !each.endsWith('live')))
      for (const query of queries) await keep(`${path}?${query.slice(0, 20)}`, at.get(`${path}?${query}`));
    for (const name of names) await keep(`letters of a ${name}`, at.get(`/letters?${name}=${q}`));
    for (const headers of [{ host: at.host }, { host: at.host, 'sec-fetch-site': 'cross-site' }])
      await keep(JSON.stringify(headers), send(at.port, { path: `/x?${q}`, headers }));
    const wrongToken = { token: evil('token'), next: `/${evil('next')}` };
    await keep(
      'wrong token',
      send(at.port, {
        method: 'POST',
        path: '/session',
        headers: { ...at.own, cookie: '' },
        body: new URLSearchParams(wrongToken).toString(),
      }),
    );

    const quoted = (field: string): string => `"${evil(field).replaceAll('"', '""')}"`;
    const known = `orgUnitId,userId,comments,grade.type\n1,${quoted('cell')},${quoted('comment')},${quoted('type')}\n`;
    const files = {
      [`${evil('csvName')}.csv`]: known,
      [`${evil('otherName')}.csv`]: `userId;${quoted('column')}\n301;${quoted('otherCell')}\n`,
      [`${evil('jsonName')}.json`]: JSON.stringify([{ data: { [evil('jsonField')]: evil('jsonValue') } }]),
      [`${evil('brokenName')}.json`]: `{"a": ${evil('broken')}`,
      [evil('fileName')]: known,
    };
    const begun: Promise<string>[] = [];
    for (const [name, content] of Object.entries(files)) {
      const named = name.replaceAll('"', '%22').replace('\u202E', '');
      const body = fileForm(content, named);
      const headers = { ...at.own, 'content-type': multipart };
      begun.push(keep(name, send(at.port, { method: 'POST', path: '/publish', headers, body })));
    }
    const address = `s3://${hostile.bucket}/${archived}-good.jsonl`;
    // What each route takes, with words of others; then nothing but words of others.
    const right = {
      ...wholeForm(),
      id: other,
      reason: evil('reason'),
      'set:comments': evil('edited'),
      address,
    };
    for (const path of changing.filter((each) => each !== '/session'))
      for (const form of [right, Object.fromEntries(Object.keys(right).map((name) => [name, evil(name)]))])
        begun.push(keep(`${path} ${form === right}`, at.post(of(path, other), form)));
    const runs = (await Promise.all(begun)).filter((path) => path.startsWith('/runs/'));
    expect(runs.length).toBeGreaterThan(8);
    for (const run of runs) {
      for (let tries = 0; tries < 50; tries += 1)
        if ((await at.get(run)).text.includes('is in progress')) await sleep(20);
        else break;
      await keep(`${run} (${runs.indexOf(run)})`, at.get(run));
      await keep(`${run}/live`, at.get(`${run}/live?part=yes`));
    }
    for (const path of ['/', '/letters', '/log', '/runs']) await keep(`${path} later`, at.get(path));
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
    const shown =
      'failure-function failure-remedy failure-title failure-detail attribute comments fieldName bodyId deed-by deed-why record-error record-words record-function record-remedy record-user record-orgUnit record-thing record-by record-why audit-who audit-command audit-reason count key operator column cell jsonField kind waitKind query reason'.split(
        ' ',
      );
    expect(shown.filter((field) => !new RegExp(`${field}\\\\?"`).test(all))).toEqual([]);
  });
});

describe('other objects and screens than those that are shown', () => {
  test.each([
    '..',
    '../..',
    '..%2f..%2faudit',
    '%2e%2e',
    '%2e%2e%2f%2e%2e',
    '..%5c..%5caudit',
    '....//....//x',
    '%00%00',
    '%0d%0aSet-Cookie:%20a=b',
    '__proto__',
    'constructor',
    '%E0%A4%A',
    `${'a'.repeat(2_000)}`,
    's3:%2F%2Fother%2Fx',
    '*',
    '%',
    "'%20or%201=1",
    '{"S":"x"}',
  ])('a letter or run called %s', async (name) => {
    const ask = (line: string, body = '') => {
      const headers = Object.entries(ours.own).map((each) => `${each.join(': ')}\r\n`);
      const length = `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
      return sendRaw(ours.port, `${line} HTTP/1.1\r\n${headers.join('')}${length}${body}`);
    };
    await attack(async () => {
      for (const path of [
        `/letters/${name}`,
        `/letters/${name}/message`,
        `/letters/${name}/original`,
        `/runs/${name}`,
      ]) {
        const answer = await ask(`GET ${path}`);
        const [, status = ''] = /^HTTP\/1\.1 (\d+)/.exec(answer) ?? [];
        // `/letters/..` is the overview.
        expect([path, status]).toEqual([
          path,
          expect.stringMatching(name.includes('..') || name.includes('%2e') ? /^(200|40[04])$/ : /^40[04]$/),
        ]);
        expect(answer).not.toMatch(/^Set-Cookie:|Jane|^\s+at /m);
      }
      for (const path of [`/runs/${name}/answer`, `/runs/${name}/stop`])
        expect(await ask(`POST ${path}`, 'reason=x')).toMatch(/^HTTP\/1\.1 40[04]/);
    });
  });
  test.each([
    's3://BUCKET/audit/2026/01/01/x.json',
    's3://BUCKET/edited/2026-01-01/x.jsonl',
    's3://BUCKET/letters/x/x.jsonl',
    's3://another-bucket/discarded/x.jsonl',
    's3://BUCKET-evil/discarded/x.jsonl',
    's3://BUCKET/discarded-evil/x.jsonl',
    's3://BUCKET/../BUCKET/audit/x.json',
    's3://BUCKET/discarded/../audit/x.json',
    'S3://BUCKET/discarded/x.jsonl',
    ' s3://BUCKET/discarded/x.jsonl',
    'file:///etc/passwd',
    '/etc/passwd',
    'discarded/x.jsonl',
    '-',
    'http://169.254.169.254/latest/',
    '',
  ])('restore from “%s”', async (address) => {
    await attack(async () => {
      const answer = await ours.post('/restore', { address: address.replaceAll('BUCKET', office.bucket) });
      expect([answer.status, answer.headers.location]).toEqual([400, undefined]);
    });
  });
  test('an original that the history of a letter says to be elsewhere is not read', async () => {
    const of = await offices.open();
    const s3 = await of.target.s3();
    await s3.send(
      new PutObjectCommand({
        Bucket: of.bucket,
        Key: 'audit/secret.json',
        Body: `${JSON.stringify({ body: eventBody('grade-push', { comments: 'top secret' }) })}\n`,
      }),
    );
    const deed = { what: 'edited', at: '2026-01-01T00:00:00Z', by: 'x', letter: 'x', kind: 'rejected' };
    const originals = [
      `s3://${of.bucket}/audit/secret.json`,
      `s3://${of.bucket}/edited/../audit/secret.json`,
      's3://other/edited/2026-01-01/x.jsonl',
      'file:///etc/passwd',
      'http://169.254.169.254/',
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
      const form = `${name}=x&set:${name}=x&unset:${name}=yes&reason=x&id=none&function=${name}`;
      expect((await ours.post('/edit', form)).status).toBe(400);
    });
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });
  test('a wrong filter is refused on each screen, before anything is planned', async () => {
    const query = 'since=yesterday';
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
  /** The console is in this process. Seconds would count what else the machine does. */
  const expectLittleCpu = (begun: NodeJS.CpuUsage): void =>
    expect(process.cpuUsage(begun).user / 1_000).toBeLessThan(2_000);
  test.each(forms)('%s', async (_, path, body, statuses) => {
    const begun = process.cpuUsage();
    await attack(async () => {
      const answer = await ours.post(path, body());
      expect(statuses).toContain(answer.status);
      expectHeaders(answer);
    });
    expectLittleCpu(begun);
  });
  test('a form in chunks, which says nothing of its length', async () => {
    await attack(async () => {
      const answer = await send(ours.port, {
        method: 'POST',
        path: '/discard',
        body: `all=yes&reason=${'x'.repeat(300 * 1024)}`,
        headers: { ...ours.own, 'transfer-encoding': 'chunked' },
      });
      expect(answer.status).toBe(413);
    });
  });
  test('a file of more than 20 MB, and one of very many parts', async () => {
    const headers = { ...ours.own, 'content-type': multipart };
    const part = `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n`;
    await attack(async () => {
      const large = await send(ours.port, {
        method: 'POST',
        path: '/publish',
        headers,
        body: Buffer.alloc(20 * 1024 * 1024 + 1),
      });
      expect(large.status).toBe(413);
      const begun = process.cpuUsage();
      const many = await send(ours.port, {
        method: 'POST',
        path: '/publish',
        headers,
        body: `${part.repeat(10_000)}--${boundary}--\r\n`,
      });
      expect(many.status).toBe(400);
      expectLittleCpu(begun);
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
          method: 'POST',
          path,
          body: `--${boundary}--\r\n`,
          headers: { ...ours.own, 'content-type': type },
        });
        expect(answer.status).toBe(400);
        expect(answer.text).not.toMatch(/TypeError|\n\s+at /);
      }
    });
  });
  test('whoever has no right is refused before the body is there', async () => {
    const head = `POST /publish HTTP/1.1\r\nHost: ${ours.host}\r\nContent-Type: text/plain\r\nContent-Length: 100000000000\r\n\r\nx`;
    const answer = await attack(() => sendRaw(ours.port, head, (each) => each.includes('</html>')));
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
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
      expect((await ours.get('/letters')).status).toBe(200);
      // They are still waited for.
      expect(slow.filter(({ readyState, bytesRead }) => readyState !== 'open' || bytesRead > 0)).toEqual([]);
      for (const socket of slow) socket.destroy();
    });
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
    '/find',
    '/keys',
    '/filters',
    '/filters/forget',
    '/letters/search',
    '/replay',
    '/uncertain',
    '/publish',
    '/crosswalk',
    '/runs/:id/answer',
    '/runs/:id/stop',
  ];
  const harmful = changing.filter((path) => !harmless.includes(path));
  const spellings = (path: string): string[] => [
    `${path}/`,
    path.toUpperCase(),
    `/${path}`,
    `${path}?x=/replay`,
    `${path}%2F`,
    `/./x/..${path}`,
  ];
  test.each([...harmful, ...spellings('/discard')])(
    'POST %s by a form that no screen shows',
    async (path) => {
      await attack(async () => {
        const answer = await reader.post(pathOf(path), wholeForm(path));
        expect([403, 404]).toContain(answer.status);
        expectHeaders(answer);
      }, reader);
    },
  );
  test('what plans and looks changes nothing, and writes nothing into the audit log', async () => {
    await expectNothingBegun(reader);
    const before = await everything(office);
    const publish = () =>
      send(reader.port, {
        method: 'POST',
        path: '/publish',
        body: fileForm(eventBody()),
        headers: { ...reader.own, 'content-type': multipart },
      });
    const replay = () => reader.post('/replay', wholeForm());
    const lookUp = () => reader.post('/uncertain', { id: letters[2] ?? '', reason: 'an attack' });
    for (const begin of [replay, lookUp, publish]) {
      const { headers } = await begin();
      const run = headers.location ?? '';
      expect(run).toMatch(/^\/runs\//);
      while ((await reader.get(run)).text.includes('is in progress')) await sleep(20);
      expect((await reader.get(run)).text).not.toContain('waits for your answer');
      await reader.post(`${run}/answer`, { answer: 'yes' });
      await reader.post(`${run}/stop`);
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
    // A connection that was kept may only now be seen to be closed.
    await expect(short.get('/runs')).rejects.toThrow(/ECONNREFUSED|socket hang up/);
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
    const { headers } = await short.post('/discard', { id, reason: 'a test', shown: '1' });
    await isAsked.promise;
    const live = `${headers.location}/live`;
    const part = () => short.get(`${live}?part=yes`);
    expect((await part()).text).toContain('is in progress');
    const stream = short.get(live).catch(({ code }) => code);
    const closing = short.close();
    for (const ask of [
      ...reading.filter((path) => !path.endsWith('/live')).map((path) => short.get(pathOf(path))),
      ...changing.map((path) => short.post(pathOf(path), wholeForm(path))),
      short.exchange(short.token),
      send(short.port, { path: '/', headers: { host: 'evil.example' } }),
    ])
      expectRefused(await ask, [503]);
    expectRefused(await send(short.port, { path: live, headers: { host: short.host } }), [401]);
    held.resolve(office.bucket);
    let answer = await part();
    while (answer.text.includes('is in progress')) answer = await part();
    expect(answer.text).toMatch(/This run (ended|failed)/);
    expect(answer.headers['console-proof']).toBe(short.proof);
    await closing;
    expect(await stream).toBe('ECONNRESET');
    await expect(part()).rejects.toThrow('ECONNREFUSED');
  });
  test('it listens on this machine alone', async () => {
    const others = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const addresses = new Set([...others.map(({ address }) => address), '127.0.0.2']);
    for (const address of addresses.difference(new Set(['127.0.0.1', '::1']))) {
      const answer = await new Promise<string>((resolve) => {
        const socket = connect(ours.port, address, () => resolve('connected'));
        socket.on('error', () => resolve('refused')).setTimeout(500, () => resolve('refused'));
        socket.on('connect', () => socket.destroy());
      });
      expect([address, answer]).toEqual([address, 'refused']);
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
