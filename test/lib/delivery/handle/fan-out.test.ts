import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import type { SQSRecord } from 'aws-lambda';
import { beforeAll, describe, expect, test } from 'vitest';
import { createFanOut, placeAttribute } from '../../../../lib/delivery/handle/fan-out.ts';
import type { NamedObject } from '../../../../lib/message/envelope.ts';
import { MessageFailure } from '../../../../lib/message/failure.ts';
import { safe } from '../../../../lib/message/safe-text.ts';
import type { OutgoingMessage } from '../../../../lib/message/sqs-limits.ts';
import { failureOf } from '../../../../lib/platform/client/failure-of.ts';
import { waitLimitMs } from '../../../limits.ts';
import { queuesAndFilesForTests } from '../../../local/aws/for-tests.ts';

const bucket = 'files';
const { s3, createBucket } = queuesAndFilesForTests();

beforeAll(() => createBucket(bucket));

const put = (key: string, text: string | Uint8Array) =>
  s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: text }));
const signal = new AbortController().signal;
const lines = (count: number, size = 10) =>
  Array.from({ length: count }, (_, at) => JSON.stringify({ id: at, text: 'x'.repeat(size) }));

type Options = Parameters<typeof createFanOut>[0];

const start = (send: (messages: OutgoingMessage[]) => Promise<void>, more: Partial<Options> = {}) =>
  createFanOut({
    bucket,
    functionName: 'try-out',
    s3: async () => s3,
    send,
    nowMs: () => 0,
    timeoutMs: waitLimitMs,
    maximumBytes: 100_000_000,
    maximumEvents: 1_000_000,
    ...more,
  });
