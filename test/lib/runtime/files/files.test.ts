import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { inspect } from 'node:util';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import fc from 'fast-check';
import { buildApp } from 'fauxqs';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { MessageFailure } from '../../../../lib/message/failure.ts';
import { createFiles, type FilesOptions, sniffImage } from '../../../../lib/runtime/files/files.ts';
import type { OpenedFile } from '../../../../lib/runtime/files/source.ts';
import { fileUriProblem, parseFileUri } from '../../../../lib/runtime/files/uri.ts';
import { withoutFileNames } from '../../../../lib/runtime/privacy/file-name.ts';
import { waitLimitMs } from '../../../limits.ts';
import { runs } from '../../../seed.ts';
import { selfSigned } from './self-signed.ts';

const limits = { maximumBytes: 1_000_000, signal: new AbortController().signal };
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe('a uri', () => {
  const rules = {
    hosts: ['files.example.org', 'ports.example.org:8443', '*.wild.example', 'MÜNCHEN.example:443'],
    allowLoopback: false,
  };

  test.each([
    ['S3://bucket/key', 'bucket', 'key'],
    ['s3://my.bucket-1/a/b//c/', 'my.bucket-1', 'a/b//c/'],
    ['s3://bucket//leading', 'bucket', '/leading'],
    ['s3://bucket/a b%20c+d?versionId=1#e&f', 'bucket', 'a b%20c+d?versionId=1#e&f'],
    ['s3://bucket/a\\b\n@c:d😀', 'bucket', 'a\\b\n@c:d😀'],
    ['s3://bucket/..a/b..', 'bucket', '..a/b..'],
  ])('%j names an object, its key taken literally', (uri, bucket, key) => {
    expect(parseFileUri(uri, rules)).toMatchObject({ scheme: 's3', bucket, key });
  });

  test.each([
    ['s3://bucket', /no valid S3 bucket/],
    ['s3://bucket/', /no key/],
    ['s3:bucket/key', /no valid S3 bucket/],
    ['s3://Bucket_1/key', /no valid S3 bucket/],
    ['s3://user@bucket/key', /no valid S3 bucket/],
    ['s3://bucket:443/key', /no valid S3 bucket/],
    ['s3://arn:aws:s3:us-east-1:1:accesspoint/x', /no valid S3 bucket/],
    ['s3://bucket/../other/key', /only of periods/],
    ['s3://bucket/a/./b', /only of periods/],
    ['s3://bucket/\ud800', /is not valid/],
    [`s3://bucket/${'ü'.repeat(513)}`, /is not valid/],
    ['files.example.org/a', /neither/],
    ['jane:doe', /scheme is •••,/],
    ['http://files.example.org/a', /scheme is http:/],
    ['http://localhost/a', /scheme is http:/],
    ['file:///etc/passwd', /scheme is file:/],
    ['data:text/plain,hello', /scheme is data:/],
    ['https://files.example.org.evil.example/a', /not on the list/],
    ['https://evil-files.example.org/a', /not on the list/],
    ['https://files.example.org./a', /not on the list/],
    ['https://files.example.org:8443/a', /not on the list/],
    ['https://ports.example.org/a', /not on the list/],
    ['https://wild.example/a', /not on the list/],
    ['https://awild.example/a', /not on the list/],
    ['https://user:pass@files.example.org/a', /user name or a password/],
    ['https://files.example.org@evil.example/a', /user name or a password/],
    ['https://evil.example\\@files.example.org/', /not on the list/],
  ])('%j is refused', (uri, problem) => {
    expect(fileUriProblem(uri, rules)).toMatch(problem);
  });

  test.each([
    ['s3://jane-doe/', 'The uri names no key in the bucket of a file'],
    [
      's3://jane-doe/a/../b',
      "The uri's key in the bucket of a file has a segment that consists only of periods",
    ],
    [
      'https://jane.doe@jane-doe.example/',
      'The uri contains a user name or a password for the host of a file',
    ],
    ['https://jane-doe.example/', 'The host of a file is not on the list of file hosts'],
  ])('what is wrong with %s is logged without what it names', (uri, logged) => {
    expect(withoutFileNames(fileUriProblem(uri, rules) ?? '')).toBe(logged);
  });

  test.each([
    'HTTPS://Files.EXAMPLE.org:443/a.png?X-Amz-Signature=x#y',
    'https://files.example.org\\@evil.example/',
    'https://ports.example.org:8443/',
    'https://a.b.wild.example/',
    'https://münchen.example/ü.png',
  ])('%j is on a listed host', (uri) => {
    expect(parseFileUri(uri, rules)).toMatchObject({
      scheme: 'https',
      url: { hostname: expect.not.stringContaining('evil') },
    });
  });

  test('no host is listed by default, and where no rules are known yet any https host may be named', () => {
    const uri = 'https://files.example.org/a';
    expect(fileUriProblem(uri, { hosts: [], allowLoopback: true })).toMatch(/not on the list/);
    expect(fileUriProblem(uri)).toBeUndefined();
    expect(fileUriProblem('http://files.example.org/a')).toMatch(/scheme/);
  });

  test('with the development switch plain http goes to listed loopback hosts, and nowhere else', () => {
    const development = { hosts: ['localhost:8080', 'files.example.org', '10.0.0.1'], allowLoopback: true };
    expect(fileUriProblem('http://localhost:8080/a', development)).toBeUndefined();
    expect(fileUriProblem('http://127.0.0.1:8080/a', development)).toMatch(/not on the list/);
    expect(fileUriProblem('http://files.example.org/a', development)).toMatch(/scheme/);
    expect(fileUriProblem('http://10.0.0.1/a', development)).toMatch(/scheme/);
  });

  test.each([
    '',
    '*',
    '*.',
    'a.*.org',
    'https://files.example.org',
    'files.example.org/path',
    'u@a.org',
    'a b',
  ])('a list of hosts that holds %j is a mistake of the configuration', (host) =>
    expect(() => filesWith({ hosts: [host] })).toThrow(/not a host name/),
  );
});

