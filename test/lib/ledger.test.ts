import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLedger, type Ending, type Entry, type Ledger, type Verdict } from '../../lib/ledger.ts';
import { createLedgerTable } from '../../lib/ledger-table.ts';
import { versionOf } from '../../lib/message.ts';
import { localClient } from '../local/aws.ts';
import { startLedgerTable } from '../local/ledger-table.ts';

const start = Date.UTC(2026, 2, 1);
const second = 1_000;
const timeoutMs = 60 * second;
const settlingMs = 60 * second;

let server: Awaited<ReturnType<typeof startLedgerTable>>;
let client: DynamoDBClient;
let nowMs = start;
let things = 0;
let thing = '';
/** The calls of DynamoDB that were made. */
let calls: string[] = [];
let warnings: string[] = [];

beforeAll(async () => {
  server = await startLedgerTable('ledger');
  client = clientWith(3);
});
beforeEach(() => {
  nowMs = start;
  things += 1;
  thing = `grade-push#${things}`;
  calls = [];
  warnings = [];
});
afterAll(async () => {
  client.destroy();
  await server.close();
});

const clientWith = (maxAttempts: number): DynamoDBClient => {
  const made = new DynamoDBClient({
    ...localClient(server.url),
    maxAttempts,
    requestHandler: { requestTimeout: 300, throwOnRequestTimeout: true },
  });
  made.middlewareStack.add(
    (next, context) => (args) => {
      calls.push(String(context.commandName).replace('Command', ''));
      return next(args);
    },
    { step: 'initialize' },
  );
  return made;
};

/** The ledger as one container has it. */
const container = (dynamodb = client): Ledger => {
  const table = createLedgerTable({ dynamodb: async () => dynamodb, table: 'ledger', nowMs: () => nowMs });
  return createLedger({ table, settlingMs, nowMs: () => nowMs, warn: (text) => warnings.push(text) });
};

const fault = async (given: object) => {
  const answer = await fetch(`${server.url}/_local/faults`, { method: 'POST', body: JSON.stringify(given) });
  expect(answer.status).toBe(204);
};
const clearFaults = () => fetch(`${server.url}/_local/faults`, { method: 'DELETE' });

const messageAt = (version: string, more: Partial<Entry> = {}): Entry => ({
  thing,
  version,
  messageId: `sqs ${version}`,
  replays: 0,
  decidedMs: undefined,
  repeatable: true,
  ...more,
});
const repeatable = messageAt;
const once = (more: Partial<Entry> = {}): Entry =>
  messageAt('1', { messageId: 'sqs', repeatable: false, ...more });

const claim = (ledger: Ledger, entry: Entry, alone = false): Promise<Verdict> =>
  ledger.claim(entry, { untilMs: nowMs + timeoutMs, alone });
/** What is to be done, in a word. */
const told = async (ledger: Ledger, entry: Entry, alone = false): Promise<string> => {
  const verdict = await claim(ledger, entry, alone);
  if (verdict.kind === 'wait') return `wait ${verdict.seconds}`;
  return verdict.kind === 'send' && verdict.doubt ? 'look' : verdict.kind;
};
/** An attempt that comes to this end; without one, its container dies. */
const attempt = async (ledger: Ledger, entry: Entry, ending?: Ending): Promise<void> => {
  const verdict = await claim(ledger, entry, true);
  if (verdict.kind !== 'send') throw new Error(`it was to be sent: ${verdict.kind}`);
  if (ending) await ledger.end(verdict.claim, ending);
};
const pass = (ms: number) => {
  nowMs += ms;
};
const lease = timeoutMs;
const settled = timeoutMs + settlingMs;

describe('a message that must not be sent twice, beside others about the same thing', () => {
  // Which of the two sorts first must not matter: they have no order.
  describe.each(['1', '3'])('the other one being %s', (version) => {
    const other = () => messageAt(version, { repeatable: false });
    const message = () => messageAt('2', { repeatable: false });

    test.each<[string, Ending | undefined, string]>([
      ['is at work', undefined, 'wait 120'],
      ['was done', 'done', 'send'],
      ['was undone', 'undone', 'send'],
      ['may have acted, or may yet', 'unknown', 'wait 60'],
    ])('that %s', async (_, ending, expected) => {
      await attempt(container(), other(), ending);
      expect(await told(container(), message())).toBe(expected);
    });

    test('is still a duplicate of itself, until the other one was done after it', async () => {
      const here = container();
      await attempt(here, message(), 'done');
      expect(await told(here, message())).toBe('duplicate');
      expect(await told(container(), message())).toBe('duplicate');
      await attempt(container(), other(), 'done');
      expect(await told(container(), message())).toBe('send');
    });
  });
});

