import { beforeEach, describe, expect, test } from 'vitest';
import { rememberedMessages } from '../../../../lib/delivery/ledger/identity.ts';
import {
  createLedger,
  type Ending,
  type Entry,
  type Ledger,
  type Verdict,
} from '../../../../lib/delivery/ledger/ledger.ts';
import { standingIn } from '../../../../lib/delivery/ledger/rules.ts';
import { createLedgerTable, type LedgerTable } from '../../../../lib/delivery/ledger/table.ts';
import { versionOf } from '../../../../lib/message/message.ts';
import { failureOf } from '../../../../lib/platform/client/failure-of.ts';
import { timeouts } from '../../../../lib/runtime/aws/clients.ts';
import type { DynamoDb } from '../../../../lib/runtime/aws/dynamodb.ts';
import { createTableModel } from '../../../history/table.ts';
import { waitLimitMs } from '../../../limits.ts';
import { tablesForTests } from '../../../local/aws/for-tests.ts';

const start = Date.UTC(2026, 2, 1);
const second = 1_000;
const day = 24 * 3_600 * second;
const leaseMs = 60 * second;
const graceMs = 60 * second;
/** A message that its queue has not shown again for so long was done. */
const hiddenMs = 3_600 * second;

const tables = tablesForTests('ledger');
const { fault, clearFaults } = tables;
let nowMs = start;
let resources = 0;
let resource = '';
/** The calls of DynamoDB that were made. */
let calls: string[] = [];
let warnings: { text: string; facts: Record<string, string> }[] = [];

beforeEach(() => {
  nowMs = start;
  resources += 1;
  resource = `try-out/${resources}`;
  calls = [];
  warnings = [];
  open = new Set();
  asked = [];
});

/** Nothing but a fault that is asked for ends a call, however busy the machine is. */
const clientWith = (maxAttempts: number, requestMs = waitLimitMs): DynamoDb =>
  tables.client({ maxAttempts, ...timeouts({ connectionMs: waitLimitMs, requestMs }) }, (action) =>
    calls.push(action),
  );
const client = clientWith(3);

/** The ledger as one container has it. */
const container = (dynamodb = client): Ledger => containerOn(tableBy(dynamodb));
const tableBy = (dynamodb: DynamoDb): LedgerTable =>
  createLedgerTable({ dynamodb, table: 'ledger', nowMs: () => nowMs });
/** SQS’ ids of messages that wait or have become letters, as operators see. */
let open: Set<string>;
/** Which messages the ledger asked about, and since when they may be due. */
let asked: [messages: readonly string[], sinceMs: number][] = [];
const containerOn = (table: LedgerTable): Ledger =>
  createLedger({
    ...{ table, graceMs, hiddenMs },
    openOf: async (messages, sinceMs) => {
      asked.push([messages, sinceMs]);
      return open;
    },
    nowMs: () => nowMs,
    warn: (text, facts) => warnings.push({ text, facts }),
  });

const messageAt = (version: string, more: Partial<Entry> = {}): Entry => ({
  ...{ resource, fields: ['whole'], version, timeMs: nowMs },
  ...{ messageId: `sqs ${version}`, replays: 0, decidedMs: undefined },
  ...{ repeatable: true, digests: {} },
  ...more,
});
const repeatable = messageAt;
const once = (more: Partial<Entry> = {}): Entry =>
  messageAt('1', { messageId: 'sqs', repeatable: false, ...more });

const claim = (ledger: Ledger, entry: Entry, isolated = false): Promise<Verdict> =>
  ledger.claim(entry, { leaseMs, isolated });
/** What is to be done, in a word. */
const told = async (ledger: Ledger, entry: Entry, isolated = false): Promise<string> => {
  const verdict = await claim(ledger, entry, isolated);
  if (verdict.kind === 'wait') return `${verdict.why} ${verdict.seconds}`;
  return verdict.kind === 'send' && verdict.unresolved ? 'look' : verdict.kind;
};
/** A claim of a message that may be sent. */
const toSend = async (...given: Parameters<typeof claim>): Promise<Extract<Verdict, { kind: 'send' }>> => {
  const verdict = await claim(...given);
  if (verdict.kind !== 'send') throw new Error(`it was to be sent: ${verdict.kind}`);
  return verdict;
};
/** An attempt that comes to this end; without one, its container dies. */
const attempt = async (ledger: Ledger, entry: Entry, ending?: Ending, refusal?: string): Promise<void> => {
  const verdict = await toSend(ledger, entry, true);
  if (ending) expect(await ledger.end(verdict.claim, ending, refusal)).toBe(true);
};
const pass = (ms: number) => {
  nowMs += ms;
};
const settled = leaseMs + graceMs;
const raw = async () =>
  (await client.call('GetItem', { TableName: 'ledger', Key: { resource: { S: resource } } })).Item ?? {};

describe('messages that must not be sent twice, and share a resource', () => {
  // As grade objects of one org unit: each message is a field by itself, and which sorts first must not matter.
  const of = (id: string, more: Partial<Entry> = {}) =>
    messageAt(id, { fields: [`created/${id}`], repeatable: false, ...more });

  describe.each(['1', '3'])('the other one being %s', (id) => {
    test.each<[string, Ending | undefined, string]>([
      ['is at work', undefined, 'busy 120'],
      ['was done', 'done', 'send'],
      ['was undone', 'undone', 'send'],
      ['may have acted, or may yet', 'unknown', 'busy 60'],
    ])('that %s', async (_, ending, expected) => {
      await attempt(container(), of(id), ending);
      expect(await told(container(), of('2'))).toBe(expected);
    });

    test('each is a duplicate of itself, in every container, also after the other one was done', async () => {
      const here = container();
      await attempt(here, of('2'), 'done');
      await attempt(here, of(id), 'done');
      for (const ledger of [here, container()])
        for (const each of ['2', id]) {
          expect(await told(ledger, of(each, { messageId: 'again' }))).toBe('duplicate');
          expect(await told(ledger, of(each, { messageId: 'replay', replays: 1, decidedMs: nowMs }))).toBe(
            'duplicate',
          );
        }
    });
  });

  test('are forgotten one by one, five weeks after each: the resource does not grow for ever', async () => {
    await attempt(container(), of('1'), 'done');
    pass(20 * day);
    await attempt(container(), of('2'), 'done');
    pass(15 * day);
    await attempt(container(), of('3'), 'done');
    expect(
      Object.keys(await raw())
        .filter((name) => name.startsWith('v_'))
        .sort(),
    ).toEqual(['v_created/2', 'v_created/3']);
    expect(await told(container(), of('2'))).toBe('duplicate');
  });
});

