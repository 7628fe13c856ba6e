import type { Statement } from './cloudformation.ts';

/** A statement of IAM; without an effect, it allows. */
export type Grant = {
  Effect?: Statement['Effect'];
  Action: `${string}:${string}`[];
  Resource: unknown;
  Condition?: NonNullable<Statement['Condition']>;
};

/** Joins those that differ in their resources alone, or in the names that may be listed: a policy has little room. */
export const joined = (grants: readonly Grant[]): Grant[] => {
  const byRest = Map.groupBy(grants, ({ Resource: _, ...rest }) => JSON.stringify(rest));
  const joinedResources = [...byRest.values()].map((each): Grant => {
    const [first] = each as [Grant];
    return each.length === 1 ? first : { ...first, Resource: each.flatMap(({ Resource }) => Resource) };
  });
  const byPrefix = Map.groupBy(joinedResources, (grant) =>
    prefixesIn(grant) === undefined ? grant : JSON.stringify([grant.Action, grant.Resource]),
  );
  return [...byPrefix.values()].map((each): Grant => {
    const [first] = each as [Grant];
    const names = each.flatMap((grant) => prefixesIn(grant) ?? []);
    return each.length === 1 ? first : { ...first, Condition: { StringLike: { 's3:prefix': names } } };
  });
};

const prefixesIn = ({ Condition }: Grant): string[] | undefined =>
  Condition?.StringLike?.['s3:prefix'] as string[] | undefined;

/** Leaves out a statement about nothing, as of queues where there are none: what is left of it would be a right with fewer limits. */
export const statementsOf = (grants: Grant[]): Statement[] =>
  grants
    .filter(({ Resource, Condition = {} }) => ![Resource, ...valuesIn(Condition)].some(isNothing))
    .map((grant) => ({ Effect: 'Allow', ...grant }));

const valuesIn = (condition: NonNullable<Grant['Condition']>): unknown[] =>
  Object.values(condition).flatMap((keys) => Object.values(keys));

const isNothing = (value: unknown): boolean => value === '' || (Array.isArray(value) && value.length === 0);
