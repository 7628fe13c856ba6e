import { setTimeout as sleep } from 'node:timers/promises';
import { type Attributes, attribute } from '../aws/dynamodb.ts';
import { type DeskRecord, type DeskTable, type List, listIndex, recordIn, shards } from './record.ts';

/** A condition on records that DynamoDB checks, so that it need not send the others. */
export type Condition = {
  text: string;
  names: Record<string, string>;
  values: Record<string, string | number>;
};

/** Only records of this function; with `kind`, of that kind alone. */
export type Place = { function: string; kind?: string | undefined };

type ListOptions = { place?: Place | undefined; condition?: Condition | undefined; signal?: AbortSignal };

/** All records of a list that meet the condition, in no order. @throws where the table cannot be read. */
export const listed = async (
  table: DeskTable,
  list: List,
  { place, condition, signal }: ListOptions = {},
): Promise<DeskRecord[]> => {
  const begin = place && `${place.function} ${place.kind === undefined ? '' : `${place.kind} `}`;
  const query = {
    TableName: table.table,
    IndexName: listIndex,
    KeyConditionExpression: `#list = :list${begin === undefined ? '' : ` AND begins_with(#place, :place)`}`,
    ...(condition && { FilterExpression: condition.text }),
    ExpressionAttributeNames: {
      '#list': 'list',
      ...(begin !== undefined && { '#place': 'place' }),
      ...condition?.names,
    },
  };
  const values = {
    ...(begin !== undefined && { ':place': attribute(begin) }),
    ...valuesOf(condition?.values),
  };
  const found: DeskRecord[] = [];
  await Promise.all(
    Array.from({ length: shards }, async (_, shard) => {
      const given = {
        ...query,
        ExpressionAttributeValues: { ...values, ':list': attribute(`${list}.${shard}`) },
      };
      for await (const items of pages(table, 'Query', { input: given, signal }))
        found.push(...recordsIn(items, table));
    }),
  );
  return found;
};

/** Every record that meets the condition, also of messages that have ended. @throws where the table cannot be read. */
export const scanned = async (
  table: DeskTable,
  condition: Condition,
  { signal }: { signal?: AbortSignal } = {},
): Promise<DeskRecord[]> => {
  const found: DeskRecord[] = [];
  await Promise.all(
    Array.from({ length: shards }, async (_, segment) => {
      const input = {
        TableName: table.table,
        ...{ Segment: segment, TotalSegments: shards },
        FilterExpression: condition.text,
        ExpressionAttributeNames: condition.names,
        ExpressionAttributeValues: valuesOf(condition.values),
      };
      for await (const items of pages(table, 'Scan', { input, signal }))
        found.push(...recordsIn(items, table));
    }),
  );
  return found;
};

/** As many as one call may ask for. */
const maxKeys = 100;

/** Those of these messages that have one. @throws where the table cannot be read. */
export const recordsOf = async (
  table: DeskTable,
  messages: readonly string[],
  { signal }: { signal?: AbortSignal } = {},
): Promise<Map<string, DeskRecord>> => {
  const found = new Map<string, DeskRecord>();
  const ids = [...new Set(messages)];
  const chunks = Array.from({ length: Math.ceil(ids.length / maxKeys) }, (_, at) =>
    ids.slice(at * maxKeys, (at + 1) * maxKeys),
  );
  const read = async (chunk: string[]): Promise<void> => {
    let asked: Record<string, object> = {
      [table.table]: { Keys: chunk.map((message) => ({ message: { S: message } })), ConsistentRead: true },
    };
    for (let attempt = 1; Object.keys(asked).length > 0; attempt += 1) {
      const { Responses = {}, UnprocessedKeys = {} } = await table.dynamodb.call(
        'BatchGetItem',
        { RequestItems: asked },
        signal === undefined ? {} : { signal },
      );
      for (const record of recordsIn(Responses[table.table] ?? [], table)) found.set(record.message, record);
      asked = UnprocessedKeys as typeof asked;
      if (Object.keys(asked).length > 0) await sleep(50 * attempt);
    }
  };
  const worker = async (): Promise<void> => {
    for (let chunk = chunks.pop(); chunk; chunk = chunks.pop()) await read(chunk);
  };
  await Promise.all(Array.from({ length: Math.min(8, chunks.length) }, worker));
  return found;
};

type Reading = { input: { TableName: string } & Record<string, unknown>; signal?: AbortSignal | undefined };

async function* pages(
  { dynamodb }: DeskTable,
  action: 'Query' | 'Scan',
  { input, signal }: Reading,
): AsyncGenerator<Attributes[]> {
  let from: Attributes | undefined;
  do {
    const { Items = [], LastEvaluatedKey } = await dynamodb.call(
      action,
      { ...input, ...(from && { ExclusiveStartKey: from }) },
      signal === undefined ? {} : { signal },
    );
    yield Items;
    from = LastEvaluatedKey;
  } while (from);
}

const recordsIn = (items: Attributes[], { nowMs }: DeskTable): DeskRecord[] =>
  items.flatMap((item) => recordIn(item, nowMs()) ?? []);

const valuesOf = (values: Record<string, string | number> = {}): Attributes =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, attribute(value)]));
