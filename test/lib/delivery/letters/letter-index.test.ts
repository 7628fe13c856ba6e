import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { DeadLetter } from '../../../../lib/delivery/letters/dead-letter.ts';
import {
  createLetterIndexWriter,
  type ReceiptOutcome,
} from '../../../../lib/delivery/letters/letter-index-writer.ts';
import { listed, recordsOf, scanned } from '../../../../lib/delivery/letters/read-records.ts';
import type { LetterIndexTable } from '../../../../lib/delivery/letters/record.ts';
import { endRecord } from '../../../../lib/delivery/letters/write-record.ts';
import type { DynamoDb } from '../../../../lib/runtime/aws/dynamodb.ts';
import { chunksOf } from '../../../../lib/runtime/aws/parallel.ts';
import { tablesForTests } from '../../../local/aws/for-tests.ts';
import { eventBody, failureOf } from '../../desk/cli/office.ts';

const tableName = 'sis-relay-test-desk';
const dayMs = 24 * 3_600_000;
const tables = tablesForTests('sis-relay-test-ledger', tableName);
let dynamodb: DynamoDb;
let nowMs = 0;
let writes: string[] = [];
let warnings: unknown[][] = [];
let messages = 0;

beforeEach(() => {
  dynamodb = tables.client({ maxAttempts: 1 }, (action) => writes.push(action));
  writes = [];
  warnings = [];
  nowMs = Date.now();
});

const table = (): LetterIndexTable => ({ dynamodb, table: tableName, nowMs: () => nowMs });
const notes = (change: Partial<LetterIndexTable> = {}) =>
  createLetterIndexWriter({
    ...table(),
    ...change,
    function: 'grade-push',
    warn: (...parkedFailure) => void warnings.push(parkedFailure),
  });
const newMessage = (): string => {
  messages += 1;
  return `00000000-0000-4000-8000-${String(messages).padStart(12, '0')}`;
};
const recordOf = async (message: string) => (await recordsOf(table(), [message])).get(message);

const ended = (message: string, change: Partial<ReceiptOutcome> = {}): ReceiptOutcome => ({
  message,
  outcome: 'done',
  kind: undefined,
  reason: '',
  remedy: undefined,
  status: 200,
  operation: 'PUT /grades',
  attempts: 1,
  replays: 0,
  firstMs: nowMs - 1_000,
  waits: undefined,
  eventId: `event of ${message}`,
  body: eventBody(),
  history: undefined,
  ids: undefined,
  resource: () => `grade/${message}`,
  isAsked: false,
  copyOf: undefined,
  ...change,
});
const waits = (message: string, change: Partial<ReceiptOutcome> = {}): ReceiptOutcome =>
  ended(message, {
    outcome: 'waiting',
    kind: 'unavailable',
    reason: 'The platform answered with 503',
    status: 503,
    remedy: 'Nothing, unless it lasts.',
    waits: { nextMs: nowMs + 60_000, handle: 'handle 1' },
    ...change,
  });
const letter: DeadLetter = {
  body: eventBody('grade-push', { comments: 'Well argued, Jane' }),
  source: 'arn:aws:sqs:x',
  replays: 0,
  failure: failureOf('grade-push', 'rejected'),
  attributes: {},
};

const note = async (...all: ReceiptOutcome[]) => {
  const desk = notes();
  for (const each of all) desk.record(each);
  await desk.write();
};

