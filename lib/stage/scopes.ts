import { configured, type OperationOverride } from '../platform/client/operation.ts';
import { UsageError } from './command-errors.ts';
import type { DeclaredFunction } from './integrations.ts';
import { unknownName } from './nearest.ts';

/** One scope, and the operations that need it. */
export type NeededScope = { scope: string; operations: string[] };

/** The OAuth scopes that a function needs: those of the operations that it may call, and no more. */
export const scopesOf = (
  { operations }: Pick<DeclaredFunction, 'operations'>,
  overrides: Record<string, OperationOverride> = {},
): NeededScope[] => {
  const byScope = Map.groupBy(operations, (each) => configured(each, overrides[each.name]).scope);
  return [...byScope]
    .flatMap(([scope, group]) =>
      scope === undefined ? [] : [{ scope, operations: group.map(({ name }) => name) }],
    )
    .sort((one, other) => (one.scope < other.scope ? -1 : 1));
};

export const scopesByFunction = (
  functions: readonly Omit<DeclaredFunction, 'actor'>[],
  overrides: Record<string, OperationOverride> = {},
): Record<string, NeededScope[]> =>
  Object.fromEntries(functions.map((each) => [each.name, scopesOf(each, overrides)]));

/** The scopes of a client that serves several functions, as one text for an authorization server. */
export const scopeText = (needed: readonly NeededScope[][]): string =>
  [...new Set(needed.flat().map(({ scope }) => scope))].sort().join(' ');

export type NeededScopes = {
  functions: Record<string, NeededScope[]>;
  /** The functions for which users sign. */
  signedByUsers: string[];
  /** All scopes of the service's client. */
  service: string;
  /** All scopes of the users' client. */
  users: string;
};

/** The scopes that each function and each client needs, for these names or for all functions. @throws UsageError */
export const neededScopes = (
  all: readonly DeclaredFunction[],
  { names, overrides }: { names: string[]; overrides: Record<string, OperationOverride> },
): NeededScopes => {
  const known = all.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new UsageError(unknownName('function', unknown, known));
  const chosen = names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
  const functions = scopesByFunction(chosen, overrides);
  const namesOf = (actor: DeclaredFunction['actor']) =>
    chosen.filter((each) => each.actor === actor).map(({ name }) => name);
  const textFor = (of: string[]) => scopeText(of.map((name) => functions[name] ?? []));
  const signedByUsers = namesOf('users');
  return { functions, signedByUsers, service: textFor(namesOf('service')), users: textFor(signedByUsers) };
};
