import type { SQSRecord } from 'aws-lambda';
import { expect, test } from 'vitest';
import type { RecordOutcome } from '../../../../lib/delivery/handle/attempt.ts';
import { report } from '../../../../lib/delivery/handle/report.ts';
import type { Failure } from '../../../../lib/message/failure.ts';
import { ownText, safe } from '../../../../lib/message/safe-text.ts';
import type { CallReport } from '../../../../lib/runtime/telemetry/call-report.ts';
import { servicesForTests } from './services-for-tests.ts';

type FinalResult = Exclude<RecordOutcome, { outcome: 'isolate' }>;

const nowMs = Date.UTC(2026, 2, 1, 12);
const record = { messageId: 'm', body: '{"id":"event-1"}' } as SQSRecord;
const delivery = {
  sentMs: nowMs - 90_600,
  firstMs: nowMs - 60_600,
  startedMs: nowMs - 600,
  attempts: 1,
  replays: 0,
};

/** What is told of a message to the log, and to the incidents. */
const toldOf = (
  result: FinalResult,
  { attempts = 1, replays = 0, asService = true, isUnread = false } = {},
) => {
  const reports: unknown[] = [];
  const heard: unknown[] = [];
  const pace: unknown[] = [];
  const services = servicesForTests({
    incidents: { record: (ending) => void heard.push(ending), write: async () => {} },
    callUsage: { record: (calls) => void pace.push(calls), write: async () => {} },
    observe: { message: (report) => void reports.push(report) },
    nowMs: () => nowMs,
  });
  const received = { record, delivery: { ...delivery, attempts, replays } };
  report(result, received, { services, asService, isUnread });
  const { incidents, callUsage, ...without } = services;
  report(result, received, { services: without, asService, isUnread });
  expect(reports[1]).toEqual(reports[0]);
  expect(pace).toEqual([result.calls]);
  return { told: reports[0], heard };
};

const callOf = (name: string, status: number, durationMs: number): CallReport => ({
  operation: ownText(name),
  call: safe`PUT /${ownText(name)}`,
  status,
  durationMs,
  mayHaveActed: true,
  priority: 'normal',
});
const calls = [callOf('one', 200, 10.4), callOf('none', 200, 1), callOf('two', 204, 19.3)];
const failure: Failure = {
  kind: 'rejected',
  message: safe`There is no ‹jane.pdf›`,
  remedy: 'Look for ‹jane.pdf›.',
  operation: safe`GET /three`,
  status: 404,
  requestId: '0f6c1a52',
};
const since = { durationMs: 600, ageSeconds: 90, waitedSeconds: 60 };

test('what is done is told with its last call, and with the time that it took without waiting for its turn', () => {
  const result: FinalResult = {
    outcome: 'done',
    reason: safe`It is new`,
    eventId: 'event-2',
    calls,
    turnMs: 250,
  };
  expect(toldOf(result, { attempts: 2 })).toEqual({
    told: {
      outcome: 'done',
      messageId: 'm',
      eventId: 'event-2',
      reason: 'It is new',
      operation: 'PUT /two',
      status: 204,
      attempts: 2,
      replays: 0,
      requests: 3,
      platformMs: 31,
      ...since,
      durationMs: 350,
      turnMs: 250,
    },
    heard: [{ outcome: 'done', calls, asService: true, again: true }],
  });
});

test('what is parked is told with its failure, and with no name of a file in it', () => {
  const result: FinalResult = { outcome: 'parked', failure, eventId: undefined, calls, turnMs: 0 };
  expect(toldOf(result, { asService: false, replays: 1 })).toEqual({
    told: {
      outcome: 'parked',
      messageId: 'm',
      eventId: 'event-1',
      reason: 'There is no a file',
      kind: 'rejected',
      operation: 'GET /three',
      status: 404,
      requestId: '0f6c1a52',
      attempts: 1,
      replays: 1,
      requests: 3,
      platformMs: 31,
      ...since,
    },
    heard: [
      {
        outcome: 'parked',
        calls,
        asService: false,
        again: true,
        failure: { ...failure, message: 'There is no a file' },
      },
    ],
  });
});

test('what waits unread is told with its time, and without the id that was not read', () => {
  const unsaid: Failure = { kind: 'unavailable', message: safe``, remedy: 'Wait.' };
  const result: FinalResult = {
    outcome: 'waiting',
    seconds: 77,
    reason: safe``,
    failure: unsaid,
    eventId: undefined,
    calls: [],
    turnMs: 0,
  };
  expect(toldOf(result, { isUnread: true })).toEqual({
    told: {
      outcome: 'waiting',
      messageId: 'm',
      reason: '',
      kind: 'unavailable',
      waitSeconds: 77,
      attempts: 1,
      replays: 0,
      requests: 0,
      platformMs: 0,
      ...since,
    },
    heard: [{ outcome: 'waiting', failure: unsaid, calls: [], asService: true, again: false }],
  });
});

test('what was superseded, and needed no call, is told without a reason', () => {
  const result: FinalResult = { outcome: 'superseded', eventId: 'event-1', calls: [], turnMs: 0 };
  expect(toldOf(result)).toEqual({
    told: {
      outcome: 'superseded',
      messageId: 'm',
      eventId: 'event-1',
      attempts: 1,
      replays: 0,
      requests: 0,
      platformMs: 0,
      ...since,
    },
    heard: [{ outcome: 'superseded', calls: [], asService: true, again: false }],
  });
});