describe('a file in S3', () => {
  const app = buildApp({ logger: false });
  let s3: S3Client;

  beforeAll(async () => {
    s3 = clientOf(await app.listen({ host: '127.0.0.1', port: 0 }));
    await s3.send(new CreateBucketCommand({ Bucket: 'files' }));
  });
  afterAll(async () => {
    s3.destroy();
    await app.close();
  });

  const put = (key: string, body: string | Uint8Array) =>
    s3.send(new PutObjectCommand({ Bucket: 'files', Key: key, Body: body }));
  const opened = async (key: string) => filesWith({ s3 }).open(`s3://files/${key}`, limits);

  test.each(['a/b//c d', 'Prüfung 日本 😀.pdf', '100%20%?x=1&y=+#z', '/leading'])(
    'is read under the key %j, and no other',
    async (key) => {
      await put(key, `the bytes of ${key}`);
      const file = await opened(key);
      expect(file.bytes).toBe(Buffer.byteLength(`the bytes of ${key}`));
      expect((await bytesOf(file)).toString()).toBe(`the bytes of ${key}`);
    },
  );

  test('may be empty, and is streamed at most once', async () => {
    await put('empty', Buffer.alloc(0));
    const file = await opened('empty');
    expect(file.bytes).toBe(0);
    expect(await bytesOf(file)).toHaveLength(0);
    expect(() => file.stream()).toThrow(/second time/);
  });

  test('several can be open while one after the other is read', async () => {
    const files = filesWith({ s3 });
    for (const name of ['1', '2', '3']) await put(name, name.repeat(100_000));
    const opened = await Promise.all(['1', '2', '3'].map((name) => files.open(`s3://files/${name}`, limits)));
    for (const [index, file] of opened.entries())
      expect(await bytesOf(file)).toEqual(Buffer.from(String(index + 1).repeat(100_000)));
  });

  test('that is not there parks', async () => {
    await expect(opened('missing')).rejects.toMatchObject({
      name: 'MessageFailure',
      kind: 'invalid',
      message: expect.stringContaining('‹s3://files/missing›: does not exist'),
      remedy: expect.stringContaining('s3:GetObject'),
    });
  });

  test('that is larger than the limit parks before a byte of it is read', async () => {
    await put('large', 'x'.repeat(11));
    const open = (maximumBytes: number) =>
      filesWith({ s3 }).open('s3://files/large', { ...limits, maximumBytes });
    await expect(open(10)).rejects.toMatchObject({
      kind: 'invalid',
      message: '‹s3://files/large› has 11 bytes; the limit is 10',
    });
    expect((await open(11)).bytes).toBe(11);
  });

  test('that was replaced after it was opened is not mixed up: the message waits', async () => {
    await put('changing', 'first version');
    const file = await opened('changing');
    await put('changing', 'other version');
    await expect(bytesOf(file)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('‹s3://files/changing›: changed'),
    });
  });

  test.each([
    [403, 'invalid'],
    [404, 'invalid'],
    [301, 'invalid'],
    [400, 'unavailable'],
    [429, 'unavailable'],
    [503, 'unavailable'],
  ])('that S3 answers with %i, at once or after it was opened, is %s', async (status, kind) => {
    const refused = { kind, message: expect.stringContaining('‹s3://files/key›') };
    for (const method of ['HEAD', 'GET']) {
      const s3 = await s3Answering((request, answer) =>
        answerAs(answer, request.method === method ? status : 200, { length: 3 }),
      );
      const read = filesWith({ s3 }).open('s3://files/key', limits).then(bytesOf);
      await expect(read).rejects.toMatchObject(refused);
    }
  });

  test('that S3 cannot decrypt waits, and says who must act', async () => {
    const s3 = await s3Answering((request, answer) => {
      if (request.method === 'HEAD') return answerAs(answer, 200, { length: 3 });
      answer.writeHead(400, { 'content-type': 'application/xml' });
      answer.end('<Error><Code>KMS.DisabledException</Code><Message>arn:aws:kms</Message></Error>');
    });
    const file = await filesWith({ s3 }).open('s3://files/key', limits);
    await expect(bytesOf(file)).rejects.toMatchObject({
      kind: 'aws-refused',
      message: expect.stringMatching(
        /^‹s3:\/\/files\/key›: AWS refuses .*\(KMS\.DisabledException\): an admin/,
      ),
      remedy: expect.stringContaining('enable the KMS key'),
    });
  });

  test('waits where nobody listens, and where S3 does not answer in time', async () => {
    const nobody = filesWith({ s3: clientOf('http://127.0.0.1:1') });
    await expect(nobody.open('s3://files/key', limits)).rejects.toMatchObject({
      kind: 'unavailable',
      message: '‹s3://files/key›: S3 did not answer (ECONNREFUSED)',
    });
    const silent = filesWith({ s3: await s3Answering(() => undefined), timeoutMs: 200 });
    await expect(silent.open('s3://files/key', limits)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  /** S3 that stops after half of the body. */
  const half: RequestListener = (request, answer) =>
    answerAs(answer, 200, {
      length: 6,
      body: request.method === 'HEAD' ? '' : 'abc',
      end: request.method === 'HEAD',
    });

  test.each([
    ['stalls', pass],
    ['is cut off', (socket: Socket | undefined) => socket?.destroy()],
  ])('waits where its body %s', async (_case, then) => {
    let socket: Socket | undefined;
    const s3 = await s3Answering((request, answer) => {
      socket = request.socket;
      half(request, answer);
    });
    const file = await filesWith({ s3 }).open('s3://files/key', limits);
    stopClock();
    await expect(bytesOf(file, () => setImmediate(then, socket))).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('‹s3://files/key›: the connection broke while the file was read'),
    });
  });

  test.each([
    [2, 'more bytes came'],
    [4, 'ended 1 bytes too early'],
  ])('of which %i bytes were announced and 3 come breaks the stream', async (announced, message) => {
    const s3 = await s3Answering((request, answer) =>
      answerAs(answer, 200, request.method === 'HEAD' ? { length: announced } : { length: 3, body: 'abc' }),
    );
    const file = await filesWith({ s3 }).open('s3://files/key', limits);
    await expect(bytesOf(file)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining(message),
    });
  });

  test('stops being read when the signal fires, or when nobody wants the rest', async () => {
    const closed: Promise<unknown>[] = [];
    const s3 = await s3Answering((request, answer) => {
      if (request.method === 'GET') closed.push(once(answer, 'close'));
      half(request, answer);
    });
    const controller = new AbortController();
    const files = filesWith({ s3 });
    const aborted = await files.open('s3://files/key', { ...limits, signal: controller.signal });
    await expect(bytesOf(aborted, () => controller.abort())).rejects.toMatchObject({ kind: 'unavailable' });
    const dropped = await files.open('s3://files/key', limits);
    for await (const _ of dropped.stream()) break;
    expect(closed).toHaveLength(2);
    await Promise.all(closed);
  });
});

