import { DynamoDBClient, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLedgerTable, type Item, type LedgerTable } from '../../lib/ledger-table.ts';
import { createTableModel } from '../history/table.ts';
import { localClient } from '../local/aws.ts';
import { startLedgerTable } from '../local/ledger-table.ts';

const name = 'ledger';
const start = Date.UTC(2026, 2, 1);
const day = 24 * 3_600_000;

let server: Awaited<ReturnType<typeof startLedgerTable>>;
let client: DynamoDBClient;
let table: LedgerTable;
let nowMs = start;
let things = 0;
let thing = '';

beforeAll(async () => {
  server = await startLedgerTable(name);
  client = new DynamoDBClient(localClient(server.url));
  table = createLedgerTable({ dynamodb: async () => client, table: name, nowMs: () => nowMs });
});
beforeEach(() => {
  nowMs = start;
  things += 1;
  thing = `thing ${things}`;
});
afterAll(async () => {
  client.destroy();
  await server.close();
});

const itemOf = (version: string, more: Partial<Item> = {}): Item => ({
  version,
  claimId: `claim of ${version}`,
  messageId: 'm',
  outcome: 'claimed',
  leaseMs: nowMs + 60_000,
  settledMs: nowMs + 120_000,
  attemptedMs: nowMs,
  takenMs: 0,
  deaths: 0,
  replays: 0,
  ...more,
});

const raw = async () => {
  const key = { TableName: name, Key: { thing: { S: thing } } };
  return (await client.send(new GetItemCommand(key))).Item ?? {};
};

describe('a claim', () => {
  test('of what nobody knows is won', async () => {
    expect(await table.claim(thing, itemOf('1'))).toEqual({ won: true, item: undefined });
  });

  test('over an older version is won when nothing of it can act any more, and tells what was there', async () => {
    const older = itemOf('1');
    await table.claim(thing, older);
    nowMs = older.settledMs - 1;
    expect(await table.claim(thing, itemOf('2'))).toEqual({ won: false, item: older });
    nowMs = older.settledMs;
    expect(await table.claim(thing, itemOf('2'))).toEqual({ won: true, item: older });
  });

  test.each(['1', '2'])(
    'over version %s by version 1 is not won, and tells what is in the way',
    async (there) => {
      const item = itemOf(there, { settledMs: 0 });
      await table.claim(thing, item);
      expect(await table.claim(thing, itemOf('1', { claimId: 'another' }))).toEqual({ won: false, item });
    },
  );

  test('finds nothing of what has expired and was not removed yet', async () => {
    await table.claim(thing, itemOf('9', { settledMs: start + 100 * day }));
    nowMs = start + 35 * day;
    expect((await table.claim(thing, itemOf('1'))).won).toBe(false);
    nowMs += 1_000;
    expect(await table.claim(thing, itemOf('1'))).toEqual({ won: true, item: undefined });
  });

  test('by one of twenty at the same time is won', async () => {
    const claims = Array.from({ length: 20 }, (_, at) =>
      table.claim(thing, itemOf('1', { claimId: `${at}` })),
    );
    const answers = await Promise.all(claims);
    const winner = answers.findIndex(({ won }) => won);
    expect(answers.filter(({ won }) => won)).toHaveLength(1);
    for (const { won, item } of answers) if (!won) expect(item?.claimId).toBe(`${winner}`);
  });
});

describe('a replacement', () => {
  test('takes the place of the claim that is expected there, and of no other', async () => {
    await table.claim(thing, itemOf('1'));
    expect(await table.replace(thing, { expected: 'another', next: itemOf('3') })).toBe(false);
    expect(await table.replace(thing, { expected: 'claim of 1', next: itemOf('2') })).toBe(true);
    expect((await table.claim(thing, itemOf('1'))).item).toEqual(itemOf('2'));
  });

  test('of what is not there is none', async () => {
    expect(await table.replace(thing, { expected: 'claim of 1', next: itemOf('2') })).toBe(false);
    expect(await raw()).toEqual({});
  });

  test('may be sent twice, as a client does whose answer got lost', async () => {
    await table.claim(thing, itemOf('1'));
    const change = { expected: 'claim of 1', next: itemOf('2') };
    expect([await table.replace(thing, change), await table.replace(thing, change)]).toEqual([true, true]);
  });
});

describe('an item', () => {
  test('is kept for longer than a message and its letter can live, and then expires', async () => {
    await table.claim(thing, itemOf('1'));
    expect(Number((await raw()).expires?.N) * 1000).toBe(start + 35 * day);
  });

  test('has no attribute whose name DynamoDB reserves', async () => {
    await table.claim(thing, itemOf('1'));
    const setting = (attribute: string) =>
      client.send(
        new UpdateItemCommand({
          TableName: name,
          Key: { thing: { S: 'reserved' } },
          UpdateExpression: `SET ${attribute} = :value`,
          ExpressionAttributeValues: { ':value': { S: '' } },
        }),
      );
    await expect(setting('status')).rejects.toThrow('reserved keyword');
    const names = Object.keys(await raw()).filter((each) => each !== 'thing');
    expect(names).toHaveLength(11);
    for (const each of names) await expect(setting(each)).resolves.toBeDefined();
  });

  test('may have as long a version as a message can', async () => {
    const version = `2026-03-01T00:00:00.000000000\u0001${'s'.repeat(256)}\u0001${'é'.repeat(256)}\u0001${'ü'.repeat(2_048)}`;
    await table.claim(thing, itemOf(version));
    expect((await table.claim(thing, itemOf(version))).item?.version).toBe(version);
  });
});

type Step = {
  ms: number;
  claim: boolean;
  version: string;
  expected: number;
  claimId: number;
  settledMs: number;
};

describe('the model of the table, on which the histories are lived', () => {
  // The emulator compares text by UTF-16 units, and DynamoDB by the bytes of UTF-8: so none where the two differ.
  const version = fc.constantFrom('1', '2', '10', 'a', '\u{1F600}', 'é', '2\u00011');
  const step: fc.Arbitrary<Step> = fc.record({
    ms: fc.constantFrom(0, 0, 1, 999, 60_000, 20 * day),
    claim: fc.boolean(),
    version,
    expected: fc.nat({ max: 4 }),
    claimId: fc.nat({ max: 4 }),
    settledMs: fc.constantFrom(0, 1, 60_000),
  });

  test('answers whatever is asked of it as the emulator does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12, size: 'max' }), async (steps) => {
        nowMs = start;
        things += 1;
        const model = createTableModel(() => nowMs);
        for (const { ms, claim, settledMs, ...rest } of steps) {
          nowMs += ms;
          const item = itemOf(rest.version, { claimId: `${rest.claimId}`, settledMs: nowMs + settledMs });
          const change = { expected: `${rest.expected}`, next: item };
          if (claim) expect(model.claim('it', item)).toEqual(await table.claim(`thing ${things}`, item));
          else expect(model.replace('it', change)).toEqual(await table.replace(`thing ${things}`, change));
        }
      }),
      { numRuns: 150 },
    );
  });
});
