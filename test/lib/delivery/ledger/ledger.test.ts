import { hash } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { rememberedMessages } from '../../../../lib/delivery/ledger/item.ts';
import type { LedgerMessage } from '../../../../lib/delivery/ledger/judge.ts';
import {
  type AttemptEnding,
  type Ledger,
  type LockedResource,
  TableLedger,
  type Verdict,
} from '../../../../lib/delivery/ledger/ledger.ts';
import { createLedgerTable } from '../../../../lib/delivery/ledger/table.ts';
import { versionOf } from '../../../../lib/message/version.ts';
import { failureOf } from '../../../../lib/platform/client/failure-of.ts';
import { timeouts } from '../../../../lib/runtime/aws/clients.ts';
import { attribute } from '../../../../lib/runtime/aws/dynamodb.ts';
import type { QuickDynamoDb } from '../../../../lib/runtime/aws/dynamodb-quick.ts';
import { waitLimitMs } from '../../../limits.ts';
import { tablesForTests } from '../../../local/aws/for-tests.ts';

const start = Date.UTC(2026, 2, 1);
const second = 1_000;
const hour = 3_600 * second;
const day = 24 * hour;
const lateEffectMs = 60 * second;
/** Of an attempt, its reserve and the grace period. */
const lockMs = 120 * second;

const tables = tablesForTests('ledger');
const { fault, clearFaults } = tables;
let nowMs = start;
let resources = 0;
let resource = '';
/** The calls of DynamoDB that were made. */
let calls: string[] = [];
let warnings: { text: string; facts: Record<string, string | number> }[] = [];

beforeEach(() => {
  nowMs = start;
  resources += 1;
  resource = `try-out/${resources}`;
  calls = [];
  warnings = [];
});

/** Nothing but a fault that is asked for ends a call, however busy the machine is. */
const clientWith = (maxAttempts: number, requestMs = waitLimitMs): QuickDynamoDb =>
  tables.client({ maxAttempts, ...timeouts({ connectionMs: waitLimitMs, requestMs }) }, (action) =>
    calls.push(action),
  );
const client = clientWith(3);

/** The ledger as one container has it. */
const container = (dynamodb = client): Ledger =>
  new TableLedger({
    table: createLedgerTable({ dynamodb, table: 'ledger', nowMs: () => nowMs }),
    lateEffectMs,
    nowMs: () => nowMs,
    warn: (text, facts) => warnings.push({ text, facts }),
  });

/** Message N of the SIS, which happened in minute N. */
const message = (minute: number, more: Partial<LedgerMessage> & { id?: string } = {}): LedgerMessage => {
  const { id = `${minute}`, ...entry } = more;
  const time = new Date(start - day + minute * 60 * second).toISOString();
  return {
    resource,
    fields: ['whole'],
    version: versionOf({ id, source: '/sis', time, sequence: undefined }, 'try-out'),
    timeMs: start,
    messageId: `sqs ${id}`,
    replays: 0,
    decidedMs: undefined,
    repeatable: true,
    digests: {},
    ...entry,
  };
};
const nonRepeatable = (more: Partial<LedgerMessage> = {}): LedgerMessage =>
  message(1, { repeatable: false, version: '%2Fsis/1', ...more });
const copy = { messageId: 'sqs copy' };

const take = (ledger: Ledger, entry: LedgerMessage, isolated = false): Promise<Verdict> =>
  ledger.take(entry, { lockMs, isolated });
