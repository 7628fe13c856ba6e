import { setTimeout as sleep } from 'node:timers/promises';
import type { Context, SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { isLarge, isSuspect } from '../../../../lib/delivery/handle/crashes.ts';
import { handlerOf } from '../../../../lib/delivery/handle/handler.ts';
import type { Integration } from '../../../../lib/delivery/handle/integration.ts';
import { deliveryOf } from '../../../../lib/delivery/handle/sqs-delivery.ts';
import { TableLedger } from '../../../../lib/delivery/ledger/ledger.ts';
import { createLedgerTable } from '../../../../lib/delivery/ledger/table.ts';
import type { DeadLetter } from '../../../../lib/delivery/letters/dead-letter.ts';
import type { Platform } from '../../../../lib/platform/client/client.ts';
import type { MessageReport } from '../../../../lib/runtime/telemetry/observe.ts';
import { tablesForTests } from '../../../local/aws/for-tests.ts';
import { servicesForTests } from './services-for-tests.ts';

const minute = 60_000;
const visibilityMs = 12 * minute;

const tables = tablesForTests('ledger');
const dynamodb = tables.client({}, (action) => calls.push(action));
/** The calls of DynamoDB. */
let calls: string[];
let nowMs = Date.UTC(2026, 10, 24, 12);
/** What was parsed, and then run, in its order. */
let story: string[];
let reports: MessageReport[];
let letters: DeadLetter[];
let tests = 0;

beforeEach(() => {
  [calls, story, reports, letters] = [[], [], [], []];
  tests += 1;
});

type Data = { say: string };

/**
 * One container of a function; of what it is deadly to run, it dies, with all that is under way. None is done before so many have
 * begun.
 */
const container = (deadly: readonly string[] = [], more: Partial<Integration<Data>> = {}, together = 1) => {
  const nothing = () => {};
  const begun = Promise.withResolvers<void>();
  let left = together;
  let isDead = false;
  const integration: Integration<Data> = {
    name: 'try-out',
    data: z.strictObject({
      say: z.string().refine((say) => story.push(`read ${say}`) > 0),
      pad: z.string().optional(),
    }) as unknown as z.ZodType<Data>,
    resource: ({ say }) => `try-out/${tests}/${say}`,
    changes: ['try-out'],
    operations: [],
    repeatable: true,
    run: async ({ say }) => {
      story.push(`run ${say}`);
      isDead ||= deadly.includes(say);
      left -= 1;
      if (left === 0) begun.resolve();
      await begun.promise;
      await sleep(20);
      if (isDead) await new Promise(nothing);
    },
    ...more,
  };
  const services = servicesForTests({
    platform: { for: () => ({}) as Platform },
    queues: { writeLetter: async (letter) => void letters.push(letter) },
    ledger: new TableLedger({
      table: createLedgerTable({ dynamodb, table: 'ledger', nowMs: () => nowMs }),
      lateEffectMs: 0,
      warn: nothing,
      nowMs: () => nowMs,
    }),
    observe: { message: (report) => void reports.push(report) },
    limits: {
      backoff: { minimumSeconds: 5, maximumSeconds: 5 },
      attemptTimeoutMs: 1_000,
      reserveMs: 100,
      visibilityMs,
    },
    nowMs: () => nowMs,
  });
  const handler = handlerOf(integration, () => services);
  return (...records: SQSRecord[]) =>
    handler({ Records: records }, { getRemainingTimeInMillis: () => 60_000 } as Context);
};

type Receipt = { attempts?: number; waitedMs?: number; pad?: string };

const recordOf = (say: string, { attempts = 1, waitedMs = 0, pad }: Receipt = {}) =>
  ({
    messageId: `${say} ${tests}`,
    receiptHandle: say,
    eventSourceARN: 'arn:aws:sqs:eu-west-1:1:try-out',
    body: JSON.stringify({
      specversion: '1.0',
      id: say,
      source: '/sis',
      type: 'sis.try-out.v1',
      time: '2026-11-24T10:00:00Z',
      data: { say, pad },
    }),
    attributes: {
      SentTimestamp: `${nowMs - waitedMs}`,
      ApproximateFirstReceiveTimestamp: `${nowMs - waitedMs}`,
      ApproximateReceiveCount: `${attempts}`,
    },
    messageAttributes: {},
  }) as unknown as SQSRecord;

/** The same after its queue has hidden it so often for all of its time. */
const backAgain = (say: string, times: number, more: Receipt = {}) =>
  recordOf(say, { attempts: times + 1, waitedMs: times * visibilityMs, ...more });

/** Has a container begin, which never comes back from what is deadly. */
const die = (deadly: string, ...records: SQSRecord[]) => dies(container([deadly]), records, `run ${deadly}`);
/** The same where all of them are handled at the same time. */
const dieTogether = (deadly: string, ...records: SQSRecord[]) =>
  dies(
    container([deadly], {}, records.length),
    records,
    ...records.map(({ receiptHandle }) => `run ${receiptHandle}`),
  );
/** @param until What has happened once more by then. */
const dies = async (handle: ReturnType<typeof container>, records: SQSRecord[], ...until: string[]) => {
  const happened = () => story.filter((each) => until.includes(each)).length;
  const before = happened();
  void handle(...records);
  await expect.poll(happened).toBe(before + until.length);
  nowMs += visibilityMs;
};
const runs = () => story.filter((each) => each.startsWith('run')).map((each) => each.slice('run '.length));
const outcomes = () => reports.map(({ outcome, kind }) => [outcome, kind].filter(Boolean).join(' '));
const large = { pad: 'p'.repeat(200_000) };

describe('a small message', () => {
  test('costs no call of DynamoDB beside its ledger’s two with its first receipt, nor where it has only waited', async () => {
    await container()(recordOf('a'), recordOf('b', { attempts: 5, waitedMs: 10 * minute }));
    expect(outcomes()).toEqual(['done', 'done']);
    expect(calls.toSorted()).toEqual(['PutItem', 'PutItem', 'UpdateItem', 'UpdateItem']);
  });

  test('that comes back after all of its queue’s time has a lock of its own, as the function may have died of it', async () => {
    await container()(backAgain('a', 1), backAgain('b', 2));
    expect(outcomes()).toEqual(['done', 'done']);
    // Of the receipt and of what it changes, a lock and an outcome.
    expect(calls.toSorted()).toEqual([...Array(4).fill('PutItem'), ...Array(4).fill('UpdateItem')]);
  });
});

test('a large message goes after all others with its first receipt, which is counted before it is read', async () => {
  await container()(recordOf('a', large), recordOf('b'));
  expect(story).toEqual(['read b', 'run b', 'read a', 'run a']);
  expect(calls).toHaveLength(6);
  story = [];
  await die('c', recordOf('c', large), recordOf('d'));
  expect(runs()).toEqual(['d', 'c']);
});

test('what kills the function again and again is parked after three crashes, and its neighbours are done before', async () => {
  const all = ['a', 'b', 'c', 'd', 'e'];
  await dieTogether('b', ...all.map((say) => recordOf(say)));
  expect(outcomes()).toEqual([]);
  const left = new Set(all);
  for (let times = 1; letters.length === 0 && times < 9; times += 1) {
    const before = reports.length;
    const records = [...left].map((say) => backAgain(say, times));
    if (times === 3) await container(['b'])(...records);
    else await die('b', ...records);
    for (const { eventId } of reports.slice(before)) left.delete(eventId ?? '');
    // Each goes by itself, and those behind the deadly one come before it the next time.
    expect([...left]).toEqual([['b', 'c', 'd', 'e'], ['b'], []][times - 1]);
  }
  expect(runs().filter((each) => each === 'b')).toHaveLength(3);
  expect(letters).toMatchObject([
    {
      body: recordOf('b').body,
      failure: { kind: 'crashed', message: 'The function died three times while it handled this message' },
    },
  ]);
});

test('what kills the function as it is parsed is parked unread after three counted crashes', async () => {
  for (let times = 0; times < 3; times += 1) await die('p', backAgain('p', times, large));
  story = [];
  await container(['p'])(backAgain('p', 3, large));
  expect([story, outcomes()]).toEqual([[], ['parked crashed']]);
});

test('a letter of what was not read holds nothing of it where a message may hold a secret', async () => {
  for (let times = 1; times < 4; times += 1) {
    await die('a', backAgain('a', times, large));
  }
  await container([], { forbidden: ['plainSecret'] })(backAgain('a', 4, large));
  expect(outcomes()).toEqual(['parked crashed']);
  const { body = '' } = letters[0] ?? {};
  expect(JSON.parse(body)).toEqual({
    withheld: 'The message may hold a secret, and cannot be searched for it',
    bytes: recordOf('a', large).body.length,
    id: 'a',
  });
});

test('while no death can be counted, what may be deadly waits unread, and all else is done', async () => {
  let isDown = false;
  const one = container([], {
    run: async ({ say }) => {
      story.push(`run ${say}`);
      isDown = true;
      await tables.fault({ action: 'UpdateItem', status: 500, times: 10 });
    },
  });
  await one(recordOf('x', large), recordOf('y'));
  expect([isDown, outcomes().sort(), runs()]).toEqual([true, ['done', 'waiting unavailable'], ['y']]);
});

test.each([
  ['p'.repeat(131_071), false],
  ['p'.repeat(131_072), true],
  [undefined, false],
])('a body of 128 KiB is large: %#', (body, expected) => {
  expect(isLarge({ body } as SQSRecord)).toBe(expected);
});

test.each<[string, Receipt, boolean]>([
  ['its first receipt', { attempts: 1, waitedMs: visibilityMs }, false],
  ['a second after less than its queue’s time', { attempts: 2, waitedMs: 0.9 * visibilityMs - 1 }, false],
  ['a second after nearly its queue’s time', { attempts: 2, waitedMs: 0.9 * visibilityMs }, true],
  ['a third after less than twice that', { attempts: 3, waitedMs: 1.8 * visibilityMs - 1 }, false],
  ['a third after nearly twice that', { attempts: 3, waitedMs: 1.8 * visibilityMs }, true],
  ['its first receipt, and it is large', large, true],
])('a message is suspect by its receipts: %s', (_, receipt, expected) => {
  const record = recordOf('a', receipt);
  expect(isSuspect(record, deliveryOf(record, nowMs), visibilityMs)).toBe(expected);
});
