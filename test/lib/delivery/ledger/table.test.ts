import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { boundedVersion } from '../../../../lib/delivery/ledger/identity.ts';
import { createLedgerTable, type Field, type Item } from '../../../../lib/delivery/ledger/table.ts';
import type { DynamoDb } from '../../../../lib/runtime/aws/dynamodb.ts';
import { createTableModel } from '../../../history/table.ts';
import { tablesForTests } from '../../../local/aws/for-tests.ts';
import { runs } from '../../../seed.ts';

const name = 'ledger';
const start = Date.UTC(2026, 2, 1);
const day = 24 * 3_600_000;

let nowMs = start;
const client = tablesForTests(name).client();
const table = createLedgerTable({ dynamodb: client, table: name, nowMs: () => nowMs });
let resources = 0;
let resource = '';

beforeEach(() => {
  nowMs = start;
  resources += 1;
  resource = `try-out/${resources}`;
});

const fieldOf = (version: string, more: Partial<Field> = {}): Field => ({
  ...{ version, messageId: 'm', outcome: 'claimed', claimedMs: nowMs, attemptedMs: nowMs },
  ...{ acceptedMs: 0, crashes: 0, replays: 0 },
  ...more,
});

const itemOf = (version: string, more: Partial<Item> = {}): Item => ({
  claimId: `claim of ${version}`,
  leaseMs: nowMs + 60_000,
  graceEndsMs: nowMs + 120_000,
  last: 'whole',
  fields: { whole: fieldOf(version) },
  ...{ heldMs: 0, seen: {} },
  ...more,
});

const anyTime = { mustBeKnown: false };
const ifKnown = { mustBeKnown: true };
const claim = (item: Item, options = anyTime) => table.claim(resource, item, options);
const replace = (expected: Item, next: Item) => table.replace(resource, { expected, next });
const raw = async () => {
  const key = { TableName: name, Key: { resource: { S: resource } } };
  return (await client.call('GetItem', key)).Item ?? {};
};

describe('a claim', () => {
  test('of what nobody knows is won', async () => {
    expect(await claim(itemOf('1'))).toEqual({ won: true, item: undefined });
  });

  test('over an older version is won when nothing of it can act any more, and tells what was there', async () => {
    const older = itemOf('1');
    await claim(older);
    nowMs = older.graceEndsMs - 1;
    expect(await claim(itemOf('2'))).toEqual({ won: false, item: older });
    nowMs = older.graceEndsMs;
    expect(await claim(itemOf('2'))).toEqual({ won: true, item: older });
  });

  test.each(['1', '2'])(
    'over version %s by version 1 is not won, and tells what is in the way',
    async (there) => {
      const item = itemOf(there, { graceEndsMs: 0 });
      await claim(item);
      expect(await claim(itemOf('1', { claimId: 'another' }))).toEqual({ won: false, item });
    },
  );

  test('finds nothing of what has expired and was not removed yet', async () => {
    await claim(itemOf('9', { graceEndsMs: start + 100 * day }));
    nowMs = start + 35 * day;
    expect((await claim(itemOf('1'))).won).toBe(false);
    nowMs += 1_000;
    expect(await claim(itemOf('1'))).toEqual({ won: true, item: undefined });
  });

  test('by one of twenty at the same time is won', async () => {
    const claims = Array.from({ length: 20 }, (_, at) => claim(itemOf('1', { claimId: `${at}` })));
    const answers = await Promise.all(claims);
    const winner = answers.findIndex(({ won }) => won);
    expect(answers.filter(({ won }) => won)).toHaveLength(1);
    for (const { won, item } of answers) if (!won) expect(item?.claimId).toBe(`${winner}`);
  });

  describe('of several fields', () => {
    const item = (fields: Record<string, string>, more: Partial<Item> = {}) =>
      itemOf(Object.values(fields).join(), {
        graceEndsMs: 0,
        last: Object.keys(fields)[0] ?? '',
        fields: Object.fromEntries(
          Object.entries(fields).map(([field, version]) => [field, fieldOf(version)]),
        ),
        ...more,
      });

    test('is won where all are free, leaves the others, and tells all that was there', async () => {
      const before = item({ grade: '1', comments: '2' });
      await claim(before);
      expect(await claim(item({ grade: '3', privateComments: '3' }))).toEqual({ won: true, item: before });
      const { fields } = (await claim(item({ grade: '3' }))).item ?? {};
      expect(fields).toEqual({ grade: fieldOf('3'), privateComments: fieldOf('3'), comments: fieldOf('2') });
    });

    test.each([['grade'], ['comments']])(
      'is not won where of one the version is not older: %s',
      async (field) => {
        const there = item({ grade: '1', comments: '1', [field]: '2' });
        await claim(there);
        expect(await claim(item({ grade: '2', comments: '2' }))).toEqual({ won: false, item: there });
        expect(await raw()).toMatchObject({ claimId: { S: there.claimId } });
      },
    );

    test('is not won while anything of the resource can act, be it of another field', async () => {
      const there = item({ grade: '1' }, { graceEndsMs: nowMs + 1 });
      await claim(there);
      expect(await claim(item({ comments: '2' }))).toEqual({ won: false, item: there });
    });

    test('takes names that hold whatever a message can: nothing of them is read as an expression', async () => {
      const odd = item({ 'made/%2Fsis/a#b :c = (d)': '1', status: '1', 'é😀': '1' });
      expect(await claim(odd)).toEqual({ won: true, item: undefined });
      expect((await claim(odd)).item).toEqual(odd);
    });
  });

  describe('that must find something known', () => {
    test('is not won where nothing is, and leaves nothing behind', async () => {
      expect(await claim(itemOf('1'), ifKnown)).toEqual({ won: false, item: undefined });
      expect(await raw()).toEqual({});
    });

    test('is won over an older version, and not over none of its field, nor over what has expired', async () => {
      const older = itemOf('1', { graceEndsMs: 0 });
      await claim(older);
      const another = itemOf('2', { fields: { another: fieldOf('2') } });
      expect(await claim(another, ifKnown)).toEqual({ won: false, item: older });
      expect(await claim(itemOf('2', { graceEndsMs: 0 }), ifKnown)).toEqual({ won: true, item: older });
      nowMs += 35 * day + 1_000;
      expect(await claim(itemOf('3'), ifKnown)).toEqual({ won: false, item: undefined });
    });
  });
});

