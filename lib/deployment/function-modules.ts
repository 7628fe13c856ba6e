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
  const folder = new URL('../../functions/', import.meta.url);
  const files = (await readdir(folder)).filter((file) => file.endsWith('.ts')).sort();
  const modules = new Map<string, FunctionModule>();
  for (const file of files)
    modules.set(file.slice(0, -'.ts'.length), await import(new URL(file, folder).href));
  return modules;
};
