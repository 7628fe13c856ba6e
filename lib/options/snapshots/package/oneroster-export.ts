import { join } from 'node:path';
import { blankedSql, type FileRules, ruledSql } from '../../../delivery/mapping/cell-rules.ts';
import { readTable, type Table } from '../../../runtime/files/tables/table.ts';
import { delimiterOf, type FileName, type FurtherName, fileNames, manifestOf } from './manifest.ts';
import { openZip } from './zip.ts';

export type OneRosterExport = Awaited<ReturnType<typeof openExport>>;

const wanted = new Set(['manifest', ...fileNames].map((name) => `${name}.csv`.toLowerCase()));

/** Called for each piece that is read, with its bytes and those of all compared files. */
type OnRead = (bytes: number, of: number) => void;

/** Opens an export of OneRoster, in any form that an SIS writes: a zip from the bucket. Writes what it reads into the folder. @throws UnusableSnapshot */
export const openExport = async (
  path: string,
  folder: string,
  { onRead, cells = {} }: { onRead?: OnRead; cells?: FileRules } = {},
) => {
  const files = await openZip(path, (name) => wanted.has(name.toLowerCase()));
  try {
    const manifest = await manifestOf(files, folder);
    const all = fileNames.reduce((sum, name) => sum + files.sizeOf(`${name}.csv`), 0);
    const closing = new AbortController();
    const reading = new Set<Promise<unknown>>();
    const piecesOf = async function* (name: string): AsyncGenerator<Buffer> {
      for await (const piece of files.open(name)) {
        closing.signal.throwIfAborted();
        onRead?.(piece.length, all);
        yield piece;
      }
    };
    return {
      ...manifest,
      names: files.names,
      sizeOf: files.sizeOf,
      /**
       * Reads an existing file by its mode; `columns` of the result are those of the file.
       * @throws UnusableSnapshot if it is not CSV in UTF-8 with the required columns.
       */
      read: async (name: FileName | FurtherName, required: readonly string[] = []): Promise<Table> => {
        closing.signal.throwIfAborted();
        const file = `${name}.csv`;
        const options = {
          file,
          required,
          delimiterIn: (header: string) => cells.separator ?? delimiterOf(header),
          ...((cells.strip || cells.empty) && {
            readCell: (cell: string) => blankedSql(ruledSql(cell, { strip: cells.strip }), cells.empty ?? []),
          }),
        };
        const table = readTable(piecesOf(file), join(folder, file), options);
        reading.add(table);
        return await table;
      },
      /** Ends what is being read, too. */
      close: async () => {
        closing.abort();
        await Promise.allSettled(reading);
        files.close();
      },
    };
  } catch (error) {
    files.close();
    throw error;
  }
};