describe('a file on a web server', () => {
  test('is asked for once, with no cookie and no encoding, its query and path as they are', async () => {
    const requests: unknown[] = [];
    const host = await serve((request, answer) => {
      requests.push({ method: request.method, url: request.url, ...request.headers });
      answer.setHeader('set-cookie', 'a=b').end('hello');
    });
    const files = filesWith({ hosts: [host] });
    for (const path of ['/a%20b/%2E%2e/c?X-Amz-Signature=a%2Fb&c=d#fragment', '/again']) {
      const file = await files.open(`http://${host}${path}`, limits);
      expect(file.bytes).toBe(5);
      expect((await bytesOf(file)).toString()).toBe('hello');
    }
    const headers = { host, accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'sis-relay' };
    expect(requests).toEqual([
      { method: 'GET', url: '/c?X-Amz-Signature=a%2Fb&c=d', connection: 'keep-alive', ...headers },
      { method: 'GET', url: '/again', connection: 'keep-alive', ...headers },
    ]);
  });

  test('may be empty', async () => {
    const host = await serve((_request, answer) => answer.end(''));
    const file = await filesWith({ hosts: [host] }).open(`http://${host}/`, limits);
    expect(file.bytes).toBe(0);
    expect(await bytesOf(file)).toHaveLength(0);
  });

  const remedyS3 = { remedy: expect.stringContaining('S3') };
  test.each<[string, number, Record<string, string>, string, RegExp, object?]>([
    ['redirected', 302, {}, 'invalid', /redirect \(302\), which sis-relay does not follow/],
    ['not modified', 304, {}, 'invalid', /redirect/],
    ['answered with 204', 204, {}, 'invalid', /answered with 204 instead of the file/],
    ['answered with a part', 206, {}, 'invalid', /answered with 206/],
    ['refused', 403, {}, 'invalid', /answered with 403/],
    ['answered with 408', 408, {}, 'unavailable', /answered with 408/],
    ['answered with 429', 429, {}, 'unavailable', /answered with 429/],
    ['answered with 500', 500, {}, 'unavailable', /answered with 500/],
    ['encoded', 200, { 'content-encoding': 'gzip' }, 'invalid', /Content-Encoding/],
    ['without length', 200, { 'transfer-encoding': 'chunked' }, 'invalid', /no Content-Length/, remedyS3],
    ['too large', 200, { 'content-length': '1000001' }, 'invalid', /a› has 1000001 bytes; the limit is/],
  ])('that is %s is refused after one request', async (_, status, headers, kind, message, more = {}) => {
    let requests = 0;
    const host = await serve((_request, answer) => {
      requests += 1;
      answer.writeHead(status, { location: '/elsewhere', ...headers }).flushHeaders();
    });
    const open = filesWith({ hosts: [host] }).open(`http://${host}/a?b`, limits);
    await expect(open).rejects.toMatchObject({ kind, message: expect.stringMatching(message), ...more });
    expect(requests).toBe(1);
  });

  const answerOf = (head: string, body: string) => `HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`;
  test.each([
    ['less than its length', answerOf('Content-Length: 7', 'hello'), /the connection broke/],
    ['more than its length', answerOf('Content-Length: 7', 'hello, world'), /more bytes came/],
    ['garbage', 'not http at all\r\n\r\n', /no answer/],
    ['two lengths', answerOf('Content-Length: 1\r\nContent-Length: 2', 'ab'), /no answer/],
    ['nothing', '', /no answer/],
  ])('waits where the server answers %s', async (_case, answer, message) => {
    const host = await serveRaw((socket) => socket.end(answer));
    const read = filesWith({ hosts: [host] })
      .open(`http://${host}/a`, limits)
      .then(bytesOf);
    await expect(read).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(message),
    });
  });

  test('waits where nobody listens, and where the headers do not come in time', async () => {
    const host = await serve(() => undefined);
    const files = filesWith({ hosts: ['127.0.0.1:1', host], timeoutMs: 200 });
    await expect(files.open('http://127.0.0.1:1/a', limits)).rejects.toMatchObject({
      kind: 'unavailable',
      message: '‹http://127.0.0.1:1/a›: no answer (ECONNREFUSED)',
    });
    await expect(files.open(`http://${host}/a`, limits)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('UND_ERR_HEADERS_TIMEOUT'),
    });
  });

  test('waits where the body stalls, and not where its reader is slow', async () => {
    const host = await serve((request, answer) => {
      answer.writeHead(200, { 'content-length': '6' }).write('abc');
      if (request.url === '/whole') answer.end('def');
    });
    const files = filesWith({ hosts: [host] });
    const half = await files.open(`http://${host}/half`, limits);
    const whole = await files.open(`http://${host}/whole`, limits);
    stopClock();
    await expect(bytesOf(half, () => setImmediate(pass))).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('TimeoutError'),
    });
    pass();
    expect((await bytesOf(whole, pass)).toString()).toBe('abcdef');
  });

  test('is let go of when the signal fires, when all files are closed, and when nobody wants the rest', async () => {
    const closed: Promise<unknown>[] = [];
    const host = await serve((_request, answer) => {
      closed.push(once(answer, 'close'));
      answer.writeHead(200, { 'content-length': '6' }).write('abc');
    });
    const files = filesWith({ hosts: [host] });
    const controller = new AbortController();
    const open = (signal = limits.signal) => files.open(`http://${host}/a`, { ...limits, signal });
    const unread = await open(controller.signal);
    const half = await open(controller.signal);
    await expect(bytesOf(half, () => controller.abort())).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(bytesOf(unread)).rejects.toMatchObject({ kind: 'unavailable' });
    for await (const _ of (await open()).stream()) break;
    await open();
    await files.close();
    await Promise.all(closed);
    expect(closed).toHaveLength(4);
    await expect(open()).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('is not waited for longer than the signal allows', async () => {
    const controller = new AbortController();
    const host = await serve(() => controller.abort());
    await expect(
      filesWith({ hosts: [host] }).open(`http://${host}/a`, { ...limits, signal: controller.signal }),
    ).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('no failure shows the query, where pre-signed addresses carry their signature', async () => {
    const answers: Record<string, RequestListener> = {
      '/302': (_request, answer) => answer.writeHead(302, { location: 'https://x/?SECRET' }).end(),
      '/403': (_request, answer) => answer.writeHead(403).end(),
      '/503': (_request, answer) => answer.writeHead(503).end(),
      '/chunked': (_request, answer) => answer.write('chunk'),
      '/gzip': (_request, answer) => answer.writeHead(200, { 'content-encoding': 'gzip' }).end(),
      '/large': (_request, answer) => answer.writeHead(200, { 'content-length': '2000000' }).flushHeaders(),
      '/reset': (request) => request.socket.destroy(),
      '/cut': (request, answer) => {
        answer.writeHead(200, { 'content-length': '6' }).write('abc', () => request.socket.destroy());
      },
      '/silent': () => undefined,
    };
    const host = await serve((request, answer) => answers[request.url!.split('?')[0]!]?.(request, answer));
    const files = filesWith({ hosts: [host, 'nowhere.invalid'], timeoutMs: 200 });
    const uris = [
      ...Object.keys(answers).map((path) => `http://${host}${path}?X-Amz-Signature=SECRET#SECRET`),
      `http://u:SECRET@${host}/a?SECRET`,
      'https://other.example/a?SECRET',
      'https://nowhere.invalid/a?SECRET',
      'gopher://x/?SECRET',
      'https://[SECRET/?SECRET',
      'https:///?SECRET',
    ];
    for (const uri of uris) {
      const failure = await files
        .open(uri, limits)
        .then(bytesOf)
        .catch((error: unknown) => error);
      expect(failure, uri).toBeInstanceOf(MessageFailure);
      expect(inspect(failure, { depth: 10, showHidden: true }), uri).not.toContain('SECRET');
    }
  });
});

describe('an address', () => {
  const forbidden = [
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::a00:1',
    '::ffff:127.0.0.1',
    '::ffff:93.184.215.14',
    '::ffff:0:10.0.0.1',
    '64:ff9b::a00:1',
    '64:ff9b:1::a00:1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:a00:1::',
    '3fff::1',
    '4000::1',
    '5f00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fec0::1',
    'ff02::1',
  ];
  const inUri = (address: string) => (address.includes(':') ? `[${address}]` : address);

  test.each(forbidden)('%s is not connected to, in the uri or as what a name stands for', async (address) => {
    const refused = {
      kind: 'invalid',
      message: expect.stringMatching(/has an address that is not public \(.+\)$/),
      remedy: expect.stringContaining('public'),
    };
    const host = inUri(address);
    const files = filesWith({ hosts: [host], allowLoopback: false });
    await expect(files.open(`https://${host}/a?SECRET`, limits)).rejects.toMatchObject(refused);
    const named = filesWith({
      hosts: ['files.example.org'],
      allowLoopback: false,
      resolve: async () => ['93.184.215.14', address],
    });
    await expect(named.open('https://files.example.org/a', limits)).rejects.toMatchObject(refused);
  });

  // Nothing is sent: the signal has fired already, and only what passes the check gets as far as to notice.
  test.each(['1.1.1.1', '100.63.255.255', '172.32.0.1', '2606:4700:4700::1111'])(
    '%s is public',
    async (address) => {
      const files = filesWith({ hosts: [inUri(address)], allowLoopback: false });
      await expect(
        files.open(`https://${inUri(address)}/a`, { ...limits, signal: AbortSignal.abort() }),
      ).rejects.toMatchObject({ kind: 'unavailable' });
    },
  );

  test.each(['https://2130706433/', 'https://0x7f.1/', 'https://①②⑦.0.0.1/'])(
    '%s is the loopback address in disguise',
    async (uri) => {
      const files = filesWith({ hosts: ['127.0.0.1'], allowLoopback: false });
      await expect(files.open(uri, limits)).rejects.toMatchObject({
        message: 'The host 127.0.0.1 has an address that is not public (loopback)',
      });
    },
  );

  test('of this machine is not connected to by its name either, unless the development switch is on', async () => {
    let requests = 0;
    const host = (
      await serve((_request, answer) => {
        requests += 1;
        answer.end('abc');
      })
    ).replace('127.0.0.1', 'localhost');
    await expect(
      filesWith({ hosts: [host], allowLoopback: false }).open(`https://${host}/a`, limits),
    ).rejects.toMatchObject({ kind: 'invalid' });
    expect(requests).toBe(0);
    const development = filesWith({ hosts: [host], allowLoopback: true });
    expect((await bytesOf(await development.open(`http://${host}/a`, limits))).toString()).toBe('abc');
    const named = filesWith({ hosts: ['a.example'], resolve: async () => ['127.0.0.1', '10.0.0.1'] });
    await expect(named.open('https://a.example/a', limits)).rejects.toMatchObject({ kind: 'invalid' });
  });

  test.each([
    ['has none', async () => []],
    ['cannot be resolved', () => Promise.reject(Object.assign(new Error('SERVFAIL'), { code: 'EAI_AGAIN' }))],
  ])('waits where the name %s', async (_case, resolve) => {
    const files = filesWith({ hosts: ['files.example.org'], resolve });
    await expect(files.open('https://files.example.org/a', limits)).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });
});

describe('a connection by TLS', () => {
  test('goes to the address that was checked, under the server name of the host, after one resolution', async () => {
    const { host, ca, serverNames } = await serveTls('files.example.org');
    const resolved: string[] = [];
    // As a rebinding name server does: the second answer would lead into the private network.
    const resolve = async (hostname: string) => {
      resolved.push(hostname);
      return [resolved.length === 1 ? '127.0.0.1' : '10.0.0.1'];
    };
    const file = await filesWith({ hosts: [host], resolve, tls: { ca } }).open(`https://${host}/a`, limits);
    expect((await bytesOf(file)).toString()).toBe('over TLS');
    expect(resolved).toEqual(['files.example.org']);
    expect(serverNames).toEqual(['files.example.org']);
  });

  test('is refused to a server whose certificate is for another name, or unknown', async () => {
    const { host, ca } = await serveTls('other.example.org');
    const wrongName = host.replace('other', 'files');
    const options = { hosts: [host, wrongName], resolve: async () => ['127.0.0.1'] };
    await expect(
      filesWith({ ...options, tls: { ca } }).open(`https://${wrongName}/a`, limits),
    ).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
    });
    await expect(filesWith(options).open(`https://${host}/a`, limits)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('SELF_SIGNED'),
    });
  });
});

