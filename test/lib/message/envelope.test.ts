import { describe, expect, test } from 'vitest';
import { eventIn, unwrapped } from '../../../lib/message/envelope.ts';
import { busNoticeOf, inTopic, noticeOf, onBus, testOfS3 } from '../../envelopes.ts';

const event = { specversion: '1.0', id: 'g-1', type: 'sis.grade-push.v1', data: { userId: 301 } };
const text = JSON.stringify(event);
const read = (body: string) => unwrapped(JSON.parse(body));

describe('an event is found', () => {
  test.each([
    ['as it is', text, []],
    ['in a notification of SNS', inTopic(text), ['SNS']],
    ['in an event of EventBridge', onBus(event), ['EventBridge']],
    ['in EventBridge within SNS', inTopic(onBus(event)), ['SNS', 'EventBridge']],
    ['in SNS within EventBridge', onBus(JSON.parse(inTopic(text))), ['EventBridge', 'SNS']],
    ['in three', inTopic(onBus(JSON.parse(inTopic(text)))), ['SNS', 'EventBridge', 'SNS']],
  ])('%s', (_, body, envelopes) => {
    expect(read(body)).toEqual({ event, envelopes });
    expect(eventIn(body)).toEqual(event);
  });
});

test('an event of our own is never taken for an envelope, whatever else it holds', () => {
  for (const envelope of [inTopic('{}'), onBus({}), noticeOf({ key: 'a' }), testOfS3]) {
    const mixed = { ...JSON.parse(envelope), ...event };
    expect(unwrapped(mixed)).toEqual({ event: mixed, envelopes: [] });
    const within = { ...event, data: JSON.parse(envelope) };
    expect(unwrapped(within)).toEqual({ event: within, envelopes: [] });
  }
});

test.each([null, 7, 'text', [], [event], {}, { Records: [] }, { Records: [{ s3: {} }] }, { detail: event }])(
  'what is no envelope stays as it is: %j',
  (json) => expect(unwrapped(json)).toEqual({ event: json, envelopes: [] }),
);

test('what lacks a field that its service always sends is no envelope', () => {
  const lacking = (body: string, field: string) => {
    const { [field]: _, ...rest } = JSON.parse(body);
    return rest;
  };
  for (const field of ['Type', 'MessageId', 'TopicArn', 'Message'])
    expect(unwrapped(lacking(inTopic(text), field))).toHaveProperty('envelopes', []);
  for (const field of ['detail-type', 'source', 'account', 'detail'])
    expect(unwrapped(lacking(onBus(event), field))).toHaveProperty('envelopes', []);
});

describe('files that S3 has written are named', () => {
  const key = 'events/grade-push/Übung 1+2.jsonl';
  test.each([
    ['to a queue', noticeOf({ key })],
    ['on EventBridge', busNoticeOf({ key })],
    ['by SNS', inTopic(noticeOf({ key }))],
    ['on EventBridge, by SNS', inTopic(busNoticeOf({ key }))],
  ])('%s', (_, body) => {
    expect(read(body)).toEqual({ objects: [{ bucket: 'files', key, versionId: undefined }] });
    expect(eventIn(body)).toBeUndefined();
  });
  test('with their versions', () => {
    const objects = [{ bucket: 'files', key, versionId: 'v1' }];
    expect(read(noticeOf({ key, versionId: 'v1' }))).toEqual({ objects });
    expect(read(busNoticeOf({ key, versionId: 'v1' }))).toEqual({ objects });
  });
  test('several of one notice', () =>
    expect(read(noticeOf({ key: 'a' }, { key: 'b', bucket: 'other' }))).toEqual({
      objects: [
        { bucket: 'files', key: 'a', versionId: undefined },
        { bucket: 'other', key: 'b', versionId: undefined },
      ],
    }));
  test('once each, however often one notice names them', () => {
    const again = Array.from({ length: 500 }, () => ({ key: 'a' }));
    expect(read(noticeOf(...again, { key: 'b' }, { key: 'a', versionId: 'v1' }))).toEqual({
      objects: [
        { bucket: 'files', key: 'a', versionId: undefined },
        { bucket: 'files', key: 'b', versionId: undefined },
        { bucket: 'files', key: 'a', versionId: 'v1' },
      ],
    });
  });
  test('20 of one notice at most: of more, none is read', () => {
    const many = Array.from({ length: 21 }, (_, at) => ({ key: `${at}` }));
    expect(read(noticeOf(...many.slice(1)))).toMatchObject({ objects: { length: 20 } });
    expect(read(noticeOf(...many))).toEqual({
      problem: 'is a notice of S3 that names more than 20 files in Records. Send several notices',
    });
  });
});

test.each([testOfS3, inTopic(testOfS3)])('a try of S3 holds nothing', (body) =>
  expect(read(body)).toEqual({ test: 's3:TestEvent' }),
);

describe('an envelope without an event tells why', () => {
  const fourTimes = inTopic(inTopic(inTopic(inTopic(text))));
  test.each([
    [inTopic('A grade was changed'), 'is a notification of SNS whose Message is not JSON'],
    [
      inTopic(`${'['.repeat(65)}${']'.repeat(65)}`),
      'is a notification of SNS whose Message is nested deeper than 64 levels',
    ],
    [fourTimes, 'is wrapped in more than 3 envelopes'],
    [
      inTopic('You have chosen to subscribe', { Type: 'SubscriptionConfirmation' }),
      'is a request of SNS to confirm a subscription: the owner of the topic must confirm it with its SubscribeURL',
    ],
    [noticeOf({ key: 'a', name: 'ObjectRemoved:Delete' }), 'is a notice of S3 that names no new object'],
    [busNoticeOf({ key: 'a', name: 'Object Deleted' }), 'is a notice of S3 that names no new object'],
    [noticeOf({ key: '' }), 'is a notice of S3 that names no bucket and key'],
    [noticeOf({ key: 'a' }).replace('"a"', '"%"'), 'is a notice of S3 that names no bucket and key'],
    [
      noticeOf({ key: 'a' }).replace('"bucket":{', '"bucket":7,"x":{'),
      'is a notice of S3 that names no bucket and key',
    ],
  ])('%.60s', (body, problem) => expect(read(body)).toEqual({ problem }));
});

test('a plain event is not looked into', () => {
  const asked: unknown[] = [];
  const watched = new Proxy(event, {
    has: (target, name) => asked.push(name) > 0 && name in target,
    get: (target, name) => asked.push(name) > 0 && target[name as keyof typeof target],
  });
  const read = unwrapped(watched);
  expect(asked).toEqual(['specversion']);
  expect(read).toEqual({ event, envelopes: [] });
});
