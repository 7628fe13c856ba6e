import type { Attributes, DynamoDb } from '../../runtime/aws/dynamodb.ts';
import { decodeItem, stateName, stored, versionName } from './codec.ts';
import { changesIn, type FieldChange, type ResourceState } from './item.ts';
import { keyOf } from './table.ts';

// What others than the functions read.

export type LedgerAccess = { dynamodb: DynamoDb; table: string; nowMs(): number };

export type ReadResource = (resource: string) => Promise<ResourceState | undefined>;

export const createLedgerReader =
  ({ dynamodb, table, nowMs }: LedgerAccess): ReadResource =>
  async (resource) => {
    const input = { TableName: table, Key: keyOf(resource), ConsistentRead: true };
    return decodeItem((await dynamodb.call('GetItem', input)).Item, nowMs());
  };

/** The last change of each field, and the lock under which the resource was written last. */
export type Written = { resource: string; lockId: string; changes: Record<string, FieldChange> };

/** `next`: where the next page begins; undefined after the last. */
export type LedgerPage = { entries: Written[]; next: Attributes | undefined };

/** Segments can be read at the same time. */
export type ScanSegment = { segment: number; segments: number; from?: Attributes | undefined };

const alwaysRead = ['resource', 'expires', stored.lockId, 'lock', stored.busyUntilMs];

/** Kinds of resources, as in `grade/`, and the fields to read. */
type ScanRequest = {
  kinds: readonly string[];
  fields: readonly string[];
  place: ScanSegment;
  signal?: AbortSignal;
};

/**
 * Reads one page, 1 MB of the table at most. It is not consistent: changes of the last seconds may be missing.
 * @throws if the table cannot be read.
 */
export const ledgerPage = async (
  { dynamodb, table, nowMs }: LedgerAccess,
  { kinds, fields, place, signal }: ScanRequest,
): Promise<LedgerPage> => {
  const { segment, segments, from } = place;
  const attributes = [...alwaysRead, ...fields.flatMap((field) => [versionName(field), stateName(field)])];
  const { Items = [], LastEvaluatedKey } = await dynamodb.call(
    'Scan',
    {
      TableName: table,
      Segment: segment,
      TotalSegments: segments,
      FilterExpression: kinds.map((_, at) => `begins_with(#0, :${at})`).join(' OR '),
      ProjectionExpression: attributes.map((_, at) => `#${at}`).join(', '),
      // The resource's attribute is the first.
      ExpressionAttributeNames: Object.fromEntries(attributes.map((name, at) => [`#${at}`, name])),
      ExpressionAttributeValues: Object.fromEntries(kinds.map((kind, at) => [`:${at}`, { S: kind }])),
      ...(from && { ExclusiveStartKey: from }),
    },
    { signal },
  );
  const entries = Items.flatMap((raw) => {
    const resource = raw.resource?.S;
    const item = decodeItem(raw, nowMs());
    if (resource === undefined || item === undefined) return [];
    return { resource, lockId: item.lockId, changes: changesIn(item) };
  });
  return { entries, next: LastEvaluatedKey };
};
