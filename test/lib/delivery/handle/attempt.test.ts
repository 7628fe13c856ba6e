import type { Context, SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createCrosswalk } from '../../../../lib/crosswalk/look-up.ts';
import type { CrosswalkTable } from '../../../../lib/crosswalk/table.ts';
import { attempt } from '../../../../lib/delivery/handle/attempt.ts';
import { handlerOf } from '../../../../lib/delivery/handle/handler.ts';
import type { Integration, IntegrationContext } from '../../../../lib/delivery/handle/integration.ts';
import type { Services } from '../../../../lib/delivery/handle/services.ts';
import { deliveryOf } from '../../../../lib/delivery/handle/sqs-delivery.ts';
import { writtenRefusal } from '../../../../lib/delivery/handle/verify-attempt.ts';
import type { Digester } from '../../../../lib/delivery/ledger/digest.ts';
import { emptyItem } from '../../../../lib/delivery/ledger/item.ts';
import { TableLedger } from '../../../../lib/delivery/ledger/ledger.ts';
import type { LedgerTable } from '../../../../lib/delivery/ledger/table.ts';
import { type DeadLetter, notStored } from '../../../../lib/delivery/letters/dead-letter.ts';
import type { BackoffLimits } from '../../../../lib/message/backoff.ts';
import { MessageFailure } from '../../../../lib/message/failure.ts';
import type { Priority } from '../../../../lib/message/priority.ts';
import { ownText, safe } from '../../../../lib/message/safe-text.ts';
import type { CallContext } from '../../../../lib/platform/client/call.ts';
import type { Platform } from '../../../../lib/platform/client/client.ts';
import { acknowledged } from '../../../../lib/platform/client/operation.ts';
import { PlatformError, type RefusedCall } from '../../../../lib/platform/client/platform-error.ts';
import type { SlotResult } from '../../../../lib/platform/rate-limit/rate-limiter.ts';
import { getGradeObjects } from '../../../../lib/platform/resources/grade-objects.ts';
import type { OpenedFile } from '../../../../lib/runtime/files/source.ts';
import type { CallReport } from '../../../../lib/runtime/telemetry/call-report.ts';
import type { MessageReport } from '../../../../lib/runtime/telemetry/observe.ts';
import { noticeOf } from '../../../envelopes.ts';
import { createTableModel } from '../../../history/table.ts';
import { freeTurn, unpaced } from '../../platform/rate-limit/unpaced.ts';
import { servicesForTests } from './services-for-tests.ts';

type Data = { say: string; orgUnitId?: number; gradeObjectId?: number; userId?: number };
const second = 1_000;
const hour = 3_600 * second;
const visibilityMs = 720 * second;

const putThing = acknowledged({
  name: 'put-thing',
  call: 'POST /le/things',
  scope: undefined,
});
/** A call that has reached the platform, and may have had its effect. */
const acted: CallReport = {
  operation: safe`put-thing`,
  call: safe`PUT /things`,
  status: undefined,
  durationMs: 1,
  mayHaveActed: true,
  priority: 'normal',
};
const listed: CallReport = {
  ...acted,
  operation: safe`list-grade-objects`,
  call: safe`GET /grades/`,
  status: 200,
};
const act = ({ platform }: IntegrationContext, mayHaveActed = true) =>
  (platform as unknown as { act(acted: boolean): void }).act(mayHaveActed);

let nowMs: number;
let model: ReturnType<typeof createTableModel>;
/** What happened, in its order. */
let story: string[];
let reports: MessageReport[];
let letters: DeadLetter[];
let delays: { messageId: string; seconds: number }[];
let resources: string[];
/** Of the attempts that have begun. */
let signals: AbortSignal[];
let contexts: CallContext[];
/** What is told beside the messages' own lines. */
let observed: unknown[];
/** The names of the platform's grade objects: the first has the id 1. */
let gradeObjects: string[];
let clockOffsetMs: number | undefined;

beforeEach(() => {
  nowMs = Date.UTC(2026, 2, 1, 12);
  model = createTableModel(() => nowMs);
  [signals, contexts, observed, gradeObjects, clockOffsetMs] = [[], [], [], [], 0];
  [story, reports, letters, delays, resources] = [[], [], [], [], []];
});

/** What is written of the resource: `done`, `open`, `open as a letter` or, if nothing is left of the attempt, `forgotten`. */
const table = (more: Partial<LedgerTable> = {}): LedgerTable => ({
  take: async (resource, taking) => {
    resources.push(resource);
    return model.take(resource, taking);
  },
  replace: async (resource, expectedLockId, item) => {
    const states = Object.values(item.fields);
    const open = states.find((state) => state.open)?.open;
    const closed = states.length > 0 ? 'done' : 'forgotten';
    const word = open ? (open.isParked ? 'open as a letter' : 'open') : closed;
    const isReceipt = resource.startsWith('receipt/');
    if (item.lock === undefined && !isReceipt) story.push(`${word} ${resource.split('/')[1]}`);
    return model.replace(resource, expectedLockId, item);
  },
  release: async (resource, taking) => model.release(resource, taking),
  ...more,
});

