import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Priority } from '../../../../lib/message/priority.ts';
import { safe } from '../../../../lib/message/safe-text.ts';
import type { DynamoDb } from '../../../../lib/runtime/aws/dynamodb.ts';
import type { Budget } from '../../../../lib/runtime/telemetry/call-budget.ts';
import type { CallReport } from '../../../../lib/runtime/telemetry/call-report.ts';
import {
  countedSinceMs,
  createCallUsageRecorder,
  readPaceUse,
} from '../../../../lib/runtime/telemetry/call-usage.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { tablesForTests } from '../../../local/aws/for-tests.ts';

const table = 'sis-relay-test-ledger';
const second = 1_000;
const tables = tablesForTests(table);
let client: DynamoDb;
/** A function for each test. */
let name = '';
let nowMs = Date.parse('2026-03-01T09:07:00Z');
let writes = 0;
let tests = 0;

beforeEach(() => {
  client = tables.client({ maxAttempts: 1 }, (action) => {
    if (action === 'UpdateItem') writes += 1;
  });
  tests += 1;
  name = `function-${tests}`;
  nowMs = Date.parse('2026-03-01T09:07:00Z');
  writes = 0;
});

const access = () => ({ dynamodb: client, table, nowMs: () => nowMs });
const read = () => readPaceUse(access(), name);

/** One container of the function. */
const container = ({ hasTable = true } = {}) => {
  const warnings: unknown[] = [];
  const metrics: [string, number][] = [];
  let budget: Budget | undefined;
  const use = createCallUsageRecorder({
    access: hasTable ? access() : undefined,
    function: name,
    budget: () => budget,
    observe: {
      count: (metric, _, value) => void metrics.push([metric, value]),
      warn: (...told) => void warnings.push(told),
    },
    nowMs: () => nowMs,
  });
  return {
    ...use,
    warnings,
    metrics,
    told: (remaining: number, more: Partial<Budget> = {}) => {
      budget = { budget: 50_000, endsMs: nowMs + 30 * second, cost: 10, remaining, ...more };
    },
    /** An invocation with so many calls. */
    invoked: async (priority: Priority, statuses: number[]) => {
      use.record(statuses.map((status) => callOf(priority, status)));
      await use.write();
    },
  };
};

const callOf = (priority: Priority, status: number): CallReport => ({
  operation: safe`x`,
  call: safe`PUT /x`,
  durationMs: 1,
  mayHaveActed: true,
  priority,
  status,
});

describe('the calls of a function', () => {
  test('add up over its containers, by class, with those that were refused', async () => {
    await container().invoked('urgent', [200, 404, 429]);
    await container().invoked('urgent', [200]);
    await container().invoked('bulk', [429, 503]);
    const { calls, budgets } = await read();
    expect(calls).toEqual([
      { function: name, priority: 'urgent', calls: 4, refused: 1 },
      { function: name, priority: 'bulk', calls: 2, refused: 1 },
    ]);
    expect(budgets).toEqual([]);
  });

  test('are told from the beginning of the last period of five minutes on', async () => {
    expect(new Date(countedSinceMs(nowMs)).toISOString()).toBe('2026-03-01T09:00:00.000Z');
    const one = container();
    await one.invoked('normal', [200]);
    nowMs += 5 * 60 * second;
    await one.invoked('normal', [200, 200]);
    expect((await read()).calls).toMatchObject([{ calls: 3 }]);
    nowMs += 5 * 60 * second;
    expect((await read()).calls).toMatchObject([{ calls: 2 }]);
    nowMs += 5 * 60 * second;
    expect((await read()).calls).toEqual([]);
  });

  test('count for the time at which they were made, however late their container tells', async () => {
    const one = container();
    await one.invoked('normal', [200]);
    one.record([callOf('normal', 200)]);
    nowMs += 4 * 60 * second;
    await one.invoked('normal', [200, 200]);
    expect((await read()).calls).toMatchObject([{ calls: 4 }]);
    nowMs += 5 * 60 * second;
    expect((await read()).calls).toMatchObject([{ calls: 2 }]);
  });

  test('stand beside what the platform told of its budget', async () => {
    const one = container();
    one.told(20_000);
    await one.invoked('normal', [200]);
    expect((await read()).budgets).toEqual([
      { budget: 50_000, remaining: 20_000, endsMs: nowMs + 30 * second },
    ]);
  });
});

describe('what it costs', () => {
  test('nothing where nothing is called', async () => {
    const one = container();
    for (let batch = 0; batch < 100; batch += 1) await one.invoked('normal', []);
    expect(writes).toBe(0);
  });

  test('a write a minute and container while it calls, and one more where a period ends', async () => {
    const one = container();
    for (let batch = 0; batch < 600; batch += 1) {
      await one.invoked('normal', [200]);
      nowMs += second;
    }
    expect(writes).toBe(12);
    // Those since 09:10 but for the last minute's, which are not told yet.
    expect((await read()).calls[0]?.calls).toBe(361);
  });

  test('the table does not keep it: its time to live is over when nobody reads it any more', async () => {
    await container().invoked('normal', [200]);
    const scanning = new DynamoDBClient(localClient(tables.url()));
    onTestFinished(() => scanning.destroy());
    const { Items = [] } = await scanning.send(new ScanCommand({ TableName: table }));
    const own = Items.find(({ resource }) => resource?.S?.startsWith(`pace/${name}/`));
    expect(Number(own?.expires?.N) * 1_000).toBe(Date.parse('2026-03-01T09:15:00Z'));
  });

  test('two metrics a minute, also where there is no table: the budget, and the most that was used of it', async () => {
    const one = container({ hasTable: false });
    one.told(49_000);
    await one.invoked('normal', [200]);
    one.told(1_000);
    await one.invoked('normal', [200]);
    one.told(30_000);
    nowMs += 60 * second;
    await one.invoked('normal', [200]);
    expect(one.metrics).toEqual([
      ['PaceBudget', 50_000],
      ['PaceUsed', 1_000],
      ['PaceBudget', 50_000],
      ['PaceUsed', 49_000],
    ]);
    expect(writes).toBe(0);
  });
});

test('a table that cannot be written is told, and stops nothing', async () => {
  await tables.fault({ action: 'UpdateItem', type: 'AccessDeniedException', times: 1 });
  const one = container();
  await one.invoked('normal', [200]);
  expect(one.warnings).toEqual([
    ['the calls of the platform could not be written down', { error: 'AccessDeniedException' }],
  ]);
});