describe('a message that may be sent twice without harm', () => {
  const [older, message, newer] = ['1', '2', '3'].map((version) => () => repeatable(version));
  type Row = [string, (there: Ledger) => Promise<unknown>, string];

  test.each<Row>([
    ['nothing is known', async () => {}, 'send'],
    ['an older one is at work', (there) => attempt(there, older!()), 'busy 120'],
    ['an older one was done elsewhere just now', (there) => attempt(there, older!(), 'done'), 'busy 120'],
    ['an older one was undone', (there) => attempt(there, older!(), 'undone'), 'send'],
    ['an older one may still act', (there) => attempt(there, older!(), 'unknown'), 'busy 60'],
    ['a newer one is at work', (there) => attempt(there, newer!()), 'newer 3600'],
    [
      'a newer one was done elsewhere, which nothing tells',
      (there) => attempt(there, newer!(), 'done'),
      'newer 3600',
    ],
    ['a newer one may have acted', (there) => attempt(there, newer!(), 'unknown'), 'newer 1800'],
    ['a newer one was refused', (there) => attempt(there, newer!(), 'undone'), 'send'],
    ['it is at work itself', (there) => attempt(there, message!()), 'busy 60'],
    ['it was undone', (there) => attempt(there, message!(), 'undone'), 'send'],
    ['it may have acted, or may yet', (there) => attempt(there, message!(), 'unknown'), 'send'],
  ])('where %s', async (_, prepare, expected) => {
    await prepare(container());
    expect(await told(container(), message!())).toBe(expected);
  });

  test.each<Row>([
    ['an older one', (there) => attempt(there, older!()), 'send'],
    ['a newer one, which has not come back yet', (there) => attempt(there, newer!()), 'newer 3480'],
    ['its own, and comes again', (there) => attempt(there, message!()), 'isolate'],
    [
      'its own, under another id of SQS: that one’s business',
      (there) => attempt(there, repeatable('2', { messageId: 'copy' })),
      'duplicate',
    ],
  ])('where the lease is over of %s', async (_, prepare, expected) => {
    await prepare(container());
    pass(settled);
    expect(await told(container(), message!())).toBe(expected);
  });

  test('is a duplicate in the container that did it, and in every other once that is written down', async () => {
    const [here, elsewhere] = [container(), container()];
    const verdict = await toSend(here, message!());
    await here.end(verdict.claim, 'done');
    expect(await told(here, message!())).toBe('duplicate');
    expect(await told(elsewhere, message!())).toBe('busy 60');
    await here.confirm([verdict.claim]);
    expect(await told(elsewhere, message!())).toBe('duplicate');
  });

  test('is a duplicate everywhere once a replay of it, which died elsewhere, comes back to the container that did it', async () => {
    const here = container();
    await attempt(here, message!(), 'done');
    pass(settled);
    const replay = repeatable('2', { messageId: 'replay', replays: 1 });
    await attempt(container(), replay);
    pass(settled);
    await here.returned(replay);
    expect(await told(here, replay)).toBe('duplicate');
    expect(await told(container(), repeatable('2', { messageId: 'copy' }))).toBe('duplicate');
  });

  test('is the only kind whose end is written down later: every other end is known', async () => {
    const here = container();
    const refused = await toSend(here, once());
    await here.end(refused.claim, 'undone');
    calls = [];
    await here.confirm([refused.claim]);
    expect(calls).toEqual([]);
  });

  test('is a duplicate in every other container after the lease as well, though nothing was written down', async () => {
    await attempt(container(), message!(), 'done');
    expect(calls).toEqual(['UpdateItem']);
    pass(leaseMs);
    const copies = [0, 1, 2].map((at) => repeatable('2', { messageId: `copy ${at}` }));
    for (const each of copies) expect(await told(container(), each)).toBe('duplicate');
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
    expect(await told(here, message!())).toBe('busy 50');
    pass(50 * second);
    expect(await told(here, message!())).toBe('send');
  });

  test('that is undone leaves everything as it was before', async () => {
    const here = container();
    await attempt(here, older!(), 'unknown');
    pass(settled);
    await attempt(container(), newer!(), 'undone');
    // The older one is unresolved again, and not forgotten.
    expect(await told(container(), repeatable('0'))).toBe('newer 1800');
    await attempt(container(), message!(), 'undone');
    expect(await told(container(), older!())).toBe('send');
  });

  test('that is undone is sent again at once in the container that undid it', async () => {
    const here = container();
    await attempt(here, message!(), 'undone');
    expect(await told(here, message!())).toBe('send');
  });

  test('that is undone leaves what was done before it done', async () => {
    const here = container();
    await attempt(here, message!(), 'done');
    await attempt(here, newer!(), 'undone');
    expect(await told(container(), older!())).toBe('superseded');
  });

  test('that is undone after the function died on it is still what it died on', async () => {
    await attempt(container(), message!());
    pass(settled);
    await attempt(container(), message!(), 'undone');
    expect(await told(container(), message!())).toBe('isolate');
  });

  test('is not superseded by a newer one that is refused: it waits until that is known, and is sent', async () => {
    const [here, elsewhere] = [container(), container()];
    const verdict = await toSend(here, newer!());
    expect(await told(elsewhere, message!())).toBe('newer 3600');
    await here.end(verdict.claim, 'undone');
    expect(await told(elsewhere, message!())).toBe('send');
  });

  test('is superseded once a newer one has not come back for as long as its queue hides it, and not a moment before', async () => {
    await attempt(container(), newer!(), 'done');
    pass(hiddenMs - 1);
    expect(await told(container(), message!())).toBe('newer 1');
    pass(1);
    expect(await told(container(), message!())).toBe('superseded');
  });

  test('is not superseded by a newer one that came back, however long ago: that one says so before anything else', async () => {
    await attempt(container(), newer!());
    pass(leaseMs);
    calls = [];
    // It came back in a batch with others, and its container died before its turn came.
    expect(await told(container(), newer!())).toBe('isolate');
    expect(calls).toEqual(['UpdateItem', 'PutItem']);
    pass(10 * hiddenMs);
    expect(await told(container(), message!())).toBe('newer 1800');
    const replay = repeatable('2', { messageId: 'replay', replays: 1, decidedMs: nowMs });
    expect(await told(container(), replay)).toBe('send');
  });

  test('asks nobody while it waits, and then about what is presumed done alone', async () => {
    await attempt(container(), repeatable('1'), 'done');
    pass(settled);
    await attempt(container(), newer!());
    expect(await told(container(), message!())).toBe('newer 3600');
    expect(asked).toEqual([]);
    pass(hiddenMs);
    expect(await told(container(), message!())).toBe('superseded');
    expect(asked).toEqual([[[newer!().messageId], nowMs - hiddenMs]]);
  });

  describe('is not superseded by a newer one that came back while another message', () => {
    const [back, another] = [
      repeatable('3', { fields: ['grade', 'comments'] }),
      repeatable('4', { fields: ['grade'] }),
    ].map((entry) => () => ({ ...entry, resource }));
    const toldOfOlder = () => {
      pass(hiddenMs);
      return told(container(), repeatable('2', { fields: ['comments'] }));
    };

    test('was at work in the same container, and had no effect', async () => {
      await attempt(container(), back!());
      pass(settled);
      const here = container();
      const verdict = await toSend(here, another!());
      const hasDied = here.returned(back!());
      await here.end(verdict.claim, 'undone');
      expect(await hasDied).toBe(true);
      expect(await toldOfOlder()).toBe('newer 1800');
    });

    test('was claimed in another container', async () => {
      await attempt(container(), back!());
      pass(settled);
      const table = tableBy(client);
      let reads = 0;
      const read: LedgerTable['read'] = async (key) => {
        const found = await table.read(key);
        reads += 1;
        if (reads === 1) await attempt(container(), another!(), 'unknown');
        return found;
      };
      await containerOn({ ...table, read }).returned(back!());
      expect(reads).toBe(2);
      expect(await toldOfOlder()).toBe('newer 1800');
    });
  });

  test('is not superseded by a newer one that came back, and whose resource was not known any more', async () => {
    await attempt(container(), newer!());
    open.add(newer!().messageId);
    pass(hiddenMs);
    expect(await told(container(), message!())).toBe('newer 1800');
    // Whoever claims another field does not take it for superseded either.
    const both = repeatable('2', { fields: ['whole', 'comments'] });
    expect(await told(container(), both)).toBe('newer 1800');
    const replay = repeatable('2', { messageId: 'replay', replays: 1, decidedMs: nowMs });
    expect(await told(container(), replay)).toBe('send');
  });

  test('is no duplicate of a copy that became a letter when its resource was not known any more', async () => {
    await attempt(container(), message!());
    pass(hiddenMs);
    const copy = () => ({ ...message!(), messageId: 'copy' });
    expect(await told(container(), copy())).toBe('duplicate');
    open.add(message!().messageId);
    expect(await told(container(), copy())).toBe('send');
  });

  test('is not superseded by a newer one whose first attempt died and whose second was refused', async () => {
    await attempt(container(), newer!());
    pass(settled);
    await attempt(container(), newer!(), 'undone');
    pass(10 * hiddenMs);
    expect(await told(container(), message!())).toBe('newer 1800');
  });

  test('is crashed when the function died on it three times, and begins anew when it is replayed', async () => {
    for (const isolated of [false, true, true]) {
      expect(await told(container(), message!(), isolated)).toBe('send');
      pass(leaseMs);
    }
    expect(await told(container(), message!(), true)).toBe('crashed');
    expect(await told(container(), message!(), true)).toBe('crashed');
    const replay = repeatable('2', { messageId: 'replay', replays: 1 });
    expect(await told(container(), replay)).toBe('send');
    pass(leaseMs);
    expect(await told(container(), replay)).toBe('isolate');
    // What is left of its first life is the replay’s business, while that one may come back.
    expect(await told(container(), message!(), true)).toBe(`copy ${hiddenMs / second}`);
    expect(await told(container(), replay, true)).toBe('send');
    pass(leaseMs);
    expect(await told(container(), replay)).toBe('isolate');
  });

  test('is crashed at its third death also where it never gets to be isolated, and each is counted once', async () => {
    const verdicts: string[] = [];
    for (let receipt = 0; receipt < 6; receipt += 1) {
      verdicts.push(await told(container(), message!()), await told(container(), message!(), receipt > 0));
      pass(leaseMs);
    }
    expect(verdicts.slice(0, 8)).toEqual([
      ...['send', 'busy 60', 'isolate', 'send', 'isolate', 'send', 'crashed', 'crashed'],
    ]);
  });

  test('is sent once, however often it lies on the queue, though its success is not written down', async () => {
    const verdicts: string[] = [];
    for (let copy = 0; copy < 4; copy += 1) {
      const here = container();
      const verdict = await claim(here, repeatable('2', { messageId: `copy ${copy}` }));
      if (verdict.kind === 'send') await here.end(verdict.claim, 'done');
      verdicts.push(verdict.kind);
      pass(settled);
    }
    expect(verdicts).toEqual(['send', 'duplicate', 'duplicate', 'duplicate']);
  });

  test('is sent again as the same SQS message that comes once more, and its second success is written down', async () => {
    const verdicts: string[] = [];
    for (let receipt = 0; receipt < 4; receipt += 1) {
      const here = container();
      const verdict = await claim(here, message!(), true);
      if (verdict.kind === 'send') await here.end(verdict.claim, 'done');
      verdicts.push(verdict.kind);
      pass(settled);
    }
    expect(verdicts).toEqual(['send', 'send', 'duplicate', 'duplicate']);
  });
});