describe('200 MB', () => {
  const bytes = 200 * 1024 * 1024;
  const chunk = Buffer.alloc(64 * 1024, 'x');

  const large: RequestListener = (request, answer) => {
    answer.writeHead(200, { 'content-length': String(bytes), etag: '"large"' });
    if (request.method === 'HEAD') answer.end();
    else Readable.from(Array(bytes / chunk.length).fill(chunk)).pipe(answer);
  };

  describe.each([
    { scheme: 'http', tags: [] },
    { scheme: 's3', tags: ['long'] },
  ])('from $scheme', ({ scheme, tags }) => {
    test('stream with less than 64 MB of memory growth', { tags }, async () => {
      const host = await serve(large);
      const s3 = clientOf(`http://${host}`);
      const files = filesWith({ hosts: [host], s3 });
      const file = await files.open(scheme === 's3' ? 's3://files/large' : `http://${host}/large`, {
        ...limits,
        maximumBytes: bytes,
      });
      const before = process.memoryUsage();
      let peakRss = 0;
      let peakBuffers = 0;
      let received = 0;
      for await (const piece of file.stream()) {
        received += piece.byteLength;
        // A reader slower than the sender: what is not held back piles up.
        if (received % (16 * chunk.length) < piece.byteLength)
          await new Promise((resolve) => setTimeout(resolve, 1));
        const now = process.memoryUsage();
        peakRss = Math.max(peakRss, now.rss - before.rss);
        peakBuffers = Math.max(peakBuffers, now.arrayBuffers - before.arrayBuffers);
      }
      expect(received).toBe(bytes);
      expect(peakBuffers).toBeLessThan(64 * 1024 * 1024);
      expect(peakRss).toBeLessThan(64 * 1024 * 1024);
      s3.destroy();
    });
  });
});

