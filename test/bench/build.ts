import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { bundle } from '../../esbuild.config.ts';

export type Bundle = {
  /** What is imported. */
  url: string;
  /** The whole of its code. */
  bytes: number;
  zippedBytes: number;
  /** The part of it that an import evaluates; the rest is loaded when it is needed. */
  importedBytes: number;
};

const functions = resolve(import.meta.dirname, '../../functions');

/** A file, be it a function or a peer of one, bundled by the project's own packaging. */
export const built = async (source: URL, folder: string): Promise<Bundle> => {
  const name = relative(functions, fileURLToPath(source)).replace(/\.ts$/, '');
  const codeDir = join(folder, basename(name));
  // Packages of the peers lack the texts of their licences.
  await bundle(name, { codeDir, mapDir: `${codeDir}-maps`, unpublished: true });
  const entry = resolve(codeDir, 'functions', `${name}.mjs`);
  const files = readdirSync(codeDir, { recursive: true, encoding: 'utf8' })
    .map((file) => join(codeDir, file))
    .filter((file) => statSync(file).isFile());
  return {
    url: pathToFileURL(entry).href,
    bytes: sum(files, (file) => statSync(file).size),
    zippedBytes: sum(files, (file) => gzipSync(readFileSync(file)).length),
    importedBytes: sum([...importedBy(entry)], (file) => statSync(file).size),
  };
};

const importedBy = (file: string, found = new Set<string>()): Set<string> => {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/\b(?:import|from)\s*"(\.[^"]+)"/g))
    importedBy(resolve(dirname(file), path), found);
  return found;
};

const sum = (files: string[], sizeOf: (file: string) => number): number =>
  files.reduce((total, file) => total + sizeOf(file), 0);