describe('what a message does not give', () => {
  const grade = (version: string, more: Partial<Entry> = {}) =>
    messageAt(version, { fields: ['grade'], ...more });
  const both = (version: string) => messageAt(version, { fields: ['grade', 'comments'] });
  const fieldsSent = async (ledger: Ledger, entry: Entry) => {
    const verdict = await claim(ledger, entry);
    return verdict.kind === 'send' ? verdict.claim.fields : verdict.kind;
  };

  test('it does not supersede: the older one’s comment is sent, without its grade, in any container', async () => {
    const here = container();
    await attempt(here, grade('2'), 'done');
    expect(await fieldsSent(here, both('1'))).toEqual(['comments']);
    pass(hiddenMs);
    await attempt(container(), grade('3'), 'done');
    pass(hiddenMs);
    expect(await fieldsSent(container(), both('2b'))).toEqual(['comments']);
  });

  test('stays known while something else of the resource is claimed, done, refused and written down', async () => {
    await attempt(container(), both('2'), 'undone');
    await attempt(container(), both('2'), 'unknown');
    pass(settled);
    for (const ending of ['undone', 'unknown', 'accepted-unverified', 'done'] as const) {
      await attempt(container(), grade('3'), ending);
      pass(settled);
    }
    pass(hiddenMs);
    expect(await raw()).toMatchObject({ v_comments: { S: '2' }, v_grade: { S: '3' } });
    expect(await fieldsSent(container(), both('2'))).toEqual(['comments']);
  });

  test('is claimed in one write, and both its fields are one message’s', async () => {
    await attempt(container(), both('1'), 'done');
    expect(calls).toEqual(['UpdateItem']);
    pass(settled);
    expect(
      await told(container(), messageAt('1', { fields: ['grade', 'comments'], messageId: 'copy' })),
    ).toBe('duplicate');
  });
});

