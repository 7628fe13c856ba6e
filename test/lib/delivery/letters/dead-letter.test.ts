import {
  DeleteMessageCommand,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type DeadLetter,
  type LetterFailure,
  letterOf,
  notStored,
  pointerTo,
  sqsMessageOf,
} from '../../../../lib/delivery/letters/dead-letter.ts';
import { ownOf } from '../../../../lib/delivery/letters/letter-attributes.ts';
import { failureKindNames } from '../../../../lib/message/failure-kinds.ts';
import { maxBytes, maxMessageBytes } from '../../../../lib/message/sqs-limits.ts';
import { anyCharacter } from '../../../any-character.ts';
import { queuesAndFilesForTests } from '../../../local/aws/for-tests.ts';
import { runs } from '../../../seed.ts';

const { sqs, createQueue } = queuesAndFilesForTests();
let queueUrl: string;

beforeAll(async () => {
  queueUrl = (await createQueue('dead-letters')).url;
});

type Attributes = Record<string, MessageAttributeValue>;

/** The letter as it comes back from SQS, whose client checks the digests of body and attributes on both ways. */
const throughSqs = async (letter: DeadLetter): Promise<DeadLetter> => {
  await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, ...sqsMessageOf(letter) }));
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: queueUrl,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['All'],
    }),
  );
  const { ReceiptHandle } = Messages[0]!;
  await sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
  return letterOf(Messages[0]!);
};

/** As the documentation of SQS counts: the body, and of each attribute its name, type and value. */
const sizeOf = ({ MessageBody, MessageAttributes }: ReturnType<typeof sqsMessageOf>): number => {
  let bytes = Buffer.byteLength(MessageBody);
  for (const [name, { DataType, StringValue, BinaryValue }] of Object.entries(MessageAttributes)) {
    bytes += Buffer.from(name).length + Buffer.from(DataType!).length;
    bytes += StringValue === undefined ? BinaryValue!.length : Buffer.from(StringValue).length;
  }
  return bytes;
};

const limit = 1024 ** 2;
const source = 'arn:aws:sqs:eu-west-1:123456789012:sis-relay-grade-push';

const failure: LetterFailure = {
  kind: 'rejected',
  message:
    'The platform answered PUT /svc/api/le/1.82/2001/grades/5001/values/301 with 400 JSON Binding Error',
  remedy: 'Correct what the platform names, in the message or on the platform, then replay.',
  status: 400,
  type: 'json-binding-error',
  title: 'JSON Binding Error',
  detail: 'Provided JSON is invalid',
  operation: 'PUT /svc/api/le/1.82/2001/grades/5001/values/301',
  requestId: '0f6c1a52',
  function: 'grade-push',
  attempts: 1,
  firstAt: '2026-06-01T12:00:00.000Z',
  lastAt: '2026-06-01T12:00:00.250Z',
};

const letter: DeadLetter = { body: '{"specversion":"1.0"}', source, failure, replays: 0, attributes: {} };

/** A body that leaves no room. */
const all = 'x'.repeat(limit);

/** Filler of exactly so many bytes, of characters of one to four of them. */
const bodyOf = (bytes: number): string => {
  const some = '{"ä€😀":1}';
  const rest = bytes % Buffer.byteLength(some);
  return some.repeat((bytes - rest) / Buffer.byteLength(some)) + 'x'.repeat(rest);
};

const takenBySqs = (character: string): boolean =>
  /^[\t\n\r]$/.test(character) ||
  (character >= ' ' && character.isWellFormed() && !/[\uFFFE\uFFFF]/.test(character));

const replaced = (text: string): string =>
  [...text].map((character) => (takenBySqs(character) ? character : '\uFFFD')).join('');

const nasty = fc.constantFrom(
  '\ud83d',
  '\ude00',
  '\u0000',
  '\u001b[2J',
  '\uFFFE',
  '\uFFFF',
  '😀',
  '\u2028',
  '"',
  '\\',
);
const hostile = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 60 }),
  fc
    .array(fc.oneof(nasty, fc.string({ unit: 'grapheme', maxLength: 3 })), { maxLength: 30 })
    .map((all) => all.join('')),
);
const taken = hostile.map(replaced).filter((text) => text !== '');

