import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  chooseWrites,
  comparedFields,
  type Segment,
  segments,
} from '../../../lib/options/reconcile/choose-writes.ts';
import type { Attributes, DynamoDb } from '../../../lib/runtime/aws/dynamodb.ts';
import { createQuickDynamoDb } from '../../../lib/runtime/aws/dynamodb-quick.ts';
import type { JobStore } from '../../../lib/runtime/jobs/store.ts';
import { loadIntegrations } from '../../../lib/stage/integrations.ts';
import { localClient } from '../../local/aws/aws.ts';
import { isRecent, startGeneratedLedger } from './generated-ledger.ts';

const selection = { sinceMs: Date.now() - 7_200_000, runId: 'one', nights: 28, night: 3, share: 0 };
const all: Segment[] = Array.from({ length: segments }, (_, segment) => ({ segment }));
const read = async (
  items: number,
  dynamodbOf: (dynamodb: DynamoDb) => DynamoDb = (same) => same,
  // Its time is always over: of each segment one page is read.
  untilMs = 0,
) => {
  const ledger = await startGeneratedLedger({ items, orgUnits: 50, nowMs: Date.now() });
  const stored = new Map<string, string>();
  const pieces: string[] = [];
  const uploadLines = async (key: string, lines: Iterable<string> | AsyncIterable<string>) => {
    let text = '';
    for await (const line of lines) {
      text += line;
      pieces.push(line);
    }
    stored.set(key, text);
  };
  const store = { uploadLines } as Partial<JobStore> as JobStore;
  const table = {
    dynamodb: dynamodbOf(createQuickDynamoDb(localClient(ledger.url))),
    table: 'ledger',
    nowMs: Date.now,
  };
  let entries = 0;
  let steps = 0;
  const selected = { recent: 0, sample: 0, slice: 0 };
  try {
    for (let left = all; left.length > 0; ) {
      steps += 1;
      const keyOf = (segment: number): string => `${steps}-${segment}`;
      const chosen = await chooseWrites({ from: left, untilMs, keyOf }, selection, { store, table });
      entries += chosen.entries;
      for (const reason of ['recent', 'sample', 'slice'] as const)
        selected[reason] += chosen.selected[reason];
      ({ left } = chosen);
    }
  } finally {
    await ledger.close();
  }
  return { stored, pieces, entries, steps, selected };
};

test('the segments of a ledger are read together, from where their time was over, each item once', async () => {
  const items = 15_000;
  const { stored, entries, steps, selected } = await read(items);
  expect(entries).toBe(items);
  expect(steps).toBeGreaterThan(2);
  const lines = [...stored.values()].flatMap((text) => text.split('\n').slice(0, -1));
  const recent = lines.filter((line) => line.startsWith('0\t'));
  expect(recent).toHaveLength(Array.from({ length: items }, (_, at) => at).filter(isRecent).length);
  expect(new Set(recent.map((line) => JSON.parse(line.split('\t').at(-1) ?? '').resource)).size).toBe(
    recent.length,
  );
  expect(selected).toEqual({ recent: recent.length, sample: 0, slice: lines.length - recent.length });
  expect(Math.abs(selected.slice - (items - recent.length) / selection.nights)).toBeLessThan(150);
});

test('all pages are read in one step that has the time', async () => {
  expect(await read(15_000, undefined, Number.POSITIVE_INFINITY)).toMatchObject({
    entries: 15_000,
    steps: 1,
  });
});

test('of what is read, grades and enrollments alone count, unless their claims were taken back', async () => {
  const asked: unknown[] = [];
  const withOthers = (dynamodb: DynamoDb): DynamoDb => ({
    ...dynamodb,
    call: async (action, input, options) => {
      asked.push(Object.values(input.ExpressionAttributeValues as object));
      const { Items = [], ...answer } = await dynamodb.call(action, input, options);
      const others: Attributes[] = [
        { ...Items[0], resource: { S: 'grade/2001' } },
        { resource: { S: 'grade/2001/5001/301' }, claimId: { S: 'c' } },
      ];
      return { ...answer, Items: [...Items, ...others] };
    },
  });
  const { entries, pieces } = await read(10, withOthers);
  expect(entries).toBe(10);
  expect(asked).toEqual(Array(segments).fill([{ S: 'grade/' }, { S: 'enrollment/' }]));
  expect(pieces).not.toContain('');
});

test('a segment that cannot be read ends the others, and tells why', async () => {
  let calls = 0;
  const failing = (dynamodb: DynamoDb): DynamoDb => ({
    ...dynamodb,
    call: (action, input, options) => {
      calls += 1;
      return input.Segment === 2
        ? Promise.reject(new Error('It may not'))
        : dynamodb.call(action, input, options);
    },
  });
  await expect(read(1_000_000, failing)).rejects.toThrow('It may not');
  expect(calls).toBe(segments);
});

test('what is read of the ledger is all that is written of grades and enrollments', async () => {
  const integrations = await loadIntegrations();
  for (const name of ['grade-push', 'enrollment-create', 'enrollment-remove']) {
    const integration = integrations.get(name);
    const { Records } = JSON.parse(readFileSync(`events/${name}.json`, 'utf8'));
    const data = integration?.data.parse(JSON.parse(Records[0].body).data);
    const fields = Object.keys(integration?.effect?.wanted(data) ?? {});
    expect(fields.length).toBeGreaterThan(0);
    expect(comparedFields).toEqual(expect.arrayContaining(fields));
  }
});
