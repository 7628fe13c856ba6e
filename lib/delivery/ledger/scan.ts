import type { Attributes } from '../../runtime/aws/dynamodb.ts';
import { attributesOfWritten, type LedgerTableOptions, type Written, writtenIn } from './table.ts';

/** `next`: where the next page begins; undefined after the last. */
export type LedgerPage = { entries: ({ resource: string } & Written)[]; next: Attributes | undefined };

/** Segments can be read at the same time. */
export type Place = { segment: number; segments: number; from?: Attributes | undefined };

/** Kinds of resources, as in `grade/`, and the fields to read: an item holds twice as much that a reader does not need. */
type Read = { kinds: readonly string[]; fields: readonly string[]; place: Place; signal?: AbortSignal };

/**
 * Reads one page, 1 MB of the table at most. It is not consistent: changes of the last seconds may be missing.
 * @throws if the table cannot be read.
 */
export const ledgerPage = async (
  { dynamodb, table, nowMs }: LedgerTableOptions,
  { kinds, fields, place, signal }: Read,
): Promise<LedgerPage> => {
  const { segment, segments, from } = place;
  const attributes = attributesOfWritten(fields);
  const { Items = [], LastEvaluatedKey } = await dynamodb.call(
    'Scan',
    {
      TableName: table,
      ...{ Segment: segment, TotalSegments: segments },
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
    const isOver = Number(raw.expires?.N) * 1000 < nowMs();
    return resource === undefined || isOver ? [] : { resource, ...writtenIn(raw, fields) };
  });
  return { entries, next: LastEvaluatedKey };
};
