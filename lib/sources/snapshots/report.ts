import { createLineFile } from '../../runtime/files/tables/line-file.ts';

/** Unused rows, as a table for people. */
export type Report = {
  add(problem: Problem): void;
  /** `more`: the number of problems that are not listed. */
  end(more: number): void;
};

export type Problem = {
  file: string;
  /** Undefined: what was accepted before is no longer valid. */
  line?: number | undefined;
  column?: string | undefined;
  problem: string;
};

/** If every row of a file is wrong, the first ones are enough. */
export const maxReported = 100_000;

export const createReport = (path: string): Report => {
  const file = createLineFile(path);
  file.add('file,line,column,problem');
  return {
    add: ({ file: name, line = '', column = '', problem }) =>
      file.add([name, String(line), column, problem].map(cell).join(',')),
    end: (more) => {
      if (more > 0) file.add(['', '', '', `and ${more} more`].map(cell).join(','));
      file.close();
    },
  };
};

/** Quotes a text so that no spreadsheet reads it as a formula. */
export const cell = (text: string): string =>
  `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