const anyFailure: fc.Arbitrary<LetterFailure> = fc.record(
  {
    kind: fc.constantFrom(...failureKindNames),
    message: hostile,
    remedy: hostile,
    function: fc.constantFrom('grade-push', 'submission-upload'),
    attempts: fc.nat(),
    firstAt: fc.constant('2026-06-01T12:00:00.000Z'),
    lastAt: fc.constant('2026-06-01T12:00:00.250Z'),
    status: fc.constantFrom(400, 503),
    type: hostile,
    title: hostile,
    detail: fc.oneof(
      hostile,
      fc.tuple(fc.nat(3), fc.nat(3_000)).map(([x, most]) => 'x'.repeat(x) + '😀'.repeat(most)),
    ),
    required: hostile,
    operation: hostile,
    requestId: hostile,
    retryAfterSeconds: fc.nat(),
  },
  { requiredKeys: ['kind', 'message', 'remedy', 'function', 'attempts', 'firstAt', 'lastAt'] },
);

const anyAttribute: fc.Arbitrary<MessageAttributeValue> = fc
  .tuple(
    fc.constantFrom('', '.json', '.int', '.png'),
    fc.oneof(
      taken.map((StringValue) => ({ DataType: 'String', StringValue })),
      fc
        .constantFrom('0', '-12.5', '1e9', '0012')
        .map((StringValue) => ({ DataType: 'Number', StringValue })),
      fc
        .uint8Array({ minLength: 1, maxLength: 40 })
        .map((BinaryValue) => ({ DataType: 'Binary', BinaryValue })),
    ),
  )
  .map(([suffix, value]) => ({ ...value, DataType: `${value.DataType}${suffix}` }));

const anyAttributes: fc.Arbitrary<Attributes> = fc.dictionary(
  fc.stringMatching(/^[a-zA-Z0-9_-]{1,40}$/).filter((name) => !(name in {})),
  anyAttribute,
  { maxKeys: 10, noNullPrototype: true },
);

const anyLetter: fc.Arbitrary<DeadLetter> = fc.record({
  body: taken,
  source: fc.oneof(fc.constant(source), hostile),
  failure: fc.oneof({ weight: 5, arbitrary: anyFailure }, { weight: 1, arbitrary: fc.constant(null) }),
  replays: fc.oneof(fc.nat(), fc.constant(Number.MAX_SAFE_INTEGER)),
  attributes: anyAttributes,
});

const lastWords = ({ body, ...rest }: DeadLetter, room: number): DeadLetter => ({
  ...rest,
  body: bodyOf(limit - room),
});

const inJson = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value).replaceAll('\uFFFE', '\uFFFD').replaceAll('\uFFFF', '\uFFFD'));