const integrationOf = (
  run: (say: string, context: IntegrationContext) => Promise<unknown>,
  more: Partial<Integration<Data>>,
): Integration<Data> => ({
  name: 'try-out',
  data: z.strictObject({
    say: z.string(),
    orgUnitId: z.exactOptional(z.int()),
    gradeObjectId: z.exactOptional(z.int()),
    userId: z.exactOptional(z.int()),
  }),
  resource: ({ say }) => `try-out/${say}`,
  changes: ['try-out'],
  operations: [],
  repeatable: true,
  run: ({ say }, context) => {
    story.push(`run ${say}`);
    return run(say, context);
  },
  ...more,
});

const well = async () => {};
type TurnAsked = (priority: Priority, until: { untilMs: number }) => Promise<SlotResult>;
type Surroundings = {
  lateEffectMs: number;
  table: LedgerTable;
  seconds: number;
  attemptTimeoutMs: number;
  backoff: BackoffLimits;
  digest: Digester;
  open: Services['files']['open'];
  turn: TurnAsked;
};
/** Every name of the SIS stands for user 301. */
const namesIn: CrosswalkTable['namesIn'] = async (buckets) =>
  new Map(buckets.map((bucket) => [bucket, new Map([['nora', { ids: [301] }]])]));
const servicesWith = ({
  table: its = table(),
  attemptTimeoutMs = 40 * second,
  backoff = { minimumSeconds: 5, maximumSeconds: 5 },
  digest = async (parts) => parts.join(' '),
  turn = async () => ({ slot: freeTurn }),
  open = async () => Promise.reject(new Error('no file was to be opened')),
  lateEffectMs = 60 * second,
}: Partial<Surroundings>): Services => {
  const nothing = () => {};
  return servicesForTests({
    platform: {
      rateLimiter: {
        ...unpaced,
        requestSlot: (priority, untilMs, settle) => {
          void turn(priority, { untilMs }).then(settle);
          return nothing;
        },
      },
      for: (attempt) => {
        signals.push(attempt.signal);
        contexts.push(attempt);
        return {
          clockOffsetMs: () => clockOffsetMs,
          call: async () => {
            attempt.onCall(listed);
            return { items: gradeObjects.map((Name, at) => ({ Id: at + 1, Name, GradeType: 'Text' })) };
          },
          act: (mayHaveActed: boolean) => attempt.onCall({ ...acted, mayHaveActed }),
        } as object as Platform;
      },
    },
    files: { open },
    queues: {
      writeLetter: async (letter) => void letters.push(letter),
      delay: async (some) => void delays.push(...some),
    },
    ledger: new TableLedger({
      table: its,
      lateEffectMs,
      warn: nothing,
      nowMs: () => nowMs,
    }),
    digest,
    observe: {
      message: (report) => void reports.push(report),
      call: (call) => void observed.push(call),
      slotWait: (...turn) => void observed.push(turn),
      error: (...defect) => void observed.push(defect),
    },
    limits: { backoff, attemptTimeoutMs, reserveMs: 5 * second, visibilityMs, fileBytes: 1 },
    crosswalk: createCrosswalk({ table: { namesIn, fills: async () => new Map() }, nowMs: () => nowMs }),
    nowMs: () => nowMs,
  });
};
/** One container of a function. */
const container = (
  run: (say: string, context: IntegrationContext) => Promise<unknown> = well,
  { seconds = 60, ...more }: Partial<Integration<Data>> & Partial<Surroundings> = {},
) => {
  const services = servicesWith(more);
  const handler = handlerOf(integrationOf(run, more), () => services);
  return (...records: SQSRecord[]) => {
    const endMs = nowMs + seconds * second;
    const context = { getRemainingTimeInMillis: () => endMs - nowMs } as Context;
    return handler({ Records: records }, context);
  };
};

const recordOf = (say: string, { replays = 0, kind = '', ...envelope }: Record<string, unknown> = {}) =>
  ({
    messageId: `sqs ${say} ${replays}`,
    receiptHandle: say,
    eventSourceARN: 'arn:aws:sqs:eu-west-1:1:try-out',
    body: JSON.stringify({
      specversion: '1.0',
      id: say,
      source: '/sis',
      type: 'sis.try-out.v1',
      time: '2026-03-01T10:00:00Z',
      data: { say },
      ...envelope,
    }),
    attributes: { SentTimestamp: `${nowMs}`, ApproximateReceiveCount: '1' },
    messageAttributes: {
      replays: { dataType: 'Number', stringValue: `${replays}` },
      ...(kind === '' ? {} : { kind: { dataType: 'String', stringValue: kind } }),
    },
  }) as unknown as SQSRecord;

/** Message a as it comes after so many receipts, so long after the first of them, so long after it was sent. */
const received = (times: number, waitedMs: number, agedMs = waitedMs) =>
  Object.assign(recordOf('a'), {
    attributes: {
      SentTimestamp: `${nowMs - agedMs}`,
      ApproximateFirstReceiveTimestamp: `${nowMs - waitedMs}`,
      ApproximateReceiveCount: `${times}`,
    },
  });

const lost = (): never => {
  throw new Error('lost');
};
const never = () => new Promise<never>(() => {});
/** Has a container begin, and never come back. */
const die = async (records: SQSRecord[], more: Partial<Integration<Data>> = {}) => {
  void container(never, more)(...records);
  await new Promise(setImmediate);
  nowMs += 120 * second;
  story = [];
};
const outcomes = () => reports.map(({ outcome, kind }) => (kind ? `${outcome} ${kind}` : outcome));

