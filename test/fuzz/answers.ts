import { letterOf, sqsMessageOf } from '../../lib/delivery/letters/dead-letter.ts';
import type { Failure } from '../../lib/message/failure.ts';
import { safe } from '../../lib/message/safe-text.ts';
import { resultOf } from '../../lib/platform/client/check-answer.ts';
import { failureOf } from '../../lib/platform/client/failure-of.ts';
import type { Operation } from '../../lib/platform/client/operation.ts';
import { PlatformError } from '../../lib/platform/client/platform-error.ts';
import type { CallInput } from '../../lib/platform/client/request.ts';
import { operations } from '../../lib/platform/resources/operations.ts';
import { type Headers, type HttpAnswer, maxErrorBytes } from '../../lib/runtime/aws/receive-answer.ts';
import { sensitiveValues } from '../../lib/runtime/privacy/request-secrets.ts';
import { createMeasure } from './measure.ts';
import { type Random, randomFrom } from './random.ts';

/*
 * Answers that no platform has been seen to give, through all that reads them: what judges an answer, what makes a failure of
 * it, and what writes the failure into a letter.
 */

const signature = 'Zq3xYh0rT5uVw9AbCdEfGhIjKlMnOpQrStUvWxYz012';
const values = sensitiveValues({ query: { x_a: 'the-app', x_c: signature, x_t: '1700000000' }, headers: {} });

/** An answer, and whether it certainly is no success. */
export type Made = { operation: Operation<unknown>; input: CallInput; answer: HttpAnswer; isError: boolean };

/** What every answer must keep to. @throws Error that says what was broken, and by which answer */
export const check = ({ operation, input, answer, isError }: Made): 'done' | Failure['kind'] => {
  const asked = { operation, call: safe`${operation.method} /x`, input, sensitiveValues: () => values };
  let thrown: unknown;
  try {
    resultOf(asked, answer);
  } catch (error) {
    thrown = error;
  }
  const wrong = (what: string): Error => {
    const { status, headers, text } = answer;
    const description = `${operation.name} answered ${status}, ${String(headers['content-type']).slice(0, 60)}`;
    return new Error(`${what}: ${description}, ${JSON.stringify(text.slice(0, 500))}`, { cause: thrown });
  };
  if (thrown === undefined) {
    if (isError) throw wrong('done, by an error');
    return 'done';
  }
  if (!(thrown instanceof PlatformError)) throw wrong('no PlatformError');
  const failure = failureOf(thrown);
  if (failure.kind === 'defect') throw wrong('a defect');
  const isInDoubt = thrown.mayHaveActed && !operation.repeatable;
  if ((failure.kind === 'uncertain') !== isInDoubt) throw wrong(`${failure.kind}, though not in doubt`);
  const letter = {
    body: '{}',
    source: 'arn:aws:sqs:eu-west-1:1:q',
    replays: 0,
    attributes: {},
    failure: { ...failure, function: 'x', attempts: 1, firstAt: '', lastAt: '' },
  };
  const { MessageBody: Body, MessageAttributes } = sqsMessageOf(letter);
  const read = letterOf({ Body, MessageAttributes });
  if (read.failure?.kind !== failure.kind) throw wrong('a letter that cannot be read');
  if (JSON.stringify(read).includes(signature.slice(5, 20)))
    throw wrong('a letter with a piece of a secret of the request');
  return failure.kind;
};

const statuses = [
  200, 200, 200, 201, 202, 204, 205, 206, 299, 301, 302, 304, 400, 401, 403, 403, 404, 405, 407,
];
const rareStatuses = [
  408, 409, 410, 413, 422, 428, 429, 431, 451, 499, 500, 501, 502, 503, 504, 511, 599, 999,
];
const contentTypes = [
  'application/json',
  'application/problem+json; charset=utf-8',
  'application/octet-stream',
  'text/html',
  'TEXT/HTML;x',
  'text/plain',
  'text/xml',
  `text/${signature}`,
  '',
  'application/json\u0000',
  'x'.repeat(500),
];
const signs = '<|>|<<<|<p|</title|{|[|{"|[{|\\|"|\uFEFF|\uD800|\u0000|\uFFFF'.split('|');
const plainSentences = [
  ...'Invalid token|invalid_token|Token expired|OK|true|null|0|""|Not Found|undefined'.split('|'),
  'Timestamp out of range\r\n1700000300',
  'Timestamp out of range1700000300',
  'Access is denied: invalid token.',
  'Insufficient scope to call API. Required: a:b:c',
  'No scopes defined for specified requests.',
  'Not authorized for [ orgUnitId: 1, securityVariableName: EditGrades ]',
  `at /x?x_c=${signature}&x_a=1`,
];
const sentences = [...plainSentences, ...signs];
const names = [
  ...'Id id ID Identifier Name OrgUnitId orgunitid UserId RoleId Items Objects Next'.split(' '),
  ...'Errors errors Message message status Status title type detail error PagingInfo'.split(' '),
  ...'HasMoreItems Bookmark Comments Text Html __proto__ constructor toString'.split(' '),
  ...'GradeType FieldId Attributes Value Type SupportedVersions'.split(' '),
  '',
  'Jane Doe',
  'x'.repeat(100),
];
const scalars = [
  null,
  true,
  false,
  0,
  1,
  -1,
  1.5,
  2001,
  301,
  2 ** 53,
  1e308,
  '',
  '1',
  '2001',
  'x',
  '403',
  'ü',
];