describe('a replacement', () => {
  test('takes the place of the claim that is expected there, and of no other', async () => {
    await claim(itemOf('1'));
    expect(await replace(itemOf('another'), itemOf('3'))).toBe(false);
    expect(await replace(itemOf('1'), itemOf('2'))).toBe(true);
    expect((await claim(itemOf('1'))).item).toEqual(itemOf('2'));
  });

  test('of what is not there is none', async () => {
    expect(await replace(itemOf('1'), itemOf('2'))).toBe(false);
    expect(await raw()).toEqual({});
  });

  test('may be sent twice, as a client does whose answer got lost', async () => {
    await claim(itemOf('1'));
    expect([await replace(itemOf('1'), itemOf('2')), await replace(itemOf('1'), itemOf('2'))]).toEqual([
      true,
      true,
    ]);
  });

  test.each([
    ['is the whole of the item: what it does not have is gone', false, ['one']],
    ['that is partial leaves what it does not know', true, ['one', 'other', 'third']],
  ])('%s', async (_, partial, left) => {
    const both = itemOf('1', { graceEndsMs: 0, fields: { one: fieldOf('1'), other: fieldOf('1') } });
    await claim(both);
    const claimed = itemOf('2', { fields: { third: fieldOf('2') } });
    await claim(claimed);
    const next = itemOf('3', { fields: { one: fieldOf('3') } });
    const change = () => table.replace(resource, { expected: claimed, next, partial });
    expect([await change(), await change()]).toEqual([true, true]);
    const { fields = {} } = (await claim(itemOf('1'))).item ?? {};
    expect(Object.keys(fields).sort()).toEqual(left);
    expect(fields.one).toEqual(fieldOf('3'));
  });
});