const recordOf = (attributes: OutgoingMessage['attributes'] = {}) =>
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
const workedOff = async (keys: string[], attributes: OutgoingMessage['attributes'] = {}, forMs = 3_000) => {
  let nowMs = 0;
  const sent: string[] = [];
  const given: OutgoingMessage['attributes'][] = [];
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
    { nowMs: () => nowMs },
  );
  let runs = 0;
  for (let record = queue.shift(); record && runs < 20; record = queue.shift()) {
    runs += 1;
    await fanOut(keys.map(objectOf), { record, signal, untilMs: nowMs + forMs });
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

test.each(['Jane Doe got 7', 'line 1 is not UTF-8: Jane Doe'])(
  'a place whose sender has put other words into it counts as none: %s',
  async (problem) => {
    await put('events/try-out/place', lines(2).join('\n'));
    const place = { file: 0, etag: '', byte: 0, line: 1, isList: false, sent: 0, unsent: 1, problem };
    const { sent } = await workedOff(['place'], {
      [placeAttribute]: { DataType: 'String', StringValue: JSON.stringify(place) },
    });
    expect(sent).toEqual(lines(2));
  },
);

test('where SQS does not take a message, nothing is held for done', async () => {
  await put('events/try-out/refused', lines(200).join('\n'));
  const fanOut = start(async () => {
    await sleep(1);
    throw new MessageFailure('unavailable', safe`SQS did not take 1 of 80 messages`);
  });
  const failed = fanOut([objectOf('refused')], { record: recordOf(), signal, untilMs: 1 });
  await expect(failed).rejects.toMatchObject({ kind: 'unavailable' });
});

const none = { attributes: {}, untilMs: 1 };

/** What one attempt says, and what it sends by each call. */
const attempted = async (
  files: Record<string, string | Uint8Array>,
  { attributes, untilMs }: { attributes: OutgoingMessage['attributes']; untilMs: number } = none,
  {
    objects = Object.keys(files).map(objectOf),
    ...more
  }: Partial<Options> & { objects?: NamedObject[] } = {},
) => {
  for (const [key, text] of Object.entries(files)) await put(`events/try-out/${key}`, text);
  const calls: OutgoingMessage[][] = [];
  const fanOut = start(async (messages) => void calls.push(messages), more);
  const said = await fanOut(objects, { record: recordOf(attributes), signal, untilMs }).catch(failureOf);
  return { said, calls, bodies: calls.flat().map(({ body }) => body) };
};

test('a large file is held in parts of 4 MiB', async () => {
  const text = `{"text":"${'x'.repeat(512 * 1024 - 11)}"}`;
  const { calls } = await attempted({ large: `${text}\n`.repeat(9) });
  expect(calls.map((messages) => messages.map(({ body }) => body.length))).toEqual([
    Array(8).fill(512 * 1024),
    [512 * 1024],
  ]);
});

test.each<[string, Record<string, string>, string, string[]]>([
  ['no file', {}, 'This is a test message of S3: there is nothing to do', []],
  [
    'an empty file',
    { nothing: ' \n' },
    '0 events of ‹s3://files/events/try-out/nothing› were sent to the queue of try-out',
    [],
  ],
  [
    'two files',
    { 'a›': '{"id":1}\r\n\r\n{"id":2}', b: '\uFEFF[ {"id":3} ]' },
    '3 events of ‹s3://files/events/try-out/a>›, ‹s3://files/events/try-out/b› were sent to the queue of try-out',
    ['{"id":1}', '{"id":2}', '{"id":3}'],
  ],
])('the note tells of what a notice had sent: %s', async (_, files, note, sent) => {
  const { said, bodies } = await attempted(files);
  expect({ said, bodies }).toEqual({ said: note, bodies: sent });
});

test('what time does not suffice for is left to a message that says where to go on, without history', async () => {
  const priority = { DataType: 'String', StringValue: 'bulk' };
  const attributes = { priority, history: { DataType: 'String', StringValue: 'replayed' } };
  const files = { few: lines(3).join('\n'), many: `[${lines(70)},\n{"a":"\uFFFF"},"\uFFFE",${lines(30)}]` };
  const { said, calls } = await attempted(files, { attributes, untilMs: 0 });
  expect(said).toBe(
    '80 events of ‹s3://files/events/try-out/many› were sent to the queue of try-out; another message sends the rest',
  );
  expect(calls.map((messages) => messages.length)).toEqual([3, 80, 1]);
  const [{ body, attributes: { place, ...others } = {} } = {}] = calls[2] ?? [];
  expect({ body, others }).toEqual({ body: 'the notice', others: { priority } });
  expect({ ...place, StringValue: JSON.parse(place?.StringValue ?? '') }).toEqual({
    DataType: 'String',
    StringValue: {
      file: 1,
      etag: expect.stringMatching(/^"\w+"$/),
      byte: 2_400,
      line: 2,
      isList: true,
      sent: 80,
      sentBefore: 3,
      unsent: 2,
      problem: 'line 2 holds U+FFFF, a character that SQS does not accept',
      flawed: 1,
    },
  });
});

describe('a file with what cannot be sent', () => {
  const notice = {
    source: 'aws.s3',
    account: '1',
    'detail-type': 'Object Created',
    detail: { bucket: { name: bucket }, object: { key: 'events/try-out/own' } },
  };
  const full = { full: { DataType: 'String', StringValue: 'x'.repeat(100) } };

  test.each<[string, string, () => string | Uint8Array, string]>([
    [
      'in another encoding',
      'latin',
      () =>
        Buffer.concat([Buffer.from('{"id":1}\n{"id":"'), Buffer.from([0xfc]), Buffer.from('"}\n{"id":2}')]),
      'line 2 is not UTF-8; 2 events were sent',
    ],
    [
      'too large for the queue with what the notice carries',
      'large',
      () => `{"id":1}\n\n{"id":"${'x'.repeat(1_032_100)}"}\n{"id":2}`,
      'line 3 is larger than 1,032,192 bytes, the most that its queue accepts; 2 events were sent',
    ],
    [
      'with a notice, which might name that file',
      'own',
      () => `{"id":1}\n{"id":2}\n${JSON.stringify(notice)}`,
      'line 3 is itself a notice of a file; 2 events were sent',
    ],
    [
      'twice',
      'two',
      () => '{"a":"\uFFFF"}\n{"a":"\uFFFE"}\n{"id":1}\n{"id":2}',
      'line 1 holds U+FFFF, a character that SQS does not accept, and 1 more cannot be sent either; 2 events were sent',
    ],
    [
      'as a list that is not closed',
      'open',
      () => '[{"id":1},\n{"id":2}',
      'line 2 is the end of the file, but the list is not closed; 2 events were sent',
    ],
  ])('has all else sent, and becomes a letter: %s', async (_, key, text, problem) => {
    const { said, bodies } = await attempted({ [key]: text() }, { attributes: full, untilMs: 1 });
    expect({ said, bodies }).toEqual({
      said: {
        kind: 'rejected',
        message: `‹s3://files/events/try-out/${key}›: ${problem}`,
        remedy:
          'Correct these events, put them in the same place in a file of their own, and discard this letter. (A replay would send the other events again. They would count as duplicates.)',
      },
      bodies: ['{"id":1}', '{"id":2}'],
    });
  });
});

test.each<[string, string | Uint8Array, string]>([
  ['no-utf', Buffer.from([0x22, 0xfc, 0x22]), 'line 1 is not UTF-8'],
  ['sign', '"\uFFFF"', 'line 1 holds U+FFFF, a character that SQS does not accept'],
  [
    'long-line',
    'x'.repeat(1_040_000),
    'line 1 is larger than 1,032,192 bytes, the most that its queue accepts',
  ],
  [
    'other',
    `{"source":"aws.s3","account":"1","detail-type":"Object Created","detail":{"bucket":{"name":"b"},"object":{"key":"k"}}}`,
    'line 1 is itself a notice of a file',
  ],
  ['behind', '[{"id":1}] x', 'line 1 comes after the end of the list'],
  ['unclosed', '[{"id":1}', 'line 1 is the end of the file, but the list is not closed'],
])('the letter names what is wrong though other messages send the rest: %s', async (key, text, problem) => {
  await put(`events/try-out/${key}`, text);
  await put('events/try-out/after-it', lines(400).join('\n'));
  await expect(workedOff([key, 'after-it'])).rejects.toMatchObject({
    message: expect.stringMatching(
      `^‹s3://files/events/try-out/${key}›: ${problem.replace('+', '\\+')}; 40[01] events`,
    ),
  });
});

test('what cannot be sent of one file keeps none of the next from its queue, and the letter names all of it', async () => {
  const files = { a: '{"id":1}\n"\uFFFF"', b: '{"id":2}', c: '"\uFFFE"\n{"id":3}' };
  const { said, bodies } = await attempted(files);
  expect(bodies).toEqual(['{"id":1}', '{"id":2}', '{"id":3}']);
  expect(said).toMatchObject({
    kind: 'rejected',
    message:
      '‹s3://files/events/try-out/a›: line 2 holds U+FFFF, a character that SQS does not accept, and 1 more cannot be sent either; 3 events were sent',
  });
});

describe('a file that may hold no events', () => {
  const strange = (count: number) =>
    Array.from({ length: count }, (_, at) => ['null', '7', '"text"', 'nonsense'][at % 4]).join('\n');
  const unsendable = (count: number) => '"\uFFFF"\n'.repeat(count);

  test.each<[string, () => string]>([
    ['few strange texts alone', () => strange(4)],
    ['twenty before its first event', () => `${strange(20)}\n{"id":1}`],
    ['twenty, of which some cannot be sent', () => `${unsendable(9)}${strange(11)}\n{"id":1}`],
    ['large ones', () => `${'x'.repeat(840_000)}\n`.repeat(5).concat('x')],
  ])('is none of events, and nothing of it is sent: %s', async (_, text) => {
    const { said, calls } = await attempted({ strange: text() });
    expect({ said, calls }).toEqual({
      said: {
        kind: 'rejected',
        message:
          '‹s3://files/events/try-out/strange› is neither JSON Lines nor a JSON array of events. Nothing was sent',
        remedy:
          'Put the file there again in UTF-8, with one event in each line or with a list of events. Then discard this letter.',
      },
      calls: [],
    });
  });

  test.each<[string, string[]]>([
    ['before its first event', [strange(19), '{"id":1}', strange(2)]],
    ['after many events, where another message goes on', [...lines(80), strange(30)]],
  ])('is one of events where nineteen are strange, which get letters of their own: %s', async (_, texts) => {
    await put('events/try-out/mixed', texts.join('\n'));
    expect((await workedOff(['mixed'], {}, 0)).sent).toEqual(texts.join('\n').split('\n'));
  });
});

test.each<[string, Partial<Options>, NamedObject, string, string]>([
  [
    'in another place',
    {},
    { ...objectOf('a'), key: 'events/try-out' },
    'The message names the file of events ‹s3://files/events/try-out›, which is not under events/try-out/ of this stage’s bucket',
    'Put the file under events/try-out/ of the stage’s bucket, which then notifies the queue itself, and discard this letter. Remove whatever notifies this queue about other places.',
  ],
  [
    'in another bucket',
    {},
    { ...objectOf('a'), bucket: 'others' },
    'The message names the file of events ‹s3://others/events/try-out/a›, which is not under events/try-out/ of this stage’s bucket',
    'Put the file under events/try-out/ of the stage’s bucket, which then notifies the queue itself, and discard this letter. Remove whatever notifies this queue about other places.',
  ],
  [
    'where no file is read',
    { bucket: undefined },
    objectOf('fine'),
    'The message names the file of events ‹s3://files/events/try-out/fine›, but EVENTS_BUCKET is not set, so no files are read',
    'Set EVENTS_BUCKET for the function, then replay.',
  ],
])('nothing is sent of a notice that names a file %s', async (_, more, object, message, remedy) => {
  const objects = [objectOf('fine'), object];
  const { said, calls } = await attempted({ fine: lines(2).join('\n') }, none, { ...more, objects });
  expect({ said, calls }).toEqual({
    said: { kind: 'rejected', remedy, message },
    calls: [],
  });
});

describe('what one notice may cause', () => {
  const limited = (sent: string[], untilMs: number) => {
    const queue = [recordOf()];
    const fanOut = start(
      async (messages) => {
        for (const { body, attributes } of messages)
          if (body === 'the notice') queue.push(recordOf(attributes));
          else sent.push(body);
      },
      { maximumEvents: 500 },
    );
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

  test('is told by the file alone where there is one, with what to do', async () => {
    const { said, bodies } = await attempted({ four: lines(4).join('\n') }, none, { maximumEvents: 3 });
    expect({ said, bodies }).toEqual({
      said: {
        kind: 'rejected',
        message: '‹s3://files/events/try-out/four› holds more than 3 events. Only the first 3 were sent',
        remedy:
          'Split the file into smaller ones, put them in the same place, and discard this letter. Events that were sent already then count as duplicates. Or raise EVENTS_FILE_MAXIMUM and replay.',
      },
      bodies: lines(3),
    });
  });

  test('goes on from its beginning where a message says that it ended behind its last file', async () => {
    await put('events/try-out/one', lines(2).join('\n'));
    const place = JSON.stringify({
      file: 1,
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
