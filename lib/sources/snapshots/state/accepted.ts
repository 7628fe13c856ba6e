import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { quotedText } from '../../../runtime/files/tables/engine.ts';
import type { Table } from '../../../runtime/files/tables/table.ts';
import type { Comparison } from '../compare/comparison.ts';

/** Makes `state`, the last accepted state. Versions before 1.1 did not write all of its columns. */
export const loadState = async (
  { sets }: Pick<Comparison, 'sets'>,
  { path, packed }: { path: string; packed: AsyncIterable<Uint8Array> | undefined },
): Promise<void> => {
  if (packed === undefined) return sets.run('CREATE VIEW state AS FROM carried');
  await pipeline(packed, createWriteStream(path));
  return sets.run(
    `CREATE VIEW state AS (FROM carried WHERE false) UNION ALL BY NAME FROM read_parquet(${quotedText(path)})`,
  );
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
