import { describe, expect, test } from 'vitest';
import { InvalidMessage, MessageFailure } from '../../../../lib/message/failure.ts';
import {
  type FailureKind,
  failureKindNames,
  isRetried,
  needsDecision,
  needsPerson,
} from '../../../../lib/message/failure-kinds.ts';
import { safe } from '../../../../lib/message/safe-text.ts';
import { resultOf } from '../../../../lib/platform/client/check-answer.ts';
import { failureOf, problemsIn } from '../../../../lib/platform/client/failure-of.ts';
import { isFileAnswer, type Operation } from '../../../../lib/platform/client/operation.ts';
import { PlatformError } from '../../../../lib/platform/client/platform-error.ts';
import { operations as everyOperation } from '../../../../lib/platform/resources/operations.ts';
import { clientAt, errorOf, nobody, operations } from '../servers.ts';

const call = safe`GET /svc/api/lp/1.49/things/1`;
type TestAnswer = { status?: number; type?: string; headers?: Record<string, string>; cutBy?: Error };

/** How an answer fails a call that may be sent twice, and one that must not. */
const failuresOf = (
  text: string,
  { status = 403, type = 'a/json', headers, cutBy }: TestAnswer = {},
  more = {},
) =>
  [operations.read, operations.readOnce].map((declared) => {
    const asked = { operation: { ...declared, ...more }, call, input: {}, sensitiveValues: () => [] };
    try {
      resultOf(asked, { status, headers: { 'content-type': type, ...headers }, text, cutBy });
      throw new Error('it succeeded');
    } catch (error) {
      return failureOf(error);
    }
  });
const first = (...given: Parameters<typeof failuresOf>) => failuresOf(...given)[0];

const problem = (anchor: string, title: string, detail?: string) =>
  JSON.stringify({ type: `https://d/x#${anchor}`, title, status: 403, detail });
const scope = (required: string) =>
  problem('not-authorized', 'Not Authorized', `Insufficient scope to call API. Required: ${required}`);
const permission = (name: string) =>
  problem('forbidden', 'Forbidden', `Not authorized for [ orgUnitId: 1, securityVariableName: ${name} ]`);
const noScopes = 'No scopes defined for specified requests.';
const [plain, html] = ['text/plain', 'text/html'];
const cutBy = new Error('reset');

