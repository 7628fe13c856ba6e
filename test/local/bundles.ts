import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { bundling, functionNames } from '../../esbuild.config.ts';

/**
 * All functions as they are deployed, but not minified and with what they share in common chunks: made in half a second, they are
 * up in a third of the time that their sources take.
 */
export async function bundleFunctions(): Promise<{ taskRoot: string; remove(): Promise<void> }> {
  const taskRoot = await mkdtemp(join(tmpdir(), 'sis-relay-functions-'));
  await build({
    ...bundling(functionNames),
    ...{ outdir: taskRoot, write: true, minify: false, sourcemap: false },
  });
  return { taskRoot, remove: () => rm(taskRoot, { recursive: true }) };
}
