import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A module of this project, loaded once more, as a new container does. What it imports is there already. */
export const moduleAnew = <Module>(path: string): Promise<Module> => {
  const { href } = pathToFileURL(resolve(import.meta.dirname, '..', path));
  return import(`${href}?${randomUUID()}`);
};