describe('the turn of a message', () => {
  test('is waited for before its claim, for as long as an attempt still fits in', async () => {
    const asked: unknown[] = [];
    const turn: TurnAsked = async (priority, { untilMs }) => {
      asked.push([priority, untilMs - nowMs, [...story]]);
      return { slot: freeTurn };
    };
    await container(well, { turn, seconds: 120, repeatable: false })(recordOf('a'));
    // Of 120 s, 5 are kept for letters and 40 for an attempt.
    expect(asked).toEqual([['normal', 75 * second, []]]);
    expect(story).toEqual(['run a', 'done a']);
  });

  test.each([
    ['comes again', () => received(2, 0), 37.5],
    ['is large, and goes alone', () => recordOf('a', { extension: 'x'.repeat(128 * 1024) }), 75],
    ['is neither', () => received(1, 0), 75],
  ])('leaves half of the time to those that go alone where one %s', async (_, record, seconds) => {
    const asked: number[] = [];
    const turn: TurnAsked = async (_priority, { untilMs }) => {
      asked.push((untilMs - nowMs) / second);
      return { slot: freeTurn };
    };
    await container(well, { turn, seconds: 120 })(record());
    expect(asked).toEqual([seconds]);
  });

  test('is of the class that its producer has marked', async () => {
    const classes: unknown[] = [];
    const turn: TurnAsked = async (asked) => {
      classes.push(asked);
      return { slot: freeTurn };
    };
    const messageAttributes = { priority: { dataType: 'String', stringValue: 'bulk' } };
    const record = Object.assign(recordOf('a'), { messageAttributes });
    await container(well, { turn, priority: 'urgent' })(record, recordOf('b'));
    expect(classes).toEqual(['bulk', 'urgent']);
  });

  test('is for others, and for it alone afterwards, where the function died on it: time is left for that', async () => {
    await die([recordOf('a')]);
    const asked: unknown[] = [];
    const turn: TurnAsked = async (_, { untilMs }) => {
      asked.push([(untilMs - nowMs) / second, story.length]);
      return { slot: freeTurn };
    };
    await container(well, { turn, seconds: 120 })(recordOf('b'), received(2, 120 * second));
    expect(asked).toEqual([
      [37.5, 0],
      [37.5, 0],
      [75, 2],
    ]);
    expect(story).toEqual(['run b', 'done b', 'run a', 'done a']);
  });

  test('is given back where nothing is sent, and where the message died of its own data', async () => {
    const ended: number[] = [];
    const turn = async () => ({ slot: { next: () => 0, end: () => void ended.push(1) } });
    const go = container(well, { turn });
    await go(recordOf('a'));
    await go(recordOf('a'));
    await go(Object.assign(recordOf('b'), { body: '{}' }));
    expect(outcomes()).toEqual(['done', 'duplicate', 'parked invalid']);
    expect(ended).toHaveLength(2);
  });
});

describe('a message that the ledger holds back', () => {
  test('waits while the ledger does not answer, and is not sent, nor a letter, however long that lasts', async () => {
    const down = () => Promise.reject(Object.assign(new Error('no'), { $metadata: {} }));
    const backoff = { minimumSeconds: 5, maximumSeconds: 1_800, random: () => 0 };
    await container(well, { table: table({ take: down, release: down }), backoff })(received(200, 25 * hour));
    expect(outcomes()).toEqual(['waiting unavailable']);
    expect(delays.map(({ seconds }) => seconds)).toEqual([900]);
    expect([story, letters]).toEqual([[], []]);
  });

  test.each([
    ['resource', { resource: () => lost() }],
    ['fields', { fields: () => lost() }],
    ['effect', { effect: { wanted: () => lost(), shown: () => lost() } }],
  ])('not even to be asked, as its integration’s %s throws, is a defect and a letter', async (_, more) => {
    await container(well, more)(received(1, 0));
    expect(outcomes()).toEqual(['parked defect']);
    expect([story, resources]).toEqual([[], []]);
  });

  test('is released where its integration’s actor throws: the next message about the resource has its turn', async () => {
    const more = { actor: () => lost(), resource: () => 'try-out/shared' };
    await container(well, more)(recordOf('a'), recordOf('b'));
    expect(outcomes()).toEqual(['parked defect', 'parked defect']);
    expect(story).toEqual(['forgotten shared', 'forgotten shared']);
  });

  test('is released where the ledger took so long that the rest of the time is too short', async () => {
    const slow = table({
      take: async (resource, taking) => {
        nowMs += 16 * second;
        return model.take(resource, taking);
      },
    });
    await container(well, { table: slow })(recordOf('a'));
    expect(story).toEqual(['forgotten a']);
    expect(delays.map(({ seconds }) => seconds)).toEqual([1]);
    await container()(recordOf('a'));
    expect(outcomes()).toEqual(['waiting', 'done']);
  });

  const refuse = async () => {
    throw new MessageFailure('rejected', safe`not this one`);
  };
  test.each([
    ['whose lock could not be given back as too little time was left', 16, well, 'waiting unavailable'],
    ['whose outcome could not be recorded', 0, refuse, 'waiting rejected'],
  ])('%s waits, and is no letter until it can be', async (_, slowSeconds, run, outcome) => {
    let isDown = true;
    const its = table({
      take: async (resource, taking) => {
        nowMs += slowSeconds * second;
        return model.take(resource, taking);
      },
      replace: async (...change) => (isDown ? lost() : table().replace(...change)),
    });
    const backoff = { minimumSeconds: 5, maximumSeconds: 1_800, random: () => 0 };
    const handle = container(run, { table: its, backoff });
    await handle(received(200, 25 * hour));
    expect(outcomes()).toEqual([outcome]);
    expect(delays.map(({ seconds }) => seconds)).toEqual([900]);
    expect(letters).toEqual([]);
    if (slowSeconds > 0) return;
    nowMs += 720 * second;
    isDown = false;
    await handle(Object.assign(received(201, 25 * hour), { attributes: recordOf('a').attributes }));
    expect([outcomes().at(-1), letters.length]).toEqual(['parked rejected', 1]);
  });
});

