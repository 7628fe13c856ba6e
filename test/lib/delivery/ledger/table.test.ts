import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { emptyItem, type FieldState, type ResourceState } from '../../../../lib/delivery/ledger/item.ts';
import { createLedgerReader } from '../../../../lib/delivery/ledger/read.ts';
import { createLedgerTable, type LockRequest } from '../../../../lib/delivery/ledger/table.ts';
import { createTableModel } from '../../../history/table.ts';
import { tablesForTests } from '../../../local/aws/for-tests.ts';
import { runs } from '../../../seed.ts';

const name = 'ledger';
const start = Date.UTC(2026, 2, 1);
const day = 24 * 3_600_000;

let nowMs = start;
const client = tablesForTests(name).client();
const access = { dynamodb: client, table: name, nowMs: () => nowMs };
const [table, read] = [createLedgerTable(access), createLedgerReader(access)];
let resources = 0;
let resource = '';

beforeEach(() => {
  nowMs = start;
  resources += 1;
  resource = `try-out/${resources}`;
});

const takingOf = (id: string, more: Partial<LockRequest> = {}): LockRequest => ({
  lock: { id: id.padStart(6, '0'), holder: 'abcd', replays: 0, version: 'v', fields: ['whole'] },
  untilMs: nowMs + 120_000,
  ...more,
});
const done = (more: object = {}) => ({
  version: 'v',
  messageId: 'm',
  begunMs: start,
  digest: undefined,
  ...more,
});
const open = (more: object = {}) => ({
  version: 'w',
  messageId: 'm',
  replays: 0,
  sinceMs: start,
  begunMs: start,
  crashes: 0,
  acceptedMs: 0,
  refusal: undefined,
  isNonRepeatable: false,
  isParked: false,
  ...more,
});
const raw = async () => {
  const key = { TableName: name, Key: { resource: { S: resource } } };
  return (await client.call('GetItem', key)).Item ?? {};
};
/** Puts the item where nothing is, and reads it. */
const kept = async (item: ResourceState): Promise<ResourceState | undefined> => {
  await table.take(resource, takingOf('first'));
  await table.replace(resource, ' first'.replace(' ', '0'), item);
  return read(resource);
};

describe('a lock', () => {
  test('is taken by one of twenty at the same time', async () => {
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, at) => table.take(resource, takingOf(`${at}`))),
    );
    expect(all.filter(({ isTaken }) => isTaken)).toHaveLength(1);
  });

  test('shows what stood there', async () => {
    const item = { ...emptyItem, lockId: 'before', fields: { whole: { done: done() } } };
    await kept(item);
    expect(await table.take(resource, takingOf('1'))).toMatchObject({ isTaken: true, item });
    expect(await table.take(resource, takingOf('2'))).toMatchObject({
      isTaken: false,
      item: { fields: item.fields, lockId: '000001', lock: takingOf('1').lock },
    });
  });

  test('finds nothing of what has expired and was not removed yet', async () => {
    await kept({ ...emptyItem, lockId: 'before', fields: { whole: { done: done() } } });
    nowMs += 36 * day;
    expect(await table.take(resource, takingOf('1'))).toEqual({ isTaken: true, item: emptyItem });
  });

  test.each(['a #b :c', 'ü/ä', 'x'.repeat(200)])('takes a field of any name: %s', async (field) => {
    const begun = { field, version: 'v', messageId: 'm', begunMs: start, replays: 0 };
    await table.take(resource, takingOf('1', { begun }));
    expect(Object.keys((await read(resource))?.fields ?? {})).toEqual([field]);
    await table.release(resource, takingOf('1', { begun }));
    expect((await read(resource))?.fields).toEqual({});
  });
});

