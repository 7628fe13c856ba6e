import { attribute, type DynamoDb, undefinedIfConditionFails } from '../../runtime/aws/dynamodb.ts';

export type Position = { lastId: string | undefined; refused: number };

export type PositionStore = ReturnType<typeof createPositionStore>;

/** The position in a source up to which changes were sent, kept beside the ledger. */
export const createPositionStore = ({
  dynamodb,
  table,
  name,
  nowMs,
}: {
  dynamodb: DynamoDb;
  table: string;
  name: string;
  nowMs(): number;
}) => {
  const Key = { resource: { S: `changes/${name}` } };
  return {
    /** `lastId` is undefined if nothing was read yet. `refused`: how many notices were refused since the last one that was sent. */
    read: async (signal: AbortSignal): Promise<Position> => {
      const get = { TableName: table, Key, ConsistentRead: true };
      const { Item } = await dynamodb.call('GetItem', get, { signal });
      return { lastId: Item?.lastId?.S, refused: Number(Item?.refused?.N ?? 0) };
    },
    /** False: another run has moved it meanwhile. */
    move: async (from: string | undefined, to: { lastId: string; refused: number }, signal: AbortSignal) => {
      const update = {
        TableName: table,
        Key,
        UpdateExpression: 'SET lastId = :to, refused = :refused, atMs = :now',
        // The write may be sent twice: the second time, it finds its own value.
        ConditionExpression:
          from === undefined
            ? 'attribute_not_exists(lastId) OR lastId = :to'
            : 'lastId = :from OR lastId = :to',
        ExpressionAttributeValues: {
          ':to': attribute(to.lastId),
          ':refused': attribute(to.refused),
          ':now': attribute(nowMs()),
          ...(from !== undefined && { ':from': attribute(from) }),
        },
      };
      return (
        (await undefinedIfConditionFails(() => dynamodb.call('UpdateItem', update, { signal }))) !== undefined
      );
    },
  };
};
