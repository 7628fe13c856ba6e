import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { describe, expect, test } from 'vitest';
import {
  dispositions,
  type FailureKind,
  MessageFailure,
  needsDecision,
  needsPerson,
} from '../../../../lib/message/failure.ts';
import { failureOf } from '../../../../lib/platform/client/failure-of.ts';
import { PlatformError } from '../../../../lib/platform/client/platform-error.ts';
import { localClient } from '../../../local/aws.ts';
import { startSecretsManager } from '../../../local/secrets-manager.ts';
import { answering, clientAt, nobody, operations, raw } from '../servers.ts';

const path = { id: 1 };
const head = (status: string, ...lines: string[]) => `HTTP/1.1 ${[status, ...lines].join('\r\n')}\r\n\r\n`;
const thrownBy = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => Promise.reject(new Error('nothing was thrown')),
    (error: unknown) => error,
  );

/** How a call fails at this address, for one that may be sent twice and one that must not. */
const failuresAt = async (url: string, settings: object = {}) => {
  const { platform } = clientAt(url, { headersTimeoutMs: 200, connectTimeoutMs: 500, ...settings });
  const calls = [operations.read, operations.readOnce].map((declared) => platform.call(declared, { path }));
  return (await Promise.all(calls.map(thrownBy))).map(failureOf);
};

