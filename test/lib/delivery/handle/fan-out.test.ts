import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import type { SQSRecord } from 'aws-lambda';
import { beforeAll, describe, expect, test } from 'vitest';
import { createFanOut, placeAttribute } from '../../../../lib/delivery/handle/fan-out.ts';
import { MessageFailure } from '../../../../lib/message/failure.ts';
import type { Outgoing } from '../../../../lib/message/sqs-limits.ts';
import { waitLimitMs } from '../../../limits.ts';
import { queuesAndFilesForTests } from '../../../local/aws/for-tests.ts';

const bucket = 'files';
const { s3, createBucket } = queuesAndFilesForTests();

beforeAll(() => createBucket(bucket));

const put = (key: string, text: string) =>
  s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: text }));
const signal = new AbortController().signal;
const lines = (count: number, size = 10) =>
  Array.from({ length: count }, (_, at) => JSON.stringify({ id: at, text: 'x'.repeat(size) }));

const start = (send: (messages: Outgoing[]) => Promise<void>, nowMs = () => 0) =>
  createFanOut({
    ...{ bucket, functionName: 'try-out', s3: async () => s3, send, nowMs },
    ...{ timeoutMs: waitLimitMs, maximumBytes: 100_000_000, maximumEvents: 1_000_000 },
  });
const recordOf = (attributes: Outgoing['attributes'] = {}) =>
  ({
    body: 'the notice',
    messageAttributes: Object.fromEntries(
      Object.entries(attributes).map(([name, { DataType, StringValue }]) => [
        name,
        { dataType: DataType, stringValue: StringValue },
      ]),
    ),
  }) as unknown as SQSRecord;
const objectOf = (key: string) => ({ bucket, key: `events/try-out/${key}`, versionId: undefined });

/** Every chunk takes a second of three, so that several messages go on with the file. */
const workedOff = async (keys: string[], attributes: Outgoing['attributes'] = {}) => {
  let nowMs = 0;
  const sent: string[] = [];
  const given: Outgoing['attributes'][] = [];
  const queue = [recordOf(attributes)];
  const chunks: number[] = [];
  const fanOut = start(
    async (messages) => {
      nowMs += 1_000;
      chunks.push(messages.length);
      for (const { body, attributes } of messages) {
        if (body === 'the notice') queue.push(recordOf(attributes));
        else {
          sent.push(body);
          given.push(attributes);
        }
      }
    },
    () => nowMs,
  );
  let runs = 0;
  for (let record = queue.shift(); record; record = queue.shift()) {
    runs += 1;
    await fanOut(keys.map(objectOf), { record, signal, untilMs: nowMs + 3_000 });
  }
  return { sent, given, runs, chunks };
};

test.each([
  ['JSON Lines', (texts: string[]) => texts.join('\n')],
  ['a list', (texts: string[]) => `[\n${texts.join(',\n')}\n]`],
])(
  '%s for which one attempt has no time are sent by several, each event once and in order',
  async (_, written) => {
    const texts = lines(1_000);
    await put('events/try-out/long', written(texts));
    await put('events/try-out/short', written(texts.slice(0, 3)));
    const priority = { DataType: 'String', StringValue: 'bulk' };
    const { sent, given, runs, chunks } = await workedOff(['short', 'long'], {
      priority,
      replays: { DataType: 'Number', StringValue: '1' },
    });
    expect(sent).toEqual([...texts.slice(0, 3), ...texts]);
    expect(runs).toBe(5);
    expect(Math.max(...chunks)).toBe(80);
    // Those that a letter has are its own: an event is no replay because its notice is one.
    expect(given.every((each) => JSON.stringify(each) === JSON.stringify({ priority }))).toBe(true);
  },
);

test('a file that was written anew meanwhile is sent from its beginning', async () => {
  await put('events/try-out/anew', lines(300).join('\n'));
  let written = false;
  const queue = [recordOf()];
  const sent: string[] = [];
  const fanOut = start(async (messages) => {
    for (const { body, attributes } of messages)
      if (body === 'the notice') queue.push(recordOf(attributes));
      else sent.push(body);
  });
  for (let record = queue.shift(); record; record = queue.shift()) {
    await fanOut([objectOf('anew')], { record, signal, untilMs: written ? 1 : 0 });
    if (!written) await put('events/try-out/anew', lines(200, 20).join('\n'));
    written = true;
  }
  expect(sent).toEqual([...lines(80), ...lines(200, 20)]);
});

test('a place that nobody wrote here counts as none', async () => {
  await put('events/try-out/place', lines(2).join('\n'));
  const { sent } = await workedOff(['place'], {
    [placeAttribute]: { DataType: 'String', StringValue: '{"file":-1}' },
  });
  expect(sent).toEqual(lines(2));
});

test('where SQS does not take a message, nothing is held for done', async () => {
  await put('events/try-out/refused', lines(200).join('\n'));
  const fanOut = start(async () => {
    await sleep(1);
    throw new MessageFailure('unavailable', 'SQS did not take 1 of 80 messages');
  });
  const failed = fanOut([objectOf('refused')], { record: recordOf(), signal, untilMs: 1 });
  await expect(failed).rejects.toMatchObject({ kind: 'unavailable' });
});

test('a large file is held in small parts', async () => {
  const texts = lines(20, 900_000);
  await put('events/try-out/large', texts.join('\n'));
  let most = 0;
  const fanOut = start(async (messages) => {
    most = Math.max(
      most,
      messages.reduce((sum, { body }) => sum + body.length, 0),
    );
  });
  await fanOut([objectOf('large')], { record: recordOf(), signal, untilMs: 1 });
  expect(most).toBeLessThan(6 * 1024 ** 2);
});

describe('what one notice may cause', () => {
  const limited = (sent: string[], untilMs: number) => {
    const queue = [recordOf()];
    const fanOut = createFanOut({
      ...{ bucket, functionName: 'try-out', s3: async () => s3, nowMs: () => 0 },
      ...{ timeoutMs: waitLimitMs, maximumBytes: 100_000_000, maximumEvents: 500 },
      send: async (messages) => {
        for (const { body, attributes } of messages)
          if (body === 'the notice') queue.push(recordOf(attributes));
          else sent.push(body);
      },
    });
    return async (keys: string[]) => {
      for (let record = queue.shift(); record; record = queue.shift())
        await fanOut(keys.map(objectOf), { record, signal, untilMs });
    };
  };

  test.each([
    ['by one message', 1],
    ['by many, each of which goes on with it', 0],
  ])('is as many events as one file may have, of all its files together, sent %s', async (_, untilMs) => {
    for (const key of ['first', 'second', 'third']) await put(`events/try-out/${key}`, lines(200).join('\n'));
    const sent: string[] = [];
    await expect(limited(sent, untilMs)(['first', 'second', 'third'])).rejects.toMatchObject({
      kind: 'rejected',
      message: expect.stringMatching(
        /third\S* and the files that the notice names before it hold more than 500 events\. Only the first 500 were sent$/,
      ),
    });
    expect(sent).toEqual([...lines(200), ...lines(200), ...lines(100)]);
  });

  test('goes on from its beginning where a message says that it ended behind its last file', async () => {
    await put('events/try-out/one', lines(2).join('\n'));
    const place = JSON.stringify({
      file: 7,
      etag: '',
      byte: 0,
      line: 1,
      isList: false,
      sent: 0,
      unsent: 0,
      problem: '',
    });
    const { sent } = await workedOff(['one'], {
      [placeAttribute]: { DataType: 'String', StringValue: place },
    });
    expect(sent).toEqual(lines(2));
  });
});
