import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { unlessError } from './error.ts';

/** A value as DynamoDB writes it. */
export const attribute = (value: string | number): AttributeValue =>
  typeof value === 'number' ? { N: String(value) } : { S: value };

/** What a conditional write answers; undefined where its condition does not hold. */
export const unlessRefused = <Answer>(write: () => Promise<Answer>): Promise<Answer | undefined> =>
  unlessError(/^ConditionalCheckFailedException$/, write);
