import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { filePart, jsonPart, mixed, mixedType, platformForTests } from '../fixture.ts';
import { signatureQuery } from '../signed-call.ts';

const platform = platformForTests();
const path = '/svc/api/le/1.82/2001/dropbox/folders/7001/submissions/mysubmissions/';
const comment = jsonPart({ Text: 'my report', Html: null });

function submit(body: string | Buffer, options: { userId?: number; type?: string; path?: string } = {}) {
  const headers = { 'Content-Type': options.type ?? mixedType };
  return platform.as(options.userId ?? 301)('POST', options.path ?? path, { body, headers });
}

test('a submission is recorded for the signing user, with what its files hold', async () => {
  const odd = 'line\r\n--not-b\r\n-\n--b\nend\r\n';
  const response = await submit(
    mixed(comment, filePart('a.txt'), filePart('b%22%0D%0A 100%25.txt', odd), filePart('c', '')),
  );
  expect([response.status, await response.text()]).toEqual([200, '']);
  const digest = (bytes: string) => createHash('sha256').update(bytes).digest('hex');
  expect(await platform.state('submissions')).toEqual([
    {
      submissionId: expect.any(Number),
      ...{ orgUnitId: 2001, folderId: 7001, userId: 301, comment: 'my report' },
      submittedAt: expect.stringMatching(/\.\d{3}Z$/),
      files: [
        { name: 'a.txt', contentType: 'text/plain', bytes: 5, sha256: digest('bytes') },
        { name: 'b"\r\n 100%25.txt', contentType: 'text/plain', bytes: odd.length, sha256: digest(odd) },
        { name: 'c', contentType: 'text/plain', bytes: 0, sha256: digest('') },
      ],
    },
  ]);
});

test('everyone reads their own submissions', async () => {
  await submit(mixed(comment, filePart('a.txt')), { path: path.slice(0, -1) });
  const own = await (await platform.as(301)('GET', path)).json();
  expect(own).toMatchObject([
    { SubmittedBy: { Identifier: '301' }, Files: [{ FileName: 'a.txt', Size: 5 }] },
  ]);
  expect(await (await platform.as(302)('GET', path)).json()).toEqual([]);
});

test('large files in small pieces are hashed whole', async () => {
  const bytes = Buffer.alloc(3_000_000, 'abc\r\n--');
  const head = Buffer.from(`--b\r\n${comment}\r\n--b\r\n${filePart('big', '')}`);
  const response = await submit(Buffer.concat([head, bytes, Buffer.from('\r\n--b--')]));
  expect(response.status).toBe(200);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  expect(await platform.state('submissions')).toMatchObject([{ files: [{ name: 'big', sha256 }] }]);
});

describe('strictness', () => {
  const good = mixed(comment, filePart('a.txt'));
  test.each([
    ['another multipart type', good, 'multipart/form-data; boundary=b'],
    ['no boundary', good, 'multipart/mixed'],
    ['another boundary', good, 'multipart/mixed; boundary=c'],
    [
      'a boundary too long',
      good.replaceAll('--b', `--${'b'.repeat(71)}`),
      `multipart/mixed; boundary=${'b'.repeat(71)}`,
    ],
    ['a preamble', `hello\r\n${good}`],
    ['line feeds alone', good.replaceAll('\r\n', '\n')],
    ['no closing boundary', good.replace('--b--\r\n', '')],
    ['an epilogue', `${good}more`],
    ['an empty body', ''],
    ['only a closing boundary', '--b--\r\n'],
    ['no JSON part', mixed(filePart('a.txt'))],
    ['no file', mixed(comment)],
    ['the JSON part last', mixed(filePart('a.txt'), comment)],
    [
      'a JSON part with a disposition',
      mixed(`Content-Disposition: form-data; name=""\r\n${comment}`, filePart('a.txt')),
    ],
    ['a JSON part without headers', mixed('\r\n{"Text":"","Html":null}', filePart('a.txt'))],
    ['a JSON part with Content', mixed(comment.replace('Text', 'Content'), filePart('a.txt'))],
    ['a JSON part without Html', mixed(comment.replace(',"Html":null', ''), filePart('a.txt'))],
    ['malformed JSON', mixed(comment.replace('}', ''), filePart('a.txt'))],
    ['a field name', mixed(comment, filePart('a.txt').replace('name=""', 'name="file"'))],
    ['no file name', mixed(comment, filePart(''))],
    ['a quote in a file name', mixed(comment, filePart('a".txt'))],
    ['a further header', mixed(comment, `Content-Length: 5\r\n${filePart('a.txt')}`)],
    ['no content type', mixed(comment, filePart('a.txt').replace('Content-Type: text/plain\r\n', ''))],
    ['a repeated header', mixed(comment, `Content-Type: text/plain\r\n${filePart('a.txt')}`)],
    ['a line break in a file name', mixed(comment, filePart('a\r\nX-Evil: yes'))],
  ])('400 for %s', async (_, body, type = mixedType) => {
    const response = await submit(body, { type });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ status: 400, detail: expect.any(String) });
    expect(await platform.state('submissions')).toEqual([]);
    expect((await submit(good)).status).toBe(200);
  });

  test('a chunked upload is answered with a bare 500', async () => {
    const body = new Blob([good]).stream();
    const response = await platform.as(301)('POST', path, { body, headers: { 'Content-Type': mixedType } });
    expect([response.status, await response.text()]).toEqual([500, '']);
  });
});

describe('who may submit', () => {
  test.each([
    ['the service user, which only inherits its role', 100, 403],
    ['someone without the course', 303, 403],
    ['the instructor', 200, 200],
  ])('%s', async (_, userId, status) => {
    expect((await submit(mixed(comment, filePart('a.txt')), { userId })).status).toBe(status);
    expect(await platform.state('submissions')).toHaveLength(status === 200 ? 1 : 0);
  });

  test.each([
    ['an unknown folder', path.replace('7001', '7999')],
    ['a folder of another course', path.replace('2001', '2002')],
  ])('404 for %s', async (_, other) => {
    await platform.control('POST seed', { enrollments: [{ orgUnitId: 2002, userId: 301, roleId: 110 }] });
    expect((await submit(mixed(comment, filePart('a.txt')), { path: other })).status).toBe(404);
  });
});

describe('a large upload that is refused before its end', () => {
  const post = (agent: Agent, to: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const body = Buffer.alloc(20_000_000);
      const headers = { 'Content-Type': mixedType, 'Content-Length': body.length };
      const sent = request(`${platform.url()}${to}`, { method: 'POST', agent, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      });
      sent.on('error', reject).end(body);
    });

  test('leaves its connection usable', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const signed = `${path}?${new URLSearchParams(signatureQuery(301, 'POST', path))}`;
    const statuses: unknown[] = [];
    for (const to of [path, signed, '/elsewhere', signed]) statuses.push(await post(agent, to));
    expect(statuses).toEqual([403, 400, 404, 400]);
    agent.destroy();
  });
});
