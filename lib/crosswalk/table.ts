import { hash } from 'node:crypto';
import { jsonIn } from '../message/json.ts';
import {
  type Attributes,
  attribute,
  type DynamoDb,
  undefinedIfConditionFails,
} from '../runtime/aws/dynamodb.ts';
import { readItems, writeItems } from '../runtime/aws/dynamodb-batches.ts';
import type { CrosswalkKind, CrosswalkSource } from './kinds.ts';

export type NameEntry = {
  /** The platform's ids, in ascending order; with two or more the name is ambiguous. At most `maxIds` of them are kept. */
  ids: number[];
  /** How many further ids it has. */
  more?: number;
  /** The ids it stood for before, if no operator has accepted the move. */
  was?: number[];
};

/** Two decide that a name is ambiguous, and a person is shown five: a placeholder such as `n/a` may have thousands. */
export const maxIds = 5;

/** By name, for one bucket. */
export type Entries = ReadonlyMap<string, NameEntry>;

/** One item of the table. Names are grouped in buckets, so that a million users are 65,536 small items. */
export type BucketItem = { bucket: string; entries: Entries };

export type LastFill = { filledMs: number; names: number };

export type CrosswalkTable = ReturnType<typeof createCrosswalkTable>;

type ReadOptions = { signal?: AbortSignal };

export type CrosswalkAccess = { dynamodb: DynamoDb; table: string; nowMs(): number };

/** Spreads names evenly over the buckets of a kind and source: the first digits of a digest, as `0a1f`. */
export const shardOf = (name: string): string => hash('sha256', name).slice(0, 4);

/** As `userName/file/0a1f`. */
export const bucketOf = (kind: CrosswalkKind, source: CrosswalkSource, name: string): string =>
  `${kind}/${source}/${shardOf(name)}`;

/** The bucket that records the acceptance of a code's move. */
export const acceptedBucketOf = (name: string): string => `accepted/orgUnitCode/${shardOf(name)}`;

/** Whether an operator has accepted this very move, from what it stood for to what it stands for, and not a later one. */
export const isAccepted = ({ ids, was }: NameEntry, accepted: NameEntry | undefined): boolean =>
  accepted !== undefined && sameIds(accepted.ids, ids) && sameIds(accepted.was ?? [], was ?? []);

export const sameIds = (one: readonly number[], other: readonly number[]): boolean =>
  one.length === other.length && one.every((id, at) => id === other[at]);

/** The item that records the fills. */
const fillBucket = 'fill';

/** Number of attempts to write an acceptance while others write to the same bucket. */
const maxTries = 10;

/** Which names of the SIS stand for which ids of the platform. The table can be filled again from its sources. */
export const createCrosswalkTable = (access: CrosswalkAccess) => ({
  /** By bucket; a bucket without an item is left out. Not consistent: changes of the last seconds may be missing. */
  namesIn: (buckets: readonly string[], options?: ReadOptions) => namesIn(access, buckets, options),

  /** Writes whole items, and removes those without entries. Writing them twice does no harm. */
  put: (items: Iterable<BucketItem> | AsyncIterable<BucketItem>) =>
    writeItems(access, requestsOf(access, items)),

  /** When this bucket was last written; undefined if it does not exist. */
  writtenMs: async (bucket: string) => {
    const written = (await itemAt(access, bucket))?.filledMs?.N;
    return written === undefined ? undefined : Number(written);
  },

  /** Accepts the move of a code, as its entry states it. */
  accept: (name: string, entry: NameEntry) => accept(access, name, entry),

  /** When each kind was last filled from each source, by keys such as `orgUnitCode/platform`. */
  fills: () => fills(access),

  noteFill: async (of: string, filled: LastFill) => {
    await access.dynamodb.call('UpdateItem', {
      TableName: access.table,
      Key: { bucket: { S: fillBucket } },
      UpdateExpression: 'SET #of = :filled',
      ExpressionAttributeNames: { '#of': of },
      ExpressionAttributeValues: { ':filled': attribute(JSON.stringify(filled)) },
    });
  },
});

