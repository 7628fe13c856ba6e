import type { Integration } from '../../delivery/handle/integration.ts';
import type { Operation } from '../../platform/client/operation.ts';
import { functionNames } from './function-names.ts';

export type FunctionModule = {
  integration?: Integration<unknown>;
  operations?: readonly Operation<unknown>[];
};

/**
 * Every file of functions/ by its name, so that a new function needs no entry in a list. A bundle has no such folder: the packaging
 * replaces this file by a list of imports.
 */
export const functionModules = async (): Promise<Map<string, FunctionModule>> => {
  const folder = new URL('../../../functions/', import.meta.url);
  const modules = new Map<string, FunctionModule>();
  for (const name of functionNames()) modules.set(name, await import(new URL(`${name}.ts`, folder).href));
  return modules;
};
