import { hash } from 'node:crypto';
import { jsonIn } from '../../message/json.ts';
import { type Attributes, attribute, type DynamoDb, unlessRefused } from '../../runtime/aws/dynamodb.ts';
import { readItems, writeItems } from '../../runtime/aws/dynamodb-batches.ts';
import type { CrosswalkKind, CrosswalkSource } from './kinds.ts';

/** What a name stands for. */
export type Entry = {
  /** The platform's ids, in ascending order; with two or more the name is ambiguous. */
  ids: number[];
  /** It stood for these before, and nobody has accepted that it moved. */
  was?: number[];
};

/** What the names of one bucket stand for. */
export type Entries = ReadonlyMap<string, Entry>;

/** One item of the table: names lie in buckets, so that a million users are 65,536 small items. */
export type BucketItem = { bucket: string; entries: Entries };

/** The last fill of a kind from a source. */
export type Filled = { filledMs: number; names: number };

export type CrosswalkTable = {
  /** The names of these buckets; a bucket that has no item is left out. Not consistent: of the last seconds something may be missing. */
  namesIn(buckets: readonly string[], options?: Reading): Promise<Map<string, Entries>>;
  /** Writes whole items, and removes those without entries. Written twice they do no harm. */
  put(items: Iterable<BucketItem> | AsyncIterable<BucketItem>): Promise<void>;
  /** When this bucket was written last; undefined: there is none. */
  writtenMs(bucket: string): Promise<number | undefined>;
  /** Accepts that a code moved, as its entry tells it. */
  accept(name: string, entry: Entry): Promise<void>;
  /** When each kind was filled last from each source, as `orgUnitCode/platform`. */
  fills(): Promise<Map<string, Filled>>;
  noteFill(of: string, filled: Filled): Promise<void>;
};

type Reading = { signal?: AbortSignal };

export type CrosswalkAccess = { dynamodb: DynamoDb; table: string; nowMs(): number };

/** Spreads names evenly over the buckets of a kind and source: the first digits of a digest, as `0a1f`. */
export const shardOf = (name: string): string => hash('sha256', name).slice(0, 4);

/** The bucket in which a name lies, as `userName/file/0a1f`. */
export const bucketOf = (kind: CrosswalkKind, source: CrosswalkSource, name: string): string =>
  `${kind}/${source}/${shardOf(name)}`;

/** The bucket in which it lies that the move of a code was accepted. */
export const acceptedBucketOf = (name: string): string => `accepted/orgUnitCode/${shardOf(name)}`;

/** Whether an operator has accepted this move: from what it stood for to what it stands for, not a later one. */
export const isAccepted = ({ ids, was }: Entry, accepted: Entry | undefined): boolean =>
  accepted !== undefined && sameIds(accepted.ids, ids) && sameIds(accepted.was ?? [], was ?? []);

export const sameIds = (one: readonly number[], other: readonly number[]): boolean =>
  one.length === other.length && one.every((id, at) => id === other[at]);

/** The item that tells of the fills. */
const fillBucket = 'fill';

/** How often an acceptance is tried against those of others in the same bucket. */
const maxTries = 10;

/** The crosswalk's table: which names of the SIS stand for which ids of the platform. It can be filled anew from its sources. */
export const createCrosswalkTable = ({ dynamodb, table, nowMs }: CrosswalkAccess): CrosswalkTable => {
  const itemAt = async (bucket: string): Promise<Attributes | undefined> => {
    const asked = { TableName: table, Key: { bucket: { S: bucket } }, ConsistentRead: true };
    return (await dynamodb.call('GetItem', asked)).Item;
  };

  const itemOf = (bucket: string, entries: Entries) => ({
    ...{ bucket: attribute(bucket), names: attribute(textOf(entries)), filledMs: attribute(nowMs()) },
  });

  async function* requestsOf(items: Iterable<BucketItem> | AsyncIterable<BucketItem>) {
    for await (const { bucket, entries } of items)
      yield entries.size === 0
        ? { DeleteRequest: { Key: { bucket: attribute(bucket) } } }
        : { PutRequest: { Item: itemOf(bucket, entries) } };
  }

  return {
    namesIn: async (buckets, { signal } = {}) => {
      const found = new Map<string, Entries>();
      const keys = [...new Set(buckets)].map((bucket) => ({ bucket: attribute(bucket) }));
      const use = ({ bucket, names }: Attributes): void => {
        if (bucket?.S !== undefined) found.set(bucket.S, entriesIn(names?.S));
      };
      await readItems({ dynamodb, table }, keys, { use, signal });
      return found;
    },
    put: (items) => writeItems({ dynamodb, table }, requestsOf(items)),
    writtenMs: async (bucket) => {
      const written = (await itemAt(bucket))?.filledMs?.N;
      return written === undefined ? undefined : Number(written);
    },
    accept: async (name, { ids, was = [] }) => {
      const bucket = acceptedBucketOf(name);
      for (let tries = 1; ; tries += 1) {
        const before = (await itemAt(bucket))?.names;
        const entries = new Map(entriesIn(before?.S)).set(name, { ids, was });
        // Another operator may accept another code of the bucket at the same time.
        const put = {
          TableName: table,
          Item: itemOf(bucket, entries),
          ConditionExpression: before === undefined ? 'attribute_not_exists(#names)' : '#names = :before',
          ExpressionAttributeNames: { '#names': 'names' },
          ...(before && { ExpressionAttributeValues: { ':before': before } }),
        };
        if ((await unlessRefused(() => dynamodb.call('PutItem', put))) !== undefined) return;
        if (tries === maxTries) throw new Error(`${bucket} is changed by others all the time`);
      }
    },
    fills: async () => {
      const { bucket: _, ...fills } = (await itemAt(fillBucket)) ?? {};
      return new Map(
        Object.entries(fills).flatMap(([of, { S: text = '' }]): [string, Filled][] => {
          const filled = jsonIn(text) as Filled | undefined;
          return filled === undefined ? [] : [[of, filled]];
        }),
      );
    },
    noteFill: async (of, filled) => {
      await dynamodb.call('UpdateItem', {
        TableName: table,
        Key: { bucket: { S: fillBucket } },
        UpdateExpression: 'SET #of = :filled',
        ExpressionAttributeNames: { '#of': of },
        ExpressionAttributeValues: { ':filled': attribute(JSON.stringify(filled)) },
      });
    },
  };
};

/** Pairs, as names of others are no keys of JSON: Node 24 misreads an escaped key after another one with a backslash (nodejs/node#63785). */
const textOf = (entries: Entries): string => JSON.stringify([...entries]);

/** Only the fill and operators write there, so no more is checked. */
const entriesIn = (text = '[]'): Entries =>
  new Map(text.startsWith('{') ? entriesInObject(text) : ((jsonIn(text) ?? []) as [string, Entry][]));

/** As versions before 1.0 wrote them: `{"BIO-101":{"ids":[2001],"was":[1999]}}`. Each name is read as a value, not as a key. */
function* entriesInObject(text: string): Generator<[string, Entry]> {
  for (const [, name = '', ids = '', was] of text.matchAll(
    /[{,]("(?:[^"\\]|\\.)*"):\{"ids":\[([\d,]*)\](?:,"was":\[([\d,]*)\])?\}/gy,
  ))
    yield [JSON.parse(name), { ids: idsIn(ids), ...(was !== undefined && { was: idsIn(was) }) }];
}

/** Ids behind each other, as `2001,2002`. */
export const idsIn = (text: string): number[] => (text === '' ? [] : text.split(',').map(Number));
