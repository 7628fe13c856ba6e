import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';

const outcome = z.enum(['claimed', 'done', 'unknown']);

const itemSchema = z.object({
  version: z.string(),
  claimId: z.string(),
  /** SQS' id of the message that claimed it. */
  messageId: z.string(),
  outcome,
  /** Until when nobody else may act. */
  leaseMs: z.number(),
  /** When the first attempt of this version that left no outcome began. */
  attemptedMs: z.number(),
  deaths: z.number(),
  replays: z.number(),
  /** What was known before this claim, to go back to where it had no effect. */
  previousVersion: z.string().optional(),
  previousClaimId: z.string().optional(),
  previousOutcome: outcome.optional(),
});

export type Item = z.infer<typeof itemSchema>;

export type LedgerTableOptions = {
  /** Made when first needed. */
  dynamodb: () => Promise<DynamoDBClient>;
  table: string;
  nowMs(): number;
};

/** Below every version. */
const none = '0';
/** As long as a message and its letter can live, 14 days each, and some days more. */
const keptSeconds = 35 * 24 * 3600;

/** What a claim that changes the version remembers of the item before it. */
export const previousOf = (item: Item, next: Item): Partial<Item> =>
  item.version === next.version
    ? {
        previousVersion: item.previousVersion,
        previousClaimId: item.previousClaimId,
        previousOutcome: item.previousOutcome,
      }
    : { previousVersion: item.version, previousClaimId: item.claimId, previousOutcome: item.outcome };

/** The ledger's table: partition key `thing`, time to live in `expires`. Each write is conditional; false: it did not apply. */
export const createLedgerTable = ({ dynamodb, table, nowMs }: LedgerTableOptions) => {
  type Change = { set: string; condition: string; values: Record<string, string | number | undefined> };

  const update = async (thing: string, { set, condition, values }: Change): Promise<boolean> => {
    const { UpdateItemCommand } = await import('@aws-sdk/client-dynamodb');
    const client = await dynamodb();
    const given = Object.entries(values).filter(
      (entry): entry is [string, string | number] => entry[1] !== undefined,
    );
    try {
      await client.send(
        new UpdateItemCommand({
          TableName: table,
          Key: { thing: { S: thing } },
          UpdateExpression: `SET ${set}`,
          ConditionExpression: condition,
          ExpressionAttributeValues: Object.fromEntries(
            given.map(([name, value]) => [`:${name}`, attribute(value)]),
          ),
        }),
      );
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === 'ConditionalCheckFailedException') return false;
      throw error;
    }
  };

  const settingAll = (values: object): string =>
    Object.entries(values)
      .flatMap(([name, value]) => (value === undefined ? [] : [`${name} = :${name}`]))
      .join(', ');

  return {
    /** Claims what is free: nothing known, or an older version whose lease is over. */
    claim: (thing: string, item: Item): Promise<boolean> => {
      const values = { ...item, expires: expiry(nowMs()) };
      const kept =
        'previousVersion = if_not_exists(version, :none), previousClaimId = if_not_exists(claimId, :none), previousOutcome = if_not_exists(outcome, :done)';
      return update(thing, {
        set: `${settingAll(values)}, ${kept}`,
        condition:
          'attribute_not_exists(thing) OR expires < :now OR (version < :version AND leaseMs <= :nowMs)',
        values: { ...values, none, done: 'done', now: Math.floor(nowMs() / 1000), nowMs: nowMs() },
      });
    },

    /** Puts a claim in the place of the one that is expected there. */
    replace: (thing: string, { expected, next }: { expected: string; next: Item }) => {
      const values = { ...next, expires: expiry(nowMs()) };
      return update(thing, {
        set: settingAll(values),
        condition: 'claimId = :expected',
        values: { ...values, expected },
      });
    },

    /** Writes a claim's outcome. */
    end: (thing: string, claimId: string, { outcome, leaseMs }: Pick<Item, 'outcome' | 'leaseMs'>) =>
      update(thing, {
        set: 'outcome = :outcome, leaseMs = :leaseMs',
        condition: 'claimId = :claimId',
        values: { outcome, leaseMs, claimId },
      }),

    /** Goes back to what was known before the claim. */
    release: (thing: string, claimId: string) =>
      update(thing, {
        set: 'version = previousVersion, claimId = previousClaimId, outcome = previousOutcome, leaseMs = :leaseMs',
        condition: 'claimId = :claimId',
        values: { leaseMs: 0, claimId },
      }),

    read: async (thing: string): Promise<Item | undefined> => {
      const { GetItemCommand } = await import('@aws-sdk/client-dynamodb');
      const client = await dynamodb();
      const answer = await client.send(
        new GetItemCommand({ TableName: table, Key: { thing: { S: thing } }, ConsistentRead: true }),
      );
      return answer.Item && itemSchema.parse(plain(answer.Item));
    },
  };
};

const expiry = (nowMs: number): number => Math.floor(nowMs / 1000) + keptSeconds;

const attribute = (value: string | number): AttributeValue =>
  typeof value === 'number' ? { N: String(value) } : { S: value };

const plain = (item: Record<string, AttributeValue>): Record<string, string | number | undefined> =>
  Object.fromEntries(Object.entries(item).map(([name, { N, S }]) => [name, N === undefined ? S : Number(N)]));
