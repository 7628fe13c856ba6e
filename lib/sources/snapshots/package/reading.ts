import type { Table } from '../../../runtime/files/tables/table.ts';
import type { Comparison } from '../compare/comparison.ts';
import { addDamaged, type FileRead } from '../state/accepted.ts';
import type { FileName } from './manifest.ts';
import type { Package } from './package.ts';
import { addRows } from './rows.ts';

export type Read = Partial<Record<FileName, FileRead>>;

/** An export of OneRoster, and the files that were read so far. */
export type Reading = { given: Package; comparison: Comparison; read: Read };

/** Opens a file of the package for the engine; undefined if it is absent. */
export const openFile = async (
  { given, comparison, read }: Reading,
  name: FileName,
  required: readonly string[],
): Promise<Table | undefined> => {
  if (given.modes[name] === 'absent') return undefined;
  const file = `${name}.csv`;
  const table = await given.read(name, required);
  read[name] = { columns: table.columns, rows: table.rows };
  addRows(comparison, file, { fate: 'refused', count: table.damaged.length });
  await addDamaged(comparison, { file, grp: name, table });
  return table;
};
