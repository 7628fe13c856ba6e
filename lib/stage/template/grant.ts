import type { Statement } from './cloudformation.ts';

/** A statement of IAM; without an effect, it allows. */
export type Grant = {
  Effect?: Statement['Effect'];
  Action: `${string}:${string}`[];
  Resource: unknown;
  Condition?: NonNullable<Statement['Condition']>;
};

/** Leaves out a statement about nothing, as of queues where there are none: what is left of it would be a right with fewer limits. */
export const statementsOf = (grants: Grant[]): Statement[] =>
  grants
    .filter(({ Resource, Condition = {} }) => ![Resource, ...valuesIn(Condition)].some(isNothing))
    .map((grant) => ({ Effect: 'Allow', ...grant }));

const valuesIn = (condition: NonNullable<Grant['Condition']>): unknown[] =>
  Object.values(condition).flatMap((keys) => Object.values(keys));

const isNothing = (value: unknown): boolean => value === '' || (Array.isArray(value) && value.length === 0);
