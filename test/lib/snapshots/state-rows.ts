import { dirname } from 'node:path';
import { openSetEngine } from '../../../lib/sets/engine.ts';

/** The kinds and keys of a state's rows. */
export const stateRows = async (path: string): Promise<string[][]> => {
  using sets = await openSetEngine({ folder: dirname(path), threads: 1 });
  return (
    await Array.fromAsync(sets.rows<string[]>('SELECT kind, key FROM read_parquet($1) ORDER BY ALL', [path]))
  ).flat();
};
