import type { SQSMessageAttribute, SQSRecord } from 'aws-lambda';
import { describe, expect, test } from 'vitest';
import {
  attributesOf,
  deliveryOf,
  isDecided,
  priorityOf,
  storedAtOf,
} from '../../../../lib/delivery/handle/sqs-delivery.ts';
import { type DeadLetter, letterOf, sqsMessageOf } from '../../../../lib/delivery/letters/dead-letter.ts';
import { messageFor } from '../../../../lib/desk/messages/replay/send-and-delete.ts';

const nowMs = Date.parse('2026-06-01T12:00:00Z');

const attribute = (dataType: string, more: object): SQSMessageAttribute =>
  ({ dataType, stringListValues: [], binaryListValues: [], ...more }) as SQSMessageAttribute;

const recordOf = (change: object = {}): SQSRecord =>
  ({
    messageId: 'm',
    body: '{}',
    attributes: {
      SentTimestamp: String(nowMs - 60_000),
      ApproximateFirstReceiveTimestamp: String(nowMs - 20_000),
      ApproximateReceiveCount: '3',
    },
    messageAttributes: {},
    ...change,
  }) as SQSRecord;

describe('the delivery of a record', () => {
  test('tells when its message was sent and first handed out, how often that was, and how often it was replayed', () => {
    const messageAttributes = { replays: attribute('Number', { stringValue: '2' }) };
    expect(deliveryOf(recordOf({ messageAttributes }), nowMs)).toEqual({
      sentMs: nowMs - 60_000,
      firstMs: nowMs - 20_000,
      startedMs: nowMs,
      attempts: 3,
      replays: 2,
    });
  });

  test('may be told by numbers where an event is made by hand', () => {
    const attributes = { SentTimestamp: 1, ApproximateFirstReceiveTimestamp: 2, ApproximateReceiveCount: 3 };
    expect(deliveryOf(recordOf({ attributes }), nowMs)).toEqual({
      sentMs: 1,
      firstMs: 2,
      startedMs: nowMs,
      attempts: 3,
      replays: 0,
    });
  });

  test.each(['Infinity', '-1', '1.5', '1e300', 'never', ''])(
    'counts no replays where a producer has an attribute of that name: %j',
    (stringValue) => {
      const messageAttributes = { replays: attribute('String', { stringValue }) };
      expect(deliveryOf(recordOf({ messageAttributes }), nowMs).replays).toBe(0);
    },
  );

  test.each([
    [{}],
    [{ attributes: {} }],
    [{ attributes: { SentTimestamp: '9e15', ApproximateFirstReceiveTimestamp: '9e15' } }],
    [{ attributes: undefined, messageAttributes: undefined }],
  ])('begins now where an event made by hand does not tell: %o', (change) => {
    const record = recordOf({
      attributes: { SentTimestamp: 'x', ApproximateFirstReceiveTimestamp: '', ApproximateReceiveCount: 'y' },
      ...change,
    });
    expect(deliveryOf(record, nowMs)).toEqual({
      sentMs: nowMs,
      firstMs: nowMs,
      startedMs: nowMs,
      attempts: 1,
      replays: 0,
    });
  });
});

describe('whose turn a message takes', () => {
  const marked = (value: string, more: Record<string, SQSMessageAttribute> = {}) =>
    recordOf({ messageAttributes: { priority: attribute('String', { stringValue: value }), ...more } });
  const classOf = (record: SQSRecord) => priorityOf(record, deliveryOf(record, nowMs), 'urgent');

  test('its integration says, unless its producer has marked it as bulk, or it is a replay', () => {
    expect(classOf(recordOf())).toBe('urgent');
    expect(classOf(marked('bulk'))).toBe('bulk');
    expect(classOf(marked('urgent', { replays: attribute('Number', { stringValue: '1' }) }))).toBe('bulk');
    for (const record of [recordOf(), recordOf({ messageAttributes: undefined })])
      expect(priorityOf(record, deliveryOf(record, nowMs))).toBe('normal');
  });

  test.each(['Bulk', 'normal', 'low', ' bulk', '7'])('is as without it where its mark is %j', (value) => {
    expect(classOf(marked(value))).toBe('urgent');
  });

  test('a letter and its replay keep the producer’s mark', () => {
    const letter = {
      body: '{}',
      source: 'arn:aws:sqs:eu-west-1:1:sis-relay-grade-push',
      replays: 0,
      failure: null,
      attributes: attributesOf(marked('bulk')),
    };
    const { MessageAttributes } = sqsMessageOf(letter);
    expect(MessageAttributes).toMatchObject({ priority: { StringValue: 'bulk' } });
    const { attributes } = letterOf({ Body: '{}', MessageAttributes });
    expect(messageFor({ ...letter, attributes }).attributes).toMatchObject({
      priority: { StringValue: 'bulk' },
    });
  });
});

