import { readdir } from 'node:fs/promises';
import type { Integration } from '../integration.ts';

/** By its name. What each takes for its data is its own affair. */
export type Integrations = Map<string, Integration<unknown>>;

/**
 * Every integration that there is: a new one is one file in functions/, and the command knows it at once. For the command
 * alone: a bundled function has no such folder beside it.
 */
export const loadIntegrations = async (): Promise<Integrations> => {
  const folder = new URL('../../functions/', import.meta.url);
  const files = (await readdir(folder)).filter((name) => name.endsWith('.ts')).sort();
  const modules = await Promise.all(
    files.map(
      async (name): Promise<{ integration?: Integration<unknown> }> => import(new URL(name, folder).href),
    ),
  );
  const integrations = modules.flatMap(({ integration }) => integration ?? []);
  return new Map(integrations.map((integration) => [integration.name, integration]));
};