describe('what was done of a field, and a later claim of it that was not', () => {
  const digested = (version: string) => repeatable(version, { digests: { whole: `digest of ${version}` } });
  /** What stands of the field, as the next claim of the resource is told. */
  const standing = async () => {
    pass(settled);
    const verdict = await claim(container(), messageAt('9', { fields: ['another'] }));
    return verdict.kind === 'send' ? standingIn(verdict.claim.before.fields.whole) : verdict.kind;
  };
  const first = { claimedMs: start, digest: 'digest of 1' };

  test.each<[string, Ending]>([
    ['left no outcome', 'unknown'],
    ['was accepted, and its effect is not shown', 'accepted-unverified'],
    ['had no effect', 'undone'],
  ])('is known after one that %s, and so by every other container', async (_, ending) => {
    await attempt(container(), digested('1'), 'done');
    pass(hiddenMs);
    await attempt(container(), digested('2'), ending);
    expect(await standing()).toEqual(first);
  });

  test('is known however often the same or another message leaves no outcome, or dies', async () => {
    const here = container();
    await attempt(here, digested('1'), 'done');
    await attempt(here, digested('2'), 'unknown');
    for (const [version, ending] of [['2', 'unknown'], ['3', 'unknown'], ['3'], ['3', 'unknown']] as const) {
      pass(settled);
      await attempt(container(), digested(version), ending);
    }
    expect(await standing()).toEqual(first);
  });

  test('is the later claim once that was done', async () => {
    await attempt(container(), digested('1'), 'done');
    pass(settled);
    await attempt(container(), digested('2'), 'unknown');
    pass(second);
    await attempt(container(), digested('2'), 'done');
    const claimedMs = start + settled + second;
    expect(await standing()).toEqual({ claimedMs, digest: 'digest of 2' });
  });

  test('is nothing where nothing was done before, or where its value has no digest', async () => {
    await attempt(container(), digested('1'), 'unknown');
    expect(await standing()).toBeNull();
    resource = `${resource}/2`;
    await attempt(container(), repeatable('1'), 'done');
    pass(settled);
    await attempt(container(), digested('2'), 'unknown');
    expect(await standing()).toBeNull();
  });

  test('is not known where the function died on a claim that replaced it unread', async () => {
    await attempt(container(), digested('1'), 'done');
    pass(settled);
    await attempt(container(), digested('2'));
    pass(leaseMs);
    expect(await told(container(), digested('2'))).toBe('isolate');
    expect(await standing()).toBeUndefined();
  });

  test('is not known where the function died on a claim that replaced one that is presumed done', async () => {
    await attempt(container(), digested('1'), 'done');
    pass(settled);
    await attempt(container(), digested('2'), 'unknown');
    pass(second);
    await attempt(container(), digested('2'), 'done');
    pass(settled);
    await attempt(container(), messageAt('4', { fields: ['grade'] }), 'done');
    pass(hiddenMs);
    const both = { ...digested('3'), fields: ['whole', 'grade'] };
    await attempt(container(), both);
    pass(leaseMs);
    expect(await told(container(), both)).toBe('isolate');
    expect(await standing()).toBeUndefined();
  });
});

