import { beforeEach, describe, expect, test } from 'vitest';
import type { Failure } from '../../../../lib/message/failure.ts';
import { safe } from '../../../../lib/message/safe-text.ts';
import type { DynamoDb } from '../../../../lib/runtime/aws/dynamodb.ts';
import {
  type AttemptFacts,
  createIncidents,
  readIncident,
} from '../../../../lib/runtime/telemetry/incidents.ts';
import { tablesForTests } from '../../../local/aws/for-tests.ts';

const table = 'sis-relay-test-ledger';
const minuteMs = 60_000;
const tables = tablesForTests(table);
let client: DynamoDb;
/** A table's worth of subjects for each test. */
let name = '';
let nowMs = Date.parse('2026-03-01T09:00:00Z');
let writes: string[] = [];
let tests = 0;

beforeEach(() => {
  client = tables.client({ maxAttempts: 1 }, (action) => writes.push(action));
  tests += 1;
  name = `function-${tests}`;
  // What one test leaves of the service's credential is over for the next.
  nowMs += 24 * 60 * minuteMs;
  writes = [];
});

const access = () => ({ dynamodb: client, table, nowMs: () => nowMs });

/** One container of the function. */
const container = ({ maximumWaitSeconds = 1_800, function: named = name } = {}) => {
  const warnings: unknown[] = [];
  const incidents = createIncidents({
    ...access(),
    function: named,
    maximumWaitSeconds,
    warn: (...told) => warnings.push(told),
  });
  return {
    warnings,
    after: async (...endings: AttemptFacts[]) => {
      for (const ending of endings) incidents.record(ending);
      await incidents.write();
    },
  };
};

const call = (method: 'GET' | 'PUT', status: number) => ({
  operation: safe`x`,
  call: safe`${method} /svc/api/le/1.82/2001/grades/5001/values/301`,
  status,
  durationMs: 1,
  mayHaveActed: false,
  priority: 'normal' as const,
});
const refusal = (more: Partial<Failure> = {}): Failure => ({
  kind: 'credentials',
  message: safe`The platform answered with 403 Invalid token`,
  remedy: 'Rotate it.',
  operation: safe`PUT /svc/api/le/1.82/2001/grades/5001/values/301`,
  status: 403,
  ...more,
});
const done: AttemptFacts = {
  outcome: 'done',
  failure: undefined,
  calls: [call('PUT', 200)],
  asService: true,
  again: false,
};
const refused: AttemptFacts = { ...done, outcome: 'waiting', failure: refusal(), calls: [call('PUT', 403)] };
const denied: AttemptFacts = {
  ...refused,
  failure: { kind: 'aws-refused', message: safe`AWS refuses sqs:SendMessage`, remedy: 'Allow it.' },
  calls: [],
};
const credential = () => readIncident(access());

describe('the service’s credential', () => {
  test('that is refused for a change is an incident, since its first refusal and until its last', async () => {
    const sinceMs = nowMs;
    const one = container();
    await one.after(refused);
    nowMs += 29 * minuteMs;
    await container({ function: 'enrollment-create' }).after(refused);
    expect(await credential()).toEqual({
      kind: 'credentials',
      sinceMs,
      lastMs: nowMs,
      function: 'enrollment-create',
      message: 'The platform answered with 403 Invalid token',
      remedy: 'Rotate it.',
    });
  });

  test('that is left alone after a refusal is the same incident, though no call is made', async () => {
    const one = container();
    await one.after(refused);
    nowMs += minuteMs;
    const { operation, ...unasked } = refusal();
    await one.after({ ...refused, failure: unasked, calls: [] });
    expect(await credential()).toMatchObject({ lastMs: nowMs, sinceMs: nowMs - minuteMs });
  });

  test('is taken again with the first change of a container that has met the incident', async () => {
    const one = container();
    await one.after(refused);
    await one.after({ ...done, calls: [call('GET', 200)] });
    expect(await credential()).toBeDefined();
    await one.after(done);
    expect(await credential()).toBeUndefined();
  });

  test('is taken again with the first change of a message that came before, whichever container has it', async () => {
    await container().after(refused);
    await container().after({ ...done, again: true, asService: false });
    expect(await credential()).toBeDefined();
    await container().after({ ...done, again: true });
    expect(await credential()).toBeUndefined();
  });

  test('that is refused once more has a new beginning', async () => {
    const one = container();
    await one.after(refused);
    await one.after(done);
    nowMs += minuteMs;
    await one.after(refused);
    expect(await credential()).toMatchObject({ sinceMs: nowMs });
  });

  test('is not refused any more where nobody has met it for longer than messages wait', async () => {
    await container().after(refused);
    nowMs += 60 * minuteMs + 1_000;
    expect(await credential()).toBeUndefined();
    await container({ maximumWaitSeconds: 7_200 }).after(refused);
    nowMs += 239 * minuteMs;
    expect(await credential()).toBeDefined();
    nowMs += 2 * minuteMs;
    expect(await credential()).toBeUndefined();
  });
});

test('a user’s key, a read, a right on AWS and what waiting heals are none: the messages’ records tell them', async () => {
  const read = { ...refused, failure: refusal({ operation: safe`GET /svc/api/x` }) };
  const passing = { ...refused, failure: refusal({ kind: 'unavailable' }) };
  await container().after({ ...refused, asService: false }, read, denied, passing);
  expect(writes).toEqual([]);
});

describe('what it costs', () => {
  test('nothing where all is well: neither a write nor a read, however many messages are done', async () => {
    const one = container();
    for (let batch = 0; batch < 100; batch += 1) await one.after(done, done, done);
    expect(writes).toEqual([]);
  });

  test('a write a minute and container while it lasts, and one when it is over', async () => {
    const one = container();
    await one.after(refused, refused, refused);
    for (let second = 0; second < 59; second += 1) {
      nowMs += 1_000;
      await one.after(refused);
    }
    // The first finds that there is none yet.
    expect(writes).toEqual(['UpdateItem', 'UpdateItem']);
    nowMs += 1_000;
    await one.after(refused);
    expect(writes).toHaveLength(3);
    for (let again = 0; again < 50; again += 1) await one.after(done);
    expect(writes).toHaveLength(4);
  });

  test('the table does not keep it: its time to live is over when the incident is', async () => {
    await container().after(refused);
    const { Item } = await client.call('GetItem', {
      TableName: table,
      Key: { resource: { S: 'incident/service-credential' } },
    });
    expect(Number(Item?.expires?.N)).toBe(nowMs / 1000 + 3_600);
  });
});

test('a table that cannot be written is told, and stops nothing', async () => {
  await tables.fault({ action: 'UpdateItem', type: 'AccessDeniedException', times: 1 });
  const one = container();
  await one.after(refused);
  expect(one.warnings).toEqual([
    ['an incident could not be written down', { error: 'AccessDeniedException' }],
  ]);
});

test('a table that does not answer is not waited for', async () => {
  await tables.fault({ action: 'UpdateItem', name: table, hang: true, times: 1 });
  const one = container();
  await one.after(refused);
  expect(one.warnings).toHaveLength(1);
});