describe('a message that may be sent twice without harm', () => {
  const [older, message, newer] = ['1', '2', '3'].map((version) => () => repeatable(version));
  type Row = [string, (there: Ledger) => Promise<unknown>, string];

  test.each<Row>([
    ['nothing is known', async () => {}, 'send'],
    ['an older one is at work', (there) => attempt(there, older!()), 'wait 120'],
    ['an older one was done elsewhere just now', (there) => attempt(there, older!(), 'done'), 'wait 120'],
    ['an older one was undone', (there) => attempt(there, older!(), 'undone'), 'send'],
    ['an older one may still act', (there) => attempt(there, older!(), 'unknown'), 'wait 60'],
    ['a newer one is at work', (there) => attempt(there, newer!()), 'superseded'],
    ['a newer one was done', (there) => attempt(there, newer!(), 'done'), 'superseded'],
    ['a newer one may have acted', (there) => attempt(there, newer!(), 'unknown'), 'superseded'],
    ['a newer one was refused', (there) => attempt(there, newer!(), 'undone'), 'send'],
    ['it is at work itself', (there) => attempt(there, message!()), 'wait 60'],
    ['it was undone', (there) => attempt(there, message!(), 'undone'), 'send'],
    ['it may have acted, or may yet', (there) => attempt(there, message!(), 'unknown'), 'send'],
  ])('where %s', async (_, prepare, expected) => {
    await prepare(container());
    expect(await told(container(), message!())).toBe(expected);
  });

  test.each<Row>([
    ['an older one', (there) => attempt(there, older!()), 'send'],
    ['a newer one', (there) => attempt(there, newer!()), 'superseded'],
    ['its own, and comes again', (there) => attempt(there, message!()), 'alone'],
    [
      'its own, under another id of SQS',
      (there) => attempt(there, repeatable('2', { messageId: 'copy' })),
      'send',
    ],
  ])('where the lease is over of %s', async (_, prepare, expected) => {
    await prepare(container());
    pass(settled);
    expect(await told(container(), message!())).toBe(expected);
  });

  test('is a duplicate in the container that did it, and in every other once that is written down', async () => {
    const [here, elsewhere] = [container(), container()];
    const verdict = await claim(here, message!());
    if (verdict.kind !== 'send') throw new Error(verdict.kind);
    await here.end(verdict.claim, 'done');
    expect(await told(here, message!())).toBe('duplicate');
    expect(await told(elsewhere, message!())).toBe('wait 60');
    await here.confirm([verdict.claim]);
    expect(await told(elsewhere, message!())).toBe('duplicate');
  });

  test('gives way at once to a newer one in the container that did it', async () => {
    const here = container();
    await attempt(here, older!(), 'done');
    await attempt(here, message!(), 'done');
    expect(await told(here, newer!())).toBe('send');
  });

  test('holds a newer one up for as long as an earlier attempt may still act, whatever the later one did', async () => {
    const here = container();
    await attempt(here, older!(), 'unknown');
    pass(10 * second);
    await attempt(here, older!(), 'done');
    expect(await told(here, message!())).toBe('wait 50');
    pass(50 * second);
    expect(await told(here, message!())).toBe('send');
  });

  test('that is undone leaves everything as it was before', async () => {
    const here = container();
    await attempt(here, older!(), 'unknown');
    pass(settled);
    await attempt(container(), newer!(), 'undone');
    // The older one is in doubt again, and not forgotten.
    expect(await told(container(), repeatable('0'))).toBe('superseded');
    await attempt(container(), message!(), 'undone');
    expect(await told(container(), older!())).toBe('send');
  });

  test('is crashed when the function died on it three times, and begins anew when it is replayed', async () => {
    for (const alone of [false, true, true]) {
      expect(await told(container(), message!(), alone)).toBe('send');
      pass(lease);
    }
    expect(await told(container(), message!(), true)).toBe('crashed');
    const replay = repeatable('2', { messageId: 'replay', replays: 1 });
    expect(await told(container(), replay)).toBe('send');
    pass(lease);
    expect(await told(container(), replay)).toBe('alone');
    // What is left of its first life does not bring those deaths back, nor end the second one.
    expect(await told(container(), message!(), true)).toBe('send');
    pass(lease);
    expect(await told(container(), replay)).toBe('alone');
  });

  test('is crashed all the same when its copies die in turns', async () => {
    const copies = [0, 1].map((copy) => repeatable('2', { messageId: `copy ${copy}` }));
    const verdicts: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      verdicts.push(await told(container(), copies[round % 2]!, true));
      pass(lease);
    }
    expect(verdicts).toEqual(['send', 'send', 'send', 'send', 'crashed', 'crashed']);
  });

  test('is never crashed by being sent again and again: its second success is written down', async () => {
    const verdicts: string[] = [];
    for (let copy = 0; copy < 5; copy += 1) {
      const entry = repeatable('2', { messageId: `copy ${copy}` });
      const here = container();
      const verdict = await claim(here, entry);
      if (verdict.kind === 'send') await here.end(verdict.claim, 'done');
      verdicts.push(verdict.kind);
      pass(settled);
    }
    expect(verdicts).toEqual(['send', 'send', 'duplicate', 'duplicate', 'duplicate']);
  });
});

