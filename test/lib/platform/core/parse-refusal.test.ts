import { describe, expect, test } from 'vitest';
import { parseRefusal } from '../../../../lib/platform/core/parse-refusal.ts';
import type { RefusedCall } from '../../../../lib/platform/core/platform-error.ts';
import { maxErrorBytes } from '../../../../lib/platform/core/receive-answer.ts';
import { sensitiveValues } from '../../../../lib/redaction/request-secrets.ts';
import { answering, clientAt, credential, errorOf, handling, operations, raw } from '../servers.ts';

/** What the client makes of one answer to a call. */
const refusedBy = async (answer: {
  status: number;
  headers?: Record<string, string>;
  body?: string | Buffer;
}): Promise<RefusedCall | undefined> => {
  const { url } = await answering(() => answer);
  return (await errorOf(clientAt(url).platform.call(operations.once, { path: { id: 1 } }))).refused;
};

/** The words of an answer, without what is undefined, and without how it came. */
const wordsOf = (refused: RefusedCall | undefined) => {
  const { form, contentType, ...words } = refused ?? {};
  return Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined));
};

const problem = (anchor: string, status: number, title: string, detail: string) =>
  JSON.stringify({ type: `https://docs.example/res/apiprop.html#${anchor}`, title, status, detail });
const problemJson = { 'content-type': 'application/problem+json; charset=utf-8' };
const html = { 'content-type': 'text/html; charset=utf-8' };
const plain = { 'content-type': 'text/plain' };
const json = { 'content-type': 'application/json; charset=UTF-8' };

const scopeDetail = 'Insufficient scope to call API. Required: grades:gradevalues:write';
const permissionDetail = 'Not authorized for [ orgUnitId: 6606, securityVariableName: EditGrades ]';

