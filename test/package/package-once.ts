import { rm } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import { packageProject, readPackaged } from './packaged.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the project lies as it was packaged, by its stage. */
    packages: Record<'local' | 'prod', string>;
  }
}

/** Before any test of the vitest project `packaged` begins, and once for all of them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const local = await packageProject();
  const prod = await packageProject('prod', { bundles: await readPackaged(local) });
  project.provide('packages', { local, prod });
  return async () => {
    for (const folder of [local, prod]) await rm(folder, { recursive: true });
  };
}
