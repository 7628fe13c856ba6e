import { randomUUID } from 'node:crypto';
import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { integration } from '../../functions/enrollment-create.ts';
import type { DeadLetter } from '../../lib/delivery/letters/dead-letter.ts';
import { busNoticeOf, inTopic, noticeOf, onBus, testOfS3 } from '../envelopes.ts';
import { functionForTests } from './inline.ts';

const relay = functionForTests(integration, () => ({
  EVENTS_FILE_MAXIMUM: '50',
  EVENTS_FILE_MAXIMUM_BYTES: '5000000',
}));

const event = (userId: number, more: object = {}) => ({
  specversion: '1.0',
  id: randomUUID(),
  source: '/sis/test',
  type: 'sis.enrollment-create.v1',
  time: new Date().toISOString(),
  data: { orgUnitId: 2001, userId, roleId: 110 },
  ...more,
});

/** How a message ends. */
const endOf = async (body: string, attributes?: Record<string, MessageAttributeValue>) => {
  const { outcomes, reasons, letters } = await relay.deliverBody(body, attributes);
  return { outcomes, outcome: outcomes.at(-1), reason: reasons.at(-1), letters };
};
/** How the last message of an event ends. */
const ended = (eventId: string) =>
  expect.poll(() => relay.reports.findLast((each) => each.eventId === eventId)?.outcome);
const inFolder = () => `events/enrollment-create/${randomUUID()} ü+1.jsonl`;
const bucket = () => relay.description().bucket;
const enrolled = () => relay.rows('enrollments');

test('an event takes effect within EventBridge within SNS, and is the same event as without them', async () => {
  const own = event(303);
  expect(await endOf(inTopic(onBus(own)))).toMatchObject({ outcome: 'done', letters: [] });
  expect(await enrolled()).toContainEqual(expect.objectContaining({ orgUnitId: 2001, userId: 303 }));
  expect(await endOf(JSON.stringify(own))).toMatchObject({ outcome: 'duplicate' });
});

test('one that is refused is a letter with the body byte for byte', async () => {
  const body = ` ${inTopic(onBus(event(999_999)))}\n`;
  expect(await endOf(body)).toMatchObject({ outcome: 'parked', letters: [{ body }] });
  const invalid = inTopic(onBus(event(303, { data: { orgUnitId: 2001 } })));
  const message = expect.stringContaining('The message is not valid: data.userId: is missing');
  expect(await endOf(invalid)).toMatchObject({
    outcome: 'parked',
    letters: [{ body: invalid, failure: { kind: 'invalid', message } }],
  });
});

describe('a file of events', () => {
  const three = () => [301, 302, 303].map((userId) => event(userId));
  test('is sent to the queue, event by event', async () => {
    const events = three();
    const key = inFolder();
    const lines = events.map((each) => JSON.stringify(each)).join('\r\n');
    await relay.putFile(key, `\uFEFF${lines}\n`);
    const priority = { DataType: 'String', StringValue: 'bulk' };
    const end = await endOf(noticeOf({ bucket: bucket(), key }), { priority });
    expect(end).toMatchObject({ outcome: 'done' });
    expect(end.reason).toBe('3 events of a file were sent to the queue of enrollment-create');
    for (const { id } of events) await ended(id).toBe('done');
    // Told again, everything is a duplicate.
    await endOf(busNoticeOf({ bucket: bucket(), key }));
    for (const { id } of events) await ended(id).toBe('duplicate');
  });

  test('has bad lines become letters of their own, and loses no other', async () => {
    const good = three();
    const key = inFolder();
    const bad = '{"specversion":"1.0","id":"bad"';
    await relay.putFile(
      key,
      [JSON.stringify(good[0]), bad, ...good.slice(1).map((each) => JSON.stringify(each))].join('\n'),
    );
    const { letters } = await endOf(inTopic(noticeOf({ bucket: bucket(), key })));
    for (const { id } of good) await ended(id).toBe('done');
    // It may be written before or after the file was read.
    const all: DeadLetter[] = [...letters];
    await expect
      .poll(async () => {
        all.push(...(await relay.takeLetters()));
        return all;
      })
      .toMatchObject([{ body: bad, failure: { kind: 'invalid' } }]);
  });

  test('that holds what no queue takes is a letter, after all else was sent', async () => {
    const good = three();
    const key = inFolder();
    const latin = Buffer.from('{"name":"M\xfcller"}', 'latin1');
    const notice = noticeOf({ bucket: bucket(), key });
    await relay.putFile(
      key,
      Buffer.concat([Buffer.from(`${JSON.stringify(good[0])}\n`), latin, Buffer.from(`\n${notice}\n`)]),
    );
    const message = `‹s3://${bucket()}/${key}›: line 2 is not UTF-8, and 1 more cannot be sent either; 1 events were sent`;
    expect(await endOf(notice)).toMatchObject({
      outcome: 'parked',
      letters: [{ body: notice, failure: { kind: 'rejected', message } }],
    });
    await ended(good[0]?.id ?? '').toBe('done');
  });

  const own = 'events/enrollment-create/';
  const tooMany = `${JSON.stringify(event(303))}\n`.repeat(51);

  test.each<[string, { bucket?: string; key?: string; file?: string | Buffer }, RegExp, string]>([
    [
      'of another bucket',
      { bucket: 'other' },
      /not under events\/enrollment-create\/ of this stage/,
      'rejected',
    ],
    [
      'of another function',
      { key: 'events/grade-push/1.jsonl' },
      /not under events\/enrollment-create\//,
      'rejected',
    ],
    ['that is not there', {}, /does not exist, or may not be read \(S3 answered 404\)/, 'invalid'],
    [
      'that leads elsewhere',
      { key: `${own}../../other/key` },
      /segment that consists only of periods/,
      'invalid',
    ],
    [
      'that is something else',
      { file: 'course;user\nMATH;ann\n' },
      /neither JSON Lines nor a JSON array/,
      'rejected',
    ],
    [
      'that is too large',
      { file: Buffer.alloc(5_000_001, ' ') },
      /5000001 bytes; the limit is 5000000/,
      'invalid',
    ],
    [
      'of too many events',
      { file: tooMany },
      /holds more than 50 events\. Only the first 50 were sent/,
      'rejected',
    ],
  ])(
    '%s is a letter that tells what to do',
    async (_, { key = inFolder(), file, ...place }, message, kind) => {
      if (file !== undefined) await relay.putFile(key, file);
      const notice = noticeOf({ bucket: bucket(), key, ...place });
      const { outcome, letters } = await endOf(notice);
      expect(outcome).toBe('parked');
      const failure = { kind, message: expect.stringMatching(message), remedy: expect.stringMatching(/./) };
      expect(letters).toMatchObject([{ body: notice, failure }]);
    },
  );

  test.each(['[]', ' \n'])('without events (%j) is done', async (text) => {
    const key = inFolder();
    await relay.putFile(key, text);
    expect(await endOf(noticeOf({ bucket: bucket(), key }))).toMatchObject({ outcome: 'done' });
  });

  test('waits while S3 does not answer', async () => {
    const key = inFolder();
    const events = three();
    await relay.putFile(key, events.map((each) => JSON.stringify(each)).join('\n'));
    await relay.controls().awsFault('s3', { action: 'HeadObject', status: 503, times: 4 });
    const { outcomes } = await endOf(noticeOf({ bucket: bucket(), key }));
    expect([outcomes[0], outcomes.at(-1)]).toEqual(['waiting', 'done']);
  });

  test('is what S3 tries before it sends: nothing', async () => {
    expect(await endOf(testOfS3)).toMatchObject({ outcome: 'done' });
  });
});
