import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { SetEngine } from '../sets/engine.ts';
import { packedRows } from '../sets/packed-rows.ts';
import type { Table } from '../sets/table.ts';
import type { Comparison } from './comparison.ts';

/** Keeps a packed file on disk for the engine, and adds its lines to a table. */
export const loadFile = async (
  packed: AsyncIterable<Uint8Array>,
  {
    path,
    sets,
    insert,
    columns,
  }: { path: string; sets: SetEngine; insert: string; columns: readonly string[] },
): Promise<void> => {
  await pipeline(packed, createWriteStream(path));
  // Without a line it may have no byte, which is no gzip.
  if ((await stat(path)).size === 0) return;
  await sets.run(`${insert} ${packedRows('$1', columns)}`, [path]);
};

/** Reads what was accepted last: a line is a kind, a key, and a value as JSON. */
export const loadState = (packed: AsyncIterable<Uint8Array>, path: string, sets: SetEngine): Promise<void> =>
  loadFile(packed, {
    path,
    sets,
    insert: 'INSERT INTO state SELECT * FROM',
    columns: ['kind', 'key', 'json'],
  });

/** What every state has beside what is wanted. */
export const loadShared = ({ sets }: Comparison): Promise<void> =>
  sets.run(`
    INSERT INTO was_refused SELECT split_part(key, chr(31), 1), key[length(split_part(key, chr(31), 1)) + 2:], CAST(json AS BIGINT)
      FROM state WHERE kind = 'r';
    INSERT INTO shared_backs SELECT split_part(key, chr(31), 1), key[length(split_part(key, chr(31), 1)) + 2:], CAST(json AS JSON) ->> '$'
      FROM state WHERE kind = 's'`);

export type FileRead = {
  /** As the file writes them. */
  columns: string[];
  /** How many rows it has. */
  rows: number;
};

/** Rows of which nothing can be read may be meant for anything. */
export const addDamaged = async (
  { sets }: Comparison,
  { file, grp, table }: { file: string; grp: string; table: Table },
): Promise<void> => {
  if (table.damaged.length === 0) return;
  await sets.run('CREATE OR REPLACE TABLE damaged (line VARCHAR, row VARCHAR, problem VARCHAR)');
  await sets.add(
    'damaged',
    table.damaged.map(({ line, row, problem }) => [String(line), row, problem]),
  );
  await sets.run(`INSERT INTO problems SELECT $1, CAST(line AS BIGINT), NULL, problem FROM damaged`, [file]);
  await sets.run(`INSERT INTO refused (grp, row, a, b) SELECT $1, row, NULL, NULL FROM damaged`, [grp]);
};
