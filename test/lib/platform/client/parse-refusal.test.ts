import { describe, expect, test } from 'vitest';
import { safe } from '../../../../lib/message/safe-text.ts';
import {
  anchorOf,
  errorNameIn,
  errorWords,
  likenessToError,
} from '../../../../lib/platform/client/json-error.ts';
import { undefinedIfNotFound } from '../../../../lib/platform/client/not-found.ts';
import { isKnownError, parseRefusal, typeIn } from '../../../../lib/platform/client/parse-refusal.ts';
import {
  isApiOwn,
  isForeign,
  isInvalidToken,
  isTimestampOutOfRange,
  notFoundWords,
  PlatformError,
  type RefusedCall,
  refusalText,
} from '../../../../lib/platform/client/platform-error.ts';
import { maxErrorBytes } from '../../../../lib/runtime/aws/receive-answer.ts';
import { sensitiveValues } from '../../../../lib/runtime/privacy/request-secrets.ts';
import { clientAt, errorOf, handling, operations } from '../servers.ts';

const problem = (anchor: string, status: number, title: string, detail: string) =>
  JSON.stringify({ type: `https://docs.example/res/apiprop.html#${anchor}`, title, status, detail });
const scopeDetail = 'Insufficient scope to call API. Required: grades:gradevalues:write';
const permissionDetail = 'Not authorized for [ orgUnitId: 6606, securityVariableName: EditGrades ]';

/** What is told of an answer, without what is undefined. */
const toldBy = (status: number, text: string, headers: Record<string, string | string[]> = {}, more = {}) =>
  Object.fromEntries(
    Object.entries(parseRefusal({ status, headers, text, ...more })).filter(([, each]) => each !== undefined),
  );

