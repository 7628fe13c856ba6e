import type { Context, SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { DeadLetter } from '../../lib/dead-letter.ts';
import { MessageFailure } from '../../lib/failure.ts';
import { handlerOf } from '../../lib/handler.ts';
import type { Integration, World } from '../../lib/integration.ts';
import { createLedger } from '../../lib/ledger.ts';
import type { Item, LedgerTable } from '../../lib/ledger-table.ts';
import type { MessageReport } from '../../lib/observe.ts';
import type { Services } from '../../lib/services.ts';
import { createTableModel } from '../history/table.ts';

type Data = { say: string };
const second = 1_000;

let nowMs: number;
let model: ReturnType<typeof createTableModel>;
/** What happened, in its order. */
let story: string[];
let reports: MessageReport[];
let letters: DeadLetter[];
let delays: { messageId: string; seconds: number }[];
let things: string[];

beforeEach(() => {
  nowMs = Date.UTC(2026, 2, 1, 12);
  model = createTableModel(() => nowMs);
  [story, reports, letters, delays, things] = [[], [], [], [], []];
});

const table = (more: Partial<LedgerTable> = {}): LedgerTable => ({
  claim: async (thing, item) => {
    things.push(thing);
    return model.claim(thing, item);
  },
  replace: async (thing, change) => {
    story.push(`${change.next.outcome} ${thing.split('#')[1]}`);
    return model.replace(thing, change);
  },
  ...more,
});

const integrationOf = (
  run: (say: string, world: World) => Promise<unknown>,
  more: Partial<Integration<Data>>,
) => ({
  name: 'try-out',
  data: z.strictObject({ say: z.string() }),
  key: ({ say }: Data) => say,
  operations: [],
  repeatable: true,
  run: ({ say }: Data, world: World) => {
    story.push(`run ${say}`);
    return run(say, world);
  },
  ...more,
});

const well = async () => {};
/** One container of a function. */
const container = (
  run: (say: string, world: World) => Promise<unknown> = well,
  {
    table: its = table(),
    seconds = 60,
    ...more
  }: Partial<Integration<Data>> & { table?: LedgerTable; seconds?: number } = {},
) => {
  const nothing = () => {};
  const services = {
    platform: { for: () => ({}), close: async () => {} },
    files: { open: async () => Promise.reject(new Error('no file was to be opened')) },
    queues: {
      park: async (letter: DeadLetter) => void letters.push(letter),
      delay: async (some: typeof delays) => void delays.push(...some),
    },
    ledger: createLedger({ table: its, settlingMs: 60 * second, warn: nothing, nowMs: () => nowMs }),
    observe: {
      message: (report: MessageReport) => void reports.push(report),
      warn: nothing,
      error: nothing,
      flush: nothing,
    },
    limits: {
      backoff: { minimumSeconds: 5, maximumSeconds: 5 },
      attemptTimeoutMs: 40 * second,
      reserveMs: 5 * second,
      longestWaitMs: 24 * 3_600 * second,
      fileBytes: 1,
      profileImageBytes: 1,
    },
    nowMs: () => nowMs,
  } as unknown as Services;
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

const never = () => new Promise<never>(() => {});
/** Has a container begin, and never come back. */
const die = async (records: SQSRecord[], more: Partial<Integration<Data>> = {}) => {
  void container(never, more)(...records);
  await new Promise(setImmediate);
  nowMs += 120 * second;
  story = [];
};
const outcomes = () => reports.map(({ outcome, kind }) => (kind ? `${outcome} ${kind}` : outcome));

describe('a message on which the function died', () => {
  test('is sent again when all others of its batch are written down as done, and each before the next', async () => {
    await die([recordOf('b'), recordOf('d')]);
    await container()(recordOf('a'), recordOf('b'), recordOf('c'), recordOf('d'));
    expect(story).toEqual([
      ...['run a', 'run c', 'done a', 'done c'],
      ...['claimed b', 'run b', 'done b', 'claimed d', 'run d', 'done d'],
    ]);
    expect(outcomes()).toEqual(['done', 'done', 'done', 'done']);
  });

  test('is parked as crashed after the third time, and its batch’s others go on', async () => {
    for (let times = 0; times < 3; times += 1) await die([recordOf('a')]);
    const response = await container()(recordOf('a'), recordOf('b'));
    expect(response).toEqual({ batchItemFailures: [] });
    expect(outcomes().sort()).toEqual(['done', 'parked crashed']);
    expect(story).toEqual(['run b']);
    expect(letters.map(({ failure }) => failure?.message)).toEqual([
      'The function died three times while it handled this message',
    ]);
  });
});

describe('a message that the ledger holds back', () => {
  test('waits without a failure until the lease of another attempt is over', async () => {
    void container(never)(recordOf('a'));
    await new Promise(setImmediate);
    story = [];
    const response = await container()(recordOf('a'));
    expect(response.batchItemFailures).toHaveLength(1);
    expect(delays.map(({ seconds }) => seconds)).toEqual([60]);
    expect(outcomes()).toEqual(['waiting']);
    expect(reports[0]?.reason).toContain('another attempt on the same thing');
    expect(story).toEqual([]);
  });

  test('waits as unavailable while the ledger does not answer, is not sent, and is parked after a day', async () => {
    const down = () => Promise.reject(Object.assign(new Error('no'), { $metadata: {} }));
    const handle = container(well, { table: { claim: down, replace: down } });
    const record = recordOf('a');
    await handle(record);
    nowMs += 24 * 3_600 * second;
    await handle(record);
    expect(outcomes()).toEqual(['waiting unavailable', 'parked unavailable']);
    expect(story).toEqual([]);
  });

  test('is released where the ledger took so long that the rest of the time is too short', async () => {
    const slow = table({
      claim: async (thing, item) => {
        nowMs += 16 * second;
        return model.claim(thing, item);
      },
    });
    await container(well, { table: slow })(recordOf('a'));
    expect(story).toEqual(['undone a']);
    expect(delays.map(({ seconds }) => seconds)).toEqual([1]);
    await container()(recordOf('a'));
    expect(outcomes()).toEqual(['waiting', 'done']);
  });
});

describe('a message whose turn does not come', () => {
  const received = (times: number, agedHours: number) =>
    Object.assign(recordOf('a'), {
      attributes: {
        SentTimestamp: `${nowMs - agedHours * 3_600 * second}`,
        ApproximateReceiveCount: `${times}`,
      },
    });
  /** A function that has less time than an attempt may take. */
  const tooShort = container(well, { seconds: 44 });

  test('soon waits longer each time, so that no day of waiting ends in its queue’s receive count', async () => {
    await tooShort(received(20, 0));
    await tooShort(received(21, 0));
    expect(delays.map(({ seconds }) => seconds)).toEqual([1, 5]);
    expect(outcomes()).toEqual(['waiting', 'waiting']);
  });

  test('is parked after a day, before its queue forgets it, and says why', async () => {
    await tooShort(received(21, 24));
    expect(outcomes()).toEqual(['parked unavailable']);
    expect(letters[0]?.failure).toMatchObject({
      message: 'Too little time was left in this invocation: the next one takes it',
      remedy: 'It waited for 24 h. When its cause is gone, replay this letter.',
    });
  });

  test('still waits if it is only old, as after a pause of its function', async () => {
    await tooShort(received(1, 48));
    expect(outcomes()).toEqual(['waiting']);
    expect(story).toEqual([]);
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

  test.each([
    ['is done', 'found' as const, 'done', [look, 'done a']],
    ['is sent', 'absent' as const, 'done', [look, 'run a', 'done a']],
    ['is for a person to decide', 'unclear' as const, 'parked uncertain', [look, 'claimed a']],
    ['waits', new MessageFailure('unavailable', 'down'), 'waiting unavailable', [look, 'claimed a']],
    [
      'is for a person to decide as well',
      new MessageFailure('missing-permission', 'may not read'),
      'parked uncertain',
      [look, 'claimed a'],
    ],
  ])('%s, where to look for it ends with %s', async (_, found, outcome, happened) => {
    await die([recordOf('a')], { repeatable: false });
    await container(well, looking(found))(recordOf('a'));
    expect(outcomes()).toEqual([outcome]);
    expect(story).toEqual(['claimed a', ...happened]);
  });

  test('tells in its letter what to look for, and is sent when that letter is replayed', async () => {
    await die([recordOf('a')], { repeatable: false });
    const handle = container(well, looking('unclear'));
    await handle(recordOf('a'));
    expect(letters[0]?.failure?.remedy).toBe(
      'Look for a thing since 2026-03-01T12:00:00.000Z. Replay only if there is none, else discard this letter.',
    );
    story = [];
    await handle(recordOf('a', { replays: 1, kind: 'unavailable' }));
    expect(story).not.toContain('run a');
    await handle(recordOf('a', { replays: 1, kind: 'uncertain' }));
    expect(story).toContain('run a');
    expect(outcomes()).toEqual(['parked uncertain', 'parked uncertain', 'done']);
  });

  test('is parked at once where its integration cannot look', async () => {
    await die([recordOf('a')], { repeatable: false });
    await container(well, { repeatable: false })(recordOf('a'));
    expect(outcomes()).toEqual(['parked uncertain']);
  });
});

describe('a letter that is three days old', () => {
  test('is superseded when it is replayed after a newer message, which stays', async () => {
    const refusals = new Set(['old']);
    const run = async (say: string) => {
      if (refusals.has(say)) throw new MessageFailure('rejected', 'not now');
    };
    const handle = container(run, { key: () => 'the grade' });
    const old = { time: '2026-03-01T09:00:00Z' };
    await handle(recordOf('old', old));
    await handle(recordOf('new'));
    refusals.clear();
    nowMs += 3 * 24 * 3_600 * second;
    await container(run, { key: () => 'the grade' })(
      recordOf('old', { ...old, replays: 1, kind: 'rejected' }),
    );
    expect(outcomes()).toEqual(['parked rejected', 'done', 'superseded']);
    expect(story.filter((each) => each.startsWith('run'))).toEqual(['run old', 'run new']);
  });
});

describe('the key of a thing', () => {
  test('fits DynamoDB’s 2,048 bytes however long it is, and stays apart from every other', async () => {
    const keys = [
      'x'.repeat(512),
      'é'.repeat(512),
      '한'.repeat(512),
      'x'.repeat(5_000),
      `${'x'.repeat(5_000)}y`,
    ];
    await container(well, { name: 'try-out' })(...keys.map((say, at) => recordOf(say, { id: `${at}` })));
    expect(new Set(things).size).toBe(keys.length);
    for (const thing of things) expect(Buffer.byteLength(thing)).toBeLessThanOrEqual(2_048);
  });

  test('is the message itself where it must not be sent twice, whatever else is the same', async () => {
    const items: Item[] = [];
    const watched = table({
      claim: async (thing, item) => {
        items.push(item);
        return table().claim(thing, item);
      },
    });
    const key: Integration<Data>['key'] = (_, { source, id }) => `${source} ${id}`;
    const handle = container(well, { repeatable: false, key, table: watched });
    await handle(recordOf('a'), recordOf('a', { time: '2026-02-01T10:00:00Z' }), recordOf('a', { id: 'b' }));
    expect(outcomes()).toEqual(['done', 'done', 'duplicate']);
    expect(new Set(items.map(({ version }) => version))).toEqual(new Set(['/sis a', '/sis b']));
  });
});
