import { type Attributes, attribute } from '../../runtime/aws/dynamodb.ts';
import { readItems } from '../../runtime/aws/dynamodb-batches.ts';
import { type IndexRecord, type LetterIndexTable, type List, listIndex, recordIn, shards } from './record.ts';
import type { SubjectFilter } from './subject.ts';

/** A condition that DynamoDB checks, so that it sends only the records that meet it. */
export type Condition = {
  text: string;
  names: Record<string, string>;
  values: Record<string, string | number>;
};

/** For records of messages about a user or an org unit, as far as DynamoDB can check it: `isAbout` decides. */
export const conditionOn = ({ user, orgUnit }: SubjectFilter): Condition | undefined => {
  const asked = Object.entries({ user, orgUnit }).flatMap(([name, id]) =>
    id === undefined ? [] : { name, id },
  );
  if (asked.length === 0) return undefined;
  return {
    text: asked.map(({ name }) => `(#${name} = :${name} OR contains(#named, :${name}))`).join(' AND '),
    names: { ...Object.fromEntries(asked.map(({ name }) => [`#${name}`, name])), '#named': 'named' },
    values: Object.fromEntries(asked.map(({ name, id }) => [`:${name}`, id])),
  };
};

type ListOptions = {
  /** Default: all. */
  kinds?: readonly string[] | undefined;
  condition?: Condition | undefined;
  signal?: AbortSignal;
};

/** All records of a list that meet the condition, or those of some kinds, in no order. @throws if the table cannot be read. */
export const listed = async (
  table: LetterIndexTable,
  list: List,
  { kinds, condition, signal }: ListOptions = {},
): Promise<IndexRecord[]> => {
  const places = kinds === undefined ? [''] : [...new Set(kinds)].map((kind) => `${kind} `);
  const found: IndexRecord[] = [];
  const shared = sharing();
  const read = async (shard: number, place: string): Promise<void> => {
    const input = {
      TableName: table.table,
      IndexName: listIndex,
      KeyConditionExpression: `#list = :list${place && ' AND begins_with(#place, :place)'}`,
      ...(condition && { FilterExpression: condition.text }),
      ExpressionAttributeNames: { '#list': 'list', ...(place && { '#place': 'place' }), ...condition?.names },
      ExpressionAttributeValues: valuesOf({
        ':list': `${list}.${shard}`,
        ...(place && { ':place': place }),
        ...condition?.values,
      }),
    };
    for await (const items of pages(table, 'Query', { input, signal }))
      found.push(...recordsIn(items, table, shared));
  };
  const shardNumbers = Array.from({ length: shards }, (_, shard) => shard);
  await Promise.all(places.flatMap((place) => shardNumbers.map((shard) => read(shard, place))));
  return found;
};

/** Every record that meets the condition, including those of messages that have ended. @throws if the table cannot be read. */
export const scanned = async (
  table: LetterIndexTable,
  condition: Condition,
  { signal }: { signal?: AbortSignal } = {},
): Promise<IndexRecord[]> => {
  const found: IndexRecord[] = [];
  await Promise.all(
    Array.from({ length: shards }, async (_, segment) => {
      const input = {
        TableName: table.table,
        Segment: segment,
        TotalSegments: shards,
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

/**
 * The records of those messages that have one. `isOld`: without the changes of the last seconds, for half the price. @throws if the
 * table cannot be read.
 */
export const recordsOf = async (
  table: LetterIndexTable,
  messages: readonly string[],
  { signal, isOld = false }: { signal?: AbortSignal; isOld?: boolean } = {},
): Promise<Map<string, IndexRecord>> => {
  const found = new Map<string, IndexRecord>();
  const keys = [...new Set(messages)].map((message) => ({ message: attribute(message) }));
  const use = (item: Attributes): void => {
    for (const record of recordsIn([item], table)) found.set(record.message, record);
  };
  await readItems(table, keys, { use, signal, isConsistent: !isOld });
  return found;
};

type PageRequest = {
  input: { TableName: string } & Record<string, unknown>;
  signal?: AbortSignal | undefined;
};

async function* pages(
  { dynamodb }: LetterIndexTable,
  action: 'Query' | 'Scan',
  { input, signal }: PageRequest,
): AsyncGenerator<Attributes[]> {
  let from: Attributes | undefined;
  do {
    const { Items = [], LastEvaluatedKey } = await dynamodb.call(
      action,
      { ...input, ...(from && { ExclusiveStartKey: from }) },
      { signal },
    );
    yield Items;
    from = LastEvaluatedKey;
  } while (from);
}

const recordsIn = (
  items: Attributes[],
  { nowMs }: LetterIndexTable,
  shared?: (text: string) => string,
): IndexRecord[] => items.flatMap((item) => recordIn(item, nowMs(), shared) ?? []);

/** Most letters say the same as others: their texts are kept once, which is a quarter of the memory. */
const sharing = () => {
  const known = new Map<string, string>();
  return (text: string): string => {
    const same = known.get(text);
    if (same !== undefined) return same;
    if (known.size < maxShared) known.set(text, text);
    return text;
  };
};

const maxShared = 10_000;

const valuesOf = (values: Record<string, string | number>): Attributes =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, attribute(value)]));
