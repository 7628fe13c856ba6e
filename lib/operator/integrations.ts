import { readdir } from 'node:fs/promises';
import type { Integration } from '../integration.ts';
import type { Operation } from '../platform/operation.ts';

/** By its name. What each takes for its data is its own affair. */
export type Integrations = Map<string, Integration<unknown>>;

/** A function, and what it may call of the platform. */
export type DeclaredFunction = {
  name: string;
  operations: readonly Operation<unknown>[];
  /** Whose credential signs. */
  actor: 'service' | 'users';
};

/** Every integration that there is. For the command alone: no folder tells a bundle what there is. */
export const loadIntegrations = async (): Promise<Integrations> => {
  const integrations = (await loadModules()).flatMap(({ integration }) => integration ?? []);
  return new Map(integrations.map((integration) => [integration.name, integration]));
};

/** Every function that there is; one that declares no operations calls none. */
export const loadFunctions = async (): Promise<DeclaredFunction[]> =>
  (await loadModules()).map(({ name, integration, operations }) => ({
    name,
    operations: integration?.operations ?? operations ?? [],
    actor: integration?.actor === undefined ? 'service' : 'users',
  }));

/** The integration of that name, in a bundle too; undefined where there is none. */
export const integrationNamed = async (name: string): Promise<Integration<unknown> | undefined> => {
  if (!/^[a-z][a-z0-9-]*$/.test(name)) return undefined;
  try {
    return (await loadModule(name)).integration;
  } catch (error) {
    if (error instanceof Error && /^(Cannot find module|Module not found)/.test(error.message))
      return undefined;
    throw error;
  }
};

type Module = { integration?: Integration<unknown>; operations?: readonly Operation<unknown>[] };

/**
 * A new function is one file in functions/, and is known at once. A bundle has all of them beside it, by the pattern that is
 * imported here, and loads the one that it needs.
 */
const loadModule = (name: string): Promise<Module> => import(`../../functions/${name}.ts`);

const loadModules = async (): Promise<(Module & { name: string })[]> => {
  const files = await readdir(new URL('../../functions/', import.meta.url));
  const names = files.filter((file) => file.endsWith('.ts')).sort();
  return Promise.all(
    names.map(async (file) => {
      const name = file.slice(0, -'.ts'.length);
      return { ...(await loadModule(name)), name };
    }),
  );
};