/** What is to be done, in a word. What was taken is given back. */
const word = async (ledger: Ledger, entry: LedgerMessage, isolated = false): Promise<string> => {
  const verdict = await take(ledger, entry, isolated);
  if (verdict.kind === 'wait') return `${verdict.why} ${verdict.seconds}`;
  if (verdict.kind !== 'send') return verdict.kind;
  await ledger.settle(verdict, { ending: 'undone' });
  return verdict.unresolved ? 'look' : 'send';
};
const taken = async (...given: Parameters<typeof take>): Promise<LockedResource> => {
  const verdict = await take(...given);
  if (verdict.kind !== 'send') throw new Error(`it was to be sent: ${verdict.kind}`);
  return verdict;
};
/** An attempt that comes to this end; without one, its container dies. */
const attempt = async (entry: LedgerMessage, ending?: AttemptEnding, refusal?: string): Promise<void> => {
  const ledger = container();
  const sent = await taken(ledger, entry, true);
  if (ending) expect(await ledger.settle(sent, { ending, refusal })).toBe(true);
};
const pass = (ms: number) => {
  nowMs += ms;
};
const raw = async () =>
  (await client.call('GetItem', { TableName: 'ledger', Key: { resource: { S: resource } } })).Item ?? {};

describe('a message that may be sent twice without harm', () => {
  test.each<[string, AttemptEnding | undefined, number, string[]]>([
    ['is being sent', undefined, 0, ['busy 120', 'busy 120', 'busy 120', 'busy 120']],
    ['was done', 'done', 0, ['superseded', 'duplicate', 'duplicate', 'send']],
    ['had no effect', 'undone', 0, ['send', 'send', 'send', 'send']],
    ['may still act', 'unknown', 0, ['newer 1800', 'send', 'copy 1800', 'busy 60']],
    ['left no outcome', 'unknown', lateEffectMs, ['newer 1800', 'send', 'copy 1800', 'send']],
    ['has killed its function', undefined, lockMs, ['newer 1800', 'isolate', 'copy 1800', 'send']],
  ])('that %s is known to every other container', async (_, ending, ms, expected) => {
    await attempt(message(2), ending);
    pass(ms);
    const others = [message(1), message(2), message(2, copy), message(3)];
    const words: string[] = [];
    for (const other of others) words.push(await word(container(), other));
    expect(words).toEqual(expected);
  });

  test.each(['/sis', `https://sis.example.edu/${'x'.repeat(100)}`])(
    'is known by its id and its source, also as 1.0.0 has written it: %s',
    async (source) => {
      const time = new Date(start - day).toISOString();
      const by = (given: object = {}) =>
        versionOf({ id: '1', source, time, sequence: undefined, ...given }, 'try-out');
      const at = (given: object) => message(0, { version: by(given) });
      await attempt(at({}), 'done');
      const { v_whole: now } = await raw();
      for (const kept of [now, attribute(by())]) {
        await client.call('PutItem', {
          TableName: 'ledger',
          Item: { ...(await raw()), v_whole: kept ?? {} },
        });
        expect(await word(container(), at({}))).toBe('duplicate');
        expect(await word(container(), at({ time: new Date(start).toISOString() }))).toBe('duplicate');
        expect(await word(container(), at({ id: '0' }))).toBe('superseded');
        expect(await word(container(), at({ id: '2' }))).toBe('send');
        expect(await word(container(), at({ source: `${source}/2`, sequence: '1' }))).toBe('send');
      }
    },
  );

  test('is known to 1.0.0 by what is remembered if it was done, and by its whole version if it is open', async () => {
    const [source, time] = [
      `https://sis.example.edu/${'x'.repeat(100)}`,
      new Date(start - day).toISOString(),
    ];
    const version = versionOf({ id: '1', source, time, sequence: undefined }, 'try-out');
    await attempt(message(0, { version }), 'unknown');
    expect((await raw()).v_whole?.S).toBe(version);
    pass(lateEffectMs);
    await attempt(message(0, { version }), 'done');
    const identity = `1\u0001${source}\u0001try-out`;
    const { v_whole: kept, i0: remembered } = await raw();
    expect(remembered?.S).toBe(hash('sha256', identity, 'base64url').slice(0, 8));
    // What 1.0.0 finds no later than the message itself, it sends again.
    expect(kept?.S).toMatch(new RegExp(`^${time.slice(0, -1)}0{6}\u0001\u00011\u0001`));
    expect(kept?.S?.length).toBeLessThan(60);
  });

  test('sets each of its fields: another message may give others', async () => {
    await attempt(message(2, { fields: ['grade', 'comments'] }), 'done');
    await attempt(message(1, { fields: ['privateComments'] }), 'done');
    const all = message(1, { id: 'a', fields: ['grade', 'comments', 'privateComments'] });
    expect(await taken(container(), all)).toMatchObject({ fields: ['privateComments'] });
  });

  test('goes on though its call may still act, and others wait for that call when it is done', async () => {
    await attempt(message(2), 'unknown');
    await attempt(message(2), 'done');
    expect(await word(container(), message(2))).toBe('duplicate');
    expect(await word(container(), message(3))).toBe('busy 60');
    pass(lateEffectMs);
    expect(await word(container(), message(3))).toBe('send');
  });

  test('is a letter after three crashes, which nobody waits for; its replay is a new life', async () => {
    for (let crashes = 1; crashes <= 3; crashes += 1) {
      await attempt(message(1));
      pass(lockMs);
      expect(await word(container(), message(1))).toBe(crashes < 3 ? 'isolate' : 'crashed');
    }
    expect(await word(container(), message(1, copy))).toBe('crashed');
    const replay = message(1, { messageId: 'sqs replay', replays: 1 });
    await attempt(replay);
    pass(lockMs);
    expect(await word(container(), replay)).toBe('isolate');
  });

  test('of a letter is not waited for by a copy, and by no older one after a person has decided', async () => {
    const ledger = container();
    await ledger.settle(await taken(ledger, message(2)), { ending: 'unknown', isParked: true });
    pass(lateEffectMs);
    expect(await word(container(), message(1))).toBe('newer 1800');
    expect(await word(container(), message(2, copy))).toBe('send');
    const decided = { messageId: 'sqs replay', replays: 1, decidedMs: nowMs };
    await attempt(message(1, decided), 'done');
    expect(await word(container(), message(2, { messageId: 'sqs replay', replays: 1 }))).toBe('send');
  });
});