describe('a message that must not be sent twice', () => {
  type Row = [string, (there: Ledger) => Promise<unknown>, string];

  test.each<Row>([
    ['nothing is known', async () => {}, 'send'],
    ['it is at work', (there) => attempt(there, once()), 'wait 120'],
    ['it was done', (there) => attempt(there, once(), 'done'), 'duplicate'],
    ['it was undone', (there) => attempt(there, once(), 'undone'), 'send'],
    ['it may still act', (there) => attempt(there, once(), 'unknown'), 'wait 60'],
  ])('where %s', async (_, prepare, expected) => {
    await prepare(container());
    expect(await told(container(), once())).toBe(expected);
  });

  test.each<[string, Entry, Ending | undefined, number]>([
    ['the function died on it', once(), undefined, settled],
    ['the function died on another copy of it', once({ messageId: 'copy' }), undefined, settled],
    ['no answer came', once(), 'unknown', settlingMs],
  ])('is looked up when the platform has had its time, where %s', async (_, entry, ending, ms) => {
    await attempt(container(), { ...entry, thing }, ending);
    pass(ms - 1);
    expect(await told(container(), once(), true)).toBe('wait 1');
    pass(1);
    expect(await told(container(), once(), true)).toBe('look');
  });

  test('is looked up since its first attempt of which nothing is known', async () => {
    await attempt(container(), once());
    pass(settled);
    await attempt(container(), once(), 'undone');
    await attempt(container(), once(), 'unknown');
    pass(settled);
    expect(await claim(container(), once())).toMatchObject({ doubt: { sinceMs: start, decided: false } });
  });

  test.each([
    [
      'of a letter that asked to look, after it could be seen',
      { replays: 1, decidedMs: start + settled },
      true,
    ],
    ['of such a letter, before it could be seen', { replays: 1, decidedMs: start + settlingMs - 1 }, false],
    ['of another letter', { replays: 1 }, false],
    ['that was counted before', { replays: 0, decidedMs: start + settled }, false],
  ])('is decided by a replay %s: %o → %s', async (_, replay, decided) => {
    await attempt(container(), once(), 'unknown');
    pass(settled);
    const verdict = await claim(container(), once({ messageId: 'replay', ...replay }));
    expect(verdict).toMatchObject({ kind: 'send', doubt: { decided } });
  });

  test('was taken, where the platform said so: until a person decides, though the function dies while it is looked up', async () => {
    await attempt(container(), once(), 'taken');
    pass(settled);
    expect(await claim(container(), once())).toMatchObject({ doubt: { taken: true } });
    pass(timeoutMs + settled);
    expect(await claim(container(), once({ messageId: 'copy' }))).toMatchObject({ doubt: { taken: true } });
    pass(timeoutMs + settled);
    const replay = once({ messageId: 'replay', replays: 1, decidedMs: nowMs });
    expect(await claim(container(), replay)).toMatchObject({ doubt: { taken: false, decided: true } });
  });
});