const namesIn = async (
  access: CrosswalkAccess,
  buckets: readonly string[],
  { signal }: ReadOptions = {},
): Promise<Map<string, Entries>> => {
  const found = new Map<string, Entries>();
  const keys = [...new Set(buckets)].map((bucket) => ({ bucket: attribute(bucket) }));
  const use = ({ bucket, names }: Attributes): void => {
    if (bucket?.S !== undefined) found.set(bucket.S, entriesIn(names?.S));
  };
  await readItems(access, keys, { use, signal });
  return found;
};

async function* requestsOf(access: CrosswalkAccess, items: Iterable<BucketItem> | AsyncIterable<BucketItem>) {
  for await (const { bucket, entries } of items)
    yield entries.size === 0
      ? { DeleteRequest: { Key: { bucket: attribute(bucket) } } }
      : { PutRequest: { Item: itemOf(access, bucket, entries) } };
}

const accept = async (access: CrosswalkAccess, name: string, { ids, was = [] }: NameEntry): Promise<void> => {
  const { dynamodb, table } = access;
  const bucket = acceptedBucketOf(name);
  for (let tries = 1; ; tries += 1) {
    const before = (await itemAt(access, bucket))?.names;
    const entries = new Map(entriesIn(before?.S)).set(name, { ids, was });
    // Another operator may accept another code of the bucket at the same time.
    const put = {
      TableName: table,
      Item: itemOf(access, bucket, entries),
      ConditionExpression: before === undefined ? 'attribute_not_exists(#names)' : '#names = :before',
      ExpressionAttributeNames: { '#names': 'names' },
      ...(before && { ExpressionAttributeValues: { ':before': before } }),
    };
    if ((await undefinedIfConditionFails(() => dynamodb.call('PutItem', put))) !== undefined) return;
    if (tries === maxTries) throw new Error(`${bucket} is changed by others all the time`);
  }
};

const fills = async (access: CrosswalkAccess): Promise<Map<string, LastFill>> => {
  const fills = new Map<string, LastFill>();
  const use = ({ bucket: _, ...found }: Attributes): void => {
    for (const [of, { S: text = '' }] of Object.entries(found)) {
      const filled = jsonIn(text) as LastFill | undefined;
      if (filled !== undefined) fills.set(of, filled);
    }
  };
  // The functions may read items in batches only.
  const key = { bucket: attribute(fillBucket) };
  await readItems(access, [key], { use, isConsistent: true });
  return fills;
};

const itemAt = async (
  { dynamodb, table }: CrosswalkAccess,
  bucket: string,
): Promise<Attributes | undefined> => {
  const get = { TableName: table, Key: { bucket: { S: bucket } }, ConsistentRead: true };
  return (await dynamodb.call('GetItem', get)).Item;
};

const itemOf = ({ nowMs }: CrosswalkAccess, bucket: string, entries: Entries) => ({
  bucket: attribute(bucket),
  names: attribute(textOf(entries)),
  filledMs: attribute(nowMs()),
});

/**
 * Pairs, because foreign names must not be keys of JSON: Node 24 misreads an escaped key after another one with a backslash
 * (nodejs/node#63785).
 */
const textOf = (entries: Entries): string => JSON.stringify([...entries]);

/** Only the fill and operators write there, so nothing else is checked. */
const entriesIn = (text = '[]'): Entries => new Map((jsonIn(text) ?? []) as [string, NameEntry][]);

/** Parses `2001,2002`. */
export const idsIn = (text: string): number[] => (text === '' ? [] : text.split(',').map(Number));

/** Parses `1,2,3,4,5,+59995`, of which the last is the number of further ids, and the whole list that 1.0.0 wrote. */
export const meaningIn = (text: string): Pick<NameEntry, 'ids' | 'more'> => {
  const [listed = '', listedMore] = text.split(',+');
  const ids = idsIn(listed);
  const more = Number(listedMore ?? 0) + Math.max(0, ids.length - maxIds);
  return { ids: ids.slice(0, maxIds), ...(more > 0 && { more }) };
};
