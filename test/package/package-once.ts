import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { packageProject } from './packaged.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the project lies as it was packaged, by its stage. */
    packages: Record<'local' | 'prod', string>;
  }
}

/** Before any test of the vitest project `packaged` begins, and once for all of them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'sis-relay-packages-'));
  const packages = { local: join(folder, 'local'), prod: join(folder, 'prod') };
  for (const path of Object.values(packages)) await mkdir(path);
  const bundles = await packageProject(packages.local);
  await packageProject(packages.prod, { stage: 'prod', bundles });
  project.provide('packages', packages);
  return () => rm(folder, { recursive: true });
}