const made = (random: Random, depth: number): unknown => {
  const kind = depth === 0 ? 0 : random.below(4);
  if (kind === 0) return random.happens(0.2) ? random.one(sentences) : random.one(scalars);
  if (kind === 1) return Array.from({ length: random.below(4) }, () => made(random, depth - 1));
  return Object.fromEntries(
    Array.from({ length: random.below(6) }, () => [random.one(names), made(random, depth - 1)]),
  );
};

/** An error in one of the forms that the platform is known for, whatever else stands beside it. */
const errorOf = (random: Random): unknown => {
  const beside = random.happens(0.5) ? (made(random, 1) as object) : {};
  const rest = typeof beside === 'object' && beside !== null && !Array.isArray(beside) ? beside : {};
  const status = random.one([400, 401, 403, 404, 409, 429, 500, 503]);
  const problem = {
    type: `https://d/x#${random.one(names)}`,
    title: random.one(['Forbidden', 'Not Found']),
    status,
  };
  const detail = random.one(sentences);
  // What stands beside an error's fields may not take their place.
  const kept = Object.fromEntries(
    Object.entries(rest).filter(([name]) => !/^(errors?|status(code)?|title|type|message)$/i.test(name)),
  );
  return random.one([
    { ...kept, Errors: [{ Message: detail }] },
    { Errors: [] },
    { ...kept, ...problem, detail },
    { ...kept, ...problem, status: undefined },
    { ...kept, Status: String(status), Title: detail },
    { error: 'invalid_grant', error_description: detail },
    { ...kept, Errors: `${detail} ` },
    { ...kept, errors: { Field: [detail] } },
    { ...kept, fault: { faultstring: detail } },
    { ...kept, Success: false, Message: detail },
    { Message: `${detail} `, ModelState: { Field: [detail] } },
    { ...kept, status: { code: status }, title: 'Forbidden' },
    [{ ...problem, detail }],
    { Message: `${detail} ` },
    [{ Message: `${detail} ` }, { Message: 'x' }],
  ]);
};

const successes = [
  { OrgUnitId: 2001, UserId: 301, RoleId: 110, IsCascading: false },
  { Id: 301, Name: 'x', GradeType: 'Numeric', GradeItemId: null },
  {
    Items: [{ Identifier: '1', Name: 'x', Type: { Id: 3 } }],
    PagingInfo: { HasMoreItems: true, Bookmark: '9' },
  },
  { Objects: [{ Identifier: '301', RoleId: 110 }], Next: null },
  { Comments: { Text: 'a', Html: '<p>a' }, PrivateComments: null },
  { Attributes: [{ AttributeId: 'a', Value: ['b'] }] },
  { FieldId: 1 },
  { Identifier: '301' },
];

/** A success, or what is left of it, with an error's fields beside it or without. */
const nearlySuccess = (random: Random): { value: unknown; isError: boolean } => {
  const isError = random.happens(0.3);
  const fields = Object.entries(random.one(successes)).flatMap(([name, value]): [string, unknown][] => {
    if (random.happens(0.1)) return [];
    const written = random.happens(0.2) ? name.toLowerCase() : name;
    if (random.happens(0.1)) return [[written, made(random, 1)]];
    return [[written, random.happens(0.1) && typeof value === 'number' ? String(value) : value]];
  });
  const error = random.one([
    { Errors: [{ Message: 'x' }] },
    { status: 403, title: 'Forbidden' },
    { error: 'x' },
  ]);
  return { value: { ...Object.fromEntries(fields), ...(isError ? error : {}) }, isError };
};

const pageOf = (random: Random): string => {
  const inner = random.one(sentences);
  const page = `<!DOCTYPE html><html><head><title>${inner}</title><style>a>b{}</style></head><body><p>${random.one(sentences)}<script>1<2</script></body></html>`;
  return random.happens(0.5) ? page : page.slice(0, 20 + random.below(page.length));
};

