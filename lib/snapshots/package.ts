import { join } from 'node:path';
import { type FileName, type FurtherName, fileNames, type Manifest, manifestOf } from './manifest.ts';
import { readTable, type Table } from './table.ts';
import { openZip } from './zip.ts';

/** An export of OneRoster, in whatever form its writer chose. */
export type Package = Manifest & {
  /** All files of it, as the zip writes their names. */
  names: string[];
  /**
   * Reads a file of it, of which its mode says that it is there; `columns` of the answer are those of the file.
   * @throws UnusableSnapshot where it is not CSV in UTF-8 with the columns that are required.
   */
  read(name: FileName | FurtherName, required?: readonly string[]): Promise<Table>;
  close(): void;
};

const wanted = new Set(['manifest', ...fileNames].map((name) => `${name}.csv`.toLowerCase()));

/** Opens a zip that was dropped. What is read of it is written into the folder. @throws UnusableSnapshot */
export const openPackage = async (path: string, folder: string): Promise<Package> => {
  const files = await openZip(path, (name) => wanted.has(name.toLowerCase()));
  try {
    const manifest = await manifestOf(files, folder);
    return {
      ...manifest,
      names: files.names,
      read: (name, required = []) => {
        const file = `${name}.csv`;
        return readTable(files.open(file), join(folder, file), { file, required });
      },
      close: files.close,
    };
  } catch (error) {
    files.close();
    throw error;
  }
};
