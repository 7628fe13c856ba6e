import { expect } from 'vitest';
import type { Failure } from '../../lib/message/failure.ts';
import type { FailureKind } from '../../lib/message/failure-kinds.ts';
import { isFileAnswer, type Operation } from '../../lib/platform/client/operation.ts';
import type { Effect } from '../local/controls.ts';

/** What a call is to its answer. */
export type Sort =
  /** It reads JSON of a shape, or of any. */
  | 'read'
  | 'read anything'
  /** It reads an image, or a file of any type. */
  | 'read an image'
  | 'read a file'
  /** It may be sent twice, and its success tells nothing, or what it made. */
  | 'set'
  | 'change'
  /** The same, and it must not be sent twice. */
  | 'add'
  | 'make';

/** What an answer is to a call: the kind of failure, or a success. */
type Verdict = FailureKind | 'success';

/** Of the failure; where not the whole is told, what it must match. */
type Words = { [Name in keyof Failure]?: Failure[Name] | RegExp };

export type Answer = {
  title: string;
  effect: Effect;
  /** The second call is answered so as well, as a refused proof is sent once more. */
  twice?: boolean;
  is: Record<Sort, Verdict>;
  /** What the letter must tell of it. */
  words: Words;
};

export const sortOf = ({ method, repeatable, answer }: Operation<unknown>): Sort => {
  if (isFileAnswer(answer)) return answer.file.source === '^' ? 'read a file' : 'read an image';
  if (method === 'GET') return answer !== 'acknowledged' && !wantsFields(answer) ? 'read anything' : 'read';
  if (answer === 'acknowledged') return repeatable ? 'set' : 'add';
  return repeatable ? 'change' : 'make';
};

/** Whether there is JSON that is not of its shape. */
const wantsFields = (answer: { safeParse(value: unknown): { success: boolean } }): boolean =>
  !answer.safeParse({}).success;

/** By the kind of what may be sent twice; certain: it is a refusal for what must not be, too, and else leaves it in doubt. */
const failing = (kind: FailureKind, { certain = false } = {}): Answer['is'] => {
  const once = certain ? kind : 'uncertain';
  return {
    ...{ read: kind, 'read anything': kind, 'read an image': kind, 'read a file': kind },
    ...{ set: kind, change: kind, add: once, make: once },
  };
};

/** To whoever reads nothing of it, it is a success. */
const untold = { ...failing('unexpected-answer'), set: 'success', add: 'success' } as const;

const problem = (status: number, title: string, detail: string) => ({
  type: `https://docs.example.edu/res/apiprop.html#${title.toLowerCase().replaceAll(' ', '-')}`,
  ...{ title, status, detail },
});
const page = (title: string) =>
  `<!DOCTYPE html><html><head><title>${title}</title></head><p>Not the API</p></html>`;
const html = { 'content-type': 'text/html; charset=utf-8' };
const scope = 'Insufficient scope to call API. Required: a:b:c';
const permission = 'Not authorized for [ orgUnitId: 2001, securityVariableName: SeeNothing ]';
const sentence = 'Access is denied: the request has an invalid token.';