describe('the kind of a failed call', () => {
  test.each<[string, TestAnswer, FailureKind, FailureKind]>([
    ['{"title":"JSON Binding Error"}', { status: 400 }, 'rejected', 'rejected'],
    ['', { status: 404 }, 'rejected', 'rejected'],
    ['{"title":"Resource Not Found","detail":"User not found"}', { status: 404 }, 'rejected', 'rejected'],
    ['{"Errors":[{"Message":"Grade value not found"}]}', { status: 404 }, 'rejected', 'rejected'],
    ['{"title":"Method Not Allowed","detail":"GET alone"}', { status: 405 }, 'rejected', 'rejected'],
    ['', { status: 409 }, 'rejected', 'uncertain'],
    ['', { status: 302 }, 'intercepted', 'uncertain'],
    ['<html>No</html>', { status: 404, type: html }, 'intercepted', 'uncertain'],
    ['<html>Log in</html>', { status: 401, type: html }, 'intercepted', 'uncertain'],
    ['Who?', { status: 407, type: plain }, 'intercepted', 'uncertain'],
    [scope('a:b:c'), {}, 'missing-scope', 'missing-scope'],
    [noScopes, {}, 'missing-scope', 'missing-scope'],
    [permission('X'), {}, 'missing-permission', 'missing-permission'],
    ['{"Errors":[]}', {}, 'missing-permission', 'missing-permission'],
    ['', {}, 'intercepted', 'uncertain'],
    ['error code: 1020', { type: plain }, 'intercepted', 'uncertain'],
    ['RBAC: access denied', { type: plain }, 'intercepted', 'uncertain'],
    ['Blocked by policy 942100.', { type: html }, 'intercepted', 'uncertain'],
    ['{"message":"Forbidden"}', {}, 'intercepted', 'uncertain'],
    ['<html>Forbidden</html>', { type: html }, 'intercepted', 'uncertain'],
    ['Invalid token', { type: plain }, 'credentials', 'credentials'],
    ['Access is denied: the request has an invalid token.', { type: plain }, 'credentials', 'credentials'],
    ['<p>Invalid&nbsp;token', { type: html }, 'credentials', 'credentials'],
    ['{"Errors":[{"Message":"The token is invalid"}]}', {}, 'credentials', 'credentials'],
    ['', { status: 401 }, 'credentials', 'credentials'],
    ['Timestamp out of range', { type: html }, 'unavailable', 'unavailable'],
    ['', { status: 429 }, 'throttled', 'throttled'],
    ['<html></html>', { status: 429, type: html }, 'throttled', 'uncertain'],
    // A proxy says so as well when it is tired of waiting for what is then done.
    ['', { status: 503 }, 'unavailable', 'uncertain'],
    ['', { status: 500 }, 'unavailable', 'uncertain'],
    ['', { status: 408 }, 'unavailable', 'uncertain'],
    ['<html></html>', { status: 200, type: html }, 'intercepted', 'uncertain'],
    ['{"Errors":[{"Message":"No"}]}', { status: 200 }, 'rejected', 'uncertain'],
    ['{"Errors":"No"}', { status: 200 }, 'rejected', 'uncertain'],
    ['{"Message":"No","ModelState":{"Field":["locked"]}}', { status: 200 }, 'rejected', 'uncertain'],
    ['{"status":400,"title":"JSON Binding Error"}', { status: 200 }, 'rejected', 'uncertain'],
    ['{"status":503,"title":"Later"}', { status: 200 }, 'unavailable', 'uncertain'],
    ['{"status":429,"title":"Slowly"}', { status: 200 }, 'throttled', 'uncertain'],
    [scope('a:b:c'), { status: 200 }, 'missing-scope', 'uncertain'],
    ['Invalid token', { status: 200, type: plain }, 'credentials', 'uncertain'],
    ['{"Message":"Invalid token","RequestId":"1"}', { status: 200 }, 'credentials', 'uncertain'],
    ['Done', { status: 200, type: plain }, 'unexpected-answer', 'uncertain'],
    ['{"Id":"x"}', { status: 200 }, 'unexpected-answer', 'uncertain'],
    ['', { status: 200 }, 'unexpected-answer', 'uncertain'],
    ['', { status: 202 }, 'unexpected-answer', 'uncertain'],
    ['', { status: 204 }, 'unexpected-answer', 'uncertain'],
    ['{"Id":', { status: 200 }, 'unavailable', 'uncertain'],
    ['Invalid tok', { cutBy }, 'unavailable', 'unavailable'],
    ['', { cutBy }, 'unavailable', 'unavailable'],
    ['{"type":"https://d/x#forbidden","title":"Forb', { cutBy }, 'missing-permission', 'missing-permission'],
    ['{"t', { status: 404, cutBy }, 'unavailable', 'rejected'],
    ['{"t', { status: 400, cutBy }, 'rejected', 'rejected'],
  ])('of %j with %j', (text, given, repeatable, once) => {
    const failures = failuresOf(text, given);
    expect(failures.map(({ kind }) => kind)).toEqual([repeatable, once]);
    for (const { remedy } of failures) expect(remedy).toMatch(/^(1\. )?[A-Z].*\.$/);
  });
});

