import { attribute, type DynamoDb, unlessRefused } from '../../runtime/aws/dynamodb.ts';

/** The position in a source up to which changes were sent, kept beside the ledger. */
export type Place = {
  /** Undefined: nothing was read yet. */
  read(signal: AbortSignal): Promise<string | undefined>;
  /** False: another run has moved it meanwhile. */
  move(from: string | undefined, to: string, signal: AbortSignal): Promise<boolean>;
};

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
}): Place => {
  const Key = { resource: { S: `changes/${name}` } };
  return {
    read: async (signal) => {
      const get = { TableName: table, Key, ConsistentRead: true };
      const { Item } = await dynamodb.call('GetItem', get, { signal });
      return Item?.lastId?.S;
    },
    move: async (from, to, signal) => {
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
