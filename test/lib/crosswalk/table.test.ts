import { beforeEach, describe, expect, test } from 'vitest';
import {
  acceptedBucketOf,
  bucketOf,
  type CrosswalkTable,
  createCrosswalkTable,
  isAccepted,
} from '../../../lib/crosswalk/table.ts';
import { failureOf } from '../../../lib/platform/client/failure-of.ts';
import type { DynamoDb } from '../../../lib/runtime/aws/dynamodb.ts';
import { tablesForTests } from '../../local/aws/for-tests.ts';
import { addCrosswalkTable } from '../../local/aws/tables.ts';

const server = tablesForTests('ledger');
const dynamodb = server.client();
let table: CrosswalkTable;
let name = '';
let tables = 0;

beforeEach(async () => {
  tables += 1;
  name = `crosswalk-${tables}`;
  await addCrosswalkTable(server.url(), name);
  table = createCrosswalkTable({ dynamodb, table: name, nowMs: () => 5_000 });
});

const itemOf = (bucket: string, entries: Record<string, { ids: number[]; was?: number[] }>) => ({
  bucket,
  entries: new Map(Object.entries(entries)),
});

describe('a name', () => {
  test('lies in a bucket of its kind and source, by the first digits of its digest', () => {
    // printf MATH-101 | sha256sum
    expect(bucketOf('orgUnitCode', 'platform', 'MATH-101')).toBe('orgUnitCode/platform/b670');
    expect(bucketOf('userName', 'file', 'ä.müller')).toBe('userName/file/ba1e');
    expect(acceptedBucketOf('MATH-101')).toBe('accepted/orgUnitCode/b670');
  });
});

describe('names with backslashes, which Node may misread as keys of JSON (nodejs/node#63785)', () => {
  const names = [
    'a',
    '\\',
    '\n',
    'x\\',
    'x\ny',
    'q"',
    'a"b\\',
    '\u2028',
    'ÄÖ 試験 🎓',
    '__proto__',
    'constructor',
    '2',
    '',
  ];

  test('are what they are, in whatever order they are read', async () => {
    await table.put(
      names.map((each) =>
        itemsOf(each, [
          ['a', { ids: [1] }],
          [each, { ids: [7], was: [8] }],
        ]),
      ),
    );
    for (const each of [...names, ...names.toReversed()]) {
      const found = await table.namesIn([`userName/file/${names.indexOf(each)}`]);
      expect([...found.values()].map((entries) => entries.get(each))).toEqual([{ ids: [7], was: [8] }]);
    }
  });

  const itemsOf = (each: string, entries: [string, { ids: number[]; was?: number[] }][]) => ({
    bucket: `userName/file/${names.indexOf(each)}`,
    entries: new Map(entries),
  });
});

describe('buckets', () => {
  test('are written and read by the thousand, and those without names are removed', async () => {
    const items = Array.from({ length: 1_030 }, (_, at) =>
      itemOf(`userName/file/${at}`, { a: { ids: [at] } }),
    );
    await table.put(items);
    const found = await table.namesIn([...items.map(({ bucket }) => bucket), 'userName/file/none']);
    expect(found.size).toBe(1_030);
    expect(found.get('userName/file/1029')?.get('a')).toEqual({ ids: [1_029] });
    expect(await table.writtenMs('userName/file/1029')).toBe(5_000);
    await table.put([itemOf('userName/file/1029', {})]);
    expect((await table.namesIn(['userName/file/1029'])).size).toBe(0);
    expect(await table.writtenMs('userName/file/1029')).toBeUndefined();
  });

  test('that DynamoDB leaves out are asked for again', async () => {
    let left = 2;
    const busy: DynamoDb = {
      ...dynamodb,
      call: (action, input, options) => {
        const asked = input.RequestItems as Record<string, object[] | { Keys: object[] }>;
        const all = asked?.[name];
        if (left === 0 || all === undefined) return dynamodb.call(action, input, options);
        left -= 1;
        return Promise.resolve(
          Array.isArray(all) ? { UnprocessedItems: { [name]: all } } : { UnprocessedKeys: { [name]: all } },
        );
      },
    };
    const slow = createCrosswalkTable({ dynamodb: busy, table: name, nowMs: () => 0 });
    await slow.put([itemOf('orgUnitCode/file/1', { 'BIO-1': { ids: [1, 2] } })]);
    left = 2;
    const found = await slow.namesIn(['orgUnitCode/file/1']);
    expect(found.get('orgUnitCode/file/1')?.get('BIO-1')).toEqual({ ids: [1, 2] });
    expect(left).toBe(0);
  });
});

test('buckets that DynamoDB leaves out for ever are no reason to ask for ever', async () => {
  let calls = 0;
  const stuck: DynamoDb = {
    ...dynamodb,
    call: async (_, { RequestItems }) => {
      calls += 1;
      return { UnprocessedKeys: RequestItems as Record<string, object> };
    },
  };
  const slow = createCrosswalkTable({ dynamodb: stuck, table: name, nowMs: () => 0 });
  expect(await slow.namesIn(['orgUnitCode/file/1']).catch(failureOf)).toMatchObject({ kind: 'unavailable' });
  expect(calls).toBe(10);
  const signal = AbortSignal.timeout(10);
  await expect(slow.namesIn(['orgUnitCode/file/1'], { signal })).rejects.toThrow('aborted');
  expect(calls).toBe(11);
});

describe('a move', () => {
  test('is accepted as it was told, and no other', async () => {
    const moved = { ids: [200], was: [100] };
    await table.accept('MATH-101', moved);
    const bucket = acceptedBucketOf('MATH-101');
    const accepted = (await table.namesIn([bucket])).get(bucket)?.get('MATH-101');
    expect(accepted).toEqual(moved);
    expect(isAccepted(moved, accepted)).toBe(true);
    expect(isAccepted({ ids: [300], was: [100] }, accepted)).toBe(false);
    expect(isAccepted({ ids: [200], was: [300] }, accepted)).toBe(false);
    expect(isAccepted(moved, undefined)).toBe(false);
  });

  test('is accepted beside others of its bucket at the same time', async () => {
    const names = Array.from({ length: 300_000 }, (_, at) => `C-${at}`);
    const same = Map.groupBy(names, acceptedBucketOf);
    const [bucket = '', alike = []] = [...same].find(([, each]) => each.length > 4) ?? [];
    await Promise.all(alike.slice(0, 4).map((each, at) => table.accept(each, { ids: [at + 1], was: [9] })));
    expect((await table.namesIn([bucket])).get(bucket)?.size).toBe(4);
  });
});

test('what was filled last is told for each kind and source', async () => {
  expect(await table.fills()).toEqual(new Map());
  await table.noteFill('orgUnitCode/platform', { filledMs: 1, names: 2 });
  await table.noteFill('userName/file', { filledMs: 3, names: 4 });
  await table.noteFill('orgUnitCode/platform', { filledMs: 5, names: 6 });
  expect(await table.fills()).toEqual(
    new Map([
      ['orgUnitCode/platform', { filledMs: 5, names: 6 }],
      ['userName/file', { filledMs: 3, names: 4 }],
    ]),
  );
});