describe('every operation', () => {
  const declared = everyOperation.filter(({ answer }) => !isFileAnswer(answer));
  /** The kind of failure of a success with this answer; undefined: it is one. */
  const kindsOf = (text: string, { status = 200, type = 'a/json' }: TestAnswer = {}) =>
    declared.map((operation) => {
      const path = Object.fromEntries(
        [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, 1]),
      );
      const asked = { operation, call, input: { path }, sensitiveValues: () => [] };
      try {
        resultOf(asked, { status, headers: { 'content-type': type }, text });
        return [operation.name, 'success'];
      } catch (error) {
        return [operation.name, failureOf(error).kind];
      }
    });
  const expected = (kind: string, isSuccess: (operation: Operation<unknown>) => boolean = () => false) =>
    declared.map((operation) => [
      operation.name,
      isSuccess(operation) ? 'success' : operation.repeatable ? kind : 'uncertain',
    ]);

  test.each<[string, TestAnswer, FailureKind]>([
    ['{"Errors":[{"Message":"No"}]}', {}, 'rejected'],
    ['{"Errors":"No"}', {}, 'rejected'],
    ['{"Message":"No","ModelState":{"Field":["locked"]}}', {}, 'rejected'],
    ['{"type":"https://d/x#a","title":"No","status":400}', {}, 'rejected'],
    ['{"title":"Slowly","status":429}', {}, 'throttled'],
    ['Invalid token', { type: plain }, 'credentials'],
    ['<html>Log in</html>', { type: html }, 'intercepted'],
    ['', { status: 202 }, 'unexpected-answer'],
  ])('takes no success from %j with %j', (text, given, kind) => {
    expect(kindsOf(text, given)).toEqual(expected(kind));
  });

  test('takes JSON of another shape for a success only if it reads any', () => {
    const readsAny = ({ method, answer }: Operation<unknown>): boolean =>
      method === 'GET' && typeof answer === 'object' && 'safeParse' in answer && answer.safeParse({}).success;
    expect(kindsOf('{"Unexpected":[true]}')).toEqual(expected('unexpected-answer', readsAny));
    expect(declared.filter(readsAny).length).toBeLessThan(declared.length / 4);
  });

  test.each([200, 204])('takes nothing with %i for a success only if it reads nothing', (status) => {
    const kinds = expected('unexpected-answer', ({ answer }) => answer === 'acknowledged');
    expect(kindsOf('', { status })).toEqual(kinds);
  });
});

