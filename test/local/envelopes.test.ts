import { randomUUID } from 'node:crypto';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import {
  DeleteMessageCommand,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type DeadLetter, letterOf } from '../../lib/dead-letter.ts';
import { busNoticeOf, inTopic, noticeOf, onBus, testOfS3 } from '../envelopes.ts';
import { localClient } from './aws.ts';
import { controlsOf } from './controls.ts';
import { type Stack, startStack } from './stack.ts';

type Line = { messageId?: string; eventId?: string; outcome?: string; reason?: string; messages?: Line[] };

let stack: Stack;
let s3: S3Client;
let lines: Line[] = [];

const onLog = (_name: string, text: string): void => {
  if (!text.startsWith('{"level"')) return;
  const line: Line = JSON.parse(text);
  lines.push(...(line.messages?.map((each) => ({ ...line, ...each })) ?? [line]));
};
const settings = { EVENTS_FILE_MAXIMUM: '50', EVENTS_FILE_MAXIMUM_BYTES: '5000000' };

beforeAll(async () => {
  stack = await startStack({ functions: ['enrollment-create'], settings, onLog });
  s3 = new S3Client({ ...localClient(stack.description.s3), forcePathStyle: true });
});
afterAll(async () => {
  s3?.destroy();
  await stack?.close();
});
beforeEach(async () => {
  lines = [];
  await controlsOf(stack.description).reset();
});

const event = (userId: number, more: object = {}) => ({
  specversion: '1.0',
  id: randomUUID(),
  source: '/sis/test',
  type: 'sis.enrollment-create.v1',
  time: new Date().toISOString(),
  data: { orgUnitId: 2001, userId, roleId: 110 },
  ...more,
});

const send = async (body: string, attributes: Record<string, MessageAttributeValue> = {}) => {
  const QueueUrl = stack.description.queues['enrollment-create'];
  const sent = await stack.sqs.send(
    new SendMessageCommand({ QueueUrl, MessageBody: body, MessageAttributes: attributes }),
  );
  return `${sent.MessageId}`;
};
const endOf = async (messageId: string): Promise<Line> => {
  const found = () => lines.find((each) => each.messageId === messageId && each.outcome !== 'waiting');
  await expect.poll(found, { timeout: 20_000 }).toBeDefined();
  return found() ?? {};
};
const ended = (eventId: string) =>
  expect.poll(() => lines.find((each) => each.eventId === eventId && each.outcome !== 'waiting')?.outcome, {
    timeout: 20_000,
  });
const put = (key: string, text: string | Uint8Array) =>
  s3.send(new PutObjectCommand({ Bucket: stack.description.bucket, Key: key, Body: text }));
const inFolder = () => `events/enrollment-create/${randomUUID()} ü+1.jsonl`;
const bucket = () => stack.description.bucket;
const enrolled = async () => (await controlsOf(stack.description).state()).enrollments ?? [];

/** The letters so far, which are taken away. */
const letters = async (count: number): Promise<DeadLetter[]> => {
  const QueueUrl = stack.description.deadLetters;
  const all: DeadLetter[] = [];
  for (let tries = 0; all.length < count && tries < 20; tries += 1) {
    const { Messages = [] } = await stack.sqs.send(
      new ReceiveMessageCommand({
        ...{ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 },
        ...{ MessageAttributeNames: ['All'], MessageSystemAttributeNames: ['All'] },
      }),
    );
    for (const message of Messages) {
      all.push(letterOf(message));
      await stack.sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }));
    }
  }
  return all;
};

describe('an event takes effect', () => {
  const wraps: [string, (each: object) => string][] = [
    ['in SNS', (each) => inTopic(JSON.stringify(each))],
    ['in EventBridge', (each) => onBus(each)],
    ['in EventBridge within SNS', (each) => inTopic(onBus(each))],
    ['in SNS within EventBridge', (each) => onBus(JSON.parse(inTopic(JSON.stringify(each))))],
  ];
  test.each(wraps)('%s, once', async (_, wrapped) => {
    const own = event(303);
    expect(await endOf(await send(wrapped(own)))).toMatchObject({ outcome: 'done', eventId: own.id });
    expect(await enrolled()).toContainEqual(expect.objectContaining({ orgUnitId: 2001, userId: 303 }));
    // However it is wrapped, it is the same event.
    expect(await endOf(await send(JSON.stringify(own)))).toMatchObject({ outcome: 'duplicate' });
  });
  test.each(wraps)('%s; one that is refused is a letter with the body byte for byte', async (_, wrapped) => {
    const body = ` ${wrapped(event(999_999))}\n`;
    expect(await endOf(await send(body))).toMatchObject({ outcome: 'parked' });
    const invalid = wrapped(event(303, { data: { orgUnitId: 2001 } }));
    expect(await endOf(await send(invalid))).toMatchObject({ outcome: 'parked', kind: 'invalid' });
    const found = await letters(2);
    expect(found.map((letter) => letter.body).sort()).toEqual([body, invalid].sort());
    const problem = 'The message is not valid: data.userId: is missing: expected number';
    expect(found.map(({ failure }) => failure?.message)).toContainEqual(
      expect.stringContaining(problem.slice(0, 51)),
    );
  });
  test('not of an envelope that holds none', async () => {
    const body = inTopic('Dear Ann Lee');
    const end = await endOf(await send(body));
    expect(end).toMatchObject({ outcome: 'parked', kind: 'invalid' });
    expect(end.reason).toBe(
      'The message is not valid: the body is a notification of SNS whose Message is not JSON',
    );
    expect(await letters(1)).toMatchObject([{ body }]);
  });
});

