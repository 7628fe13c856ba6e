import { UnusableFile } from './unusable-file.ts';

/** A row that cannot be read by its columns. `line` is where it begins, counted from 1. `row` is the same for the same bytes. */
export type DamagedRow = { line: number; row: string; problem: string };

/** A person cannot correct more by hand, and memory is bounded. */
export const maxDamaged = 100_000;

/** How wide rows are: some have empty cells behind the last column. */
export const createWidths = (file: string) => {
  /** By the number of cells, and of empty ones at the end: how many rows. */
  const counts = new Map<number, Map<number, number>>();
  const wide: (DamagedRow & { cells: number; empty: number })[] = [];
  return {
    note: (cells: number, empty: number): void => {
      const ofWidth = counts.get(cells) ?? new Map<number, number>();
      counts.set(cells, ofWidth);
      ofWidth.set(empty, (ofWidth.get(empty) ?? 0) + 1);
    },
    noteWide: (row: DamagedRow & { cells: number; empty: number }): void => {
      if (wide.length < maxDamaged) wide.push(row);
    },
    /**
     * Rows that are wider than others, and end in as many empty cells as these: then a separator may be inside a cell, and all cells
     * behind it are those of the columns before.
     */
    doubtful: (): DamagedRow[] => {
      const narrowest = Math.min(...counts.keys());
      const usual = counts.get(narrowest);
      const isDoubtful = (cells: number, empty: number): boolean =>
        cells > narrowest && usual?.has(empty) === true;
      const found = wide.filter(({ cells, empty }) => isDoubtful(cells, empty));
      let all = 0;
      for (const [cells, ofWidth] of counts)
        for (const [empty, rows] of ofWidth) if (isDoubtful(cells, empty)) all += rows;
      if (all > found.length)
        throw new UnusableFile(
          `${file} has more than ${maxDamaged} rows with too few or too many cells. Export it again`,
        );
      return found.map(({ line, row, problem }) => ({ line, row, problem }));
    },
  };
};
