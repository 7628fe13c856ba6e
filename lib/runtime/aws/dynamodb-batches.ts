import { setTimeout as sleep } from 'node:timers/promises';
import type { Attributes, DynamoDb } from './dynamodb.ts';
import { groupsOf, inParallel } from './parallel.ts';

type Table = { dynamodb: DynamoDb; table: string };

/** Limits of one call. */
const [maxKeys, maxRequests] = [100, 25];
/** Number of requests for what DynamoDB leaves unread. */
const maxTries = 10;

type ReadOptions = { signal?: AbortSignal | undefined; isConsistent?: boolean };

/** Calls `use` with the existing items of these keys. @throws if DynamoDB leaves some of them unread. */
export const readItems = (
  { dynamodb, table }: Table,
  keys: readonly Attributes[],
  { use, signal, isConsistent = false }: ReadOptions & { use(item: Attributes): void },
): Promise<void> =>
  inParallel(groupsOf(keys, maxKeys), async (Keys) => {
    let RequestItems: object = { [table]: { Keys, ConsistentRead: isConsistent } };
    for (let attempt = 1; Object.keys(RequestItems).length > 0; attempt += 1) {
      if (attempt > maxTries) throw leftUnread();
      if (attempt > 1) await sleep(50 * attempt, undefined, signal && { signal });
      const answer = await dynamodb.call('BatchGetItem', { RequestItems }, { signal });
      for (const item of answer.Responses?.[table] ?? []) use(item);
      RequestItems = answer.UnprocessedKeys ?? {};
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
    let left: object[] = group;
    for (let attempt = 1; left.length > 0; attempt += 1) {
      const answer = await dynamodb.call('BatchWriteItem', { RequestItems: { [table]: left } });
      left = answer.UnprocessedItems?.[table] ?? [];
      if (left.length > 0) await sleep(Math.min(5_000, 50 * attempt ** 2));
    }
  });