describe('an answer that is no success', () => {
  test.each<[number, string | object, object, (string | Record<string, string | string[]>)?]>([
    [
      400,
      {
        type: 'https://d/x#json-binding-error',
        title: 'JSON Binding Error',
        status: 400,
        detail: 'It is invalid',
      },
      { form: 'error', type: 'json-binding-error', title: 'JSON Binding Error', detail: 'It is invalid' },
    ],
    [
      405,
      '\uFEFF{"type":"https://d/x#x","title":"Method Not Allowed","status":405,"detail":"no DELETE"}',
      { form: 'error', type: 'x', title: 'Method Not Allowed', detail: 'no DELETE' },
      'text/plain',
    ],
    [400, { title: 'Invalid Parameters', status: 400 }, { form: 'error', title: 'Invalid Parameters' }],
    [
      400,
      { type: 7, title: null, status: 'x', detail: ['y'] },
      { form: 'fault', detail: '{"type":7,"title":null,"status":"x","detail":["y"]}' },
    ],
    [400, { title: 'No', status: [{ toString: 'x' }], code: { code: {} } }, { form: 'json', title: 'No' }],
    [
      400,
      { Type: 'https://d/x#a', Title: 'T', Status: '404', Detail: 'D' },
      { form: 'error', type: 'a', title: 'T', detail: 'D' },
    ],
    [
      400,
      {
        type: 'https://d/rfc#section-6',
        title: 'T',
        status: 400,
        traceId: '00-1',
        errors: { Points: ['at most 10'] },
      },
      { form: 'error', type: 'section-6', title: 'T', detail: 'Points: at most 10' },
    ],
    [400, { title: 'T', type: 't' }, { form: 'error', type: 't', title: 'T' }],
    [400, { title: 'T', status: 400 }, { form: 'error', title: 'T' }],
    [400, { detail: 'D', status: 400 }, { form: 'error', detail: 'D' }],
    [400, { title: 'T' }, { form: 'json', title: 'T' }],
    [400, { title: 'T', status: 200 }, { form: 'json', title: 'T' }],
    [
      200,
      { title: 'T', status: 429 },
      { status: 429, sentAs: 200, form: 'error', title: 'T', retryAfterSeconds: 3 },
      { 'x-rate-limit-reset': '3' },
    ],
    [400, { title: 'T', status: 429 }, { form: 'error', title: 'T' }],
    [400, { reason: 'r' }, { form: 'fault', detail: '{"reason":"r"}' }],
    [400, { title: 'T', reason: 'locked' }, { form: 'fault', title: 'T', detail: 'locked' }],
    [400, { title: 'T', detail: ['a', 'b'] }, { form: 'fault', title: 'T', detail: 'a; b' }],
    [400, { error: 'E', error_description: 'D' }, { form: 'fault', title: 'E', detail: 'D' }],
    [400, { title: 'T', error: 'E' }, { form: 'fault', title: 'T' }],
    [400, { error: { message: 'm' } }, { form: 'fault', detail: '{"error":{"message":"m"}}' }],
    [400, { error: { message: 'm', at: 'a' }, detail: 'D' }, { form: 'fault', detail: 'D; m; at: a' }],
    [
      400,
      { Message: 'No', ModelState: { grade: ['locked', 'late'] } },
      { form: 'fault', detail: 'No; grade: locked; grade: late' },
    ],
    [400, { errors: { a: ['b', 'c'] } }, { form: 'fault', title: 'Errors', detail: 'a: b; a: c' }],
    [400, { errors: {} }, { form: 'json', detail: '{"errors":{}}' }],
    [
      400,
      { Errors: [{ Message: 'one' }, null, {}, { Message: 7 }, 'x', { Message: 'two' }] },
      { form: 'error', title: 'Errors', detail: 'one; x; two' },
    ],
    [400, { Errors: 'one' }, { form: 'fault', title: 'Errors', detail: 'one' }],
    [404, { Errors: [] }, { form: 'error', title: 'Errors' }],
    [
      299,
      { statusCode: 'Gone', code: 404, message: 'm' },
      { status: 410, sentAs: 299, form: 'fault', detail: 'm' },
    ],
    [200, { code: 404, x: 1 }, { status: 404, sentAs: 200, form: 'fault', detail: '{"code":404,"x":1}' }],
    [
      400,
      {
        message: 'm',
        messageDetail: 'md',
        reason: 'r',
        errors: ['e'],
        modelState: { s: 'ms' },
        fault: 'f',
        exception: { text: 'x' },
        exceptionMessage: 'em',
        detail: 'd',
      },
      { form: 'error', title: 'Errors', detail: 'd; m; md; r; e; s: ms; f; x; em' },
    ],
    [400, { message: 'same', detail: 'same' }, { form: 'fault', detail: 'same' }],
    [400, [7], { form: 'json', detail: '[7]' }],
    [
      200,
      [
        { error: 'a', detail: 'x', status: 404 },
        { error: 'b', detail: 'y' },
      ],
      { status: 404, sentAs: 200, form: 'fault', title: 'a', detail: 'x; y' },
    ],
    [400, [{ Errors: ['a'] }, { Errors: ['b'] }], { form: 'error', title: 'Errors', detail: 'a; b' }],
    [400, [{ message: 'a' }], { form: 'fault', title: 'Errors', detail: 'a' }],
    [400, [{ title: 'T', status: 400 }, { message: 'm' }], { form: 'fault', title: 'T', detail: 'm' }],
    [
      400,
      '{ "Reason": "No J\\u00fcrgen \\u002B M\\/ller" }',
      { form: 'fault', detail: '{"Reason":"No Jürgen + M/ller"}' },
    ],
    [400, '"oh no"', { form: 'text', detail: 'oh no' }, 'application/json'],
    [400, 'null', { form: 'text', detail: 'null' }, 'application/json'],
    [400, '["a"]', { form: 'json', detail: '["a"]' }, 'Text/JSON'],
    [400, '7', { form: 'text', detail: '7' }, 'a/json'],
    [400, 'oh no', { form: 'text', title: 'Unreadable JSON', detail: 'oh no' }, 'application/json'],
    [400, 'x <', { form: 'text', title: 'Unreadable JSON', detail: 'x <' }, 'a/json'],
    [400, '<p>x', { form: 'page', title: 'HTML page', detail: 'x' }, 'a/json'],
    [400, ' \n{"title":"T","status":400} ', { form: 'error', title: 'T' }],
    [400, 'x {', { form: 'text', title: 'x {' }],
    [400, '{"title":"T', { form: 'text', title: 'Unreadable JSON', detail: '{"title":"T' }],
    [400, '{"title":"","x', { form: 'text', title: 'Unreadable JSON', detail: '{"title":"","x' }],
    [
      403,
      { type: 'https://d/x#not-authorized', title: 'Not Authorized', status: 403, detail: scopeDetail },
      {
        form: 'error',
        type: 'not-authorized',
        title: 'Not Authorized',
        detail: scopeDetail,
        missing: 'scope',
        required: 'grades:gradevalues:write',
      },
    ],
    [
      403,
      { type: 'https://d/x#forbidden', title: 'Forbidden', status: 403, detail: permissionDetail },
      {
        form: 'error',
        type: 'forbidden',
        title: 'Forbidden',
        detail: permissionDetail,
        missing: 'permission',
        required: 'EditGrades',
      },
    ],
    [
      403,
      { Errors: [{ Message: permissionDetail }] },
      {
        form: 'error',
        title: 'Errors',
        detail: permissionDetail,
        missing: 'permission',
        required: 'EditGrades',
      },
    ],
    [403, 'Invalid token', { form: 'text', title: 'Invalid token' }, 'text/plain'],
    [
      403,
      'Timestamp out of range\r\n1397500300',
      { form: 'text', title: 'Timestamp out of range', detail: 'Timestamp out of range\r\n1397500300' },
      'text/html',
    ],
    [400, 'a\nb', { form: 'text', title: 'a', detail: 'a\nb' }],
    [299, 'x', { form: 'text', title: 'x' }],
    [200, 'x', { form: 'page', title: 'HTML page', detail: 'x' }, 'TEXT/HTML'],
    [400, 'x', { form: 'text', title: 'x' }, 'text/html'],
    [
      404,
      '<!DOCTYPE html><html><head><title>Not\n Found</title><style>b{}</style></head><body><h1>Sorry</h1><script>if (1 < 2) {}</script><p>It is gone.</p></body></html>',
      { form: 'page', title: 'Not Found', detail: 'Sorry It is gone.' },
      'text/html',
    ],
    [502, '<html><body></body></html>', { form: 'page', title: 'HTML page' }, 'text/html'],
    [
      502,
      '<html><head><title>Bad Gate',
      { form: 'page', title: 'HTML page', detail: 'Bad Gate' },
      'text/html',
    ],
    [
      400,
      '<title> A \n B</title><title>C</title><style>no</style>1 < 2 <b>and</b>  3\n<A\nhref',
      { form: 'page', title: 'A B', detail: '1 < 2 and 3' },
    ],
    [400, '<b>a</b>b<!-\nc', { form: 'page', title: 'HTML page', detail: 'a b' }],
    [400, '<b>a</\nb', { form: 'page', title: 'HTML page', detail: 'a' }],
    [403, '', { form: 'nothing' }],
    [500, ' \r\n ', { form: 'nothing' }, 'application/json'],
    [300, '{}', { form: 'redirect', title: 'Redirect', detail: 'to /a' }, { location: '/a?b' }],
    [
      302,
      '<html>Object moved</html>',
      { form: 'redirect', title: 'Redirect', detail: 'to /svc/error/404/log' },
      { location: '/svc/error/404/log?targetUrl=%2Fsvc', 'content-type': 'text/html' },
    ],
    [399, 'x', { form: 'redirect', title: 'Redirect', detail: 'to nowhere' }],
    [
      400,
      '',
      { form: 'nothing', requestId: 'r' },
      { 'content-type': ['a/b', 'c/d'], 'x-request-id': 'r', 'x-correlation-id': 'c' },
    ],
  ])('is parsed: %i %j', (status, body, words, label) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const type = typeof body === 'string' ? undefined : 'application/json';
    const headers = typeof label === 'object' ? label : { 'content-type': label ?? type ?? '' };
    const { contentType: _, ...refusalText } = toldBy(status, text, headers);
    expect(refusalText).toEqual({ status, ...words });
  });

  test('that breaks off tells the fields that came', () => {
    const text = '{"type" \n: "https://d/x#a" , "title" :  "T", "de';
    expect(toldBy(400, text, {}, { cutOff: true })).toEqual({
      status: 400,
      form: 'error',
      type: 'a',
      title: 'T',
      detail: text,
      cutOff: true,
    });
  });

  test('is bounded in what it brings along', () => {
    const long = 'x '.repeat(20_000);
    const refusalText = toldBy(400, problem('y'.repeat(500), 400, long, long), {
      'x-request-id': 'r'.repeat(4_000),
    });
    const lengths = [refusalText.title, refusalText.detail, refusalText.type, refusalText.requestId].map(
      (text) => `${text}`.length,
    );
    expect(lengths).toEqual([200, 2_000, 100, 200]);
  });

  test('names no scope that its own limit has cut', () => {
    const detail = `Insufficient scope ${'x'.repeat(1_950)} Required: grades:gradevalues:write`;
    const refusalText = toldBy(403, problem('not-authorized', 403, 'N', detail));
    expect([refusalText.missing, refusalText.required]).toEqual(['scope', undefined]);
  });
});

