import { createLineFile } from '../sets/line-file.ts';

/** Rows that were not used, as a table for people. */
export type Report = {
  add(problem: Problem): void;
  /** How many rows it tells of. */
  count(): number;
  end(): void;
};

export type Problem = {
  file: string;
  /** undefined: what was accepted before is no longer valid. */
  line?: number | undefined;
  column?: string | undefined;
  problem: string;
};

/** Of a file of which every row is wrong, the first ones tell enough. */
const maxRows = 100_000;

export const createReport = (path: string, most = maxRows): Report => {
  const file = createLineFile(path);
  let count = 0;
  file.add('file,line,column,problem');
  return {
    add: ({ file: name, line = '', column = '', problem }) => {
      count += 1;
      if (count <= most) file.add([name, String(line), column, problem].map(cell).join(','));
    },
    count: () => count,
    end: () => {
      if (count > most) file.add(['', '', '', `and ${count - most} more`].map(cell).join(','));
      file.close();
    },
  };
};

/** In quotation marks, and so that no spreadsheet takes it for a formula. */
export const cell = (text: string): string =>
  `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
