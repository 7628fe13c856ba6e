import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { quotedText } from '../../../runtime/files/tables/engine.ts';
import { loadFile } from '../../../runtime/files/tables/packed-rows.ts';
import type { Table } from '../../../runtime/files/tables/table.ts';
import type { Comparison } from '../compare/comparison.ts';

/**
 * Makes `state`, the last accepted state. A state of an earlier version is in `lines`, with a kind, a key, and a value as JSON: the
 * caller, which knows the kinds, converts it into `carried`, which is then the state.
 */
export const loadState = async (
  { before, sets }: Pick<Comparison, 'before' | 'sets'>,
  { path, packed }: { path: string; packed: AsyncIterable<Uint8Array> | undefined },
): Promise<void> => {
  if (before === 'tables' && packed) {
    await pipeline(packed, createWriteStream(path));
    // A state of an earlier version lacks some of the columns.
    return sets.run(
      `CREATE VIEW state AS (FROM carried WHERE false) UNION ALL BY NAME FROM read_parquet(${quotedText(path)})`,
    );
  }
  await sets.run('CREATE VIEW state AS FROM carried');
  if (packed === undefined) return;
  await sets.run('CREATE TABLE lines (kind VARCHAR, key VARCHAR, json VARCHAR)');
  const insert = 'INSERT INTO lines SELECT * FROM';
  await loadFile(packed, { path, sets, insert, columns: ['kind', 'key', 'json'] });
  const rest = 'key[length(split_part(key, chr(31), 1)) + 2:]';
  await sets.run(`
    INSERT INTO carried BY NAME
      SELECT 'R' AS kind, split_part(key, chr(31), 1) AS grp, ${rest} AS row, CAST(json AS BIGINT) AS seen FROM lines WHERE kind = 'r';
    INSERT INTO carried BY NAME
      SELECT 'S' AS kind, split_part(key, chr(31), 1) AS grp, ${rest} AS row, CAST(json AS JSON) ->> '$' AS key FROM lines WHERE kind = 's'`);
};

/** Loads the parts that every state has beside the intended values. */
export const loadShared = ({ sets }: Comparison): Promise<void> =>
  sets.run(`
    INSERT INTO was_refused SELECT grp, row, a, b, seen FROM state WHERE kind = 'R';
    INSERT INTO shared_backs SELECT grp, row, key, mark FROM state WHERE kind = 'S'`);

export type FileRead = {
  /** As the file writes them. */
  columns: string[];
  rows: number;
};

/** Illegible rows may mean any resource. */
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