describe('a message that waits', () => {
  test('has a record of why, since when, until when, and about what, without a personal value', async () => {
    const message = newMessage();
    await note(waits(message));
    expect(await recordOf(message)).toMatchObject({
      message,
      state: 'waiting',
      function: 'grade-push',
      kind: 'unavailable',
      atMs: nowMs,
      error: 'The platform answered with 503',
      status: 503,
      operation: 'PUT /grades',
      attempts: 1,
      remedy: 'Nothing, unless it lasts.',
      firstMs: nowMs - 1_000,
      nextMs: nowMs + 60_000,
      handle: 'handle 1',
      replays: 0,
      eventId: `event of ${message}`,
      resource: `grade/${message}`,
      user: '301',
      orgUnit: '2001',
      thing: 'grade object 5001',
      waits: [{ kind: 'unavailable', firstMs: nowMs, lastMs: nowMs, count: 1 }],
    });
  });

  test('again, and for another cause, keeps each with its first and last time', async () => {
    const message = newMessage();
    const firstMs = nowMs;
    await note(waits(message));
    nowMs += 60_000;
    await note(waits(message, { attempts: 2, waits: { nextMs: nowMs + 1, handle: 'handle 2' } }));
    nowMs += 60_000;
    await note(waits(message, { attempts: 3, kind: 'credentials' }));
    expect(await recordOf(message)).toMatchObject({
      kind: 'credentials',
      attempts: 3,
      waits: [
        { kind: 'unavailable', firstMs, lastMs: firstMs + 60_000, count: 2 },
        { kind: 'credentials', firstMs: nowMs, lastMs: nowMs, count: 1 },
      ],
    });
  });

  test('is not told of by an earlier receipt that comes late', async () => {
    const message = newMessage();
    await note(waits(message, { attempts: 3, kind: 'credentials' }));
    await note(waits(message, { attempts: 2 }));
    expect(await recordOf(message)).toMatchObject({ kind: 'credentials', attempts: 3 });
  });

  test('only for its turn has no record, unless its sender asks', async () => {
    const [silent, asked] = [newMessage(), newMessage()];
    await note(waits(silent, { kind: undefined }), waits(asked, { kind: undefined, isAsked: true }));
    expect(await recordOf(silent)).toBeUndefined();
    expect(await recordOf(asked)).toMatchObject({ state: 'waiting', kind: 'pace' });
  });
});

describe('a message that ends', () => {
  test('without a record gets none; only one whose sender asks does', async () => {
    const [silent, asked] = [newMessage(), newMessage()];
    await note(ended(silent, { attempts: 2 }), ended(asked, { isAsked: true }));
    expect(await recordOf(silent)).toBeUndefined();
    expect(await recordOf(asked)).toMatchObject({ state: 'done', attempts: 1 });
  });

  test('after waits keeps them, is in no list any more, and is forgotten after a week', async () => {
    const message = newMessage();
    await note(waits(message));
    await note(ended(message, { attempts: 2 }));
    const record = await recordOf(message);
    expect(record).toMatchObject({ state: 'done', attempts: 2, waits: [{ kind: 'unavailable', count: 1 }] });
    expect(record).not.toMatchObject({ handle: expect.anything() });
    const waiting = await listed(table(), 'waiting');
    expect(waiting.map((each) => each.message)).not.toContain(message);
    nowMs += 7 * dayMs + 1_000;
    expect(await recordOf(message)).toBeUndefined();
  });

  test('nothing that was heard is no call of the table', async () => {
    await notes().write();
    expect(writes).toEqual([]);
  });
});

describe('a message that is parked', () => {
  test('is in the list of letters before its letter is written, with the platform’s words masked', async () => {
    const message = newMessage();
    await note(waits(message));
    const parkedFailure = failureOf('grade-push', 'rejected');
    const failure = { ...parkedFailure, detail: 'No value “Well argued, Jane”' };
    await notes().recordLetter(message, { ...letter, failure }, { resource: 'grade/1' });
    const record = await recordOf(message);
    expect(record).toMatchObject({
      state: 'letter',
      kind: 'rejected',
      status: 404,
      resource: 'grade/1',
      atMs: nowMs,
      writtenMs: nowMs,
      waits: [{ kind: 'unavailable' }],
    });
    expect(JSON.stringify(record)).not.toContain('Jane');
    expect(await listed(table(), 'letter')).toContainEqual(record);
  });

  test('keeps its letter, whatever a late receipt says of it', async () => {
    const message = newMessage();
    await notes().recordLetter(message, letter, { resource: undefined });
    await note(waits(message, { attempts: 5 }));
    expect(await recordOf(message)).toMatchObject({ state: 'letter' });
    await note(ended(message, { outcome: 'duplicate', attempts: 6 }));
    expect(await recordOf(message)).toMatchObject({ state: 'letter' });
  });

  test('waits after all where its letter could not be written', async () => {
    const message = newMessage();
    await notes().recordLetter(message, letter, { resource: undefined });
    await note(waits(message, { attempts: 1, kind: 'aws-refused' }));
    expect(await recordOf(message)).toMatchObject({ state: 'waiting', kind: 'aws-refused' });
  });

  test('and replayed tells by whom, why, and under which id it went on', async () => {
    const message = newMessage();
    await notes().recordLetter(message, letter, { resource: 'grade/1' });
    const about = { message, function: 'grade-push', kind: 'rejected' };
    await endRecord(table(), about, { state: 'replayed', by: 'jane', why: 'mended', as: 'another id' });
    expect(await recordOf(message)).toMatchObject({
      state: 'replayed',
      by: 'jane',
      why: 'mended',
      as: 'another id',
      status: 404,
      writtenMs: nowMs,
    });
    const letters = await listed(table(), 'letter');
    expect(letters.map((each) => each.message)).not.toContain(message);
  });
});