describe('an answer that is no success', () => {
  test.each<[string, number, Record<string, string>, string, Omit<RefusedCall, 'status'>]>([
    [
      'a problem document',
      400,
      problemJson,
      problem('json-binding-error', 400, 'JSON Binding Error', 'Provided JSON is invalid: PointsNumerator'),
      {
        type: 'json-binding-error',
        title: 'JSON Binding Error',
        detail: 'Provided JSON is invalid: PointsNumerator',
      },
    ],
    [
      'a problem document under another label',
      405,
      plain,
      problem('method-not-allowed', 405, 'Method Not Allowed', 'no DELETE'),
      { type: 'method-not-allowed', title: 'Method Not Allowed', detail: 'no DELETE' },
    ],
    [
      'a problem document with a byte order mark',
      400,
      problemJson,
      `\uFEFF${problem('json-binding-error', 400, 'JSON Binding Error', 'x')}`,
      { type: 'json-binding-error', title: 'JSON Binding Error', detail: 'x' },
    ],
    [
      'a problem document without a detail',
      400,
      problemJson,
      JSON.stringify({ title: 'Invalid Parameters', status: 400 }),
      { title: 'Invalid Parameters' },
    ],
    [
      'a problem document whose fields are of other types',
      400,
      problemJson,
      JSON.stringify({ type: 7, title: null, status: 'x', detail: ['y'] }),
      { detail: '{"type":7,"title":null,"status":"x","detail":["y"]}' },
    ],
    [
      'a missing scope',
      403,
      problemJson,
      problem('not-authorized', 403, 'Not Authorized', scopeDetail),
      {
        type: 'not-authorized',
        title: 'Not Authorized',
        detail: scopeDetail,
        missing: 'scope',
        required: 'grades:gradevalues:write',
      },
    ],
    [
      'several missing scopes, in a sentence',
      403,
      problemJson,
      problem('not-authorized', 403, 'Not Authorized', 'Insufficient scope. Required: a:b:c, d:e:f.'),
      {
        type: 'not-authorized',
        title: 'Not Authorized',
        detail: 'Insufficient scope. Required: a:b:c, d:e:f.',
        missing: 'scope',
        required: 'a:b:c, d:e:f',
      },
    ],
    [
      'a scope of stars',
      403,
      plain,
      'Insufficient scope to call API. Required: core:*:*',
      {
        title: 'Insufficient scope to call API. Required: core:*:*',
        missing: 'scope',
        required: 'core:*:*',
      },
    ],
    [
      'a missing scope that is not named',
      403,
      problemJson,
      problem('not-authorized', 403, 'Not Authorized', 'Insufficient scope'),
      {
        type: 'not-authorized',
        title: 'Not Authorized',
        detail: 'Insufficient scope',
        missing: 'scope',
      },
    ],
    [
      'a missing permission',
      403,
      problemJson,
      problem('forbidden', 403, 'Forbidden', permissionDetail),
      {
        type: 'forbidden',
        title: 'Forbidden',
        detail: permissionDetail,
        missing: 'permission',
        required: 'EditGrades',
      },
    ],
    ['an Errors array', 400, json, '{"Errors":[{"Message":"one"}]}', { title: 'Errors', detail: 'one' }],
    [
      'an Errors array of several, some without a word',
      400,
      json,
      '{"Errors":[{"Message":"one"},null,{},{"Message":7},"x",{"Message":"two"}]}',
      { title: 'Errors', detail: 'one; x; two' },
    ],
    [
      'a missing permission in an Errors array',
      403,
      json,
      JSON.stringify({ Errors: [{ Message: permissionDetail }] }),
      { title: 'Errors', detail: permissionDetail, missing: 'permission', required: 'EditGrades' },
    ],
    [
      'an Errors array of texts',
      400,
      json,
      '{"Errors":["one","two"]}',
      { title: 'Errors', detail: 'one; two' },
    ],
    ['an Errors text', 400, json, '{"Errors":"one"}', { title: 'Errors', detail: 'one' }],
    [
      'a problem with errors by field',
      400,
      problemJson,
      '{"type":"https://docs.example/rfc#section-6","title":"Validation","status":400,"errors":{"Points":["at most 10"]},"traceId":"00-1"}',
      { type: 'section-6', title: 'Validation', detail: 'Points: at most 10' },
    ],
    [
      'a message with the state of its model',
      400,
      json,
      '{"Message":"The request is invalid.","ModelState":{"grade":["locked","late"]}}',
      { detail: 'The request is invalid.; grade: locked; grade: late' },
    ],
    [
      'a reason beside a title',
      400,
      json,
      '{"title":"Bad Request","reason":"locked"}',
      { title: 'Bad Request', detail: 'locked' },
    ],
    [
      'a list of details beside a title',
      400,
      json,
      '{"title":"Bad Request","detail":["a","b"]}',
      { title: 'Bad Request', detail: 'a; b' },
    ],
    [
      'fields of types that are no words',
      400,
      json,
      '{"title":"No","status":[{"toString":"x"}],"code":{"code":{}}}',
      { title: 'No' },
    ],
    ['an empty Errors array', 404, json, '{"Errors":[]}', { title: 'Errors' }],
    ['plain text', 403, plain, 'Invalid token', { title: 'Invalid token' }],
    [
      'plain text of two lines, labelled as HTML',
      403,
      html,
      'Timestamp out of range\r\n1397500300',
      { title: 'Timestamp out of range', detail: 'Timestamp out of range\r\n1397500300' },
    ],
    ['text without any label', 400, { 'content-type': '' }, 'no', { title: 'no' }],
    [
      'a page',
      404,
      html,
      '<!DOCTYPE html><html><head><title>Not\n Found</title><style>b{}</style></head><body><h1>Sorry</h1><script>if (1 < 2) {}</script><p>It is gone.</p></body></html>',
      { title: 'Not Found', detail: 'Sorry It is gone.' },
    ],
    ['a page without a title', 502, html, '<html><body></body></html>', { title: 'HTML page' }],
    ['a page labelled as JSON', 502, json, '<html><title>Bad</title></html>', { title: 'Bad' }],
    [
      'a page that breaks off',
      502,
      html,
      '<html><head><title>Bad Gate',
      { title: 'HTML page', detail: 'Bad Gate' },
    ],
    ['an empty body', 403, { 'content-type': '' }, '', {}],
    ['an empty body labelled as JSON', 500, json, '', {}],
    ['blanks', 500, html, ' \r\n ', {}],
    ['invalid JSON', 400, json, 'oh no', { title: 'Unreadable JSON', detail: 'oh no' }],
    ['a JSON text', 400, json, '"oh no"', { detail: 'oh no' }],
    ['a JSON null', 400, json, 'null', { detail: 'null' }],
    ['a JSON array', 400, json, '[1]', { detail: '[1]' }],
    ['a JSON object of another shape', 400, json, '{"Code":9}', { detail: '{"Code":9}' }],
    [
      'a redirect',
      302,
      { location: '/svc/error/404/log?targetUrl=%2Fsvc%2Fauth', ...html },
      '<html>Object moved</html>',
      { title: 'Redirect', detail: 'to /svc/error/404/log' },
    ],
    ['a redirect to nowhere', 302, html, '', { title: 'Redirect', detail: 'to nowhere' }],
    ['a 304', 304, {}, '', { title: 'Redirect', detail: 'to nowhere' }],
  ])('is parsed: %s', async (_, status, headers, body, words) => {
    const { requestId, retryAfterSeconds, ...found } = (await refusedBy({ status, headers, body })) ?? {
      status: 0,
    };
    expect(wordsOf(found)).toEqual({ status, ...words });
    expect([requestId, retryAfterSeconds]).toEqual([undefined, undefined]);
  });

  test('is bounded in what it brings along', async () => {
    const long = 'x '.repeat(20_000);
    const headers = { ...problemJson, 'x-request-id': 'r'.repeat(4_000) };
    const body = problem('y'.repeat(500), 400, long, long);
    const refused = (await refusedBy({ status: 400, headers, body }))!;
    expect(refused.title).toHaveLength(200);
    expect(refused.detail).toHaveLength(2_000);
    expect(refused.type).toHaveLength(100);
    expect(refused.requestId).toHaveLength(200);
  });

  test('names no scope that its own limit has cut', async () => {
    const detail = `Insufficient scope ${'x'.repeat(1_950)} Required: grades:gradevalues:write`;
    const refused = await refusedBy({ status: 403, body: problem('not-authorized', 403, 'N', detail) });
    expect(refused).toMatchObject({ missing: 'scope' });
    expect(refused?.required).toBeUndefined();
  });
});

