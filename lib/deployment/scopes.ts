import { configured, type Operation, type OperationOverride } from '../platform/core/operation.ts';

type Declared = { name: string; operations: readonly Operation<unknown>[] };

/** One scope, and what needs it. */
export type NeededScope = { scope: string; operations: string[] };

/** The OAuth scopes that a function needs: those of the operations that it may call, and no more. */
export const scopesOf = (
  { operations }: Pick<Declared, 'operations'>,
  overrides: Record<string, OperationOverride> = {},
): NeededScope[] => {
  const byScope = Map.groupBy(operations, (each) => configured(each, overrides[each.name]).scope);
  return [...byScope]
    .flatMap(([scope, group]) =>
      scope === undefined ? [] : [{ scope, operations: group.map(({ name }) => name) }],
    )
    .sort((one, other) => (one.scope < other.scope ? -1 : 1));
};

/** The scopes of each function by its name. */
export const scopesByFunction = (
  functions: readonly Declared[],
  overrides: Record<string, OperationOverride> = {},
): Record<string, NeededScope[]> =>
  Object.fromEntries(functions.map((each) => [each.name, scopesOf(each, overrides)]));

/** What one client needs that serves several functions, as an authorization server takes it. */
export const scopeText = (needed: readonly NeededScope[][]): string =>
  [...new Set(needed.flat().map(({ scope }) => scope))].sort().join(' ');
