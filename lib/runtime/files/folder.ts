import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of its own on the local disk, until its scope ends. */
export const temporaryFolder = (): Disposable & { path: string } => {
  const path = mkdtempSync(join(tmpdir(), 'sis-relay-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

/** Works in a folder of its own on the local disk, which is removed at the end. */
export const inFolder = async <Result>(work: (folder: string) => Promise<Result>): Promise<Result> => {
  using folder = temporaryFolder();
  return await work(folder.path);
};