test.each([
  [problem('not-authorized', 403, 'Not Authorized', scopeDetail), 'scope'],
  [problem('forbidden', 403, 'Forbidden', permissionDetail), 'permission'],
])('an answer that is cut off at any byte never tells half a name: %s', (whole, missing) => {
  const { title } = JSON.parse(whole) as { title: string };
  const cutAt = (bytes: number) => toldBy(403, whole.slice(0, bytes), {}, { cutOff: true });
  for (let bytes = 0; bytes < whole.length; bytes += 1) {
    const refusalText = cutAt(bytes);
    expect([undefined, 'not-authorized', 'forbidden']).toContain(refusalText.type);
    expect([undefined, 'Unreadable JSON', '{', title]).toContain(refusalText.title);
    expect([undefined, missing]).toContain(refusalText.missing);
    expect([undefined, 'grades:gradevalues:write', 'EditGrades']).toContain(refusalText.required);
  }
  expect(cutAt(whole.length - 1)).toMatchObject({ title, missing, required: expect.any(String) });
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

  test.each('<script|<title|<a|<!doctype |</|?a|required: a|x_c=|bearer |{"type":"'.split('|'))(
    'is read within the time of a test, whatever it repeats: %s',
    (piece) => {
      const body = `insufficient scope ${piece.repeat(Math.ceil(maxErrorBytes / piece.length))}`;
      expect(toldBy(403, body, { 'content-type': 'text/html' }).status).toBe(403);
    },
    10_000,
  );
});

