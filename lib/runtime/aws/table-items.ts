import { attribute, type DynamoDb, undefinedIfConditionFails } from './dynamodb.ts';

/** Items in the ledger's table that are not the ledger's: their keys have other prefixes. */
export type ItemTable = {
  dynamodb: DynamoDb;
  table: string;
  nowMs(): number;
};

type Values = Record<string, string | number>;

const keyOf = (resource: string) => ({ resource: { S: resource } });

/** @throws if the table cannot be read. */
export const readItem = async (
  { dynamodb, table, nowMs }: ItemTable,
  key: string,
): Promise<Record<string, string | number | undefined> | undefined> => {
  const get = { TableName: table, Key: keyOf(key), ConsistentRead: true };
  const { Item } = await dynamodb.call('GetItem', get);
  // DynamoDB removes expired items late, up to days.
  if (Item === undefined || Number(Item.expires?.N) * 1000 <= nowMs()) return undefined;
  return Object.fromEntries(
    Object.entries(Item).map(([name, { N, S }]) => [name, N === undefined ? S : Number(N)]),
  );
};

/** Numbers to `add` start at 0. False: only an existing item that has not expired was to be changed, and there is none. */
export const updateItem = async (
  { dynamodb, table, nowMs, abortSignal }: ItemTable & { abortSignal: AbortSignal },
  key: string,
  { set, add = {}, onlyOpen = false }: { set: Values; add?: Record<string, number>; onlyOpen?: boolean },
): Promise<boolean> => {
  const added = Object.keys(add);
  const given = { ...set, ...add, ...(onlyOpen ? { now: Math.floor(nowMs() / 1000) } : {}) };
  const update = {
    TableName: table,
    Key: keyOf(key),
    UpdateExpression: [
      `SET ${Object.keys(set)
        .map((name) => `#${name} = :${name}`)
        .join(', ')}`,
      ...(added.length > 0 ? [`ADD ${added.map((name) => `#${name} :${name}`).join(', ')}`] : []),
    ].join(' '),
    ...(onlyOpen ? { ConditionExpression: 'expires > :now' } : {}),
    // Some of the names are reserved words of DynamoDB.
    ExpressionAttributeNames: Object.fromEntries(
      [...Object.keys(set), ...added].map((name) => [`#${name}`, name]),
    ),
    ExpressionAttributeValues: Object.fromEntries(
      Object.entries(given).map(([name, value]) => [`:${name}`, attribute(value)]),
    ),
  };
  const write = () => dynamodb.call('UpdateItem', update, { signal: abortSignal });
  return (await undefinedIfConditionFails(write)) !== undefined;
};

/** Time limit at the end of an invocation, in milliseconds: settled messages must not be lost because of it. */
const writingMs = 2_000;

type Write = { write(abortSignal: AbortSignal): Promise<unknown>; failed(error: unknown): void };

/** Never throws: records beside the ledger must not stop anything. */
export const writeInReserve = async (writes: readonly Write[]): Promise<void> => {
  if (writes.length === 0) return;
  const late = AbortSignal.timeout(writingMs);
  await Promise.all(writes.map(({ write, failed }) => write(late).catch(failed)));
};
