import type { Integration } from '../delivery/handle/integration.ts';
import type { Operation } from '../platform/client/operation.ts';
import { memoize } from '../runtime/aws/memoize.ts';

/** By name. */
export type Integrations = Map<string, Integration<unknown>>;

/** A function, and the platform operations that it may call. */
export type DeclaredFunction = {
  name: string;
  operations: readonly Operation<unknown>[];
  /** Whose credential signs. */
  actor: 'service' | 'users';
};

export const loadIntegrations = async (): Promise<Integrations> => {
  const integrations = [...(await loadModules()).values()].flatMap(({ integration }) => integration ?? []);
  return new Map(integrations.map((integration) => [integration.name, integration]));
};

/** Every function. A function that declares no operations calls none. */
export const loadFunctions = async (): Promise<DeclaredFunction[]> =>
  [...(await loadModules())].map(([name, { integration, operations }]) => ({
    name,
    operations: integration?.operations ?? operations ?? [],
    actor: integration?.actor === undefined ? 'service' : 'users',
  }));

/** Loads this function alone. */
export const integrationNamed = async (name: string): Promise<Integration<unknown> | undefined> => {
  const { functionModule } = await import('./function-modules.ts');
  return (await functionModule(name))?.integration;
};

const loadModules = memoize(async () => {
  const { functionModules } = await import('./function-modules.ts');
  return functionModules();
});
