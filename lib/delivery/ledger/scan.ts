import type { Attributes } from '../../runtime/aws/dynamodb.ts';
import { attributesOfWritten, type LedgerTableOptions, type Written, writtenIn } from './table.ts';

/** A page of the ledger, and where the next one begins; undefined: it was the last. */
export type LedgerPage = { entries: ({ resource: string } & Written)[]; next: Attributes | undefined };

/** The segments can be read at the same time. */
export type Place = { segment: number; segments: number; from?: Attributes | undefined };

/** Kinds of resources, as in `grade/`, and which of their fields are read: an item has twice as much that is of no use to a reader. */
type Read = { kinds: readonly string[]; fields: readonly string[]; place: Place; signal?: AbortSignal };

/**
 * Reads a page, of what is 1 MB at most in the table, of what was done to resources. It is not consistent: of the last seconds something
 * may be missing. @throws where the table cannot be read.
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
      // That of the resource is the first.
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