describe('the kind of a failed call', () => {
  const json = 'application/problem+json';
  const scope = '{"title":"Not Authorized","detail":"Insufficient scope to call API. Required: a:b:c"}';
  const permission =
    '{"title":"Forbidden","detail":"Not authorized for [ orgUnitId: 1, securityVariableName: X ]"}';
  const noScopes =
    '{"type":"https://d/x#not-authorized","title":"No scopes defined for specified requests."}';
  const invalid = 'Access is denied, as the request has an invalid token.';
  const invalidError = JSON.stringify({ Errors: [{ Message: invalid }] });
  const deepInvalid = `<html><head><style>${'a{}'.repeat(500)}</style></head><p>${'Sorry. '.repeat(900)}${invalid}`;
  const invalidType = '{"type":"https://docs.example/x.html#invalid-token","title":"Unauthorized"}';

  test.each<[string, number, string, string, FailureKind, FailureKind]>([
    ['a malformed body', 400, json, '{"title":"JSON Binding Error"}', 'rejected', 'rejected'],
    ['no such thing', 404, json, '', 'rejected', 'rejected'],
    ['a method not allowed', 405, json, '', 'rejected', 'rejected'],
    ['a conflict', 409, json, '', 'rejected', 'uncertain'],
    ['a payment that is required', 402, json, '', 'rejected', 'uncertain'],
    ['gone', 410, json, '', 'rejected', 'rejected'],
    ['too large', 413, json, '', 'rejected', 'rejected'],
    ['too large by a page', 413, 'text/html', '<html></html>', 'intercepted', 'uncertain'],
    ['a redirect', 302, 'text/html', '', 'intercepted', 'uncertain'],
    ['a permanent redirect', 308, 'text/html', '', 'intercepted', 'uncertain'],
    ['a page that is not found', 404, 'text/html', '<html>No</html>', 'intercepted', 'uncertain'],
    ['a login', 401, 'text/html', '<html>Log in</html>', 'intercepted', 'uncertain'],
    ['a proxy that wants a password', 407, 'text/plain', 'Who?', 'intercepted', 'uncertain'],
    ['a missing scope', 403, json, scope, 'missing-scope', 'missing-scope'],
    ['a token of no scopes', 403, json, noScopes, 'missing-scope', 'missing-scope'],
    ['a missing permission', 403, json, permission, 'missing-permission', 'missing-permission'],
    ['a 403 without a word', 403, json, '', 'intercepted', 'uncertain'],
    ['a 403 in words of its own', 403, 'text/plain', 'error code: 1020', 'intercepted', 'uncertain'],
    [
      'a 403 in words, labelled as HTML',
      403,
      'text/html',
      'Blocked by policy 942100.',
      'intercepted',
      'uncertain',
    ],
    ['a 403 of a gateway', 403, json, '{"message":"Forbidden"}', 'intercepted', 'uncertain'],
    ['a 403 of a mesh', 403, 'text/plain', 'RBAC: access denied', 'intercepted', 'uncertain'],
    ['a 403 in a form of the API', 403, json, '{"Errors":[]}', 'missing-permission', 'missing-permission'],
    ['a refused key, with blanks', 403, 'text/plain', 'Invalid  token', 'credentials', 'credentials'],
    [
      'a refused key, as HTML writes it',
      403,
      'text/html',
      '<p>Invalid&nbsp;token',
      'credentials',
      'credentials',
    ],
    ['a refused key, labelled as JSON', 403, json, 'Invalid&nbsp;token', 'credentials', 'credentials'],
    ['a success that refuses the key as JSON', 200, json, 'Invalid token', 'credentials', 'uncertain'],
    [
      'a success that refuses the key in an error',
      200,
      json,
      '{"Errors":[{"Message":"Invalid token"}]}',
      'credentials',
      'uncertain',
    ],
    [
      'a success that refuses the key beside an id',
      200,
      json,
      '{"Message":"Invalid token","RequestId":"1"}',
      'credentials',
      'uncertain',
    ],
    ['a 403 page', 403, 'text/html', '<html>Forbidden</html>', 'intercepted', 'uncertain'],
    ['a refused key', 403, 'text/plain', 'Invalid token', 'credentials', 'credentials'],
    ['a refused key, in a sentence', 403, 'text/plain', invalid, 'credentials', 'credentials'],
    ['a refused key, in an error', 403, json, invalidError, 'credentials', 'credentials'],
    ['a refused key, in a page', 403, 'text/html', `<html><p>${invalid}`, 'credentials', 'credentials'],
    ['a refused key, deep in a page', 401, 'text/html', deepInvalid, 'credentials', 'credentials'],
    ['an expired key', 403, 'text/plain', 'Token expired', 'credentials', 'credentials'],
    ['a refused key by its type', 403, json, invalidType, 'credentials', 'credentials'],
    ['a 401', 401, json, '', 'credentials', 'credentials'],
    ['a refused clock', 403, 'text/html', 'Timestamp out of range', 'unavailable', 'unavailable'],
    ['too many', 429, json, '', 'throttled', 'throttled'],
    ['too many by a page', 429, 'text/html', '<html></html>', 'throttled', 'uncertain'],
    // A proxy says so as well when it is tired of waiting for what is then done.
    ['not now', 503, json, '', 'unavailable', 'uncertain'],
    ['a page of not now', 503, 'text/html', '<html></html>', 'unavailable', 'uncertain'],
    ['a server error', 500, json, '{"title":"Internal Server Error"}', 'unavailable', 'uncertain'],
    ['a bad gateway', 502, 'text/html', '<html></html>', 'unavailable', 'uncertain'],
    ['a gateway’s timeout', 504, 'text/html', '', 'unavailable', 'uncertain'],
    ['another server error', 507, json, '', 'unavailable', 'uncertain'],
    ['a request timeout', 408, json, '', 'unavailable', 'uncertain'],
    ['a success that is a page', 200, 'text/html', '<html></html>', 'intercepted', 'uncertain'],
    ['a success that is an error', 200, json, '{"Errors":[{"Message":"No"}]}', 'rejected', 'uncertain'],
    ['a success of too many', 200, json, '{"status":429,"title":"Slowly"}', 'throttled', 'uncertain'],
    ['a success of not now', 200, json, '{"status":503,"title":"Later"}', 'unavailable', 'uncertain'],
    [
      'a success that lacks a scope',
      200,
      json,
      `{"status":403,${scope.slice(1)}`,
      'missing-scope',
      'uncertain',
    ],
    ['a success that refuses the key', 200, 'text/plain', 'Invalid token', 'credentials', 'uncertain'],
    ['a success in other words', 200, 'text/plain', 'Done', 'unexpected-answer', 'uncertain'],
    ['a success of another shape', 200, json, '{"Id":"x"}', 'unexpected-answer', 'uncertain'],
    ['a success of nothing', 200, json, '', 'unexpected-answer', 'uncertain'],
    ['a success that is half', 200, json, '{"Id":', 'unavailable', 'uncertain'],
  ])('for %s (%i)', async (_, status, contentType, body, repeatable, once) => {
    const { url, requests } = await answering(() => ({
      status,
      headers: { 'content-type': contentType },
      body,
    }));
    // The fixed credentials of these tests are read again and tried once more.
    const failures = await failuresAt(url);
    expect(failures.map(({ kind }) => kind)).toEqual([repeatable, once]);
    // Not that of a success, whose call may have acted.
    expect(requests).toHaveLength(2 + [repeatable, once].filter((kind) => kind === 'credentials').length);
    for (const failure of failures) {
      expect(failure.operation).toMatch(/^(GET|POST) \/svc\/api\/lp\/1\.49\/things\/1$/);
      expect(failure.remedy).not.toBe('');
      const told = /"status":(\d+)/.exec(body)?.[1];
      const isHalf = body === '{"Id":';
      expect(failure.status).toBe(isHalf ? undefined : Number(told ?? status));
    }
  });

  test.each<[string, FailureKind, FailureKind, () => Promise<string>]>([
    [
      'a reset',
      'unavailable',
      'uncertain',
      async () => (await raw((socket) => socket.resetAndDestroy())).url,
    ],
    ['an end', 'unavailable', 'uncertain', async () => (await raw((socket) => socket.end())).url],
    ['silence', 'unavailable', 'uncertain', async () => (await raw(() => {})).url],
    ['no HTTP', 'unavailable', 'uncertain', async () => (await raw((socket) => socket.end('hello'))).url],
    [
      'a success that is cut off',
      'unavailable',
      'uncertain',
      async () => (await raw((socket) => socket.end(`${head('200 OK', 'content-length: 9')}{"Id":1`))).url,
    ],
    [
      'a server error that is cut off',
      'unavailable',
      'uncertain',
      async () => (await raw((socket) => socket.end(`${head('500 Oh', 'content-length: 9')}{"ti`))).url,
    ],
    [
      'a 403 whose words are cut off',
      'unavailable',
      'unavailable',
      async () =>
        (await raw((socket) => socket.end(`${head('403 No', 'content-length: 13')}Invalid tok`))).url,
    ],
    [
      'a 403 whose words did not come at all',
      'unavailable',
      'unavailable',
      async () => (await raw((socket) => socket.end(head('403 No', 'content-length: 13')))).url,
    ],
    [
      'a 403 that is cut off after it told its type',
      'missing-permission',
      'missing-permission',
      async () =>
        (
          await raw((socket) =>
            socket.end(
              `${head('403 No', 'content-length: 999')}{"type":"https://d/x#forbidden","title":"Forb`,
            ),
          )
        ).url,
    ],
    [
      'a 404 that is cut off',
      'unavailable',
      'rejected',
      async () => (await raw((socket) => socket.end(`${head('404 No', 'content-length: 13')}{"t`))).url,
    ],
    [
      'a 400 that is cut off',
      'rejected',
      'rejected',
      async () => (await raw((socket) => socket.end(`${head('400 No', 'content-length: 13')}{"t`))).url,
    ],
    ['a connection never made', 'unavailable', 'unavailable', nobody],
    ['a name nobody knows', 'unavailable', 'unavailable', async () => 'http://platform.invalid'],
    [
      'no TLS',
      'unavailable',
      'unavailable',
      async () => `https://127.0.0.1:${(await raw((socket) => socket.end('no'))).port}`,
    ],
  ])('for %s', async (_, repeatable, once, address) => {
    const failures = await failuresAt(await address());
    expect(failures.map(({ kind }) => kind)).toEqual([repeatable, once]);
  });

  test('is not uncertain where half of the body was sent', async () => {
    const { url } = await raw((socket) => socket.resetAndDestroy());
    const piece = Buffer.alloc(64 * 1024);
    let complete = false;
    const body = async function* () {
      for (let sent = 0; sent < 400; sent += 1) yield piece;
      complete = true;
    };
    const payload = async () => ({
      contentType: 'text/plain',
      contentLength: 400 * piece.length,
      body: body(),
      complete: () => complete,
    });
    const error = await thrownBy(clientAt(url).platform.call(operations.once, { path, payload }));
    expect(failureOf(error).kind).toBe('unavailable');
  });

  test('is that of a clock that does not heal: to wait', async () => {
    const { url, requests } = await answering(() => ({ status: 403, body: 'Timestamp out of range\r\n1' }));
    expect((await failuresAt(url)).map(({ kind }) => kind)).toEqual(['unavailable', 'unavailable']);
    expect(requests.length).toBeLessThanOrEqual(4);
  });
});