test('the notes of a success are its reason, and files that it has not read to their end are closed', async () => {
  const files: AbortSignal[] = [];
  const open: Services['files']['open'] = async (_, { signal }) => {
    if (signal) files.push(signal);
    return {} as OpenedFile;
  };
  const run = async (_: string, { openFile, note }: IntegrationContext) => {
    await openFile('s3://bucket/one', 1);
    await openFile('s3://bucket/two', 1);
    expect(files.map(({ aborted }) => aborted)).toEqual([false, false]);
    note(safe`One thing`);
    note(safe`another`);
  };
  await container(run, { open })(recordOf('a'));
  expect(reports[0]?.reason).toBe('One thing; another');
  expect(files.map(({ aborted }) => aborted)).toEqual([true, true]);
  await container()(recordOf('b'));
  expect(reports[1]?.reason).toBeUndefined();
});

describe('the time of an attempt', () => {
  test('is that of each, and those that begin within a second share a signal', async () => {
    const handle = container();
    await handle(recordOf('a'), recordOf('b'));
    expect(signals[0]).toBe(signals[1]);
    const slow = table({
      take: async (resource, taking) => {
        if (resource === 'try-out/d') await new Promise(setImmediate);
        nowMs += second;
        return model.take(resource, taking);
      },
    });
    await container(well, { table: slow })(recordOf('c'), recordOf('d'));
    expect(signals).toHaveLength(4);
    expect(signals[2]).not.toBe(signals[3]);
  });

  test.each([
    ['its own', { attemptTimeoutMs: 20, seconds: 600 }],
    ['what is left of the batch', { attemptTimeoutMs: 40, seconds: 5.06 }],
  ])('ends its calls: %s', async (_, times) => {
    const untilAborted = (): Promise<never> =>
      new Promise((_resolve, reject) => {
        signals[0]?.addEventListener('abort', () =>
          reject(new MessageFailure('unavailable', safe`too long`)),
        );
      });
    await container(untilAborted, times)(recordOf('a'));
    expect(outcomes()).toEqual(['waiting unavailable']);
  });

  test('a reserve and the grace period are the time of its lock, however much more the batch has', async () => {
    const locks: number[] = [];
    const its = table({
      take: async (resource, taking) => {
        locks.push(taking.untilMs - nowMs);
        return model.take(resource, taking);
      },
    });
    await container(well, { seconds: 600, table: its })(recordOf('a'));
    expect(locks).toEqual([105 * second]);
  });
});

describe('a message that is older than what the ledger remembers', () => {
  const old = { time: '2026-01-20T10:00:00Z' };

  test('is a letter of its own kind, and is sent when a person replays that, and by no other replay', async () => {
    await container()(recordOf('a', old));
    expect(outcomes()).toEqual(['parked outdated']);
    expect(letters[0]?.failure?.remedy).toMatch(
      /^Check what the platform holds. If it is older or missing there, replay/,
    );
    expect(letters[0]?.failure?.message).toMatch(/^The message is older than the ledger remembers\./);
    for (const kind of ['rejected', 'outdated'])
      await container()(recordOf('a', { ...old, replays: 1, kind }));
    expect(outcomes()).toEqual(['parked outdated', 'parked outdated', 'done']);
    expect(story).toEqual(['run a', 'done a']);
  });
});