describe('a message that must not be sent twice', () => {
  type Row = [string, (there: Ledger) => Promise<unknown>, string];

  test.each<Row>([
    ['nothing is known', async () => {}, 'send'],
    ['it is at work', (there) => attempt(there, once()), 'busy 120'],
    ['it was done', (there) => attempt(there, once(), 'done'), 'duplicate'],
    ['it was undone', (there) => attempt(there, once(), 'undone'), 'send'],
    ['it may still act', (there) => attempt(there, once(), 'unknown'), 'busy 60'],
  ])('where %s', async (_, prepare, expected) => {
    await prepare(container());
    expect(await told(container(), once())).toBe(expected);
  });

  test.each<[string, Ending | undefined, number]>([
    ['the function died on it', undefined, settled],
    ['no answer came', 'unknown', graceMs],
  ])('is looked up when the platform has had its time, where %s', async (_, ending, ms) => {
    await attempt(container(), once(), ending);
    pass(ms - 1);
    expect(await told(container(), once(), true)).toBe('busy 1');
    pass(1);
    expect(await told(container(), once(), true)).toBe('look');
  });

  test.each<[string, Ending | undefined]>([
    ['left no outcome', 'unknown'],
    ['has died', undefined],
  ])(
    'waits for another SQS message of it that %s, and is looked up where that one does not come back',
    async (_, ending) => {
      await attempt(container(), once({ messageId: 'copy' }), ending);
      pass(settled);
      expect(await told(container(), once())).toBe(`copy ${(hiddenMs - settled) / 1000}`);
      pass(hiddenMs - settled);
      expect(await told(container(), once(), true)).toBe('look');
    },
  );

  test('is looked up since its first attempt of which nothing is known, with what the platform said then', async () => {
    await attempt(container(), once(), 'unknown', '{"status":500}');
    pass(settled);
    await attempt(container(), once(), 'undone', '{"status":429}');
    pass(settled);
    const refusal = '{"status":500}';
    const told = { unresolved: { sinceMs: start, acceptedUnverified: false, decided: false, refusal } };
    expect(await claim(container(), once())).toMatchObject(told);
    // No answer comes to the next one.
    pass(settled);
    await attempt(container(), once(), 'unknown');
    pass(settled);
    expect(await claim(container(), once(), true)).toMatchObject(told);
    // The function dies while it is looked up.
    pass(settled);
    expect(await claim(container(), once(), true)).toMatchObject(told);
  });

  test.each([
    [
      'of a letter that asked to look, after it could be seen',
      { replays: 1, decidedMs: start + settled },
      true,
    ],
    ['of such a letter, before it could be seen', { replays: 1, decidedMs: start + graceMs - 1 }, false],
    ['of another letter', { replays: 1 }, false],
  ])('is decided by a replay %s: %o → %s', async (_, replay, decided) => {
    await attempt(container(), once(), 'unknown');
    pass(settled);
    const verdict = await claim(container(), once({ messageId: 'replay', ...replay }));
    expect(verdict).toMatchObject({ kind: 'send', unresolved: { decided } });
  });

  test('is decided by no message that is not replayed, whatever its producer has it say', async () => {
    await attempt(container(), once(), 'unknown');
    pass(settled);
    const verdict = await claim(container(), once({ decidedMs: start + settled }));
    expect(verdict).toMatchObject({ kind: 'send', unresolved: { decided: false } });
  });

  test('was taken, where the platform said so: until a person decides, though the function dies while it is looked up', async () => {
    await attempt(container(), once(), 'accepted-unverified');
    pass(settled);
    expect(await claim(container(), once())).toMatchObject({ unresolved: { acceptedUnverified: true } });
    pass(leaseMs + settled);
    expect(await claim(container(), once(), true)).toMatchObject({
      unresolved: { acceptedUnverified: true },
    });
    pass(leaseMs + settled);
    const replay = once({ messageId: 'replay', replays: 1, decidedMs: nowMs });
    expect(await claim(container(), replay)).toMatchObject({
      unresolved: { acceptedUnverified: false, decided: true },
    });
  });
});

describe('a claim of another container that the platform shows to be done', () => {
  const graded = (version: string, of = version) =>
    messageAt(version, { digests: { whole: `digest of ${of}` } });

  test.each([
    ['2', 'send'],
    ['0', 'superseded'],
  ])('is known for done at once, without a write: message %s is told %s', async (version, expected) => {
    const [here, elsewhere] = [container(), container()];
    await attempt(here, graded('1'), 'done');
    calls = [];
    const verdict = await claim(elsewhere, graded(version));
    if (verdict.kind !== 'wait' || !verdict.rival) throw new Error(verdict.kind);
    expect(verdict.rival).toMatchObject({ claimedMs: start, digests: { whole: 'digest of 1' } });
    expect(calls).toEqual(['UpdateItem']);
    elsewhere.seen(resource, verdict.rival);
    expect(await told(elsewhere, graded(version))).toBe(expected);
    // Of the message that goes on, its claim; of the one that does not, nothing.
    expect(calls.slice(1)).toEqual(expected === 'send' ? ['PutItem'] : []);
    expect(await told(here, graded(version, 'another SQS message’s'))).toMatch(/^(busy|superseded)/);
  });

  test.each([
    ['the same as the one before it', 'digest of 1', 1, undefined],
    ['another value', 'digest of 2', 1, { whole: 'digest of 2' }],
    ['another value, in a second attempt of the same moment', 'digest of 2', 2, undefined],
  ])('tells by what to see that, where it was to set %s', async (_, digest, attempts, expected) => {
    const here = container();
    await attempt(here, graded('1'), 'done');
    // Without a digest, as where the key could not be read.
    for (let before = 1; before < attempts; before += 1) await attempt(here, messageAt('2'), 'unknown');
    await attempt(here, messageAt('2', { digests: { whole: digest } }));
    const verdict = await claim(container(), graded('3'));
    if (verdict.kind !== 'wait') throw new Error(verdict.kind);
    expect(verdict.rival?.digests).toEqual(expected);
  });

  test('is not taken for done where it was another claim by then', async () => {
    const [here, elsewhere] = [container(), container()];
    const first = await claim(here, graded('1'));
    const verdict = await claim(elsewhere, graded('0'));
    if (first.kind !== 'send' || verdict.kind !== 'wait' || !verdict.rival) throw new Error(verdict.kind);
    await here.end(first.claim, 'undone');
    await attempt(container(), graded('2'));
    elsewhere.seen(resource, verdict.rival);
    expect(await told(elsewhere, graded('3'))).toBe('busy 120');
  });
});

