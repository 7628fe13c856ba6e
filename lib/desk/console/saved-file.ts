import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { jsonIn } from '../../message/json.ts';

/** What the console keeps on this machine, in a file that its owner alone can read. Undefined: it is no JSON; `{}` if there is none. */
export const readSaved = async (file: string): Promise<unknown> =>
  jsonIn(await readFile(file, 'utf8').catch(() => '{}'));

/** Replaces the file as a whole. */
export const writeSaved = async (file: string, kept: object): Promise<void> => {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const half = `${file}.${process.pid}`;
  await writeFile(half, JSON.stringify(kept, null, 2), { mode: 0o600 });
  await rename(half, file);
};
