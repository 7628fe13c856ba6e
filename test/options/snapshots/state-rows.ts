import { dirname } from 'node:path';
import { openSqlEngine } from '../../../lib/runtime/files/tables/engine.ts';

const rowsOf = async (path: string, statement: string): Promise<string[][]> => {
  using db = await openSqlEngine({ folder: dirname(path), threads: 1 });
  return (await Array.fromAsync(db.rows<string[]>(statement, [path]))).flat();
};

/** The kinds and keys of a state's rows. */
export const stateRows = (path: string): Promise<string[][]> =>
  rowsOf(path, 'SELECT kind, key FROM read_parquet($1) ORDER BY ALL');

/** The grade objects of a state, with or without a line item: the id, the code of the org unit and the title. */
export const stateObjects = (path: string): Promise<string[][]> =>
  rowsOf(
    path,
    `SELECT CASE WHEN kind = 'O' THEN key ELSE data ->> '$.object' END, data ->> '$.data.orgUnitCode', data ->> '$.data.name'
     FROM read_parquet($1) WHERE kind IN ('1', 'O')`,
  );
