import { expect, test } from 'vitest';
import { failureOf } from '../../../../lib/platform/client/failure-of.ts';
import {
  returningOldItem,
  undefinedIfConditionFails,
  writeReturningOldItem,
} from '../../../../lib/runtime/aws/dynamodb.ts';
import { createDynamoDb } from '../../../../lib/runtime/aws/dynamodb-sdk.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { tablesForTests } from '../../../local/aws/for-tests.ts';

const tables = tablesForTests('ledger');
const TableName = 'ledger';
const Item = { resource: { S: 'a' }, expires: { N: '7' } };

test('the SDK’s client answers and refuses as the call on a message’s way does', async () => {
  const clients = { sdk: createDynamoDb(localClient(tables.url())), quick: tables.client() };
  const answersOf = async ({ call }: typeof clients.sdk) => {
    const update = {
      TableName,
      Key: { resource: { S: 'a' } },
      UpdateExpression: 'SET expires = :now',
      ConditionExpression: 'attribute_not_exists(expires)',
      ExpressionAttributeValues: { ':now': { N: '8' } },
      ...returningOldItem,
    };
    await call('PutItem', { TableName, Item });
    return {
      got: (await call('GetItem', { TableName, Key: { resource: { S: 'a' } } })).Item,
      scanned: (await call('Scan', { TableName })).Items,
      refused: await undefinedIfConditionFails(() => call('UpdateItem', update)),
      found: await writeReturningOldItem(() => call('UpdateItem', update)),
      failed: await call('GetItem', { TableName: 'none', Key: {} }).catch(failureOf),
    };
  };
  const sdk = await answersOf(clients.sdk);
  expect(sdk).toMatchObject({ got: Item, scanned: [Item], found: { done: false, before: Item } });
  expect(sdk).toEqual(await answersOf(clients.quick));
});

test('a signal ends its call, which then counts as not answered', async () => {
  const { call } = createDynamoDb(localClient(tables.url()));
  const aborted = call('Scan', { TableName }, { signal: AbortSignal.abort() });
  expect(failureOf(await aborted.catch((error: unknown) => error)).kind).toBe('unavailable');
});