describe('a message older than what the ledger remembers', () => {
  const age = (days: number, more: Partial<Entry> = {}) =>
    messageAt('1', { timeMs: nowMs - days * day, ...more });

  test('is not sent: something newer may be forgotten', async () => {
    await attempt(container(), messageAt('2', { timeMs: nowMs - day }), 'done');
    pass(35 * day + second);
    const letter = messageAt('1', { timeMs: start - 2 * day, replays: 1 });
    expect(await told(container(), letter)).toBe('outdated');
    expect(await told(container(), { ...letter, decidedMs: nowMs })).toBe('send');
  });

  test.each<[string, Entry, string]>([
    ['is 34 days and a second old', age(34, { timeMs: start - 34 * day - second }), 'outdated'],
    ['is 34 days old', age(34), 'send'],
    ['is a year old and must not be sent twice', age(365, { repeatable: false }), 'outdated'],
    ['was decided by a person', age(365, { replays: 1, decidedMs: start }), 'send'],
  ])('as it %s', async (_, entry, expected) => {
    expect(await told(container(), { ...entry, resource })).toBe(expected);
  });

  test('leaves nothing on the table', async () => {
    expect(await told(container(), { ...age(365), resource })).toBe('outdated');
    expect(await raw()).toEqual({});
  });

  test('is sent and superseded where something of its field is known, and is outdated where it is of another', async () => {
    await attempt(container(), messageAt('2', { fields: ['grade'] }), 'done');
    pass(hiddenMs);
    const old = (version: string, fields: string[]) =>
      messageAt(version, { fields, timeMs: nowMs - 40 * day });
    expect(await told(container(), old('1', ['grade']))).toBe('superseded');
    expect(await told(container(), old('1', ['grade', 'comments']))).toBe('outdated');
    expect(await told(container(), old('3', ['comments']))).toBe('outdated');
    expect(await told(container(), old('3', ['grade']))).toBe('send');
  });
});

describe('the order of messages', () => {
  const at = (time: string, more: { sequence?: string; id?: string; source?: string } = {}) =>
    versionOf({ id: 'a', source: '/sis', sequence: undefined, data: {}, time, ...more }, 'try-out');
  const noon = '2026-03-01T12:00:00Z';
  /** Of another message, which sorts before all others where only the id tells. */
  const other = (time: string, more: { sequence?: string } = {}) => at(time, { id: '0', ...more });

  test.each([
    ['time', at(noon), other('2026-03-01T12:00:00.001Z')],
    ['time, whatever its zone', at('2026-03-01T14:00:00+02:00'), other('2026-03-01T12:00:01Z')],
    ['time, to more than a millisecond', at('2026-03-01T12:00:00.0001Z'), other('2026-03-01T12:00:00.0002Z')],
    ['sequence where the times are equal', at(noon, { sequence: '9' }), other(noon, { sequence: '10' })],
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
    pass(hiddenMs);
    expect(await told(container(), repeatable(older))).toBe('superseded');
  });

  describe('of a message that comes again with another time', () => {
    const [one, two] = ['2026-03-01T13:00:00Z', '2026-03-01T14:00:00Z'];
    const first = () => repeatable(at(noon));
    const again = (time = two, more: Partial<Entry> = {}) =>
      repeatable(at(time), { messageId: 'again', ...more });

    test.each<[string, (there: Ledger) => Promise<unknown>, Partial<Entry>, string]>([
      ['is a duplicate where it was done', (there) => attempt(there, first(), 'done'), {}, 'duplicate'],
      [
        'is superseded where something newer was done since',
        async (there) => {
          await attempt(there, first(), 'done');
          await attempt(there, repeatable(other(one)), 'done');
        },
        {},
        'superseded',
      ],
      [
        'is superseded where its outcome was unknown before that, also when its letter is replayed',
        async (there) => {
          await attempt(there, first(), 'unknown');
          pass(settled);
          await attempt(there, repeatable(other(one)), 'done');
        },
        { replays: 1 },
        'superseded',
      ],
      [
        'waits where nobody knows whether something newer was done since',
        async (there) => {
          await attempt(there, first(), 'done');
          await attempt(there, repeatable(other(one)), 'unknown');
        },
        {},
        'newer 1800',
      ],
      ['is sent where it was undone', (there) => attempt(there, first(), 'undone'), {}, 'send'],
      [
        'is sent where it was undone and something newer was done since',
        async (there) => {
          await attempt(there, first(), 'undone');
          await attempt(there, repeatable(other(one)), 'done');
        },
        {},
        'send',
      ],
    ])('%s', async (_, prepare, more, expected) => {
      for (const isHere of [true, false]) {
        resource += isHere;
        const here = container();
        await prepare(here);
        pass(hiddenMs);
        expect(await told(isHere ? here : container(), again(two, more))).toBe(expected);
      }
    });

    test('is that of its first one: what is newer than that is sent', async () => {
      await attempt(container(), first(), 'unknown');
      pass(settled);
      await attempt(container(), again(two, { replays: 1 }), 'done');
      pass(settled);
      expect(await told(container(), repeatable(other(one)))).toBe('send');
    });

    test('stays known until so many others have come after it', async () => {
      await attempt(container(), first(), 'done');
      for (let later = 1; later < rememberedMessages; later += 1) {
        pass(settled);
        await attempt(container(), repeatable(at(one, { id: `${later}` })), 'done');
      }
      pass(hiddenMs);
      expect(await told(container(), again())).toBe('superseded');
      await attempt(container(), repeatable(at(one, { id: 'one too many' })), 'done');
      pass(hiddenMs);
      expect(await told(container(), again())).toBe('send');
    });

    test('is of the newest where a person had an older one put over it, and it is replayed all the same', async () => {
      await attempt(container(), again(two), 'unknown');
      pass(settled);
      await attempt(container(), repeatable(other(one), { replays: 1, decidedMs: nowMs }), 'done');
      pass(settled);
      expect(await told(container(), again(two, { replays: 1 }))).toBe('send');
    });

    test('is known of each thing of the resource by itself', async () => {
      const of = (thing: number, version: string) =>
        repeatable(version, { fields: [`object/${thing}/Name`], messageId: 'again' });
      await attempt(container(), of(1, at(noon)), 'done');
      for (let later = 0; later < rememberedMessages; later += 1) {
        pass(settled);
        await attempt(container(), of(2, at(one, { id: `${later}` })), 'done');
      }
      pass(settled);
      await attempt(container(), of(1, other(one)), 'done');
      pass(hiddenMs);
      expect(await told(container(), of(1, at(two)))).toBe('superseded');
      expect(await told(container(), of(3, at(two)))).toBe('send');
    });
  });

  test('is forgotten after five weeks, longer than any message and its letter live', async () => {
    await attempt(container(), repeatable('2'), 'done');
    pass(35 * day);
    expect(await told(container(), repeatable('1'))).toBe('superseded');
    pass(2 * second);
    expect(await told(container(), repeatable('1'))).toBe('send');
  });
});

