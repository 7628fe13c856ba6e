import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { UsageError } from '../../stage/command-errors.ts';

/** @throws UsageError if there is no such file. */
export const checkReadable = async (file: string): Promise<void> => {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory())
    throw new UsageError(`${file} is a folder. Zip the CSV files in it, and pass the zip.`);
  if (!found?.isFile()) throw new UsageError(`There is no file ${file}.`);
};

/** @throws UsageError if the first bytes are not those of a OneRoster package. */
export const checkPackage = async (file: string): Promise<void> => {
  await checkReadable(file);
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  const name = basename(file);
  if (bytesRead === 0)
    throw new UsageError(`${name} is empty. Copy it again, or export it again from the student system.`);
  if (buffer.toString('latin1') !== 'PK')
    throw new UsageError(
      `${name} is not a zip. Pass the package as the student system exports it, or zip its CSV files. A single CSV file needs a name that ends in .csv, and a mapping.`,
    );
};
