import type { Integration } from '../delivery/handle/integration.ts';
import type { Operation } from '../platform/client/operation.ts';
import { functionNames } from './function-names.ts';

export type FunctionModule = {
  integration?: Integration<unknown>;
  operations?: readonly Operation<unknown>[];
};

// A new function needs no entry in a list. A bundle has no such folder: the packaging replaces this file by a list of imports.
const folder = new URL('../../functions/', import.meta.url);

const loaded = new Map<string, Promise<FunctionModule>>();

const load = (name: string): Promise<FunctionModule> => {
  const module = loaded.get(name) ?? import(new URL(`${name}.ts`, folder).href);
  loaded.set(name, module);
  return module;
};

/** Every file of functions/ by its name. */
export const functionModules = async (): Promise<Map<string, FunctionModule>> => {
  const modules = new Map<string, FunctionModule>();
  for (const name of functionNames()) modules.set(name, await load(name));
  return modules;
};

/** The file of this name alone; undefined if there is none. */
export const functionModule = async (name: string): Promise<FunctionModule | undefined> =>
  loaded.has(name) || functionNames().includes(name) ? load(name) : undefined;