describe('a container whose clock is wrong', () => {
  const wrong = (ms: number): DynamoDb => ({ ...client, clockDiffersByMs: () => ms });

  test('claims nothing, says why, and leaves the message to others', async () => {
    const claimed = claim(container(wrong(42_000)), repeatable('1'));
    await expect(claimed).rejects.toThrow(
      'The clock of this function differs from AWS’ clock by 42 s, so the function claims no messages',
    );
    await expect(claimed).rejects.toSatisfy((error) => failureOf(error).kind === 'unavailable');
    expect(await told(container(), repeatable('1', { messageId: 'elsewhere' }))).toBe('send');
  });

  test('takes over nothing, and changes nothing that is known', async () => {
    await attempt(container(), repeatable('1'));
    pass(settled);
    await expect(claim(container(wrong(42_000)), repeatable('2'))).rejects.toThrow('clock');
    expect(await told(container(), repeatable('1'))).toBe('isolate');
  });

  test('takes back what it has claimed where only the answer to that tells', async () => {
    let differs = 0;
    const late: DynamoDb = {
      ...client,
      call: (...given) => client.call(...given).finally(() => (differs = 42_000)),
      clockDiffersByMs: () => differs,
    };
    await expect(claim(container(late), repeatable('1'))).rejects.toThrow('clock');
    expect(await told(container(), repeatable('1', { messageId: 'elsewhere' }))).toBe('send');
  });

  test('by a little claims as others do', async () => {
    expect(await told(container(wrong(9_000)), repeatable('1'))).toBe('send');
  });
});

