import { createLineFile } from '../../runtime/files/tables/line-file.ts';

/** Unused rows, as a table for people. */
export type Report = {
  add(problem: Problem): void;
  count(): number;
  end(): void;
};

export type Problem = {
  file: string;
  /** Undefined: what was accepted before is no longer valid. */
  line?: number | undefined;
  column?: string | undefined;
  problem: string;
};

/** If every row of a file is wrong, the first ones are enough. */
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

/** Quotes a text so that no spreadsheet reads it as a formula. */
export const cell = (text: string): string =>
  `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