describe('a letter', () => {
  test('comes back from SQS as it was written, whatever it says', async () => {
    await fc.assert(
      fc.asyncProperty(anyLetter, async (written) => {
        const names = ['failure', 'kind', 'source', 'replays'];
        const foreign = Object.entries(written.attributes).filter(([name]) => !names.includes(name));
        const own = 1 + (written.source === '' ? 0 : 1) + (written.failure ? 2 : 0);
        expect(await throughSqs(written)).toStrictEqual({
          body: written.body,
          source: replaced(written.source),
          failure: inJson(written.failure),
          replays: written.replays,
          attributes: Object.fromEntries(foreign.slice(0, 10 - own)),
        });
      }),
      { numRuns: runs(300) },
    );
  });

  test('is within the limits of SQS whatever it says, and however much', () => {
    const long = fc
      .tuple(hostile, fc.integer({ min: 0, max: 20_000 }))
      .map(([text, times]) => text.repeat(times % 997));
    fc.assert(
      fc.property(anyLetter, long, fc.nat(20_000), (any, text, room) => {
        const wordy = any.failure && {
          ...any.failure,
          message: text,
          remedy: text,
          detail: text,
          required: text,
        };
        const attributes = {
          ...any.attributes,
          wordy: { DataType: 'String', StringValue: replaced(text) || ' ' },
        };
        const written = lastWords({ ...any, failure: wordy, attributes }, room);
        const message = sqsMessageOf(written);
        expect(message.MessageBody === written.body).toBe(true);
        expect(Object.keys(message.MessageAttributes).length).toBeLessThanOrEqual(10);
        expect(sizeOf(message)).toBeLessThanOrEqual(limit);
        for (const { StringValue = 'x' } of Object.values(message.MessageAttributes)) {
          expect(StringValue).not.toBe('');
          expect(StringValue.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: runs(200) },
    );
  });

  test('beside the largest message of our queues says all that can be said of a failure', () => {
    const body = all.slice(maxBytes - maxMessageBytes);
    const story = {
      ...failure,
      title: '😀'.repeat(100),
      detail: '€'.repeat(2_000),
      message: 'ä'.repeat(2_000),
    };
    const { MessageAttributes } = sqsMessageOf({ ...letter, body, failure: story });
    expect(letterOf({ Body: body, MessageAttributes }).failure).toEqual(story);
  });

  test('is cut where there is less room: the sentences, what the message carried, the reason, the rest', () => {
    const trace = { trace: { DataType: 'String', StringValue: 'x'.repeat(200) } };
    const story = { ...failure, detail: `x${'😀'.repeat(1_000)}`, message: 'm'.repeat(400) };
    const brief = { ...story, detail: `x${'😀'.repeat(99)}`, message: 'm'.repeat(200) };
    const found = new Map<string, unknown>();
    for (let room = 6_000; room >= 0; room -= 5) {
      const message = sqsMessageOf({ ...letter, body: all.slice(room), failure: story, attributes: trace });
      expect(sizeOf(message)).toBeLessThanOrEqual(limit);
      const { MessageAttributes } = message;
      const { failure: told, source: from, attributes } = letterOf({ Body: 'b', MessageAttributes });
      const read = [told, from, attributes, Object.keys(MessageAttributes)];
      found.set(JSON.stringify(MessageAttributes), read);
    }
    const own = ['source', 'replays', 'kind', 'failure'];
    expect([...found.values()]).toEqual([
      [story, source, trace, ['trace', ...own]],
      [brief, source, trace, ['trace', ...own]],
      [brief, source, {}, own],
      [null, source, trace, ['trace', ...own.slice(0, 3)]],
      [null, source, {}, own.slice(0, 3)],
      [null, source, {}, own.slice(0, 2)],
      [null, '', {}, []],
    ]);
  });

  test('is said whole to the last byte that SQS takes', () => {
    const room = sizeOf(sqsMessageOf({ ...letter, body: '' }));
    const filled = sqsMessageOf({ ...letter, body: all.slice(room) });
    expect(sizeOf(filled)).toBe(limit);
    expect(letterOf({ Body: 'b', ...filled }).failure).toEqual(failure);
    const over = sqsMessageOf({ ...letter, body: all.slice(room - 1) });
    expect(letterOf({ Body: 'b', ...over }).failure).toBeNull();
  });

  test('has room for six attributes of the message, or for eight without a failure', () => {
    const names = Array.from({ length: 10 }, (_, at) => `a${at}`);
    const value = { DataType: 'String', StringValue: 'v' };
    const attributes = Object.fromEntries(names.map((name) => [name, value]));
    const kept = (written: DeadLetter) =>
      Object.keys(sqsMessageOf(written).MessageAttributes).filter((name) => names.includes(name));
    expect(kept({ ...letter, attributes })).toEqual(names.slice(0, 6));
    expect(kept({ ...letter, attributes, failure: null })).toEqual(names.slice(0, 8));
    // What a replay needs is kept before all else that the producer wrote, also where there is little room.
    const edited = { ...letter, attributes: { ...attributes, history: value, priority: value } };
    expect(kept(edited)).toEqual(names.slice(0, 4));
    expect(sqsMessageOf(edited).MessageAttributes).toMatchObject({ history: value, priority: value });
    const large = { ...edited, body: all.slice(160), failure: null };
    expect(sqsMessageOf(large).MessageAttributes).toMatchObject({ history: value, priority: value });
    expect(kept(large)).toEqual([]);
  });

  test('carries its own failure, kind, source and replays, whatever the message called so', () => {
    const names = ['failure', 'kind', 'source', 'replays', 'whole'];
    const theirs = Object.fromEntries(
      names.map((name) => [name, { DataType: 'String', StringValue: 'theirs' }]),
    );
    const { MessageAttributes } = sqsMessageOf({ ...letter, replays: 3, attributes: theirs });
    expect(MessageAttributes).toEqual({
      failure: { DataType: 'String', StringValue: JSON.stringify(failure) },
      kind: { DataType: 'String', StringValue: 'rejected' },
      source: { DataType: 'String', StringValue: source },
      replays: { DataType: 'Number', StringValue: '3' },
    });
  });
});

describe('a message that is read as a letter', () => {
  const read = (attributes: Record<string, string>) =>
    letterOf({
      Body: 'b',
      MessageAttributes: Object.fromEntries(
        Object.entries(attributes).map(([name, StringValue]) => [name, { DataType: 'String', StringValue }]),
      ),
    });

  test('that SQS moved by itself has no failure, and the source that SQS tells', () => {
    expect(letterOf({ Body: 'b', Attributes: { DeadLetterQueueSourceArn: source } })).toEqual({
      body: 'b',
      source,
      failure: null,
      replays: 0,
      attributes: {},
    });
    expect(letterOf({})).toEqual({ body: '', source: '', failure: null, replays: 0, attributes: {} });
  });

  test('that SQS moved by itself is as its producer sent it, who decides neither why it failed nor where it goes', () => {
    const carried: Attributes = { trace: { DataType: 'String', StringValue: 't' } };
    const forged = sqsMessageOf({
      ...letter,
      source: 'arn:aws:sqs:eu-west-1:123456789012:another',
      replays: 2,
      attributes: carried,
      storedAt: 's3://a-bucket/letters/grade-push/of-another.jsonl',
    });
    const { MessageAttributes } = forged;
    expect(
      letterOf({ Body: 'b', MessageAttributes, Attributes: { DeadLetterQueueSourceArn: source } }),
    ).toEqual({
      body: 'b',
      source,
      failure: null,
      // It may be a replay, on which the function died.
      replays: 2,
      attributes: carried,
    });
  });

  test('that nobody wrote a letter for says where it lies whole, and what it was about', () => {
    const body = '{"id":"e-1","secret":"ä"}';
    const kept: Attributes = {
      history: { DataType: 'String', StringValue: '{"deeds":[]}' },
      priority: { DataType: 'String', StringValue: 'high' },
    };
    const attributes: Attributes = { trace: { DataType: 'Number', StringValue: 'not one' }, ...kept };
    const whole = 's3://a-bucket/letters/grade-push/0f6c1a52.jsonl';
    const letterId = '5d7c7c2e-1b0f-4f43-9a39-d4f2f4d0a0de';
    const pointer = pointerTo({ ...letter, body, attributes, replays: 1, letterId }, whole);
    const { MessageBody, MessageAttributes } = sqsMessageOf(pointer);
    expect(JSON.parse(MessageBody)).toEqual({ whole, bytes: 26, id: 'e-1' });
    expect(letterOf({ Body: MessageBody, MessageAttributes })).toEqual({
      body: MessageBody,
      source,
      failure,
      replays: 1,
      attributes: kept,
      storedAt: whole,
      letterId,
    });
    expect({ ...ownOf({ ...attributes, ...MessageAttributes }), ...kept }).toEqual(MessageAttributes);
    const lost = sqsMessageOf(pointerTo({ ...letter, body }, notStored));
    expect(JSON.parse(lost.MessageBody)).toEqual({
      whole: 'nowhere',
      why: expect.stringContaining('LETTERS_BUCKET'),
      bytes: 26,
      id: 'e-1',
    });
    expect(lost.MessageBody + JSON.stringify(lost.MessageAttributes)).not.toContain('secret');
  });

  const { detail, ...brief } = failure;
  test.each([
    ['text', 'no JSON'],
    ['null', 'null'],
    ['a list', JSON.stringify([failure])],
    ['a kind that there is not', JSON.stringify({ ...failure, kind: 'toString' })],
    ['no remedy', JSON.stringify({ ...failure, remedy: undefined })],
    ['a detail that is no text', JSON.stringify({ ...failure, detail: [1] })],
    ['a status that is no number', JSON.stringify({ ...failure, status: '400' })],
    ['half of one', JSON.stringify(failure).slice(0, 100)],
    [
      'one nested too deep',
      JSON.stringify({ ...failure, since: '@' }).replace('"@"', '['.repeat(10_000) + ']'.repeat(10_000)),
    ],
  ])('has no failure where that is not one of ours: %s', (_, json) => {
    expect(read({ failure: json }).failure).toBeNull();
  });

  test('has a failure without the number that was none', () => {
    const endless = { ...failure, retryAfterSeconds: Number.POSITIVE_INFINITY };
    const { MessageAttributes } = sqsMessageOf({ ...letter, failure: endless });
    expect(letterOf({ Body: 'b', MessageAttributes }).failure).toEqual(failure);
  });

  test('has a failure that tells more than this version knows', () => {
    expect(read({ failure: JSON.stringify({ ...brief, since: 'later' }) }).failure).toEqual({
      ...brief,
      since: 'later',
    });
  });

  test.each([
    ['0', 0],
    ['3', 3],
    ['9007199254740991', 9_007_199_254_740_991],
    ['', 0],
    ['-1', 0],
    ['1.5', 0],
    ['Infinity', 0],
    ['many', 0],
  ])('with %j replays has had %i', (text, replays) => {
    expect(read({ replays: text }).replays).toBe(replays);
  });
});