describe('an answer that is cut off at any byte', () => {
  const cutAt = async (whole: string, bytes: number, contentType: string) => {
    const body = Buffer.from(whole);
    const { url } = await raw((socket) =>
      socket.end(
        Buffer.concat([
          Buffer.from(
            `HTTP/1.1 403 Forbidden\r\ncontent-type: ${contentType}\r\ncontent-length: ${body.length}\r\n\r\n`,
          ),
          body.subarray(0, bytes),
        ]),
      ),
    );
    return (await errorOf(clientAt(url).platform.call(operations.repeatable, { path: { id: 1 } }))).refused;
  };

  test.each([
    ['a missing scope', problem('not-authorized', 403, 'Not Authorized', scopeDetail), 'scope'],
    ['a missing permission', problem('forbidden', 403, 'Forbidden', permissionDetail), 'permission'],
  ])(
    'tells the status, the whole of the words that came, and never half a name: %s',
    async (_, whole, missing) => {
      const complete = JSON.parse(whole) as { title: string };
      for (let bytes = 0; bytes < whole.length; bytes += 1) {
        const refused = await cutAt(whole, bytes, 'application/problem+json');
        expect(refused).toMatchObject({ status: 403, cutOff: true });
        expect([undefined, 'not-authorized', 'forbidden']).toContain(refused?.type);
        expect([undefined, 'Unreadable JSON', complete.title]).toContain(refused?.title);
        expect([undefined, missing]).toContain(refused?.missing);
        expect([undefined, 'grades:gradevalues:write', 'EditGrades']).toContain(refused?.required);
      }
      expect(await cutAt(whole, whole.length - 1, 'application/problem+json')).toMatchObject({
        title: complete.title,
        missing,
        required: expect.any(String),
      });
    },
  );

  test('keeps plain words', async () => {
    expect(await cutAt('Timestamp out of range\r\n1397500300', 28, 'text/html')).toMatchObject({
      title: 'Timestamp out of range',
      detail: 'Timestamp out of range\r\n1397',
      cutOff: true,
    });
  });
});