/** Long, and of the kind on which a careless search is lost. */
const longOf = (random: Random, length: number): string => {
  const piece = random.one([
    ...plainSentences.map((each) => `${each} `),
    ...'<p|<title|<title>|<script>|</|?a|x_c=|bearer |%25|[|{"a":|"|\\"|{"a":[|a'.split('|'),
  ]);
  const text = piece.repeat(Math.ceil(length / piece.length));
  return random.one([
    text,
    `{"Errors":[{"Message":${JSON.stringify(text)}}]}`,
    `{"Id":${JSON.stringify(text)}}`,
    `<p>${text}`,
  ]);
};

const nestedOf = (random: Random): string => {
  const depth = random.one([90, 101, 500, 10_000, 100_000]);
  const [open, close] = random.one([
    ['[', ']'],
    ['{"a":', '}'],
    ['{"Items":[', ']}'],
    ['{"Errors":[{"Message":[', ']}]}'],
  ]) as [string, string];
  const text = `${open.repeat(depth)}1${random.happens(0.8) ? close.repeat(depth) : ''}`;
  return random.happens(0.5) ? text : `{"Id":1,"Deep":${text}}`;
};

/** Bodies with how often they come; those of megabytes are rare, as they are on the wire. */
const bodyOf = (random: Random): { text: string; isError: boolean } => {
  const at = random.next();
  if (at < 0.25) return { text: JSON.stringify(errorOf(random)), isError: true };
  if (at < 0.4) {
    const { value, isError } = nearlySuccess(random);
    return { text: JSON.stringify(value), isError };
  }
  if (at < 0.55) return { text: JSON.stringify(made(random, 3)) ?? '', isError: false };
  if (at < 0.65) {
    const whole = JSON.stringify(made(random, 3)) ?? '';
    return { text: whole.slice(0, random.below(whole.length + 1)), isError: false };
  }
  if (at < 0.8) return { text: pageOf(random), isError: true };
  if (at < 0.9) return { text: random.one(sentences), isError: false };
  if (at < 0.95) return { text: '', isError: false };
  if (at < 0.994) return { text: longOf(random, random.below(4_000)), isError: false };
  if (at < 0.999) return { text: nestedOf(random), isError: false };
  return { text: longOf(random, random.happens(0.05) ? 4_000_000 : 200_000), isError: false };
};

export const answerOf = (random: Random): Made => {
  const { text, isError } = bodyOf(random);
  const status = random.happens(0.85) ? random.one(statuses) : random.one(rareStatuses);
  const headers: Headers = { 'content-type': random.one(contentTypes) };
  if (random.happens(0.1))
    headers['retry-after'] = random.one([
      '5',
      '-1',
      'soon',
      'Wed, 21 Oct 2026 07:28:00 GMT',
      '9'.repeat(400),
    ]);
  if (random.happens(0.1))
    headers.location = random.one(['/login?x=1', `/x/${signature}`, '', '\u0000', 'x'.repeat(9_000)]);
  if (random.happens(0.1)) headers['x-request-id'] = random.one(['r-1', signature, 'x'.repeat(9_000), '']);
  const operation = random.one(operations);
  const path = Object.fromEntries(
    [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, random.one([1, 301, 2001])]),
  );
  const isTooLong = random.happens(0.002);
  const about = { operation, call: safe`GET /x`, sent: true, message: safe`cut off` };
  const cutBy = random.happens(0.02) ? { cutBy: new PlatformError(about) } : {};
  return {
    operation,
    input: { path, json: { OrgUnitId: 2001, UserId: 301, RoleId: 110 } },
    answer: {
      status,
      headers,
      text: status < 300 ? text : text.slice(0, maxErrorBytes),
      isTooLong,
      ...cutBy,
    },
    isError: isError || status < 200 || status > 299 || isTooLong,
  };
};

/** One answer may take so long: the longest are read in less, and a search that runs away takes minutes. */
const maxMs = 2_000;
const maxMegabytes = 1_500;

/** So many generated answers. @throws Error where one breaks what all must keep to */
export const fuzzAnswers = (count: number, seed: number): { told: string; came: Map<string, number> } => {
  const random = randomFrom(seed);
  const measure = createMeasure();
  const came = new Map<string, number>();
  for (let at = 0; at < count; at += 1) {
    const next = answerOf(random);
    const { status, text } = next.answer;
    const what = () => `${status}, ${text.length} characters: ${JSON.stringify(text.slice(0, 40))}`;
    const outcome = measure.time(what, () => check(next));
    came.set(outcome, (came.get(outcome) ?? 0) + 1);
    if (at % 1_000 === 0) measure.sampleMemory();
  }
  if (measure.worstMs() > maxMs) throw new Error(`too slow: ${measure.told(count, 'answers')}`);
  if (measure.maxMegabytes() > maxMegabytes) throw new Error(`too large: ${measure.told(count, 'answers')}`);
  return { told: measure.told(count, 'answers'), came };
};
