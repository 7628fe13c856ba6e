import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder on the local disk, removed at the end of its scope. */
export const temporaryFolder = (): Disposable & { path: string } => {
  const path = mkdtempSync(join(tmpdir(), 'sis-relay-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

/** Works in a new folder on the local disk, which is removed at the end. */
export const inFolder = async <Result>(work: (folder: string) => Promise<Result>): Promise<Result> => {
  using folder = temporaryFolder();
  return await work(folder.path);
};