describe('a message that must not be sent twice', () => {
  test.each<[string, AttemptEnding | undefined, number, string[]]>([
    ['is being sent', undefined, 0, ['busy 120', 'copy 1800']],
    ['was done', 'done', 0, ['duplicate', 'duplicate']],
    ['had no effect', 'undone', 0, ['send', 'send']],
    ['may still act', 'unknown', 0, ['busy 60', 'copy 1800']],
    ['left no outcome', 'unknown', lateEffectMs, ['look', 'copy 1800']],
    ['was accepted', 'accepted-unverified', lateEffectMs, ['look', 'copy 1800']],
    ['has killed its function', undefined, lockMs, ['isolate', 'copy 1800']],
  ])('that %s is known to every other container', async (_, ending, ms, expected) => {
    await attempt(nonRepeatable(), ending);
    pass(ms);
    expect(await word(container(), nonRepeatable())).toBe(expected[0]);
    expect(await word(container(), nonRepeatable(copy))).toBe(expected[1]);
  });

  test('is looked for since its first attempt, with what the platform said first', async () => {
    await attempt(nonRepeatable(), 'accepted-unverified', '{"status":500}');
    pass(hour);
    await attempt(nonRepeatable());
    pass(lockMs);
    await attempt(nonRepeatable(), 'undone');
    expect(await taken(container(), nonRepeatable(), true)).toMatchObject({
      unresolved: {
        sinceMs: start,
        acceptedUnverified: true,
        decided: false,
        refusal: '{"status":500}',
      },
    });
  });

  test('beside others of its resource leaves what is known of them', async () => {
    const created = (id: string) => nonRepeatable({ version: `%2Fsis/${id}`, fields: [`created/${id}`] });
    await attempt(created('1'), 'unknown');
    pass(lateEffectMs);
    await attempt(created('2'));
    pass(lockMs);
    expect(await word(container(), created('1'), true)).toBe('look');
    expect(await word(container(), created('2'), true)).toBe('look');
    expect(await word(container(), message(1))).toBe('look 1800');
  });

  test('is begun for 1.0.0 as well: a deployment that goes back does not send it twice', async () => {
    await attempt(nonRepeatable());
    const { v_whole, s_whole, leaseMs } = await raw();
    expect(v_whole).toEqual({ S: '%2Fsis/1' });
    expect(JSON.parse(s_whole?.S ?? '')).toEqual({ messageId: 'sqs 1', claimedMs: start, once: true });
    expect(leaseMs).toEqual({ N: `${start + lockMs}` });
  });
});