describe('the order of messages', () => {
  const at = (time: string, more: { sequence?: string; id?: string; source?: string } = {}) =>
    versionOf({ id: 'a', source: '/sis', sequence: undefined, data: {}, time, ...more });
  const noon = '2026-03-01T12:00:00Z';

  test.each([
    ['time', at(noon), at('2026-03-01T12:00:00.001Z')],
    ['time, whatever its zone', at('2026-03-01T14:00:00+02:00'), at('2026-03-01T12:00:01Z')],
    ['time, to more than a millisecond', at('2026-03-01T12:00:00.0001Z'), at('2026-03-01T12:00:00.0002Z')],
    ['sequence where the times are equal', at(noon, { sequence: '9' }), at(noon, { sequence: '10' })],
    ['having a sequence at all', at(noon, { id: 'b' }), at(noon, { sequence: '1' })],
    ['id where nothing else tells', at(noon, { id: 'a' }), at(noon, { id: 'b' })],
    ['source at last', at(noon, { source: '/a' }), at(noon, { source: '/b' })],
    [
      'clock, even if that of one producer is ahead',
      at(noon),
      at('2026-03-01T12:59:00Z', { source: '/fast' }),
    ],
  ])('is that of %s', async (_, older, newer) => {
    const here = container();
    await attempt(here, repeatable(older), 'done');
    await attempt(here, repeatable(newer), 'done');
    expect(await told(here, repeatable(older))).toBe('superseded');
    pass(settled);
    expect(await told(container(), repeatable(older))).toBe('superseded');
  });

  test('is forgotten after five weeks, longer than any message and its letter live', async () => {
    await attempt(container(), repeatable('2'), 'done');
    pass(35 * 24 * 3_600 * second);
    expect(await told(container(), repeatable('1'))).toBe('superseded');
    pass(2 * second);
    expect(await told(container(), repeatable('1'))).toBe('send');
  });
});

describe('a hot key', () => {
  test.each([
    [100, 4],
    [1_000, 2],
  ])('whose %i versions come in any order to %i containers ends with the newest', async (count, many) => {
    const containers = Array.from({ length: many }, () => container());
    let waiting = Array.from({ length: count }, (_, at) => String((at * 37) % count).padStart(3, '0'));
    const acted: string[] = [];
    let underWay = 0;
    const handle = async (version: string, at: number): Promise<string[]> => {
      const ledger = containers[at % many]!;
      const verdict = await claim(ledger, repeatable(version));
      if (verdict.kind === 'wait') return [version];
      if (verdict.kind !== 'send') return [];
      underWay += 1;
      expect(underWay).toBe(1);
      await new Promise(setImmediate);
      acted.push(version);
      underWay -= 1;
      await ledger.end(verdict.claim, 'done');
      return [];
    };
    for (let rounds = 0; waiting.length > 0; rounds += 1) {
      expect(rounds).toBeLessThan(50);
      waiting = (await Promise.all(waiting.map(handle))).flat();
      pass(settled);
    }
    expect(acted).toEqual([...acted].sort());
    expect(acted.at(-1)).toBe(`${count - 1}`.padStart(3, '0'));
    expect(await told(container(), repeatable('098'))).toBe('superseded');
  });
});

describe('the cost', () => {
  const costs: [string, (here: Ledger) => Promise<unknown>, string[]][] = [
    ['a repeatable success', (here) => attempt(here, repeatable('1'), 'done'), ['UpdateItem']],
    ['a refusal', (here) => attempt(here, repeatable('1'), 'undone'), ['UpdateItem', 'UpdateItem']],
    ['an unanswered call', (here) => attempt(here, repeatable('1'), 'unknown'), ['UpdateItem', 'UpdateItem']],
    [
      'a success that must not be repeated',
      (here) => attempt(here, once(), 'done'),
      ['UpdateItem', 'UpdateItem'],
    ],
    [
      'two versions of one thing and a duplicate, in one container',
      async (here) => {
        await attempt(here, repeatable('1'), 'done');
        await attempt(here, repeatable('2'), 'done');
        await told(here, repeatable('2'));
        await told(here, repeatable('1'));
      },
      ['UpdateItem', 'UpdateItem'],
    ],
  ];
  test.each(costs)('of %s', async (_, act, expected) => {
    await act(container());
    expect(calls).toEqual(expected);
  });

  test('of what comes too late is one write that does not apply, and one read', async () => {
    await attempt(container(), repeatable('2'), 'done');
    calls = [];
    await told(container(), repeatable('1'));
    expect(calls).toEqual(['UpdateItem', 'GetItem']);
  });
});