describe('what a failure tells', () => {
  test('is the whole of what the platform said, for the letter', async () => {
    const detail = 'Insufficient scope to call API. Required: grades:gradevalues:write';
    const { url } = await answering(() => ({
      status: 403,
      headers: { 'x-request-id': 'r-1', 'retry-after': '7' },
      body: JSON.stringify({ type: 'https://d/x.html#not-authorized', title: 'Not Authorized', detail }),
    }));
    expect((await failuresAt(url))[1]).toEqual({
      kind: 'missing-scope',
      message:
        'The platform answered POST /svc/api/lp/1.49/things/1 with 403 Not Authorized: it requires grades:gradevalues:write',
      remedy: 'Grant the scope grades:gradevalues:write to the client registered for sis-relay, then replay.',
      operation: 'POST /svc/api/lp/1.49/things/1',
      status: 403,
      type: 'not-authorized',
      title: 'Not Authorized',
      detail,
      required: 'grades:gradevalues:write',
      requestId: 'r-1',
      retryAfterSeconds: 7,
    });
  });

  test('has no field for what was not said', async () => {
    const { url } = await answering(() => ({ status: 409 }));
    expect((await failuresAt(url))[0]).toEqual({
      kind: 'rejected',
      message: 'The platform answered GET /svc/api/lp/1.49/things/1 with 409',
      remedy: expect.any(String),
      operation: 'GET /svc/api/lp/1.49/things/1',
      status: 409,
    });
  });

  test('names the permission to give, and to whom', async () => {
    const detail = 'Not authorized for [ orgUnitId: 6606, securityVariableName: EditGrades ]';
    const { url } = await answering(() => ({
      status: 403,
      body: JSON.stringify({ title: 'Forbidden', detail }),
    }));
    expect((await failuresAt(url))[0]).toMatchObject({
      required: 'EditGrades',
      remedy: expect.stringMatching(/signing user's role .* EditGrades/),
    });
  });

  test('names the scope that the call needs where the platform names none', async () => {
    const { url } = await answering(() => ({
      status: 403,
      body: 'No scopes defined for specified requests.',
    }));
    const { platform } = clientAt(url, { overrides: { 'read-thing': { scope: 'things:thing:read' } } });
    const failure = failureOf(await thrownBy(platform.call(operations.read, { path })));
    expect(failure).toMatchObject({
      kind: 'missing-scope',
      remedy: 'Grant the scope things:thing:read to the client registered for sis-relay, then replay.',
    });
  });

  const scopeProblem = (words: string) =>
    JSON.stringify({
      ...{ type: 'https://d/x#not-authorized', title: 'Not Authorized', status: 403 },
      detail: `Insufficient scope to call API. Required: ${words}`,
    });
  const permissionProblem = (words: string) =>
    JSON.stringify({
      ...{ type: 'https://d/x#forbidden', title: 'Forbidden', status: 403 },
      detail: `Not authorized for [ orgUnitId: 1, securityVariableName: ${words} ]`,
    });

  test.each([
    ['a scope', scopeProblem('a:b:c'), 'Not Authorized: it requires a:b:c'],
    ['two scopes', scopeProblem('a:b:c,d:e:*'), 'Not Authorized: it requires a:b:c,d:e:*'],
    ['what is not the name of a scope', scopeProblem('everything'), 'Not Authorized'],
    ['a permission, which may be one word', permissionProblem('Grading'), 'Forbidden: it requires Grading'],
    ['nothing', '{"type":"https://d/x#forbidden","title":"Forbidden","status":403}', 'Forbidden'],
  ])('says in the log what a 403 requires: %s', async (_, body, told) => {
    const { url } = await answering(() => ({ status: 403, body }));
    expect((await failuresAt(url))[0]?.message).toBe(
      `The platform answered GET /svc/api/lp/1.49/things/1 with 403 ${told}`,
    );
  });

  test.each([
    [
      'no scope that anybody names',
      'No scopes defined for specified requests.',
      'Grant the scope that this call needs to the client registered for sis-relay, then replay.',
    ],
    [
      'a permission that nobody names',
      '{"type":"https://d/x#forbidden","title":"Forbidden","status":403}',
      "Give the signing user's role the permission for this call on the platform, then replay.",
    ],
    [
      'a permission that has a type of scopes',
      permissionProblem('Grading').replace('#forbidden', '#not-authorized'),
      "Give the signing user's role the permission Grading on the platform, then replay.",
    ],
  ])('says what to grant after a 403 for want of %s', async (_, body, remedy) => {
    const { url } = await answering(() => ({ status: 403, body }));
    expect((await failuresAt(url))[0]?.remedy).toBe(remedy);
  });

  test.each([
    [undefined, 'the scope.'],
    ['things:thing:read', 'the scope things:thing:read.'],
  ])('names the scope %s of a call that something without a form refused', async (scope, end) => {
    const { url } = await answering(() => ({
      ...{ status: 403, headers: { 'content-type': 'text/plain' }, body: 'Blocked' },
    }));
    const { platform } = clientAt(url, { ...(scope && { overrides: { 'read-thing': { scope } } }) });
    const { remedy } = failureOf(await thrownBy(platform.call(operations.read, { path })));
    expect(remedy).toMatch(
      /^Check what is between sis-relay and the platform .* Then replay\. If the platform itself/,
    );
    expect(remedy.endsWith(end)).toBe(true);
  });

  test('of what stands before the platform asks for nothing of its user, but for the path where that is not known', async () => {
    const remedyOf = async (status: number) => {
      const { url } = await answering(() => ({
        ...{ status, headers: { 'content-type': 'text/html' }, body: '<html>No</html>' },
      }));
      return (await failuresAt(url))[0]?.remedy;
    };
    const look = /^Check what is between [^.]* PLATFORM_API_ROOT\. Then replay\./;
    expect(await remedyOf(403)).toMatch(new RegExp(`${look.source}$`));
    expect(await remedyOf(400)).toMatch(new RegExp(`${look.source}$`));
    for (const status of [300, 399, 404, 405])
      expect(await remedyOf(status), `${status}`).toMatch(new RegExp(`${look.source} Check the path`));
  });

  test('leads to the path without its slash where it has one', async () => {
    const { url } = await answering(() => ({ status: 404 }));
    const overrides = { 'read-thing': { path: '/things/{id}/' } };
    const { platform } = clientAt(url, { overrides });
    expect(failureOf(await thrownBy(platform.call(operations.read, { path }))).remedy).toContain(
      'Check the path /svc/api/lp/1.49/things/1/ on the platform: it may have another name, no slash at its end,',
    );
  });

  test('names both causes of a call that is not authorized, where the platform tells neither', async () => {
    const body = '{"type":"https://d/x.html#not-authorized","title":"Not Authorized","status":403}';
    const { url } = await answering(() => ({ status: 403, body }));
    const { platform } = clientAt(url, { overrides: { 'read-thing': { scope: 'things:thing:read' } } });
    expect(failureOf(await thrownBy(platform.call(operations.read, { path }))).remedy).toMatch(
      /^Either the client .* lacks the scope things:thing:read, or the signing user's role lacks the permission/,
    );
  });

  test.each<[string, number, string, Record<string, string>, FailureKind]>([
    ['a 404 without words', 404, '', {}, 'rejected'],
    ['a 404 in no words but its own', 404, 'Not Found', { 'content-type': 'text/plain' }, 'rejected'],
    ['a 404 page', 404, '<html>404</html>', { 'content-type': 'text/html' }, 'intercepted'],
    ['a 404 of a router', 404, '404 page not found', { 'content-type': 'text/plain' }, 'rejected'],
    [
      'a 404 of a router, as JSON',
      404,
      '{"Message":"No HTTP resource was found that matches the request URI"}',
      {},
      'rejected',
    ],
    ['a 404 of no errors', 404, '{"Errors":[]}', {}, 'rejected'],
    [
      'a 404 that is a blank problem',
      404,
      '{"type":"about:blank","title":"Not Found","status":404}',
      {},
      'rejected',
    ],
    [
      'a 404 that is a typed problem',
      404,
      '{"type":"https://d/x#not-found","title":"Not Found"}',
      {},
      'rejected',
    ],
    ['a 405', 405, '{"title":"Method Not Allowed","detail":"GET alone"}', {}, 'rejected'],
    ['a redirect', 302, '', { location: '/login' }, 'intercepted'],
  ])('leads to the path, its slash, its version and the override after %s', async (...row) => {
    const [, status, body, headers, kind] = row;
    const { url } = await answering(() => ({ status, body, headers }));
    const [failure] = await failuresAt(url);
    expect(failure?.kind).toBe(kind);
    expect(failure?.remedy).toContain(
      'Check the path /svc/api/lp/1.49/things/1 on the platform: it may have another name, a slash at its end, or another version there. Correct it in PLATFORM_OPERATIONS under “read-thing”, then replay.',
    );
  });

  test('leads to the message after a 404 that says what is not there', async () => {
    const body = '{"title":"Resource Not Found","detail":"User not found"}';
    const { url } = await answering(() => ({ status: 404, body }));
    expect((await failuresAt(url))[0]?.remedy).toBe(
      'Correct what the platform names, in the message or on the platform, then replay.',
    );
  });

  test('says what answered in the place of the API, and that it was not the API', async () => {
    const body = '<html><head><title>Web Application Firewall</title></head><p>Blocked: x_c=Zq3xYh0rT5uV</p>';
    const { url } = await answering(() => ({
      status: 403,
      headers: { 'content-type': 'text/html; charset=utf-8' },
      body,
    }));
    expect((await failuresAt(url))[0]).toMatchObject({
      kind: 'intercepted',
      message:
        'Something in front of the platform’s API answered GET /svc/api/lp/1.49/things/1: 403 text/html',
      ...{ status: 403, title: 'Web Application Firewall', detail: 'Blocked: x_c=…' },
      remedy: expect.stringMatching(/proxy.*firewall.*PLATFORM_URL.*Then replay/),
    });
  });

  test('names both who may have refused, where a 403 is in no form of the API', async () => {
    const { url } = await answering(() => ({
      status: 403,
      headers: { 'content-type': 'text/plain' },
      body: 'Blocked: private-content',
    }));
    const [failure] = await failuresAt(url);
    expect(failure).toMatchObject({
      message: 'The answer to GET /svc/api/lp/1.49/things/1 is in no form that the API uses: 403 text/plain',
      title: 'Blocked: private-content',
      remedy: expect.stringMatching(/proxy.*firewall.*signing user's role.*permission.*scope/),
    });
  });

  test('tells a success of another shape beside the one that was expected', async () => {
    const { url } = await answering(() => ({ body: '{"Id":null,"Name":"private-content"}' }));
    const failures = await failuresAt(url);
    for (const failure of failures)
      expect(failure).toMatchObject({
        message: expect.stringMatching(
          /^The platform answered (GET|POST) \S+ with 200, and the answer lacks required fields: Id$/,
        ),
        ...{ status: 200, title: 'Unexpected Answer' },
        detail: 'came: { Id: null, Name: string }; expected: { Id: number, … }',
      });
    expect(failures.map(({ kind }) => kind)).toEqual(['unexpected-answer', 'uncertain']);
    expect(failures[0]?.remedy).toMatch(/Check on the platform whether it was done.*“read-thing”/);
  });

  test('says under which status an error came that tells another', async () => {
    const body = '{"type":"https://d/x#busy","title":"Too Many Requests","status":429}';
    const { url } = await answering(() => ({ body, headers: { 'x-rate-limit-reset': '7' } }));
    expect((await failuresAt(url))[0]).toMatchObject({
      ...{ kind: 'throttled', status: 429, retryAfterSeconds: 7 },
      message:
        'The platform answered GET /svc/api/lp/1.49/things/1 with 200, and its content says 429 Too Many Requests',
    });
  });

  test.each([
    ['{"title":"FORBIDDEN","detail":"x"}', ' Forbidden'],
    ['{"type":"https://d/x#json-binding-error","title":"Jane is absent"}', ' JSON Binding Error'],
    ['{"type":"https://d/x#jane-is-absent","title":"Jane is absent","detail":"x"}', ''],
    ['{"title":"JANE HAS DYSLEXIA","detail":"x"}', ''],
  ])('names in the message only errors that are known: %s', async (body, name) => {
    const { url } = await answering(() => ({ status: 400, body }));
    expect((await failuresAt(url))[0]?.message).toBe(
      `The platform answered GET /svc/api/lp/1.49/things/1 with 400${name}`,
    );
  });

  test('keeps the platform’s own words out of the message that is logged', async () => {
    const { url } = await answering(() => ({
      status: 400,
      body: '{"Errors":[{"Message":"Comment: private-content"}]}',
    }));
    const [failure] = await failuresAt(url);
    expect(failure?.detail).toBe('Comment: private-content');
    expect(failure?.message).not.toContain('private-content');
  });

  test('of an unanswered call names the call and what happened', async () => {
    const [, failure] = await failuresAt(await nobody());
    expect(failure).toEqual({
      kind: 'unavailable',
      message: 'POST /svc/api/lp/1.49/things/1: no connection (ECONNREFUSED)',
      remedy: expect.any(String),
      operation: 'POST /svc/api/lp/1.49/things/1',
    });
  });
});

describe('a failure of a list that never ends', () => {
  test('is an answer that nobody expected', async () => {
    const error = new PlatformError({
      ...{ operation: operations.read, call: 'GET /things', sent: true, unexpected: true },
      message: 'the list does not end',
    });
    expect(failureOf(error)).toMatchObject({
      ...{ kind: 'unexpected-answer', message: 'GET /things: the list does not end' },
      remedy: expect.stringMatching(/^Check on the platform whether it was done/),
    });
  });
});

describe('a defect', () => {
  test.each([
    [new TypeError('x is not a function of Jane'), 'Unexpected TypeError'],
    ['a text', 'Unexpected string'],
    [undefined, 'Unexpected undefined'],
  ])('is told by the name of what was thrown: %s', (thrown, message) => {
    expect(failureOf(thrown)).toEqual({
      ...{ kind: 'defect', message },
      remedy: expect.stringMatching(/^This is a bug in sis-relay/),
    });
  });
});

describe('a failure that its thrower knows', () => {
  test('keeps its cause', () => {
    const cause = new Error('why');
    expect(new MessageFailure('rejected', 'no', { cause }).cause).toBe(cause);
  });

  test.each(Object.keys(dispositions) as FailureKind[])('keeps its kind and has a remedy: %s', (kind) => {
    const failure = failureOf(new MessageFailure(kind, 'What happened'));
    expect(failure).toEqual({ kind, message: 'What happened', remedy: expect.stringMatching(/\w{3}.*\.$/) });
    expect(failureOf(new MessageFailure(kind, 'x', { remedy: 'Do this.' })).remedy).toBe('Do this.');
  });

  test('is parked or waits, and nothing else', () => {
    expect(new Set(Object.values(dispositions))).toEqual(new Set(['park', 'wait']));
  });

  test('is called by its name, and has no refusal where nothing was refused', () => {
    expect(new MessageFailure('rejected', 'no')).toMatchObject({ name: 'MessageFailure', refusal: {} });
    expect(failureOf(new MessageFailure('rejected', 'no'))).toEqual({
      ...{
        kind: 'rejected',
        message: 'no',
        remedy: expect.stringMatching(/^Correct what the platform names/),
      },
    });
    const refusal = { status: 409, title: 'Conflict' };
    expect(failureOf(new MessageFailure('rejected', 'no', { refusal }))).toMatchObject(refusal);
  });

  test('is for a person to decide, or calls one, by its kind alone', () => {
    const kinds = Object.keys(dispositions) as FailureKind[];
    expect(kinds.filter(needsDecision)).toEqual(['uncertain', 'outdated']);
    expect(needsDecision(undefined)).toBe(false);
    expect(kinds.filter(needsPerson)).toEqual(['credentials', 'aws-refused']);
    expect(needsPerson(undefined)).toBe(false);
  });

  test('waits only where waiting can help', () => {
    const waiting = Object.entries(dispositions).filter(([, fate]) => fate === 'wait');
    expect(waiting.map(([kind]) => kind)).toEqual([
      'unknown-id',
      'credentials',
      'aws-refused',
      'throttled',
      'unavailable',
    ]);
  });
});

describe('an error of AWS', () => {
  const read = async (url: string) => {
    const client = new SecretsManagerClient({
      ...localClient(url),
      maxAttempts: 1,
      requestHandler: { requestTimeout: 100, throwOnRequestTimeout: true },
    });
    const error = await thrownBy(client.send(new GetSecretValueCommand({ SecretId: 'x' })));
    client.destroy();
    return failureOf(error);
  };
  const faulty = async (fault: object) => {
    const server = await startSecretsManager();
    await fetch(`${server.url}/_local/faults`, { method: 'POST', body: JSON.stringify(fault) });
    const failure = await read(server.url);
    await server.close();
    return failure;
  };

  test.each([
    { status: 500 },
    { status: 503, type: 'ServiceUnavailable' },
    { type: 'ThrottlingException' },
    { reset: true },
    { hang: true },
    { truncate: true },
  ])('waits: %j', async (fault) => {
    expect(await faulty(fault)).toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/^AWS did not answer: \w+$/),
    });
  });

  test('waits where nobody answers', async () => {
    expect((await read(await nobody())).kind).toBe('unavailable');
  });
});

describe('anything else', () => {
  test.each([
    new TypeError('x is not a function: private-content'),
    new Error('private-content'),
    Object.assign(new Error('private-content'), { code: 'ERR_INVALID_ARG_TYPE' }),
    'private-content',
    undefined,
    null,
    { kind: 'invalid', message: 'private-content' },
  ])('is a defect of ours, of which only the name is told: %s', (thrown) => {
    const failure = failureOf(thrown);
    expect(failure.kind).toBe('defect');
    expect(JSON.stringify(failure)).not.toContain('private-content');
  });

  test('is a call that cannot be made as it is declared', async () => {
    const { url } = await answering();
    const { platform } = clientAt(url, { overrides: { 'read-thing': { path: '/{id}?x=1' } } });
    const error = await thrownBy(platform.call(operations.read, { path }));
    expect(error).not.toBeInstanceOf(PlatformError);
    expect(failureOf(error).kind).toBe('defect');
  });
});