describe('a message that comes again with another time', () => {
  test('is a duplicate, and superseded by what was done since', async () => {
    await attempt(message(1), 'done');
    expect(await word(container(), message(9, { id: '1' }))).toBe('duplicate');
    await attempt(message(2), 'done');
    expect(await word(container(), message(9, { id: '1' }))).toBe('superseded');
  });

  test(`is known until ${rememberedMessages} others have come after it`, async () => {
    for (let minute = 1; minute <= rememberedMessages; minute += 1) await attempt(message(minute), 'done');
    expect(await word(container(), message(99, { id: '1' }))).toBe('superseded');
    await attempt(message(rememberedMessages + 1), 'done');
    expect(await word(container(), message(99, { id: '1' }))).toBe('send');
  });

  test('is known of each subresource by itself', async () => {
    const of = (object: number) => ({ fields: [`object/${object}/Name`] });
    await attempt(message(1, of(5001)), 'done');
    await attempt(message(2, of(5001)), 'done');
    expect(await word(container(), message(9, { id: '1', ...of(5001) }))).toBe('superseded');
    expect(await word(container(), message(9, { id: '1', ...of(5002) }))).toBe('send');
  });

  test('is not known after a person has put an older one over a newer one', async () => {
    await attempt(message(2), 'unknown');
    pass(lateEffectMs);
    await attempt(message(3), 'unknown');
    pass(lateEffectMs);
    await attempt(message(1, { messageId: 'sqs replay', replays: 1, decidedMs: nowMs }), 'done');
    expect(await word(container(), message(9, { id: '2' }))).toBe('send');
  });
});

describe('a message older than the ledger remembers', () => {
  const old = { timeMs: start - 35 * day };

  test('is sent only if a person has looked, or if its resource is known', async () => {
    expect(await word(container(), message(1, old))).toBe('outdated');
    expect(await word(container(), message(1, { ...old, replays: 1, decidedMs: nowMs }))).toBe('send');
    await attempt(message(2), 'done');
    expect(await word(container(), message(1, old))).toBe('superseded');
    expect(await word(container(), message(3, old))).toBe('send');
  });
});

test('what is older than 35 days is forgotten, field by field', async () => {
  await attempt(message(1, { fields: ['created/1'] }), 'done');
  pass(34 * day);
  await attempt(message(2, { fields: ['created/2'], timeMs: nowMs }), 'done');
  pass(2 * day);
  await attempt(message(3, { fields: ['created/3'], timeMs: nowMs }), 'done');
  expect(Object.keys(await raw()).filter((name) => name.startsWith('v_'))).toEqual([
    'v_created/2',
    'v_created/3',
  ]);
  pass(36 * day);
  expect(await word(container(), message(2, { fields: ['created/3'], timeMs: nowMs }))).toBe('send');
});

