import { errorName, unlessError } from './error.ts';

/** DynamoDB's form of a value, as far as it is used here. */
export type AttributeValue = { S: string; N?: undefined } | { N: string; S?: undefined };
export type Attributes = Record<string, AttributeValue>;

type Action =
  | `${'Get' | 'Put' | 'Update' | 'Delete' | 'BatchGet' | 'BatchWrite'}Item`
  | 'Query'
  | 'Scan'
  | 'DescribeTable';
/** As DynamoDB documents them. */
type Input = Record<string, unknown>;
export type DynamoDbOutput = {
  Item?: Attributes;
  Attributes?: Attributes;
  Items?: Attributes[];
  /** Present if there is more. */
  LastEvaluatedKey?: Attributes;
  /** By table. */
  Responses?: Record<string, Attributes[]>;
  UnprocessedKeys?: Record<string, object>;
  UnprocessedItems?: Record<string, object[]>;
  Table?: { SSEDescription?: { Status?: string; SSEType?: string } };
};

export type DynamoDb = {
  /** May be sent twice. @throws errors with the SDK's names, which know their call. */
  call(action: Action, input: Input, options?: { signal?: AbortSignal | undefined }): Promise<DynamoDbOutput>;
};

export const attribute = (value: string | number): AttributeValue =>
  typeof value === 'number' ? { N: String(value) } : { S: value };

/** The answer of a conditional write; undefined if its condition does not hold. */
export const undefinedIfConditionFails = <Answered>(
  write: () => Promise<Answered>,
): Promise<Answered | undefined> => unlessError(refusedCondition, write);

const refusedCondition = /^ConditionalCheckFailedException$/;

/** Parameters of a conditional write that returns the former item, even if its condition does not hold. */
export const returningOldItem = {
  ReturnValues: 'ALL_OLD',
  ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
} as const;

/** Whether such a write was done, and the former item. */
export const writeReturningOldItem = async (
  write: () => Promise<DynamoDbOutput>,
): Promise<{ done: boolean; before: Attributes | undefined }> => {
  try {
    return { done: true, before: (await write()).Attributes };
  } catch (error) {
    if (!refusedCondition.test(errorName(error))) throw error;
    return { done: false, before: (error as { Item?: Attributes }).Item };
  }
};
