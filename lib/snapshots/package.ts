import { join } from 'node:path';
import { readTable, type Table } from '../sets/table.ts';
import { type FileName, type FurtherName, fileNames, type Manifest, manifestOf } from './manifest.ts';
import { openZip } from './zip.ts';

/** An export of OneRoster, in whatever form its writer chose. */
export type Package = Manifest & {
  /** All files of it, as the zip writes their names. */
  names: string[];
  /** Of a file of it, unpacked, in bytes, as the zip says it. */
  sizeOf(name: string): number;
  /**
   * Reads a file of it, of which its mode says that it is there; `columns` of the answer are those of the file.
   * @throws UnusableSnapshot where it is not CSV in UTF-8 with the columns that are required.
   */
  read(name: FileName | FurtherName, required?: readonly string[]): Promise<Table>;
  close(): void;
};

const wanted = new Set(['manifest', ...fileNames].map((name) => `${name}.csv`.toLowerCase()));

/** Hears of each piece that is read: its bytes, and those of all files whose rows are compared. */
type OnRead = (bytes: number, of: number) => void;

/** Opens a zip that was dropped. What is read of it is written into the folder. @throws UnusableSnapshot */
export const openPackage = async (path: string, folder: string, onRead?: OnRead): Promise<Package> => {
  const files = await openZip(path, (name) => wanted.has(name.toLowerCase()));
  try {
    const manifest = await manifestOf(files, folder);
    const all = fileNames.reduce((sum, name) => sum + files.sizeOf(`${name}.csv`), 0);
    const read = async function* (name: string): AsyncGenerator<Buffer> {
      for await (const piece of files.open(name)) {
        onRead?.(piece.length, all);
        yield piece;
      }
    };
    return {
      ...manifest,
      names: files.names,
      sizeOf: files.sizeOf,
      read: (name, required = []) => {
        const file = `${name}.csv`;
        return readTable(read(file), join(folder, file), { file, required });
      },
      close: files.close,
    };
  } catch (error) {
    files.close();
    throw error;
  }
};