describe('an item of 1.0.0', () => {
  const put = (state: object, more: Record<string, string | number> = {}) => {
    const written = { messageId: 'sqs 2', claimedMs: start, ...state };
    const values = {
      resource,
      claimId: 'ten letters',
      leaseMs: 0,
      graceEndsMs: 0,
      last: 'whole',
      v_whole: message(2).version,
      s_whole: JSON.stringify(written),
      expires: start / 1000 + 35 * 24 * 3_600,
      ...more,
    };
    const Item = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, attribute(value)]));
    return client.call('PutItem', { TableName: 'ledger', Item });
  };

  test.each<[string, object, number, string[]]>([
    ['that was done', { outcome: 'done' }, 0, ['superseded', 'duplicate', 'send']],
    ['without an ending, within an hour', {}, hour - 1, ['newer 1800', 'copy 1800', 'send']],
    ['without an ending, after an hour', {}, hour, ['superseded', 'duplicate', 'send']],
    ['whose outcome is unknown', { outcome: 'unknown' }, day, ['newer 1800', 'copy 1800', 'send']],
    ['that had no effect', { outcome: 'undone' }, 0, ['send', 'send', 'send']],
    ['that must not be sent twice', { once: true }, day, ['newer 1800', 'copy 1800', 'look 1800']],
  ])('holds a claim %s', async (_, state, ms, expected) => {
    await put(state);
    pass(ms);
    const others = [message(1), message(2, copy), message(3)];
    const words: string[] = [];
    for (const other of others) words.push(await word(container(), other));
    expect(words).toEqual(expected);
  });

  test('whose claim may be running is waited for', async () => {
    await put({}, { leaseMs: start + 50 * second, graceEndsMs: start + 110 * second });
    expect(await word(container(), message(3))).toBe('busy 110');
  });

  test('has a claim over a lock that was left behind: the lock counts no more', async () => {
    await attempt(message(1));
    const { lock } = await raw();
    await put({ outcome: 'done' }, { lock: lock?.S ?? '' });
    pass(lockMs);
    expect(await word(container(), message(1))).toBe('superseded');
    await attempt(message(3), 'done');
    expect(await raw()).not.toHaveProperty('lock');
  });
});

describe('a container whose clock is wrong', () => {
  const wrong = (ms: number): QuickDynamoDb => ({ ...client, clockDiffersByMs: () => ms });

  test('locks nothing, says why, and leaves the message to others', async () => {
    const locked = take(container(wrong(42_000)), message(1));
    await expect(locked).rejects.toThrow(
      'The clock of this function differs from AWS’ clock by 42 s, so the function handles no messages',
    );
    await expect(locked).rejects.toSatisfy((error) => failureOf(error).kind === 'unavailable');
    expect(await word(container(), message(1, copy))).toBe('send');
  });

  test('gives back what it has locked if only the answer to that shows it', async () => {
    let differs = 0;
    const late: QuickDynamoDb = {
      ...client,
      call: (...given) => client.call(...given).finally(() => (differs = 42_000)),
      clockDiffersByMs: () => differs,
    };
    await expect(take(container(late), message(1))).rejects.toThrow('clock');
    expect(await word(container(), message(1, copy))).toBe('send');
  });

  test('by a little locks as others do', async () => {
    expect(await word(container(wrong(9_000)), message(1))).toBe('send');
  });
});

describe('the cost', () => {
  const costs: [string, () => Promise<unknown>, string[]][] = [
    ['a success', () => attempt(message(2), 'done'), ['UpdateItem', 'PutItem']],
    ['a refusal', () => attempt(message(2), 'undone'), ['UpdateItem', 'PutItem']],
    ['an unanswered call', () => attempt(message(2), 'unknown'), ['UpdateItem', 'PutItem']],
    ['what must not be sent twice', () => attempt(nonRepeatable(), 'done'), ['UpdateItem', 'PutItem']],
  ];
  test.each(costs)('of %s is two writes', async (_, act, expected) => {
    await act();
    expect(calls).toEqual(expected);
  });

  test('of what is superseded or a duplicate is two writes, and of what waits one that does not apply', async () => {
    await attempt(message(2), 'done');
    calls = [];
    await word(container(), message(1));
    await word(container(), message(2));
    expect(calls).toEqual(['UpdateItem', 'UpdateItem', 'UpdateItem', 'UpdateItem']);
    await attempt(message(3), 'unknown');
    calls = [];
    await word(container(), message(2, { id: 'b' }));
    expect(calls).toEqual(['UpdateItem']);
  });
});