describe('a ledger that fails', () => {
  test.each([
    ['throttled', { type: 'ProvisionedThroughputExceededException' }],
    ['down', { status: 500 }],
    ['out of reach', { reset: 'before' }],
    ['silent', { hang: true }],
    ['denied', { type: 'AccessDeniedException' }],
  ])('as it is %s lets nothing be sent', async (_, given) => {
    const here = container();
    await fault(given);
    await expect(claim(here, repeatable('1'))).rejects.toThrow();
    await clearFaults();
    expect(await told(here, repeatable('1'))).toBe('send');
  });

  test('for a moment is asked again', async () => {
    await fault({ status: 500, times: 2 });
    expect(await told(container(), repeatable('1'))).toBe('send');
    await fault({ delayMs: 100, times: 1 });
    expect(await told(container(), repeatable('2'))).toBe('wait 120');
  });

  test('to answer a claim that it has written is asked again, and the claim is not taken for another’s', async () => {
    const [here, elsewhere] = [container(), container()];
    await fault({ action: 'UpdateItem', reset: 'after', times: 1 });
    const verdict = await claim(here, repeatable('1'));
    expect(verdict.kind).toBe('send');
    expect(calls).toEqual(['UpdateItem', 'GetItem']);
    expect(await told(elsewhere, repeatable('1'))).toBe('wait 60');
    if (verdict.kind === 'send') await here.end(verdict.claim, 'undone');
    expect(await told(elsewhere, repeatable('1'))).toBe('send');
  });

  test('to answer a claim that it has written, each time, takes it back: it is nobody’s death', async () => {
    const hasty = clientWith(1);
    await fault({ action: 'UpdateItem', reset: 'after', times: 1 });
    await expect(claim(container(hasty), repeatable('1'))).rejects.toThrow();
    expect(await told(container(), repeatable('1'))).toBe('send');
    hasty.destroy();
  });

  test('to take a claim back still knows in this container that it was none', async () => {
    const hasty = clientWith(1);
    const here = container(hasty);
    await fault({ action: 'UpdateItem', reset: 'after', times: 1 });
    await fault({ action: 'UpdateItem', reset: 'before', times: 1 });
    await expect(claim(here, once())).rejects.toThrow();
    expect(await told(container(), once())).toBe('wait 120');
    expect(await told(here, once())).toBe('send');
    hasty.destroy();
  });

  test('to write how a claim ended says so, ends it with its lease, and knows better in this container', async () => {
    const here = container();
    const verdict = await claim(here, once());
    if (verdict.kind !== 'send') throw new Error(verdict.kind);
    await fault({ status: 500 });
    await here.end(verdict.claim, 'done');
    await clearFaults();
    expect(warnings).toEqual(['the ending of a claim could not be written: it ends with its lease']);
    expect(await told(here, once())).toBe('duplicate');
    expect(await told(container(), once())).toBe('wait 120');
    pass(settled);
    expect(await told(container(), once(), true)).toBe('look');
  });

  test('does not hold up the next message about the same thing', async () => {
    const here = container();
    await fault({ status: 500 });
    const both = await Promise.allSettled([claim(here, repeatable('1')), claim(here, repeatable('2'))]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await clearFaults();
  });
});

describe('messages about the same thing in one container', () => {
  test('take turns', async () => {
    const here = container();
    const first = await claim(here, repeatable('1'));
    const order: string[] = [];
    const second = claim(here, repeatable('2')).then((verdict) => {
      order.push('second');
      return verdict;
    });
    const third = claim(here, repeatable('3')).then(() => order.push('third'));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(order).toEqual([]);
    if (first.kind === 'send') await here.end(first.claim, 'done');
    const verdict = await second;
    expect(order).toEqual(['second']);
    if (verdict.kind === 'send') await here.end(verdict.claim, 'unknown');
    await third;
  });
});
