import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { bundling, functionNames } from '../../../esbuild.config.ts';

/**
 * All functions as they are deployed, but not minified and with what they share in common chunks: made in half a second, they are
 * up in a third of the time that their sources take.
 */
export async function bundleFunctions(): Promise<{ taskRoot: string; remove(): Promise<void> }> {
  const taskRoot = await mkdtemp(join(tmpdir(), 'sis-relay-functions-'));
  await build({
    ...bundling(functionNames),
    outdir: taskRoot,
    write: true,
    minify: false,
    sourcemap: false,
  });
  await linkBinding(taskRoot);
  return { taskRoot, remove: () => rm(taskRoot, { recursive: true }) };
}

/** The binding of the SQL engine for this machine, where packaging puts that for Lambda's processors. */
export async function linkBinding(taskRoot: string): Promise<void> {
  const name = `@duckdb/node-bindings-${process.platform}-${process.arch}`;
  await mkdir(join(taskRoot, 'node_modules/@duckdb'), { recursive: true });
  const installed = resolve(import.meta.dirname, '../../../node_modules', name);
  await symlink(installed, join(taskRoot, 'node_modules', name), 'junction').catch((error) => {
    if (error.code !== 'EEXIST') throw error;
  });
}
