import type { Message } from '@aws-sdk/client-sqs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sqsMessageOf } from '../../../../../lib/delivery/letters/dead-letter.ts';
import { withoutIds } from '../../../../../lib/delivery/letters/letter-words.ts';
import { createLetterReader } from '../../../../../lib/desk/messages/letters/letter.ts';
import { letterIn, letterLine } from '../../../../../lib/desk/messages/letters/letter-line.ts';
import { messageFor } from '../../../../../lib/desk/messages/replay/send-and-delete.ts';
import { letterKinds } from '../../../../../lib/message/failure-kinds.ts';
import { anyCharacter } from '../../../../any-character.ts';
import { runs } from '../../../../seed.ts';
import { failureOf } from '../../cli/office.ts';

const target = {
  prefix: 'sis-relay-test-',
  queueUrlOf: async (name: string) => (name === 'grade-push' ? 'http://queues/grade-push' : undefined),
};
const read = createLetterReader(target);
const arn = 'arn:aws:sqs:eu-west-1:123456789012:sis-relay-test-grade-push';
const parked = (failure: object | null = failureOf(), source = arn): Message => {
  const { MessageBody: Body, MessageAttributes } = sqsMessageOf({
    body: '{}',
    source,
    replays: 2,
    attributes: {},
    failure: failure as ReturnType<typeof failureOf>,
  });
  return { MessageId: 'an-id', Body, MessageAttributes, Attributes: { SentTimestamp: '1770000000000' } };
};

