import { basename, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundle } from '../../esbuild.config.ts';

const functions = resolve(import.meta.dirname, '../../functions');

export const functionSource = (name: string): URL => pathToFileURL(join(functions, `${name}.ts`));
/** What a team would write today. */
export const team = 'middy, Powertools, axios';
export const teamSource = new URL('peers/team-stack.ts', import.meta.url);

/** The address of a function, or of a peer of one, bundled by the project's own packaging. */
export const bundled = async (source: URL, folder: string): Promise<string> => {
  const name = relative(functions, fileURLToPath(source)).replace(/\.ts$/, '');
  const codeDir = join(folder, basename(name));
  // Packages of the peers lack the texts of their licences.
  await bundle(name, { codeDir, mapDir: `${codeDir}-maps`, unpublished: true });
  return pathToFileURL(resolve(codeDir, 'functions', `${name}.mjs`)).href;
};
