import { type FileHandle, open } from 'node:fs/promises';
import { RefusedError } from './command-errors.ts';

/** Creates a file that only its owner may read. @throws RefusedError if it exists. */
export const openNewFile = (path: string): Promise<FileHandle> =>
  open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new RefusedError(
      error.code === 'EEXIST'
        ? `${path} already exists. Name another file.`
        : `${path} cannot be written: ${error.code}`,
    );
  });

export const writeNewFile = async (path: string, text: string): Promise<void> => {
  await using file = await openNewFile(path);
  await file.writeFile(text);
};