describe('an error body without end', () => {
  test('is read for 64 KB at most, and its connection given up', async () => {
    let written = 0;
    let given: () => void = () => {};
    const givenUp = new Promise<void>((resolve) => {
      given = resolve;
    });
    const { url } = await handling((_, response) => {
      response.writeHead(500, { 'content-type': 'text/plain', 'content-length': 1024 ** 3 });
      const piece = Buffer.alloc(16 * 1024, 'x');
      const pour = () => {
        while (!response.destroyed && written < 1024 ** 3) {
          written += piece.length;
          if (!response.write(piece)) return void response.once('drain', pour);
        }
      };
      response.on('close', given);
      pour();
    });
    const error = await errorOf(clientAt(url).platform.call(operations.repeatable, { path: { id: 1 } }));
    await givenUp;
    expect(error.refused).toMatchObject({ status: 500, title: expect.stringMatching(/^x{199}…$/) });
    expect(error.refused?.cutOff).toBeUndefined();
    // What the two sockets' buffers hold beside it.
    expect(written).toBeLessThan(32 * 1024 ** 2);
  });

  test('that stops without ending is read as far as it came', async () => {
    const { url } = await handling((_, response) => {
      response.writeHead(409, { 'content-type': 'text/plain' }).write('So far');
    });
    const { platform } = clientAt(url, { bodyTimeoutMs: 100 });
    const { refused } = await errorOf(platform.call(operations.repeatable, { path: { id: 1 } }));
    expect(refused).toMatchObject({ status: 409, title: 'So far', cutOff: true });
  });

  test.each([
    '<script',
    '<title',
    '<a',
    '<!doctype ',
    '</',
    '?a',
    'required: a',
    'x_c=',
    'bearer ',
    '{"type":"',
  ])(
    'is read within the time of a test, whatever it repeats: %s',
    async (piece) => {
      const body = `insufficient scope ${piece.repeat(Math.ceil(maxErrorBytes / piece.length))}`;
      const refused = await refusedBy({ status: 403, headers: html, body });
      expect(refused?.status).toBe(403);
    },
    10_000,
  );
});

describe('the time to wait', () => {
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
  test.each<[string, Record<string, string>, number | undefined]>([
    ['seconds', { 'retry-after': '120' }, 120],
    ['no seconds', { 'retry-after': '0' }, 0],
    ['parts of a second', { 'retry-after': '1.2' }, 2],
    ['an HTTP date', { 'retry-after': 'Wed, 21 Oct 2026 07:30:00 GMT', date }, 120],
    ['an HTTP date of the old form', { 'retry-after': 'Wednesday, 21-Oct-26 07:29:00 GMT', date }, 60],
    ['a date that is past', { 'retry-after': 'Wed, 21 Oct 2026 07:00:00 GMT', date }, 0],
    ['the reset of the rate limit', { 'x-rate-limit-reset': '37' }, 37],
    ['Retry-After before the reset', { 'retry-after': '5', 'x-rate-limit-reset': '37' }, 5],
    ['the reset, where Retry-After says nothing', { 'retry-after': 'soon', 'x-rate-limit-reset': '37' }, 37],
    ['a negative number', { 'retry-after': '-5' }, undefined],
    ['a number with words', { 'retry-after': '5 minutes' }, undefined],
    ['nothing', {}, undefined],
  ])('is told by %s', async (_, headers, seconds) => {
    expect((await refusedBy({ status: 429, headers }))?.retryAfterSeconds).toBe(seconds);
  });

  test('is not the reset of a rate limit that was not reached: it comes with every answer', async () => {
    const headers = { 'x-rate-limit-remaining': '49990', 'x-rate-limit-reset': '1' };
    expect((await refusedBy({ status: 503, headers }))?.retryAfterSeconds).toBeUndefined();
    const asked = { ...headers, 'retry-after': '9' };
    expect((await refusedBy({ status: 503, headers: asked }))?.retryAfterSeconds).toBe(9);
  });
});

test('JSON of no known form is told as people write it', async () => {
  const body = String.raw`{ "Reason": "No J\u00fcrgen \u002B M\/ller" }`;
  expect(await refusedBy({ status: 400, body })).toMatchObject({
    detail: '{"Reason":"No Jürgen + M/ller"}',
  });
});

describe('the platform’s id of a request', () => {
  test.each(['x-request-id', 'x-correlation-id'])('is read from %s', async (name) => {
    expect((await refusedBy({ status: 500, headers: { [name]: 'abc-1' } }))?.requestId).toBe('abc-1');
  });
});

