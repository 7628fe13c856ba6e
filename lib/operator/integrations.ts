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

/**
 * Every integration that there is: a new one is one file in functions/, and the command knows it at once. For the command
 * alone: a bundled function has no such folder beside it.
 */
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

type Module = { integration?: Integration<unknown>; operations?: readonly Operation<unknown>[] };

const loadModules = async (): Promise<(Module & { name: string })[]> => {
  const folder = new URL('../../functions/', import.meta.url);
  const files = (await readdir(folder)).filter((name) => name.endsWith('.ts')).sort();
  return Promise.all(
    files.map(async (file) => {
      const module: Module = await import(new URL(file, folder).href);
      return { ...module, name: file.slice(0, -'.ts'.length) };
    }),
  );
};
