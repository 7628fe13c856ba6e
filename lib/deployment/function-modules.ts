import { readdir } from 'node:fs/promises';
import type { Integration } from '../integration.ts';
import type { Operation } from '../platform/core/operation.ts';

export type FunctionModule = {
  integration?: Integration<unknown>;
  operations?: readonly Operation<unknown>[];
};

/**
 * Every file of functions/ by its name, so that a new function needs no entry in a list. A bundle has no such folder: the
 * packaging replaces this file by a list of imports.
 */
export const functionModules = async (): Promise<Map<string, FunctionModule>> => {
  const files = (await readdir(new URL('../../functions/', import.meta.url))).sort();
  const modules = new Map<string, FunctionModule>();
  for (const file of files.filter((each) => each.endsWith('.ts'))) {
    const name = file.slice(0, -'.ts'.length);
    modules.set(name, await import(`../../functions/${name}.ts`));
  }
  return modules;
};