describe('the time to wait', () => {
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
  const reset = { 'x-rate-limit-reset': '37' };
  test.each<[Record<string, string>, number | undefined]>([
    [{ 'retry-after': '120' }, 120],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': ' 7 ' }, 7],
    [{ 'retry-after': '1.25' }, 2],
    [{ 'retry-after': '10.25' }, 11],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:30:00 GMT', date }, 120],
    [{ 'retry-after': 'Wed, 21 Oct 2026 7:28:10 GMT', date }, 10],
    [{ 'retry-after': 'Wednesday, 21-Oct-26 07:29:00 GMT', date }, 60],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:00:00 GMT', date }, 0],
    [reset, 37],
    [{ 'retry-after': '5', ...reset }, 5],
    ...['soon', '.5', '5.', 'x5', '5x', '5 minutes', 'Foo 9:99:99', '2026-10-22'].map(
      (said): [Record<string, string>, number] => [{ 'retry-after': said, date, ...reset }, 37],
    ),
    [{ 'retry-after': '-5' }, undefined],
    [{}, undefined],
  ])('of %j is %s', (headers, seconds) => {
    expect(toldBy(429, '', headers).retryAfterSeconds).toBe(seconds);
  });

  test.each([{}, { date: 'no date' }])(
    'is counted by our own clock where the answer has none: %j',
    (more) => {
      const soon = new Date(Date.now() + 100_000).toUTCString();
      const seconds = toldBy(429, '', { 'retry-after': soon, ...more }).retryAfterSeconds;
      expect(Math.abs(Number(seconds) - 100)).toBeLessThan(10);
    },
  );

  test('is not the reset of a rate limit that was not reached: it comes with every answer', () => {
    const headers = { 'x-rate-limit-remaining': '49990', 'x-rate-limit-reset': '1' };
    expect(toldBy(503, '', headers)).not.toHaveProperty('retryAfterSeconds');
    expect(toldBy(503, '', { ...headers, 'retry-after': '9' }).retryAfterSeconds).toBe(9);
  });
});