describe('a message that must not be sent twice and left no outcome', () => {
  const looking = (found: 'found' | 'absent' | 'unclear' | Error): Partial<Integration<Data>> => ({
    repeatable: false,
    verify: {
      subject: () => 'a thing',
      look: async (_, { sinceMs }) => {
        story.push(`look since ${new Date(sinceMs).toISOString()}`);
        if (found instanceof Error) throw found;
        return found;
      },
    },
  });
  const look = 'look since 2026-03-01T12:00:00.000Z';
  const since = 'An attempt since 2026-03-01T12:00:00.000Z left no outcome';

  test.each([
    ['is done', 'found' as const, 'done', [look, 'done a'], undefined],
    ['is sent', 'absent' as const, 'done', [look, 'run a', 'done a'], undefined],
    [
      'is for a person to decide',
      'unclear' as const,
      'parked uncertain',
      [look, 'open as a letter a'],
      `${since}: something is there that may be its effect`,
    ],
    ['waits', new MessageFailure('unavailable', safe`down`), 'waiting unavailable', [look, 'open a'], 'down'],
  ])('%s, where to look for it ends with %s', async (_, found, outcome, happened, reason) => {
    await die([recordOf('a')], { repeatable: false });
    await container(well, looking(found))(recordOf('a'));
    expect(outcomes()).toEqual([outcome]);
    expect(story).toEqual(happened);
    expect(reports[0]?.reason).toBe(reason);
  });

  test.each([
    [
      'rejected',
      new PlatformError({
        operation: putThing,
        call: safe`POST /things`,
        message: safe`no`,
        sent: true,
        refused: { status: 404, type: 'not-found' },
      }),
    ],
    ['defect', new TypeError('no')],
  ])('is not looked up where its attempt ended otherwise, as %s', async (kind, error) => {
    const run = async () => Promise.reject(error);
    await container(run, looking('absent'))(recordOf('a'));
    expect(outcomes()).toEqual([`parked ${kind}`]);
  });

  const operation = { ...putThing, repeatable: false };
  const failing = (more: object) => async (_: string, context: IntegrationContext) => {
    act(context);
    throw new PlatformError({
      operation,
      call: safe`POST /things`,
      message: safe`failed`,
      sent: true,
      ...more,
    });
  };

  test('is unknown where one of its calls may have acted, and undone where none has', async () => {
    const mayHaveActed = [false, true, false];
    const calls = async (_: string, context: IntegrationContext) => {
      for (const each of mayHaveActed) act(context, each);
      throw new MessageFailure('rejected', safe`no`);
    };
    await container(calls, { repeatable: false })(recordOf('a'));
    mayHaveActed.splice(1, 1);
    await container(calls, { repeatable: false })(recordOf('b'));
    expect(story).toEqual(['run a', 'open as a letter a', 'run b', 'forgotten b']);
  });

  test.each([
    ['is done', 'is shown', looking('found'), 'done'],
    ['is done', 'may be what is there', looking('unclear'), 'done'],
    ['is done', 'cannot be looked for', { repeatable: false, verify: { subject: () => 'it' } }, 'done'],
    ['is for a person to decide', 'is not shown', looking('absent'), 'parked uncertain'],
  ])('%s where the platform answered with a success, and its effect %s', async (_, _what, more, outcome) => {
    await container(failing({ acceptedUnverified: true }), more)(recordOf('a'));
    expect([outcomes(), delays.map(({ seconds }) => seconds)]).toEqual([['waiting uncertain'], [61]]);
    nowMs += 61 * second;
    await container(well, more)(recordOf('a'));
    expect(outcomes()).toEqual(['waiting uncertain', outcome]);
    expect(story.filter((each) => each === 'run a')).toHaveLength(1);
    // Within a day, by whichever clock the platform dates it.
    for (const each of story.filter((each) => each.startsWith('look')))
      expect(each).toBe('look since 2026-02-28T12:00:00.000Z');
    for (const { failure } of letters)
      expect(failure?.message).toMatch(/: the platform answered with a success, but does not show it$/);
  });
});

test('a message for whose change the ledger has no room is a letter that says so, and is sent when somebody who has looked replays it', async () => {
  const shared = {
    repeatable: false,
    resource: () => 'try-out/shared',
    fields: ({ say }: Data) => [`created/${say}`],
  };
  const open = {
    version: 'v',
    messageId: 'm',
    replays: 0,
    sinceMs: nowMs - hour,
    begunMs: nowMs - hour,
    crashes: 0,
    acceptedMs: 0,
    refusal: 'r'.repeat(600),
    isNonRepeatable: true,
    isParked: true,
  };
  const fields = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`created/${at}`, { open }]));
  const lock = { id: '000001', holder: 'abcd', replays: 0, version: 'v', fields: [] };
  model.take('try-out/shared', { lock, untilMs: 0 });
  model.replace('try-out/shared', lock.id, { ...emptyItem, lockId: lock.id, fields });
  await container(well, shared)(recordOf('a'));
  expect([outcomes(), story.filter((each) => each.startsWith('run'))]).toEqual([['parked uncertain'], []]);
  expect(letters[0]?.failure).toMatchObject({
    message:
      'The ledger has no room for one more change of this resource: it remembers 300 changes, 300 of them without an outcome. Nothing was sent',
    remedy: expect.stringMatching(
      /Replay or discard its other uncertain letters\. .* If it was not, replay it/,
    ),
  });
  await container(well, shared)(recordOf('a', { replays: 1, kind: 'uncertain' }));
  await container(well, shared)(recordOf('b'));
  expect(outcomes()).toEqual(['parked uncertain', 'done', 'done']);
});

describe('what the platform said when no outcome was left', () => {
  const silent = (refused: RefusedCall | undefined) => async (_: string, context: IntegrationContext) => {
    act(context);
    throw new PlatformError({
      operation: { ...putThing, repeatable: false },
      call: safe`POST /things`,
      message: safe`failed`,
      ...(refused && { refused }),
      sent: true,
    });
  };
  const once: Partial<Integration<Data>> = { repeatable: false, verify: { subject: () => 'a thing' } };
  const words = { type: 'internal', title: 'Database', detail: 'Deadlock on "things"', requestId: 'r-1' };

  test('outlives the attempt, and another container’s death, until the letter is written', async () => {
    await container(silent({ status: 500, ...words }), once)(recordOf('a'));
    nowMs += 61 * second;
    await die([recordOf('a')], { ...once, verify: { subject: () => 'a thing', look: never } });
    await container(well, once)(recordOf('a'));
    expect(outcomes()).toEqual(['waiting uncertain', 'parked uncertain']);
    expect(story).not.toContain('run a');
    expect(letters[0]?.failure).toMatchObject({
      kind: 'uncertain',
      status: 500,
      ...words,
      operation: 'POST /things',
      message:
        'An attempt since 2026-03-01T12:00:00.000Z left no outcome (The platform answered POST /things with 500): the platform does not show it',
      remedy: expect.stringMatching(/^On the platform, look for a thing since/),
    });
  });

  test('is written whole where it just fits, and cut where it is longer by one', () => {
    const refusal = (length: number) =>
      writtenRefusal({
        kind: 'uncertain',
        message: safe`m`,
        remedy: '',
        status: 500,
        title: 't'.repeat(length),
        detail: 'd'.repeat(400),
      });
    const room = 600 - refusal(0).length;
    expect(refusal(room)).toHaveLength(600);
    expect(JSON.parse(refusal(room)).detail).toHaveLength(400);
    expect(JSON.parse(refusal(room + 1)).detail).toHaveLength(300);
  });
});