const letter: DeadLetter & { failure: object } = {
  body: '{}',
  source: 'arn:aws:sqs:eu-west-1:1:sis-relay-submission-upload',
  replays: 0,
  attributes: {},
  failure: {
    kind: 'uncertain',
    message: 'm',
    remedy: 'r',
    function: 'submission-upload',
    attempts: 1,
    firstAt: '2026-06-01T12:00:00Z',
    lastAt: '2026-06-01T12:00:00Z',
  },
};
const withAttributes = (
  given: Record<string, { DataType?: string | undefined; StringValue?: string | undefined }>,
) =>
  recordOf({
    messageAttributes: Object.fromEntries(
      Object.entries(given).map(([name, { DataType = '', StringValue: stringValue }]) => [
        name,
        attribute(DataType, { stringValue }),
      ]),
    ),
  });

describe('that a person has looked and found nothing', () => {
  const uncertain = { DataType: 'String', StringValue: 'uncertain' };

  test('is said by the replay of a letter that asks for it', () => {
    expect(isDecided(withAttributes(messageFor(letter).attributes))).toBe(true);
  });

  test.each<[string, SQSRecord]>([
    ['a message', recordOf()],
    ['a message with a producer’s attribute of that name', withAttributes({ kind: uncertain })],
    [
      'one that says that it was not replayed',
      withAttributes({ kind: uncertain, replays: { DataType: 'Number', StringValue: '0' } }),
    ],
    [
      'the replay of another letter',
      withAttributes(messageFor({ ...letter, failure: { ...letter.failure, kind: 'rejected' } }).attributes),
    ],
    [
      'a letter that was sent back by SQS’ own redrive, unread',
      withAttributes(sqsMessageOf({ ...letter, replays: 1 }).MessageAttributes),
    ],
    ['an event made by hand', recordOf({ messageAttributes: undefined })],
  ])('is not said by %s', (_, record) => expect(isDecided(record)).toBe(false));
});

describe('a letter that SQS’ own redrive has sent back', () => {
  const redriven = (more: Partial<DeadLetter> = {}, without: string[] = []) => {
    const { MessageAttributes } = sqsMessageOf({ ...letter, replays: 2, ...more });
    const kept = Object.entries(MessageAttributes).filter(([name]) => !without.includes(name));
    return withAttributes(Object.fromEntries(kept));
  };
  const cases: [string, SQSRecord][] = [
    ['with what it tells', redriven({ letterId: 'm' })],
    ['of whose failure nothing fitted beside its body', redriven({ letterId: 'm' }, ['failure'])],
    ['without the id of its message', redriven()],
  ];

  test.each(cases)('%s is a replay more: a person wants it done', (_, record) => {
    expect(deliveryOf(record, 0).replays).toBe(3);
  });

  test.each(cases)('%s decides nothing: nobody had to read it', (_, record) => {
    expect(isDecided(record)).toBe(false);
  });
});

describe('where the whole message lies to which a letter points', () => {
  const pointing = (whole: string, more: Record<string, { DataType: string; StringValue: string }> = {}) =>
    withAttributes({ whole: { DataType: 'String', StringValue: whole }, ...more });
  const letterId = { letterId: { DataType: 'String', StringValue: 'm' } };
  const own = 's3://letters/letters/grade-push/1.jsonl';

  test.each<[string, () => SQSRecord, string | undefined]>([
    ['is what it says', () => pointing(own, letterId), own],
    ['is nowhere', () => pointing('nowhere', letterId), 'nowhere'],
    ['is not told', () => withAttributes(letterId), undefined],
    ['is not told by any attribute', () => recordOf({ messageAttributes: undefined }), undefined],
    ['is not what a producer says', () => pointing(own), undefined],
    [
      'is not among those of others',
      () => pointing('s3://letters/letters/grade-pull/1.jsonl', letterId),
      undefined,
    ],
  ])('%s', (_, record, whole) => {
    expect(storedAtOf(record(), 'grade-push')).toBe(whole);
  });
});

describe('the attributes of a record', () => {
  test('are none where the event does not tell', () => {
    expect(attributesOf(recordOf({ messageAttributes: undefined }))).toEqual({});
  });

  test('leave out what has no value, which SQS would not take in a letter', () => {
    const messageAttributes = {
      empty: attribute('String', { stringValue: '' }),
      nothing: attribute('String', { stringValue: null, binaryValue: null }),
      noBytes: attribute('Binary', { binaryValue: '' }),
      zero: attribute('Number', { stringValue: '0' }),
      bytes: attribute('Binary', { binaryValue: 'AP+A' }),
    };
    expect(attributesOf(recordOf({ messageAttributes }))).toEqual({
      zero: { DataType: 'Number', StringValue: '0' },
      bytes: { DataType: 'Binary', BinaryValue: Buffer.from([0, 255, 128]) },
    });
  });
});