describe('a table that fails', () => {
  const failing: Partial<LetterIndexTable> = {
    dynamodb: {
      call: () => Promise.reject(Object.assign(new Error('no'), { name: 'AccessDeniedException' })),
    },
  };
  test('stops no message, and each that it lacks is warned of', async () => {
    const desk = notes(failing);
    const [one, other, parked] = [newMessage(), newMessage(), newMessage()];
    desk.record(waits(one));
    desk.record(waits(other));
    await desk.write();
    await desk.recordLetter(parked, letter, { resource: undefined });
    expect(warnings.map(([, facts]) => facts)).toEqual(
      [one, other, parked].map((messageId) => ({ messageId, error: 'AccessDeniedException' })),
    );
  });

  test('that does not answer holds a letter up for two seconds, and no longer', async () => {
    // As if its time were over already.
    const asked = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
    onTestFinished(() => asked.mockRestore());
    const silent: DynamoDb = {
      call: (_action, _input, { signal } = {}) =>
        new Promise((_resolve, reject) => {
          if (signal?.aborted) reject(signal.reason);
        }),
    };
    await notes({ dynamodb: silent }).recordLetter(newMessage(), letter, { resource: undefined });
    expect(asked).toHaveBeenCalledExactlyOnceWith(2_000);
    expect(warnings).toHaveLength(1);
  });
});

describe('records are read', () => {
  test('by list and kind', async () => {
    const all = Array.from({ length: 40 }, newMessage);
    const waiting = all.map((message, at) => waits(message, { kind: at % 2 ? 'throttled' : 'aws-refused' }));
    for (const some of chunksOf(waiting, 10)) await note(...some);
    const those = async (options: Parameters<typeof listed>[2]) =>
      (await listed(table(), 'waiting', options)).filter(({ message }) => all.includes(message)).length;
    expect(await those({})).toBe(40);
    expect(await those({ kinds: ['throttled'] })).toBe(20);
    expect(await those({ kinds: ['throttled', 'aws-refused', 'throttled'] })).toBe(40);
    expect(await those({ kinds: ['thrott'] })).toBe(0);
  });

  test('by ids, more than one call asks for, and none for what is not there', async () => {
    const all = Array.from({ length: 130 }, newMessage);
    // What cannot be written within a second is left out.
    for (const some of chunksOf(all, 20)) await note(...some.map((message) => waits(message)));
    writes = [];
    const found = await recordsOf(table(), [...all, ...all, 'unknown']);
    expect([...found.keys()].sort()).toEqual(all.toSorted());
    expect(writes).toEqual(['BatchGetItem', 'BatchGetItem']);
  });

  test('by what they hold, also of messages that have ended', async () => {
    const message = newMessage();
    await note(ended(message, { isAsked: true }));
    const found = await scanned(table(), {
      text: '#eventId = :id',
      names: { '#eventId': 'eventId' },
      values: { ':id': `event of ${message}` },
    });
    expect(found).toMatchObject([{ message, state: 'done' }]);
  });
});