describe('what becomes of a message in one attempt', () => {
  let over: AbortController;
  let signal: AbortSignal;
  beforeEach(() => {
    over = new AbortController();
    signal = over.signal;
  });
  const attempted = (
    record: SQSRecord,
    run: (say: string, context: IntegrationContext) => Promise<unknown> = well,
    { services, leftMs = 60 * second, ...more }: Partial<Integration<Data>> & Attempted = {},
  ) =>
    attempt(
      integrationOf(run, more),
      { record, delivery: deliveryOf(record, nowMs) },
      {
        services: { ...servicesWith({}), ledger: undefined, ...services },
        deadlineMs: nowMs + leftMs,
        slotsUntilMs: nowMs + 9 * second,
        isolated: false,
        timeLimit: () => signal,
      },
    );
  type Attempted = { services?: Partial<Services>; leftMs?: number };
  const unread = { eventId: undefined, calls: [], turnMs: 0 };
  const read = { ...unread, eventId: 'a' };

  test('is that it is done, with what its integration notes', async () => {
    const run = async (_: string, context: IntegrationContext) => {
      story.push(context.fields.join());
      act(context);
      context.note(safe`One thing`);
    };
    const fields = () => ['grade', 'comments'];
    expect(await attempted(recordOf('a'), run, { fields, leftMs: 40 * second })).toEqual({
      ...read,
      calls: [acted],
      outcome: 'done',
      reason: 'One thing',
    });
    expect(story).toEqual(['run a', 'grade,comments']);
    expect(observed).toEqual([['normal', 0], acted]);
  });

  test('is that it waits a second where an attempt could not end in time', async () => {
    expect(await attempted(recordOf('a'), well, { leftMs: 40 * second - 1 })).toEqual({
      ...unread,
      outcome: 'waiting',
      seconds: 1,
      deferral: 'no-time',
      reason: 'Too little time was left in this invocation. The next one handles the message',
    });
    expect([story, observed]).toEqual([[], []]);
  });

  test.each([
    ['', true],
    [', without a ledger, too', false],
  ])(
    'is that it waits where its turn does not come, and tells how long it has waited for that%s',
    async (_, hasLedger) => {
      const turn: TurnAsked = async (_, { untilMs }) => {
        await new Promise(setImmediate);
        nowMs = untilMs;
        return { slot: undefined, seconds: 42 };
      };
      const { platform, ledger } = servicesWith({ turn });
      expect(
        await attempted(recordOf('a'), well, { services: { platform, ...(hasLedger && { ledger }) } }),
      ).toEqual({
        ...read,
        outcome: 'waiting',
        seconds: 42,
        deferral: 'pace',
        turnMs: 9 * second,
        reason: 'The rate limiter did not admit the call in this invocation. The message comes back for it',
      });
      expect([story, resources, observed]).toEqual([[], [], [['normal', 9 * second]]]);
    },
  );

  test('is not that it has waited where its turn comes at once, however busy its container is', async () => {
    const requestSlot: typeof unpaced.requestSlot = (priority, untilMs, settle) => {
      nowMs += second;
      return unpaced.requestSlot(priority, untilMs, settle);
    };
    const { platform } = servicesWith({});
    const services = { platform: { ...platform, rateLimiter: { ...unpaced, requestSlot } } };
    expect(await attempted(recordOf('a'), well, { services })).toEqual({ ...read, outcome: 'done' });
    expect(observed).toEqual([['normal', 0]]);
  });

  test('is a letter that is told as a defect where that is one, and no other is', async () => {
    const defect = new TypeError('x');
    const refused = new MessageFailure('rejected', safe`no`, { remedy: 'Do this.' });
    expect(await attempted(recordOf('a'), async () => Promise.reject(defect))).toEqual({
      ...read,
      outcome: 'parked',
      failure: {
        kind: 'defect',
        message: 'Unexpected TypeError',
        remedy:
          'This is a bug in sis-relay. Report it with the log of this message, deploy the fix, then replay.',
      },
    });
    expect(await attempted(recordOf('a'), async () => Promise.reject(refused))).toEqual({
      ...read,
      outcome: 'parked',
      failure: { kind: 'rejected', message: 'no', remedy: 'Do this.' },
    });
    const turn = ['normal', 0];
    expect(observed).toEqual([turn, ['a defect of sis-relay', { messageId: 'sqs a 0' }, defect], turn]);
  });

  test('is a letter where it only points to the message, whatever its body is', async () => {
    const text = (stringValue: string) => ({ dataType: 'String', stringValue });
    const messageAttributes = { letterId: text('x'), whole: text(notStored) };
    expect(await attempted(Object.assign(recordOf('a'), { messageAttributes }))).toEqual({
      ...unread,
      outcome: 'parked',
      failure: {
        kind: 'rejected',
        message:
          'SQS’ own redrive sent this letter back, but its message is in the bucket, so there was nothing to send',
        remedy:
          'Replay it (`sis-relay letters replay`): that sends the message from the bucket. If it was not kept there, have the producer send it again, and discard this letter.',
      },
    });
  });

  test('is that it waits and is looked up when the platform has had time, to a whole second and one more', async () => {
    const { ledger } = servicesWith({ lateEffectMs: 60_100 });
    const run = async (_: string, context: IntegrationContext) => {
      act(context);
      throw new PlatformError({
        operation: putThing,
        call: safe`POST /things`,
        message: safe`failed`,
        sent: true,
      });
    };
    const more = { services: { ledger }, repeatable: false, verify: { subject: () => 'it' } };
    expect(await attempted(recordOf('a'), run, more)).toEqual({
      ...read,
      calls: [acted],
      outcome: 'waiting',
      seconds: 62,
      reason: 'POST /things: failed',
      failure: {
        kind: 'uncertain',
        message: 'POST /things: failed',
        operation: 'POST /things',
        remedy:
          'Check on the platform whether it was done. If it was, discard this letter. If not, replay it.',
      },
    });
  });

  test('comes of what its integration may use, and of nothing that it opens when its time is over', async () => {
    gradeObjects = ['Midterm'];
    const opened: [uri: string, maximumBytes: number, signal: AbortSignal | undefined][] = [];
    const services: Partial<Services> = {
      readSecret: async (name, shape) => shape.parse({ key: `that of ${name}` }),
      files: {
        open: async (uri, { maximumBytes, signal }) => {
          opened.push([uri, maximumBytes, signal]);
          return {} as OpenedFile;
        },
      },
    };
    const run = async (_: string, context: IntegrationContext) => {
      const { gradeObjects: listOf, limits, note } = context;
      const midterm = [{ Id: 1, Name: 'Midterm', GradeType: 'Text' }];
      expect(await listOf(7, () => true)).toEqual(midterm);
      expect(await listOf(7, () => false)).toEqual(midterm);
      nowMs += 5_001;
      expect(await listOf(7, () => false)).toEqual(midterm);
      const { key } = await context.readSecret(safe`users/7`, z.strictObject({ key: z.string() }));
      note(ownText(key));
      await context.mustBeCurrent({ fields: { whole: 'x' }, changedMs: 0 });
      await context.openFile('s3://files/one', limits.fileBytes);
      over.abort();
      expect(opened).toEqual([['s3://files/one', 1, expect.objectContaining({ aborted: true })]]);
    };
    expect(await attempted(recordOf('a'), run, { services })).toEqual({
      ...read,
      calls: [listed, listed],
      outcome: 'done',
      reason: 'that of users/7',
    });
  });

  describe('that writes back what it reads', () => {
    const [older, newer] = [{ time: '2026-03-01T09:00:00Z' }, { time: '2026-03-01T11:00:00Z' }];
    const effect = {
      wanted: ({ say }: Data) => ({ grade: say, comments: say }),
      shown: () => lost(),
    };
    const common = { resource: () => 'try-out/the grade', effect };

    test.each<[string, number | undefined, number, object]>([
      ['it is what was done before', 0, -1_001, { outcome: 'waiting', seconds: 5, deferral: 'stale' }],
      ['it may be newer', 0, -1_000, { outcome: 'done' }],
      [
        'it is older by the platform’s own clock',
        9_000,
        7_999,
        { outcome: 'waiting', seconds: 5, deferral: 'stale' },
      ],
      ['it is newer by our clock, the only known', undefined, 0, { outcome: 'done' }],
    ])('is what follows where %s', async (_, offsetMs, changedMs, outcome) => {
      const services = servicesWith({});
      const fields = () => ['grade', 'comments'];
      await attempted(recordOf('a', older), well, { ...common, services, fields });
      clockOffsetMs = offsetMs;
      story = [];
      const sinceMs = nowMs;
      nowMs += 10 * second;
      const run = (_: string, { mustBeCurrent }: IntegrationContext) =>
        mustBeCurrent({ fields: { comments: 'x' }, changedMs: sinceMs + changedMs });
      const ended = await attempted(recordOf('b', newer), run, {
        ...common,
        services,
        fields: () => ['grade'],
      });
      const isDone = 'outcome' in outcome && outcome.outcome === 'done';
      const reason =
        'The platform still returns the previous value, and sending now would overwrite the last change. The message waits until the platform shows that change';
      expect(ended).toEqual({ ...read, eventId: 'b', ...outcome, ...(isDone ? {} : { reason }) });
      expect(story).toEqual(['run b', 'done the grade']);
    });
  });

  describe('that names files', () => {
    const notice = Object.assign(recordOf('a'), { body: noticeOf({ key: 'events/try-out/a' }) });
    const objects = [{ bucket: 'files', key: 'events/try-out/a', versionId: undefined }];

    test('is what their events are: their reading ends before its time, however long the batch lasts', async () => {
      const asked: unknown[] = [];
      const fanOut: Services['fanOut'] = async (...about) => {
        asked.push(about);
        return safe`3 events`;
      };
      const services = { fanOut };
      const done = { ...unread, outcome: 'done', reason: '3 events' };
      expect(await attempted(notice, well, { services, leftMs: 600 * second })).toEqual(done);
      const sinceMs = nowMs;
      const late = () => {
        nowMs += 5 * second;
        return nowMs;
      };
      expect(
        await attempted(notice, well, { services: { fanOut, nowMs: late }, leftMs: 47 * second }),
      ).toEqual(done);
      // Of an attempt's 40 s, and of the 47 that the batch has left.
      expect(asked).toEqual(
        [30, 37].map((seconds) => [objects, { record: notice, signal, untilMs: sinceMs + seconds * second }]),
      );
    });

    test('is that of their reading where that fails, and a letter where nothing reads them', async () => {
      const down = new MessageFailure('unavailable', safe`down`, { remedy: 'Wait.' });
      const failure = { kind: 'unavailable', message: 'down', remedy: 'Wait.' };
      expect(
        await attempted(notice, well, { services: { fanOut: async () => Promise.reject(down) } }),
      ).toEqual({ ...unread, outcome: 'waiting', seconds: 5, reason: 'down', failure });
      expect(await attempted(notice)).toEqual({
        ...unread,
        outcome: 'parked',
        failure: {
          kind: 'rejected',
          message: 'The message is a notice of S3, not an event',
          remedy: 'Only a function can handle it, from its queue. Replay this letter.',
        },
      });
      expect(observed).toEqual([]);
    });

    test('is not that of any other that is not valid', async () => {
      const fanOut = async () => Promise.reject(new Error('no file was to be read'));
      expect(
        await attempted(Object.assign(recordOf('a'), { body: '[' }), well, { services: { fanOut } }),
      ).toMatchObject({ outcome: 'parked', failure: { kind: 'invalid' } });
    });
  });

  describe('that gives ids of the SIS', () => {
    const named = (name = 'Midterm') =>
      recordOf('a', { data: { say: 'a', orgUnitId: 7, gradeObjectName: name, userName: 'nora' } });
    const looked = { ...read, calls: [listed], ids: { gradeObjectId: 2, userId: 301 } };
    /** What the integration gets, and then meets. */
    const meeting = (refused?: RefusedCall, then = () => {}) => ({
      services: { ledger: refused && servicesWith({}).ledger },
      run: async ({ gradeObjectId, userId }: Data) => {
        story.push(`run with ${gradeObjectId} and ${userId}`);
        nowMs += 1;
        then();
        if (refused)
          throw new PlatformError({
            operation: putThing,
            call: safe`PUT /things`,
            message: safe`no`,
            sent: true,
            refused,
          });
      },
    });
    beforeEach(() => {
      gradeObjects = ['Final', 'Midterm'];
    });

    test('is done to what they stand for, which is looked up by the service itself, in the message’s class', async () => {
      expect(await attempted(named(), well, { ...meeting(), priority: 'urgent', actor: () => '7' })).toEqual({
        ...looked,
        outcome: 'done',
        reason: undefined,
      });
      expect(story).toEqual(['run with 2 and 301']);
      expect(observed).toEqual([listed, ['urgent', 0]]);
      const common = { priority: 'urgent', signal, onCall: expect.any(Function) };
      expect(contexts).toEqual([
        { ...common, actor: undefined, operations: [getGradeObjects] },
        { ...common, actor: '7', operations: [], slot: freeTurn },
      ]);
    });

    test('is that it waits where nobody knows what they stand for, after it was looked up', async () => {
      expect(await attempted(named('Quiz'), well, meeting())).toEqual({
        ...read,
        calls: [listed],
        outcome: 'waiting',
        seconds: 5,
        reason: 'None of the 2 grade objects of org unit 7 has the name in data.gradeObjectName',
        failure: expect.objectContaining({ kind: 'unknown-id', detail: 'gradeObjectName Quiz' }),
      });
      expect(story).toEqual([]);
    });

    const notFound = { status: 404, type: 'not-found', title: 'Not Found' };
    test.each([
      ['', () => servicesWith({}).ledger],
      [', without a ledger, too', () => undefined],
    ])(
      'is that it is sent again where the platform no longer knows what they stood for%s',
      async (_, ledgerOf) => {
        const moved = meeting(notFound, () => {
          gradeObjects = ['Final', 'Quiz', 'Midterm'];
        });
        const message =
          'The platform does not know the id that an id of the SIS stood for: the message is sent again with the current id';
        expect(await attempted(named(), well, { ...moved, services: { ledger: ledgerOf() } })).toEqual({
          ...looked,
          calls: [listed, listed],
          outcome: 'waiting',
          seconds: 5,
          reason: message,
          failure: { kind: 'unknown-id', message, remedy: expect.stringMatching(/^Do nothing at first: /) },
        });
      },
    );

    test.each<[string, RefusedCall, () => void, number]>([
      ['they still stand for that', notFound, () => {}, 2],
      ['it is not known what they stand for now', notFound, () => gradeObjects.splice(0), 2],
      ['something else is refused', { status: 400, type: 'x' }, () => gradeObjects.unshift('Quiz'), 1],
      ['something before the platform', { status: 404, form: 'page' }, () => gradeObjects.unshift('Quiz'), 1],
    ])('is a letter where %s', async (_, refused, then, looks) => {
      const ended = await attempted(named(), well, meeting(refused, then));
      expect(ended).toEqual({
        ...looked,
        calls: Array(looks).fill(listed),
        outcome: 'parked',
        failure: expect.objectContaining({ status: refused.status }),
      });
    });
  });
});
