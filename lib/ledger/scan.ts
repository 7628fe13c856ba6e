import type { Attributes } from '../aws/dynamodb.ts';
import { type Item, itemIn, type LedgerTableOptions } from './table.ts';

/** A page of the ledger, and where the next one begins; undefined: it was the last. */
export type LedgerPage = { entries: { resource: string; item: Item }[]; next: Attributes | undefined };

/** The segments can be read at the same time. */
export type Place = { segment: number; segments: number; from?: Attributes | undefined };

/**
 * Reads a page of at most 1 MB of what was done to resources of these kinds, as in `grade/`. It is not consistent: of the last seconds
 * something may be missing. @throws where the table cannot be read.
 */
export const ledgerPage = async (
  { dynamodb, table, nowMs }: LedgerTableOptions,
  { kinds, place, signal }: { kinds: readonly string[]; place: Place; signal?: AbortSignal },
): Promise<LedgerPage> => {
  const { segment, segments, from } = place;
  const { Items = [], LastEvaluatedKey } = await dynamodb.call(
    'Scan',
    {
      TableName: table,
      ...{ Segment: segment, TotalSegments: segments },
      FilterExpression: kinds.map((_, at) => `begins_with(#resource, :${at})`).join(' OR '),
      ExpressionAttributeNames: { '#resource': 'resource' },
      ExpressionAttributeValues: Object.fromEntries(kinds.map((kind, at) => [`:${at}`, { S: kind }])),
      ...(from && { ExclusiveStartKey: from }),
    },
    signal === undefined ? {} : { signal },
  );
  const entries = Items.flatMap((raw) => {
    const resource = raw.resource?.S;
    const isOver = Number(raw.expires?.N) * 1000 < nowMs();
    return resource === undefined || isOver ? [] : { resource, item: itemIn(raw) };
  });
  return { entries, next: LastEvaluatedKey };
};