describe('a hot key', () => {
  test('whose 40 versions come in any order to 4 containers ends with the newest', async () => {
    const [count, many] = [40, 4];
    const containers = Array.from({ length: many }, () => container());
    let waiting = Array.from({ length: count }, (_, at) => String((at * 37) % count).padStart(2, '0'));
    const acted: string[] = [];
    const outcomes: string[] = [];
    let underWay = 0;
    const handle = async (version: string, at: number): Promise<string[]> => {
      const ledger = containers[at % many]!;
      const verdict = await claim(ledger, repeatable(version));
      if (verdict.kind === 'wait') return [version];
      outcomes.push(verdict.kind);
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
    expect(outcomes).toHaveLength(count);
    pass(hiddenMs);
    expect(acted).toEqual([...acted].sort());
    expect(acted.at(-1)).toBe(`${count - 1}`);
    expect(await told(container(), repeatable('38'))).toBe('superseded');
  });
});

describe('the cost', () => {
  const costs: [string, (here: Ledger) => Promise<unknown>, string[]][] = [
    ['a repeatable success', (here) => attempt(here, repeatable('1'), 'done'), ['UpdateItem']],
    ['a refusal', (here) => attempt(here, repeatable('1'), 'undone'), ['UpdateItem', 'PutItem']],
    ['an unanswered call', (here) => attempt(here, repeatable('1'), 'unknown'), ['UpdateItem', 'PutItem']],
    [
      'a success that must not be repeated',
      (here) => attempt(here, once(), 'done'),
      ['UpdateItem', 'PutItem'],
    ],
    [
      'two versions of one resource and a duplicate, in one container',
      async (here) => {
        await attempt(here, repeatable('1'), 'done');
        await attempt(here, repeatable('2'), 'done');
        await told(here, repeatable('2'));
        await told(here, repeatable('1'));
      },
      ['UpdateItem', 'PutItem'],
    ],
  ];
  test.each(costs)('of %s', async (_, act, expected) => {
    await act(container());
    expect(calls).toEqual(expected);
  });

  test('of what is kept of a claim that says nothing more is its message and its time', async () => {
    const here = container();
    await attempt(here, repeatable('1'), 'done');
    await attempt(here, repeatable('2'));
    expect(Object.keys(JSON.parse((await raw()).s_whole?.S ?? ''))).toEqual(['messageId', 'claimedMs']);
  });

  test('of what comes too late is one write that does not apply', async () => {
    await attempt(container(), repeatable('2'), 'done');
    calls = [];
    await told(container(), repeatable('1'));
    expect(calls).toEqual(['UpdateItem']);
  });
});

describe('a ledger that fails', () => {
  test.each([
    ['throttled', { type: 'ProvisionedThroughputExceededException' }],
    ['down', { status: 500 }],
    ['out of reach', { reset: 'before' }],
    ['denied', { type: 'AccessDeniedException' }],
  ])('as it is %s lets nothing be sent', async (_, given) => {
    const here = container();
    await fault(given);
    await expect(claim(here, repeatable('1'))).rejects.toThrow();
    await clearFaults();
    expect(await told(here, repeatable('1'))).toBe('send');
  });

  test('as it is silent lets nothing be sent', async () => {
    await fault({ hang: true });
    await expect(claim(container(clientWith(3, 100)), repeatable('1'))).rejects.toThrow();
    await clearFaults();
    expect(await told(container(), repeatable('1'))).toBe('send');
  });

  test('for a moment is asked again', async () => {
    await fault({ status: 500, times: 2 });
    expect(await told(container(), repeatable('1'))).toBe('send');
    await fault({ delayMs: 100, times: 1 });
    expect(await told(container(), repeatable('2'))).toBe('busy 120');
  });

  test('to answer a claim that it has written is asked again, and the claim is not taken for another’s', async () => {
    const [here, elsewhere] = [container(), container()];
    await fault({ action: 'UpdateItem', reset: 'after', times: 1 });
    const verdict = await claim(here, repeatable('1'));
    expect(verdict.kind).toBe('send');
    expect(calls).toEqual(['UpdateItem']);
    expect(await told(elsewhere, repeatable('1'))).toBe('busy 60');
    if (verdict.kind === 'send') await here.end(verdict.claim, 'undone');
    expect(await told(elsewhere, repeatable('1'))).toBe('send');
  });

  test('to answer a claim that it has written, each time, takes it back: it is nobody’s death', async () => {
    const hasty = clientWith(1);
    await fault({ action: 'UpdateItem', reset: 'after', times: 1 });
    await expect(claim(container(hasty), repeatable('1'))).rejects.toThrow();
    expect(await told(container(), repeatable('1'))).toBe('send');
  });

  test('to answer a claim over one that it knows, each time, takes it back to that one', async () => {
    const hasty = clientWith(1);
    const here = container(hasty);
    await attempt(here, repeatable('1'), 'done');
    await fault({ action: 'PutItem', reset: 'after', times: 1 });
    await expect(claim(here, repeatable('2'))).rejects.toThrow();
    expect(await told(container(), repeatable('0'))).toBe('superseded');
    expect(await told(container(), repeatable('2'))).toBe('send');
  });

  test('to answer a claim leaves nothing to look for, though the next attempt is undone', async () => {
    const hasty = clientWith(1);
    await fault({ action: 'UpdateItem', reset: 'after', times: 1 });
    await expect(claim(container(hasty), once())).rejects.toThrow();
    await attempt(container(), once(), 'undone');
    expect(await told(container(), once())).toBe('send');
  });

  test('to take a claim back of one field still knows the others, which it has read', async () => {
    const hasty = clientWith(1);
    const here = container(hasty);
    await attempt(container(), messageAt('9', { fields: ['comments'], repeatable: false }), 'done');
    await fault({ action: 'UpdateItem', reset: 'after', times: 1 });
    await fault({ action: 'UpdateItem', reset: 'before', times: 1 });
    await expect(claim(here, messageAt('5', { fields: ['grade'] }))).rejects.toThrow();
    const verdict = await claim(here, messageAt('5', { fields: ['grade', 'comments'] }));
    expect(verdict).toMatchObject({ kind: 'send', claim: { fields: ['grade'] } });
    expect(await raw()).toMatchObject({ v_comments: { S: '9' }, v_grade: { S: '5' } });
  });

  test('to write that a claim was undone knows so in this container, whatever else fails then', async () => {
    const here = container();
    const verdict = await toSend(here, once());
    await fault({ status: 500 });
    expect(await here.end(verdict.claim, 'undone')).toBe(false);
    await expect(claim(here, once())).rejects.toThrow();
    await clearFaults();
    expect(await told(here, once())).toBe('send');
  });

  test('to find what was in the way, as that has expired by then, is asked again', async () => {
    const table = createTableModel(() => nowMs);
    const here = containerOn({
      read: async () => undefined,
      claim: async () => ({ won: false, item: undefined }),
      replace: async (...change) => table.replace(...change),
    });
    expect(await claim(here, repeatable('1'))).toEqual({ kind: 'wait', seconds: 1, why: 'busy' });
  });

  test('to take a claim back still knows in this container that it was none', async () => {
    const hasty = clientWith(1);
    const here = container(hasty);
    await fault({ action: 'UpdateItem', reset: 'after', times: 1 });
    await fault({ action: 'UpdateItem', reset: 'before', times: 1 });
    await expect(claim(here, once())).rejects.toThrow();
    expect(await told(container(), once())).toBe('busy 120');
    expect(await told(here, once())).toBe('send');
  });

  test('to write how a claim ended says so, ends it with its lease, and knows better in this container', async () => {
    const here = container();
    const verdict = await toSend(here, once());
    await fault({ status: 500 });
    expect(await here.end(verdict.claim, 'done')).toBe(false);
    await clearFaults();
    expect(warnings).toEqual([
      {
        text: 'the ending of a claim could not be written: it ends with its lease',
        facts: { resource, error: 'InternalServiceError' },
      },
    ]);
    expect(await told(here, once())).toBe('duplicate');
    expect(await told(container(), once())).toBe('busy 120');
    pass(settled);
    expect(await told(container(), once(), true)).toBe('look');
  });

  test('does not hold up the next message about the same resource', async () => {
    const here = container();
    await fault({ status: 500 });
    const both = await Promise.allSettled([claim(here, repeatable('1')), claim(here, repeatable('2'))]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await clearFaults();
  });
});

describe('a container', () => {
  test('knows what it did to the 10 000 resources that it claimed last', async () => {
    const table = createTableModel(() => nowMs);
    const here = containerOn({
      read: async (resource) => table.read(resource),
      claim: async (...given) => table.claim(...given),
      replace: async (...given) => table.replace(...given),
    });
    const of = (id: number, version = '1') => messageAt(version, { resource: `try-out/of ${id}` });
    for (let id = 0; id < 10_000; id += 1) await attempt(here, of(id), 'done');
    await attempt(here, of(0, '2'), 'done');
    await attempt(here, of(10_000), 'done');
    const again = [of(0, '2'), of(1), of(2), of(10_000)];
    const answers: string[] = [];
    for (const each of again) answers.push(await told(here, each));
    expect(answers).toEqual(['duplicate', 'busy 60', 'duplicate', 'duplicate']);
  });
});

describe('a message that comes back', () => {
  test('killed nothing if nothing is known of it, or if its attempt ended', async () => {
    expect(await container().returned(repeatable('1'))).toBe(false);
    await attempt(container(), repeatable('1'), 'unknown');
    expect(await container().returned(repeatable('1'))).toBe(false);
    pass(settled);
    await attempt(container(), repeatable('2'));
    pass(settled);
    expect(await container().returned(repeatable('2'))).toBe(true);
  });

  test('is left to its claim if others write each time', async () => {
    await attempt(container(), repeatable('1'));
    pass(settled);
    let reads = 0;
    const { read, ...rest } = tableBy(client);
    const busy: LedgerTable = {
      ...rest,
      read: (key) => {
        reads += 1;
        return read(key);
      },
      replace: async () => false,
    };
    expect(await containerOn(busy).returned(repeatable('1'))).toBe(false);
    expect(reads).toBe(20);
  });
});

test('a claim is marked if its message must not be sent twice', async () => {
  const marks = async (entry: Entry) => {
    const verdict = await toSend(container(), entry);
    await container().end(verdict.claim, 'done');
    return Object.values(verdict.claim.item.fields).map((field) => field.once);
  };
  expect(await marks(once())).toEqual([true]);
  resource += ' again';
  expect(await marks(repeatable('1'))).toEqual([undefined]);
});

describe('messages about the same resource in one container', () => {
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
