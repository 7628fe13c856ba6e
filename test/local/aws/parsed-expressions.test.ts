import { expect, test } from 'vitest';
import { attribute, undefinedIfConditionFails } from '../../../lib/runtime/aws/dynamodb.ts';
import { tablesForTests } from './for-tests.ts';

const dynamodb = tablesForTests('items').client();

/** Sets the version, which must be older. */
const set = (version: string | number, more: object = {}) =>
  undefinedIfConditionFails(() =>
    dynamodb.call('UpdateItem', {
      TableName: 'items',
      Key: { resource: attribute('a') },
      ReturnValues: 'ALL_NEW',
      UpdateExpression: 'SET #version = :version',
      ConditionExpression: 'attribute_not_exists(#version) OR #version < :version',
      ExpressionAttributeNames: { '#version': 'version' },
      ExpressionAttributeValues: { ':version': attribute(version), ...more },
    }),
  );
const versionAfter = async (version: number) => (await set(version))?.Attributes?.version?.N;

test('an expression that was met before is of the values that are given now', async () => {
  expect([
    await versionAfter(1),
    await versionAfter(3),
    await versionAfter(2),
    await versionAfter(4),
  ]).toEqual(['1', '3', undefined, '4']);
});

test('and is refused where one of them is not used, also the second time', async () => {
  const unused = /unused in expressions: keys: {:other}/;
  await expect(set(5, { ':other': attribute(1) })).rejects.toThrow(unused);
  await expect(set(5, { ':other': attribute(1) })).rejects.toThrow(unused);
});

test('and tells a text from a number', async () => {
  expect(await set('6')).toBeUndefined();
  expect(await versionAfter(6)).toBe('6');
});

test('bounds are compared each time', async () => {
  const between = (low: number, high: number) =>
    dynamodb.call('Scan', {
      TableName: 'items',
      FilterExpression: 'version BETWEEN :low AND :high',
      ExpressionAttributeValues: { ':low': attribute(low), ':high': attribute(high) },
    });
  expect((await between(1, 9)).Items).toHaveLength(1);
  await expect(between(9, 1)).rejects.toThrow('upper bound to be greater');
});
