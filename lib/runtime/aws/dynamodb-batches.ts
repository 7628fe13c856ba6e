import { setTimeout as sleep } from 'node:timers/promises';
import type { Attributes, DynamoDb } from './dynamodb.ts';
import { chunksOf, inParallel } from './parallel.ts';

type Table = { dynamodb: DynamoDb; table: string };

/** Limits of one call. */
const [maxKeys, maxRequests] = [100, 25];
/** Number of requests for what DynamoDB leaves unread. */
const maxTries = 10;

type Reading = { signal?: AbortSignal | undefined; isConsistent?: boolean };

/** Calls `use` with the existing items of these keys. @throws if DynamoDB leaves some of them unread. */
export const readItems = (
  { dynamodb, table }: Table,
  keys: readonly Attributes[],
  { use, signal, isConsistent = false }: Reading & { use(item: Attributes): void },
): Promise<void> =>
  inParallel(chunksOf(keys, maxKeys), async (Keys) => {
    let asked: Record<string, object> = { [table]: { Keys, ConsistentRead: isConsistent } };
    for (let attempt = 1; Object.keys(asked).length > 0; attempt += 1) {
      if (attempt > maxTries) throw leftUnread();
      if (attempt > 1) await sleep(50 * attempt, undefined, signal && { signal });
      const input = { RequestItems: asked };
      const { Responses = {}, UnprocessedKeys = {} } = await dynamodb.call('BatchGetItem', input, { signal });
      for (const item of Responses[table] ?? []) use(item);
      asked = UnprocessedKeys;
    }
  });

/** The caller may try again. */
const leftUnread = (): Error =>
  Object.assign(new Error('DynamoDB leaves some of the keys unread'), {
    name: 'ProvisionedThroughputExceededException',
    $metadata: {},
  });

/** `requests` are in the form of BatchWriteItem. Writing them twice does no harm. */
export const writeItems = (
  { dynamodb, table }: Table,
  requests: Iterable<object> | AsyncIterable<object>,
): Promise<void> =>
  inParallel(groupsOf(requests, maxRequests), async (group) => {
    let left = group;
    for (let attempt = 1; left.length > 0; attempt += 1) {
      const asked = { RequestItems: { [table]: left } };
      left = (await dynamodb.call('BatchWriteItem', asked)).UnprocessedItems?.[table] ?? [];
      if (left.length > 0) await sleep(Math.min(5_000, 50 * attempt ** 2));
    }
  });

async function* groupsOf<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  size: number,
): AsyncGenerator<Item[]> {
  let group: Item[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