describe('an image', () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  const jpeg = Buffer.from('ffd8ffe000104a464946', 'hex');

  test.each([
    ['image/png', png],
    ['image/jpeg', jpeg],
    ['image/gif', Buffer.from('GIF89a....')],
    ['image/gif', Buffer.from('GIF87a')],
    [undefined, Buffer.alloc(0)],
    [undefined, Buffer.from('GIF90a')],
    [undefined, png.subarray(0, 7)],
    [undefined, Buffer.concat([Buffer.from(' '), png])],
  ])('is %s by its first bytes, however they are cut', async (contentType, start) => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 50 }),
        fc.integer({ min: 1, max: 20 }),
        async (rest, size) => {
          const bytes = contentType ? Buffer.concat([start, rest]) : start;
          const sniffed = await sniffImage(fileOf(bytes, size));
          expect(sniffed?.contentType).toBe(contentType);
          if (!sniffed) return;
          expect(sniffed.file.bytes).toBe(bytes.length);
          expect(await bytesOf(sniffed.file)).toEqual(bytes);
        },
      ),
      { numRuns: runs(30) },
    );
  });

  test('only as much is read as its type needs, and what is no image is let go of', async () => {
    const read: number[] = [];
    let released = 0;
    const fileOfPieces = (pieces: Buffer[]): OpenedFile => ({
      bytes: 100,
      stream: async function* () {
        try {
          for (const piece of pieces) {
            read.push(piece.length);
            yield piece;
          }
        } finally {
          released += 1;
        }
      },
    });
    await sniffImage(fileOfPieces([Buffer.alloc(8), Buffer.alloc(92)]));
    expect({ read, released }).toEqual({ read: [8], released: 1 });
    const sniffed = await sniffImage(fileOfPieces([png, Buffer.alloc(84)]));
    for await (const _ of sniffed!.file.stream()) break;
    expect({ read, released }).toEqual({ read: [8, 16], released: 2 });
  });
});