describe('an item', () => {
  const fields: Record<string, FieldState> = {
    done: { done: done({ digest: 'abc' }) },
    'done/by/the/same': { done: done({ digest: 'def' }) },
    open: { done: undefined, open: open() },
    'open/over/done': {
      done: done({ digest: 'abc' }),
      open: open({
        replays: 2,
        sinceMs: start - 1,
        crashes: 2,
        acceptedMs: start,
        refusal: '{"status":500}',
        isNonRepeatable: true,
        isParked: true,
      }),
    },
  };

  test('is what was written of it, with all that a field can have', async () => {
    const item: ResourceState = {
      lockId: '000002',
      lock: { id: '000002', holder: 'abcd', replays: 3, version: 'v\u0001\n 1', fields: ['done', 'open'] },
      busyUntilMs: start + 7,
      busyField: 'open',
      fields,
      recentMessages: { '': ['a', 'b'], 'object/5001': ['c'] },
    };
    expect(await kept(item)).toEqual(item);
  });

  test.each([
    '2026-01-31T10:00:00.000000000\u000100242\u0001\u{10FFFF}abc',
    '2026-01-31T10:20:30.100200000\u0001\u0001\u{10FFFF}abc',
    '2026-01-31T10:20:30.123456789\u00012026\u0001\u{10FFFF}abc',
    '+010000-01-31T10:00:0.000000000\u0001\u0001\u{10FFFF}abc',
    '\u{10FFFF}20260131',
  ])('has the whole version of its lock: %j', async (version) => {
    const lock = { id: '000002', holder: 'abcd', replays: 0, version, fields: ['whole'] };
    expect((await kept({ ...emptyItem, lockId: '000002', lock }))?.lock).toEqual(lock);
  });

  test('is kept for longer than a message and its letter can live, and then expires', async () => {
    await kept({ ...emptyItem, lockId: 'before' });
    expect(Number((await raw()).expires?.N) * 1000 - start).toBe(35 * day);
  });

  test('may have more fields than an expression of DynamoDB can name', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 300 }, (_, at) => [`created/${at}`.padEnd(40, 'x'), { done: done() }]),
    );
    expect(
      Object.keys((await kept({ ...emptyItem, lockId: 'before', fields: many }))?.fields ?? {}),
    ).toHaveLength(300);
  });

  test('has the attributes of 1.0.0, which reads what stands in each field', async () => {
    await kept({ ...emptyItem, lockId: 'before', fields });
    const item = await raw();
    const states = Object.keys(fields).map((field) => JSON.parse(item[`s_${field}`]?.S ?? ''));
    expect(states).toMatchObject([
      { messageId: 'm', claimedMs: start, outcome: 'done', digest: 'abc' },
      { messageId: '', claimedMs: start, outcome: 'done', digest: 'def' },
      { messageId: 'm', claimedMs: start, outcome: 'unknown', stands: null },
      { outcome: 'unknown', once: true, crashes: 2, stands: { claimedMs: start, digest: 'abc' } },
    ]);
    expect(Number(item.heldMs?.N)).toBeGreaterThan(start);
  });
});

type Step = {
  ms: number;
  do: 'take' | 'replace' | 'release';
  id: number;
  expected: number;
  begun: boolean;
  isOpen: boolean;
  busyMs: number;
};

describe('the model of the table, on which the histories are lived', () => {
  const step: fc.Arbitrary<Step> = fc.record({
    ms: fc.constantFrom(0, 0, 1, 999, 60_000, 20 * day),
    do: fc.constantFrom('take', 'take', 'replace', 'release'),
    id: fc.nat({ max: 4 }),
    expected: fc.nat({ max: 4 }),
    begun: fc.boolean(),
    isOpen: fc.boolean(),
    busyMs: fc.constantFrom(0, 0, 1, 60_000),
  });

  test('answers whatever is asked of it as the emulator does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12, size: 'max' }), async (steps) => {
        nowMs = start;
        resources += 1;
        const real = `try-out/${resources}`;
        const model = createTableModel(() => nowMs);
        for (const each of steps) {
          nowMs += each.ms;
          const begun = { field: 'whole', version: 'v', messageId: 'm', begunMs: start, replays: 0 };
          const taking = takingOf(`${each.id}`, each.begun ? { begun } : {});
          const whole = each.isOpen ? { open: open() } : { done: done() };
          const item = {
            ...emptyItem,
            lockId: taking.lock.id,
            busyUntilMs: nowMs + each.busyMs,
            fields: each.begun ? { whole } : {},
          };
          const expected = `${each.expected}`.padStart(6, '0');
          if (each.do === 'take') expect(model.take('it', taking)).toEqual(await table.take(real, taking));
          else if (each.do === 'replace')
            expect(model.replace('it', expected, item)).toEqual(await table.replace(real, expected, item));
          else expect(model.release('it', taking)).toEqual(await table.release(real, taking));
        }
      }),
      { numRuns: runs(150) },
    );
  });
});