describe('what a failure tells', () => {
  test('is the whole of what the platform said, for the letter', () => {
    const headers = { 'x-request-id': 'r-1', 'retry-after': '7' };
    expect(first(scope('a:b:c'), { headers })).toEqual({
      kind: 'missing-scope',
      message: `The platform answered ${call} with 403 Not Authorized: it requires a:b:c`,
      remedy: 'Grant the scope a:b:c to the client registered for sis-relay, then replay.',
      operation: call,
      status: 403,
      type: 'not-authorized',
      title: 'Not Authorized',
      detail: 'Insufficient scope to call API. Required: a:b:c',
      required: 'a:b:c',
      requestId: 'r-1',
      retryAfterSeconds: 7,
    });
    const message = `The platform answered ${call} with 409`;
    const remedy = expect.stringMatching(/^Correct what the platform names/);
    expect(first('', { status: 409 })).toEqual({
      kind: 'rejected',
      message,
      remedy,
      operation: call,
      status: 409,
    });
  });

  test.each([
    [scope('a:b:c,d:e:*'), '403 Not Authorized: it requires a:b:c,d:e:*'],
    [scope('everything'), '403 Not Authorized'],
    [scope('jane.doe:born:1990-01-01'), '403 Not Authorized'],
    [scope('Jane:Doe:x'), '403 Not Authorized'],
    [permission('Grading'), '403 Forbidden: it requires Grading'],
    [problem('forbidden', 'Forbidden'), '403 Forbidden'],
    ['{"title":"FORBIDDEN","detail":"x"}', '400 Forbidden'],
    [problem('json-binding-error', 'Jane is absent'), '400 JSON Binding Error'],
    [problem('jane-is-absent', 'Jane is absent', 'x'), '400'],
    ['{"Errors":[{"Message":"Comment: private-content"}]}', '400 Errors'],
  ])('in the log is only known names, and what a 403 requires: %s', (text, answer) => {
    const status = Number(answer.slice(0, 3));
    expect(first(text, { status })?.message).toBe(`The platform answered ${call} with ${answer}`);
  });

  const read = 'things:thing:read';
  test.each<[string, object, string]>([
    [
      noScopes,
      { scope: read },
      `Grant the scope ${read} to the client registered for sis-relay, then replay.`,
    ],
    [
      noScopes,
      {},
      'Grant the scope that this call needs to the client registered for sis-relay, then replay.',
    ],
    [
      permission('Grading').replace('#forbidden', '#not-authorized'),
      {},
      "Give the signing user's role the permission Grading on the platform, then replay.",
    ],
    [
      problem('forbidden', 'Forbidden'),
      {},
      "Give the signing user's role the permission for this call on the platform, then replay.",
    ],
    [
      problem('not-authorized', 'Not Authorized'),
      { scope: read },
      `Either the client registered for sis-relay lacks the scope ${read}, or the signing user's role lacks the permission for this call. Grant what is missing on the platform, then replay.`,
    ],
  ])('after a 403 is what to grant, and to whom: %s %j', (text, more, remedy) => {
    expect(first(text, {}, more)?.remedy).toBe(remedy);
  });

  test.each([
    [undefined, 'the scope.'],
    [read, `the scope ${read}.`],
  ])('after a 403 in no form of the API is both who may have refused: %s', (scope, end) => {
    const failure = first('Blocked: private-content', { type: plain }, { scope });
    expect(failure).toMatchObject({
      message: `The answer to ${call} is in no form that the API uses: 403 text/plain`,
      title: 'Blocked: private-content',
    });
    expect(failure?.remedy).toMatch(
      /^1\. Check what is between sis-relay and the platform.* Then replay\. If the platform itself/,
    );
    expect(failure?.remedy.endsWith(end)).toBe(true);
  });

  test('after a page is who answered in the place of the API; the path only if that may be wrong', () => {
    const page = '<html><head><title>Web Application Firewall</title></head><p>Blocked: x_c=Zq3xYh0rT5uV</p>';
    const message = `Something in front of the platform’s API answered ${call}: 403 text/html`;
    const answer = { status: 403, title: 'Web Application Firewall', detail: 'Blocked: x_c=…' };
    expect(first(page, { type: html })).toMatchObject({ kind: 'intercepted', message, ...answer });
    const remedyOf = (status: number) => first('<html>No</html>', { status, type: html })?.remedy;
    const look = /^1\. Check what is between .* PLATFORM_API_ROOT\. 3\. Then replay\./;
    for (const status of [400, 403]) expect(remedyOf(status)).toMatch(new RegExp(`${look.source}$`));
    for (const status of [300, 399, 404, 405])
      expect(remedyOf(status), `${status}`).toMatch(new RegExp(`${look.source} Check the path`));
  });

  const path = (slash: string, call = 'things/1') =>
    `Check the path /svc/api/lp/1.49/${call} on the platform: it may have another name, ${slash} at its end, or another version there. Correct it in PLATFORM_OPERATIONS under “read-thing”, then replay.`;
  test.each([
    [404, ''],
    [404, '404 page not found'],
    [404, '{"Message":"No HTTP resource was found that matches the request URI"}'],
    [404, '{"Errors":[]}'],
    [404, '{"type":"https://d/x#not-found","title":"Not Found"}'],
    [405, '{"title":"Method Not Allowed","detail":"GET alone"}'],
  ])('is the path, its slash, its version and the override after %i %s', (status, text) => {
    const type = text.startsWith('4') ? plain : 'a/json';
    expect(first(text, { status, type })).toMatchObject({ kind: 'rejected', remedy: path('a slash') });
  });

  test('is the path without its slash if it has one, and the message if a 404 names what is missing', () => {
    const refused = { status: 404, form: 'nothing' as const };
    const facts = { operation: operations.read, call: safe`${call}/`, refused, sent: true, message: safe`` };
    expect(failureOf(new PlatformError(facts)).remedy).toBe(path('no slash', 'things/1/'));
    const missing = '{"title":"Resource Not Found","detail":"User not found"}';
    expect(first(missing, { status: 404 })?.remedy).toMatch(/^Correct what the platform names/);
  });

  test('is the credential that was refused, if that is why the call failed', () => {
    const credential = { message: safe`The secret x is refused`, remedy: 'Change the secret x.' };
    const refused = (status: number) => {
      const facts = { operation: operations.read, call, refused: { status, form: 'nothing' as const } };
      const error = new PlatformError({ ...facts, sent: true, message: safe`` });
      error.credential = credential;
      return failureOf(error);
    };
    expect(refused(401)).toMatchObject({ kind: 'credentials', ...credential });
    expect(refused(503).message).toBe(`The platform answered ${call} with 503`);
  });

  test('after a success of another shape is the shape, and what was expected', () => {
    const failures = failuresOf('{"Id":null,"Name":"private-content"}', { status: 200 });
    for (const failure of failures)
      expect(failure).toMatchObject({
        message: `The platform answered ${call} with 200, and the answer lacks required fields: Id`,
        title: 'Unexpected Answer',
        detail: 'came: { Id: null, Name: string }; expected: Id (number)',
      });
    expect(failures[0]?.remedy).toMatch(
      /^1\. Check on the platform whether the change was made.*“read-thing”/,
    );
  });

  test('is under which status an error came that tells another', () => {
    const text = '{"type":"https://d/x#busy","title":"Too Many Requests","status":429}';
    const headers = { 'x-rate-limit-reset': '7' };
    expect(first(text, { status: 200, headers })).toMatchObject({
      kind: 'throttled',
      status: 429,
      retryAfterSeconds: 7,
      message: `The platform answered ${call} with 200, and its content says 429 Too Many Requests`,
    });
  });

  test('of an unanswered call is the call and what happened', async () => {
    const { platform } = clientAt(await nobody());
    expect(failureOf(await errorOf(platform.call(operations.once, { path: { id: 1 } })))).toEqual({
      kind: 'unavailable',
      message: 'POST /svc/api/lp/1.49/things/1: no connection (ECONNREFUSED)',
      remedy: expect.stringMatching(/^Do nothing at first/),
      operation: 'POST /svc/api/lp/1.49/things/1',
    });
  });

  test.each<[object, FailureKind, object?]>([
    [{ sent: true }, 'uncertain'],
    [{ sent: true, operation: operations.read }, 'unavailable'],
    [{ sent: true, operation: operations.read, unexpected: true }, 'unexpected-answer'],
    [{ turnInSeconds: 7 }, 'throttled', { retryAfterSeconds: 7 }],
  ])('without an answer follows from whether it was sent: %j', (facts, kind, more = {}) => {
    const given = { operation: operations.once, call, sent: false, message: safe`m`, ...facts };
    const { remedy, ...failure } = failureOf(new PlatformError(given));
    expect(failure).toEqual({ kind, message: `${call}: m`, operation: call, ...more });
  });
});