describe('an item', () => {
  test('is kept for longer than a message and its letter can live, and then expires', async () => {
    await claim(itemOf('1'));
    expect(Number((await raw()).expires?.N) * 1000).toBe(start + 35 * day);
  });

  test('is what was written of it, with all that a field can tell', async () => {
    const refusal = JSON.stringify({ message: 'no', status: 500, detail: 'ä😀"\u2028' });
    const told = { ...{ acceptedMs: 3, crashes: 2, replays: 1 }, refusal, digest: 'd' };
    const item = itemOf('1', { fields: { whole: fieldOf('1', { outcome: 'unknown', ...told }) } });
    await claim(item);
    expect((await claim(item)).item).toEqual(item);
  });

  test('of a message without a failure tells of its field no more than it must: a write is paid for by the KiB', async () => {
    await claim(itemOf('1'));
    expect(JSON.parse((await raw()).s_whole?.S ?? '')).toEqual({
      ...{ messageId: 'm', claimedMs: nowMs },
    });
  });

  test('written when every field told its outcome and its first attempt is still read', async () => {
    const item = itemOf('1');
    await claim(item);
    const state = { messageId: 'm', outcome: 'claimed', claimedMs: nowMs, attemptedMs: nowMs };
    await client.call('UpdateItem', {
      TableName: name,
      Key: { resource: { S: resource } },
      UpdateExpression: 'SET s_whole = :state',
      ExpressionAttributeValues: { ':state': { S: JSON.stringify(state) } },
    });
    expect((await claim(item)).item).toEqual(item);
  });

  test('has these attributes alone; they are set by number, as DynamoDB reserves some of their names', async () => {
    await claim(itemOf('1'));
    const setting = (attribute: string) =>
      client.call('UpdateItem', {
        TableName: name,
        Key: { resource: { S: 'reserved' } },
        UpdateExpression: `SET ${attribute} = :value`,
        ExpressionAttributeValues: { ':value': { S: '' } },
      });
    await expect(setting('last')).rejects.toThrow('reserved keyword');
    // Those that conditions tell by name.
    for (const each of ['claimId', 'expires', 'graceEndsMs'])
      await expect(setting(each)).resolves.toBeDefined();
    const lock = ['claimId', 'expires', 'last', 'leaseMs', 'resource', 'graceEndsMs'];
    expect(Object.keys(await raw()).sort()).toEqual([...lock, 's_whole', 'v_whole'].sort());
  });

  test('may have more fields than an expression of DynamoDB can name', async () => {
    const guarded: DynamoDb = {
      ...client,
      call: (action, input, ...more) => {
        // The emulator knows nothing of this limit.
        const { UpdateExpression = '' } = input as { UpdateExpression?: string };
        if (UpdateExpression.length > 4_096) throw new Error('Expression size has exceeded the maximum');
        return client.call(action, input, ...more);
      },
    };
    const own = createLedgerTable({ dynamodb: guarded, table: name, nowMs: () => nowMs });
    const fields = Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`field ${at}`, fieldOf('1')]));
    const first = itemOf('1');
    await own.claim(resource, first, anyTime);
    const next = itemOf('1', { claimId: 'next', graceEndsMs: 0, fields });
    expect(await own.replace(resource, { expected: first, next })).toBe(true);
    const last = itemOf('2', { fields: { 'field 599': fieldOf('2') } });
    expect((await own.claim(resource, last, anyTime)).item).toEqual(next);
    expect(await own.replace(resource, { expected: last, next: { ...next, claimId: 'last' } })).toBe(true);
  });

  test('may have as long a version as a message can, which is short when it is read', async () => {
    const version = `2026-03-01T00:00:00.000000000\u0001${'s'.repeat(256)}\u0001${'é'.repeat(256)}\u0001${'ü'.repeat(2_048)}`;
    await claim(itemOf(version));
    expect((await raw()).v_whole?.S).toBe(version);
    const read = (await claim(itemOf(version))).item?.fields.whole?.version ?? '';
    expect(read).toBe(boundedVersion(version));
    expect(Buffer.byteLength(read)).toBeLessThan(300);
  });
});

describe('messages that were seen', () => {
  const seeing = (version: string, digest: string, thing = '') =>
    itemOf(version, { claimId: `claim of ${digest}`, graceEndsMs: 0, seen: { [thing]: [digest] } });

  test('are moved on by each claim, which knows none of them, and are six at most', async () => {
    for (let version = 1; version <= 7; version += 1)
      expect((await claim(seeing(`${version}`, `digest ${version}`))).won).toBe(true);
    const { seen } = (await table.read(resource)) ?? {};
    expect(seen).toEqual({ '': [7, 6, 5, 4, 3, 2].map((version) => `digest ${version}`) });
  });

  test('are claimed by no time that they give, and stay as they are', async () => {
    for (const digest of ['a', 'b', 'c']) await claim(seeing(`1 ${digest}`, digest));
    const before = await table.read(resource);
    for (const digest of ['a', 'b', 'c'])
      expect(await claim(seeing('2', digest))).toEqual({ won: false, item: before });
    expect(await table.read(resource)).toEqual(before);
  });

  test('are of each thing by itself, whatever it is called', async () => {
    await claim(seeing('1', 'a', 'object/1'));
    await claim(seeing('2', 'a', 'object/2'));
    await claim(seeing('3', 'b', '_i0\n'));
    expect((await table.read(resource))?.seen).toEqual({
      'object/1': ['a'],
      'object/2': ['a'],
      '_i0\n': ['b'],
    });
  });

  test('are replaced with the whole item, and left by a part of it', async () => {
    const [first, second] = [seeing('1', 'a'), seeing('2', 'b')];
    await claim(first);
    const partial = { ...second, seen: {} };
    await table.replace(resource, { expected: first, next: partial, partial: true });
    expect((await table.read(resource))?.seen).toEqual({ '': ['a'] });
    await replace(partial, { ...second, seen: { '': ['c', 'd'] } });
    expect((await table.read(resource))?.seen).toEqual({ '': ['c', 'd'] });
  });

  test('are none of an item that was written before there were any', async () => {
    await claim(itemOf('1', { graceEndsMs: 0 }));
    expect((await claim(seeing('2', 'a'))).item).toEqual(itemOf('1', { graceEndsMs: 0 }));
    expect((await table.read(resource))?.seen).toEqual({ '': ['a'] });
  });
});

