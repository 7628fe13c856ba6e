import { expect, test } from 'vitest';
import { MessageFailure } from '../../../lib/message/failure.ts';
import type { FailureKind } from '../../../lib/message/failure-kinds.ts';
import {
  errorWord,
  inThousands,
  ownText,
  safe,
  safeList,
  safeMatch,
} from '../../../lib/message/safe-text.ts';
import { PlatformError, type RefusedCall } from '../../../lib/platform/client/platform-error.ts';
import { createObserve, type MessageReport } from '../../../lib/runtime/telemetry/observe.ts';
import { operations } from '../platform/servers.ts';

const lines: string[] = [];
const observe = createObserve({
  function: 'grade-push',
  level: 'debug',
  namespace: 'n',
  write: (line) => void lines.push(line),
});

// What the compiler must refuse. A line that it no longer refuses fails the check of types.

/** A message, and an answer of the platform. */
const message = { data: { userName: 'Jane Doe', points: '17' } };
const answer: RefusedCall = { status: 400, title: 'Jane Doe has no grade' };
const kind: FailureKind = 'rejected';

test('a text takes in only what is safe by itself, numbers, and words of the code', () => {
  const name = ownText('prefix/service');
  expect(safe`The secret ${name} of ${7} is ${kind}, ${safeList([safe`a`, safe`b`])}`).toBe(
    'The secret prefix/service of 7 is rejected, a, b',
  );
  expect(safe`${name === 'x' ? safe`it is ${name}` : ''}\`\n`).toBe('`\n');
  // @ts-expect-error: the message's data
  safe`${message.data.userName} is unknown`;
  // @ts-expect-error: the same in a template, whose type is no word of the code
  safe`${`user ${message.data.userName}`} is unknown`;
  // @ts-expect-error: one of two is the message's
  safe`${name === 'x' ? 'nobody' : message.data.userName} is unknown`;
  // @ts-expect-error: the platform's words
  safe`The platform says ${answer.title}`;
  // @ts-expect-error: a text that may be missing would be written as "undefined"
  safe`${safeMatch('x', /x/)}`;
  // @ts-expect-error: of an unknown type
  safe`${JSON.parse('"x"') as unknown}`;
  // @ts-expect-error: a list of texts that are not safe
  safeList([message.data.userName]);
});

test('an error takes no other text', () => {
  const facts = { operation: operations.read, sent: true };
  const failure = new MessageFailure(kind, safe`It is not known`);
  expect(failure.message).toBe('It is not known');
  // @ts-expect-error: a bare text
  new MessageFailure(kind, 'It is not known');
  // @ts-expect-error: the message's data
  new MessageFailure(kind, `${message.data.userName} is not known`);
  // @ts-expect-error: the platform's words
  new PlatformError({ ...facts, call: safe`GET /x`, message: answer.title });
  // @ts-expect-error: a call that may be any text
  new PlatformError({ ...facts, call: message.data.userName, message: safe`no answer` });
});

test('a log takes no other text, and no other fact', () => {
  observe.warn(safe`a secret could not be read`, { secret: ownText('prefix/service'), count: 2 });
  expect(lines.map((line) => JSON.parse(line).secret)).toEqual(['prefix/service']);
  // @ts-expect-error: a bare text
  observe.info('done');
  // @ts-expect-error: the message's data
  observe.warn(`${message.data.userName} is not known`);
  // @ts-expect-error: the platform's words
  observe.error(answer.title);
  // @ts-expect-error: the message's data as a fact
  observe.warn(safe`it is not known`, { reason: message.data.userName });
  const report = {
    outcome: 'done',
    attempts: 1,
    replays: 0,
    durationMs: 1,
    platformMs: 1,
    requests: 1,
  } as const;
  // @ts-expect-error: the message's data as a reason
  const reported: MessageReport = { ...report, messageId: safe`m`, reason: message.data.userName };
  expect(reported.outcome).toBe('done');
});

test('a pattern gives the whole text that it allows, or none', () => {
  expect(safeMatch('gzip', /^(gzip|br)$/)).toBe('gzip');
  expect(safeMatch('gzip for Jane', /^(gzip|br)$/)).toBeUndefined();
  expect(safeMatch(undefined, /^/)).toBeUndefined();
});

test.each([
  ['ResourceNotFoundException', true],
  ['KMS.DisabledException', true],
  ['com.amazon#Error', false],
  ['Dear Jane', false],
  ['', false],
  ['E'.repeat(80), true],
  ['E'.repeat(81), false],
  [7, false],
])('the name of an error is one word: %j', (name, isOne) => {
  expect(errorWord(name)).toBe(isOne ? name : undefined);
});

test('a large number is written with commas', () => {
  expect(inThousands(1_048_576)).toBe('1,048,576');
});