/** Whatever a platform, or something before it, may answer a call with. */
export const answers: Answer[] = [
  {
    title: '200 with errors',
    effect: { status: 200, body: { Errors: [{ Message: 'The course is closed' }] } },
    is: failing('rejected'),
    words: { status: 200, title: 'Errors', detail: 'The course is closed' },
  },
  {
    title: '200 with a problem of 400',
    effect: { status: 200, body: problem(400, 'JSON Binding Error', 'Provided JSON is invalid') },
    is: failing('rejected'),
    words: { status: 400, type: 'json-binding-error', detail: 'Provided JSON is invalid' },
  },
  {
    title: '200 with a problem of 403',
    effect: { status: 200, body: problem(403, 'Not Authorized', scope) },
    is: failing('missing-scope'),
    words: { status: 403, title: 'Not Authorized', detail: scope, required: 'a:b:c' },
  },
  {
    title: '200 with a problem of 429',
    effect: { status: 200, body: problem(429, 'Too Many Requests', 'Slowly') },
    is: failing('throttled'),
    words: { status: 429 },
  },
  {
    title: '200 with a problem of 503',
    effect: { status: 200, body: problem(503, 'Service Unavailable', 'Later') },
    is: failing('unavailable'),
    words: { status: 503 },
  },
  {
    title: '200 with a refused key',
    effect: { status: 200, body: 'Invalid token' },
    twice: true,
    is: failing('credentials'),
    words: { status: 200 },
  },
  {
    title: '200 with a page',
    effect: { status: 200, headers: html, body: page('Sign in') },
    // A file that is a page is a file.
    is: { ...failing('intercepted'), 'read a file': 'success' },
    words: { status: 200, title: 'Sign in', detail: 'Not the API' },
  },
  {
    title: '200 with JSON of another shape',
    effect: { status: 200, body: { Unexpected: [true] }, when: 'after' },
    is: { ...failing('unexpected-answer'), 'read anything': 'success', 'read a file': 'success' },
    words: { status: 200, detail: /Unexpected: an array of boolean|is 200 with application.json/ },
  },
  {
    title: '200 with an error in a form of others',
    effect: { status: 200, body: { Message: 'The request is invalid.', ModelState: { Field: ['locked'] } } },
    is: failing('rejected'),
    words: { status: 200, detail: 'The request is invalid.; Field: locked' },
  },
  {
    title: '200 with errors in one word',
    effect: { status: 200, body: { Errors: 'The course is closed' } },
    is: failing('rejected'),
    words: { status: 200, title: 'Errors', detail: 'The course is closed' },
  },
  {
    title: '202 with nothing',
    effect: { status: 202, body: '', when: 'after' },
    is: failing('unexpected-answer'),
    words: { status: 202, detail: /^the answer (carries nothing|is 202)/ },
  },
  {
    title: '200 with nothing',
    effect: { status: 200, body: '', when: 'after' },
    is: { ...untold, 'read a file': 'success', make: 'uncertain' },
    words: { status: 200, detail: /^the answer (carries nothing|is 200 with)/ },
  },
  {
    title: '204',
    effect: { status: 204, when: 'after' },
    is: { ...untold, make: 'uncertain' },
    words: { status: 204, detail: /^the answer (carries nothing|is 204 with)/ },
  },
  {
    title: '200 without end',
    effect: { endless: true },
    is: { ...failing('unexpected-answer'), 'read a file': 'success' },
    words: { status: 200, title: 'Unexpected Answer' },
  },
  {
    title: '302',
    effect: { status: 302, headers: { location: 'https://sso.example.edu/login?to=x' } },
    is: failing('intercepted'),
    words: { status: 302, title: 'Redirect', detail: 'to https://sso.example.edu/login' },
  },
  {
    title: '403 with a page',
    effect: { status: 403, headers: html, body: page('Blocked') },
    is: failing('intercepted'),
    words: { status: 403, title: 'Blocked' },
  },
  {
    title: '403 in words of a firewall',
    effect: { status: 403, body: 'RBAC: access denied' },
    is: failing('intercepted'),
    words: { status: 403, title: 'RBAC: access denied' },
  },
  {
    title: '403 with a refused key, in a sentence',
    effect: { status: 403, body: sentence },
    twice: true,
    is: failing('credentials', { certain: true }),
    words: { status: 403, title: sentence },
  },
  {
    title: '404 with a page',
    effect: { status: 404, headers: html, body: page('Not here') },
    is: failing('intercepted'),
    words: { status: 404, title: 'Not here' },
  },
  {
    title: '404 that says what is not there',
    effect: { status: 404, body: problem(404, 'Resource Not Found', 'User not found') },
    is: failing('rejected', { certain: true }),
    words: { status: 404, title: 'Resource Not Found', detail: 'User not found' },
  },
  {
    title: '404 that says that there is no grade',
    effect: { status: 404, body: { Errors: [{ Message: 'Grade value not found' }] } },
    is: failing('rejected', { certain: true }),
    words: { status: 404, title: 'Errors', detail: 'Grade value not found' },
  },
  {
    title: '404 without words',
    effect: { status: 404 },
    is: failing('rejected', { certain: true }),
    words: { status: 404 },
  },
  {
    title: '405',
    effect: { status: 405, body: problem(405, 'Method Not Allowed', 'GET alone') },
    is: failing('rejected', { certain: true }),
    words: { status: 405, title: 'Method Not Allowed', detail: 'GET alone' },
  },
  {
    title: '409',
    effect: { status: 409, body: 'The course is locked' },
    is: failing('rejected'),
    words: { status: 409, title: 'The course is locked' },
  },
  {
    title: '500 with a problem',
    effect: { status: 500, body: problem(500, 'Internal Server Error', 'Oh') },
    is: failing('unavailable'),
    words: { status: 500 },
  },
  { title: '503', effect: { status: 503 }, is: failing('unavailable'), words: { status: 503 } },
  {
    title: '429',
    effect: { status: 429, headers: { 'retry-after': '7' } },
    is: failing('throttled', { certain: true }),
    words: { status: 429, retryAfterSeconds: 7 },
  },
  {
    title: '403 that names a scope',
    effect: { status: 403, body: problem(403, 'Not Authorized', scope) },
    is: failing('missing-scope', { certain: true }),
    words: { status: 403, type: 'not-authorized', required: 'a:b:c' },
  },
  {
    title: '403 that names a permission',
    effect: { status: 403, body: permission },
    is: failing('missing-permission', { certain: true }),
    words: { status: 403, title: permission, required: 'SeeNothing' },
  },
  {
    title: 'an end of the connection',
    effect: { reset: 'after' },
    is: failing('unavailable'),
    words: { message: /connection|cut off/ },
  },
];

/** The platform's own answer, of which the second half never comes. */
export const halfAnswer: Answer = {
  title: 'half an answer',
  effect: { truncate: true },
  is: failing('unavailable'),
  words: {},
};

/** The parsed error that a failure must hold. */
export const wordsOf = ({ words }: Answer): object =>
  expect.objectContaining(
    Object.fromEntries(
      Object.entries(words).map(([name, word]) => [
        name,
        word instanceof RegExp ? expect.stringMatching(word) : word,
      ]),
    ),
  );
