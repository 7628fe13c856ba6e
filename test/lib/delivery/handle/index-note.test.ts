import type { SQSRecord } from 'aws-lambda';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { RecordOutcome } from '../../../../lib/delivery/handle/attempt.ts';
import { indexNoteOf } from '../../../../lib/delivery/handle/index-note.ts';
import type { Integration } from '../../../../lib/delivery/handle/integration.ts';
import { safe } from '../../../../lib/message/safe-text.ts';

const startedMs = Date.UTC(2026, 2, 1, 12);
const body = JSON.stringify({
  specversion: '1.0',
  id: 'e-1',
  source: 'sis',
  type: 'sis.try-out.v1',
  time: '2026-03-01T11:00:00Z',
  data: { userName: 'nora' },
});
const integration: Integration<{ userId: number }> = {
  name: 'try-out',
  data: z.strictObject({ userId: z.number() }),
  resource: ({ userId }) => `thing/${userId}`,
  changes: ['thing/'],
  operations: [],
  repeatable: true,
  run: async () => {},
};

type FinalResult = Exclude<RecordOutcome, { outcome: 'isolate' }>;
const about = { eventId: 'e-1', calls: [], turnMs: 0 };

const noteOf = (
  result: FinalResult,
  { attempts = 2, attributes = {} }: { attempts?: number; attributes?: SQSRecord['messageAttributes'] } = {},
) => {
  const record = { messageId: 'm', receiptHandle: 'r', body, messageAttributes: attributes } as SQSRecord;
  const delivery = { sentMs: startedMs - 9, firstMs: startedMs - 5, startedMs, attempts, replays: 1 };
  return indexNoteOf(integration, { record, delivery }, result);
};
const waiting = (more: Partial<Extract<FinalResult, { outcome: 'waiting' }>> = {}): FinalResult => ({
  ...about,
  outcome: 'waiting',
  seconds: 30,
  reason: safe`It waits`,
  ...more,
});
const text = (stringValue: string) => ({ stringValue, dataType: 'String' }) as const;

describe('what operators see of a message', () => {
  test('is why it waits, until when, and what it is about', () => {
    const failure = {
      kind: 'throttled' as const,
      message: safe`No`,
      remedy: 'Do this.',
      status: 429,
      operation: safe`PUT /x`,
    };
    const call = { call: 'GET /y', status: 200 } as never;
    const ids = { userId: 301 };
    const reason = safe`It could not open ‹jane.pdf› yet`;
    const note = noteOf(waiting({ failure, reason, ids, calls: [call] }), {
      attributes: { history: text('edited') },
    });
    expect(note).toMatchObject({
      message: 'm',
      outcome: 'waiting',
      isAsked: false,
      attempts: 2,
      replays: 1,
      firstMs: startedMs - 5,
      kind: 'throttled',
      reason: 'It could not open a file yet',
      remedy: 'Do this.',
      status: 429,
      operation: 'PUT /x',
      waits: { nextMs: startedMs + 30_000, handle: 'r' },
      copyOf: undefined,
      eventId: 'e-1',
      ids,
      body,
      history: 'edited',
    });
    expect(note?.resource()).toBe('thing/301');
  });

  test('has the last call if nothing failed', () => {
    const calls = [
      { call: 'GET /y', status: 200 },
      { call: 'GET /z', status: 200 },
      { call: 'PUT /x', status: 204 },
    ] as never;
    expect(noteOf({ ...about, outcome: 'done', calls })).toMatchObject({
      outcome: 'done',
      status: 204,
      operation: 'PUT /x',
      kind: undefined,
      waits: undefined,
      reason: '',
    });
  });

  test.each([
    ['newer', 'newer'],
    ['copy', 'copy'],
    ['pace', undefined],
    ['no-time', undefined],
  ] as const)('of a message that waits for %s is of the kind %s', (turn, kind) => {
    expect(noteOf(waiting({ deferral: turn }))?.kind).toBe(kind);
  });

  test('of a copy is what it is one of, and of any other message is nothing of that', () => {
    expect(noteOf({ ...about, outcome: 'duplicate', of: 'first' })?.copyOf).toBe('first');
    expect(noteOf({ ...about, outcome: 'superseded' })).toMatchObject({ outcome: 'superseded' });
    expect(noteOf({ ...about, outcome: 'superseded' })?.copyOf).toBeUndefined();
  });

  test('is nothing of a letter, nor of a first receipt that ends the message, unless its sender asks', () => {
    const failure = { kind: 'rejected' as const, message: safe`No`, remedy: 'Do this.' };
    expect(noteOf({ ...about, outcome: 'parked', failure })).toBeUndefined();
    expect(noteOf({ ...about, outcome: 'done' }, { attempts: 1 })).toBeUndefined();
    expect(noteOf(waiting(), { attempts: 1 })).toMatchObject({ outcome: 'waiting' });
    const attributes = { receipt: text('please') };
    expect(noteOf({ ...about, outcome: 'done' }, { attempts: 1, attributes })).toMatchObject({
      isAsked: true,
    });
  });
});