describe('what is held', () => {
  const held = itemOf('1', { graceEndsMs: 0, heldMs: start + 60_000 });

  test('is claimed by nothing that holds nothing itself, until that is over', async () => {
    await claim(held);
    const other = itemOf('2', { graceEndsMs: 0 });
    nowMs = start + 59_999;
    expect(await claim(other)).toEqual({ won: false, item: held });
    nowMs += 1;
    expect(await claim(other)).toEqual({ won: true, item: held });
  });

  test('is claimed by what holds as well, and stays held until both are over', async () => {
    await claim(held);
    nowMs = start + 1;
    const other = itemOf('2', { graceEndsMs: 0, heldMs: start + 120_000 });
    expect(await claim(other)).toEqual({ won: true, item: held });
    expect((await claim(itemOf('3'))).item?.heldMs).toBe(start + 120_000);
  });

  test('is so no more with the whole item, and still is with a part of it', async () => {
    await claim(held);
    const next = itemOf('2', { graceEndsMs: 0 });
    await table.replace(resource, { expected: held, next, partial: true });
    expect((await table.read(resource))?.heldMs).toBe(start + 60_000);
    await replace(next, next);
    expect((await table.read(resource))?.heldMs).toBe(0);
  });
});

type Step = {
  ms: number;
  claim: boolean;
  mustBeKnown: boolean;
  fields: Record<string, string>;
  partial: boolean;
  expected: number;
  claimId: number;
  graceEndsMs: number;
  seen: Item['seen'];
  heldMs: number;
};

describe('the model of the table, on which the histories are lived', () => {
  // The emulator compares text by UTF-16 units, and DynamoDB by the bytes of UTF-8: so none where the two differ.
  const version = fc.constantFrom('1', '2', '10', 'a', '\u{1F600}', 'é', '2\u00011');
  const names = ['grade', 'comments', 'whole'];
  const step: fc.Arbitrary<Step> = fc.record({
    ms: fc.constantFrom(0, 0, 1, 999, 60_000, 20 * day),
    claim: fc.boolean(),
    mustBeKnown: fc.boolean(),
    fields: fc.dictionary(fc.constantFrom(...names), version, { minKeys: 1, maxKeys: 3 }),
    partial: fc.boolean(),
    expected: fc.nat({ max: 4 }),
    claimId: fc.nat({ max: 4 }),
    graceEndsMs: fc.constantFrom(0, 0, 1, 60_000),
    heldMs: fc.constantFrom(0, 0, 1, 60_000),
    seen: fc.constantFrom({}, { '': ['a'] }, { '': ['b'] }, { '': ['c'] }, { 'object/1': ['a'] }),
  });

  test('answers whatever is asked of it as the emulator does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12, size: 'max' }), async (steps) => {
        nowMs = start;
        resources += 1;
        const real = `try-out/${resources}`;
        const model = createTableModel(() => nowMs);
        for (const { ms, graceEndsMs, seen, ...given } of steps) {
          nowMs += ms;
          const heldMs = given.heldMs && nowMs + given.heldMs;
          const fields = Object.fromEntries(
            Object.entries(given.fields).map(([field, each]) => [field, fieldOf(each)]),
          );
          const claimId = `${given.claimId}`;
          const item = itemOf('', { claimId, graceEndsMs: nowMs + graceEndsMs, heldMs, fields, seen });
          const { mustBeKnown, partial } = given;
          const change = { expected: itemOf('', { claimId: `${given.expected}` }), next: item, partial };
          if (given.claim)
            expect(model.claim('it', item, { mustBeKnown })).toEqual(
              await table.claim(real, item, { mustBeKnown }),
            );
          else expect(model.replace('it', change)).toEqual(await table.replace(real, change));
        }
      }),
      { numRuns: runs(150) },
    );
  });
});