describe('a failure that its thrower knows', () => {
  const kinds = failureKindNames;

  test.each(kinds)('keeps its kind, its cause and its refusal, and has a remedy: %s', (kind) => {
    const cause = new Error('why');
    const error = new MessageFailure(kind, safe`What happened`, { cause });
    expect(error).toMatchObject({ name: 'MessageFailure', cause, refusal: {} });
    const remedy = expect.stringMatching(/\w{3}.*\.$/);
    expect(failureOf(error)).toEqual({ kind, message: 'What happened', remedy });
    const refusal = { status: 409, title: 'Conflict' };
    const answer = { remedy: 'Do this.', detail: 'x', refusal };
    expect(failureOf(new MessageFailure(kind, safe`x`, answer))).toEqual({
      kind,
      message: 'x',
      remedy: 'Do this.',
      detail: 'x',
      ...refusal,
    });
  });

  test('has the problems of its fields, or is one problem by itself', () => {
    const problems = [{ field: safe`time`, problem: safe`is missing` }, { problem: safe`the body is empty` }];
    const invalid = new InvalidMessage(problems);
    expect(invalid.name).toBe('InvalidMessage');
    expect(failureOf(invalid)).toMatchObject({
      kind: 'invalid',
      message: 'The message is not valid: time: is missing; the body is empty',
    });
    expect(problemsIn(invalid)).toEqual(problems);
    expect(problemsIn(new MessageFailure('rejected', safe`No`))).toEqual([{ problem: 'No' }]);
  });

  test('waits, is for a person to decide, or calls one, by its kind alone', () => {
    expect(kinds.filter((kind) => isRetried(kind))).toEqual([
      'unknown-id',
      'credentials',
      'aws-refused',
      'throttled',
      'unavailable',
    ]);
    expect(kinds.filter(needsDecision)).toEqual(['uncertain', 'outdated']);
    expect(kinds.filter(needsPerson)).toEqual(['credentials', 'aws-refused']);
    expect([needsDecision(undefined), needsPerson(undefined)]).toEqual([false, false]);
  });
});

test.each([
  ['TypeError', new TypeError('x is not a function: private-content')],
  ['string', 'private-content'],
  ['undefined', undefined],
  ['object', null],
  ['object', { kind: 'invalid', message: 'private-content' }],
])('anything else is a defect of ours, of which only the name is told: %s', (name, thrown) => {
  const remedy = expect.stringMatching(/^This is a bug in sis-relay/);
  expect(failureOf(thrown)).toEqual({ kind: 'defect', message: `Unexpected ${name}`, remedy });
});

test.each(['ThrottlingException', 'TimeoutError'])('an error of AWS waits: %s', (name) => {
  const error = Object.assign(new Error('x'), { name, $metadata: { httpStatusCode: 500 } });
  expect(failureOf(error)).toMatchObject({ kind: 'unavailable', message: `AWS did not answer: ${name}` });
});
