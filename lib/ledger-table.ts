import type { AttributeValue, DynamoDBClient, UpdateItemCommandOutput } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';

const itemSchema = z.object({
  version: z.string(),
  /** Of the claim that wrote it: no two are the same. */
  claimId: z.string(),
  /** SQS' id of the message that claimed it, where only that one can tell of its death. */
  messageId: z.string(),
  outcome: z.enum(['claimed', 'done', 'undone', 'unknown']),
  /** Until when whoever claimed it may be at work. */
  leaseMs: z.number(),
  /** Until when something that was sent may still act. */
  settledMs: z.number(),
  /** When the first attempt of this version that left no outcome began. */
  attemptedMs: z.number(),
  /** When a call of this version was answered with a success whose effect the platform does not show; 0: none was. */
  takenMs: z.number().default(0),
  deaths: z.number(),
  replays: z.number(),
});

/** What was done last to one thing. */
export type Item = z.infer<typeof itemSchema>;

/** The ledger's table. Each write is conditional, and every one of them can be sent twice without harm. */
export type LedgerTable = {
  /**
   * Claims what is free: nothing known, or an older version of which nothing can act any more. Tells what was there
   * before, or what is in the way.
   */
  claim(thing: string, item: Item): Promise<{ won: boolean; item: Item | undefined }>;
  /** Puts an item in the place of the claim that is expected there; false: it is there no longer. */
  replace(thing: string, change: { expected: string; next: Item }): Promise<boolean>;
};

export type LedgerTableOptions = {
  /** Made when first needed. */
  dynamodb: () => Promise<DynamoDBClient>;
  table: string;
  nowMs(): number;
};

/** As long as a message and its letter can live, 14 days each, and some days more. */
const keptSeconds = 35 * 24 * 3600;

/** The table in DynamoDB: its partition key is `thing`, its time to live is in `expires`. */
export const createLedgerTable = ({ dynamodb, table, nowMs }: LedgerTableOptions): LedgerTable => {
  const nowSeconds = () => Math.floor(nowMs() / 1000);

  type Condition = { condition: string; given: Record<string, string | number> };

  /** Undefined: the condition does not hold. */
  const write = async (
    thing: string,
    item: Item,
    { condition, given }: Condition,
  ): Promise<UpdateItemCommandOutput | undefined> => {
    const { UpdateItemCommand } = await import('@aws-sdk/client-dynamodb');
    const client = await dynamodb();
    const written = { ...item, expires: nowSeconds() + keptSeconds };
    const values = Object.entries({ ...written, ...given }).map(([name, value]) => [
      `:${name}`,
      attribute(value),
    ]);
    const update = new UpdateItemCommand({
      TableName: table,
      Key: { thing: { S: thing } },
      UpdateExpression: `SET ${Object.keys(written)
        .map((name) => `${name} = :${name}`)
        .join(', ')}`,
      ConditionExpression: condition,
      ExpressionAttributeValues: Object.fromEntries(values),
      ReturnValues: 'ALL_OLD',
    });
    try {
      return await client.send(update);
    } catch (error) {
      if (error instanceof Error && error.name === 'ConditionalCheckFailedException') return undefined;
      throw error;
    }
  };

  /** DynamoDB takes its time, up to days, to remove what has expired. */
  const known = (raw: Record<string, AttributeValue> | undefined): Item | undefined =>
    raw === undefined || Number(raw.expires?.N) < nowSeconds() ? undefined : itemSchema.parse(plain(raw));

  const read = async (thing: string): Promise<Item | undefined> => {
    const { GetItemCommand } = await import('@aws-sdk/client-dynamodb');
    const client = await dynamodb();
    const answer = await client.send(
      new GetItemCommand({ TableName: table, Key: { thing: { S: thing } }, ConsistentRead: true }),
    );
    return known(answer.Item);
  };

  return {
    claim: async (thing, item) => {
      const answer = await write(thing, item, {
        condition:
          'attribute_not_exists(thing) OR expires < :now OR (version < :version AND settledMs <= :nowMs)',
        given: { now: nowSeconds(), nowMs: nowMs() },
      });
      return answer ? { won: true, item: known(answer.Attributes) } : { won: false, item: await read(thing) };
    },
    // The second half is for a write that the SDK sends again because its answer got lost.
    replace: async (thing, { expected, next }) =>
      (await write(thing, next, {
        condition: 'claimId = :expected OR claimId = :claimId',
        given: { expected },
      })) !== undefined,
  };
};

const attribute = (value: string | number): AttributeValue =>
  typeof value === 'number' ? { N: String(value) } : { S: value };

const plain = (item: Record<string, AttributeValue>): Record<string, string | number | undefined> =>
  Object.fromEntries(Object.entries(item).map(([name, { N, S }]) => [name, N === undefined ? S : Number(N)]));