describe('a ledger that fails', () => {
  test('as it is down lets nothing be sent, and does not hold up the next message about the same resource', async () => {
    const here = container();
    await fault({ status: 500 });
    const both = await Promise.allSettled([take(here, message(1)), take(here, message(2))]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await clearFaults();
    expect(await word(here, message(1))).toBe('send');
  });

  test('as it is silent lets nothing be sent', async () => {
    await fault({ hang: true });
    await expect(take(container(clientWith(3, 100)), message(1))).rejects.toThrow();
    await clearFaults();
    expect(await word(container(), message(1))).toBe('send');
  });

  test('to answer the lock that it has written is asked again, and knows it', async () => {
    const [here, entry] = [container(), nonRepeatable()];
    await attempt(message(0, { fields: ['other'] }), 'done');
    calls = [];
    await fault({ action: 'UpdateItem', reset: 'after', times: 1 });
    const sent = await taken(here, entry);
    expect(calls).toEqual(['UpdateItem']);
    await here.settle(sent, { ending: 'undone' });
    expect(await word(container(), entry)).toBe('send');
  });

  test('to answer the lock each time gives it back: it is no death', async () => {
    await fault({ action: 'UpdateItem', reset: 'after', times: 1 });
    await expect(take(container(clientWith(1)), nonRepeatable())).rejects.toThrow();
    expect(await word(container(), nonRepeatable())).toBe('send');
  });

  test('to answer a lock over what is open each time gives it back to that', async () => {
    await attempt(message(1), 'unknown');
    pass(lateEffectMs);
    const before = await raw();
    await fault({ action: 'PutItem', reset: 'after', times: 1 });
    await expect(take(container(clientWith(1)), message(2))).rejects.toThrow();
    expect(await raw()).toEqual({ ...before, claimId: expect.anything(), expires: expect.anything() });
  });

  test('to give a lock back says so, and the lock ends by itself', async () => {
    await fault({ action: 'UpdateItem', reset: 'after', times: 1 });
    await fault({ action: 'UpdateItem', status: 500, times: 1 });
    await expect(take(container(clientWith(1)), message(1))).rejects.toThrow();
    expect(warnings).toMatchObject([
      { text: 'a lock of the ledger could not be given back: it ends by itself' },
    ]);
    expect(await word(container(), message(1))).toBe('busy 120');
    pass(lockMs);
    expect(await word(container(), message(1), true)).toBe('send');
  });

  test('to write an outcome says so: the message stays on its queue', async () => {
    const here = container();
    const sent = await taken(here, nonRepeatable());
    await fault({ status: 500 });
    expect(await here.settle(sent, { ending: 'done' })).toBe(false);
    await clearFaults();
    expect(warnings).toEqual([
      {
        text: 'the outcome of a message could not be written: it stays on its queue',
        facts: { error: 'InternalServiceError' },
      },
    ]);
    expect(await word(here, nonRepeatable())).toBe('busy 120');
    pass(lockMs);
    expect(await word(here, nonRepeatable(), true)).toBe('look');
  });

  test('to write an outcome before the lock has run out writes none after it', async () => {
    const [here, elsewhere] = [container(), container()];
    const late = await taken(here, message(1));
    pass(lockMs);
    await elsewhere.settle(await taken(elsewhere, message(2)), { ending: 'done' });
    expect(await here.settle(late, { ending: 'done' })).toBe(false);
    expect(await word(here, message(1))).toBe('superseded');
  });
});

test('messages about the same resource in one container take turns', async () => {
  const here = container();
  const first = await taken(here, message(1));
  const order: string[] = [];
  const second = word(here, message(2)).then((result) => order.push(result));
  const other = await word(here, message(2, { resource: `${resource}/other` }));
  order.push('first');
  await here.settle(first, { ending: 'done' });
  await second;
  expect([other, ...order]).toEqual(['send', 'first', 'send']);
});