describe('an answer that repeats the request', () => {
  const token = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiI3In0.c2lnbmF0dXJlLw==';
  const signature = 'Zq3xYh0rT5uVw9AbCdEfGhIjKlMnOpQrStUvWxYz012';
  const opaque = 'aB3+dE5/gH7jK9lMnOpQrStUvWxYz0123456789+ab/cd==';
  const escaped = (text: string) =>
    text.replace(/[+/=]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  const requestWith = (secret: string, before = '') =>
    `${before}GET /things HTTP/1.1\r\nauthorization: Bearer ${secret}\r\n`;
  const spellings: [string, (secret: string) => string][] = [
    ['in an address', (secret) => `Cannot POST http://a/x?x_a=the-app&x_c=${secret}&x_t=1700000000`],
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
    for (const secret of [token, opaque, signature]) {
      const headers = secret === signature ? {} : { authorization: `Bearer ${secret}` };
      const values = sensitiveValues({ query: { x_c: signature, x_t: '1700000000' }, headers });
      const echo = spell(secret);
      const echoed = { 'x-request-id': echo, location: `/login;${echo}` };
      const texts = [
        echo,
        `Sorry.\n${echo}`,
        `<title>${echo}</title><a href="${echo}">${echo}</a>`,
        ...[
          { type: `#${echo}`, title: echo, detail: echo },
          { url: echo, deep: { echo } },
        ].map((each) => JSON.stringify(each)),
      ];
      const answers = texts.map((text) => ({ status: 400, text }));
      for (const answer of [...answers, { status: 302, text: '' }]) {
        const refusalText = JSON.stringify(parseRefusal({ ...answer, headers: echoed }, values));
        const read = [refusalText, unescaped(refusalText), ...decoded(refusalText)].join(' ').toLowerCase();
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
});

describe('how an answer is read', () => {
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
    ['TEXT/HTML', 'TEXT/HTML'],
    ['application/problem+json; title=jane', 'application/problem+json'],
    ['text/jane.doe', 'text'],
    ['jane/doe', 'an unknown content type'],
    [' text/plain', 'an unknown content type'],
    ['a'.repeat(16), 'an unknown content type'],
    ['a.b/c', 'an unknown content type'],
    [`text/${'b'.repeat(31)}`, 'text'],
    ['', undefined],
  ])('names of the content type %j only what is known: %j', (contentType, refusalText) => {
    expect(typeIn(contentType)).toBe(refusalText);
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
    const { missing: refusalText, required } = toldBy(403, text, {}, { cutOff: true });
    expect([refusalText, required]).toEqual([missing, undefined]);
  });
});

describe('the words that decide', () => {
  const detailOf = (detail: string) => toldBy(403, JSON.stringify({ title: 'T', detail })).detail as string;
  test.each([
    ...'invalid token|Expired Token|invalidtoken|invalid \t\n token|invalid_token|invalid-token'.split('|'),
    ...'invalid&nbsp;token|token invalid|token is invalid|token has expired|token expired'.split('|'),
    ...'timestamp out of range|insufficient scope|no scope defined|no scopes defined'.split('|'),
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

/** Values in JSON, with at least two spaces between them. */
const jsonValues = (text: string): unknown[] =>
  text
    .trim()
    .split(/\s{2,}/)
    .map((each) => JSON.parse(each));

describe('whether JSON is an error', () => {
  test.each([
    [
      'certain',
      `
      {"Errors":[]}  {"ERRORS":["x"],"Id":1}  {"errors":{"a":1},"Id":1}  {"success":false,"Id":1}  {"error":"x","Id":1}
      {"Fault":"x"}  {"exception":{"a":1}}  {"ExceptionMessage":"x","Id":1}  {"ModelState":{"a":["b"]},"Id":1}
      {"error":1}  {"error":["x"]}  {"status":400,"Id":1}  {"status":599}  {"StatusCode":"403 Forbidden"}
      {"status":"FORBIDDEN"}  {"status":{"code":403}}  {"status":{"Status":"404"}}  {"status":"404"}
      {"title":"x","type":"a/b"}  {"title":"x","type":"a#b"}  {"title":"x","type":"urn:b"}  {"Message":"x"}
      {"Message":"x","MessageDetail":"","ExceptionMessage":"","StackTrace":"at"}  {"message":"x","ExceptionType":"T"}
      [{"error":"x"},{"Errors":[]}]`,
    ],
    [
      'likely',
      `
      {"status":"error"}  {"status":"Failed","Id":1}  {"code":404}  {"code":"Not Found"}  {"message":"x","Id":1}
      {"detail":"x"}  {"reason":{"a":1}}  {"message":"x","aStackTrace":1}  {"message":"x","StackTraces":1}
      [{"error":"x"},{"detail":"x"}]  [{"detail":"x"},{"error":"x"}]`,
    ],
    [
      undefined,
      `
      null  "error"  7  []  {}  [[{"error":"x"}]]  [{"error":"x"},{}]  [null]  {"Errors":[],"Id":1}  {"errors":null}
      {"errors":0}  {"error":""}  {"error":{}}  {"error":[]}  {"success":true}  {"success":0}  {"status":399}
      {"status":600}  {"status":400.5}  {"status":"Open"}  {"status":"40"}  {"status":"4000"}  {"status":"no 404"}
      {"status":[403]}  {"status":{"code":{"code":403}}}  {"status":{"Name":403}}  {"status":"399"}  {"status":null}
      {"title":"x","type":"y"}  {"title":"","type":"a/b"}  {"title":"x","type":7}  {"type":"a/b"}
      {"status":"in error"}  {"message":""}  {"code":"x"}  {"code":200}  {"anError":"x"}  {"errorsOf":"x"}
      {"Messages":"x"}  {"myStatus":404}`,
    ],
  ])('is %s by its fields', (likeness, values) => {
    for (const value of jsonValues(values))
      expect(likenessToError(value), JSON.stringify(value)).toBe(likeness);
  });
});

describe('the words of an error in JSON', () => {
  test.each([
    'message',
    'Messages',
    'error_message',
    'errorMessage',
    'Detail',
    'description',
    'TEXT',
    'reasons',
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
    'JSON Binding Error',
    'Invalid Parameters',
    'Invalid Token',
    'Expired Token',
    'Not Authorized',
    'Resource Not Found',
    'Internal Error',
    'Access Denied',
    'Request Rejected',
    'Redirect',
    'Errors',
    'Forbidden',
    "I'm a Teapot",
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
      call: safe`PUT /x`,
      message: safe`m`,
      refused,
      sent,
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
    const facts = { operation: operations.once, call: safe`POST /x`, message: safe`m`, sent: true };
    const error = new PlatformError({ ...facts, cause });
    expect(error).toMatchObject({ ...facts, cause, name: 'PlatformError' });
    expect(error).toMatchObject({ refused: undefined, acceptedUnverified: false, unexpected: false });
    const refusalText = { acceptedUnverified: true, unexpected: true };
    expect(new PlatformError({ ...facts, ...refusalText })).toMatchObject(refusalText);
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
    'invalid token',
    'EXPIRED TOKEN',
    'an invalid    token.',
    'invalid_token',
    'invalid-token',
    'invalidtoken',
    'token is invalid',
    'token  has    expired',
    'token expired',
    'token    invalid',
    'invalid&nbsp;token',
    'token \n is \n expired',
  ])('is that the key is refused: %s', (title) => {
    expect(isInvalidToken(of(403, { title }))).toBe(true);
    expect(isInvalidToken(of(403, { detail: title }))).toBe(true);
    expect(isInvalidToken(of(403, { title, missing: 'permission' }))).toBe(false);
  });

  test.each([
    'invalid     token',
    'invalid - token',
    'xinvalid token',
    'invalid tokens',
    'token     invalid',
    'mytoken invalid',
    'token invalidated',
    'token was invalid',
    'tokenexpired',
    'token is     invalid',
    'tokenis invalid',
    'token isinvalid',
    'invalid__token',
    '',
  ])('is not that the key is refused: %s', (title) => {
    expect(isInvalidToken(of(403, { title }))).toBe(false);
  });

  test('is that the key is refused, by a 401 of the API', () => {
    expect(isInvalidToken(of(401, { form: 'nothing' }))).toBe(true);
    expect(isInvalidToken(of(401, { form: 'page' }))).toBe(false);
    expect(isInvalidToken(of(403, { form: 'error' }))).toBe(false);
  });

  test.each(
    `
    Not Found|HTTP ERROR 404|/svc/api/things/Jane is NOT found|a, an, the, that, this, those: 7|no such page|pages was
    was is be does could cannot exist exists|on for with of here|unreadable json, errors|resource resources|path paths
    route routes|uri uris url urls|api apis|endpoint endpoints|method methods|get put post delete
    version versions supported|server values|request requested|match matched matches|`.split(/\||\n/),
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

  test.each<[keyof typeof operations, RefusedCall | undefined, RegExp | undefined, boolean]>([
    ['read', of(404), undefined, true],
    ['read', of(404, { form: 'page' }), undefined, false],
    ['read', of(410, { form: 'error' }), undefined, false],
    ['read', undefined, undefined, false],
    ['read', of(404, { form: 'error', title: 'Grade not found' }), /grade/i, true],
    ['read', of(404, { form: 'error', title: 'User not found' }), /grade/i, false],
    ['read', of(404, { form: 'text', title: 'Grade not found' }), /grade/i, false],
    ['repeatable', of(404, { form: 'error', title: 'User not found' }), undefined, true],
    ['repeatable', of(404, { form: 'error', title: 'Not Found' }), undefined, false],
  ])('is that a resource does not exist: %s %j %s', async (name, refused, resource, isAbsent) => {
    const facts = { operation: operations[name], call: safe`x`, message: safe`m`, refused, sent: true };
    const call = undefinedIfNotFound(Promise.reject(new PlatformError(facts)), resource);
    expect(await call.catch((error: unknown) => error)).toEqual(
      isAbsent ? undefined : expect.any(PlatformError),
    );
  });

  test('is in all that it says, without escapes', () => {
    expect(refusalText(of(400))).toBe('\n');
    expect(refusalText(of(400, { title: 'a%20b', detail: 'c&amp;d' }))).toBe('a b\nc&d');
  });
});
