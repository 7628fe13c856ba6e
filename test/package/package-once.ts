import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { bundleTogether, packageProject } from './packaged.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the project lies as it was packaged, by its stage. */
    packages: Record<'local' | 'prod', string>;
    /** Where the functions lie, bundled at once. */
    code: string;
  }
}

/**
 * Once, before any test begins that needs it: both stages, and the functions, each bundled as it is deployed for the vitest project
 * `packages` alone.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'sis-relay-packages-'));
  const [local, prod, code] = [join(folder, 'local'), join(folder, 'prod'), join(folder, 'code')];
  for (const path of [local, prod, code]) await mkdir(path);
  const isDeployed = project.name === 'packages';
  // Long tests alone look at a stage that is protected.
  const isWithoutLong = project.vitest.config.tagsFilter?.includes('!long') === true;
  await Promise.all([
    packageProject(local, { code: isDeployed }),
    ...(isWithoutLong ? [] : [packageProject(prod, { stage: 'prod', code: false })]),
    ...(isDeployed ? [] : [bundleTogether(code)]),
  ]);
  project.provide('packages', { local, prod });
  project.provide('code', code);
  return () => rm(folder, { recursive: true });
}
