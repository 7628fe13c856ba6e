import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** A value as DynamoDB writes it. */
export const attribute = (value: string | number): AttributeValue =>
  typeof value === 'number' ? { N: String(value) } : { S: value };

/** What a conditional write answers; undefined where its condition does not hold. */
export const unlessRefused = async <Answer>(write: () => Promise<Answer>): Promise<Answer | undefined> => {
  try {
    return await write();
  } catch (error) {
    if (error instanceof Error && error.name === 'ConditionalCheckFailedException') return undefined;
    throw error;
  }
};