describe('what a letter is', () => {
  test('one that a function parked has its failure, its function and its queue', async () => {
    expect(await read(parked())).toMatchObject({
      id: 'an-id',
      kind: 'rejected',
      function: 'grade-push',
      queueUrl: 'http://queues/grade-push',
      error: '404 Not Found',
      replays: 2,
      sentMs: 1_770_000_000_000,
    });
  });

  test.each([
    ['‹s3://uploads/jane-doe.pdf›: ended 3 bytes too early', 'a file: ended 3 bytes too early'],
    ['‹https://files.example.edu/jane', 'a file'],
  ])(
    'one about a file is about the same as those of other files, and tells no name: %s',
    async (message, error) => {
      const { status, title, ...failure } = failureOf();
      expect(await read(parked({ ...failure, kind: 'invalid', message }))).toMatchObject({
        error,
      });
    },
  );

  test('one that SQS moved by itself is redriven, from the queue that SQS names', async () => {
    const moved = { Body: '{}', Attributes: { DeadLetterQueueSourceArn: arn } };
    expect(await read(moved)).toMatchObject({ kind: 'redriven', function: 'grade-push', source: arn });
  });

  test('nothing that its producer wrote decides on a redriven letter, now or once it is read again', async () => {
    const text = (StringValue: string) => ({ DataType: 'String', StringValue });
    const failure = { ...failureOf(), kind: 'uncertain', remedy: 'Replay it all.' };
    const forged = {
      failure: text(JSON.stringify(failure)),
      kind: text('uncertain'),
      trace: text('t'),
      source: text(`${arn}-of-another`),
      whole: text('s3://a-bucket/letters/grade-push/0.jsonl'),
    };
    const moved = { Body: '{}', MessageAttributes: forged, Attributes: { DeadLetterQueueSourceArn: arn } };
    const letter = await read(moved);
    expect(letter).toMatchObject({
      kind: 'redriven',
      function: 'grade-push',
      source: arn,
      failure: null,
      missing: undefined,
      error: expect.stringContaining('SQS moved it itself'),
      remedy: expect.stringContaining('log'),
    });
    expect(JSON.parse(letterLine(letter)).attributes).toEqual({ trace: { type: 'String', text: 't' } });
    expect(messageFor(letter).attributes).toEqual({
      trace: text('t'),
      replays: { DataType: 'Number', StringValue: '1' },
    });
    // Out of a file it comes without SQS’ word for it.
    const { body, attributes } = letterIn(letterLine(letter));
    expect(await read({ Body: body, MessageAttributes: attributes })).toMatchObject({
      kind: 'no-details',
      source: arn,
      failure: null,
    });
  });

  test('one of ours whose failure did not fit has no details, and can be replayed', async () => {
    expect(await read(parked(null))).toMatchObject({
      kind: 'no-details',
      queueUrl: 'http://queues/grade-push',
    });
  });

  test.each([
    ['nothing but a body', { Body: 'garbage' }],
    ['the queue of another service', parked(failureOf(), 'arn:aws:sqs:eu-west-1:1:other-service')],
    ['another stage', parked(failureOf(), 'arn:aws:sqs:eu-west-1:1:sis-relay-prod-grade-push')],
    ['a function that has no queue', parked(failureOf(), 'arn:aws:sqs:eu-west-1:1:sis-relay-test-gone')],
    [
      'the dead-letter queue itself',
      parked(failureOf(), 'arn:aws:sqs:eu-west-1:1:sis-relay-test-dead-letters'),
    ],
  ])('a letter with %s is of an unknown source, and goes nowhere', async (_, message) => {
    expect(await read(message)).toMatchObject({ kind: 'unknown-source', queueUrl: undefined });
  });

  test('whatever lies in the queue can be read', async () => {
    const text = fc.string({ unit: anyCharacter });
    const deep = fc
      .integer({ min: 0, max: 100_000 })
      .map((levels) => '['.repeat(levels) + ']'.repeat(levels));
    const attribute = fc.record(
      { DataType: text, StringValue: fc.oneof(text, deep), BinaryValue: fc.uint8Array() },
      { requiredKeys: [] },
    );
    const names = fc.oneof(
      text,
      fc.constantFrom('failure', 'kind', 'source', 'replays', 'whole', '__proto__'),
    );
    const message = fc.record(
      {
        MessageId: text,
        Body: fc.oneof(text, deep),
        MessageAttributes: fc.dictionary(names, attribute),
        Attributes: fc.dictionary(text, text),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(message, async (each) => {
        const letter = await read(each as Message);
        expect(letterKinds).toContain(letter.kind);
        expect(letter.error).not.toBe('');
        expect(letter.remedy).not.toBe('');
      }),
      { numRuns: runs(300) },
    );
  });
});

describe('letters with the same cause have the same error', () => {
  test.each([
    [
      { status: 403, title: 'Not Authorized', required: 'grades:gradevalues:write' },
      '403 Not Authorized (grades:gradevalues:write)',
    ],
    [{ status: 400, title: undefined }, '400'],
    [
      { status: undefined, message: 'The message is not valid: data.grade: must not be null' },
      'data.grade: must not be null',
    ],
    [{ status: undefined, message: 'x '.repeat(151) }, `${'x '.repeat(149)}x…`],
    [
      {
        status: undefined,
        message: 'PUT /svc/api/le/1.82/2001/grades/5001/values/301: no connection (ECONNREFUSED)',
      },
      'PUT /le/<id>/grades/<id>/values/<id>: no connection (ECONNREFUSED)',
    ],
    [
      {
        status: undefined,
        message: 'There is no secret sis-relay/prod/users/302, so nothing can be sent as user 302',
      },
      'There is no secret sis-relay/prod/users/<id>, so nothing can be sent as user <id>',
    ],
  ])('%j is told as %s', async (failure, error) => {
    expect(await read(parked(JSON.parse(JSON.stringify({ ...failureOf(), ...failure }))))).toMatchObject({
      error,
    });
  });

  test('ids and times are left out, numbers that mean something are not', () => {
    expect(
      withoutIds('Look for a submission of user 7 in folder 8 since 2026-01-31T09:30:00.000Z, at most 4,000'),
    ).toBe('Look for a submission of user <id> in folder <id> since <time>, at most 4,000');
    const time = 'time: must be a time such as 2026-01-31T09:30:00Z';
    expect(withoutIds(time)).toBe(time);
  });
});