type TestOptions = Partial<Omit<FilesOptions, 's3'>> & { s3?: S3Client };

/** From now on, time passes by `pass` alone. */
const stopClock = () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  cleanups.push(() => vi.useRealTimers());
};
/** More time than a file has between two pieces. */
const pass = () => vi.advanceTimersByTime(2 * waitLimitMs);

const filesWith = ({ s3, ...options }: TestOptions) => {
  const files = createFiles({
    s3: async () => {
      if (!s3) throw new Error('no S3 client was expected to be needed');
      return s3;
    },
    hosts: [],
    allowLoopback: true,
    timeoutMs: waitLimitMs,
    ...options,
  });
  cleanups.push(files.close);
  return files;
};

const clientOf = (endpoint: string) =>
  new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
  });

const s3Answering = async (listener: RequestListener) => {
  const client = clientOf(`http://${await serve(listener)}`);
  cleanups.push(() => client.destroy());
  return client;
};

type Answer = Parameters<RequestListener>[1];

const answerAs = (
  answer: Answer,
  status: number,
  { length = 0, body = '', end = true }: { length?: number; body?: string; end?: boolean } = {},
) => {
  answer.writeHead(status, { 'content-length': String(status === 200 ? length : 0), etag: '"1"' });
  answer.write(body);
  if (end) answer.end();
};

/** Starts a server and returns its `host:port`. */
const serve = (listener: RequestListener): Promise<string> => listening(createServer(listener));

const serveRaw = (whenAsked: (socket: Socket) => void): Promise<string> => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined).once('data', () => whenAsked(socket));
  });
  return listening(server);
};

const serveTls = async (hostname: string) => {
  const { key, cert } = selfSigned(hostname);
  const serverNames: unknown[] = [];
  const server = createTlsServer({ key, cert }, (request, answer) => {
    serverNames.push((request.socket as TLSSocket).servername);
    answer.end('over TLS');
  });
  const host = await listening(server);
  return { host: host.replace('127.0.0.1', hostname), ca: cert, serverNames };
};

const listening = async (server: Server | ReturnType<typeof createTcpServer>): Promise<string> => {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const bytesOf = async (file: OpenedFile, afterEachPiece?: () => unknown): Promise<Buffer> => {
  const pieces: Uint8Array[] = [];
  for await (const piece of file.stream()) {
    pieces.push(piece);
    if (typeof afterEachPiece === 'function') await afterEachPiece();
  }
  return Buffer.concat(pieces);
};

const fileOf = (bytes: Buffer, size: number): OpenedFile => ({
  bytes: bytes.length,
  stream: async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  },
});
