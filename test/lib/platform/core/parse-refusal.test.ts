import { describe, expect, test } from 'vitest';
import {
  anchorOf,
  errorNameIn,
  errorWords,
  likenessToError,
} from '../../../../lib/platform/core/json-error.ts';
import { isKnownError, parseRefusal, typeIn } from '../../../../lib/platform/core/parse-refusal.ts';
import {
  isApiOwn,
  isForeign,
  isInvalidToken,
  isTimestampOutOfRange,
  notFoundWords,
  PlatformError,
  type RefusedCall,
  refusalText,
} from '../../../../lib/platform/core/platform-error.ts';
import { maxErrorBytes } from '../../../../lib/platform/core/receive-answer.ts';
import { sensitiveValues } from '../../../../lib/redaction/request-secrets.ts';
import { stride } from '../../../seed.ts';
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
      for (let bytes = 0; bytes < whole.length; bytes += stride) {
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

/** What is told of an answer, without what is undefined. */
const toldBy = (status: number, text: string, headers: Record<string, string | string[]> = {}, more = {}) =>
  Object.fromEntries(
    Object.entries(parseRefusal({ status, headers, text, ...more })).filter(([, each]) => each !== undefined),
  );

describe('how an answer is read', () => {
  const brief = '{"title":"T","status":429}';
  test.each<[string, Parameters<typeof toldBy>, Record<string, unknown>]>([
    [
      'a success that tells another status',
      [200, brief, { 'x-rate-limit-reset': '3' }],
      { status: 429, sentAs: 200, form: 'error', title: 'T', retryAfterSeconds: 3 },
    ],
    ['a failure that tells another status', [400, brief], { status: 400, form: 'error', title: 'T' }],
    ['a success that tells none', [299, 'x'], { status: 299, form: 'text', title: 'x' }],
    [
      'the first redirect',
      [300, '{}', { location: '/a?b' }],
      { status: 300, form: 'redirect', title: 'Redirect', detail: 'to /a' },
    ],
    [
      'the last redirect',
      [399, 'x'],
      { status: 399, form: 'redirect', title: 'Redirect', detail: 'to nowhere' },
    ],
    ['nothing', [400, ' \n'], { status: 400, form: 'nothing' }],
    [
      'a list of headers',
      [400, '', { 'content-type': ['a/b', 'c/d'], 'x-request-id': 'r', 'x-correlation-id': 'c' }],
      { status: 400, form: 'nothing', contentType: 'a/b', requestId: 'r' },
    ],
    ['a brace behind blanks', [400, ` \n${brief} `], { status: 400, form: 'error', title: 'T' }],
    ['a brace at the end', [400, 'x {'], { status: 400, form: 'text', title: 'x {' }],
    [
      'a list labelled in capitals',
      [400, '["a"]', { 'content-type': 'Text/JSON' }],
      { status: 400, form: 'json', contentType: 'Text/JSON', detail: '["a"]' },
    ],
    [
      'a number labelled as JSON',
      [400, '7', { 'content-type': 'a/json' }],
      { status: 400, form: 'text', contentType: 'a/json', detail: '7' },
    ],
    [
      'words labelled as JSON that end in a tag',
      [400, 'x <', { 'content-type': 'a/json' }],
      { status: 400, form: 'text', contentType: 'a/json', title: 'Unreadable JSON', detail: 'x <' },
    ],
    [
      'a page labelled as JSON',
      [400, '<p>x', { 'content-type': 'a/json' }],
      { status: 400, form: 'page', contentType: 'a/json', title: 'HTML page', detail: 'x' },
    ],
    [
      'a success in words, labelled as a page',
      [200, 'x', { 'content-type': 'TEXT/HTML' }],
      { status: 200, form: 'page', contentType: 'TEXT/HTML', title: 'HTML page', detail: 'x' },
    ],
    [
      'a failure in words, labelled as a page',
      [400, 'x', { 'content-type': 'text/html' }],
      { status: 400, form: 'text', contentType: 'text/html', title: 'x' },
    ],
    ['two lines', [400, 'a\nb'], { status: 400, form: 'text', title: 'a', detail: 'a\nb' }],
    [
      'half a problem',
      [400, '{"type" \n: "https://d/x#a" , "title" :  "T", "de', {}, { cutOff: true }],
      {
        ...{ status: 400, form: 'error', type: 'a', title: 'T', cutOff: true },
        detail: '{"type" \n: "https://d/x#a" , "title" :  "T", "de',
      },
    ],
    [
      'half a title',
      [400, '{"title":"T'],
      { status: 400, form: 'text', title: 'Unreadable JSON', detail: '{"title":"T' },
    ],
    [
      'an empty title',
      [400, '{"title":"","x'],
      { status: 400, form: 'text', title: 'Unreadable JSON', detail: '{"title":"","x' },
    ],
    [
      'several titles, signs that are no tags, and half a tag',
      [400, '<title> A \n B</title><title>C</title><style>no</style>1 < 2 <b>and</b>  3\n<A\nhref'],
      { status: 400, form: 'page', title: 'A B', detail: '1 < 2 and 3' },
    ],
    [
      'half a comment',
      [400, '<b>a</b>b<!-\nc'],
      { status: 400, form: 'page', title: 'HTML page', detail: 'a b' },
    ],
    ['half of an end', [400, '<b>a</\nb'], { status: 400, form: 'page', title: 'HTML page', detail: 'a' }],
  ])('is told by %s', (_, told, expected) => {
    expect(toldBy(...told)).toEqual(expected);
  });

  test('ends after 64 KB', () => {
    const long = 'x'.repeat(maxErrorBytes);
    expect(toldBy(400, `{"a":"${long}","title":"T","b`).title).toBe('Unreadable JSON');
    expect(toldBy(400, `${long}<p>`).form).toBe('text');
    expect(toldBy(400, `${'\n'.repeat(maxErrorBytes)}x`)).toMatchObject({ title: 'x' });
    expect(toldBy(400, `<p>${' '.repeat(maxErrorBytes)}x`)).not.toHaveProperty('detail');
    expect(toldBy(400, `x${' '.repeat(maxErrorBytes)}\ny`)).not.toHaveProperty('detail');
  });

  test.each([
    ['application/json; charset=utf-8', 'application/json'],
    ['text', 'text'],
    ['text/', 'text'],
    ['A/b+c-d.e_f', 'A/b+c-d.e_f'],
    [' text/plain', undefined],
    ['a'.repeat(15), 'a'.repeat(15)],
    ['a'.repeat(16), undefined],
    ['a.b/c', undefined],
    [`a/${'b'.repeat(30)}`, `a/${'b'.repeat(30)}`],
    [`a/${'b'.repeat(31)}`, 'a'],
    ['', undefined],
  ])('names of the content type %j only the type: %j', (contentType, told) => {
    expect(typeIn(contentType)).toBe(told);
  });

  test.each([
    ['{"Errors":[]}', true],
    [' {"Errors":[]} ', true],
    ['{"message":"x","Id":1}', false],
    ['Invalid token', true],
    ['Timestamp out of range\r\n1', true],
    ['hello', false],
  ])('tells whether a success is an error beyond doubt: %s', (text, isKnown) => {
    expect(isKnownError({ status: 200, headers: {}, text })).toBe(isKnown);
  });
});

describe('what a refusal says is missing', () => {
  const scope = (required?: string) => ({ missing: 'scope', ...(required && { required }) });
  test.each<[string, object]>([
    ['INSUFFICIENT SCOPE', scope()],
    ['No scope defined', scope()],
    ['no scopes defined', scope()],
    ['no scopes', {}],
    ['insufficient scope. Required:a:b:c', scope('a:b:c')],
    ['insufficient scope. Required:   a:b:c.', scope('a:b:c')],
    ['insufficient scope. Required: a:b:c.:.', scope('a:b:c')],
    ['insufficient scope. REQUIRED: a-1:b.2:* or', scope('a-1:b.2:*')],
    ['insufficient scope. Required: a:b:c,d:e:f', scope('a:b:c,d:e:f')],
    ['insufficient scope. Required: a:b:c, d-1:e.2:* , g:*:i.', scope('a:b:c, d-1:e.2:* , g:*:i')],
    ['insufficient scope. Required: a:b:c d', scope('a:b:c')],
    ['insufficient scope. Required: a:b:c d:', scope('a:b:c')],
    ['insufficient scope. Required: a:b:c…', scope()],
    ['insufficient scope. Required: (a)', scope()],
    ['securityVariableName: Edit.All-2 ]', { missing: 'permission', required: 'Edit.All-2' }],
    ['securityvariablename:Edit.', { missing: 'permission', required: 'Edit' }],
    ['securityVariableName:  Edit..,', { missing: 'permission', required: 'Edit' }],
    ['securityVariableName: Edit…', {}],
    ['securityVariableName: ]', {}],
    ['securityVariable: Edit', {}],
  ])('%s', (text, missing) => {
    expect(toldBy(403, text)).toEqual({ status: 403, form: 'text', title: text, ...missing });
    expect(toldBy(403, JSON.stringify({ title: 'No', detail: text }))).toMatchObject(missing);
  });

  test.each([
    ['insufficient scope. Required: a:b', 'scope'],
    ['securityVariableName: Edit', undefined],
    ['No.\ninsufficient scope. Required: a:b', 'scope'],
    ['No.\nsecurityVariableName: Edit', undefined],
  ])('only by the whole name, where the text is cut off: %s', (text, missing) => {
    const { missing: told, required } = toldBy(403, text, {}, { cutOff: true });
    expect([told, required]).toEqual([missing, undefined]);
  });
});

describe('the words that decide', () => {
  const detailOf = (detail: string) => toldBy(403, JSON.stringify({ title: 'T', detail })).detail as string;
  test.each([
    'invalid token',
    'Expired Token',
    'invalidtoken',
    'invalid \t\n token',
    'invalid_token',
    'invalid-token',
    'invalid&nbsp;token',
    'token invalid',
    'token is invalid',
    'token has expired',
    'token expired',
    'timestamp out of range',
    'insufficient scope',
    'no scope defined',
    'no scopes defined',
    'securityVariableName',
  ])('are kept wherever they stand: %s', (words) => {
    expect(detailOf(`${'so '.repeat(1_000)}${words} `).startsWith(`…${words}`)).toBe(true);
  });

  test.each(['invalid     token', 'token was invalid', 'tokens', 'scope defined'])(
    'are no others: %s',
    (words) => {
      expect(detailOf(`${'so '.repeat(1_000)}${words} `)).toMatch(/^so so/);
    },
  );

  test('stand where the text begins if they are in its first half, or it is short', () => {
    const at = (before: number, after: number) =>
      detailOf(`${'x '.repeat(before / 2)}invalid token${' y'.repeat(after / 2)}`);
    expect(at(998, 2_000)).toMatch(/^x x/);
    expect(at(1_000, 2_000)).toMatch(/^…invalid token/);
    expect(at(1_500, 0)).toMatch(/^x x/);
    expect(detailOf(`${'x '.repeat(993)}invalid tokeN!`)).toMatch(/^x x/);
    expect(detailOf(`${'x '.repeat(993)}invalid tokeN!!`)).toMatch(/^…invalid/);
    expect(detailOf(`${'x '.repeat(maxErrorBytes / 2)}invalid token`)).toMatch(/^x x/);
  });
});

describe('the time to wait, in numbers and dates', () => {
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
  const soon = () => new Date(Date.now() + 100_000).toUTCString();
  const reset = { 'x-rate-limit-reset': '37' };
  test.each<[Record<string, string>, number | undefined]>([
    [{ 'retry-after': ' 7 ' }, 7],
    [{ 'retry-after': '1.25' }, 2],
    [{ 'retry-after': '10.25' }, 11],
    [{ 'retry-after': '.5', ...reset }, 37],
    [{ 'retry-after': '5.', ...reset }, 37],
    [{ 'retry-after': 'x5', ...reset }, 37],
    [{ 'retry-after': '5x', ...reset }, 37],
    [{ 'retry-after': 'Foo 9:99:99', date, ...reset }, 37],
    [{ 'retry-after': '2026-10-22', date, ...reset }, 37],
    [{ 'retry-after': 'Wed, 21 Oct 2026 7:28:10 GMT', date }, 10],
  ])('of %j is %s', (headers, seconds) => {
    expect(toldBy(429, '', headers).retryAfterSeconds).toBe(seconds);
  });

  test.each([{}, { date: 'no date' }])(
    'is counted by our own clock where the answer has none: %j',
    (more) => {
      const seconds = toldBy(429, '', { 'retry-after': soon(), ...more }).retryAfterSeconds;
      expect(Math.abs(Number(seconds) - 100)).toBeLessThan(10);
    },
  );
});

describe('whether JSON is an error', () => {
  const values: ['certain' | 'likely' | undefined, unknown[]][] = [
    [
      'certain',
      [
        ...[{ Errors: [] }, { ERRORS: ['x'], Id: 1 }, { errors: { a: 1 }, Id: 1 }, { success: false, Id: 1 }],
        ...[{ error: 'x', Id: 1 }, { Fault: 'x' }, { exception: { a: 1 } }, { ExceptionMessage: 'x', Id: 1 }],
        ...[{ ModelState: { a: ['b'] }, Id: 1 }, { error: 1 }, { error: ['x'] }],
        ...[
          { status: 400, Id: 1 },
          { status: 599 },
          { StatusCode: '403 Forbidden' },
          { status: 'FORBIDDEN' },
        ],
        ...[{ status: { code: 403 } }, { status: { Status: '404' } }, { status: '404' }],
        ...[
          { title: 'x', type: 'a/b' },
          { title: 'x', type: 'a#b' },
          { title: 'x', type: 'urn:b' },
        ],
        ...[{ Message: 'x' }, { Message: 'x', MessageDetail: '', ExceptionMessage: '', StackTrace: 'at' }],
        ...[{ message: 'x', ExceptionType: 'T' }, [{ error: 'x' }, { Errors: [] }]],
      ],
    ],
    [
      'likely',
      [
        ...[{ status: 'error' }, { status: 'Failed', Id: 1 }, { code: 404 }, { code: 'Not Found' }],
        ...[{ message: 'x', Id: 1 }, { detail: 'x' }, { reason: { a: 1 } }],
        ...[
          { message: 'x', aStackTrace: 1 },
          { message: 'x', StackTraces: 1 },
        ],
        ...[
          [{ error: 'x' }, { detail: 'x' }],
          [{ detail: 'x' }, { error: 'x' }],
        ],
      ],
    ],
    [
      undefined,
      [
        ...[null, 'error', 7, undefined, [], {}, [[{ error: 'x' }]], [{ error: 'x' }, {}], [null]],
        ...[
          { Errors: [], Id: 1 },
          { errors: null },
          { errors: 0 },
          { error: '' },
          { error: {} },
          { error: [] },
        ],
        ...[{ success: true }, { success: 0 }, { status: 399 }, { status: 600 }, { status: 400.5 }],
        ...[
          { status: 'Open' },
          { status: '40' },
          { status: '4000' },
          { status: 'no 404' },
          { status: [403] },
        ],
        ...[
          { status: { code: { code: 403 } } },
          { status: { Name: 403 } },
          { status: '399' },
          { status: null },
        ],
        ...[{ title: 'x', type: 'y' }, { title: '', type: 'a/b' }, { title: 'x', type: 7 }, { type: 'a/b' }],
        ...[{ status: 'in error' }, { message: '' }, { code: 'x' }, { code: 200 }],
        ...[{ anError: 'x' }, { errorsOf: 'x' }, { Messages: 'x' }, { myStatus: 404 }],
      ],
    ],
  ];
  test.each(values)('is %s by its fields', (likeness, all) => {
    for (const value of all) expect(likenessToError(value), JSON.stringify(value)).toBe(likeness);
  });
});

describe('the words of an error in JSON', () => {
  test.each<[object, object]>([
    [
      { Type: 'https://d/x#a', Title: 'T', Status: '404', Detail: 'D' },
      { form: 'error', type: 'a', title: 'T', status: 404, detail: 'D' },
    ],
    [
      { title: 'T', type: 't' },
      { form: 'error', type: 't', title: 'T' },
    ],
    [
      { title: 'T', status: 400 },
      { form: 'error', title: 'T', status: 400 },
    ],
    [
      { detail: 'D', status: 400 },
      { form: 'error', status: 400, detail: 'D' },
    ],
    [
      { title: 'T', status: 200 },
      { form: 'json', title: 'T' },
    ],
    [{ title: 'T' }, { form: 'json', title: 'T' }],
    [
      { error: 'E', error_description: 'D' },
      { form: 'fault', title: 'E', detail: 'D' },
    ],
    [
      { title: 'T', error: 'E' },
      { form: 'fault', title: 'T' },
    ],
    [{ error: { message: 'm' } }, { form: 'fault', detail: '{"error":{"message":"m"}}' }],
    [
      { error: { message: 'm', at: 'a' }, detail: 'D' },
      { form: 'fault', detail: 'D; m; at: a' },
    ],
    [{ errors: { a: ['b', 'c'] } }, { form: 'fault', title: 'Errors', detail: 'a: b; a: c' }],
    [{ errors: [] }, { form: 'error', title: 'Errors' }],
    [{ errors: {} }, { form: 'json', detail: '{"errors":{}}' }],
    [{ reason: 'r' }, { form: 'fault', detail: '{"reason":"r"}' }],
    [
      { code: 404, x: 1 },
      { form: 'fault', status: 404, detail: '{"code":404,"x":1}' },
    ],
    [
      { statusCode: 'Gone', code: 404, message: 'm' },
      { form: 'fault', status: 410, detail: 'm' },
    ],
    [
      {
        ...{ message: 'm', messageDetail: 'md', reason: 'r', errors: ['e'], modelState: { s: 'ms' } },
        ...{ fault: 'f', exception: { text: 'x' }, exceptionMessage: 'em', detail: 'd' },
      },
      { form: 'error', title: 'Errors', detail: 'd; m; md; r; e; s: ms; f; x; em' },
    ],
    [
      { message: 'same', detail: 'same' },
      { form: 'fault', detail: 'same' },
    ],
    [[7], { form: 'json', detail: '[7]' }],
    [
      [
        { error: 'a', detail: 'x', status: 404 },
        { error: 'b', detail: 'y' },
      ],
      { form: 'fault', title: 'a', status: 404, detail: 'x; y' },
    ],
    [[{ Errors: ['a'] }, { Errors: ['b'] }], { form: 'error', title: 'Errors', detail: 'a; b' }],
    [[{ message: 'a' }], { form: 'fault', title: 'Errors', detail: 'a' }],
    [
      [{ title: 'T', status: 400 }, { message: 'm' }],
      { form: 'fault', title: 'T', status: 400, detail: 'm' },
    ],
  ])('are those of %j', (value, words) => {
    expect(errorWords(value)).toEqual(words);
  });

  test.each([
    ...['message', 'Messages', 'error_message', 'errorMessage', 'Detail', 'description', 'TEXT', 'reasons'],
  ])('stand without the name of the field that holds words: %s', (name) => {
    expect(errorWords({ errors: [{ [name]: 'x' }] }).detail).toBe('x');
  });

  test.each(['aMessage', 'messageOf', 'error__message', 'points'])(
    'stand with any other name: %s',
    (name) => {
      expect(errorWords({ errors: [{ [name]: 'x' }] }).detail).toBe(`${name}: x`);
    },
  );

  test('are 1,000 at most, of 1,000 errors', () => {
    const texts = (of: string, count: number) => Array.from({ length: count }, (_, at) => `${of}${at}`);
    const count = (detail = '') => detail.split('; ').length;
    expect(count(errorWords({ errors: [texts('a', 700), texts('b', 700)] }).detail)).toBe(1_000);
    expect(errorWords({ errors: [...Array(1_000).fill(null), 'x'] }).detail).toBeUndefined();
    const problems = Array(1_000).fill({ title: 'T', status: 400 });
    expect(errorWords([...problems, { message: 'm' }])).toEqual({ form: 'error', title: 'T', status: 400 });
  });

  test.each([
    ['https://d/x#a', 'a'],
    ['https://d/x', 'x'],
    ['a', 'a'],
    ['a/', undefined],
    [undefined, undefined],
  ])('have of the type %s the anchor %s', (type, anchor) => {
    expect(anchorOf(type)).toBe(anchor);
  });

  test.each([
    ...['JSON Binding Error', 'Invalid Parameters', 'Invalid Token', 'Expired Token', 'Not Authorized'],
    ...['Resource Not Found', 'Internal Error', 'Access Denied', 'Request Rejected', 'Redirect', 'Errors'],
    ...['Forbidden', "I'm a Teapot"],
  ])('have a known name: %s', (name) => {
    for (const text of [
      name,
      name.toUpperCase(),
      name.replaceAll(' ', '-'),
      name.replaceAll(' ', ' - '),
      `403 ${name}`,
    ])
      expect(errorNameIn(text), text).toBe(name);
    for (const text of [`4030 ${name}`, `a 403 ${name}`, `${name}s`, `403${name}`, ''])
      expect(errorNameIn(text), text).toBeUndefined();
  });

  test('have none where the text is long', () => {
    expect(errorNameIn(`Not${' '.repeat(52)}Found`)).toBe('Not Found');
    expect(errorNameIn(`Not${' '.repeat(53)}Found`)).toBeUndefined();
    expect(errorNameIn(undefined)).toBeUndefined();
  });
});

describe('what a refusal means', () => {
  const of = (status: number, more: Omit<RefusedCall, 'status'> = {}): RefusedCall => ({ status, ...more });
  const errorWith = (repeatable: boolean, refused: RefusedCall | undefined, sent = true) =>
    new PlatformError({
      operation: repeatable ? operations.repeatable : operations.once,
      ...{ call: 'PUT /x', message: 'm', refused, sent },
    });
  const before = [400, 401, 403, 404, 405, 406, 410, 411, 413, 414, 415, 422, 428, 429, 431];

  test('is that the call may have acted, of one that may be sent twice', () => {
    const acted = [200, 299, 408, 500, 503, 599].filter(
      (status) => !errorWith(true, of(status)).mayHaveActed,
    );
    const not = [300, 399, 400, 404, 407, 409, 499].filter(
      (status) => errorWith(true, of(status)).mayHaveActed,
    );
    expect([acted, not]).toEqual([[], []]);
    expect(errorWith(true, of(404, { sentAs: 200 })).mayHaveActed).toBe(true);
    for (const sent of [true, false]) expect(errorWith(true, undefined, sent).mayHaveActed).toBe(sent);
  });

  test('is that the call may have acted, of one that must not', () => {
    const all = Array.from({ length: 400 }, (_, at) => 200 + at);
    const not = all.filter((status) => !errorWith(false, of(status, { form: 'error' })).mayHaveActed);
    expect(not).toEqual(before);
    for (const status of before) {
      const says = { sentAs: 299, form: 'error' as const };
      expect(errorWith(false, of(status, says)).mayHaveActed).toBe(true);
      expect(errorWith(false, of(status, { form: 'page' })).mayHaveActed).toBe(true);
    }
  });

  test('is known to nobody where nothing else is told', () => {
    const cause = new Error('why');
    const facts = { operation: operations.once, call: 'POST /x', message: 'm', sent: true };
    const error = new PlatformError({ ...facts, cause });
    expect(error).toMatchObject({ ...facts, cause, name: 'PlatformError' });
    expect(error).toMatchObject({ refused: undefined, acceptedUnverified: false, unexpected: false });
    const told = { acceptedUnverified: true, unexpected: true };
    expect(new PlatformError({ ...facts, ...told })).toMatchObject(told);
  });

  test.each<[RefusedCall, boolean]>([
    [of(403, { form: 'page', detail: 'Invalid token' }), true],
    [of(403, { form: 'page', detail: 'Timestamp out of range' }), true],
    [of(403, { form: 'page' }), false],
    [of(404, { form: 'page' }), false],
    [of(404, { form: 'redirect' }), false],
    [of(407, { form: 'error' }), false],
    [of(403, { form: 'error' }), true],
    [of(403, { form: 'text', missing: 'scope' }), true],
    [of(403, { form: 'text', cutOff: true }), true],
    [of(403, { form: 'text' }), false],
    [of(404, { form: 'text' }), true],
  ])('is the API’s own, or that of what stands before it: %j is %s', (refused, isOwn) => {
    expect(isApiOwn(refused)).toBe(isOwn);
  });

  test.each<[RefusedCall, boolean]>([
    [of(200, { form: 'page' }), true],
    [of(302, { form: 'redirect' }), true],
    [of(407, { form: 'text' }), true],
    [of(403, { form: 'text' }), false],
  ])('is surely not the API’s: %j is %s', (refused, isNot) => {
    expect(isForeign(refused)).toBe(isNot);
  });

  const clock = 'Timestamp  \n out \t of   range';
  test.each<[boolean, Omit<RefusedCall, 'status'>, number[]]>([
    [true, {}, [401, 403]],
    [false, {}, [200, 300, 400, 404, 500]],
    [true, { form: 'error' }, [200, 299, 401, 403]],
    [true, { form: 'fault' }, [200, 299]],
    [true, { form: 'text' }, [200, 299]],
    [false, { form: 'text' }, [300, 400, 402]],
    [false, { form: 'json' }, [200]],
    [false, { form: 'page' }, [200]],
  ])('is about authentication or not: %s with %j and %j', (isAbout, form, statuses) => {
    for (const status of statuses) {
      expect(isTimestampOutOfRange(of(status, { ...form, detail: clock })), `${status}`).toBe(isAbout);
      const said = { ...form, title: 'invalid token' };
      expect(isInvalidToken(of(status, said)), `${status}`).toBe(isAbout);
      expect(isInvalidToken(of(status, { ...form, type: 'invalid-token' })), `${status}`).toBe(isAbout);
    }
  });

  test('is about authentication only where a success is short', () => {
    const said = (length: number) =>
      of(200, { form: 'text', title: 'invalid token'.padEnd(length - 1, '.') });
    expect([99, 100].map((length) => isInvalidToken(said(length)))).toEqual([true, false]);
  });

  test.each([
    ...['invalid token', 'EXPIRED TOKEN', 'an invalid    token.', 'invalid_token', 'invalid-token'],
    ...['invalidtoken', 'token is invalid', 'token  has    expired', 'token expired', 'token    invalid'],
    ...['invalid&nbsp;token', 'token \n is \n expired'],
  ])('is that the key is refused: %s', (title) => {
    expect(isInvalidToken(of(403, { title }))).toBe(true);
    expect(isInvalidToken(of(403, { detail: title }))).toBe(true);
    expect(isInvalidToken(of(403, { title, missing: 'permission' }))).toBe(false);
  });

  test.each([
    ...['invalid     token', 'invalid - token', 'xinvalid token', 'invalid tokens', 'token     invalid'],
    ...['mytoken invalid', 'token invalidated', 'token was invalid', 'tokenexpired', 'token is     invalid'],
    ...['tokenis invalid', 'token isinvalid', 'invalid__token', ''],
  ])('is not that the key is refused: %s', (title) => {
    expect(isInvalidToken(of(403, { title }))).toBe(false);
  });

  test('is that the key is refused, by a 401 of the API', () => {
    expect(isInvalidToken(of(401, { form: 'nothing' }))).toBe(true);
    expect(isInvalidToken(of(401, { form: 'page' }))).toBe(false);
    expect(isInvalidToken(of(403, { form: 'error' }))).toBe(false);
  });

  test.each(
    [
      ...[
        'Not Found',
        'HTTP ERROR 404',
        '/svc/api/things/Jane is NOT found',
        'a, an, the, that, this, those: 7',
      ],
      ...['no such page', 'pages were', 'was is be does could cannot exist exists', 'on for with of here'],
      ...['unreadable json, errors', 'resource resources', 'path paths', 'route routes', 'uri uris url urls'],
      ...[
        'api apis',
        'endpoint endpoints',
        'method methods',
        'get put post delete',
        'version versions supported',
      ],
      ...['server values', 'request requested', 'match matched matches', ''],
    ].map((words) => [words.replace('were', 'was')]),
  )('is a path that is not there: %s', (detail) => {
    expect(notFoundWords(of(404, { detail }))).toBe('');
  });

  test.each([
    ['User not found', 'User'],
    ['Prüfung, 7: /a/b Łódź-Note!', 'Prüfung Łódź Note'],
    ['pageset subpage matching requests', 'pageset subpage matching requests'],
    ['', ''],
  ])('is what is not there: %s', (title, words) => {
    expect(notFoundWords(of(404, { title }))).toBe(words);
    expect(notFoundWords(of(404, { title, form: 'page' }))).toBe('');
  });

  test('is in all that it says, without escapes', () => {
    expect(refusalText(of(400))).toBe('\n');
    expect(refusalText(of(400, { title: 'a%20b', detail: 'c&amp;d' }))).toBe('a b\nc d');
  });
});