describe('an answer that repeats the request', () => {
  const token = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiI3In0.c2lnbmF0dXJlLw==';
  const echoes: [string, string, (address: string) => string][] = [
    ['in a problem document', 'application/problem+json', (a) => problem('x', 400, `Bad ${a}`, `At ${a}.`)],
    ['in its type', 'application/problem+json', (a) => JSON.stringify({ type: a, title: 'x' })],
    ['in an Errors array', 'application/json', (a) => JSON.stringify({ Errors: [{ Message: a }] })],
    ['in a JSON object of another shape', 'application/json', (a) => JSON.stringify({ url: a, deep: { a } })],
    ['in JSON with escapes, cut off', 'application/json', (a) => `{"at":"${a.replaceAll('&', '\\u0026')}`],
    ['in plain text', 'text/plain', (a) => `Cannot POST ${a}`],
    ['in plain text of lines', 'text/plain', (a) => `Cannot POST\n${a.split('&').join('\n')}`],
    ['in a page', 'text/html', (a) => `<title>${a}</title><a href="${a}">${a}</a>`],
    ['in a page, escaped', 'text/html', (a) => `<p>${a.replaceAll('&', '&amp;')}</p>`],
    ['in a page, percent-encoded', 'text/html', (a) => `<p>/log/to=${encodeURIComponent(a)}</p>`],
    [
      'in a page, percent-encoded twice',
      'text/html',
      (a) => `<p>/log/${encodeURIComponent(encodeURIComponent(a))}</p>`,
    ],
    ['with other separators', 'text/plain', (a) => a.slice(a.indexOf('?') + 1).replaceAll(/[=&]/g, ' ')],
    ['at the end of half a page', 'text/html', (a) => `<p>${a.slice(0, -70)}`],
  ];

  test.each(echoes)('never brings its signature along: %s', async (_, contentType, echo) => {
    const { url } = await handling((request, response) => {
      const address = `http://${request.headers.host}${request.url}`;
      const headers = { 'content-type': contentType, 'x-request-id': address, location: address };
      response.writeHead(400, headers).end(echo(address));
    });
    const error = await errorOf(clientAt(url).platform.call(operations.once, { path: { id: 1 } }));
    const everything = JSON.stringify([error.refused, error.message]);
    expect(everything).not.toMatch(/x_[a-e](=|%3d|%253d)\w/i);
    // No run of characters that could be a signature or a good part of one; the words around it are shorter.
    expect(everything).not.toMatch(/[\w-]{25,}/);
    expect(everything).not.toContain(credential.appKey);
  });

  test('in a redirect never brings its signature along', async () => {
    const { url } = await handling((request, response) => {
      const { searchParams } = new URL(request.url!, 'http://any');
      const signature = searchParams.get('x_c');
      response.writeHead(302, { location: `/login/x_c=${signature}/${signature}?to=${request.url}` }).end();
    });
    const { refused } = await errorOf(clientAt(url).platform.call(operations.once, { path: { id: 1 } }));
    expect(refused?.detail).toMatch(/^to \/login\/x_c=…/);
    expect(JSON.stringify(refused)).not.toMatch(/[\w-]{25,}/);
  });

  const opaque = 'aB3+dE5/gH7jK9lMnOpQrStUvWxYz0123456789+ab/cd==';
  const escaped = (text: string) =>
    text.replace(/[+/=]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  const requestWith = (secret: string, before = '') =>
    `${before}GET /things HTTP/1.1\r\nauthorization: Bearer ${secret}\r\n`;
  const spellings: [string, (secret: string) => string][] = [
    ['cut off', (secret) => `the token ${secret.slice(0, -4)}`],
    ['shortened', (secret) => `the token ${secret.slice(0, 40)}... is over`],
    ['without its beginning', (secret) => `the token …${secret.slice(5)}`],
    ['in capitals', (secret) => secret.toUpperCase()],
    ['in small letters', (secret) => secret.toLowerCase()],
    ['in lines', (secret) => secret.replace(/.{16}/g, '$&\n')],
    ['with breaks for a page', (secret) => `<p>${secret.replace(/.{16}/g, '$&<wbr>')}</p>`],
    ['as entities', (secret) => `<p>${secret.replace(/[+/=]/g, (sign) => `&#${sign.charCodeAt(0)};`)}</p>`],
    ['as JSON of .NET', (secret) => `{"headers":{"Authorization":"Bearer ${escaped(secret)}"}}`],
    ['as JSON of PHP', (secret) => `{"headers":{"token":"${secret.replaceAll('/', '\\/')}"}}`],
    ['percent-encoded in small letters', (secret) => encodeURIComponent(secret).toLowerCase()],
    [
      'percent-encoded letter by letter',
      (secret) => [...secret].map((sign) => `%${Buffer.from(sign).toString('hex')}`).join(''),
    ],
    [
      'as entities letter by letter',
      (secret) => [...secret].map((sign) => `&#${sign.charCodeAt(0)};`).join(''),
    ],
    [
      'as JSON letter by letter',
      (secret) => [...secret].map((sign) => `\\u00${Buffer.from(sign).toString('hex')}`).join(''),
    ],
    ['percent-encoded twice', (secret) => encodeURIComponent(encodeURIComponent(secret))],
    ['in base64', (secret) => Buffer.from(secret).toString('base64')],
    ['in a request in base64', (secret) => Buffer.from(requestWith(secret)).toString('base64')],
    ['in another one', (secret) => Buffer.from(requestWith(secret, '.')).toString('base64')],
    ['in a third one', (secret) => Buffer.from(requestWith(secret, '..')).toString('base64url')],
    ['in hexadecimal digits', (secret) => Buffer.from(requestWith(secret)).toString('hex')],
    ['as a scope', (secret) => `Insufficient scope to call API. Required: ${secret.slice(0, 30)} .`],
  ];

  test.each(spellings)('brings no piece of its request’s secrets along: %s', (_, spell) => {
    const pieces = (text: string) =>
      Array.from({ length: Math.max(0, text.length - 11) }, (_, at) => text.slice(at, at + 12));
    const decoded = (text: string) =>
      (text.match(/[\w+/-]{12,}/g) ?? []).flatMap((run) => [
        ...[0, 1, 2, 3].map((from) => Buffer.from(run.slice(from), 'base64').toString('latin1')),
        ...[0, 1].map((from) => Buffer.from(run.slice(from), 'hex').toString('latin1')),
      ]);
    const unescaped = (text: string) =>
      text.replace(/(?:%|\\+u00)([\da-f]{2})|&#(\d+);/gi, (_, hex, decimal) =>
        String.fromCharCode(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)),
      );
    for (const secret of [token, opaque]) {
      const values = sensitiveValues({ query: {}, headers: { authorization: `Bearer ${secret}` } });
      const echo = spell(secret);
      const headers = { 'x-request-id': echo, location: `/login;${echo}` };
      const answers = [
        { status: 400, headers, text: echo },
        { status: 400, headers, text: `Sorry.\n${echo}` },
        { status: 302, headers, text: '' },
        { status: 403, headers, text: JSON.stringify({ type: `#${echo}`, title: echo, detail: echo }) },
      ];
      for (const answer of answers) {
        const told = JSON.stringify(parseRefusal(answer, values));
        const read = [told, unescaped(told), ...decoded(told)].join(' ').toLowerCase();
        expect(pieces(secret.toLowerCase()).filter((piece) => read.includes(piece))).toEqual([]);
      }
    }
  });

  test('keeps what the platform says beside it', () => {
    const values = sensitiveValues({ query: {}, headers: { authorization: `Bearer ${opaque}` } });
    const text = `The token ${opaque.slice(0, 30)}… of user 301 is over.\nLog in again, at https://sso.example.edu/.`;
    expect(parseRefusal({ status: 401, headers: {}, text }, values)).toMatchObject({
      title: expect.stringMatching(/^The token …+ of user 301 is over\.$/),
      detail: expect.stringMatching(/Log in again, at https:\/\/sso\.example\.edu\/\.$/),
    });
  });

  test.each([
    `Authorization: Bearer ${token}`,
    `authorization=bearer ${token}`,
    `{"access_token":"${token}","refresh_token": "${token}"}`,
    `"{\\"access_token\\":\\"${token}\\"}"`,
    `Authorization: Basic ${Buffer.from(`client:${token}`).toString('base64')}`,
    `/callback?code=1&access_token=${encodeURIComponent(token)}`,
    `client_secret=${token}&grant_type=x`,
  ])('never brings a token along: %s', async (echo) => {
    for (const contentType of ['text/plain', 'application/json', 'text/html']) {
      const body = contentType === 'text/plain' ? echo : JSON.stringify({ title: echo, detail: echo });
      const refused = await refusedBy({ status: 400, headers: { 'content-type': contentType }, body });
      const everything = JSON.stringify(refused);
      for (const part of [...token.split('.'), Buffer.from('client:').toString('base64').slice(0, 8)])
        expect(everything).not.toContain(part);
    }
  });
});
