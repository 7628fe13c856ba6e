import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { SqlEngine } from './engine.ts';

/**
 * The rows of a packed file as a table in a statement. A tab separates the cells; no cell contains one. `path` is the parameter that its path is
 * bound to, such as `$1`. A cell without text is NULL.
 */
export const packedRows = (path: `$${number}`, columns: readonly string[]): string =>
  `read_csv(${path}, auto_detect = false, header = false, delim = '\t', quote = '', escape = '', compression = 'gzip',
     new_line = '\\n', columns = {${columns.map((column) => `'${column}': 'VARCHAR'`).join(', ')}})`;

/** Writes it to disk for the engine. False: it has no byte, which is allowed if there is no line, and is no gzip. */
export const keepFile = async (packed: AsyncIterable<Uint8Array>, path: string): Promise<boolean> => {
  await pipeline(packed, createWriteStream(path));
  return (await stat(path)).size > 0;
};

/** Keeps a packed file on disk for the engine, and adds its lines to a table. */
export const loadFile = async (
  packed: AsyncIterable<Uint8Array>,
  { path, db, insert, columns }: { path: string; db: SqlEngine; insert: string; columns: readonly string[] },
): Promise<void> => {
  if (await keepFile(packed, path)) await db.run(`${insert} ${packedRows('$1', columns)}`, [path]);
};