describe('a file of events', () => {
  const three = () => [301, 302, 303].map((userId) => event(userId));
  test.each([
    [
      'JSON Lines',
      (events: object[]) => `\uFEFF${events.map((each) => JSON.stringify(each)).join('\r\n')}\n`,
    ],
    ['a list', (events: object[]) => JSON.stringify(events, null, 2)],
  ])('of %s is sent to the queue, event by event', async (_, written) => {
    const events = three();
    const key = inFolder();
    await put(key, written(events));
    const priority = { DataType: 'String', StringValue: 'bulk' };
    const end = await endOf(await send(noticeOf({ bucket: bucket(), key }), { priority }));
    expect(end).toMatchObject({ outcome: 'done' });
    expect(end.reason).toBe('3 events of a file were sent to the queue of enrollment-create');
    for (const { id } of events) await ended(id).toBe('done');
    // Told again, everything is a duplicate.
    lines = [];
    await endOf(await send(busNoticeOf({ bucket: bucket(), key })));
    for (const { id } of events) await ended(id).toBe('duplicate');
  });

  test('has bad lines become letters of their own, and loses no other', async () => {
    const good = three();
    const key = inFolder();
    const bad = '{"specversion":"1.0","id":"bad"';
    await put(
      key,
      [JSON.stringify(good[0]), bad, ...good.slice(1).map((each) => JSON.stringify(each))].join('\n'),
    );
    await endOf(await send(inTopic(noticeOf({ bucket: bucket(), key }))));
    for (const { id } of good) await ended(id).toBe('done');
    expect(await letters(1)).toMatchObject([{ body: bad, failure: { kind: 'invalid' } }]);
  });

  test('that holds what no queue takes is a letter, after all else was sent', async () => {
    const good = three();
    const key = inFolder();
    const latin = Buffer.from('{"name":"M\xfcller"}', 'latin1');
    const notice = noticeOf({ bucket: bucket(), key });
    await put(
      key,
      Buffer.concat([Buffer.from(`${JSON.stringify(good[0])}\n`), latin, Buffer.from(`\n${notice}\n`)]),
    );
    const end = await endOf(await send(notice));
    expect(end).toMatchObject({ outcome: 'parked', kind: 'rejected' });
    await ended(good[0]?.id ?? '').toBe('done');
    const [letter] = await letters(1);
    expect(letter?.body).toBe(notice);
    expect(letter?.failure?.message).toBe(
      `‹s3://${bucket()}/${key}›: line 2 is not UTF-8, and 1 more cannot be sent either; 1 events were sent`,
    );
  });

  test.each<[string, () => Promise<{ bucket?: string; key: string }>, RegExp, string]>([
    [
      'of another bucket',
      async () => ({ bucket: 'other', key: inFolder() }),
      /not under events\/enrollment-create\/ of this stage/,
      'rejected',
    ],
    [
      'of another function',
      async () => ({ key: 'events/grade-push/1.jsonl' }),
      /not under events\/enrollment-create\//,
      'rejected',
    ],
    [
      'that is not there',
      async () => ({ key: inFolder() }),
      /not there, or not readable \(S3 answered 404\)/,
      'invalid',
    ],
    [
      'that leads elsewhere',
      async () => ({ key: 'events/enrollment-create/../../other/key' }),
      /segment of periods only/,
      'invalid',
    ],
    [
      'that is something else',
      async () => {
        const key = inFolder();
        await put(key, 'course;user\nMATH;ann\n');
        return { key };
      },
      /neither JSON Lines nor a JSON array of events/,
      'rejected',
    ],
    [
      'that is too large',
      async () => {
        const key = inFolder();
        await put(key, Buffer.alloc(5_000_001, ' '));
        return { key };
      },
      /has 5000001 bytes, and at most 5000000 are taken/,
      'invalid',
    ],
    [
      'of too many events',
      async () => {
        const key = inFolder();
        await put(key, `${JSON.stringify(event(303))}\n`.repeat(51));
        return { key };
      },
      /holds more than 50 events: the first 50 were sent/,
      'rejected',
    ],
  ])('%s is a letter that tells what to do', async (_, file, message, kind) => {
    const notice = noticeOf({ bucket: bucket(), ...(await file()) });
    expect(await endOf(await send(notice))).toMatchObject({ outcome: 'parked', kind });
    const [letter] = await letters(1);
    expect(letter).toMatchObject({ body: notice, failure: { message: expect.stringMatching(message) } });
    expect(letter?.failure?.remedy).not.toBe('');
  });

  test.each(['[]', ' \n'])('without events (%j) is done', async (text) => {
    const key = inFolder();
    await put(key, text);
    expect(await endOf(await send(noticeOf({ bucket: bucket(), key })))).toMatchObject({ outcome: 'done' });
  });

  test('waits while S3 does not answer', async () => {
    const key = inFolder();
    const events = three();
    await put(key, events.map((each) => JSON.stringify(each)).join('\n'));
    await controlsOf(stack.description).awsFault('s3', { action: 'HeadObject', status: 503, times: 4 });
    const id = await send(noticeOf({ bucket: bucket(), key }));
    expect(await endOf(id)).toMatchObject({ outcome: 'done' });
    expect(lines.filter((each) => each.messageId === id).map(({ outcome }) => outcome)).toContain('waiting');
  });

  test('is what S3 tries before it sends: nothing', async () => {
    expect(await endOf(await send(testOfS3))).toMatchObject({ outcome: 'done' });
  });
});
