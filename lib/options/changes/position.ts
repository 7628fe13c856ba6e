import { attribute, type DynamoDb, unlessRefused } from '../../runtime/aws/dynamodb.ts';

export type Place = ReturnType<typeof createPlace>;

/** The position in a source up to which changes were sent, kept beside the ledger. */
export const createPlace = ({
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
    /** Undefined: nothing was read yet. */
    read: async (signal: AbortSignal) => {
      const get = { TableName: table, Key, ConsistentRead: true };
      const { Item } = await dynamodb.call('GetItem', get, { signal });
      return Item?.lastId?.S;
    },
    /** False: another run has moved it meanwhile. */
    move: async (from: string | undefined, to: string, signal: AbortSignal) => {
      const update = {
        TableName: table,
        Key,
        UpdateExpression: 'SET lastId = :to, atMs = :now',
        // The write may be sent twice: the second time, it finds its own value.
        ConditionExpression:
          from === undefined
            ? 'attribute_not_exists(lastId) OR lastId = :to'
            : 'lastId = :from OR lastId = :to',
        ExpressionAttributeValues: {
          ':to': attribute(to),
          ':now': attribute(nowMs()),
          ...(from !== undefined && { ':from': attribute(from) }),
        },
      };
      return (await unlessRefused(() => dynamodb.call('UpdateItem', update, { signal }))) !== undefined;
    },
  };
};
