import { type Comparison, countsOf, type Mode, type RowSorter } from './comparison.ts';
import { openTable, type Row, type Table } from './table.ts';
import type { Files } from './zip.ts';

/**
 * A row that can be used, by its key; or what is wrong with it. Where it has a key all the same, what was accepted of that
 * stays as it is.
 */
export type Read =
  | { key: string; row: object }
  | { key?: string; column?: string; problem: string; isTold?: true };

export const wrongStatus = 'must be active or tobedeleted';

/** Of a row, by the columns' names. */
export type Cells<Column extends string> = (column: Column) => string;

type ReadOptions<Column extends string> = {
  /** Of the file, without its ending. */
  name: string;
  mode: Mode;
  required: readonly Column[];
  optional: readonly Column[];
  read(cell: Cells<Column>): Read;
};

export type FileRead = {
  /** As the file writes them. */
  columns: string[];
  /** How many rows it has. */
  rows: number;
};

type FileReading = FileRead & {
  /** Not even the key of some row can be read, so that a row that seems to be missing may be that one. */
  illegible: boolean;
};

type Reading = { comparison: Comparison; sorter: RowSorter };

/** Adds the rows of a file to those that are to be compared, each with its line. */
export const readRows = async <Column extends string>(
  files: Files,
  { name, mode, required, optional, read }: ReadOptions<Column>,
  { comparison, sorter }: Reading,
): Promise<FileReading> => {
  const reading: FileReading = { columns: [], rows: 0, illegible: false };
  if (mode === 'absent') return reading;
  const file = `${name}.csv`;
  const needed = mode === 'delta' ? [...required, 'status'] : required;
  const table = await openTable(files.open(file), { file, required: needed });
  reading.columns = table.columns;
  let current: readonly string[] = [];
  const places = placesOf(table, [...required, ...optional]);
  const cell = (column: Column): string => current[places[column]] ?? '';
  const take = ({ line, cells, problem }: Row): void => {
    current = cells;
    const result: Read = problem === undefined ? read(cell) : { problem };
    if ('row' in result) {
      sorter.add(result.key, { line, ...result.row });
      return;
    }
    countsOf(comparison, name).refused += 1;
    if (!result.isTold) comparison.report.add({ file, line, column: result.column, problem: result.problem });
    if (result.key === undefined) reading.illegible = true;
    else sorter.add(result.key, { line, refused: true });
  };
  for await (const rows of table.rows) {
    reading.rows += rows.length;
    rows.forEach(take);
  }
  return reading;
};

const placesOf = <Column extends string>(table: Table, columns: Column[]): Record<Column, number> =>
  Object.fromEntries(columns.map((column) => [column, table.at(column)])) as Record<Column, number>;

/** Columns of a message’s problem, by the fields of its data. */
export const columnOf = (problem: string, columns: Record<string, string>): string | undefined =>
  columns[/data\.(\w+)/.exec(problem)?.[1] ?? ''];
