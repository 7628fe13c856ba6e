import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { quotedText } from '../../../runtime/files/tables/engine.ts';
import type { Table } from '../../../runtime/files/tables/table.ts';
import type { Comparison } from '../compare/comparison.ts';
import { viewsOfState } from './state-rows.ts';

/** Makes the views of the last accepted state, and loads what every state has beside the intended values. */
export const loadState = async (
  { db }: Pick<Comparison, 'db'>,
  { path, packed }: { path: string; packed: AsyncIterable<Uint8Array> | undefined },
): Promise<void> => {
  if (packed !== undefined) await pipeline(packed, createWriteStream(path));
  const source = packed && `FROM read_parquet(${quotedText(path)})`;
  await db.run(`${viewsOfState('state', source)}
    CREATE TABLE refused_before AS FROM state_refused_rows;
    CREATE TABLE meanings_before AS FROM state_refused_meanings;
    CREATE TABLE shared_row_claims AS FROM state_row_claims`);
};

export type FileRead = {
  /** As the file writes them. */
  columns: string[];
  rows: number;
  /** In lower case: the columns that the import reads, whether or not the file has them. */
  used: ReadonlySet<string>;
};

/** Illegible rows may mean any resource. */
export const addDamaged = async (
  { db }: Comparison,
  { file, kindName, table }: { file: string; kindName: string; table: Table },
): Promise<void> => {
  if (table.damaged.length === 0) return;
  await db.run('CREATE OR REPLACE TABLE damaged (line VARCHAR, source_row VARCHAR, problem VARCHAR)');
  await db.add(
    'damaged',
    table.damaged.map(({ line, row, problem }) => [String(line), row, problem]),
  );
  await db.run(
    `INSERT INTO problems (file, line, problem) SELECT $1, CAST(line AS BIGINT), problem FROM damaged`,
    [file],
  );
  await db.run(
    `INSERT INTO refused_rows (kind_name, source_row, org_unit_or_object, user_name) SELECT $1, source_row, NULL, NULL FROM damaged`,
    [kindName],
  );
};
